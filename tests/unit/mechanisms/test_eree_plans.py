"""The plans themselves: how accurate they are, what they refuse, and that they say beforehand what happens."""

import inspect
import re
from fractions import Fraction
from math import log1p
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.data.workforce import Workforce
from tacita.errors import SchemaError, UsageError
from tacita.mechanisms import eree
from tacita.mechanisms.eree import (
    EdgeLaplace,
    LogLaplace,
    SmoothGamma,
    SmoothLaplace,
    SmoothStaircase,
    SmoothStudent,
    SmoothVector,
    TruncatedLaplace,
    requirements,
)
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import AddRemoveOne, Guarantee, Loss, StrongAlpha, WeakAlpha

F = Fraction
ALPHA_PLANS = [SmoothStaircase, SmoothVector, SmoothStudent, SmoothGamma, SmoothLaplace, LogLaplace]
SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "demo", "unit": "establishment"},
        "variables": {
            "workplace_id": {"role": "id", "entity": "workplace"},
            "place": {"role": "workplace", "type": "categorical", "levels": ["A", "B", "C"]},
            "sex": {"role": "worker", "type": "categorical", "levels": ["F", "M"]},
            "age": {"role": "worker", "type": "categorical", "levels": ["young", "old"]},
            "pay": {"role": "confidential", "type": "integer", "lower": 0, "upper": 10},
            "year": {"role": "public", "type": "categorical", "levels": ["2025", "2026"]},
        },
    }
)


def lone_establishments(size: int, count: int) -> Workforce:
    """Cells that hold one establishment each."""
    counts = np.full((count, 1), size, dtype=np.int64)
    return Workforce({"place": np.arange(count, dtype=np.int32)}, counts, counts, counts[:, 0], counts[:, 0])


# ---------------------------------------------------------------- accuracy that was promised


@pytest.mark.parametrize(
    ("plan", "alpha", "epsilon", "bar"),
    [
        (SmoothStudent, "0.1", "2", 0.63),
        (SmoothStudent, "0.1", "1", 1.38),
        (SmoothStudent, "0.1", "0.5", 3.5),
        (SmoothStudent, "0.2", "2", 0.65),
        (SmoothGamma, "0.1", "2", 0.83),
        (SmoothGamma, "0.1", "1", 1.95),
        (SmoothStaircase, "0.1", "2", 0.44),
        (SmoothStaircase, "0.1", "1", 1.02),
    ],
    ids=str,
)
def test_expected_error_in_units_of_the_sensitivity(plan: Any, alpha: str, epsilon: str, bar: float) -> None:
    made = plan(alpha, epsilon)
    assert made.expected_error(1) <= bar
    assert made.expected_error(7) == pytest.approx(7 * made.expected_error(1))


def test_eight_worker_cells_for_the_price_of_one() -> None:
    plan = SmoothVector("0.05", "4", by=["place"], worker=["sex", "age"])
    law, k = plan.unit(8)
    assert float(k) * law.mean_abs() <= 0.30
    apart = SmoothStaircase("0.05", "4", by=["place"], worker=["sex", "age"]).unit(8)[0]
    assert law.mean_abs() < apart.mean_abs() / 4


@pytest.mark.parametrize(("alpha", "epsilon"), [("0.1", "1"), ("0.1", "2"), ("0.01", "0.25"), ("1/3", "1/7")])
def test_log_noise_is_what_the_proof_asks_for_and_not_less(alpha: str, epsilon: str) -> None:
    wanted = log1p(F(alpha)) / float(F(epsilon))
    scale = LogLaplace(alpha, epsilon).scale()
    assert wanted * (1 - 1e-15) <= float(scale) <= wanted * (1 + 1e-9)
    assert float(LogLaplace(alpha, epsilon, calibration="paper").scale()) == pytest.approx(2 * wanted, rel=1e-9)


def test_ours_is_the_least_noise_among_pure_mechanisms() -> None:
    for alpha, epsilon in (("0.1", "2"), ("0.1", "1"), ("0.1", "0.5"), ("0.2", "2"), ("0.01", "0.25")):
        errors = [plan(alpha, epsilon).expected_error(1) for plan in (SmoothStaircase, SmoothStudent, SmoothGamma)]
        assert errors == sorted(errors)


SIMULATED = {
    "SmoothStaircase": SmoothStaircase("0.1", "1"),
    "SmoothVector": SmoothVector("0.05", "4"),
    "SmoothStudent": SmoothStudent("0.1", "2"),
    "SmoothGamma": SmoothGamma("0.1", "2"),
    "SmoothLaplace": SmoothLaplace("0.1", "2"),
    "LogLaplace": LogLaplace("0.1", "1"),
    "LogLaplace, large noise": LogLaplace("0.1", "0.3"),
    "LogLaplace, paper": LogLaplace("0.1", "1", calibration="paper"),
    "EdgeLaplace": EdgeLaplace("0.3"),
    "TruncatedLaplace": TruncatedLaplace(100, "2"),
}


