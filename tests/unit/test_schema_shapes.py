"""Shapes of a level: a file from elsewhere is taken only as far as a map needs it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tacita.data.schema import Schema, reading
from tacita.data.schema.shapes import areas_of
from tacita.errors import SchemaError

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]


def feature(code: Any, coordinates: Any = None, kind: str = "Polygon", **more: Any) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": [SQUARE] if coordinates is None else coordinates}
    return {"type": "Feature", "id": code, "properties": {"KEY": code}, "geometry": geometry, **more}


def collection(*features: Any) -> bytes:
    return json.dumps({"type": "FeatureCollection", "features": list(features)}).encode()


def schema(folder: Path, shapes: Any, levels: tuple[str, ...] = ("state",)) -> Schema:
    place = {"role": "public", "type": "categorical", "levels": ["A1", "A2", "B1"]}
    tree = {"column": "place", "levels": list(levels), "prefix": {levels[0]: 1}, "shapes": shapes}
    content = {
        "dataset": {"identity": "people", "unit": "person"},
        "variables": {"place": place},
        "hierarchy": {"geography": tree},
    }
    return Schema.from_dict(content, folder=folder)


def test_shapes_are_read_and_are_no_part_of_the_schema_s_hash(tmp_path: Path) -> None:
    (tmp_path / "states.geojson").write_bytes(collection(feature("A"), feature("B")))
    found = schema(tmp_path, {"state": {"file": "states.geojson", "property": "KEY"}})
    (one,) = found.shapes
    assert (one.level, one.path.name) == ("state", "states.geojson")
    assert found == schema(tmp_path, {})
    assert "shapes" not in json.dumps(found.to_dict())


def test_whole_numbers_islands_and_holes_are_understood() -> None:
    found = areas_of(collection(feature(7, [[SQUARE, SQUARE], [SQUARE]], "MultiPolygon")), "a.geojson")
    assert list(found) == ["7"]
    assert [len(ring) for ring in found["7"]] == [5, 5, 5]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not GeoJSON"),
        (b"\xff\xfe", "is not GeoJSON"),
        (b"[" * 100_000 + b"]" * 100_000, "is not GeoJSON"),
        (collection(feature("A", [[[0, 0], [1, 0], [1, float("nan")], [0, 0]]])), "is not GeoJSON"),
        (collection(feature("A", [[[0, 0], [1, 0], [1, 0], [0, 0]]])).replace(b"[1, 0]", b"[1e999, 0]"), "finite"),
        (collection(feature("A", [[[0, 0], [10**400, 0], [0, 0]]])), "finite"),
        (collection(feature("A", [[["0", "0"]]])), "finite"),
        (collection(feature("A", [[[True, False]]])), "finite"),
        (collection(feature("A", [[0, 0]])), "finite"),
        (collection(feature("A", [0, 0])), "coordinates"),
        (collection(feature("A", [])), "coordinates"),
        (collection(feature("A", [0, 0], "Point")), "must be a Polygon"),
        (collection({"id": "A", "geometry": None}), "must be a Polygon"),
        (collection(), "must be a FeatureCollection"),
        (b"[]", "must be a FeatureCollection"),
        (collection(*[{}] * 20_001), "must be a FeatureCollection"),
        (collection(7), "feature 1 is no feature"),
        (collection(feature(True)), "feature 1 has no code"),
        (collection(feature("A"), feature(None)), "feature 2 has no code"),
        (collection(feature("A" * 201)), "feature 1 has no code"),
        (collection(feature("A"), feature("A")), "feature 2 has a code that an earlier one has"),
        (collection(feature("A", [SQUARE * 70_000])), "more than 300,000 points"),
        (b" " * 8_000_001, "larger than 8 MB"),
    ],
)
def test_hostile_files_are_refused_by_name(content: bytes, said: str) -> None:
    with pytest.raises(SchemaError, match=f"^a.geojson.*{said}"):
        areas_of(content, "a.geojson")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes (POSIX)")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "states.geojson")
    with pytest.raises(SchemaError, match="was not found"):
        schema(tmp_path, {"state": {"file": "states.geojson"}})
    os.mkfifo(tmp_path / "codes.csv")
    with pytest.raises(SchemaError, match="cannot be read"):
        reading.csv_rows("codes.csv", "here", tmp_path)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ("states.geojson", "must say the file of each level"),
        ({"county": {"file": "states.geojson"}}, ".county: unknown key"),
        ({"state": "states.geojson"}, ".state: must be a table"),
        ({"state": {"file": "nowhere.geojson"}}, "nowhere.geojson was not found"),
        ({"state": {"file": "states.geojson", "key": "KEY"}}, ".state.key: unknown key"),
        ({"place": {"file": "states.geojson"}}, "has no code of place"),
        ({"state": {"file": "states.geojson", "property": "name"}}, "has no code in name"),
    ],
)
def test_a_wrong_entry_names_the_key_and_the_fix(tmp_path: Path, shapes: Any, said: str) -> None:
    (tmp_path / "states.geojson").write_bytes(collection(feature("A"), feature("B")))
    with pytest.raises(SchemaError, match=rf"^hierarchy\.geography\.shapes.*{said}"):
        schema(tmp_path, shapes)


def test_a_level_s_name_cannot_lead_out_of_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "states.geojson").write_bytes(collection(feature("A")))
    with pytest.raises(SchemaError, match="letters, digits"):
        schema(tmp_path, {"../state": {"file": "states.geojson"}}, levels=("../state",))
