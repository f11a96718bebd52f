"""Do the same pairs of variables look related? All two-way chi-square tests, original against synthetic.

Every pair of columns is cross-tabulated (numbers in fifths of the original's distribution) and tested for independence
in the original and in each synthetic file. The statistics of several files are combined into one test by Li, Meng,
Raghunathan and Rubin (1991). The metric is the consistency rate of bowen2018 section 3.3: the share of pairs for which
both sides come to the same conclusion.

The combined test is weak, and with few files very weak, because it has to guess the variance between files from m
statistics. How often it finds, at the 5 percent level, an association that a single file shows 99 times in 100
(statistics drawn from the noncentral chi-square law, 2,000 repetitions; no association: at most 0.2 percent):

| files m | 2 × 2 cells | 3 × 3 cells | 5 × 5 cells |
| --- | --- | --- | --- |
| 2 | 59% | 29% | 15% |
| 3 | 67% | 29% | 10% |
| 5 | 87% | 37% | 9% |
| 10 | 99% | 61% | 12% |

Even where the statistic is around 100, far beyond doubt in a single file, two files together find it in 84, 37 and 16
percent. So a low rate may speak of the test and not of the files. The score's note says so whenever it matters, with
the rate that the same files reach one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacita.errors import UsageError
from tacita.evaluation import cells
from tacita.evaluation.encoding import Comparison, Encoded
from tacita.evaluation.metric import Metric, Outcome
from tacita.inference import Rule, combine_chi_square

Floats = NDArray[np.float64]
_FEW_FILES = 5  # with fewer, the combined test misses most associations of three or more levels (see above)
_MOST_CELLS = 1 << 24  # a larger two-way table is neither a sensible test nor cheap


@dataclass(frozen=True)
class IndependenceTest:
    """Pearson's chi-square of one table; df counts rows and columns that hold somebody."""

    statistic: float
    rows: NDArray[np.bool_]
    columns: NDArray[np.bool_]

    @property
    def df(self) -> int:
        return max(int(self.rows.sum()) - 1, 0) * max(int(self.columns.sum()) - 1, 0)


def chi_square_agreement(level: float = 0.05, rule: Rule | None = None) -> Metric:
    """Share of column pairs for which original and synthetic files agree whether the pair is associated.

    A pair with a constant column has no test and counts as "not associated". `details["pairs"]` has both p-values of
    each pair; `details["confusion"]` counts conclusions as (synthetic, original); `details["one by one"]` is the mean
    rate of the single files, which the weakness of the combined test does not touch.
    """
    if not 0 < level < 1:
        raise UsageError(f"chi-square level: must lie between 0 and 1, not {level:g}")

    def score(comparison: Comparison) -> Outcome:
        tested = comparison.pairs[0].once(("chi-square", rule), lambda: _all_tests(comparison, rule))
        confusion = dict.fromkeys(("+ +", "+ -", "- +", "- -"), 0)
        for tests in tested.values():
            confusion[f"{'+' if tests.together < level else '-'} {'+' if tests.original < level else '-'}"] += 1
        agree = confusion["+ +"] + confusion["- -"]
        alone = [(one < level) == (tests.original < level) for tests in tested.values() for one in tests.alone]
        details: dict[str, Any] = {
            "confusion": confusion,
            "pairs": {
                f"{a} × {b}": {"original": tests.original, "synthetic": tests.together}
                for (a, b), tests in tested.items()
            },
            "level": level,
            "one by one": sum(alone) / len(alone),
        }
        lost = sum(tests.lost(level) for tests in tested.values())
        note = _note(lost, len(tested) - agree, len(comparison.synthetic), details["one by one"])
        return Outcome(agree / len(tested), details, note=note)

    return Metric(
        f"chi-square agreement at {level:g}",
        "higher",
        (0.0, 1.0),
        1.0,
        f"share of variable pairs whose independence test at {level:g} concludes the same on both sides",
        score,
    )


@dataclass(frozen=True)
class _PairTests:
    """p-values of one pair of columns: in the original, over all synthetic files, and in each of them."""

    original: float
    together: float
    alone: tuple[float, ...]

    def lost(self, level: float) -> bool:
        """Whether the original and every single file show an association, and only combining them hides it."""
        return self.together >= level and self.original < level and all(one < level for one in self.alone)


