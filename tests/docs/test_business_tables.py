"""The page on sums, growth and flows of businesses: what it prints runs, and its specification can be planned."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd

from tacita.comparison import SlowSums
from tacita.data.schema import Schema
from tacita.release.plans import prepare
from tacita.release.spec import Spec
from tacita.tables import publish

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "business-tables.md").read_text(encoding="utf-8")
NUMBER = 'role = "confidential"\ntype = "integer"\nlower = 0\nupper = 1000000\nmissing = 0\n'
SCHEMA = "".join(
    [
        '[dataset]\nidentity = "plants"\nunit = "establishment"\n',
        '[variables.county]\nrole = "public"\ntype = "categorical"\nlevels = ["1", "2"]\n',
        '[variables.industry]\nrole = "public"\ntype = "categorical"\nlevels = ["a", "b"]\n',
        *(f"[variables.{name}]\n{NUMBER}" for name in ("payroll", "jobs2023", "jobs2024")),
    ]
)


def _printed(language: str, at: int = 0) -> str:
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    return blocks[at]


def test_the_slow_plan_is_made_and_loses_what_the_page_says() -> None:
    names: dict[str, SlowSums] = {}
    exec(compile(_printed("python", 1), "business-tables.md", "exec"), names)
    plan = names["plan"]
    share = 12.058 / 3
    assert f"a loan of 100,000 loses ρ = {share:.2f}" in PAGE
    assert f"| ρ = {share * plan.relation.policy(150_000):.2f} |" in PAGE
    assert plan.relation.policy_in_words == "ρ · (ln(1 + v/10000) / ln(1 + 100000/10000))²"


def test_what_is_printed_runs() -> None:
    names: dict[str, object] = {}
    exec(compile(_printed("python"), "business-tables.md", "exec"), names)
    schema = Schema.from_dict(tomllib.loads(SCHEMA))
    random = np.random.default_rng(1)
    frame = pd.DataFrame({name: random.integers(0, 500, 40) for name in ("payroll", "jobs2023", "jobs2024")})
    frame = frame.assign(county=random.choice(["1", "2"], 40), industry=random.choice(["a", "b"], 40))
    for name, rows in (("payroll", 4), ("growth", 8), ("flows", 6)):
        result = names[name].rehearse(frame, schema, seed=1)  # type: ignore[attr-defined]
        assert publish(result, schema).num_rows == rows


def test_the_printed_specification_can_be_planned(tmp_path: Path) -> None:
    (tmp_path / "plants.schema.toml").write_text(SCHEMA)
    head = 'title = "Plants"\nschema = "plants.schema.toml"\ndata = "plants.csv"\nledger = "plants.ledger"\n'
    (tmp_path / "plants.toml").write_text(head + _printed("toml"))
    planned = prepare(Spec.load(tmp_path / "plants.toml"))
    assert [type(one.plan).__name__ for one in planned.tables] == ["SmoothSums", "SmoothGrowth", "SmoothFlows"]
    assert planned.tables[0].plan.margin_share == planned.tables[2].plan.margin_share
