"""The privacy loss of a whole run of quantile synthesis, exactly for many outputs, and a planted record."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from support.quantile import PLANS, SCHEMA, firms, plan
from tacita.data.confidential import Confidential
from tacita.evaluation.risk.canary import CanaryBound, canary_bound
from tacita.mechanisms.kng import line
from tacita.mechanisms.table import noise as totals
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import AddRemoveOne
from tacita.synthesis import QuantileSynthesis
from tacita.synthesis.quantile import counting, fitting, measuring, number, owning
from tacita.synthesis.quantile.measuring import Costs, measure
from tacita.synthesis.quantile.octaves import Octaves

EPSILON = 2

PLANE_BITS = 4


@dataclass
class Tape:
    """Released numbers in the order they were drawn, with the label of each and the sum of their log probabilities."""

    random: np.random.Generator
    known: list[tuple[str, Any]] = field(default_factory=list)
    recording: bool = True
    lowest: bool = False  # draw what is rarest in a file whose records all stand at the lower end
    place: int = 0
    log: float = 0.0

    def again(self) -> Tape:
        return Tape(self.random, self.known, recording=False)

    def step(self, label: str, draw: Any, log_probability: Any) -> Any:
        if self.recording:
            self.known.append((label, draw()))
        name, value = self.known[self.place]
        assert name == label, f"the second run asks for {label} where the first asked for {name}"
        self.place += 1
        self.log += float(log_probability(value))
        return value

    # ------------------------------------------------------------ the laws

    def threshold(self, places: Any, end: int, share: Fraction, epsilon: Fraction, spare: Any) -> int:
        """By gaps between records, because the lattice is long: width and score of each."""
        edges = np.concatenate(([-1], places, [end]))
        widths = np.diff(edges)
        rate = float(epsilon) / (2 * float(max(share, 1 - share)))
        with np.errstate(divide="ignore"):
            logs = np.log(widths) - rate * np.abs(np.arange(widths.size) - float(share) * len(places))
        total = logsumexp(logs)

        def draw() -> int:
            if self.lowest:
                return 0
            gap = int(self.random.choice(widths.size, p=np.exp(logs - total)))
            return int(edges[gap] + 1 + self.random.integers(widths[gap]))

        def log_probability(t: int) -> float:
            rank = int(np.searchsorted(places, t))
            return -rate * abs(rank - float(share) * len(places)) - float(total)

        return int(self.step(f"threshold {share} {epsilon}", draw, log_probability))

    def plane(
        self, phi: Any, v: Any, cell: Any, cells: int, axes: Any, rate: Fraction, entropy: Any, label: str
    ) -> Any:
        coarse = [replace(one, bits=PLANE_BITS, step=one.step * 2 ** (one.bits - PLANE_BITS)) for one in axes]
        values = [np.array([one.value(j) for j in range(1 << PLANE_BITS)]) for one in coarse]
        grid = np.stack([one.ravel() for one in np.meshgrid(*values, indexing="ij")], axis=1)
        scores = np.zeros(len(grid))
        for g in range(cells):
            inside = cell == g
            below = np.zeros(len(grid))
            for i in np.flatnonzero(inside):
                along = np.zeros(len(grid))
                for k in range(grid.shape[1]):
                    along += phi[i, k] * grid[:, k]
                below += v[i] <= along
            scores += np.abs(2 * below - inside.sum())
        logs = -float(rate) * scores
        logs -= logsumexp(logs)
        draw = (lambda: 0) if self.lowest else (lambda: int(self.random.choice(len(grid), p=np.exp(logs))))
        at = self.step(label, draw, lambda j: logs[j])
        return grid[at]

    def counts(self, exact: Any, scale: Fraction, entropy: Any, label: str) -> Any:
        b = float(scale)

        def draw() -> Any:
            if self.lowest:
                return np.maximum(exact - 3, 0)
            one, two = (self.random.geometric(1 - np.exp(-1 / b), exact.shape) for _ in range(2))
            return exact + one - two

        def log_probability(noisy: Any) -> float:
            return float((-np.abs(noisy - exact) / b + np.log(np.tanh(1 / (2 * b)))).sum())

        return self.step(f"{label} {exact.shape}", draw, log_probability).copy()


def run(given: QuantileSynthesis, frame: pd.DataFrame, tape: Tape, seed: int) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line, "draw_threshold", tape.threshold)
        patch.setattr(fitting, "draw_plane", tape.plane)
        for module in (measuring, counting, owning, totals):
            patch.setattr(module, "add_discrete_laplace", tape.counts)
        # Its only other words are the keys for ties and the seed of the files: the same for both runs.
        return given.run(Confidential.from_frame(frame, SCHEMA), SeededEntropy(seed))


def losses(given: QuantileSynthesis, frame: pd.DataFrame, others: list[pd.DataFrame], runs: int) -> list[float]:
    """The loss of the outputs of `runs` runs, half of them on the file and half on its neighbours."""
    found = []
    for seed in range(runs):
        pair = (frame, others[seed % len(others)])
        if seed % 2:
            pair = pair[::-1]
        tape = Tape(np.random.default_rng(seed))
        first = run(given, pair[0], tape, seed)
        second_tape = tape.again()
        second = run(given, pair[1], second_tape, seed)
        assert second_tape.place == len(tape.known), "the second run made fewer draws"
        assert first.measured == second.measured, "the released model depends on more than the released numbers"
        found.append(abs(tape.log - second_tape.log))
    return found


STRANGE: list[dict[str, Any]] = [
    {"sector": "a", "age": 60, "legal": "own", "size": 1000.0, "jobs": 500, "pay": 3000.0},
    {"sector": "a", "age": 0, "legal": "ltd", "size": 0.0, "jobs": 0, "pay": -100.0},
    {"sector": "c", "age": 30, "legal": "ltd", "size": 20.0, "jobs": 0, "pay": 3000.0},
    {"sector": "b", "age": 30, "legal": "own", "size": 999.0, "jobs": 1, "pay": -100.0},
]


def more(frame: pd.DataFrame, new: dict[str, Any], at: int) -> pd.DataFrame:
    """One record more, somewhere in the middle of the file."""
    row = pd.DataFrame([{"firm": -1, **new}])
    return pd.concat([frame[:at], row, frame[at:]], ignore_index=True)


def changed(frame: pd.DataFrame, new: dict[str, Any], at: int, public: tuple[str, ...]) -> pd.DataFrame:
    """One record replaced, and another order of the rows."""
    other = frame.copy()
    for name, value in new.items():
        if name not in public:
            other.loc[at, name] = value
    return other.iloc[::-1].reset_index(drop=True)


def neighbours(given: QuantileSynthesis, frame: pd.DataFrame) -> list[pd.DataFrame]:
    twin = {name: frame.loc[3, name] for name in STRANGE[0]}
    if isinstance(given.neighbours, AddRemoveOne):
        return [more(frame, new, at) for at, new in enumerate([*STRANGE, twin])]
    return [changed(frame, new, 2 * at, given.keep) for at, new in enumerate([*STRANGE, twin])]


@pytest.mark.parametrize("runs", [5, pytest.param(20, marks=pytest.mark.slow)])  # there are five neighbours
@pytest.mark.parametrize("name", PLANS)
def test_no_output_of_a_whole_run_loses_more_than_epsilon(name: str, runs: int) -> None:
    given, frame = plan(name, str(EPSILON)), firms(60)
    worst = max(losses(given, frame, neighbours(given, frame), runs))
    assert worst <= EPSILON + 1e-9
    assert worst > 0.02 * EPSILON, "nothing was seen of the record: the audit is blind"


def worst_case(given: QuantileSynthesis) -> float:
    """Two records at the lower end, a third at the upper; the output in which every number is as low as can be."""
    low = firms(2).assign(sector="a", age=7, legal="own", size=0.0, jobs=2, pay=-100.0)
    if isinstance(given.neighbours, AddRemoveOne):
        high = more(low, STRANGE[0], 0)
    else:
        high = changed(low, STRANGE[0], 0, given.keep)
    tape = Tape(np.random.default_rng(1), lowest=True)
    run(given, low, tape, 1)
    second = tape.again()
    run(given, high, second, 1)
    return abs(tape.log - second.log)


@pytest.mark.parametrize("name", PLANS)
def test_the_rarest_output_loses_much_and_not_too_much(name: str) -> None:
    assert 0.1 * EPSILON < worst_case(plan(name, str(EPSILON))) <= EPSILON + 1e-9


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("category", Fraction(5, 4)),
        ("one number", Fraction(3, 2)),
        ("two numbers", Fraction(2)),
        ("groups", Fraction(2)),
    ],
)
def test_spending_more_than_was_declared_is_caught(name: str, times: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """How much more it takes depends on how near the files above come to the worst there are."""
    given, honest = plan(name, str(EPSILON)), QuantileSynthesis._costs

    def costs(self: QuantileSynthesis, variables: Any) -> measuring.Costs:
        paid = honest(self, variables)
        more = {one: cost * times for one, cost in paid.variables.items()}
        return measuring.Costs(paid.counts * times, more, paid.stays)

    monkeypatch.setattr(QuantileSynthesis, "_costs", costs)
    assert worst_case(given) > EPSILON


# The steps that see numbers, and how many of their arguments are columns of records.
STEPS = {
    "_number": 2,
    "masses_of": 1,
    "count_octaves": 2,
    "measure_total": 1,
    "look": 1,
    "quantiles": 1,
    "measure_ranks": 2,
}


@pytest.mark.parametrize("name", PLANS)
def test_every_step_sees_files_that_differ_in_one_record(name: str) -> None:
    """Many firms are equal, so that only their parts of a step tell them apart: these must not change hands."""
    given, frame = plan(name, str(EPSILON)), firms(60).assign(size=50.0, jobs=3, pay=lambda all: 20.0 * (all.firm % 2))
    for other in neighbours(given, frame):
        tape = Tape(np.random.default_rng(1))
        seen: list[list[Counter[Any]]] = []
        for one, played in ((frame, tape), (other, None)):
            rows: list[Counter[Any]] = []

            def listening(step: Any, columns: int, rows: Any = rows) -> Any:
                """The step, and a note of the records that it sees."""

                def heard(*given: Any) -> Any:
                    rows.append(Counter(map(tuple, np.column_stack(given[:columns]).tolist())))
                    return step(*given)

                return heard

            with pytest.MonkeyPatch.context() as patch:
                for name_of_step, columns in STEPS.items():
                    patch.setattr(number, name_of_step, listening(getattr(number, name_of_step), columns))
                run(given, one, played or tape.again(), 1)
            seen.append(rows)
        assert seen[0] or name == "category"
        for before, after in zip(*seen, strict=True):
            assert max((before - after).total(), (after - before).total()) <= 1
            if isinstance(given.neighbours, AddRemoveOne):
                assert (before - after).total() == 0


# In the middle of the lattice, so that thresholds fall on either side as often; the canary draws them upwards.
COLUMNS = {"size": np.full(3, 15.0), "pay": np.full(3, -100.0), "sector": np.zeros(3)}

CANARY = {"size": 1000.0, "pay": 3000.0, "sector": 0.0}


def bound(name: str, trials: int, times: Fraction = Fraction(1)) -> CanaryBound:
    given = plan(name, str(EPSILON))
    variables, groups = given.variables(SCHEMA), given._groups(SCHEMA)
    honest = given._costs(variables)
    more_paid = {one: cost * times for one, cost in honest.variables.items()}
    costs = Costs(honest.counts * times, more_paid, honest.stays)
    names = given.reads(SCHEMA)

    def draw(canary_in: bool, count: int, random: np.random.Generator) -> list[list[float]]:
        columns = {one: np.append(COLUMNS[one], CANARY[one]) if canary_in else COLUMNS[one] for one in names}
        found = []
        counted: list[float] = []

        def counts(*asked: Any) -> Any:
            """Those of values and octaves begin with 0, 1 and the upper bound, where the canary is."""
            noisy = add_discrete_laplace(*asked)
            counted.append(float(noisy[2]) if noisy.ndim == 1 else 0.0)
            return noisy

        for _ in range(count):
            source = SeededEntropy(int(random.integers(2**62)))
            counted.clear()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(owning, "add_discrete_laplace", counts)
                first, *_ = measure(columns, variables, groups, costs, given.rows, None, None, source).groups
            own = first.fitted["size"].own
            assert own is not None
            total = own.total[0].totals[0] if own.total else 0.0
            found.append([float(sum(first.records)), total, counted[0], *own.curve.values[[0, 1, -1]].tolist()])
        return found

    return canary_bound(draw, trials=trials, seed=3)


@pytest.mark.parametrize(
    ("name", "trials"), [("one number, rows given", 500), pytest.param("one number", 3000, marks=pytest.mark.slow)]
)
def test_the_canary_is_seen_and_the_bound_stays_below_the_declared_epsilon(name: str, trials: int) -> None:
    found = bound(name, trials)
    assert 0 < found.epsilon <= EPSILON


@pytest.mark.parametrize("name", ["two numbers", "groups"])
def test_with_more_to_release_the_bound_stays_below_too(name: str) -> None:
    assert not bound(name, trials=150).refutes(EPSILON)


def test_a_run_that_spends_far_more_than_it_declares_is_refuted() -> None:
    """Declared 1, spent 20: the outputs that are looked at carry a part of what a run spends."""
    assert bound("one number, rows given", trials=400, times=Fraction(10)).refutes(1)


@pytest.mark.parametrize("step", ["values", "octaves", "ranks", "ranks of few"])
def test_counts_of_values_and_ranks_lose_what_they_cost_and_a_fifth_less_noise_is_seen(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss of one record more is what its count moves, over the scale of the noise."""
    exact, scales = [], []

    def counts(counted: Any, scale: Fraction, entropy: Any, label: str) -> Any:
        exact.append(counted.copy())
        scales.append(scale)
        return counted

    def sums(budget: Any, values: Any, reach: Any, entropy: Any, label: str) -> Any:
        exact.append(values.copy())
        scales.append(reach.total / (budget.epsilon * budget.part))
        return values

    monkeypatch.setattr(owning, "add_discrete_laplace", counts)
    monkeypatch.setattr(owning.Budget, "noisy", sums)
    column = plan("one number").variables(SCHEMA)[0].column
    paid = Fraction(1, 3)
    scores = np.append(np.random.default_rng(1).normal(size=(40, 2)), [[9.0, 9.0]], axis=0)
    for rows in (40, 41):
        values = np.append(np.full(40, 5.0), 0.0)[:rows]
        if step == "values":
            owning.masses_of(values, column, paid, 40, SeededEntropy(1), "size")
        elif step == "octaves":
            octaves, values = Octaves.of(column, Fraction(100)), np.append(np.full(40, 5.0), 700.0)[:rows]
            owning.count_octaves(values + 0.001, values, (0.0, 1.0), octaves, paid, SeededEntropy(1), "size")
        else:
            responses, predictors, released = scores[:rows, 0], scores[:rows, 1:], scores[:40, 1:]
            records = 40 if step == "ranks of few" else 4000
            owning.measure_ranks(
                responses, predictors, released, [True], 0.5, paid, records, False, SeededEntropy(1), ["size"]
            )
    moved = int(np.abs(exact[1] - exact[0]).sum())
    assert moved == 1 or step == "ranks of few"
    assert moved / scales[0] == paid
    assert moved / (scales[0] * Fraction(4, 5)) > paid
