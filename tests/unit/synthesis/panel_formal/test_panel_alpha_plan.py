"""A panel with epsilon and alpha: sensitivities against all pairs of numbers, the promise and the ledger."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.panels import plan, wide, wide_schema
from tacita.data.confidential import Confidential
from tacita.errors import RefusedError, UsageError
from tacita.ledger import Ledger
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import Guarantee, Loss, NumbersWithin, ReplaceOne
from tacita.privacy.json_form import guarantee_from_json, guarantee_to_json
from tacita.release.words import kind_of_privacy, not_protected
from tacita.synthesis.panel.formal.promise import LIVES
from tacita.synthesis.panel.formal.ratios import STEPS, Range
from tacita.synthesis.panel.formal.sensitivities import WholeHistory, WithinAlpha
from tacita.synthesis.panel.formal.sums import whole
from tacita.synthesis.panel.rules import broken_rules

WITHIN, WHOLE = NumbersWithin("firm", "0.1"), ReplaceOne("firm")
alphas = st.fractions(Fraction(1, 200), 3, max_denominator=200)


def neighbours(alpha: Fraction, most: int) -> list[tuple[int, int]]:
    """All pairs up to a number, by the definition."""
    return [
        (small, large)
        for small in range(most + 1)
        for large in range(small + 1, most + 1)
        if large - small <= max(1, alpha * small)
    ]


@given(alphas, st.integers(1, 60))
@settings(max_examples=80, deadline=None)
def test_a_clamped_number_changes_by_exactly_as_much_as_is_said(alpha: Fraction, clamp: int) -> None:
    changes = [min(large, clamp) - min(small, clamp) for small, large in neighbours(alpha, 90)]
    assert WithinAlpha(alpha).in_one_cell(clamp) == max(changes)


@given(
    alphas,
    st.lists(st.integers(1, 60), min_size=1, max_size=3, unique=True),
    st.lists(st.fractions(Fraction(1, 50), 1), min_size=3, max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_the_rungs_of_a_ladder_take_exactly_their_shares_together(
    alpha: Fraction, inner: list[int], shares: list[Fraction]
) -> None:
    ends = [0, *sorted(inner)]
    spent = shares[: len(ends) - 1]
    most = WithinAlpha(alpha).ladder(ends, spent, times=1)
    losses = [
        sum(
            Fraction(min(max(large, low), high) - min(max(small, low), high)) * own / one
            for (low, high), own, one in zip(pairwise(ends), spent, most, strict=True)
        )
        for small, large in neighbours(alpha, 90)
    ]
    assert max(losses) == sum(spent)


@given(alphas, st.integers(1, 400), st.floats(0.5, 25))
@settings(max_examples=60, deadline=None)
def test_steps_and_logarithms_change_by_no_more_than_is_said(alpha: Fraction, clamp: int, width: float) -> None:
    change, random = WithinAlpha(alpha), np.random.default_rng(clamp)
    pairs = np.array(neighbours(alpha, 60))
    one, two = pairs[random.integers(0, len(pairs), 4000)], pairs[random.integers(0, len(pairs), 4000)]
    flip = random.random(4000) < 0.5
    one[flip], two[~flip] = one[flip][:, ::-1], two[~flip][:, ::-1]  # either may be the larger in either file
    steps = np.clip(one - two, -clamp, clamp)
    assert np.abs(steps[:, 0] - steps[:, 1]).max() <= change.all_flows(clamp, 60, 1)
    ups, downs = np.maximum(steps, 0), np.maximum(-steps, 0)
    each = max(np.abs(cells[:, 0] - cells[:, 1]).max() for cells in (ups, downs))
    assert each <= change.flows(clamp, 60).most <= WholeHistory().flows(clamp, 60).most
    within = Range(-width / 2, width / 2)
    logs = within.steps(np.log1p(one) - np.log1p(two))
    assert np.abs(logs[:, 0] - logs[:, 1]).max() <= change.logs(STEPS, within.width).most


@given(alphas, st.integers(1, 400), st.integers(1, 6), st.integers(0, 2**32))
@settings(max_examples=80, deadline=None)
def test_sums_of_years_change_by_no_more_than_is_said(alpha: Fraction, clamp: int, years: int, seed: int) -> None:
    """The numbers of all years change at once, and go the same way."""
    change, pairs, random = WithinAlpha(alpha), np.array(neighbours(alpha, 60)), np.random.default_rng(seed)
    one, two = np.moveaxis(pairs[random.integers(0, len(pairs), (years, 2000))], -1, 0)
    moved = np.abs(whole(two.sum(axis=0), clamp) - whole(one.sum(axis=0), clamp)).max()
    assert moved <= change.of_sum(clamp, years) <= WholeHistory().of_sum(clamp, years)
    moved = np.abs(whole(two, clamp) - whole(one, clamp)).max()
    assert moved <= change.of_each(clamp).most <= WholeHistory().of_each(clamp).most


@pytest.mark.parametrize("clamp", [1, 7, 2**20, 2**20 + 1, 3 * 2**30])
def test_whole_steps_reach_what_is_said_and_no_more(clamp: int) -> None:
    """Also where steps are longer than one: with numbers from nothing to anything, and to within a tenth."""
    numbers = np.unique(np.concatenate([np.arange(50), np.linspace(0, 2 * clamp, 2000).astype(np.int64)]))
    said = WholeHistory().of_sum(clamp, 3)
    assert np.ptp(whole(numbers, clamp)) == said
    assert WholeHistory().of_each(clamp).most == said
    more = numbers + np.maximum(numbers // 10, 1)
    assert (whole(more, clamp) - whole(numbers, clamp)).max() <= WithinAlpha(Fraction(1, 10)).of_each(clamp).most


def test_it_promises_numbers_within_a_factor_and_says_what_it_leaves_open() -> None:
    one = plan(epsilon="4", alpha="0.1")
    assert one.guarantee == Guarantee(WITHIN, Loss("4"), assumes=one.guarantee.assumes)
    assert str(one.guarantee) == "ε = 4 under one firm's numbers changed by up to α = 0.1"
    assert "when a firm was there" in one.guarantee.assumes[2]
    assert "factor 1.1 or one step; not when it was there" in WITHIN.meaning
    assert one.proof == "synthesis/panel/formal/alpha.md"
    assert plan(epsilon="4").proof == "synthesis/panel/formal/formal.md"
    assert kind_of_privacy(one.guarantee) == "(α, ε) privacy of numbers"
    assert "when it was there" in not_protected(WITHIN)[0]
    assert guarantee_from_json(guarantee_to_json(one.guarantee)) == one.guarantee


def test_lives_cost_nothing_and_keep_their_noise() -> None:
    plain, within = (plan(epsilon="4", alpha=alpha) for alpha in (None, "0.1"))
    forecast = within.forecast(wide_schema())
    assert "outside the promise, so at no cost; but with noise" in " ".join(forecast.sentences)
    shares = [value for name, value in forecast.figures.items() if name.startswith("share of epsilon")]
    assert sum(shares) == pytest.approx(1.0)
    layout = plain.layout(wide_schema())
    assert plain.promise is not None
    assert within.promise is not None
    before, now = (dict(one.promise.budget(layout, 500).parts) for one in (plain, within))
    for name, part in before.items():
        assert now[name] == part if name.startswith(LIVES) else now[name] > part
    assert sum(part for name, part in now.items() if not name.startswith(LIVES)) == 4


def test_numbers_within_a_factor_do_not_pass_for_whole_histories(tmp_path: Path) -> None:
    data = Confidential.from_frame(wide(60), wide_schema())
    whole = Ledger.open(tmp_path / "whole.ledger", cap=Loss("5"), neighbours=WHOLE)
    with pytest.raises(RefusedError, match="no cap is declared for one firm's numbers changed"):
        whole.release(plan(epsilon="1", alpha="0.1"), data, label="panel")
    Ledger.open(tmp_path / "whole.ledger", cap=Loss("5"), neighbours=WITHIN)
    with pytest.raises(RefusedError, match="promised protection under one firm's record replaced"):
        whole.release(plan(epsilon="1", alpha="0.1"), data, label="panel")
    assert whole.spent(WHOLE, data) == Loss.zero()


def test_whole_histories_count_against_numbers_within_a_factor(tmp_path: Path) -> None:
    data = Confidential.from_frame(wide(60), wide_schema())
    ledger = Ledger.open(tmp_path / "firms.ledger", cap=Loss("5"), neighbours=WITHIN)
    ledger.release(plan(epsilon="1"), data, label="whole histories")
    ledger.release(plan(epsilon="2", alpha="0.2"), data, label="a wider factor")
    assert ledger.spent(WITHIN, data) == Loss("3")
    with pytest.raises(RefusedError, match="no cap is declared"):
        ledger.release(plan(epsilon="1", alpha="0.05"), data, label="a narrower factor")
    again = ledger.release(plan(epsilon="2", alpha="0.2"), data, label="a wider factor")
    assert not again.rehearsal
    assert ledger.spent(WITHIN, data) == Loss("3")


def test_numbers_and_whole_histories_are_promises_apart() -> None:
    one = Guarantee(WITHIN, Loss("1"))
    with pytest.raises(RefusedError, match="says nothing proved"):
        one.under(WHOLE)
    with pytest.raises(RefusedError, match="protect different things"):
        one + Guarantee(WHOLE, Loss("1"))


def test_sums_have_a_fraction_of_the_noise() -> None:
    """Where neither has it on a cube, which sums of sizes within a factor never have."""
    data = Confidential.from_frame(wide(6000), wide_schema())
    plain, within = (plan(epsilon="8", alpha=alpha).run(data, SeededEntropy(5)) for alpha in (None, "0.1"))
    one, two = (model.released["all"][1] for model in (plain, within))
    assert one["lives"].scale == two["lives"].scale
    assert two.caps["levels"] >= one.caps["levels"]
    for name in ("entrants", "levels"):
        assert two[name].spread / two.caps[name] < one[name].spread / one.caps[name] / 8
    for table in within.implicates.tables:
        assert not any(broken_rules(table, within.layout).values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": "0.1"}, "goes with epsilon"),
        ({"alpha": "0", "epsilon": "1"}, "alpha: must be above 0"),
        ({"alpha": 0.1, "epsilon": "1"}, "alpha: give it as a string"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(**changes)