def test_every_plan_is_simulated() -> None:
    listed = {name for name in eree.__all__ if inspect.isclass(one := getattr(eree, name)) and hasattr(one, "run")}
    assert {name.split(",")[0] for name in SIMULATED} == listed


@pytest.mark.parametrize("name", SIMULATED)
def test_the_expected_error_is_the_error_found(name: str) -> None:
    """Within two percent; S = 400 is large enough that rounding to whole jobs does not matter."""
    plan: Any = SIMULATED[name]
    size = int(400 / getattr(plan, "alpha", F("0.1")))
    cells = lone_establishments(size, 200_000)
    error = np.abs(plan.measure(cells, SeededEntropy(17)) - size).mean()
    assert error == pytest.approx(plan.expected_error(400), rel=0.02)


# ---------------------------------------------------------------- what is refused

INFEASIBLE = [
    (SmoothStaircase, {"alpha": "0.1", "epsilon": "0.15"}),
    (SmoothVector, {"alpha": "0.1", "epsilon": "0.15"}),
    (SmoothStudent, {"alpha": "0.1", "epsilon": "0.1"}),
    (SmoothGamma, {"alpha": "0.1", "epsilon": "0.2"}),
    (SmoothGamma, {"alpha": "0.1", "epsilon": "0.3", "calibration": "paper"}),
    (SmoothLaplace, {"alpha": "0.1", "epsilon": "0.2"}),
    (SmoothLaplace, {"alpha": "0.1", "epsilon": "1", "calibration": "paper"}),
]


@pytest.mark.parametrize(("plan", "given"), INFEASIBLE, ids=lambda one: getattr(one, "__name__", str(one)))
def test_an_impossible_epsilon_names_the_smallest_one_that_works(plan: Any, given: dict[str, str]) -> None:
    made = plan(**given, by=["place"])
    assert not made.feasible
    with pytest.raises(UsageError, match="epsilon") as caught:
        made.forecast(SCHEMA)
    (named,) = re.findall(r"ε of at least ([0-9./]+)", str(caught.value))
    at_least = plan(**{**given, "epsilon": named}, by=["place"])
    assert at_least.feasible
    assert np.isfinite(at_least.expected_error(1))
    assert at_least.forecast(SCHEMA).sentences
    # Not needlessly large: one percent less is refused.
    assert not plan(**{**given, "epsilon": F(named) * F(98, 100)}, by=["place"]).feasible or plan is SmoothVector


@pytest.mark.parametrize("plan", ALPHA_PLANS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"alpha": "0"}, "alpha"),
        ({"alpha": "-0.1"}, "alpha"),
        ({"alpha": 0.1}, "alpha"),
        ({"alpha": "0.1234567890123"}, "alpha"),
        ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": 2.0}, "epsilon"),
        ({"epsilon": "two"}, "epsilon"),
        ({"definition": "medium"}, "definition"),
        ({"calibration": "loose"}, "calibration"),
        ({"margin_share": "1"}, "margin_share"),
        ({"margin_share": "-0.1"}, "margin_share"),
        ({"margin_share": 0.1}, "margin_share"),
        ({"by": "place"}, "list of names"),
        ({"by": ["place", "place"]}, "twice"),
        ({"worker": ["sex"], "where": {"sex": ["F"]}}, "sex"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(plan: Any, wrong: dict[str, Any], named: str) -> None:
    given = {"alpha": "0.1", "epsilon": "2", "by": ["place"], **wrong}
    with pytest.raises(UsageError, match=named):
        plan(**given)


@pytest.mark.parametrize("plan", [one for one in ALPHA_PLANS if one is not SmoothLaplace], ids=lambda one: one.__name__)
def test_only_laplace_noise_fails_sometimes(plan: Any) -> None:
    assert plan("0.1", "2", delta="0").guarantee.loss.delta == 0
    with pytest.raises(UsageError, match="delta"):
        plan("0.1", "2", delta="0.001")


@pytest.mark.parametrize("delta", ["0", "1", "-0.1", 0.1])
def test_laplace_noise_needs_a_delta_between_zero_and_one(delta: Any) -> None:
    with pytest.raises(UsageError, match="delta"):
        SmoothLaplace("0.1", "2", delta=delta)


def test_combinations_without_a_proof() -> None:
    for given in ({"worker": ["sex"]}, {"where": {"sex": ["F"]}}):
        with pytest.raises(UsageError, match="definition"):
            LogLaplace("0.1", "1", **given)
        assert LogLaplace("0.1", "1", definition="weak", **given).guarantee.neighbours == WeakAlpha("0.1")
        for plan in (SmoothGamma, SmoothLaplace):
            with pytest.raises(UsageError, match="calibration"):
                plan("0.1", "6", calibration="paper", **given)
    with pytest.raises(UsageError, match="margin_share"):
        LogLaplace("0.1", "1", margin_share="0.1")
    with pytest.raises(UsageError, match="strong"):
        SmoothVector("0.1", "1", definition="weak")


@pytest.mark.parametrize("theta", [0, -1, 1.5, "100", True, None])
def test_theta_is_a_whole_number_of_workers(theta: Any) -> None:
    with pytest.raises(UsageError, match="theta"):
        TruncatedLaplace(theta, "1")


@pytest.mark.parametrize("plan", [lambda **q: EdgeLaplace("1", **q), lambda **q: SmoothStudent("0.1", "4", **q)])
@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"by": ["sex"]}, "sex"),
        ({"by": ["pay"]}, "pay"),
        ({"by": ["year"]}, "year"),
        ({"by": ["county"]}, "county"),
        ({"worker": ["place"]}, "place"),
        ({"worker": ["pay"]}, "pay"),
        ({"where": {"place": ["A"]}}, "place"),
        ({"where": {"sex": ["X"]}}, "sex"),
        ({"where": {"sex": []}}, "sex"),
    ],
    ids=str,
)
def test_a_query_the_schema_cannot_carry_is_named_before_data(plan: Any, query: dict[str, Any], named: str) -> None:
    made = plan(**query)
    for ask in (made.reads, made.forecast):
        with pytest.raises((UsageError, SchemaError), match=named):
            ask(SCHEMA)


