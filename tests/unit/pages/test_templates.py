"""Templates: all can be filled in, nothing that comes from outside becomes markup, a missing name is an error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import Environment, UndefinedError, meta, nodes
from markupsafe import Markup

from tacita.pages import render

TEMPLATES = Path(str(files("tacita.pages"))) / "templates"
NAMES = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*") if path.is_file())
HOSTILE = "<script>alert('x')</script>\u202e\x1b & it's"


@pytest.mark.parametrize("name", NAMES)
def test_no_template_marks_a_value_as_safe_or_names_an_outside_address(name: str) -> None:
    words = (TEMPLATES / name).read_text(encoding="utf-8")
    tree = Environment(extensions=["jinja2.ext.do"]).parse(words)
    assert "safe" not in {one.name for one in tree.find_all(nodes.Filter)}
    outside = r"https?:|//[a-z]|<link|@import|url\("
    assert not re.search(outside if name == "explorer.html.j2" else f"{outside}|<script", words)


def test_every_template_is_used() -> None:
    pages = {"report.html.j2", "dossier.html.j2", "study.html.j2", "explorer.html.j2", "ledger.html.j2"}
    code = {f"code/{what}.{form}.j2" for what in ("cells", "files") for form in ("py", "R", "do")}
    named = set()
    for name in NAMES:
        tree = Environment(extensions=["jinja2.ext.do"]).parse((TEMPLATES / name).read_text(encoding="utf-8"))
        named |= set(meta.find_referenced_templates(tree))
    assert pages | code | named == set(NAMES)


def test_a_value_is_escaped_in_every_part() -> None:
    made = [
        render.part("table", [HOSTILE], [[HOSTILE]], caption=HOSTILE, kind=HOSTILE),
        render.part("facts", [(HOSTILE, HOSTILE)]),
        render.part("bullets", [HOSTILE]),
        render.part("doubts", [HOSTILE]),
        render.part("figure", HOSTILE, HOSTILE, above=HOSTILE),
        render.part("code_to_copy", [(HOSTILE, HOSTILE)]),
        render.part("hash", HOSTILE),
    ]
    for one in made:
        assert "<script" not in one
        assert "&lt;script&gt;" in one


def test_what_is_markup_already_goes_in_as_it_is() -> None:
    assert "<figure><svg/></figure>" in render.part("figure", Markup("<svg/>"))


def test_prose_is_typeset_and_code_is_not() -> None:
    page = render.page(
        "study.html.j2", title="It's", blocks=[("", "The\n  firm's ε = 1"), ("part", _code("a = 'ε = 1'\n b"))]
    )
    assert "<h1>It’s</h1>" in page
    assert "<p>The firm’s ε\u00a0=\u00a01</p>" in page
    assert "<pre><code>a = 'ε = 1'\n b</code></pre>" in page


def _code(words: str) -> Markup:
    return render.part("code_to_copy", [("Python", words)])


def test_what_a_reader_cannot_see_is_marked() -> None:
    page = render.page("study.html.j2", title=HOSTILE, blocks=[])
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "\ufffd" in page


def test_a_name_that_the_view_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="blocks"):
        render.page("study.html.j2", title="a")


def test_the_same_view_gives_the_same_bytes_in_every_process() -> None:
    program = """
import sys
from tacita.pages import charts, render
bars = charts.error_bars(["a", "b"], [1.0, 200.0], [0.5, 3.0], "95%", floor=0.0)
blocks = [("part", charts.budget_bar(1.0, 0.5, 2.5)), ("part", bars), ("", "words")]
sys.stdout.buffer.write(render.page("study.html.j2", title="t", blocks=blocks).encode())
"""
    made = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(made) == 1
    assert b"<svg" in made.pop()
