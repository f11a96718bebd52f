"""Public shapes of the codes of a level, for a map on the page: GeoJSON that a person names in `[hierarchy.NAME]`.

The file comes from elsewhere, so nothing in it is trusted: its size, its depth, its numbers and the number of its
points have limits. Of it the bundle gets areas and their codes alone, since exports often carry a table of figures
with them, and these are read again by the same rules where the page is made or verified.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacita.data.schema import reading
from tacita.data.schema.hierarchy import Hierarchy
from tacita.errors import SchemaError

Ring = tuple[tuple[float, float], ...]
Areas = dict[str, tuple[Ring, ...]]
"""The closed lines around each area, by its code; a line inside another is a hole."""

SHAPE_KEYS = ("file", "property")
OWN_ID = "id"
_MOST_BYTES, _MOST_POINTS, _MOST_AREAS = 8_000_000, 300_000, 20_000
_FURTHEST = 1e9  # of a coordinate; degrees and metres stay far below
LEVEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # the level's name is the name of a file in the bundle


@dataclass(frozen=True)
class Shapes:
    """The shapes of one level, as the file had them when the schema was read."""

    level: str
    path: Path
    source: str
    """SHA-256 of the file."""
    content: bytes
    """What a bundle gets of it: `stripped`."""


def shapes_of(entries: Mapping[str, Any], trees: tuple[Hierarchy, ...], folder: Path | None) -> tuple[Shapes, ...]:
    """Every `shapes` of the trees, checked: the file is as it must be, and knows codes of its level."""
    shapes = []
    for tree in trees:
        given, where = entries[tree.name].get("shapes", {}), f"hierarchy.{tree.name}.shapes"
        if not isinstance(given, Mapping):
            raise SchemaError(
                f'{where}: must say the file of each level, such as {{ state = {{ file = "a.geojson" }} }}'
            )
        reading.refuse_unknown(given, (tree.column, *tree.levels), where)
        shapes += [_shapes(level, entry, tree, f"{where}.{level}", folder) for level, entry in given.items()]
    return tuple(shapes)


def _shapes(level: str, entry: Any, tree: Hierarchy, where: str, folder: Path | None) -> Shapes:
    if not isinstance(entry, Mapping):
        raise SchemaError(f'{where}: must be a table, such as {{ file = "states.geojson", property = "GEOID" }}')
    reading.refuse_unknown(entry, SHAPE_KEYS, where)
    if not LEVEL_NAME.fullmatch(level):
        raise SchemaError(f"{where}: a level with shapes has a name of letters, digits, - and _; rename the level")
    name = reading.text(entry, "file", where)
    path = (folder or Path()) / name
    try:
        content = shape_bytes(path)
    except OSError:
        raise SchemaError(f"{where}.file: {name} was not found beside the schema; correct the path") from None
    code_in = reading.text(entry, "property", where, default=OWN_ID)
    features = _features(content, f"{where}.file: {name}")
    areas = _areas(features, f"{where}.file: {name}", code_in)
    if not set(areas) & set(tree.names(level)):
        raise SchemaError(
            f'{where}.file: {name} has no code of {level}: name the property that holds it, as property = "…", and '
            "write codes as the schema does (01 is not 1)"
        )
    return Shapes(level, path, hashlib.sha256(content).hexdigest(), stripped(features, code_in))


def shape_bytes(path: Path) -> bytes:
    """The bytes of a file of shapes; of one that is too large only so many as show it."""
    return reading.public_bytes(path, _MOST_BYTES + 1)


def stripped(features: list[Any], name: str) -> bytes:
    """A file of the same areas with their codes as ids, and nothing else that the features carry.

    >>> feature = {"type": "Feature", "properties": {"KEY": 7, "jobs": 1234}, "geometry": {"type": "Polygon",
    ...            "coordinates": [[[0, 0, 99], [1, 0, 98], [1, 1, 97], [0, 0, 99]]]}}
    >>> stripped([feature], "KEY").decode()[58:]
    '"id":"7","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}]}'
    """
    plain = [
        {
            "type": "Feature",
            "id": _code(one, name, ""),
            "properties": {},
            "geometry": {"type": one["geometry"]["type"], "coordinates": _flat(one["geometry"]["coordinates"])},
        }
        for one in features
    ]
    return json.dumps({"type": "FeatureCollection", "features": plain}, separators=(",", ":")).encode()


def _flat(coordinates: list[Any]) -> list[Any]:
    """Without heights, or whatever else stands behind the two numbers of a point."""
    return [_flat(one) for one in coordinates] if isinstance(coordinates[0], list) else coordinates[:2]


def areas_of(content: bytes, where: str, name: str = OWN_ID) -> Areas:
    """The areas of a GeoJSON FeatureCollection, by the property `name` of each feature, or by its own id.

    >>> square = [[0, 0], [1, 0], [1, 1], [0, 0]]
    >>> feature = {"type": "Feature", "id": "A", "geometry": {"type": "Polygon", "coordinates": [square]}}
    >>> areas_of(json.dumps({"type": "FeatureCollection", "features": [feature]}).encode(), "a.geojson")["A"]
    (((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)),)
    """
    return _areas(_features(content, where), where, name)


def _features(content: bytes, where: str) -> list[Any]:
    if len(content) > _MOST_BYTES:
        raise SchemaError(f"{where} is larger than {_MOST_BYTES // 10**6} MB; a map needs generalised boundaries")
    try:
        document = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise SchemaError(f"{where} is not GeoJSON in UTF-8 with finite numbers; export it again") from None
    features = document.get("features") if isinstance(document, dict) else None
    if not isinstance(features, list) or not 0 < len(features) <= _MOST_AREAS:
        raise SchemaError(f"{where} must be a FeatureCollection of up to {_MOST_AREAS:,} features; export it as such")
    return features


def _areas(features: list[Any], where: str, name: str) -> Areas:
    areas: Areas = {}
    points = 0
    for number, feature in enumerate(features, start=1):
        place = f"{where}: feature {number}"
        code = _code(feature, name, place)
        if code in areas:
            raise SchemaError(f"{place} has a code that an earlier one has too; merge them into one MultiPolygon")
        areas[code] = tuple(_rings(feature.get("geometry"), place))
        points += sum(map(len, areas[code]))
        if points > _MOST_POINTS:
            raise SchemaError(f"{where} has more than {_MOST_POINTS:,} points; a map needs generalised boundaries")
    return areas


def _refuse(word: str) -> float:
    raise ValueError(word)


def _code(feature: Any, name: str, place: str) -> str:
    if not isinstance(feature, dict):
        raise SchemaError(f"{place} is no feature; export the file as a FeatureCollection")
    properties = feature.get("properties")
    held = feature if name == OWN_ID and OWN_ID in feature else properties if isinstance(properties, dict) else {}
    code = held.get(name)
    if isinstance(code, bool) or not isinstance(code, str | int) or code == "" or len(str(code)) > 200:
        raise SchemaError(f"{place} has no code in {name}; each needs one, as text or a whole number")
    return str(code)


def _rings(geometry: Any, place: str) -> Iterator[Ring]:
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in ("Polygon", "MultiPolygon"):
        raise SchemaError(f"{place} must be a Polygon or a MultiPolygon; leave points and lines out")
    coordinates = geometry.get("coordinates")
    for polygon in _listed([coordinates] if kind == "Polygon" else coordinates, place):
        for ring in _listed(polygon, place):
            yield tuple(_point(one, place) for one in _listed(ring, place))


def _listed(given: Any, place: str) -> list[Any]:
    if not isinstance(given, list) or not given:
        raise SchemaError(f"{place}: its coordinates are not those of a polygon; export the file again")
    return given


def _point(given: Any, place: str) -> tuple[float, float]:
    ends = given[:2] if isinstance(given, list) else []
    numbers = [one for one in ends if isinstance(one, int | float) and not isinstance(one, bool)]
    # What is not a number is not below anything; a whole number of any length is compared before it becomes a float.
    if len(numbers) == 2 and all(abs(one) <= _FURTHEST for one in numbers):
        return float(numbers[0]), float(numbers[1])
    raise SchemaError(f"{place}: a coordinate is not a finite number below a thousand million; export the file again")
