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
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from support.browser_page import look, print_to_pdf
from support.release import schema, small_release
from tacita.data.schema import Schema
from tacita.implicates import Implicates, Kind
from tacita.pages import render
from tacita.privacy import AddRemoveOne, Guarantee, Loss, WeakAlpha
from tacita.release.page import render_page
from tacita.release.page_usage import code_for_cells, files_code

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
def test_the_first_printed_sheet_is_the_plain_one(bundle: Path, tmp_path: Path) -> None:
    sheets = [" ".join(sheet.split()) for sheet in print_to_pdf(bundle / "report.html", tmp_path)]
    for words in ("What is published", "What is kept silent", "What it costs", "How to read a", "must not be"):
        assert words in sheets[0]
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


def code(page: str, language: str) -> str:
    found = re.search(rf"<figcaption>{language}</figcaption><pre><code>(.*?)</code></pre>", page, re.DOTALL)
    assert found, language
    return unescape(found[1])


def numbers(page: str, language: str, folder: Path) -> list[float]:
    """Every number that the code prints; skips where R is missing."""
    if language == "R":
        command = [shutil.which("Rscript") or pytest.skip("no Rscript here; install it with .ci/debian-packages"), "-e"]
    else:
        command = [sys.executable, "-c"]
    done = subprocess.run([*command, code(page, language)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(one.replace(",", "")) for one in re.findall(r"-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?", done.stdout)]


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize("labelled", [True, False])
def test_totals_are_not_added_to_their_own_parts(tmp_path: Path, language: str, labelled: bool) -> None:
    """Also where a column has no labels: its totals were added to the cells, and every sum came out double."""
    columns: dict[str, Any] = {
        "place name": ["NA", "NA", "NA", "02", "02", "02"],
        "place name_label": ["A", "A", "A", "B", "B", "B"],
        "sex": ["F", "M", "Total", "F", "M", "Total"],
        "sex_label": ["F", "M", "", "F", "M", ""],
        "value": [10, 20, 30, 1, 2, 3],
        "margin_of_error": [3, 4, 9, 3, 4, 9],
    }
    if not labelled:
        del columns["sex_label"]
    table = pa.table(columns)
    (tmp_path / "tables").mkdir()
    pa_csv.write_csv(table, tmp_path / "tables" / "jobs.csv")
    page = render.part("code_to_copy", code_for_cells("jobs", table, ["place name"]))
    assert numbers(page, language, tmp_path)[:2] == pytest.approx([27, 7], abs=0.5)
    assert 'drop if sex == "Total"' in code(page, "Stata")


def test_a_level_called_total_is_kept_where_nothing_was_summed() -> None:
    table = pa.table({"kind": ["Total", "Part"], "value": [3, 1], "margin_of_error": [1, 1]})
    assert '"Total"' in dict(code_for_cells("t", table, ()))["Python"]


# ---------------------------------------------------------------- synthetic files

SCHEMA: dict[str, Any] = {
    "dataset": {"identity": "people", "unit": "person"},
    "variables": {
        "region": {"role": "public", "type": "categorical", "levels": ["01", "02"]},
        "w": {"role": "confidential", "type": "numeric", "lower": 1, "upper": 5000},
        "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 10**6},
    },
}


def bundle(folder: Path, files: int, *, weight: bool, columns: tuple[str, ...], kind: Kind = "partial") -> str:
    """A folder with synthetic files and the page's words on how to analyse them."""
    random = np.random.default_rng(5)
    frames = []
    for _ in range(files):
        w = random.uniform(1, 100, 200).round(1)
        pay = (5_000 + 1e6 / w).round(2)
        pay[:5] = np.nan
        frames.append(pd.DataFrame({"region": random.choice(["01", "02"], 200), "w": w, "pay": pay})[list(columns)])
    schema = Schema.from_dict(SCHEMA)
    drawn = tuple(one for one in columns if one != "region")
    made = Implicates(tuple(frames), schema, drawn or columns, kind).write(folder / "microdata")
    for path in made:
        pa_csv.write_csv(pq.read_table(path), path.with_suffix(".csv"))
    mechanism = {"mechanism": "SurveySynthesis", "weight": "w"} if weight else {"mechanism": "QuantileSynthesis"}
    plan = {"rehearsal": False, "schema": schema.to_dict(), "microdata": [{"mechanism": mechanism}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    return render.page("report/files_code.html.j2", files_code=files_code(made, plan))


def weighted_means(folder: Path) -> list[float]:
    found = []
    for path in sorted((folder / "microdata").glob("*.parquet")):
        frame = pd.read_parquet(path).dropna()
        found.append(float(np.average(frame["pay"], weights=frame["w"])))
    return found


@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize("files", [1, 3])
def test_weights_of_a_survey_count(tmp_path: Path, language: str, files: int) -> None:
    page = bundle(tmp_path, files, weight=True, columns=("region", "w", "pay"))
    assert "survey weights" in page
    first = numbers(page, language, tmp_path)[0]
    assert first == pytest.approx(np.mean(weighted_means(tmp_path)), rel=1e-4)
    assert "[pweight = w]" in code(page, "Stata")


@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize("columns", [("region", "pay"), ("region",)])
def test_one_file_is_analysed_alone(tmp_path: Path, language: str, columns: tuple[str, ...]) -> None:
    page = bundle(tmp_path, 1, weight=False, columns=columns, kind="one-measurement")
    assert "There is nothing to combine" in page
    assert "combine" not in code(page, language)
    frame = pd.read_parquet(tmp_path / "microdata" / "implicate-01.parquet")
    wanted = frame["pay"].mean() if "pay" in columns else (frame["region"] == "01").mean()
    assert numbers(page, language, tmp_path)[0] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("language", ["Python", "R"])
def test_several_files_are_combined_by_their_rule(tmp_path: Path, language: str) -> None:
    page = bundle(tmp_path, 4, weight=False, columns=("region", "pay"), kind="one-measurement")
    found = numbers(page, language, tmp_path)
    frames = [pd.read_parquet(path)["pay"] for path in sorted((tmp_path / "microdata").glob("*.parquet"))]
    assert found[0] == pytest.approx(np.mean([one.mean() for one in frames]), rel=1e-4)
    variance = np.mean([one.var() / one.count() for one in frames]) + 1.25 * np.var(
        [one.mean() for one in frames], ddof=1
    )
    assert found[1] == pytest.approx(variance if language == "R" else variance**0.5, rel=1e-3)


def test_rows_are_said_to_be_real_units_only_where_columns_are_kept(tmp_path: Path) -> None:
    assert "stand for the collected persons" in bundle(tmp_path / "a", 2, weight=False, columns=("region", "pay"))
    assert "No row in them is a real person" in bundle(tmp_path / "b", 2, weight=False, columns=("pay",))
