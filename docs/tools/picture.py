"""Draws docs/pictures/architecture.svg from the table of layers in docs/architecture.md.

The words are those of the table, the order and the neighbours that of the import contract in pyproject.toml; a test
compares all three. Standard library only. Run it as `python docs/tools/picture.py`; `make docs` does.
"""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"

# What may see confidential rows, as the last column of the table says it, and its colours.
COLOURS = {
    "reads": ("#fde2d4", "#b4481e"),
    "hands on": ("#fbf3d5", "#8a6d1a"),
    "never": ("#dcefe3", "#1f6f43"),
    "simulated": ("#e1e9f8", "#3a5a99"),
    "": ("#edf0f4", "#4a5766"),
}
LEGEND = {
    "reads": "reads confidential rows",
    "hands on": "is handed the file, reads no row",
    "never": "forbidden to import what reads rows",
    "simulated": "simulated files only",
    "": "no file",
}

WIDTH, ROW, GAP, LEFT, BOX, RIGHT = 980, 34, 8, 20, 560, 640


class Layer(NamedTuple):
    """One row of the table."""

    name: str
    what: str
    step: str  # its part in a release; empty where it has none
    rows: str


def layers_of_contract() -> list[list[str]]:
    """The layers from the top, those that stand side by side together."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    return [[name.strip().removeprefix("tacita.") for name in line.split("|")] for line in contract["layers"]]


def layers_of_page() -> list[Layer]:
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|(.*?)\|(.*?)\|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [Layer(*(cell.strip() for cell in row)) for row in rows]


def drawn() -> str:
    """The picture; a layer of the contract that the table does not have is an error that names it."""
    known = {layer.name: layer for layer in layers_of_page()}
    contract = layers_of_contract()
    if missing := [name for line in contract for name in line if name not in known]:
        raise SystemExit(f"docs/architecture.md: the table of layers has no row for {', '.join(missing)}")
    top = 64
    height = top + len(contract) * (ROW + GAP) + 84
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="14">',
        "<title>The layers of Tacita and the way of a release</title>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="#4a5766"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        _text(LEFT, 30, "Each layer imports only from those below it", weight=600),
        _text(RIGHT, 30, "A release, from the bottom up", weight=600),
    ]
    steps = []
    for place, line in enumerate(contract):
        y = top + place * (ROW + GAP)
        width = (BOX - GAP * (len(line) - 1)) / len(line)
        for at, name in enumerate(line):
            parts += _box(LEFT + at * (width + GAP), y, width, known[name])
        if told := [known[name].step for name in line if known[name].step]:
            steps.append((y + ROW / 2, "; ".join(told)))
    parts.append(
        f'<path d="M{RIGHT - 26} {steps[-1][0]:g}V{steps[0][0]:g}" stroke="#4a5766" stroke-width="2" '
        'marker-end="url(#tip)" fill="none"/>'
    )
    for y, told in steps:
        parts.append(f'<circle cx="{RIGHT - 26}" cy="{y:g}" r="4" fill="#4a5766"/>')
        parts.append(_text(RIGHT - 10, y + 5, told))
    for at, (key, meaning) in enumerate(LEGEND.items()):
        fill, line_colour = COLOURS[key]
        x, y = LEFT + (at % 3) * 300, height - 58 + (at // 3) * 26
        parts.append(f'<rect x="{x}" y="{y}" width="18" height="18" rx="3" fill="{fill}" stroke="{line_colour}"/>')
        parts.append(_text(x + 26, y + 14, meaning))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _box(x: float, y: float, width: float, layer: Layer) -> list[str]:
    fill, line_colour = COLOURS[layer.rows]
    what = f'<tspan font-weight="600">{escape(layer.name)}</tspan><tspan dx="10">{escape(layer.what)}</tspan>'
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{ROW}" rx="4" fill="{fill}" stroke="{line_colour}"/>',
        f'<text x="{x + 12:g}" y="{y + ROW / 2 + 5:g}" fill="#1c2430">{what}</text>',
    ]


def _text(x: float, y: float, words: str, *, weight: int = 400) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-weight="{weight}" fill="#1c2430">{escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
