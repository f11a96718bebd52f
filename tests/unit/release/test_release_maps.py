"""A map from schema to page: what it shows is in words too, it is a public input, and `verify` draws it again."""

import json
import os
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from support.command_line import Call
from support.specifications import head, table
from tacita.data.schema import Schema
from tacita.pages.charts import LEFT_OUT
from tacita.pages.maps import SHADES, Area, choropleth
from tacita.release.alike import same_page
from tacita.release.bundle_files import fingerprint, manifest_hash, write_json
from tacita.release.page_maps import areas_in, maps_of

DISTRICTS = ["A1", "A2", "B1", "B2", "99"]
HOSTILE = '</svg><script>alert("x")</script>'
SCHEMA = f"""
[dataset]
identity = "people"
unit = "person"
[variables.district]
type = "categorical"
role = "confidential"
levels = {json.dumps(DISTRICTS)}
labels = {{ A2 = {json.dumps(HOSTILE)} }}
[variables.sex]
type = "categorical"
role = "confidential"
levels = ["F", "M"]
[hierarchy.geography]
column = "district"
levels = ["state"]
state = {{ A1 = "A", A2 = "A", B1 = "B", B2 = "B", 99 = "abroad" }}
shapes.state = {{ file = "states.geojson" }}
shapes.district = {{ file = "districts.geojson", property = "KEY" }}
"""
SPEC = head("people", title="People", data="csv", neighbours="add-remove", unit="person", epsilon="2") + table(
    "people", by=["district"], levels=["state"], epsilon="1", withhold="200%"
)