# ---------------------------------------------------------------- guarantees


def test_what_each_plan_protects() -> None:
    for plan in ALPHA_PLANS:
        assert plan("0.1", "2").guarantee.neighbours == StrongAlpha("0.1")
    assert EdgeLaplace("1").guarantee.neighbours == AddRemoveOne("worker")
    assert TruncatedLaplace(5, "1").guarantee.neighbours == AddRemoveOne("establishment")


@pytest.mark.parametrize("form", ["linked", "size", "flat"])
def test_one_establishment_more_does_not_show_in_the_list_of_cells(form: str) -> None:
    """Where its existence is promised to be hidden, the cells follow from the schema alone."""
    frames = [establishments(form, places) for places in (["A", "A", "B"], ["A", "A", "B", "C"])]
    made = [TruncatedLaplace(5, "1", by=["place"]).rehearse(*one, seed=1) for one in frames]
    assert [one.keys["place"].tolist() for one in made] == [[0, 1, 2], [0, 1, 2]]
    assert "list of establishments" not in str(TruncatedLaplace(5, "1").guarantee.assumes)


def establishments(form: str, places: list[str]) -> tuple[Any, Schema]:
    """One establishment with two workers in each of the places given, in each form that a file may have."""
    ids = list(range(1, len(places) + 1))
    where = pd.DataFrame({"workplace_id": ids, "place": places})
    jobs = pd.DataFrame({"workplace_id": [*ids, *ids], "worker_id": range(2 * len(ids))})
    about: dict[str, Any] = SCHEMA.to_dict()
    kept = {name: about["variables"][name] for name in ("workplace_id", "place")}
    if form == "size":
        kept["size"] = {"role": "size", "type": "integer", "lower": 0, "upper": 100}
        return where.assign(size=2), Schema.from_dict({**about, "variables": kept})
    kept["worker_id"] = {"role": "id", "entity": "worker"}
    if form == "flat":
        return jobs.merge(where), Schema.from_dict({**about, "variables": kept})
    kept["place"] = {**kept["place"], "table": "workplace"}
    return {"job": jobs, "workplace": where}, Schema.from_dict({**about, "variables": kept})


def test_more_cells_than_can_be_counted_are_refused_before_anything_is_spent() -> None:
    frame, schema = establishments("size", ["A"])
    wide = schema.to_dict()
    many = {"role": "workplace", "type": "categorical", "levels": [f"{one}" for one in range(8000)]}
    wide["variables"] |= {"place": many, "sector": many}
    plan = TruncatedLaplace(5, "1", by=["place", "sector"])
    data = Confidential.from_frame(frame.assign(place="1", sector="2"), Schema.from_dict(wide))
    with pytest.raises(UsageError, match="more than 50,000,000 cells"):
        plan.suits(data)


def test_the_printed_calibrations_have_the_guarantee_they_really_have() -> None:
    assert LogLaplace("0.1", "1", calibration="paper").guarantee.loss == Loss("0.5")
    gamma = SmoothGamma("0.1", "2", calibration="paper").guarantee.loss
    assert float(gamma.epsilon) == pytest.approx(0.864, abs=1e-3)
    laplace = SmoothLaplace("0.1", "2", calibration="paper").guarantee.loss
    assert laplace.epsilon == 2
    assert float(laplace.delta) == pytest.approx(8e-7, rel=0.1)
    # Where worker cells share the budget the claim stays at the nominal ε, which is more than what holds.
    shared = SmoothGamma("0.1", "6", calibration="paper", definition="weak", worker=["sex"])
    assert shared.guarantee.loss == Loss("6")


