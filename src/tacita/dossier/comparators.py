"""What would rounding, coarsening or suppression have cost? The methods an office knows, scored beside the release.

They work on the encoded original and carry no guarantee; nothing made with them leaves this module but scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacita.evaluation import Comparison, Encoded, Metric
from tacita.evaluation.marginals import k_marginal, total_variation
from tacita.evaluation.propensity import specks
from tacita.evaluation.risk import replicated_uniques
from tacita.evaluation.risk.attribute import shared_keys

Floats = NDArray[np.float64]

RARE = 0.01
SMALLEST_GROUP = 3
TOP = 0.995
RELEASE, FRESH = "This release", "A fresh sample"
_SEED = 2026  # so that the same files give the same dossier


@dataclass(frozen=True)
class Compared:
    """One method's scores by metric name; `lost` is the share of records that it withholds."""

    method: str
    how: str
    scores: Mapping[str, float]
    lost: float = 0.0


def comparator_metrics(known: Sequence[str]) -> tuple[Metric, ...]:
    """Few and cheap: enough to see on which side of the practice a release lies."""
    metrics: tuple[Metric, ...] = (total_variation(1), total_variation(2), k_marginal(3, most=300), specks())
    return (*metrics, replicated_uniques(known)) if known else metrics


def rounded(file: Encoded) -> Encoded:
    """Numbers to two significant digits, and the largest of them top-coded."""
    return replace(file, numbers={name: _round(values) for name, values in file.numbers.items()})


def _round(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    if not known.size:
        return values
    capped = np.minimum(values, np.quantile(known, TOP))
    size = np.abs(capped)
    step = 10.0 ** (np.floor(np.log10(np.where(size > 0, size, 1.0))) - 1)
    return np.asarray(np.round(capped / step) * step, dtype=np.float64)


def coarsened(file: Encoded) -> Encoded:
    """Numbers to the middle of their twentieth of the file, and rare levels merged into one."""
    return replace(
        file,
        numbers={name: _twentieths(values) for name, values in file.numbers.items()},
        codes={name: _merged(codes, len(file.column(name).levels)) for name, codes in file.codes.items()},
    )


def _twentieths(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    if not known.size:
        return values
    edges = np.unique(np.quantile(known, np.linspace(0, 1, 21)))
    if len(edges) == 1:
        return values
    inside = np.clip(np.searchsorted(edges, known, side="right") - 1, 0, len(edges) - 2)
    order = np.lexsort((known, inside))
    starts = np.searchsorted(inside[order], np.arange(len(edges) - 1))
    ends = np.searchsorted(inside[order], np.arange(len(edges) - 1), side="right")
    middle = known[order][np.minimum((starts + ends) // 2, len(known) - 1)]
    out = values.copy()
    out[~np.isnan(values)] = middle[inside]
    return out


def _merged(codes: NDArray[np.int32], levels: int) -> NDArray[np.int32]:
    count = np.bincount(codes, minlength=levels)
    rare = count < RARE * len(codes)
    if not (rare & (count > 0)).any():
        return codes
    into = int(np.argmax(np.where(rare, count, -1)))
    place = np.where(rare, into, np.arange(levels)).astype(np.int32)
    return place[codes]


def suppressed(file: Encoded, known: Sequence[str]) -> Encoded | None:
    """Without the records that share the known columns with fewer than two others; None if nobody is left."""
    (keys,), size = shared_keys([file], list(known))
    safe = np.flatnonzero(np.bincount(keys, minlength=size)[keys] >= SMALLEST_GROUP)
    return _taken(file, safe) if len(safe) else None


def resampled(file: Encoded) -> Encoded:
    """As many records drawn again, with replacement: as near as a sample of the same population comes."""
    return _taken(file, np.random.default_rng(_SEED).integers(0, file.rows, file.rows))


def _taken(file: Encoded, chosen: NDArray[np.int64]) -> Encoded:
    return Encoded(
        columns=file.columns,
        rows=len(chosen),
        codes={name: codes[chosen] for name, codes in file.codes.items()},
        numbers={name: numbers[chosen] for name, numbers in file.numbers.items()},
    )


def methods(known: Sequence[str]) -> list[tuple[str, str, Callable[[Encoded], Encoded | None]]]:
    """Name, description and function of each comparator that can be applied."""
    known_methods: list[tuple[str, str, Callable[[Encoded], Encoded | None]]] = [
        (FRESH, "records of the original drawn again, with replacement", resampled),
        ("Rounding and top-coding", f"numbers to two significant digits, cut at their {TOP:.1%} point", rounded),
        ("Coarsening", f"numbers in twentieths, levels below {RARE:.0%} merged", coarsened),
    ]
    if known:
        how = f"records left out where fewer than {SMALLEST_GROUP} share {', '.join(known)}"
        known_methods.append(("Suppression of records", how, lambda file: suppressed(file, known)))
    return known_methods


def compared(comparison: Comparison, known: Sequence[str], say: Callable[[str], None]) -> list[Compared]:
    """The release first, then what the practice would have scored on the same rows."""
    metrics = comparator_metrics(known)

    def scores(one: Comparison) -> dict[str, float]:
        return {metric.name: metric(one).value for metric in metrics}

    say("Comparators: the release")
    rows = [Compared(RELEASE, f"{len(comparison.synthetic)} synthetic file(s)", scores(comparison))]
    for name, how, change in methods(known):
        say(f"Comparators: {name.lower()}")
        changed = change(comparison.original)
        if changed is None:
            continue
        lost = 1 - changed.rows / comparison.original.rows
        rows.append(Compared(name, how, scores(replace(comparison, synthetic=(changed,), holdout=None)), lost))
    return rows
