"""Are synthetic records nearer to the rows they were made from than to rows of the same population they never saw?

Distances are of Gower's kind: over columns, the mean of 0 or 1 for categories and of the absolute difference, in units
of the original's range from its 1st to its 99th percentile and cut at 1, for numbers. A missing value is at distance 0
from a missing one and 1 from any other. Distances are never stored as a matrix: a running minimum per record is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import UsageError
from tacita.evaluation.cells import WORKERS
from tacita.evaluation.encoding import Comparison, Encoded
from tacita.evaluation.metric import Metric, Outcome

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Points:
    """Records as a distance sees them: category codes, and numbers in units of their range (NaN where missing)."""

    codes: NDArray[np.int32]
    numbers: Floats

    def take(self, rows: Rows) -> Points:
        return Points(self.codes[rows], self.numbers[rows])

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Distance:
    """The columns of a distance and the scale of each number, fixed on the original."""

    categorical: tuple[str, ...]
    numeric: tuple[str, ...]
    scale: tuple[tuple[float, float], ...]
    """Start and width of each number's range."""

    @classmethod
    def on(cls, original: Encoded, columns: Sequence[str] | None = None) -> Distance:
        names = tuple(columns) if columns is not None else original.names
        if not names:
            raise UsageError("distance: name at least one column")
        kinds = {name: original.column(name).kind for name in names}
        numeric = tuple(name for name in names if kinds[name] == "numeric")
        scale = []
        for name in numeric:
            known = original.numbers[name][~np.isnan(original.numbers[name])]
            low, high = np.quantile(known, (0.01, 0.99)) if len(known) else (0.0, 0.0)
            if high <= low and len(known):
                low, high = known.min(), known.max()
            # In a constant column any other value is as far away as can be.
            scale.append((float(low), float(high - low) if high > low else np.finfo(np.float64).tiny))
        return cls(tuple(name for name in names if kinds[name] == "categorical"), numeric, tuple(scale))

    def points(self, file: Encoded, rows: Rows | None = None) -> Points:
        take = slice(None) if rows is None else rows
        count = file.rows if rows is None else len(rows)
        codes = np.empty((count, len(self.categorical)), dtype=np.int32)
        numbers = np.empty((count, len(self.numeric)))
        for j, name in enumerate(self.categorical):
            codes[:, j] = file.codes[name][take]
        for j, (name, (start, width)) in enumerate(zip(self.numeric, self.scale, strict=True)):
            with np.errstate(over="ignore"):
                numbers[:, j] = np.clip((file.numbers[name][take] - start) / width, -1e300, 1e300)
        return Points(codes, numbers)


def nearest_distances(queries: Points, reference: Points, *, other_than_itself: bool = False) -> Floats:
    """The distance of each query to its nearest reference record (not to itself, where both are the same file).

    >>> here = Points(np.array([[0], [1]], dtype=np.int32), np.array([[0.0], [0.5]]))
    >>> nearest_distances(here, here, other_than_itself=True).tolist()
    [0.75, 0.75]
    """
    if not len(reference) or (other_than_itself and len(reference) < 2):
        raise UsageError("distance: there is no record to measure the distance to")
    distances = np.empty(len(queries))
    step = max(1, -(-len(queries) // (4 * WORKERS)))

    def part(start: int) -> None:
        rows = slice(start, min(start + step, len(queries)))
        distances[rows] = _nearest(
            queries.codes[rows],
            queries.numbers[rows],
            reference.codes,
            reference.numbers,
            start if other_than_itself else -len(queries) - len(reference),
        )

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(part, range(0, len(queries), step)))
    distances /= queries.codes.shape[1] + queries.numbers.shape[1]
    return distances


@njit(nogil=True, cache=True)
def _nearest(codes, numbers, to_codes, to_numbers, skip):  # type: ignore[no-untyped-def]
    out = np.empty(codes.shape[0])
    for i in range(codes.shape[0]):
        best = np.inf
        for j in range(to_codes.shape[0]):
            if j == skip + i:
                continue
            total = 0.0
            for c in range(codes.shape[1]):
                if codes[i, c] != to_codes[j, c]:
                    total += 1.0
            for c in range(numbers.shape[1]):
                if total >= best:
                    break
                gap = abs(numbers[i, c] - to_numbers[j, c])
                if gap == gap:
                    total += min(gap, 1.0)
                elif not (np.isnan(numbers[i, c]) and np.isnan(to_numbers[j, c])):
                    total += 1.0
            if total < best:
                best = total
                if best == 0.0:
                    break
        out[i] = best
    return out


def nearest_record(
    columns: Sequence[str] | None = None, *, records: int = 2000, reference_rows: int = 100_000, seed: int = 0
) -> Metric:
    """Share of synthetic records nearer to a training record than to a hold-out record; 1/2 if nothing was copied.

    Training and hold-out rows are sampled to equal numbers, at most `reference_rows`; ties count one half. A copied
    row that was sampled away is not seen, so a hold-out file much smaller than the original weakens the test. The
    details hold the distances and the share of exact copies on both sides.
    """
    chosen = None if columns is None else tuple(columns)
    if records < 1 or reference_rows < 1:
        raise UsageError("nearest record: records and reference_rows must be at least 1")

    def score(comparison: Comparison) -> Outcome:
        if comparison.holdout is None:
            raise UsageError("nearest record: needs rows kept out of the synthesis; give compare(…, holdout=frame)")
        distance = Distance.on(comparison.original, chosen)
        generator = np.random.default_rng(seed)
        size = min(comparison.original.rows, comparison.holdout.rows, reference_rows)
        training, others = (
            distance.points(file, generator.choice(file.rows, size, replace=False))
            for file in (comparison.original, comparison.holdout)
        )
        values, details = [], []
        for file in comparison.synthetic:
            rows = generator.choice(file.rows, min(file.rows, records), replace=False)
            queries = distance.points(file, rows)
            near, far = nearest_distances(queries, training), nearest_distances(queries, others)
            nearer = np.where(near < far, 1.0, np.where(near == far, 0.5, 0.0))
            values.append(float(nearer.mean()))
            details.append(
                {
                    "standard error": float(nearer.std() / np.sqrt(len(nearer))),
                    "median distance to training": float(np.median(near)),
                    "median distance to hold-out": float(np.median(far)),
                    "5th percentile to training": float(np.quantile(near, 0.05)),
                    "5th percentile to hold-out": float(np.quantile(far, 0.05)),
                    "exact copies of training": float(np.mean(near == 0)),
                    "exact copies of hold-out": float(np.mean(far == 0)),
                }
            )
        return Outcome(float(np.mean(values)), {"files": tuple(details), "rows compared": size}, tuple(values))

    return Metric(
        "nearer to training than to hold-out",
        "lower",
        (0.0, 1.0),
        0.5,
        "share of synthetic records nearer to a row they were made from than to one they never saw; 1/2 is chance",
        score,
    )