def test_margins_are_paid_out_of_the_same_budget() -> None:
    plan = SmoothStudent("0.1", "2", margin_share="1/4")
    assert plan.guarantee.loss == Loss("2")
    assert plan.unit(1) == SmoothStudent("0.1", "1.5").unit(1)
    assert plan.error_law(1).blur == LogLaplace("0.1", "0.5").scale()
    # Weak: every worker cell has a largest class of its own to pay for. Strong: one size serves the whole row.
    weak = SmoothStudent("0.1", "4", margin_share="1/4", definition="weak", worker=["sex"])
    assert weak.error_law(2).blur == LogLaplace("0.1", "0.5").scale()
    strong = SmoothStudent("0.1", "4", margin_share="1/4", worker=["sex"])
    assert strong.error_law(2).blur == LogLaplace("0.1", "1").scale()


def test_levels_of_the_legal_requirements() -> None:
    strong = requirements(Guarantee(StrongAlpha("0.1"), Loss("1")))
    assert [strong[key].steps for key in ("individuals", "establishment size", "establishment shape")] == [1, 1, 2]
    edge = requirements(EdgeLaplace("1").guarantee)
    assert edge["individuals"].met
    assert not edge["establishment size"].met
    assert edge["establishment size"].level(F(1)) == "not met"
    assert requirements(TruncatedLaplace(5, "1").guarantee)["establishment size"].steps == 2
    nothing = requirements(Guarantee(StrongAlpha("0.1"), Loss("0"), holds="never"))
    assert not any(answer.met for answer in nothing.values())


# ---------------------------------------------------------------- exact scales


@pytest.mark.parametrize("alpha", ["0.1", "0.25", "0.15", "1/3", "0.123456", "0.999983"])
@pytest.mark.parametrize("plan", [SmoothStudent, SmoothGamma, SmoothLaplace, SmoothStaircase], ids=lambda p: p.__name__)
def test_scales_fit_64_bits_and_are_never_too_small(plan: Any, alpha: str) -> None:
    """And the ratios between cells are exact: rounding is the same for every file."""
    made = plan(alpha, "20") if plan is not SmoothStaircase else plan(alpha, "4")
    k = made.unit(1)[1]
    sizes = np.array([0, 1, 9, 10, 1000, 10**6, 2**31 - 1])
    numerator, denominator = made._scales(sizes, k)
    scales = [F(int(n), denominator) for n in numerator]
    wanted = [k * max(made.alpha * int(x), made.floor) for x in sizes]
    inflated = {scale / want for scale, want in zip(scales, wanted, strict=True)}
    assert len(inflated) == 1
    (factor,) = inflated
    assert 1 <= factor < 1 + F(1, 1000)
    assert (numerator > 0).all()


def test_the_way_a_scale_is_written_does_not_depend_on_sizes() -> None:
    """A rounding that sets in with the largest establishment of a file would tell neighbours apart."""
    plan = SmoothStudent("0.15", "2")
    k = plan.unit(1)[1]
    alone, _ = plan._scales(np.array([7]), k)
    beside, _ = plan._scales(np.array([7, 2**31 - 1]), k)
    assert alone[0] == beside[0]


def test_noise_beyond_any_count_is_refused_before_data() -> None:
    """Near the smallest ε the scale grows without bound; a plan must say so when it is made, not when it runs."""
    plan = SmoothStudent("0.999983", "2", by=["place"])
    assert plan.forecast(SCHEMA)
    with pytest.raises(UsageError, match="epsilon"):
        plan._written(F(10**6))


def test_noise_of_a_paid_size_moves_by_one_step_at_most() -> None:
    """From x to max((1+α)·x, x + 1) the logarithm of what is blurred moves by at most ln(1+α)."""
    plan = SmoothStudent("0.3", "4", by=["place"], margin_share="1/4")
    heard: list[np.ndarray] = []

    class Listening(SeededEntropy):
        def announce(self, request: Any) -> None:
            heard.append(request.true + 1)

    for sizes in (np.arange(200), np.maximum((np.arange(200) * 13) // 10, np.arange(200) + 1)):
        cells = Workforce({}, sizes[:, None], sizes[:, None], sizes, sizes)
        plan.measure_largest(cells, Listening(1))
    before, after = heard
    assert np.log(after / before).max() <= log1p(0.3) + 1e-12
    assert (F("0.3") * int(before.min())) >= plan.floor
