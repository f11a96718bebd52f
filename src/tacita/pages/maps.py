"""A map of published values: areas in five shades, drawn as inline SVG from their shapes.

Only lines, rectangles and words, each value also in words: `verify` compares a map with one that is drawn again to the
letter, and readers who see no picture get the sentence that says what is on it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tacita.pages.charts import EMPTY, INK, SOFT, WARM

Ring = Sequence[tuple[float, float]]

SHADES = ("#e4eef4", "#b9d1df", "#82abc4", "#447fa5", "#194d74")  # from light to dark, told apart in grey print too
_WIDTH, _HEIGHT = 690.0, 520.0
_STEP = 0.5  # pixels; points that are nearer to the last one are left out
_ROOM = 13.0  # pixels an area must have in both directions for a letter inside
_ROW = 19  # pixels of a line of the key
_UNMARKED, _DOUBTFUL, _SILENT = "", "D", "withheld"


@dataclass(frozen=True)
class Area:
    """What a map says of one area; no value where the cell was withheld."""

    label: str
    value: float | None
    said: str
    """Value and margin, in words."""
    mark: str = _UNMARKED


def choropleth(shapes: Mapping[str, Sequence[Ring]], areas: Mapping[str, Area], title: str) -> Markup:
    """The map of `areas` (by code) over `shapes`; shapes that nothing is said of are drawn empty."""
    placed, height = _projected(shapes)
    areas = {code: one for code, one in areas.items() if code in placed}
    classes = _classes([one.value for one in areas.values() if one.value is not None])
    drawn, letters = [], []
    # Marked areas last, or neighbours would cover their outlines.
    for code in sorted(placed, key=lambda code: code in areas and areas[code].mark != _UNMARKED):
        rings, area = placed[code], areas.get(code)
        drawn.append(_path(rings, area, classes))
        if area is not None and (letter := {_DOUBTFUL: "D", _SILENT: "×"}.get(area.mark)):
            letters.append(_letter(rings, letter, area, classes))
    rows = _key(classes, [areas.get(code) for code in placed])
    tall = height + 14 + _ROW * len(rows)
    keys = Markup("").join(
        Markup('<g transform="translate(0,{:.0f})">{}</g>').format(height + 14 + _ROW * at, row)
        for at, row in enumerate(rows)
    )
    return Markup(
        '<svg class="map" role="img" aria-label="{}" viewBox="0 0 {:.0f} {:.0f}" '
        'style="width:100%;max-width:{:.0f}px;height:auto">{}{}{}</svg>'
    ).format(_in_words(title, areas), _WIDTH, tall, _WIDTH, Markup("").join(drawn), Markup("").join(letters), keys)


def _projected(shapes: Mapping[str, Sequence[Ring]]) -> tuple[dict[str, list[Ring]], float]:
    """Every ring in pixels. Degrees are shortened by the cosine of the middle latitude; metres stay as they are."""
    every = [point for rings in shapes.values() for ring in rings for point in ring]
    east, north = [x for x, _ in every], [y for _, y in every]
    degrees = max(map(abs, east)) <= 180 and max(map(abs, north)) <= 90
    turned = [x % 360 for x in east]
    # Islands on both sides of the date line belong together.
    wraps = degrees and max(turned) - min(turned) < max(east) - min(east)
    left = min(turned if wraps else east)
    low, top = min(north), max(north)
    narrow = math.cos(math.radians((low + top) / 2)) if degrees else 1.0
    wide, high = max((max(turned if wraps else east) - left) * narrow, 1e-9), max(top - low, 1e-9)
    scale = min((_WIDTH - 2) / wide, (_HEIGHT - 2) / high)
    shift = (_WIDTH - wide * scale) / 2

    def placed(x: float, y: float) -> tuple[float, float]:
        return shift + ((x % 360 if wraps else x) - left) * narrow * scale, 1 + (top - y) * scale

    return {
        code: [[placed(*point) for point in ring] for ring in rings] for code, rings in shapes.items()
    }, high * scale + 2


def _path(rings: Sequence[Ring], area: Area | None, classes: Sequence[tuple[float, float]]) -> Markup:
    largest = max(rings, key=_extent)
    d = "".join(_line(ring, kept=ring is largest) for ring in rings)
    dashed = area is not None and area.mark != _UNMARKED
    look = Markup(' stroke="{}" stroke-width="{}"{}').format(
        WARM if dashed else "#ffffff" if area is not None else "#c3ccd3",
        1.4 if dashed else 0.6,
        Markup(' stroke-dasharray="3,2"') if dashed else "",
    )
    label = Markup(' aria-label="{}"').format(f"{area.label}: {area.said}") if area is not None else Markup("")
    return Markup('<path fill-rule="evenodd" fill="{}"{}{} d="{}"/>').format(_shade(area, classes), look, label, d)


def _line(ring: Ring, *, kept: bool) -> str:
    """The ring without points that nobody could see; one of less than a pixel is a dot, if it must be kept."""
    seen: list[tuple[float, float]] = []
    for x, y in ring:
        if not seen or abs(x - seen[-1][0]) + abs(y - seen[-1][1]) >= _STEP:
            seen.append((x, y))
    if len(seen) < 3:
        if not kept:
            return ""
        x, y = seen[0]
        seen = [(x, y), (x + 1, y), (x + 1, y + 1)]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in seen) + "Z"


def _extent(ring: Ring) -> float:
    return abs(sum(x * v - u * y for (x, y), (u, v) in zip(ring, [*ring[1:], ring[0]], strict=True)))


def _letter(rings: Sequence[Ring], letter: str, area: Area, classes: Sequence[tuple[float, float]]) -> Markup:
    ring = max(rings, key=_extent)
    (left, right), (top, low) = ((min(one), max(one)) for one in zip(*ring, strict=True))
    if min(right - left, low - top) < _ROOM:
        return Markup("")
    dark = _shade(area, classes) in SHADES[3:]
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle" font-size="11" fill="{}">{}</text>').format(
        (left + right) / 2, (top + low) / 2 + 4, "#ffffff" if dark else INK, letter
    )


# ---------------------------------------------------------------- classes and words


def _classes(values: Sequence[float]) -> list[tuple[float, float]]:
    """Up to five classes of about as many areas each, from the lowest: the least and the largest value in each.

    >>> _classes([3, 1, 2, 2, 90, 40, 5, 6, 7, 8])
    [(1, 2), (3, 3), (5, 6), (7, 8), (40, 90)]
    """
    order = sorted(values)
    classes: list[list[float]] = [[] for _ in SHADES]
    for value in order:  # equal values share a class
        classes[bisect_left(order, value) * len(SHADES) // len(order)].append(value)
    return [(one[0], one[-1]) for one in classes if one]


def _shade(area: Area | None, classes: Sequence[tuple[float, float]]) -> str:
    if area is None:
        return "#ffffff"
    if area.value is None:
        return EMPTY
    at = next(at for at, (_, high) in enumerate(classes) if area.value <= high)
    return SHADES[round(at * (len(SHADES) - 1) / max(len(classes) - 1, 1))] if len(classes) > 1 else SHADES[2]


def _key(classes: Sequence[tuple[float, float]], drawn: Sequence[Area | None]) -> list[Markup]:
    """Lines of the key: a box and what it stands for."""
    rows = []
    for low, high in classes:
        shade = _shade(Area("", high, ""), classes)
        rows.append(_box(shade, "", _number(low) if low == high else f"{_number(low)} to {_number(high)}"))
    marks = {one.mark for one in drawn if one is not None}
    if _DOUBTFUL in marks:
        rows.append(_box("#ffffff", "D", "margin above half of the value, or unknown (D)"))
    if _SILENT in marks:
        rows.append(_box(EMPTY, "×", "withheld"))
    if None in drawn:
        rows.append(_box("#ffffff", "", "not in the table"))
    return rows


def _box(shade: str, letter: str, words: str) -> Markup:
    dash = Markup(' stroke-dasharray="3,2"') if letter else ""
    return Markup(
        '<rect x="1" y="1" width="20" height="14" fill="{}" stroke="{}"{}/>{}'
        '<text x="28" y="13" font-size="13" fill="{}">{}</text>'
    ).format(
        shade,
        WARM if letter else "#c3ccd3",
        dash,
        Markup('<text x="11" y="12" text-anchor="middle" font-size="11" fill="{}">{}</text>').format(INK, letter)
        if letter
        else "",
        SOFT,
        words,
    )


def _in_words(title: str, areas: Mapping[str, Area]) -> str:
    """What a reader who sees no picture is told."""
    shown = list(areas.values())
    known = sorted((one for one in shown if one.value is not None), key=lambda one: one.value or 0.0)
    said = f"Map: {title}, {len(shown)} areas."
    if known:
        said += f" Lowest {known[0].label}: {known[0].said}; highest {known[-1].label}: {known[-1].said}."
    for mark, words in ((_DOUBTFUL, "marked D"), (_SILENT, "withheld")):
        if count := sum(one.mark == mark for one in shown):
            said += f" {count} {words}."
    return said


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.4g}"
