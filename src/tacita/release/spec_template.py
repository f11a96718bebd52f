"""A specification as a person wrote it, with places where a price can be put in: comments and order stay.

Lines are told apart by their own look, which quotes over several lines can mock. So a template is filled in and read
again before anyone gets it; a file that does not come out as it should has none.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

Line = str | dict[str, str]

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?$")
_PRICE = re.compile(
    r"(\s*(epsilon|delta|alpha|margin|margin_at|per_year|until)\s*=\s*)(\"[^\"]*\"|'[^']*'|\d+)(\s*(?:#.*)?)$"
)
_WHOLE = ".until"  # a year stands without quotes
_CAP = ("epsilon", "delta", "alpha", "per_year", "until")
_PRICED = {"cap": _CAP, "table": ("epsilon", "delta"), "microdata": ("epsilon", "delta")}


def template_of(words: str) -> list[Line] | None:
    """Lines, and among them slots such as "cap.epsilon" or "table.0.delta"; None where that cannot be told.

    >>> template_of('[cap]\\nepsilon = "2" # for all years')[-1]
    {'slot': 'cap.epsilon', 'before': 'epsilon = ', 'value': '"2"', 'after': ' # for all years'}
    """
    lines: list[Line] = []
    numbers = {"table": -1, "microdata": -1}
    place, headed = "", 0
    for line in words.splitlines():
        if header := _HEADER.match(line):
            place = header[2]
            if header[1] == "[[" and place in numbers:
                numbers[place] += 1
                place = f"{place}.{numbers[place]}"
            lines.append(line)
            headed = len(lines)
            stem = place.partition(".")[0]
            keys = _PRICED.get(stem, ()) if place in ("cap", f"{stem}.{numbers.get(stem)}") else ()
            lines += [{"slot": f"{place}.{key}", "before": f"{key} = ", "value": "", "after": ""} for key in keys]
        elif (price := _PRICE.match(line)) and place:
            slot = {"slot": f"{place}.{price[2]}", "before": price[1], "value": price[3], "after": price[4]}
            empty = [at for at in range(headed, len(lines)) if _named(lines[at]) == slot["slot"]]
            for at in empty:
                del lines[at]
            lines.append(slot)
        else:
            lines.append(line)
    return lines if _comes_out(lines, words) else None


def filled(lines: list[Line], values: dict[str, str | None]) -> str:
    """The text with some slots given another value; None leaves a key out."""
    made = []
    for line in lines:
        if isinstance(line, str):
            made.append(line)
            continue
        value = values.get(line["slot"], line["value"])
        if value and line["slot"] in values and not line["slot"].endswith(_WHOLE):
            value = f'"{value}"'
        if value:
            made.append(f"{line['before']}{value}{line['after']}")
    return "\n".join(made) + "\n"


def _named(line: Line) -> str:
    return line["slot"] if isinstance(line, dict) else ""


def _comes_out(lines: list[Line], words: str) -> bool:
    """Whether the file reads as before when nothing is put in, as it should when everything is, and has a place for
    every price."""
    marks = {_named(line): str(at) for at, line in enumerate(lines) if isinstance(line, dict)}
    try:
        before, same, marked = (tomllib.loads(one) for one in (words, filled(lines, {}), filled(lines, {**marks})))
    except tomllib.TOMLDecodeError:
        return False
    return before == same and marked == _with(before, marks) and _prices(before) <= marks.keys()


def _prices(raw: dict[str, Any]) -> set[str]:
    products = {f"{kind}.{at}.epsilon" for kind in ("table", "microdata") for at in range(len(raw.get(kind, ())))}
    return products | {"cap.epsilon"}


def _with(raw: dict[str, Any], marks: dict[str, str]) -> dict[str, Any]:
    changed: dict[str, Any] = {**raw, "cap": dict(raw.get("cap", {}))}
    for key in ("table", "microdata"):
        if key in raw:
            changed[key] = [dict(one) for one in raw[key]]
    for slot, mark in marks.items():
        *way, last = slot.split(".")
        inner: Any = changed
        for step in way:
            inner = inner[int(step)] if isinstance(inner, list) else inner.setdefault(step, {})
        inner[last] = int(mark) if slot.endswith(_WHOLE) else mark
    return changed