def square(x: float, y: float, code: str) -> dict[str, object]:
    ring = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]]
    geometry = {"type": "Polygon", "coordinates": [ring]}
    return {"type": "Feature", "id": code, "properties": {"KEY": code, "name": HOSTILE}, "geometry": geometry}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("maps")
    people = {"district": np.repeat(DISTRICTS, [900, 400, 60, 0, 30]), "sex": "F"}
    pd.DataFrame(people).to_csv(folder / "people.csv", index=False)
    states = [square(0, 50, "A"), square(1, 50, "B")]
    districts = [
        square(0, 50, "A1"),
        square(0, 51, "A2"),
        square(1, 50, "B1"),
        square(1, 51, "B2"),
        square(2, 50, "C1"),
    ]
    for name, features in (("states", states), ("districts", districts)):
        written = json.dumps({"type": "FeatureCollection", "features": features})
        (folder / f"{name}.geojson").write_text(written, encoding="utf-8")
    for name, text in (("people.schema.toml", SCHEMA), ("people.toml", SPEC)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def bundle(made: Path, tmp_path: Path, tacita: Call) -> Path:
    if not (made / "bundle").exists():
        said = tacita("run", made / "people.toml", "--out", made / "bundle")
        assert said.code == 0, said.err
    return Path(shutil.copytree(made / "bundle", tmp_path / "bundle"))


def test_maps_of_both_levels_are_on_the_page_in_words_and_verified(bundle: Path, tacita: Call) -> None:
    said = tacita("verify", bundle)
    assert said.code == 0, said.err
    page = (bundle / "report.html").read_text(encoding="utf-8")
    maps = page.split('<svg class="map"')[1:]
    assert [one.split('aria-label="')[1].split(",")[1] for one in maps] == [" by state", " by district"]
    assert re.search(r"highest A: 1,[23]\d\d ± ", maps[0].split("</svg>")[0])  # 1,300 and noise
    districts = maps[1].split("</svg>")[0]
    assert "<script" not in page
    assert "&lt;script&gt;" in districts
    assert "not in the table" in districts  # C1, of which the schema knows nothing
    assert "Without a shape: 99" in maps[1]


def test_the_files_are_public_inputs_with_their_hashes(bundle: Path, made: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    listed = {one["what"]: one.get("sha256") for one in manifest["public_inputs"]}
    stored = manifest["files"]["shapes/district.geojson"]["sha256"]
    plan = json.loads((bundle / "plan.json").read_text(encoding="utf-8"))
    assert listed["Shapes of district (districts.geojson)"] == fingerprint(made / "districts.geojson")[0]
    assert plan["shapes"]["district"] == {
        "sha256": stored,
        "source": listed["Shapes of district (districts.geojson)"],
    }


def test_of_a_file_of_shapes_only_areas_and_codes_leave(bundle: Path) -> None:
    """An export with a joined table of figures would publish them beside the ledger."""
    document = json.loads((bundle / "shapes" / "district.geojson").read_text(encoding="utf-8"))
    assert {key for one in document["features"] for key in one} == {"type", "id", "properties", "geometry"}
    assert [one["id"] for one in document["features"]] == ["A1", "A2", "B1", "B2", "C1"]
    assert not any(one["properties"] for one in document["features"])


def forge(bundle: Path, path: str, old: str, new: str) -> None:
    """Change a file and the manifest with it, as someone would who can write to the bundle."""
    text = (bundle / path).read_text(encoding="utf-8")
    assert old in text
    (bundle / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    digest, size = fingerprint(bundle / path)
    manifest["files"][path] = {"sha256": digest, "size": size}
    manifest["manifest_sha256"] = manifest_hash(manifest)
    write_json(bundle / "manifest.json", manifest)


def test_another_shape_or_another_shade_is_noticed(bundle: Path, tacita: Call, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(bundle, tmp_path / "moved"))
    forge(moved, "shapes/state.geojson", "[0,50]", "[0,49]")
    said = tacita("verify", moved)
    assert said.code == 4
    assert "shapes/ does not hold the shapes that plan.json lists" in said.err
    forge(bundle, "report.html", f'fill="{SHADES[-1]}" stroke', f'fill="{SHADES[0]}" stroke')
    said = tacita("verify", bundle)
    assert said.code == 4
    assert "report.html" in said.err


@pytest.mark.parametrize(
    ("part", "entry"),
    [
        ("variables", {"type": "categorical", "role": "public", "levels_file": "PATH"}),
        ("hierarchy", {"column": "district", "levels": ["state"], "file": "PATH"}),
        ("hierarchy", {"column": "district", "levels": ["state"], "shapes": {"state": {"file": "PATH"}}}),
    ],
)
def test_a_bundle_has_no_file_read_that_is_not_its_own(
    bundle: Path, tacita: Call, tmp_path: Path, part: str, entry: dict[str, object]
) -> None:
    """Whoever verifies a stranger's bundle would open the path; from a pipe the answer would never come."""
    os.mkfifo(tmp_path / "pipe")
    written = json.dumps(entry).replace("PATH", str(tmp_path / "pipe"))
    forge(bundle, "plan.json", f'"{part}": {{', f'"{part}": {{"more": {written},')
    said = tacita("verify", bundle)
    assert said.code == 4
    assert "names a file beside it" in said.err


# ---------------------------------------------------------------- drawing

SHAPES = {code: [[(x, 0.0), (x + 1.0, 0.0), (x + 1.0, 1.0), (x, 0.0)]] for x, code in enumerate("abcdefg")}


def test_cells_withheld_or_doubtful_are_shown_as_such_and_counted_in_words() -> None:
    areas = {
        "a": Area("a", 10.0, "10 ± 1"),
        "b": Area("b", 90.0, "90 ± 80, quality D", "D"),
        "c": Area("c", None, "withheld", "withheld"),
        "nowhere": Area("nowhere", 5000.0, "5,000 ± 1"),
    }
    drawn = str(choropleth(SHAPES, areas, "People"))
    assert (
        'aria-label="Map: People, 3 areas. Lowest a: 10 ± 1; highest b: 90 ± 80, quality D. 1 marked D. 1 withheld."'
        in (drawn)
    )
    assert drawn.count("stroke-dasharray") == 4  # two areas and two lines of the key
    assert "5,000" not in drawn
    assert same_page(drawn, drawn)  # nothing in it that a page may not have
    assert not same_page(drawn, drawn.replace(SHADES[0], SHADES[1]))
    assert not same_page(drawn, LEFT_OUT)  # as charts may be, where an account cannot draw


def test_islands_that_nobody_could_see_take_no_room() -> None:
    dots = [[(x / 1e6, 0.0)] * 4 for x in range(1000)]
    shapes = {**SHAPES, "a": [*SHAPES["a"], *dots]}
    assert len(str(choropleth(shapes, {}, "x"))) == len(str(choropleth(SHAPES, {}, "x")))


@pytest.mark.parametrize("west", [-180.0, 0.0, 500_000.0])
def test_every_shape_is_inside_the_picture(west: float) -> None:
    """Also around the date line, in metres, and where an area is smaller than a point."""
    east = 179.0 if west == -180 else west + 1
    shapes = {
        "a": [[(west, 60.0), (west + 1, 60.0), (west + 1, 61.0), (west, 60.0)]],
        "b": [[(east, 60.0), (east + 1, 60.0), (east + 1, 61.0), (east, 60.0)]],
        "dot": [[(west, 60.5), (west, 60.5), (west, 60.5)]],
    }
    drawn = str(choropleth(shapes, {"a": Area("a", 1.0, "1")}, "x"))
    lines = [part.split('"')[0] for part in drawn.split(' d="')[1:]]
    assert len(lines) == 3
    numbers = [[tuple(map(float, one.split())) for one in line.strip("MZ").split("L")] for line in lines]
    inside = [0 <= x <= 690 and 0 <= y <= 522 for line in numbers for x, y in line]
    assert all(inside)
    widest = max(x for x, _ in numbers[0]) - min(x for x, _ in numbers[0])
    assert widest > 200  # two areas side by side fill the width, or the height at twice its degrees


def test_a_table_with_many_other_columns_has_no_maps_but_its_totals_have(bundle: Path) -> None:
    plan = json.loads((bundle / "plan.json").read_text(encoding="utf-8"))
    codes, sectors = ["A1", "B1"], [f"s{at}" for at in range(9)]
    cells = [(code, sector) for code in codes for sector in sectors]

    def table(rows: list[tuple[str, str]]) -> pa.Table:
        return pa.table(
            {"district": [one for one, _ in rows], "sector": [one for _, one in rows], "value": list(range(len(rows)))}
        )

    drawn = partial(maps_of, plan, Schema.stored(plan["schema"]), areas_in(bundle))
    assert drawn(table(cells), "x") == []
    (one,) = drawn(table([*cells, *((code, "Total") for code in codes)]), "x")
    assert "A1: 18 ± unknown" in one["picture"]
