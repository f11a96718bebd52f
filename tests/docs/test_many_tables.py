"""The guide to many tables: its specification is planned as it says."""

import re
import tomllib
from pathlib import Path

import pytest

from support.specifications import levels, number, schema
from tacita.privacy import Loss, exact
from tacita.release.plans import prepare
from tacita.release.spec import Spec

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "many-tables.md").read_text(encoding="utf-8")
(ASKED,) = (tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
SCHEMA = schema(
    "people", "person", region=levels("N", "S", "W"), sex=levels("F", "M"), income=number(0, 1000000, kind="integer")
)


def test_the_guide_s_tables_share_out_what_they_cost_together(tmp_path: Path) -> None:
    (tmp_path / "people.schema.toml").write_text(SCHEMA, encoding="utf-8")
    files = {"title": "People", "schema": "people.schema.toml", "data": "people.parquet", "ledger": "people.ledger"}
    planned = prepare(Spec.parse(files | ASKED, tmp_path / "people.toml"))
    double, single, last = (one.guarantee.loss.rho or 0 for one in planned.tables)
    assert single == last
    assert float(double) == pytest.approx(2 * float(single))
    assert planned.guarantee.loss <= Loss(rho="0.0149730576")  # what (1, 1e-9) allows
    assert float(planned.guarantee.loss.rho or 0) == pytest.approx(0.0149730576)
    assert planned.fits
    assert exact(ASKED["tables"]["epsilon"]) < exact(ASKED["cap"]["epsilon"])
