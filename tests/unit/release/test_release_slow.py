"""Per-record privacy from specification to bundle: its own account, its policy function on the page, and refusals."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.command_line import Call
from support.specifications import key, levels, number, schema
from tacita.errors import SpecError
from tacita.privacy import Guarantee, Loss, NumbersWithin
from tacita.release.page import _requirements
from tacita.release.plans import prepare
from tacita.release.settings import plan_as_set
from tacita.release.spec import Spec

SCHEMA = schema(
    "firms", "firm", firm=key("firm"), sector=levels("a", "b", role="public"), pay=number(0, 50000000, kind="integer")
)
CAP = """
neighbours = "per-record"
unit = "firm"
scaling = "log"
offset = "10000"
reference = "1000000"
account = "rho"
epsilon = "40"
delta = "1e-9"
"""
TABLE = """
name = "pay"
statistic = "sum"
of = "pay"
by = ["sector"]
rho = "6"
"""
HEAD = 'title = "Pay"\nschema = "firms.schema.toml"\ndata = "firms.csv"\nledger = "firms.ledger"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(4)
    firms = {"firm": range(300), "sector": random.choice(["a", "b"], 300), "pay": random.lognormal(10, 1, 300).round()}
    pd.DataFrame(firms).to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "firms.schema.toml").write_text(SCHEMA, encoding="utf-8")
    written(tmp_path)
    return tmp_path


def written(folder: Path, cap: str = CAP, table: str = TABLE) -> Path:
    path = folder / "firms.toml"
    path.write_text(f"{HEAD}[cap]{cap}[[table]]{table}", encoding="utf-8")
    return path


def test_a_release_is_planned_paid_verified_and_says_its_policy(folder: Path, tacita: Call) -> None:
    said = tacita("plan", folder / "firms.toml")
    assert said.code == 0, said.err
    assert "per-record zero-concentrated differential privacy" in " ".join(said.out.split())
    assert re.search(r"with 50,000,000, the\s.*ρ = 20.5", said.out, re.DOTALL)
    assert tacita("run", folder / "firms.toml", "--out", folder / "bundle").code == 0
    said = tacita("verify", folder / "bundle")
    assert said.code == 0, said.err
    page = (folder / "bundle" / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "ρ · (ln(1 + v/10000) / ln(1 + 1000000/10000))²" in page
    assert '<td class="number">1,000,000</td><td class="number">ρ = 6</td>' in page
    assert '<td class="number">10,000,000</td><td class="number">ρ = 13.5</td>' in page
    # ρ · (ln 5001 / ln 101)² = 20.44, and nothing larger than the schema allows is spoken of.
    assert (
        '<td class="number">50,000,000, the largest that the schema allows</td><td class="number">ρ = 20.5</td>' in page
    )
    assert '<td class="number">100,000,000</td>' not in page
    plan = json.loads((folder / "bundle" / "plan.json").read_text(encoding="utf-8"))
    assert plan["guarantee"]["neighbours"]["kind"] == "per-record"
    table = plan["tables"][0]
    assert plan_as_set(table["settings"], table["mechanism"]).describe() == table["mechanism"]


def test_its_cap_rises_and_is_waived_by_the_name_of_the_unit(folder: Path, tacita: Call) -> None:
    assert tacita("run", folder / "firms.toml", "--out", folder / "one").code == 0
    verb = ("--neighbours", "per-record", "--reason", "Board, 3 March", "--operator", "A. Meier")
    said = tacita("ledger", "raise", folder / "firms.ledger", "--epsilon", "50", "--delta", "1e-9", *verb)
    assert said.code == 0, said.err
    said = tacita("ledger", "waive", folder / "firms.ledger", "--unit", "person", *verb)
    assert said.code == 2
    assert "has 0 caps for per-record privacy" in said.err
    said = tacita("ledger", "waive", folder / "firms.ledger", "--unit", "firm", *verb)
    assert said.code == 0, said.err
    assert "one firm's number, by log scaling" in said.out


def test_another_table_of_the_same_policy_adds_up_and_one_beyond_the_cap_is_refused(folder: Path, tacita: Call) -> None:
    assert tacita("run", folder / "firms.toml", "--out", folder / "one").code == 0
    more = TABLE.replace('by = ["sector"]', "").replace('"pay"\nstatistic', '"all"\nstatistic')
    said = tacita("run", written(folder, table=more), "--out", folder / "two")
    assert said.code == 3  # 12 of 10.99
    assert tacita("run", written(folder, table=more.replace('"6"', '"4"')), "--out", folder / "two").code == 0


@pytest.mark.parametrize(
    ("cap", "table", "said"),
    [
        (CAP.replace('scaling = "log"\n', ""), TABLE, "needs the key scaling"),
        (CAP.replace('account = "rho"\n', ""), TABLE, 'add account = "rho"'),
        (CAP.replace('"log"', '"cube"'), TABLE, "scaling"),
        (CAP.replace('offset = "10000"', 'offset = "0"'), TABLE, "offset: must be between"),
        (CAP.replace('"1000000"', '"9999"'), TABLE, "reference: must be at least the offset"),
        (CAP, TABLE.replace('"sum"', '"mean"'), "there are sums"),
        (CAP, TABLE.replace('rho = "6"', 'epsilon = "1"'), "epsilon"),
        (CAP.replace("per-record", "replace"), TABLE, "has no scaling"),
    ],
)
def test_what_does_not_fit_together_is_named(folder: Path, cap: str, table: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        prepare(Spec.load(written(folder, cap, table)))


def test_a_promise_about_numbers_says_nothing_of_the_three_requirements() -> None:
    """They are about workers, and pay of a whole worker may be more than a share of an establishment's."""
    assert _requirements(Guarantee(NumbersWithin("establishment", "0.1"), Loss("1"))) == []
