"""Panel trends: a panel worked by hand, a slow loop, both layouts, and awkward files."""

import numpy as np
import pandas as pd
import pytest

from tacita.errors import UsageError
from tacita.evaluation.encoding import compare
from tacita.evaluation.metric import Score
from tacita.evaluation.trends import Panel, WidePanel, trend_metrics

# Establishment a grows, b shrinks and closes, c opens in 2001 and closes, d opens in 2002; e never has anybody.
HAND = pd.DataFrame(
    [
        ("a", 2000, 10), ("a", 2001, 16), ("a", 2002, 16),
        ("b", 2000, 20), ("b", 2001, 8),
        ("c", 2001, 6),
        ("d", 2002, 4),
        ("e", 2000, 0), ("e", 2001, 0), ("e", 2002, 0),
    ],
    columns=["id", "year", "emp"],
)  # fmt: skip
PANEL = Panel("id", "year", "emp")


def scores(
    original: pd.DataFrame, synthetic: pd.DataFrame | list[pd.DataFrame], panel: Panel = PANEL
) -> dict[str, Score]:
    comparison = compare(original, synthetic)
    return {metric.name: metric(comparison) for metric in trend_metrics(panel)}


def test_rates_of_a_panel_worked_by_hand() -> None:
    found = scores(HAND, HAND)
    assert all(score.value == 0 for score in found.values())
    truth = {name.removesuffix(" rate trend"): score.details["original"].tolist() for name, score in found.items()}
    assert truth["employment trend"] == [30, 30, 20]
    # 2001: a +6, c +6 created; b -12 destroyed; Z = 30. 2002: d +4 created; b -8, c -6 destroyed; Z = 25.
    assert truth["job creation"] == pytest.approx([12 / 30, 4 / 25])
    assert truth["job destruction"] == pytest.approx([12 / 30, 14 / 25])
    assert truth["net job creation"] == pytest.approx([0, -10 / 25])
    # Active: 2, 3, 2. Entries c then d; exits none, then b and c.
    assert truth["entry"] == pytest.approx([1 / 2.5, 1 / 2.5])
    assert truth["exit"] == pytest.approx([0, 2 / 2.5])


def panel_of(seed: int, units: int = 60, years: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (unit, 1990 + year, int(rng.poisson(8))) for unit in range(units) for year in range(years) if rng.random() < 0.7
    ]
    return pd.DataFrame(rows, columns=["id", "year", "emp"]).sample(frac=1, random_state=seed)


def slow(frame: pd.DataFrame) -> dict[str, list[float]]:
    """The same by looping over establishments and years."""
    years = range(1990, 1996)
    jobs = {(row.id, row.year): row.emp for row in frame.itertuples()}
    units = {unit for unit, _ in jobs}
    out: dict[str, list[float]] = {name: [] for name in ("creation", "destruction", "entry", "exit")}
    for year in years[1:]:
        now = {unit: jobs.get((unit, year), 0) for unit in units}
        before = {unit: jobs.get((unit, year - 1), 0) for unit in units}
        z = (sum(now.values()) + sum(before.values())) / 2
        active = (sum(v > 0 for v in now.values()) + sum(v > 0 for v in before.values())) / 2
        out["creation"].append(sum(max(0, now[u] - before[u]) for u in units) / z)
        out["destruction"].append(sum(max(0, before[u] - now[u]) for u in units) / z)
        out["entry"].append(sum(now[u] > 0 and before[u] == 0 for u in units) / active)
        out["exit"].append(sum(now[u] == 0 and before[u] > 0 for u in units) / active)
    return out


def test_long_form_agrees_with_a_slow_loop_and_with_the_wide_form() -> None:
    original, files = panel_of(1), [panel_of(2), panel_of(3)]
    found = scores(original, files)
    truth, others = slow(original), [slow(one) for one in files]
    for ours, theirs in (
        ("job creation", "creation"),
        ("job destruction", "destruction"),
        ("entry", "entry"),
        ("exit", "exit"),
    ):
        score = found[f"{ours} rate trend"]
        assert score.details["original"] == pytest.approx(truth[theirs])
        gaps = [np.abs(np.array(one[theirs]) - truth[theirs]).mean() for one in others]
        assert score.by_implicate == pytest.approx(gaps)
        assert score.value == pytest.approx(np.mean(gaps))

    wide = [one.pivot(index="id", columns="year", values="emp").add_prefix("e") for one in (original, *files)]
    panel = WidePanel.of({year: f"e{year}" for year in range(1990, 1996)})
    comparison = compare(wide[0], wide[1:])
    for metric in trend_metrics(panel):
        assert metric(comparison).value == pytest.approx(found[metric.name].value)
        assert metric(comparison).details["periods"] == found[metric.name].details["periods"]


def test_employment_trend_is_relative_and_bands_come_from_the_files() -> None:
    doubled = HAND.assign(emp=HAND.emp * 2)
    score = scores(HAND, [doubled, HAND])["employment trend"]
    assert score.by_implicate == pytest.approx([1.0, 0.0])
    assert score.details["mean"].tolist() == [45, 45, 30]
    assert score.details["sd"] == pytest.approx(np.array([30, 30, 20]) / np.sqrt(2))


def test_periods_may_be_categories_and_gaps_are_no_continuation() -> None:
    text = HAND.assign(year=HAND.year.astype(str))
    assert scores(text, text)["job creation rate trend"].details["periods"] == ("2001", "2002")
    gap = pd.DataFrame({"id": [1, 1, 2, 2, 2], "year": [1, 3, 1, 2, 3], "emp": [5, 5, 1, 1, 1]})
    found = scores(gap, gap)
    assert found["exit rate trend"].details["original"] == pytest.approx([1 / 1.5, 0])
    assert found["entry rate trend"].details["original"] == pytest.approx([0, 1 / 1.5])


def test_awkward_panels_give_clear_errors_or_defined_values() -> None:
    with pytest.raises(UsageError, match="two rows for one period"):
        scores(HAND, pd.concat([HAND, HAND]))
    with pytest.raises(UsageError, match="at least two periods"):
        scores(HAND[HAND.year == 2000], HAND[HAND.year == 2000])
    with pytest.raises(UsageError, match="no employment"):
        scores(HAND.assign(emp=0), HAND)
    with pytest.raises(UsageError, match="no periods"):
        scores(HAND.assign(year=np.nan), HAND)
    with pytest.raises(UsageError, match="emp: employment must not be negative"):
        scores(HAND, HAND.assign(emp=-HAND.emp))
    with pytest.raises(UsageError, match="emp: employment must be a number"):
        scores(HAND.assign(emp="x"), HAND.assign(emp="y"))
    empty = scores(HAND, HAND.assign(emp=np.nan))
    assert empty["employment trend"].value == 1
    assert empty["job creation rate trend"].details["files"].tolist() == [[0.0, 0.0]]
