"""`tacita plan` says what of the rows a cluster or a server sends to this machine, and how much memory that takes."""

from pathlib import Path

import pytest

from support import specifications as spec
from support.command_line import Call
from support.specifications import head, levels, number

SCHEMA = spec.schema(
    "people",
    "person",
    person=spec.key("person"),
    region=levels("n", "s", role="public"),
    sex=levels("F", "M"),
    pay=number(0, 10_000),
    w=number(1, 50, role="weight"),
    **{f"jobs{year}": number(0, 100, kind="integer") for year in (2001, 2002)},
)
HISTORY = {"columns": {"jobs": "jobs{year}"}, "years": [2001, 2002], "unit": "person", "keep": ["region"]}
SENT = {
    "Table": ({}, "counts and sums, one line for each combination"),
    "PairwiseSynthesis": ({"columns": ["sex", "region"]}, "counts and sums, one line for each combination"),
    "FileSynthesis": ({"columns": ["sex", "pay"]}, "one column at a time, at most 40 MB for a million records"),
    "SurveySynthesis": (
        {"columns": ["pay"], "weight": "w", "by": ["region"]},
        "one column at a time, at most 40 MB for a million records",
    ),
    "QuantileSynthesis": (
        {"columns": ["sex", "pay"]},
        "2 columns of every record, about 32 MB for a million records; all must fit in memory",
    ),
    "PanelSynthesis": (HISTORY, "4 columns of every record, about 64 MB"),
    "PanelSynthesis by groups": (
        HISTORY | {"group": "region"},
        "4 columns of one group of records after another, about 64 MB for a million records; the largest",
    ),
}


@pytest.mark.parametrize("name", SENT)
@pytest.mark.parametrize("engine", ["spark", "duckdb"])
def test_plan_says_what_an_engine_elsewhere_sends(name: str, engine: str, tmp_path: Path, tacita: Call) -> None:
    settings, words = SENT[name]
    cap = {"neighbours": "replace", "unit": "person", "epsilon": "4", "delta": "1e-6"}
    product = spec.table("t", statistic="count", by=["sex"], epsilon="1")
    if name != "Table":
        product = spec.microdata("t", mechanism=name.split()[0], epsilon="1", **settings)
    (tmp_path / "people.schema.toml").write_text(SCHEMA)
    text = head("people", title="People", **cap).replace("[cap]", f'engine = "{engine}"\n[cap]')
    (tmp_path / "release.toml").write_text(text + product)
    said = tacita("plan", tmp_path / "release.toml")
    assert said.code == 0, said.err
    assert (words in " ".join(said.out.split())) == (engine == "spark")
