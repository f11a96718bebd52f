"""The guide to levels: its schema and its table do what it says."""

import json
import re
import tomllib
from pathlib import Path

from support.specifications import head, key, levels, number, schema
from tacita import Schema, Table
from tacita.release.plans import prepare
from tacita.release.spec import Spec

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "levels-of-a-table.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
TREES, TABLE, _, MAP = (tomllib.loads(block) for block in BLOCKS)


def test_the_guide_s_trees_and_table_make_a_plan() -> None:
    category = {"role": "confidential", "type": "categorical"}
    variables = {
        "tract": {**category, "levels": ["0100101", "0100102", "0200101"]},
        "sector": {**category, "levels": ["11", "23", "54"]},
        "sex": {**category, "levels": ["F", "M"]},
    }
    trees = Schema.from_dict({"dataset": {"identity": "p", "unit": "person"}, "variables": variables, **TREES})
    assert trees.hierarchy("tract").names("county") == ("01001", "02001")
    (asked,) = TABLE["table"]
    plan = Table("count", asked["epsilon"], by=asked["by"], levels=asked["levels"])
    listed = {line.split(" (")[0] for line in plan.forecast(trees).sentences}
    assert listed == {"nation × sex", "state × sex", "county × sex", "tract × sex"}
    crossed = Table("count", "1", by=["tract", "sector"], levels=["state", "division"])
    named = {line.split(" (")[0] for line in crossed.forecast(trees).sentences}
    assert named == {"tract × sector", "state × sector", "tract × division", "state × division"}


def test_the_guide_s_table_of_establishments_is_planned(tmp_path: Path) -> None:
    tract, sector = levels("0100101", "0200101", role="public"), levels("11", "23", "54", role="public")
    of_firms = schema("firms", "firm", firm=key("firm"), tract=tract, sector=sector, pay=number(0, 10**6))
    asked = head("firms", title="Firms", neighbours="numbers-within", unit="firm", alpha="0.1", epsilon="1")
    (tmp_path / "firms.schema.toml").write_text(of_firms + BLOCKS[0], encoding="utf-8")
    (tmp_path / "firms.toml").write_text(asked + BLOCKS[2], encoding="utf-8")
    release = prepare(Spec.load(tmp_path / "firms.toml"))
    assert [one.spec.levels for one in release.tables] == [("county", "state", "nation")]


def test_the_guide_s_map_is_read(tmp_path: Path) -> None:
    ring = [[0, 0], [1, 0], [1, 1], [0, 0]]
    state = {"properties": {"GEOID": "01"}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
    (tmp_path / "states.geojson").write_text(json.dumps({"features": [state]}), encoding="utf-8")
    tract = {"role": "confidential", "type": "categorical", "levels": ["0100101", "0200101"]}
    content = {"dataset": {"identity": "p", "unit": "person"}, "variables": {"tract": tract}, **MAP}
    assert [one.level for one in Schema.from_dict(content, folder=tmp_path).shapes] == ["state"]
