"""What every plan must satisfy, as functions that raise: the suite runs them on all plans and on broken ones.

`check_neighbours` runs a plan on a file, then on each hostile neighbour with the same random words, and holds what
was asked for against the sensitivity that the plan's proof uses. `worst_loss` then adds up the privacy loss of the
whole output, all cells and requests together, which is where a wrong split of the budget shows.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from importlib.resources import files
from math import log, log1p
from typing import Any

import numpy as np
import pytest

from support.example_files import (
    FILE,
    File,
    one_worker_more,
    one_workforce_less,
    opened,
    strong_neighbours,
    weak_neighbours,
)
from tacita.audit.laws import Placed, largest_ratio
from tacita.data.schema import Schema
from tacita.mechanisms.eree import (
    EdgeLaplace,
    LogLaplace,
    SmoothLaplace,
    SmoothStaircase,
    SmoothVector,
    TruncatedLaplace,
    base,
)
from tacita.mechanisms.eree.smooth import SmoothPlan
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Difference, Recording, Replaying, compare
from tacita.plan import Plan
from tacita.privacy import AddRemoveOne, Guarantee, StrongAlpha, WeakAlpha

HEADINGS = ("Precondition", "Algorithm", "Claim", "Proof", "Assumes")
FLOAT = 1e-9  # scales come back as doubles


@pytest.fixture(autouse=True, scope="module")
def asked_once() -> Iterator[None]:
    """The exact query is a pure function of file and question: asked once, it answers every plan of a module."""
    query = base.workforce
    answers: dict[Any, Any] = {}

    def remembered(data: Any, by: Any, **rest: Any) -> Any:
        question = (id(data), tuple(by), repr(sorted(rest.items())))
        if question not in answers:
            answers[question] = query(data, by, **rest)
        return answers[question]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "workforce", remembered)
        yield


# ---------------------------------------------------------------- before any data


def check_claims(plan: Any, schema: Schema) -> None:
    """Guarantee, forecast, identity and proof are there without a file."""
    assert isinstance(plan, Plan)
    promise = plan.guarantee
    assert isinstance(promise, Guarantee)
    assert promise.holds == "always"
    assert promise.assumes or isinstance(plan, TruncatedLaplace)  # which needs no list of establishments
    assert 0 < promise.loss.epsilon <= plan.epsilon
    forecast = plan.forecast(schema)
    assert forecast.cells == schema.domain_size(plan.by) * schema.domain_size(plan.worker)
    assert forecast.sentences
    assert set(plan.reads(schema)) >= {*plan.by, *plan.worker, *plan.where, "workplace_id"}
    proof = files("tacita").joinpath(plan.proof)
    assert proof.is_file(), f"{plan.proof} is missing"
    for heading in HEADINGS:
        assert f"## {heading}" in proof.read_text(encoding="utf-8"), f"{plan.proof} has no heading {heading}"


def check_identity(plan: Any) -> None:
    """`describe` is plain JSON and holds everything; a plan cannot be changed after it was made."""
    record = json.loads(json.dumps(plan.describe()))
    assert record == plan.describe()
    name = record.pop("mechanism")
    assert name == type(plan).__name__
    again = type(plan)(**record)
    assert again == plan
    assert hash(again) == hash(plan)
    assert repr(again) == repr(plan)
    assert again.guarantee == plan.guarantee
    try:
        plan.epsilon = Fraction(100)
    except AttributeError:
        pass
    else:
        raise AssertionError("a plan must be frozen")


# ---------------------------------------------------------------- two files


def hostile(plan: Any) -> dict[str, File]:
    """Files that the plan's own relation calls neighbours of the example file."""
    relation = plan.guarantee.neighbours
    if isinstance(relation, StrongAlpha):
        return strong_neighbours(relation.alpha)
    if isinstance(relation, WeakAlpha):
        return weak_neighbours(relation.alpha)
    assert isinstance(relation, AddRemoveOne)
    return {"worker": one_worker_more, "establishment": one_workforce_less}[relation.unit]()


