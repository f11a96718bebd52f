"""A wanted margin of a mean or a sum, and products that disagree on how many rows a unit has: known before any data."""

from pathlib import Path

import pandas as pd
import pytest

from support.bundles import released, spec
from support.specifications import head, key, levels, number, schema, table
from tacita.errors import SpecError, UsageError
from tacita.release.plans import prepare
from tacita.release.spec import Spec
from tacita.release.verify import verify

ANSWERS = schema(
    "answers", "person", sex=levels("F", "M"), score=number(1, 10, kind="integer"), pay=number(0, 10**9, scale=0)
)


def _epsilon(folder: Path, **settings: object) -> str:
    (folder / "file.schema.toml").write_text(ANSWERS, encoding="utf-8")
    asked = {"statistic": "mean", "by": ["sex"], "margin": "0.2", "margin_at": 1000, **settings}
    (folder / "file.toml").write_text(spec(table("one", **asked)), encoding="utf-8")
    (one,) = prepare(Spec.load(folder / "file.toml")).tables
    return str(one.plan.describe()["epsilon"])


def test_declared_limits_price_a_wanted_margin_as_limits_that_are_written_out_do(tmp_path: Path) -> None:
    written = _epsilon(tmp_path, of="score", clamp=[1, 10])
    assert _epsilon(tmp_path, of="score", clamp="declared") == written
    assert _epsilon(tmp_path, of="score") == written, "limits so near to each other are used as they are"
    assert float(_epsilon(tmp_path, of="pay", clamp="declared", margin="1000000")) > float(written)


def test_where_limits_would_be_bought_a_wanted_margin_still_needs_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r'table "one": margin: .* depends on where numbers are clamped'):
        _epsilon(tmp_path, of="pay", margin="1000")


def test_a_bundle_of_such_a_table_verifies(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": ["F", "M"] * 500, "score": [1, 4] * 500, "pay": 10})
    asked = table("one", statistic="mean", of="score", by=["sex"], margin="0.2", margin_at=500)
    folder = released(tmp_path, ANSWERS, frame, spec(asked))[0]
    assert verify(folder)


YEARS = schema("firms", "firm", firm=key("firm"), year=number(2020, 2024, role="public", kind="integer")) + (
    'jobs = { type = "integer", role = "confidential", lower = 0, upper = 1000 }\n'
    'size = { type = "categorical", role = "confidential", levels = ["s", "l"] }\n'
)


@pytest.mark.parametrize(("at_most", "refused"), [(None, True), (5, False)])
def test_a_product_of_one_row_beside_one_of_a_row_for_each_year_is_refused_before_any_data(
    tmp_path: Path, at_most: int | None, *, refused: bool
) -> None:
    text = head("firms", title="Firms", neighbours="add-remove", unit="firm", epsilon="4")
    text += table("growth", statistic="growth", of="jobs", by=["size"], between={"year": ["2020", "2021"]}, epsilon="1")
    text += table("jobs", statistic="sum", of="jobs", by=["size"], epsilon="1") + (
        f"at_most = {at_most}\n" if at_most else ""
    )
    (tmp_path / "firms.schema.toml").write_text(YEARS, encoding="utf-8")
    (tmp_path / "firms.toml").write_text(text, encoding="utf-8")
    planned = Spec.load(tmp_path / "firms.toml")
    if not refused:
        assert len(prepare(planned).tables) == 2
        return
    with pytest.raises(SpecError, match=r'table "jobs": takes one row of each firm, and table "growth" a row for each'):
        prepare(planned)
