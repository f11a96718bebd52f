"""From noisy answers to records: a field is fitted once, and every file is drawn from it. Post-processing only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.data.schema.rulebook import Bar, impossible, possible
from tacita.synthesis.file.evening import even_goals, looks_for, worth_evening
from tacita.synthesis.file.field import Field, Wanted
from tacita.synthesis.file.graph import tabulate_all
from tacita.synthesis.file.records import Goal, agree, unrelated
from tacita.synthesis.file.targets import Answer, Told, empty_ends, margins, wanted_of, with_noise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_PUBLIC_SEED = 15
_SKETCH = (1_000, 4_000)  # records in the pool of a sketch, at least and at most
_LEARNING, _LEARNING_MORE, _LOOKS = 30, 10, 16  # passes
_STAGES = ((4_000, 50), (12_000, 30))
_AGAIN = 24  # passes with other noise
_AT_LENGTH = 3  # passes at the length of the file
_LARGEST_POOL = 60_000
_MEANS = 4  # passes that the tables of the field are means of
_LEAST_LEFT = 0.2  # of the noise, where the field has followed all of it
_GUESS = 0.3  # weight of a pair that was not measured, beside the lightest that was
_MOST_GUESSED = 4_000_000  # cells of such pairs, of which there are at most twice as many as were measured
_PASSES = 30
_EVENING, _BETWEEN_LOOKS = 6, 2  # passes
_ALONE = 20  # passes from records of one kind to others of the same kind


@frozen(eq=False)
class Fit:
    """A field with what it was fitted to."""

    levels: tuple[int, ...]
    bars: tuple[Bar, ...]
    records: float
    field: Field
    ones: Sequence[tuple[Floats, float]]
    wanted: Sequence[Wanted]
    measured: Sequence[Wanted]
    """The same without the noise that was added once more, where the field is `unsure`."""
    told: Sequence[Told] = ()
    empty: Sequence[NDArray[np.bool_]] = ()

    @property
    def margins(self) -> list[Floats]:
        """How many records are in each state of each column."""
        return [counts for counts, _ in self.ones]


def fitted(
    answers: Sequence[Answer],
    levels: tuple[int, ...],
    bars: tuple[Bar, ...],
    records: float,
    random: np.random.Generator,
    ordered: Sequence[int] | None = None,
    public: Integers | None = None,
    told: Sequence[Told] = (),
) -> Fit:
    """The likeliest field of these answers. `public` as in `Field`; `told` as in `margins`. Where something was told,
    ends of numbers that hold no more than noise stay empty, unless rules leave no other states."""
    empty = empty_ends(answers, levels, told, ordered) if told and ordered is not None else []
    more = (*bars, *(Bar.of(levels, {a: np.flatnonzero(one).tolist()}) for a, one in enumerate(empty) if one.any()))
    if possible(levels, more) is None:
        empty, more = [], bars
    bars = more
    ones = margins(answers, levels, records, told, empty)
    wanted = wanted_of(answers, [one for one, _ in ones], records)
    shares = [one / one.sum() for one, _ in ones]
    field = Field(levels, shares, bars, unrelated(shares, bars, _STAGES[0][0], random), ordered, public)
    field.tie(wanted, records)
    for rows, passes in _STAGES:
        field.resize(rows, random)
        field.fit(wanted, records, passes, random)
    return Fit(levels, bars, records, field, ones, wanted, wanted, told, empty)


def unsure(fit: Fit, answers: Sequence[Answer], random: np.random.Generator) -> Fit:
    """A field that may be the right one, given the noise of the answers that the likeliest one was fitted to."""
    again = [with_noise(one, random) for one in answers]
    ones = margins(again, fit.levels, fit.records, [one.with_noise(random) for one in fit.told], fit.empty)
    own = [one for one, _ in ones]
    wanted, measured = (wanted_of(some, own, fit.records) for some in (again, answers))
    moved = [(one, other.counts - one.counts) for one, other in zip(measured, wanted, strict=True)]
    others = _others(fit.levels, [one.attributes for one in wanted])
    some = random.permutation(len(others))[: len(wanted)].tolist()
    field = fit.field.copy()
    field.set_margins([one / one.sum() for one in own])
    if moved:
        field.unsettle(moved, [others[k] for k in some], fit.records, random)
    field.fit(wanted, fit.records, _AGAIN, random)
    return Fit(fit.levels, fit.bars, fit.records, field, ones, wanted, measured, fit.told, fit.empty)


class Sketch:
    """A field that is fitted to more and more answers, to say what is still unknown; the same answers give the same
    one, because its random numbers are public."""

    def __init__(
        self, levels: tuple[int, ...], bars: tuple[Bar, ...], records: float, ordered: Sequence[int] | None
    ) -> None:
        self.levels, self.bars, self.records, self.ordered = levels, bars, records, ordered
        self.random = np.random.default_rng(_PUBLIC_SEED)
        self.field: Field | None = None

    def learn(self, answers: Sequence[Answer]) -> None:
        ones = margins(answers, self.levels, self.records)
        wanted = wanted_of(answers, [one for one, _ in ones], self.records)
        shares = [one / one.sum() for one, _ in ones]
        if self.field is None:
            rows = int(min(max(self.records, _SKETCH[0]), _SKETCH[1]))
            start = unrelated(shares, self.bars, rows, self.random)
            self.field = Field(self.levels, shares, self.bars, start, self.ordered)
            self.field.tie(wanted, self.records)
            self.field.fit(wanted, self.records, _LEARNING, self.random)
        else:
            self.field.set_margins(shares)
            self.field.fit(wanted, self.records, _LEARNING_MORE, self.random)

    @property
    def tied(self) -> list[tuple[int, ...]]:
        """Two columns of which each nearly says the other."""
        return [] if self.field is None else [tuple(one.tolist()) for one in self.field.tied]

    def seen(self) -> Integers:
        """Records of the field, of many passes."""
        assert self.field is not None
        return self.field.seen(_LOOKS, self.random)

    def expected(self, tables: Sequence[tuple[int, ...]], seen: Integers) -> list[Integers]:
        """Tables of the field in whole records."""
        size = self.records / len(seen)
        return [np.rint(one * size).astype(np.int64) for one in tabulate_all(seen, self.levels, tables)]


def drawn(fit: Fit, rows: int, random: np.random.Generator) -> tuple[Integers, Floats]:
    """So many records of the field that agree with what was measured, as far as that is more than noise; those of an
    `unsure` field with what may have been, given the noise. With them, where each leans within its states."""
    field = fit.field.copy()
    field.resize(min(rows, _LARGEST_POOL), random)
    field.fit(fit.wanted, fit.records, _AT_LENGTH, random)
    measured = [one.attributes for one in fit.wanted]
    tables = measured + _others(fit.levels, measured)
    means = field.expected(tables, fit.records, _MEANS, random)
    size, doubt = rows / fit.records, random if field.means else None
    goals = [
        Goal(one.attributes, _real(one, mean, field.freedom[one.attributes], doubt) * size, 1 / one.variance)
        for one, mean in zip(fit.measured, means, strict=False)
    ]
    light = _GUESS * min((one.weight for one in goals), default=1.0)
    goals += [Goal(table, mean * size, light) for table, mean in list(zip(tables, means, strict=True))[len(measured) :]]
    ones = [Goal((a,), counts * size, 1 / variance) for a, (counts, variance) in enumerate(fit.ones)]
    if rows != len(field.pool):
        field.resize(rows, random)
        field.expected([], fit.records, 3, random)

    def one_file(passes: int, more: Sequence[Goal] = (), *, last: bool = False) -> Integers:
        records = field.pool[random.permutation(rows)] if field.public is None else field.pool
        if last:
            field.pool = records  # a large file is held once
        agree(records, fit.levels, ones, [*goals, *more], fit.bars, passes, random, field.held)
        return records

    threes = [] if doubt or field.public is not None else worth_evening(fit.levels, rows, set(tables), random)
    if not threes:
        return (records := one_file(_PASSES, last=True)), field.leanings(records)
    looks = [one_file(_EVENING)]
    while len(looks) < looks_for(rows):
        field.expected([], fit.records, _BETWEEN_LOOKS, random)
        looks.append(one_file(_EVENING))
    records = one_file(_EVENING, even_goals(looks, fit.levels, threes, min(light, *(one.weight for one in goals))))
    return records, field.leanings(records)


def given(
    fit: Fit, bars: tuple[Bar, ...], rows: int | None, length: int, fewest: int, random: np.random.Generator
) -> tuple[Integers, Floats, int]:
    """Records of the field that these bars allow, where each leans within its states, and how many are wanted: as many
    as were asked for, or about as many as a file of this length has; no fewer than `fewest` are drawn."""
    field = fit.field.copy()
    allowed = ~impossible(field.pool, bars)
    rows = max(1, round(length * float(allowed.mean()))) if rows is None else rows
    drawn_rows = max(rows, fewest)
    field.bars = bars
    if allowed.any():
        field.pool = field.pool[allowed]
    else:
        field.pool = unrelated([one / one.sum() for one, _ in fit.ones], bars, drawn_rows, random)
    field.resize(drawn_rows, random)
    field.expected([], fit.records, _ALONE, random)
    records = field.pool[random.permutation(drawn_rows)]
    return records, field.leanings(records), rows


def _real(one: Wanted, mean: Floats, freedom: float, random: np.random.Generator | None) -> Floats:
    """What was measured, as far as it is likelier a fact than noise: Wiener's share of each deviation from the field.

    Facts that the field does not know have a variance in proportion to the count itself, as those of a sample have;
    in what proportion follows from all deviations of the table together. With `random`, a draw of what they may be.
    """
    # A field that was fitted has followed some of the noise; one that was drawn is off by as much for another reason.
    left = max(1 - freedom, _LEAST_LEFT) if random is None else 1.0
    off, noise = one.counts - mean, one.variance * left
    beyond = float((off**2).sum()) - noise * one.numbers
    signal = max(0.0, beyond / max(float(mean.sum()), 1.0)) * mean
    share = signal / (signal + noise)
    drawn = 0.0 if random is None else np.sqrt(share * noise) * random.standard_normal(mean.shape)
    return np.asarray(mean + off * share + drawn)


def _others(levels: tuple[int, ...], measured: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Pairs that were not measured, the small ones first, as many as there is room for."""
    known, room = set(measured), _MOST_GUESSED
    chosen: list[tuple[int, ...]] = []
    pairs = (pair for pair in combinations(range(len(levels)), 2) if pair not in known)
    for a, b in sorted(pairs, key=lambda pair: levels[pair[0]] * levels[pair[1]]):
        room -= levels[a] * levels[b]
        if room < 0 or len(chosen) >= 2 * len(measured):
            break
        chosen.append((a, b))
    return chosen
