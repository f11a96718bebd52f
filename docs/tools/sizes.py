"""Draws docs/pictures/sizes.svg from the table of sizes in docs/engines.md: records against processor seconds, both on
log scales, full marks for what was run and open ones for what is on paper.

Standard library only; a test compares picture and table. Run it as `python docs/tools/sizes.py`; `make docs` does.
"""

from __future__ import annotations

import re
from html import escape
from math import floor, log10
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "engines.md"
PICTURE = ROOT / "docs" / "pictures" / "sizes.svg"

WIDTH, HEIGHT = 900, 480
LEFT, RIGHT, TOP, BOTTOM = 70, 640, 30, 420
COLOURS = ("#b4481e", "#3a5a99", "#1f6f43", "#8a6d1a", "#7a3e8e", "#4a5766", "#0e8a8a", "#c23b75", "#6b8e23")


class Size(NamedTuple):
    """A row of the table."""

    product: str
    records: float
    seconds: float
    was_run: bool


def sizes_of_page() -> list[Size]:
    row = r"^\| ([^|]+) \| ([\d,]+) \| ([\d,.]+) \| [^|]* \| (run|on paper) \|$"
    found = re.findall(row, PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [
        Size(name.replace("`", ""), _number(records), _number(taken), how == "run")
        for name, records, taken, how in found
    ]


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def drawn() -> str:
    sizes = sizes_of_page()
    ends = [_ends([one.records for one in sizes]), _ends([one.seconds for one in sizes])]

    def x(records: float) -> float:
        return LEFT + (log10(records) - ends[0][0]) / (ends[0][1] - ends[0][0]) * (RIGHT - LEFT)

    def y(seconds: float) -> float:
        return BOTTOM - (log10(seconds) - ends[1][0]) / (ends[1][1] - ends[1][0]) * (BOTTOM - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>Records against processor seconds, both on log scales</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for power in range(ends[0][0], ends[0][1] + 1):
        parts.append(f'<path d="M{x(10**power):g} {TOP}V{BOTTOM}" stroke="#dde1e6"/>')
        parts.append(_text(x(10**power), BOTTOM + 20, _spoken(power), anchor="middle"))
    for power in range(ends[1][0], ends[1][1] + 1):
        parts.append(f'<path d="M{LEFT} {y(10**power):g}H{RIGHT}" stroke="#dde1e6"/>')
        parts.append(_text(LEFT - 8, y(10**power) + 4, f"{10**power:,}", anchor="end"))
    parts.append(_text((LEFT + RIGHT) / 2, BOTTOM + 44, "records", anchor="middle"))
    parts.append(_text(LEFT - 50, TOP - 12, "processor seconds"))
    for at, name in enumerate(dict.fromkeys(one.product for one in sizes)):
        own = sorted(one for one in sizes if one.product == name)
        colour = COLOURS[at % len(COLOURS)]
        line = " ".join(f"{x(one.records):.1f},{y(one.seconds):.1f}" for one in own)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for one in own:
            fill = colour if one.was_run else "#fff"
            place = f'cx="{x(one.records):.1f}" cy="{y(one.seconds):.1f}"'
            parts.append(f'<circle {place} r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<circle cx="{RIGHT + 24}" cy="{TOP + 16 + 24 * at}" r="5" fill="{colour}"/>')
        parts.append(_text(RIGHT + 36, TOP + 20 + 24 * at, name))
    parts.append(_text(RIGHT + 18, BOTTOM, "full: run; open: on paper"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ends(numbers: list[float]) -> tuple[int, int]:
    return floor(log10(min(numbers))), floor(log10(max(numbers))) + 1


def _spoken(power: int) -> str:
    for zeros, name in ((9, "billion"), (6, "million")):
        if power >= zeros:
            return f"{10 ** (power - zeros)} {name}"
    return f"{10**power:,}"


def _text(x: float, y: float, words: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="#1c2430">{escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