def check_neighbours(plan: Any, form: str) -> None:
    """Same requests, same number of words, same shape of the output; true values within the declared distance."""
    recording = Recording(SeededEntropy(20260101))
    result = plan.run(opened(FILE, form), recording)
    assert result.rehearsal
    assert recording.requests, "no noise was asked for"
    for name, neighbour in hostile(plan).items():
        replaying = Replaying(recording)
        other = plan.run(opened(neighbour, form), replaying)
        differences = compare(recording, replaying)
        assert other.measurements.schema.equals(result.measurements.schema, check_metadata=True), name
        assert other.measurements.num_rows == result.measurements.num_rows, name
        for key, codes in result.keys.items():
            assert np.array_equal(other.keys[key], codes), name
        assert other.plan == result.plan
        assert other.guarantee == result.guarantee
        _check_untouched(differences[0], result.values, other.values)
        for one in differences:
            check_distance(plan, one)
        if isinstance(plan, SmoothLaplace):
            failed = sum(worst_failure(plan, one) for one in differences if not _is_size(one))
            assert failed <= 1.001 * float(plan.guarantee.loss.delta), f"{name}: fails with {failed}"
            differences = [one for one in differences if _is_size(one)]
            rest = plan.epsilon * plan.margin_share
        else:
            rest = plan.guarantee.loss.epsilon
        spent = sum(worst_loss(plan, one) for one in differences)
        assert spent <= float(rest) + FLOAT, f"{name}: a loss of {spent}"


def _check_untouched(one: Difference, values: Any, other: Any) -> None:
    """Every cell was noised, and the same true value and scale get the same noise from the same words."""
    assert one.true_d.size == values.size, "a published cell got no noise"
    same = (one.true_d == one.true_d2).reshape(values.shape) & _per_cell(one.scale_d == one.scale_d2, values.shape)
    if one.scale_d.ndim == 1 and values.ndim == 2:
        same &= (one.true_d == one.true_d2).reshape(values.shape).all(axis=1, keepdims=True)
    assert np.array_equal(values[same], other[same])


def _per_cell(flags: Any, shape: tuple[int, ...]) -> Any:
    return flags.reshape(shape) if flags.size == np.prod(shape) else np.broadcast_to(flags[:, None], shape)


def _is_size(one: Difference) -> bool:
    return one.label.startswith("largest establishment")


def _in_cells(plan: Any, one: Difference) -> tuple[Any, ...]:
    """True values with one row per workplace cell, and S = scale/k of each row or value, of both files."""
    d = _cells(plan)
    k = float(plan.unit(d)[1])
    q, q2 = one.true_d.reshape(-1, d), one.true_d2.reshape(-1, d)
    if isinstance(plan, SmoothVector):
        return q, q2, one.scale_d[:, None] / k, one.scale_d2[:, None] / k
    return q, q2, one.scale_d.reshape(-1, d) / k, one.scale_d2.reshape(-1, d) / k


def _cells(plan: Any) -> int:
    from support.example_files import schema

    return plan.cells(schema("flat"))


def check_distance(plan: Any, one: Difference) -> None:
    """The geometry each proof starts from."""
    if isinstance(plan, TruncatedLaplace):
        assert np.abs(one.true_d - one.true_d2).sum() <= plan.theta
    elif isinstance(plan, EdgeLaplace):
        assert np.abs(one.true_d - one.true_d2).sum() <= 1
    elif isinstance(plan, LogLaplace):
        gamma = float(1 / plan.alpha)
        assert np.abs(np.log(one.true_d + gamma) - np.log(one.true_d2 + gamma)).max() <= log1p(plan.alpha) + FLOAT
    elif isinstance(plan, SmoothPlan):
        alpha = float(plan.alpha)
        if _is_size(one):
            # Noise e^(λη) on the size x: its logarithm may move by ln(1+α). Announced is x − 1, with γ = 1.
            assert np.abs(np.log((one.true_d2 + 1) / (one.true_d + 1))).max() <= log1p(alpha) + FLOAT
            return
        q, q2, s, s2 = _in_cells(plan, one)
        assert (s >= float(plan.floor) - FLOAT).all(), "the scale must not fall below its floor"
        assert (s2 >= s - FLOAT).all(), "the largest establishment can only grow"
        assert (s2 <= (1 + alpha) * s + FLOAT).all(), "the scale grows too fast to be smooth"
        moved = np.abs(q2 - q)
        assert (moved.sum(axis=1) > 0).sum() <= 1, "one establishment sits in one workplace cell"
        if isinstance(plan, SmoothVector):
            moved = moved.sum(axis=1, keepdims=True)
        reach = s2 / (1 + alpha) if isinstance(plan, SmoothStaircase | SmoothVector) else np.minimum(s, s2)
        assert (moved <= reach + FLOAT).all(), "the true value moves further than the sensitivity"
    else:
        raise AssertionError(f"{type(plan).__name__}: say in check_distance what its proof assumes of true values")


