"""Tables that share what they cost, from specification to bundle: ρ is paid, files agree, mistakes cost nothing."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from support.command_line import Call
from support.specifications import head, levels, schema, table

SCHEMA = schema("people", "person", region=levels("N", "S", "W"), sex=levels("F", "M"))
SPEC = (
    head(
        "people",
        title="People",
        data="csv",
        neighbours="add-remove",
        unit="person",
        epsilon="2",
        delta="1e-9",
        account="rho",
    )
    + '[tables]\nepsilon = "1"\ndelta = "1e-9"\n'
    + table("regions", by=["region"], share="3", agree=True)
    + table("both", by=["region", "sex"], agree=True)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(2)
    people = {"region": random.choice(["N", "S", "W"], 900), "sex": random.choice(["F", "M"], 900)}
    pd.DataFrame(people).to_csv(tmp_path / "people.csv", index=False)
    for name, text in (("people.schema.toml", SCHEMA), ("people.toml", SPEC)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_tables_that_share_a_price_are_planned_released_and_verified(folder: Path, tacita: Call) -> None:
    said = tacita("plan", folder / "people.toml")
    assert said.code == 0, said.err
    assert "ρ = 0.0149730576" in said.out
    said = tacita("run", folder / "people.toml", "--out", folder / "bundle")
    assert said.code == 0, said.err
    said = tacita("verify", folder / "bundle")
    assert said.code == 0, said.err
    totals = {
        int(np.sum(pq.read_table(folder / "bundle" / "tables" / f"{name}.parquet")["value"].to_numpy()))
        for name in ("regions", "both")
    }
    assert len(totals) == 1
    plan = json.loads((folder / "bundle" / "plan.json").read_text(encoding="utf-8"))
    assert [one["mechanism"]["rho"] for one in plan["tables"]] == ["0.0112297932", "0.0037432644"]


def test_a_table_changed_by_hand_no_longer_follows_from_all_measurements(folder: Path, tacita: Call) -> None:
    from tacita.errors import VerificationError
    from tacita.release.remade import make_again

    assert tacita("run", folder / "people.toml", "--out", folder / "bundle").code == 0
    place = folder / "bundle" / "tables" / "both.parquet"
    table = pq.read_table(place)
    values = table["value"].to_numpy().copy()
    values[0] += 1
    pq.write_table(table.set_column(table.column_names.index("value"), "value", [values]), place)
    plan, ledger = (json.loads((folder / "bundle" / f"{name}.json").read_text()) for name in ("plan", "ledger"))
    with pytest.raises(VerificationError, match=r"both\.parquet"):
        make_again(folder / "bundle", plan, ledger)


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ('account = "rho"\n', "", 'add account = "rho"'),
        ('delta = "1e-9"\naccount', "account", "needs delta"),
        ('[tables]\nepsilon = "1"\ndelta = "1e-9"\n', "", "share: is a part of what"),
        ('share = "3"', 'share = "3"\nepsilon = "1"', "share: is above 0"),
        ('share = "3"', 'statistic = "share"\nof = "sex"', "agree: is for counts"),
    ],
)
def test_prices_that_do_not_go_together_are_refused(
    folder: Path, tacita: Call, before: str, after: str, rule: str
) -> None:
    assert before in SPEC
    (folder / "people.toml").write_text(SPEC.replace(before, after, 1), encoding="utf-8")
    said = tacita("run", folder / "people.toml", "--out", folder / "bundle")
    assert said.code == 2
    assert rule in said.err
    assert not (folder / "people.ledger").exists()
