"""Attribute disclosure: how often an intruder who knows some columns of a person gets another column right.

The intruder looks up the synthetic records (of all files together) with the person's known values and makes the guess
that is right most often among them; with no such record, the best guess over all synthetic records. The share of right
guesses means little alone: a column with one common value is always easy. So it is set against the best guess without
the release: one value for everybody, or, with a hold-out file, the same look-up in rows of people who are not in the
synthesized file, whichever is right more often. What is left is what the release added.

One integer per row and file that is equal exactly where the named columns are: what an intruder can match on.

Uniques: records that are alone with their values of some columns, and those still alone in a synthetic file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import UsageError
from tacita.evaluation.encoding import Comparison, Encoded, Pair
from tacita.evaluation.metric import Metric, Outcome, averaged

Keys = NDArray[np.int64]


def shared_keys(files: Sequence[Encoded], columns: Sequence[str]) -> tuple[list[Keys], int]:
    """Keys of every file, numbered from 0 over all files, and how many there are.

    Numbers match only if equal; missing matches missing.
    """
    if not columns:
        raise UsageError("risk: name at least one column that an intruder may know")
    if len(set(columns)) != len(columns):
        raise UsageError("risk: a column is named twice; name each once")
    key = np.zeros(sum(file.rows for file in files), dtype=np.int64)
    size = 1
    for name in columns:
        if files[0].column(name).kind == "categorical":
            codes = np.concatenate([file.codes[name] for file in files]).astype(np.int64)
            width = len(files[0].column(name).levels)
        else:
            codes, values = pd.factorize(np.concatenate([file.numbers[name] for file in files]), use_na_sentinel=False)
            width = len(values)
        # Renumbering after every column keeps keys far from overflow, however many columns there are.
        key, distinct = pd.factorize(key * max(width, 1) + codes)
        size = len(distinct)
    return [part.astype(np.int64) for part in np.split(key, np.cumsum([file.rows for file in files])[:-1])], size


Floats = NDArray[np.float64]
Table = tuple[Keys, NDArray[Any]]
"""What an intruder looks up: one key and one target value (code or number) per record."""


def attribute_disclosure(known: Sequence[str], target: str, tolerance: float = 0.1) -> Metric:
    """Share of right guesses of `target` from the release, less the share right without it.

    A guess of a category is right if equal (a guess between k equally good ones counts 1/k). A guess of a number is
    right if within `tolerance` times the true value. Records whose target is missing are left out.
    """
    columns = tuple(known)
    if target in columns:
        raise UsageError(f"{target}: cannot be both known and the target; leave it out of one")
    if not 0 <= tolerance < 1:
        raise UsageError(f"attribute tolerance: must lie in [0, 1), not {tolerance:g}")

    def score(comparison: Comparison) -> Outcome:
        files = [comparison.original, *comparison.synthetic]
        files += [comparison.holdout] if comparison.holdout is not None else []
        keys, size = shared_keys(files, columns)
        kept = [np.flatnonzero(~file.missing(target)) for file in files]
        values = [_stored(file, target)[rows] for file, rows in zip(files, kept, strict=True)]
        keys = [key[rows] for key, rows in zip(keys, kept, strict=True)]
        if not len(values[0]):
            raise UsageError(f"{target}: is missing in every original record; choose another target")
        right = _right_number if comparison.original.column(target).kind == "numeric" else _right_category
        m = len(comparison.synthetic)
        pooled: Table = (np.concatenate(keys[1 : m + 1]), np.concatenate(values[1 : m + 1]))
        with_release = right((keys[0], values[0]), pooled, size, tolerance)
        nobody = np.zeros_like(keys[0])
        one_for_all = right((nobody, values[0]), (nobody, values[0]), 1, tolerance)
        without = one_for_all
        details = {"right with the release": with_release, "right with one guess for all": one_for_all}
        if comparison.holdout is not None:
            from_others = right((keys[0], values[0]), (keys[-1], values[-1]), size, tolerance)
            details["right from hold-out records"] = from_others
            without = max(without, from_others)
        seen = np.bincount(pooled[0], minlength=size) > 0
        details["found in the release"] = float(seen[keys[0]].mean())
        return Outcome(with_release - without, details)

    return Metric(
        f"attribute disclosure of {target} from {', '.join(columns)}",
        "lower",
        (-1.0, 1.0),
        0.0,
        f"share of records whose {target} an intruder guesses right with the release, less without it",
        score,
    )


def _right_category(people: Table, source: Table, size: int, tolerance: float) -> float:
    """Expected share of right guesses when each person is guessed from the source rows with the same key."""
    if not len(source[1]):
        return 0.0
    width = int(max(people[1].max(), source[1].max())) + 1
    overall = np.bincount(source[1].astype(np.int64), minlength=width)
    cell, count = np.unique(source[0] * width + source[1], return_counts=True)
    most = np.zeros(size, dtype=np.int64)
    np.maximum.at(most, cell // width, count)
    ties = np.bincount((cell // width)[count == most[cell // width]], minlength=size)
    wanted = people[0] * width + people[1]
    place = np.minimum(np.searchsorted(cell, wanted), len(cell) - 1)
    alike = np.where(cell[place] == wanted, count[place], 0)
    known = most[people[0]] > 0
    credit = np.where(known & (alike == most[people[0]]), 1 / np.maximum(ties[people[0]], 1), 0.0)
    fallback = (overall == overall.max())[people[1].astype(np.int64)] / np.sum(overall == overall.max())
    return float(np.where(known, credit, fallback).mean())


def _right_number(people: Table, source: Table, size: int, tolerance: float) -> float:
    if not len(source[1]):
        return 0.0
    order = np.lexsort((source[1], source[0]))
    values = np.asarray(source[1][order], dtype=np.float64)
    groups = source[0][order]
    guesses = np.full(size, _best_guesses(np.sort(values), np.zeros(len(values), dtype=np.int64), tolerance)[0])
    present = np.flatnonzero(np.bincount(groups, minlength=size))
    guesses[present] = _best_guesses(values, groups, tolerance)
    true = np.asarray(people[1], dtype=np.float64)
    # The guess puts some values exactly on the edge of the tolerance; rounding must not push them out.
    return float(np.mean(np.abs(guesses[people[0]] - true) <= tolerance * np.abs(true) * (1 + 1e-9)))


def _best_guesses(values: Floats, groups: Keys, tolerance: float) -> Floats:
    """The guess that is within the tolerance of most values, for each group of rows sorted by group and value."""
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    best: Floats = _best_windows(values, np.append(starts, len(values)), tolerance)
    return best


@njit(nogil=True, cache=True)
def _best_windows(values, bounds, tolerance):  # type: ignore[no-untyped-def]
    # A guess g is right for v when |g - v| <= t·|v|. For positive v the values v0 … v0·(1+t)/(1-t) share the guess
    # v0·(1+t); for negative ones v0 … v0·(1-t)/(1+t) share v0·(1-t); zero is only right for zero.
    best = np.zeros(len(bounds) - 1)
    for group in range(len(bounds) - 1):
        most = 0
        end = bounds[group]
        for start in range(bounds[group], bounds[group + 1]):
            first = values[start]
            if first > 0:
                last, guess = first * (1 + tolerance) / (1 - tolerance) * (1 + 1e-12), first * (1 + tolerance)
            elif first < 0:
                last, guess = first * (1 - tolerance) / (1 + tolerance) * (1 - 1e-12), first * (1 - tolerance)
            else:
                last, guess = 0.0, 0.0
            end = max(end, start)
            while end < bounds[group + 1] and values[end] <= last:
                end += 1
            if end - start > most:
                most = end - start
                best[group] = guess
    return best


def _stored(file: Encoded, name: str) -> NDArray[Any]:
    return file.numbers[name] if file.column(name).kind == "numeric" else file.codes[name]


def uniques(known: Sequence[str]) -> Metric:
    """Share of original records that nobody shares the values of the known columns with.

    It says how exposed the confidential file is, whatever the synthetic file does.
    """
    columns = tuple(known)

    def score(comparison: Comparison) -> Outcome:
        (keys,), size = shared_keys([comparison.original], columns)
        alone = int(np.sum(np.bincount(keys, minlength=size) == 1))
        return Outcome(alone / comparison.original.rows, {"records": alone, "combinations": size})

    return Metric(
        f"uniques on {', '.join(columns)}",
        "lower",
        (0.0, 1.0),
        None,
        "share of original records that are alone with their values of these columns",
        score,
    )


def replicated_uniques(known: Sequence[str]) -> Metric:
    """Share of original records that are unique and have exactly one synthetic record with the same values."""
    columns = tuple(known)

    def of_pair(pair: Pair) -> Outcome:
        keys, size = shared_keys([pair.original, pair.synthetic], columns)
        original, synthetic = (np.bincount(one, minlength=size) == 1 for one in keys)
        both = int(np.sum(original & synthetic))
        details = {
            "unique in the original": int(original.sum()),
            "unique in the synthetic file": int(synthetic.sum()),
            "replicated": both,
        }
        return Outcome(both / pair.original.rows, details)

    return Metric(
        f"replicated uniques on {', '.join(columns)}",
        "lower",
        (0.0, 1.0),
        0.0,
        "share of original records that are unique on these columns and unique again in the synthetic file",
        averaged(of_pair),
    )
