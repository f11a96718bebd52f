"""How ledgers, models and files show themselves in a notebook: small tables of escaped text, in plain HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup


def shown(title: str, rows: Iterable[Sequence[object]], heads: Sequence[str] = ()) -> str:
    """A table with a title above it.

    >>> shown("a < b", [("x", 1)], ("name", "value"))
    '<table><caption>a &lt; b</caption><tr><th>name</th><th>value</th></tr><tr><td>x</td><td>1</td></tr></table>'
    """
    lines = [_row("th", heads)] if heads else []
    lines += [_row("td", row) for row in rows]
    return str(Markup("<table><caption>{}</caption>{}</table>").format(title, Markup("").join(lines)))


def _row(tag: str, cells: Sequence[object]) -> Markup:
    inside = Markup("").join(Markup("<{0}>{1}</{0}>").format(Markup(tag), str(cell)) for cell in cells)
    return Markup("<tr>{}</tr>").format(inside)