def worst_loss(plan: Any, one: Difference) -> float:
    """The largest |ln density ratio| of one request's whole output, cells added up."""
    if isinstance(plan, EdgeLaplace | TruncatedLaplace):
        return float(np.abs(one.true_d - one.true_d2).sum() / one.scale_d.flat[0])
    if isinstance(plan, LogLaplace):
        gamma = float(1 / plan.alpha)
        return float(np.abs(np.log((one.true_d2 + gamma) / (one.true_d + gamma)) / one.scale_d).sum())
    if _is_size(one):
        return float(np.abs(np.log((one.true_d2 + 1) / (one.true_d + 1)) / one.scale_d).sum())
    d = _cells(plan)
    law, _ = plan.unit(d)
    if isinstance(plan, SmoothVector):
        return _vector_loss(law, one)
    q, q2 = one.true_d.reshape(-1, d), one.true_d2.reshape(-1, d)
    b, b2 = one.scale_d.reshape(q.shape), one.scale_d2.reshape(q.shape)
    total = 0.0
    for row in range(q.shape[0]):
        changed = (q[row] != q2[row]) | (b[row] != b2[row])
        total += sum(_cell_loss(law, q[row, j], b[row, j], q2[row, j], b2[row, j]) for j in np.flatnonzero(changed))
    return total


def worst_failure(plan: Any, one: Difference) -> float:
    """δ of Laplace noise at each cell's share of ε, by summation over outputs, cells added up."""
    d = _cells(plan)
    bound = np.exp(float(plan.epsilon_per_cell(d)))
    total = 0.0
    pairs = zip(one.true_d.ravel(), one.scale_d.ravel(), one.true_d2.ravel(), one.scale_d2.ravel(), strict=True)
    for q, b, q2, b2 in pairs:
        if q != q2 or b != b2:
            outputs = np.linspace(min(q - 40 * b, q2 - 40 * b2), max(q + 40 * b, q2 + 40 * b2), 8001)
            p, p2 = (np.exp(-np.abs(outputs - m) / s) / (2 * s) for m, s in ((q, b), (q2, b2)))
            excess = max(np.trapezoid(np.maximum(x - bound * y, 0), outputs) for x, y in ((p, p2), (p2, p)))
            total += float(excess)
    return total


def _cell_loss(law: Any, q: float, b: float, q2: float, b2: float) -> float:
    return largest_ratio(law, Placed(float(q), float(b)), Placed(float(q2), float(b2)))


def _vector_loss(law: Any, one: Difference) -> float:
    """Outputs on rays through both centres, along the move and against it, and at random."""
    total, d = 0.0, one.true_d.shape[1]
    rng = np.random.default_rng(7)
    for q, b, q2, b2 in zip(one.true_d, one.scale_d, one.true_d2, one.scale_d2, strict=True):
        if b == b2 and (q == q2).all():
            continue
        ways = np.concatenate(
            [np.eye(d), -np.eye(d), [(q2 - q) / max(np.abs(q2 - q).sum(), 1)], rng.laplace(size=(40, d))]
        )
        steps = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 200)])
        rays = (steps[:, None, None] * ways).reshape(-1, d)
        outputs = np.concatenate([q + b * rays, q2 + b2 * rays])
        norms = [np.abs(outputs - m).sum(axis=1) / s for m, s in ((q, b), (q2, b2))]
        power = float(law.a) + d
        ratio = power * (np.log(float(law.b) + norms[1]) - np.log(float(law.b) + norms[0])) + d * log(b2 / b)
        total += float(np.abs(ratio).max())
    return total


def check_stored(plan: Any, form: str) -> None:
    """What the ledger keeps comes back as it was, with the same intervals."""
    result = plan.run(opened(FILE, form), SeededEntropy(3))
    back = plan.restore(result.to_bytes())
    assert np.array_equal(back.values, result.values)
    assert back.rehearsal
    assert back.measurements.equals(result.measurements)
    for ours, theirs in zip(back.intervals(0.9), result.intervals(0.9), strict=True):
        assert np.array_equal(ours, theirs)
    assert result.measurements.equals(plan.run(opened(FILE, form), SeededEntropy(3)).measurements)
