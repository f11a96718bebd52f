"""The algebra of losses and guarantees: exact, associative, and refusing what no theorem covers."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.errors import RefusedError, UsageError
from tacita.privacy import (
    AddRemoveOne,
    Guarantee,
    Loss,
    ReplaceOne,
    StrongAlpha,
    WeakAlpha,
    exact,
    in_sequence,
    text,
)

rationals = st.fractions(min_value=0, max_value=50, max_denominator=10**6)
pure = st.builds(Loss, rationals)
small_deltas = st.fractions(min_value=0, max_value=Fraction(1, 10), max_denominator=10**6)
approximate = st.builds(lambda e, d: Loss(e, delta=d), rationals, small_deltas)
concentrated = st.builds(lambda r: Loss(rho=r), rationals)
relations = st.sampled_from(
    [StrongAlpha("0.1"), StrongAlpha("0.2"), WeakAlpha("0.1"), AddRemoveOne("worker"), ReplaceOne("worker")]
)
firmness = st.sampled_from(["always", "asymptotically", "never"])
assumptions = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple)


def guarantees(relation: Any) -> Any:
    return st.builds(Guarantee, st.just(relation), approximate, firmness, assumptions)


# ---------------------------------------------------------------- exactness


@pytest.mark.parametrize(("part", "times"), [("0.1", 10), ("1/3", 3), ("0.05", 20), ("1/7", 7), ("1e-3", 1000)])
def test_parts_fill_a_budget_exactly(part: str, times: int) -> None:
    spent = Loss.zero()
    for _ in range(times):
        spent = spent + Loss(part)
    assert spent == Loss("1")
    assert spent <= Loss("1")
    assert Loss("1").minus(spent).is_zero
    assert not (spent + Loss("1e-30")) <= Loss("1")


@given(rationals)
def test_text_is_exact(value: Fraction) -> None:
    assert exact(text(value)) == value
    assert exact(text(-value)) == -value


@pytest.mark.parametrize("wrong", [0.1, 1.0, True, None, "", "a tenth", "1/0", "nan", "inf", b"1", [1]])
def test_what_is_not_an_exact_number_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="epsilon"):
        exact(wrong, "epsilon")


@pytest.mark.parametrize(
    "given",
    [{"epsilon": "-1"}, {"delta": "1"}, {"delta": "-0.1"}, {"rho": "-1"}, {"epsilon": "1", "rho": "1"}],
    ids=str,
)
def test_a_loss_outside_its_range_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        Loss(**given)


# ---------------------------------------------------------------- losses


@given(st.one_of(st.tuples(approximate, approximate, approximate), st.tuples(concentrated, concentrated, concentrated)))
def test_losses_add_like_numbers(three: tuple[Loss, Loss, Loss]) -> None:
    a, b, c = three
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a or (a.is_zero and b.is_zero)
    assert a + Loss.zero() == a or a.is_zero
    assert a <= a + b
    assert (a + b).minus(b) == a or a.is_zero
    assert a * 3 == a + a + a or a.is_zero


@given(approximate, approximate)
def test_order_is_both_numbers(a: Loss, b: Loss) -> None:
    assert (a <= b) == (a.epsilon <= b.epsilon and a.delta <= b.delta)


@given(approximate, approximate)
def test_nothing_is_taken_below_zero(a: Loss, b: Loss) -> None:
    if b <= a:
        assert a.minus(b) + b == a or a.is_zero
    else:
        with pytest.raises(RefusedError):
            a.minus(b)


def test_unlike_losses_do_not_mix() -> None:
    with pytest.raises(RefusedError, match="rho"):
        Loss("1") + Loss(rho="1")
    assert not Loss("1") <= Loss(rho="5")
    assert not Loss(rho="1") <= Loss("5")
    assert Loss("2").as_zcdp() == Loss(rho="2")
    with pytest.raises(RefusedError):
        Loss("1", delta="0.1").as_zcdp()


def test_a_loss_is_not_multiplied_by_a_negative_number() -> None:
    with pytest.raises(UsageError):
        Loss("1") * -1


# ---------------------------------------------------------------- guarantees


@given(relations.flatmap(lambda one: st.tuples(guarantees(one), guarantees(one), guarantees(one))))
def test_guarantees_of_one_relation_add(three: tuple[Guarantee, Guarantee, Guarantee]) -> None:
    a, b, c = three
    left, right = (a + b) + c, a + (b + c)
    assert left == right
    assert left.neighbours == a.neighbours
    order = ["always", "asymptotically", "never"]
    assert order.index(left.holds) == max(order.index(one.holds) for one in three)
    assert set(left.assumes) == {*a.assumes, *b.assumes, *c.assumes}
    assert in_sequence(three) == left


@given(relations, relations, approximate)
def test_unequal_neighbours_never_add(one: Any, other: Any, loss: Loss) -> None:
    if one == other:
        return
    with pytest.raises(RefusedError, match="protect different things"):
        Guarantee(one, loss) + Guarantee(other, loss)


@pytest.mark.parametrize(
    ("mine", "wanted", "factor"),
    [
        (StrongAlpha("0.1"), StrongAlpha("0.1"), 1),
        (StrongAlpha("0.1"), WeakAlpha("0.1"), 1),
        (StrongAlpha("0.2"), WeakAlpha("0.1"), 1),
        (StrongAlpha("0.2"), StrongAlpha("0.1"), 1),
        (WeakAlpha("0.2"), WeakAlpha("0.1"), 1),
        (StrongAlpha("0.1"), AddRemoveOne("worker"), 1),
        (WeakAlpha("0.1"), AddRemoveOne("worker"), 1),
        (AddRemoveOne("worker"), ReplaceOne("worker"), 2),
    ],
)
def test_what_one_relation_implies(mine: Any, wanted: Any, factor: int) -> None:
    restated = Guarantee(mine, Loss("0.5"), assumes=("a",)).under(wanted)
    assert restated == Guarantee(wanted, Loss("0.5") * factor, assumes=("a",))


@pytest.mark.parametrize(
    ("mine", "wanted"),
    [
        (WeakAlpha("0.1"), StrongAlpha("0.1")),
        (StrongAlpha("0.1"), WeakAlpha("0.2")),
        (StrongAlpha("0.1"), StrongAlpha("0.2")),
        (WeakAlpha("0.2"), StrongAlpha("0.1")),
        (AddRemoveOne("worker"), ReplaceOne("establishment")),
        (AddRemoveOne("worker"), StrongAlpha("0.1")),
        (ReplaceOne("worker"), AddRemoveOne("worker")),
        (StrongAlpha("0.1"), AddRemoveOne("establishment")),
    ],
    ids=str,
)
def test_what_one_relation_does_not_imply(mine: Any, wanted: Any) -> None:
    with pytest.raises(RefusedError, match="says nothing proved"):
        Guarantee(mine, Loss("0.5")).under(wanted)


def test_concentrated_privacy_under_replacement_costs_four_times() -> None:
    """Two steps of √(2ρ) each: ρ grows with the square of the number of steps."""
    told = Guarantee(AddRemoveOne("worker"), Loss(rho="1/2")).under(ReplaceOne("worker"))
    assert told.loss == Loss(rho="2")


@pytest.mark.parametrize("alpha", ["0", "-0.1", 0])
def test_alpha_is_above_zero(alpha: Any) -> None:
    for relation in (StrongAlpha, WeakAlpha):
        with pytest.raises(UsageError, match="alpha"):
            relation(alpha)


def test_words_for_a_board() -> None:
    promise = Guarantee(StrongAlpha("0.1"), Loss("1"))
    assert f"{math.e:.2f}" in promise.odds_factor
    assert "1.1" in promise.neighbours.meaning
    assert str(promise) == "ε = 1 under strong α = 0.1 neighbours"
    assert "no guarantee" in Guarantee(StrongAlpha("0.1"), Loss("0"), holds="never").odds_factor
    assert str(Guarantee(StrongAlpha("0.1"), Loss("1"), holds="never")) == "no guarantee"


def test_nothing_to_add_is_an_error_that_says_so() -> None:
    with pytest.raises(UsageError):
        in_sequence([])


@pytest.mark.parametrize(
    "odd", ["1e999999999", "1e-99999", "1E+101", "-1e_9_9_9", "1" * 9001, "1/" + "3" * 9000, 10**101]
)
def test_numbers_with_too_many_digits_are_refused_at_once(odd: Any) -> None:
    with pytest.raises(UsageError, match="epsilon: "):
        exact(odd, "epsilon")


@pytest.mark.parametrize("value", ["1e-100", "1e100", "0.1", "-2.5", "1/3", "7/40", "1/1024", "123.000100"])
def test_a_number_survives_being_written(value: str) -> None:
    assert exact(text(exact(value))) == Fraction(value)


def test_long_sums_of_losses_are_written_and_read_without_delay() -> None:
    sum_ = Fraction(1, 2**2000) + Fraction(1, 5**1500)
    assert Fraction(text(sum_)) == exact(text(sum_)) == sum_
