"""The page of a bundle, and its code to copy, run as a reader would."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.browser_page import look, print_to_pdf
from support.release import schema, small_release
from tacita.implicates import Implicates, Kind
from tacita.privacy import AddRemoveOne, Guarantee, Loss, WeakAlpha
from tacita.release.page import render_page

VOID = {"meta", "br", "img", "hr", "link", "input"}


class _Balance(HTMLParser):
    """Every element that opens must close, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_stands_alone(bundle: Path) -> None:
    page = _page(bundle)
    parser = _Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert not re.search(r"https?:|//[a-z]|<script|<link|@import|url\(", page)
    assert not {name for name, _ in parser.attributes} & {"href", "src", "srcset", "xlink:href", "action"}


def test_the_page_says_what_a_board_needs(bundle: Path) -> None:
    page = _page(bundle).replace("\u00a0", " ")
    for part in (
        "Employment by place &amp; sector",
        "ε = 1",
        "strong α = 0.1 neighbours",
        "at most a factor 2.72",
        "at most 73% likely",
        "What is not protected",
        "list of establishments",
        "Each worker holds one job in the file.",
        "Code list of places",
        "mechanisms/eree/staircase.md",
        "establishment",
        "ε = 0.5",
    ):
        assert part in page, part


def test_requirement_levels_are_printed(bundle: Path) -> None:
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td>", _page(bundle).replace("\u00a0", " "))
    levels = dict(rows)
    assert levels["whether a person holds a job"] == "ε = 1"
    assert levels["the make-up of its workforce"] == "ε = 2"


def test_checksums_on_the_page_are_those_of_the_manifest(bundle: Path) -> None:
    page, files = _page(bundle), json.loads((bundle / "manifest.json").read_text())["files"]
    for name, facts in files.items():
        assert (facts["sha256"] in page) == (name != "report.html")


def test_text_from_the_specification_cannot_become_markup(tmp_path: Path) -> None:
    out = small_release(title="<script>alert(1)</script>", publisher="<b>office</b>").write(tmp_path / "bundle")
    page = _page(out)
    assert "<script" not in page
    assert "<b>" not in page
    assert "Upper <Town>" not in page


def test_the_page_can_be_made_again_from_the_bundle_alone(bundle: Path) -> None:
    made = json.loads((bundle / "manifest.json").read_text())["made"]
    assert render_page(bundle, made) == _page(bundle)


def test_a_rehearsal_opens_with_its_stamp(tmp_path: Path) -> None:
    page = _page(small_release(seed=3, source="mock rows").write(tmp_path / "rehearsal"))
    assert page.index("REHEARSAL. This is not a release") < page.index("<h1>")
    assert "spent nothing" in page


@pytest.mark.parametrize(
    ("promise", "sentence"),
    [
        (Guarantee(WeakAlpha("0.1"), Loss("1")), "weak definition assumes no such knowledge"),
        (Guarantee(AddRemoveOne("worker"), Loss("1")), "Employers. The size and make-up of one establishment"),
    ],
)
def test_what_is_not_protected_follows_the_neighbours(tmp_path: Path, promise: Guarantee, sentence: str) -> None:
    release = small_release(guarantee=promise)
    assert sentence in _page(release.write(tmp_path / "bundle"))


def test_a_small_probability_of_failure_is_said_beside_the_odds(tmp_path: Path) -> None:
    release = small_release(guarantee=Guarantee(WeakAlpha("0.1"), Loss("1", delta="0.001")))
    page = _page(release.write(tmp_path / "bundle"))
    assert "at most 73% likely afterwards, except with probability 0.001." in page
    assert "Highest after" not in page


def test_a_bound_that_rests_on_convergence_is_not_called_proved(tmp_path: Path) -> None:
    promise = Guarantee(WeakAlpha("0.1"), Loss("1"), "asymptotically", ("the chains have converged",))
    page = _page(small_release(guarantee=promise).write(tmp_path / "bundle"))
    assert "is evidence, not proof" in page
    assert "That is a proved bound" not in page
    assert "for this file it is not proved" in page
    assert "The chains have converged." in page


def test_an_empty_table_has_a_page_too(tmp_path: Path) -> None:
    release = small_release()
    (product,) = release.products
    empty = replace(release, products=(replace(product, table=product.table.slice(0, 0)),))
    assert "0 rows" in _page(empty.write(tmp_path / "bundle"))


