"""What a run of `QuantileSynthesis` spends: read off its requests for noise and added up, it is the declared ε."""

import re
from collections import defaultdict
from fractions import Fraction

import pytest

from support.quantile import PLANS, SCHEMA, firms, plan
from tacita.data.confidential import Confidential
from tacita.mechanisms.table.noise import FINEST
from tacita.noise.entropy import Request, SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.privacy import AddRemoveOne
from tacita.synthesis.quantile.budget import conditional_levels, marginal_levels, own_targets

Costs = list[tuple[str, Fraction]]


def cost(request: Request, stays: bool) -> Fraction:
    """The ε of one request when a record is added or removed, from the text of its law. `stays`: records are replaced
    in their group, and a total then changes by as many steps for twice that ε."""
    if found := re.fullmatch(r"threshold, epsilon=(\S+)", request.law):
        return Fraction(found[1])
    if found := re.fullmatch(r"plane rate=(\S+)", request.law):
        return 2 * Fraction(found[1])
    if found := re.fullmatch(r"discrete-laplace scale=(\S+)", request.law):
        steps = Fraction(FINEST, 2 if stays else 1) if request.label.endswith((", total", ", product")) else 1
        return steps / Fraction(found[1])
    assert request.law == "uniform words", request.law
    return Fraction(0)


# Steps that see all records of a group: tables of counts, and the levels of a number's own distribution.
ALL_RECORDS = re.compile(
    r"table|values|octaves|point masses|total|(look|own), level \d+|(ranks with|closeness to) \w+(, product)?"
)


def side(costs: Costs, name: str) -> Fraction:
    """The middle distance, then the nearer half or the further one: a record is in one of them."""
    own = [(label, epsilon) for label, epsilon in costs if label.startswith(f"{name}, ")]
    middle = sum((epsilon for label, epsilon in own if "middle distance" in label), Fraction(0))
    halves = [sum((e for label, e in own if half in label), Fraction(0)) for half in ("inner", "outer")]
    assert halves[0] == halves[1]
    return middle + halves[0]


def numeric(costs: Costs) -> Fraction:
    """One numeric model: levels of a bisection, or planes and then one of two sides."""
    if any("median plane" in label for label, _ in costs):
        planes = sum((epsilon for label, epsilon in costs if "median plane" in label), Fraction(0))
        above, below = side(costs, "above"), side(costs, "below")
        assert above == below
        return planes + above
    assert all(re.fullmatch(r"level \d+", label) for label, _ in costs)
    return sum((epsilon for _, epsilon in costs), Fraction(0))


def spent(requests: list[Request], stays: bool) -> list[Fraction]:
    """What a record of each group pays in all; groups, and cells of categorical predictors, are disjoint."""
    counts = Fraction(0)
    once: dict[str, Fraction] = defaultdict(Fraction)
    groups: dict[str, dict[str, list[Costs]]] = defaultdict(lambda: defaultdict(list))
    for request in requests:
        if request.law == "uniform words":
            continue
        if request.label == "records per group":
            counts += cost(request, stays)
            continue
        found = re.fullmatch(r"(group \d+: )?(\w+)(?:, (.*))?", request.label)
        assert found, request.label
        group, name, step = found[1] or "", found[2], found[3] or "table"
        if ALL_RECORDS.fullmatch(step):
            once[group] += cost(request, stays)
            continue
        parts = groups[group][name]
        if step in ("level 1", "median plane 1") or not parts:
            parts.append([])
        parts[-1].append((step, cost(request, stays)))
    totals = []
    for group in once.keys() | groups.keys():
        total = counts + once[group]
        for parts in groups[group].values():
            models = {numeric(one) for one in parts}
            assert len(models) <= 1, "two cells of one variable have different budgets"
            total += sum(models, Fraction(0))
        totals.append(total)
    return totals


@pytest.mark.parametrize("rows", [1, 60, 900])
@pytest.mark.parametrize("epsilon", ["1/7", "2", "40"])
@pytest.mark.parametrize("name", PLANS)
def test_the_requests_of_a_run_add_up_to_what_was_declared(name: str, epsilon: str, rows: int) -> None:
    given = plan(name, epsilon)
    source = Recording(SeededEntropy(rows))
    given.run(Confidential.from_frame(firms(rows), SCHEMA), source)
    declared = given.guarantee.loss.epsilon
    if not isinstance(given.neighbours, AddRemoveOne):
        declared /= 2  # to replace is to remove and to add
    totals = spent(source.requests, given._costs(given.variables(SCHEMA)).stays)
    assert totals
    assert set(totals) == {declared}


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(50)])
@pytest.mark.parametrize("records", [0, 1, 1000, 10**7])
def test_levels_use_all_of_their_budget(epsilon: Fraction, records: int) -> None:
    for levels in (marginal_levels(epsilon, records), conditional_levels(epsilon, records)):
        assert levels.total == epsilon
        assert all(one > 0 for one in levels.halvings)
        assert 2 <= levels.depth <= 10
    assert marginal_levels(epsilon, records).plane == 0
    targets, levels = own_targets(epsilon, records)
    assert sum(levels) == epsilon
    assert len(targets) >= 3 or (targets == (Fraction(1, 2),) and records * epsilon < 40)
    assert len(levels) == len(targets).bit_length()


# ---------------------------------------------------------------- the same requests from a neighbouring file


@pytest.mark.parametrize("name", PLANS)
def test_a_neighbouring_file_makes_the_same_requests(name: str) -> None:
    """Same labels, laws, shapes and words. Released numbers may differ, and with them who is in which part; with this
    seed they call for the same steps."""
    given, frame = plan(name), firms(300)
    other = frame.drop(index=7) if isinstance(given.neighbours, AddRemoveOne) else frame.copy()
    if len(other) == len(frame):
        other.loc[7, ["size", "jobs", "pay", "legal"]] = [1000.0, 500, 3000.0, "own"]
    recording = Recording(SeededEntropy(6))
    given.run(Confidential.from_frame(frame, SCHEMA), recording)
    replaying = Replaying(recording)
    given.run(Confidential.from_frame(other, SCHEMA), replaying)
    differences = compare(recording, replaying)
    first = next(one for one in differences if one.true_d.size)
    assert abs(first.true_d - first.true_d2).sum() <= (1 if isinstance(given.neighbours, AddRemoveOne) else 2)


def test_requests_show_counts_and_clamped_totals_and_never_values() -> None:
    """What is announced is a count of records, or a sum of all of them that is clamped, so a listener of the wrong kind
    learns no value."""
    for name in PLANS:
        source = Recording(SeededEntropy(1))
        plan(name).run(Confidential.from_frame(firms(100), SCHEMA), source)
        for request in source.requests:
            if request.label.endswith((", total", ", product")):
                assert request.true.size == 1
                continue
            assert request.true.sum() <= 100, request
            assert (request.true == request.true.astype(int)).all()
