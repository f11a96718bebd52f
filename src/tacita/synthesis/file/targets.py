"""Noisy answers as tables of counts: what the field is fitted to. Post-processing only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from tacita.synthesis.file.budget import Question
from tacita.synthesis.file.ends import without_ends
from tacita.synthesis.file.field import Wanted

Floats = NDArray[np.float64]
_SIGNS = np.array([1.0, -1.0])


@frozen(eq=False)
class Answer:
    """A question with its noisy numbers."""

    question: Question
    values: NDArray[np.int64]


def public_answers(codes: NDArray[np.int64], levels: Sequence[int]) -> tuple[Answer, ...]:
    """Exact counts of the first columns, as everybody knows them."""
    counts = (np.bincount(codes[:, a], minlength=size).astype(np.int64) for a, size in enumerate(levels))
    return tuple(
        Answer(Question((a,), False, Fraction(1), Fraction(0), False), values) for a, values in enumerate(counts)
    )


def with_noise(answer: Answer, random: np.random.Generator) -> Answer:
    """The answer with as much noise again."""
    question, shape = answer.question, answer.values.shape
    more = (
        random.laplace(0.0, float(question.noise), shape)
        if question.pure
        else random.normal(0.0, float(question.noise) ** 0.5, shape)
    )
    return evolve(answer, values=np.rint(answer.values + more).astype(np.int64))


@frozen(eq=False)
class Told:
    """What was counted of the states of a column before any table, each with its precision: 0 where nothing was."""

    attribute: int
    counts: Floats
    precision: Floats

    def with_noise(self, random: np.random.Generator) -> Told:
        """The same with as much noise again."""
        noise = random.standard_normal(self.counts.size) / np.sqrt(np.maximum(self.precision, 1e-12))
        return evolve(self, counts=self.counts + noise)


def margins(
    answers: Sequence[Answer],
    levels: tuple[int, ...],
    records: float,
    told: Sequence[Told] = (),
    empty: Sequence[NDArray[np.bool_]] = (),
) -> list[tuple[Floats, float]]:
    """Counts of each column's states with their variance, from all tables that hold it and from what was told before;
    none negative, and none where nobody is (`empty_ends`)."""
    found = []
    for a, (counts, variance) in enumerate(_joint(answers, levels, told)):
        there = ~empty[a] if empty else np.ones(levels[a], dtype=np.bool_)
        own = np.zeros(levels[a])
        own[there] = nearest(counts[there], records)
        found.append((own, variance))
    return found


def empty_ends(
    answers: Sequence[Answer], levels: tuple[int, ...], told: Sequence[Told], ordered: Sequence[int]
) -> list[NDArray[np.bool_]]:
    """Of each column, the states at the ends of those that stand in order (`ordered`, as in `Field`) that hold no more
    than noise: bounds may be wide, and few records there would add more to a mean than all others."""
    found = []
    for (counts, variance), number in zip(_joint(answers, levels, told), ordered, strict=True):
        empty = np.zeros(counts.size, dtype=np.bool_)
        if number:
            empty[:number] = without_ends(counts[:number], variance) == 0
        found.append(empty)
    return found


def _joint(answers: Sequence[Answer], levels: tuple[int, ...], told: Sequence[Told]) -> list[tuple[Floats, float]]:
    """Counts of each column's states, as measured, each by its noise."""
    found = []
    for a in range(len(levels)):
        total, weight = np.zeros(levels[a]), np.zeros(levels[a])
        for one in answers:
            where = one.question.attributes
            if a in where and not one.question.contrast:
                table = one.values.sum(axis=tuple(k for k, b in enumerate(where) if b != a))
                precision = 1 / (one.question.variance * one.values.size / levels[a])
                total, weight = total + precision * table, weight + precision
        for before in (one for one in told if one.attribute == a):
            total, weight = total + before.precision * before.counts, weight + before.precision
        found.append((total / weight, float((1 / weight).mean())))
    return found


def nearest(values: Floats, total: float) -> Floats:
    """The nearest numbers that are not negative and have this sum.

    >>> nearest(np.array([5.0, -1.0, 2.0]), 5.0).tolist()
    [4.0, 0.0, 1.0]
    """
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, values.size + 1)
    return np.asarray(np.maximum(values - excess[np.flatnonzero(ordered > excess)[-1]], 0.0))


def wanted_of(answers: Sequence[Answer], ones: Sequence[Floats], records: float) -> list[Wanted]:
    """All tables of several columns, each once; a contrast becomes a table by the columns' own counts."""
    tables: dict[tuple[int, ...], Wanted] = {}
    for one in answers:
        where, values = one.question.attributes, one.values.astype(np.float64)
        if len(where) < 2:
            continue
        variance = one.question.variance
        if one.question.contrast:
            free = np.outer(ones[where[0]], ones[where[1]]) / records
            signed = [axis for axis in range(2) if free.shape[axis] == 2]
            off = values - _contrast(free, signed)
            if signed == [0, 1]:
                spread = off * np.outer(_SIGNS, _SIGNS)
            else:
                spread = np.outer(_SIGNS, off) if signed == [0] else np.outer(off, _SIGNS)
            values, variance = free + spread / 2 ** len(signed), variance / 2 ** len(signed)
        values = _agreeing(values, [ones[a] for a in where])
        own, before = Wanted(where, values, variance, one.values.size), tables.get(where)
        tables[where] = own if before is None else _joined(before, own)
    return list(tables.values())


def _agreeing(values: Floats, ones: Sequence[Floats]) -> Floats:
    """The nearest table whose columns have these counts, which all tables together know better than one."""
    found = values.copy()
    for axis, own in enumerate(ones):
        others = tuple(k for k in range(values.ndim) if k != axis)
        lacking = (own - found.sum(axis=others)) * own.size / values.size
        found += np.expand_dims(lacking, others)
    return found


def _joined(one: Wanted, two: Wanted) -> Wanted:
    """What was measured twice, each by its noise."""
    share = two.variance / (one.variance + two.variance)
    counts = share * one.counts + (1 - share) * two.counts
    return Wanted(one.attributes, counts, share * one.variance, max(one.numbers, two.numbers))


def _contrast(table: Floats, signed: Sequence[int]) -> Floats:
    for axis in reversed(signed):
        table = np.tensordot(table, _SIGNS, axes=([axis], [0]))
    return np.asarray(table)


def records_of(answers: Sequence[Answer], counted: int, variance: float) -> tuple[int, float]:
    """The number of records from a count of its own and from all whole tables, each by its noise, and its variance."""
    whole = [one for one in answers if not one.question.contrast]
    totals = np.array([counted, *(one.values.sum() for one in whole)], dtype=np.float64)
    weights = np.array([1 / variance, *(1 / (one.question.variance * one.values.size) for one in whole)])
    return max(1, round(float(np.average(totals, weights=weights)))), float(1 / weights.sum())
