"""Maps on the page: published values by the areas of a level, where the schema named a file of their shapes.

Areas and codes of the file stand in the bundle, in `shapes/`, as they were when the release was planned; `plan.json`
has their hash and that of the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.data.schema import Hierarchy, Schema
from tacita.data.schema.shapes import LEVEL_NAME, Areas, Shapes, areas_of, shape_bytes
from tacita.errors import VerificationError
from tacita.mechanisms.table.levels import LEVEL
from tacita.pages.maps import Area, choropleth
from tacita.release.bundle_files import fingerprint
from tacita.release.facts import spoken
from tacita.tables.publish import attributes
from tacita.tables.statistics import TOTAL, WITHHELD

FOLDER = "shapes"
_MOST_MAPS = 4  # of one table and level: more are a file to open, not to look at
_CROSS = " × "


def write_shapes(folder: Path, shapes: Sequence[Shapes]) -> None:
    for one in shapes:
        (folder / FOLDER).mkdir(exist_ok=True)
        (folder / FOLDER / f"{one.level}.geojson").write_bytes(one.content)


def shapes_record(shapes: Sequence[Shapes]) -> dict[str, dict[str, str]]:
    """What `plan.json` says of them."""
    return {one.level: {"sha256": hashlib.sha256(one.content).hexdigest(), "source": one.source} for one in shapes}


def check_shapes(folder: Path, plan: Mapping[str, Any]) -> None:
    """The files of shapes are those that were public inputs of the release, and no other."""
    listed = plan.get("shapes", {})
    there = {path.name: fingerprint(path)[0] for path in (folder / FOLDER).glob("*")}
    if there != {f"{level}.geojson": one["sha256"] for level, one in listed.items()}:
        raise VerificationError(f"{FOLDER}/ does not hold the shapes that plan.json lists")
    inputs = {one.get("sha256") for one in plan["public_inputs"]}
    if strangers := sorted({one["source"] for one in listed.values()} - inputs):
        raise VerificationError(f"plan.json: a file of shapes is no public input ({strangers[0][:12]}…)")


def areas_in(folder: Path) -> Callable[[str], Areas]:
    """The areas of a level, from the bundle in `folder`; each file is read once, however many tables have its map."""
    return cache(lambda level: areas_of(shape_bytes(folder / FOLDER / f"{level}.geojson"), f"{FOLDER}/{level}.geojson"))


def maps_of(
    plan: Mapping[str, Any], schema: Schema, areas: Callable[[str], Areas], table: pa.Table, title: str
) -> list[dict[str, Any]]:
    """The maps of one table, coarsest level first, each with its caption."""
    listed = plan.get("shapes", {})
    made = []
    for tree in schema.hierarchies:
        for level in (*reversed(tree.levels), tree.column):
            # A name from a bundle must not lead out of it.
            if level in listed and tree.column in attributes(table) and LEVEL_NAME.fullmatch(level):
                made += list(_maps(table, schema, tree, level, areas(level), title))
    return made


def _maps(
    table: pa.Table, schema: Schema, tree: Hierarchy, level: str, shapes: Areas, title: str
) -> Iterator[dict[str, Any]]:
    others = [name for name in attributes(table) if name not in (tree.column, LEVEL)]
    parts: dict[tuple[str, ...], dict[str, Area]] = {}
    for row in _rows(table, tree, level, others):
        label = row.get(f"{tree.column}_label") or row[tree.column]
        key = tuple(str(row.get(f"{name}_label") or row[name]) for name in others)
        parts.setdefault(key, {})[row[tree.column]] = Area(str(label), row["value"], _said(row), _mark(row))
    if len(parts) > _MOST_MAPS:
        return
    for key, areas in parts.items():
        if not set(areas) & set(shapes):
            continue
        named = ", ".join((title, *(one for one in key if one != TOTAL)))
        word = (schema[level].label if level == tree.column else "") or spoken(level).lower()
        lost = [one.label for code, one in areas.items() if code not in shapes]
        yield {
            "picture": choropleth(shapes, areas, f"{named}, by {word}"),
            "above": f"{named}, by {word}",
            "lost": len(lost),
            "some": ", ".join(lost[:5]) + (", …" if len(lost) > 5 else ""),
        }


def _rows(table: pa.Table, tree: Hierarchy, level: str, others: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a level: of columns beside it the totals, where the table has them."""
    rows = table.to_pylist()
    if LEVEL in table.column_names:
        by = [name for name in attributes(table) if name != LEVEL]
        at = by.index(tree.column)
        # Coarsest tables come first, so the first one at this level sums the most over other columns.
        named = next((one for row in rows if (one := row[LEVEL]).split(_CROSS)[at] == level), None)
        return [row for row in rows if row[LEVEL] == named]
    if level != tree.column:
        return []
    rows = [row for row in rows if row[tree.column] in set(tree.finest)]
    summed = [row for row in rows if others and all(row[name] == TOTAL for name in others)]
    return summed or [row for row in rows if not any(row[name] == TOTAL for name in others)]


def _said(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return WITHHELD
    margin = row.get("margin_of_error")
    said = f"{row['value']:,.10g}" + (" ± unknown" if margin is None else f" ± {margin:,.10g}")
    return said + (f", quality {row['quality']}" if row.get("quality") else "")


def _mark(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return WITHHELD
    return "D" if row.get("quality") == "D" else ""
