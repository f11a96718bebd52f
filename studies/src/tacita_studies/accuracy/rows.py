"""One row of results.json: a number that came out, beside what it should have been."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

REFUSED, FAILED = "refused", "failed"


@dataclass(frozen=True)
class AccuracyRow:
    """`setting` is the name of the try; `cell` holds the words of a plan that refused, or the error of one that failed.

    A number is None where there is none: no margin is published, or the forecast does not speak about the statistic.
    `foretold` says whether the forecast is of the mean error or of the median.
    """

    plan: str
    file: str
    setting: str
    epsilon: float | None
    delta: float | None
    neighbours: str
    statistic: str = ""
    cell: str = ""
    draw: int = 0
    truth: float | None = None
    published: float | None = None
    margin: float | None = None
    covered: bool | None = None
    forecast: float | None = None
    foretold: str = "mean"
    seconds: float | None = None

    def with_numbers(self, truth: float, published: float, margin: float | None) -> AccuracyRow:
        """A margin that does not reach the truth covers nothing; the last digits are no miss.

        >>> row = AccuracyRow("Table", "demo", "counts", 1.0, 0.0, "one record replaced")
        >>> [row.with_numbers(10.0, 12.0, margin).covered for margin in (2.0, 1.9, None)]
        [True, False, None]
        """
        half = None if margin is None or not math.isfinite(margin) else float(margin)
        covered = None if half is None else bool(abs(published - truth) <= half + 1e-9 * abs(truth))
        return replace(self, truth=float(truth), published=float(published), margin=half, covered=covered)

    def as_json(self) -> dict[str, Any]:
        return {key: _finite(value) for key, value in asdict(self).items()}


def _finite(value: Any) -> Any:
    """JSON has no infinity and no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
