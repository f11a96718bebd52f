"""A page that stands alone, made from a template of plain words and the parts that a study computes.

A template is `page.md` beside the study: Jinja2 in Markdown's clothes. It begins with `# title`; `## ` begins a
section, `> ` a note, and anything else between empty lines is a paragraph. Tables and figures are parts, which go into
the page as they are; all other text is escaped.

>>> page = page_from("# Demo\\n\\nε = {{ epsilon }} costs {{ 0.5|shown }}.\\n\\n{{ body }}", {"epsilon": "1 < 2",
...     "body": table(["a"], [[1.0]])})
>>> page[page.index("<h1>"):].splitlines()[:2]
['<h1>Demo</h1>', '<p class="lead">ε&nbsp;=&nbsp;1 &lt; 2 costs 0.5.</p>']
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import jinja2

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.55 Georgia, 'Times New Roman', serif; color: #1d2327; background: #fff; margin: 0 auto;
  max-width: 1080px; padding: 2.2rem 1.4rem 4rem; }
h1, h2, h3, th, figcaption, .note, nav { font-family: 'Helvetica Neue', Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .8rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-top: .8rem; border-top: 1px solid #d5d9dd; }
p { max-width: 46rem; }
p.lead { font-size: 1.08rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0 1.2rem; font-size: .88rem; line-height: 1.4; width: 100%; }
th { text-align: left; font-weight: 600; border-bottom: 2px solid #1d2327; padding: .35rem .7rem .35rem 0; }
td { vertical-align: top; border-bottom: 1px solid #e3e6e9; padding: .4rem .7rem .4rem 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.yes { color: #14612f; font-weight: 600; } .no { color: #8c2a12; font-weight: 600; }
figure { margin: 1.4rem 0 2rem; } figure svg { max-width: 100%; height: auto; }
figcaption, .note { font-size: .85rem; color: #4a5258; max-width: 46rem; }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } figure { break-inside: avoid; } }
"""
_PART = "\x00{}\x00"  # stands in the text for a part until the text is cut into blocks


@dataclass(frozen=True)
class Markup:
    """Text that is already HTML; anything else is escaped."""

    text: str


def escaped(words: str) -> str:
    """Text for a page; "ε = 2" stays on one line."""
    return html.escape(words).replace(" = ", "&nbsp;=&nbsp;")


def shown(value: float | None) -> str:
    """A number as a reader wants it: three figures, and no exponent for sizes that have a name.

    >>> shown(0.6042), shown(12.345), shown(527000.0), shown(float("nan"))
    ('0.604', '12.3', '527,000', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _cell(content: object) -> str:
    if isinstance(content, Markup):
        return content.text
    if content is None:
        return "–"
    return escaped(shown(content) if isinstance(content, float) else str(content))


def table(head: Sequence[str], body: Iterable[Sequence[object]]) -> Markup:
    """An HTML table; numbers are set to the right."""
    rows = [list(row) for row in body]
    numeric = [bool(rows) and all(isinstance(row[i], float | int | None) for row in rows) for i in range(len(head))]
    kind = [' class="number"' if flag else "" for flag in numeric]
    top = "".join(f"<th{kind[i]}>{escaped(text)}</th>" for i, text in enumerate(head))
    lines = ("".join(f"<td{kind[i]}>{_cell(value)}</td>" for i, value in enumerate(row)) for row in rows)
    inner = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return Markup(f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>\n{inner}\n</tbody></table></div>')


def figure(svg: str, caption: str) -> Markup:
    return Markup(f"<figure>{svg}<figcaption>{escaped(caption)}</figcaption></figure>")


def holds(yes: bool | None) -> Markup:
    """The verdict of one comparison with the paper."""
    if yes is None:
        return Markup("not measured in this run")
    return Markup('<span class="yes">holds</span>' if yes else '<span class="no">does not hold</span>')


def page_from(template: str, values: Mapping[str, object]) -> str:
    """The whole page as HTML."""
    parts: list[str] = []

    def placed(value: object) -> object:
        if not isinstance(value, Markup):
            return value
        parts.append(value.text)
        return _PART.format(len(parts) - 1)

    made = jinja2.Environment(
        undefined=jinja2.StrictUndefined, finalize=placed, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    made.filters["shown"] = shown
    made.globals["figure"] = figure
    text = made.from_string(template).render(values)
    blocks = [" ".join(re.split(r"[ \n]+", block.strip(" \n"))) for block in re.split(r"\n[ ]*\n", text)]
    title, *rest = filter(None, blocks)
    title = html.escape(title.removeprefix("# "))
    inner = [f"<h1>{title}</h1>", *(_block(one, parts, "lead" if at == 0 else "") for at, one in enumerate(rest))]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body>\n" + "\n".join(inner) + "\n</body></html>\n"
    )


def _block(text: str, parts: Sequence[str], kind: str) -> str:
    if found := re.fullmatch(r"\x00(\d+)\x00", text):
        return parts[int(found[1])]
    if text.startswith("## "):
        return f"<h2>{html.escape(text[3:])}</h2>"
    if text.startswith("> "):
        text, kind = text[2:], "note"
    return f'<p class="{kind}">{escaped(text)}</p>' if kind else f"<p>{escaped(text)}</p>"
