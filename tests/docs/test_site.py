"""The documentation site: it builds, every link leads somewhere, and the reference has every public name."""

from __future__ import annotations

import doctest
import re
import runpy
import subprocess
import sys
from html import unescape
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "tools" / "site.py")))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make docs` builds it, elsewhere."""
    folder = tmp_path_factory.mktemp("docs")
    TOOL.gather(folder / "source")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for here, there in {
        "docs_dir: build/docs-source": "docs_dir: source",
        "site_dir: build/docs": "site_dir: site",
        "paths: [src]": f"paths: [{ROOT / 'src'}]",
        "docs/tools/doctests.py": f"{ROOT / 'docs' / 'tools' / 'doctests.py'}",
    }.items():
        assert here in config
        config = config.replace(here, there)
    (folder / "mkdocs.yml").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(folder / "mkdocs.yml")]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def broken_links(site: Path) -> list[str]:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    places = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    broken = []
    for path, text in texts.items():
        for written in re.findall(r'\b(?:href|src)="([^"]+)"', text):
            link = urlsplit(unescape(written))
            if link.scheme or link.netloc:
                continue
            there = (path.parent / unquote(link.path)).resolve() if link.path else path
            if there.is_dir():
                there /= "index.html"
            if not there.exists() or (link.fragment and unquote(link.fragment) not in places.get(there, ())):
                broken.append(f"{path.relative_to(site)}: {written}")
    return broken


def test_no_link_leads_nowhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 40
    assert broken_links(site) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text('<a href="two.html#here"> <a href="three.html"> <a href="two.html#there">')
    (tmp_path / "two.html").write_text('<p id="here"><a href="https://example.org/x"><img src="picture.svg">')
    assert broken_links(tmp_path) == ["one.html: three.html", "one.html: two.html#there", "two.html: picture.svg"]


def test_every_guide_and_reference_page_is_in_the_navigation() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    guides = [path.name for path in (ROOT / "docs").glob("*.md")]
    assert [name for name in guides if name not in listed] == []
    assert [module for module in TOOL.REFERENCE if f"reference/{module}.md" not in listed] == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        fetched = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', path.read_text(encoding="utf-8")
        )
        assert fetched == [], path.name


@pytest.mark.parametrize("module", TOOL.REFERENCE)
def test_the_reference_has_every_public_name(site: Path, module: str) -> None:
    page = (site / "reference" / f"{module}.html").read_text(encoding="utf-8")
    addresses = TOOL.public(module)
    assert set(addresses) <= set(import_module(module).__all__)
    assert addresses
    assert [address for address in addresses.values() if f'id="{address}"' not in page] == []
    assert "doc-symbol-module" not in page, "a module stands where a name of it should"


def test_examples_are_shown_as_code(site: Path) -> None:
    page = (site / "reference" / "tacita.html").read_text(encoding="utf-8")
    assert "&gt;&gt;&gt;" in page
    assert "<blockquote>\n<blockquote>" not in page


@pytest.mark.parametrize("name", ["site_name", "turned", "public"])
def test_the_examples_of_the_tool_hold(name: str) -> None:
    (example,) = doctest.DocTestFinder().find(getattr(TOOL, name), name, module=False, globs=vars(TOOL))
    done = doctest.DocTestRunner().run(example)
    assert (done.attempted, done.failed) == (1, 0)
