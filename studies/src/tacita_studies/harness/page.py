"""A page that stands alone, made from a template of plain words and the parts that a study computes.

A template is `page.md` beside the study: Jinja2 in Markdown's clothes. It begins with `# title`; `## ` begins a
section, `> ` a note, and anything else between empty lines is a paragraph. Tables and figures are parts, which go into
the page as they are; all other text is escaped. The look is that of every page of Tacita.

>>> page = page_from("# Demo\\n\\nε = {{ epsilon }} costs {{ 0.5|shown }}.\\n\\n{{ body }}", {"epsilon": "1 < 2",
...     "body": table(["a"], [[1.0]])})
>>> page[page.index("<p class=\\"lead"):].splitlines()[0].replace("\\u00a0", "~")
'<p class="lead">ε~=~1 &lt; 2 costs 0.5.</p>'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import jinja2
from markupsafe import Markup

from tacita.pages import render
from tacita.pages.render import shown

_PART = "\x00{}\x00"  # stands in the text for a part until the text is cut into blocks


def table(head: Sequence[str], body: Iterable[Sequence[object]]) -> Markup:
    """A table of whatever width; numbers are set to the right."""
    rows = [list(row) for row in body]
    numeric = [at for at in range(len(head)) if rows and all(isinstance(row[at], float | int | None) for row in rows)]
    return Markup('<div class="wide">{}</div>').format(render.part("table", head, rows, numbers=numeric))


def figure(svg: Markup, caption: str) -> Markup:
    return render.part("figure", svg, caption)


def holds(yes: bool | None) -> Markup | str:
    """The verdict of one comparison with the paper."""
    if yes is None:
        return "not measured in this run"
    return Markup('<span class="yes">holds</span>' if yes else '<span class="no">does not hold</span>')


def page_from(template: str, values: Mapping[str, object]) -> str:
    """The whole page as HTML."""
    parts: list[Markup] = []

    def placed(value: object) -> object:
        if not isinstance(value, Markup):
            return value
        parts.append(value)
        return _PART.format(len(parts) - 1)

    made = jinja2.Environment(
        undefined=jinja2.StrictUndefined, finalize=placed, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    made.filters["shown"] = shown
    made.globals["figure"] = figure
    text = made.from_string(template).render(values)
    blocks = [" ".join(re.split(r"[ \n]+", block.strip(" \n"))) for block in re.split(r"\n[ ]*\n", text)]
    title, *rest = filter(None, blocks)
    cut = [_block(one, parts, "lead" if at == 0 else "") for at, one in enumerate(rest)]
    return render.page("study.html.j2", title=title.removeprefix("# "), blocks=cut)


def _block(text: str, parts: Sequence[Markup], kind: str) -> tuple[str, str]:
    """Its kind, and what it holds."""
    if placed := re.fullmatch(r"\x00(\d+)\x00", text):
        return "part", parts[int(placed[1])]
    for mark, name in (("## ", "h2"), ("> ", "note")):
        if text.startswith(mark):
            return name, text.removeprefix(mark)
    return kind, text