def _note(lost: int, disagree: int, files: int, one_by_one: float) -> str:
    if files < 2 or (files >= _FEW_FILES and not lost):
        return ""
    said = f"The combined test of {files} files is weak: it misses many associations that every file shows by itself"
    here = f", here {lost} of the {disagree} pairs that disagree" if lost else ""
    return f"{said}{here}. Taken one by one the files agree on {one_by_one:.0%} of the pairs."


def independence(first: NDArray[np.int32], second: NDArray[np.int32], sizes: tuple[int, int]) -> IndependenceTest:
    """Pearson's chi-square of two coded columns.

    >>> test = independence(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), (2, 3))
    >>> test.statistic, test.df
    (4.0, 1)
    """
    key = first.astype(np.int64) * sizes[1] + second
    if sizes[0] * sizes[1] > max(4 * len(key), 4096):
        # Far more cells than rows: sum over the filled ones only, χ² = n·(Σ o²/(r·c) - 1).
        filled, count = np.unique(key, return_counts=True)
        row, column = np.divmod(filled, sizes[1])
    else:
        count = np.bincount(key, minlength=sizes[0] * sizes[1])
        row, column = np.divmod(np.arange(sizes[0] * sizes[1]), sizes[1])
    of_row = np.bincount(row, weights=count, minlength=sizes[0])
    of_column = np.bincount(column, weights=count, minlength=sizes[1])
    n = float(count.sum())
    filled_cells = count > 0
    o, r, c = count[filled_cells].astype(np.float64), of_row[row[filled_cells]], of_column[column[filled_cells]]
    # Observed minus expected over filled cells, plus the expected counts of the empty ones: no cancellation near 0.
    expected = r * c / n
    empty = max(n - math.fsum(expected), 0.0)
    statistic = float(np.sum((o - expected) ** 2 / expected)) + empty
    return IndependenceTest(statistic, of_row > 0, of_column > 0)


def _all_tests(comparison: Comparison, rule: Rule | None) -> dict[tuple[str, str], _PairTests]:
    names = comparison.original.names
    if len(names) < 2:
        raise UsageError("chi-square agreement: needs at least two columns to form a pair")
    files = [comparison.original, *comparison.synthetic]
    coded = [_coded(file, comparison.original) for file in files]
    tests: dict[tuple[str, str], _PairTests] = {}
    for a, b in combinations(range(len(names)), 2):
        sizes = (coded[0][a][1], coded[0][b][1])
        if sizes[0] * sizes[1] > _MOST_CELLS:
            raise UsageError(
                f"chi-square agreement: {names[a]} × {names[b]} has too many cells to test; "
                "leave one out with compare(…, columns=[…])"
            )
        original, *synthetic = (independence(one[a][0], one[b][0], sizes) for one in coded)
        tests[names[a], names[b]] = _PairTests(
            _p_value(original), _combined_p_value(synthetic, rule), tuple(_p_value(one) for one in synthetic)
        )
    return tests


def _coded(file: Encoded, original: Encoded) -> list[tuple[NDArray[np.int32], int]]:
    """Every column as codes with the number of codes; numbers in fifths of the original's values."""
    made = []
    for column in file.columns:
        if column.kind == "categorical":
            made.append((file.codes[column.name], len(column.levels)))
            continue
        known = original.numbers[column.name]
        known = known[~np.isnan(known)]
        cuts = np.unique(np.quantile(known, (0.2, 0.4, 0.6, 0.8))) if len(known) else np.zeros(0)
        codes, _ = cells.to_bins(file.numbers[column.name], cuts)
        made.append((codes, len(cuts) + 2))
    return made


def _p_value(test: IndependenceTest) -> float:
    return 1.0 if test.df == 0 else float(stats.chi2.sf(test.statistic, test.df))


def _combined_p_value(tests: list[IndependenceTest], rule: Rule | None) -> float:
    if len(tests) == 1:
        return _p_value(tests[0])
    # One df for all files, as the rule needs: rows and columns that hold somebody in any of them.
    rows, columns = (np.any([getattr(t, side) for t in tests], axis=0) for side in ("rows", "columns"))
    df = IndependenceTest(0.0, rows, columns).df
    return 1.0 if df == 0 else combine_chi_square([test.statistic for test in tests], df, rule).p_value