def test_cells_with_the_same_label_are_told_apart(tmp_path: Path) -> None:
    release = small_release()
    (product,) = release.products
    table = product.table.set_column(1, "place_label", pa.array(["Town", "Town", "Harbour"]))
    page = _page(replace(release, products=(replace(product, table=table),)).write(tmp_path / "bundle"))
    assert "Town (1)" in page
    assert "Town (2)" in page


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 700])
def test_the_page_in_a_browser(bundle: Path, tmp_path: Path, width: int) -> None:
    """No message on the console, no request to anywhere, and nothing wider than the window."""
    seen = look(_page(bundle), tmp_path, width)
    assert seen.console == []
    assert seen.requests == []
    assert seen.content <= seen.window


@pytest.mark.browser
def test_a_page_that_loads_something_is_caught(bundle: Path, tmp_path: Path) -> None:
    """The check itself: a picture from elsewhere shows up as a request."""
    page = _page(bundle).replace("</main>", "<img src='http://127.0.0.1:9/x.png'></main>")
    assert look(page, tmp_path, 1280).requests == ["http://127.0.0.1:9/x.png"]


@pytest.mark.browser
@pytest.mark.parametrize("script", ["console.warn(1)", "throw new Error(1)", "fetch('http://127.0.0.1:9/x')"])
def test_a_page_that_says_something_on_the_console_is_caught(tmp_path: Path, script: str) -> None:
    assert look(f"<script>{script}</script>", tmp_path, 1280).console


@pytest.mark.browser
def test_the_first_printed_sheet_is_the_plain_one(bundle: Path, tmp_path: Path) -> None:
    sheets = [" ".join(sheet.split()) for sheet in print_to_pdf(bundle / "report.html", tmp_path)]
    for words in ("What is published", "What is kept silent", "What it costs", "How good the", "must not be"):
        assert words in sheets[0]
    first = " ".join((bundle / "report.html").read_text(encoding="utf-8").partition("The guarantee")[0].split())
    assert re.search(r"the margin is at most 20% of the value in [\d,]+ of [\d,]+ cells", first)
    assert "The guarantee" in sheets[1]


# ---------------------------------------------------------------- code to copy


def _code(page: str, language: str) -> str:
    found = re.search(rf"<figcaption>{language}</figcaption><pre><code>(.*?)</code></pre>", page, re.DOTALL)
    assert found, language
    return unescape(found[1].replace("’", "'"))


def test_the_python_code_runs_in_the_bundle(bundle: Path) -> None:
    code = _code(_page(bundle), "Python")
    done = subprocess.run([sys.executable, "-c", code], cwd=bundle, capture_output=True, text=True, check=True)
    table = pq.read_table(bundle / "tables" / "employment.parquet").to_pandas()
    a, b = table["value"][:2]
    margin = float(np.hypot(*table["margin_of_error"][:2]))
    assert f"difference {a - b:,.0f} ± {margin:,.0f}" in done.stdout
    assert f"ratio {a / b:.3f}" in done.stdout


def test_the_r_code_runs_in_the_bundle(bundle: Path) -> None:
    r = shutil.which("Rscript")
    if r is None:
        pytest.skip("no Rscript here; install it with .ci/debian-packages")
    done = subprocess.run([r, "-e", _code(_page(bundle), "R")], cwd=bundle, capture_output=True, text=True, check=True)
    table = pq.read_table(bundle / "tables" / "employment.parquet").to_pandas()
    first = done.stdout.splitlines()[0].split()
    assert float(first[0]) == table["value"][0] - table["value"][1]
    assert float(first[2]) == pytest.approx(float(np.hypot(*table["margin_of_error"][:2])), rel=1e-5)


def test_the_stata_code_names_the_columns_of_the_table(bundle: Path) -> None:
    code = _code(_page(bundle), "Stata")
    assert 'import delimited using "tables/employment.csv"' in code
    assert "stringcols(1 2 6)" in code
    assert 'if place == "01"' in code


@pytest.mark.parametrize(("kind", "words"), [("partial", "Reiter 2003"), ("full", "Raghunathan")])
def test_synthetic_files_come_with_their_combining_rule(bundle: Path, kind: Kind, words: str) -> None:
    frame = pa.table({"place": ["01", "02"]})
    Implicates((frame, frame), schema(), ("place",), kind).write(bundle / "microdata")
    page = render_page(bundle, json.loads((bundle / "manifest.json").read_text())["made"])
    assert "This bundle holds 2 synthetic files" in page
    assert words in page
    assert f"<code>{kind}</code>" in page
    assert "combine_synthetic" in page
