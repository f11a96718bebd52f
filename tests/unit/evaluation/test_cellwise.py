"""Cell errors and coverage against estimates worked out cell by cell."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tacita.errors import UsageError
from tacita.evaluation.cellwise import Tabulation, cell_coverage, cell_rmse_ratio
from tacita.evaluation.encoding import compare


def survey(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    field = rng.choice(["arts", "law", "physics"], n, p=[0.5, 0.3, 0.2])
    sex = rng.choice(["F", "M"], n)
    pay = rng.lognormal(10, 0.4, n) * (1 + shift * (field == "law"))
    return pd.DataFrame({"field": field, "sex": sex, "pay": pay, "w": rng.uniform(1, 5, n)})


def linearised(frame: pd.DataFrame, table: Tabulation) -> pd.DataFrame:
    """Value and variance of each cell from the full vector of linearised values, one cell at a time."""
    weight = frame.w if table.weight else pd.Series(1.0, frame.index)
    rows = {}
    for key, _ in frame.groupby(list(table.by)):
        inside = (frame[list(table.by)] == list(key)).all(axis=1)
        if table.statistic == "mean":
            value = np.average(frame.pay[inside], weights=weight[inside])
            z = weight * inside * (frame.pay - value) / weight[inside].sum()
        elif table.statistic == "share":
            value = weight[inside].sum() / weight.sum()
            z = weight * (inside - value) / weight.sum()
        else:
            z = weight * inside * (frame.pay if table.value else 1)
            value = z.sum()
        rows[" × ".join(key)] = (value, len(frame) * z.var(ddof=1))
    return pd.DataFrame(rows, index=["value", "variance"]).T


TABLES = [
    Tabulation(("field", "sex"), statistic, value, weight)
    for statistic, value in (("count", None), ("share", None), ("total", "pay"), ("mean", "pay"))
    for weight in (None, "w")
]


@pytest.mark.parametrize("table", TABLES, ids=lambda t: f"{t.statistic}-{t.weight}")
def test_ratio_and_coverage_agree_with_a_cell_by_cell_calculation(table: Tabulation) -> None:
    original, files = survey(500, 1), [survey(500, seed, shift=0.3) for seed in (2, 3, 4)]
    truth, parts = linearised(original, table), [linearised(one, table) for one in files]
    q = np.stack([part.value for part in parts])
    total = np.mean([part.variance for part in parts], axis=0) + q.var(axis=0, ddof=1) / 3
    expected = np.sqrt((q.mean(axis=0) - truth.value) ** 2 + total) / np.sqrt(truth.variance)

    comparison = compare(original, files)
    ratio = cell_rmse_ratio(table)(comparison)
    assert ratio.details["cells"] == pytest.approx(expected.to_dict(), rel=1e-9)
    assert ratio.value == pytest.approx(np.median(expected))
    within = np.mean([part.variance for part in parts], axis=0)
    between = q.var(axis=0, ddof=1) / 3
    half = stats.t.ppf(0.975, 2 * (1 + within / between) ** 2) * np.sqrt(total)
    covered = np.abs(q.mean(axis=0) - truth.value) <= half
    assert cell_coverage(table)(comparison).value == pytest.approx(covered.mean())


def test_a_copy_is_as_good_as_the_sample_and_covers_every_cell() -> None:
    original = survey(300, 5)
    comparison = compare(original, original)
    for table in TABLES:
        assert cell_rmse_ratio(table)(comparison).value == pytest.approx(1)
        assert cell_coverage(table)(comparison).value == 1


def test_a_biased_file_fails_coverage_in_the_biased_cells() -> None:
    original = survey(2000, 6)
    score = cell_coverage(Tabulation(("field",), "mean", "pay"))(compare(original, survey(2000, 6, shift=0.5)))
    assert score.details["missed"] == ("law",)
    assert score.value == pytest.approx(2 / 3)


def test_lost_cells_count_against_the_file() -> None:
    original = survey(300, 7)
    synthetic = original[original.field != "law"]
    table = Tabulation(("field",), "mean", "pay")
    assert cell_rmse_ratio(table)(compare(original, synthetic)).details["lost cells"] == 1
    assert cell_coverage(table)(compare(original, synthetic)).value == pytest.approx(2 / 3)
    counts = cell_rmse_ratio(Tabulation(("field",)))(compare(original, synthetic))
    assert counts.details["lost cells"] == 0  # a count of zero is a value
    assert counts.details["largest"] > 5


def test_awkward_tables_are_named() -> None:
    frame = survey(50, 9).assign(one="x", gone=np.nan)
    comparison = compare(frame, frame)
    with pytest.raises(UsageError, match="pay: a table needs categories"):
        cell_coverage(Tabulation(("pay",)))(comparison)
    with pytest.raises(UsageError, match="every value in the original is missing"):
        cell_coverage(Tabulation(("sex",), "mean", "gone"))(comparison)
    with pytest.raises(UsageError, match="sampling error"):
        cell_rmse_ratio(Tabulation(("one",)))(comparison)
    assert cell_coverage(Tabulation(("one",)))(comparison).value == 1
    with pytest.raises(UsageError, match="totals and means need"):
        Tabulation(("sex",), "mean")
    with pytest.raises(UsageError, match="weights must be known"):
        cell_coverage(Tabulation(("sex",), weight="gone"))(comparison)
