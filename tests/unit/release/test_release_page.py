from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from release_sample import small_release

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
    """No message on the console, and nothing wider than the window."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium here; install it with .ci/debian-packages")
    probe = "<script>document.title = document.documentElement.scrollWidth + ' ' + window.innerWidth</script></body>"
    copy = tmp_path / "probe.html"
    copy.write_text(_page(bundle).replace("</body>", probe), encoding="utf-8")
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},2000",
        "--virtual-time-budget=2000",
        "--dump-dom",
        copy.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr
    found = re.search(r"<title>(\d+) (\d+)</title>", done.stdout)
    assert found
    assert int(found[1]) <= int(found[2])
