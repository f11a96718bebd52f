"""The numbers that hu2024 prints: Tables 2 to 5, the bounds of Figures 1 and 3, and what is said of interval lengths.

Section F says that FBP's intervals for average salaries are 0.95 times as long as FBS's; the caption of Table 5 says
0.97, which is what its lines give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

Statistic = Literal["count", "mean"]
Arm = Literal["FBS", "FBP"]
Cell = tuple[str, str]  # field and gender, ALL for a margin

ALL = "all"
ARMS: tuple[Arm, ...] = ("FBS", "FBP")
FIELDS = ("1", "2", "3", "4", "5", "6", "7", "8")
GENDERS = ("male", "female")
STATISTICS: tuple[Statistic, ...] = ("count", "mean")

CELLS: tuple[Cell, ...] = tuple((field, gender) for field in (ALL, *FIELDS) for gender in (ALL, *GENDERS))
BY_FIELD: tuple[Cell, ...] = tuple(cell for cell in CELLS if cell[0] != ALL)  # the 24 cells of Tables 4 and 5
INTERIOR: tuple[Cell, ...] = tuple(cell for cell in BY_FIELD if cell[1] != ALL)


@dataclass(frozen=True)
class Repeated:
    """A line of Table 4 or 5: the population's value, and coverage and mean interval length over 100 samples."""

    population: float
    coverage: dict[str, float]
    length: dict[str, float]


Line = TypeVar("Line")


def _both(read: Callable[[list[str]], dict[Cell, Line]], text: str) -> dict[Statistic, dict[Cell, Line]]:
    """Two printed tables, of counts and of means, that stand side by side."""
    pairs = [line.split(" | ") for line in text.strip().splitlines()]
    return {statistic: read([pair[at] for pair in pairs]) for at, statistic in enumerate(STATISTICS)}


def _repeated(lines: list[str]) -> dict[Cell, Repeated]:
    cells = {}
    for cell, line in zip(BY_FIELD, lines, strict=True):
        population, fbs, fbs_length, fbp, fbp_length = map(float, line.split())
        cells[cell] = Repeated(population, {"FBS": fbs, "FBP": fbp}, {"FBS": fbs_length, "FBP": fbp_length})
    return cells


# Table 4 | Table 5
REPEATED: dict[Statistic, dict[Cell, Repeated]] = _both(
    _repeated,
    """
27963 0.84 3560 0.99 6682 | 110659 0.85 13657 0.71 13422
14599 0.99 3705 1.00 4854 | 121125 0.87 18337 0.77 17772
13364 0.99 4298 1.00 5242 | 99226 0.90 17941 0.78 16461
2734 0.86 1416 0.86 1853 | 140742 0.95 58335 0.94 64240
1951 0.95 1287 0.88 1492 | 146916 0.95 66324 0.96 71592
783 1.00 1185 1.00 1037 | 125358 0.97 78486 0.96 78408
4035 0.92 1709 1.00 2814 | 114668 0.91 41026 0.92 41596
2918 0.97 1576 1.00 2258 | 118338 0.91 47514 0.93 46015
1117 1.00 1446 1.00 1596 | 105081 0.94 56496 0.85 53166
18109 0.90 3312 1.00 5280 | 115647 0.81 19026 0.81 16953
12381 0.98 3175 1.00 4320 | 122601 0.87 22022 0.80 20016
5728 0.99 3025 1.00 3360 | 100618 0.91 25821 0.90 23786
11197 0.85 2474 1.00 4876 | 105808 0.85 21648 0.89 22418
3861 1.00 2081 1.00 2713 | 120531 0.95 31905 0.91 33535
7336 0.98 2781 1.00 4104 | 98060 0.86 23600 0.88 24292
12842 0.88 2576 1.00 4915 | 110159 0.88 21325 0.78 18347
6433 0.99 2488 1.00 3393 | 122676 0.95 27187 0.71 25241
6409 0.98 2892 1.00 3702 | 97595 0.92 25165 0.89 21989
18131 0.92 2955 0.51 4725 | 132249 0.87 21163 0.79 20262
14358 0.95 3021 0.51 4108 | 136370 0.84 22964 0.79 22021
3773 1.00 2691 0.99 2516 | 116566 0.97 34669 0.82 34129
4989 0.79 1934 1.00 2936 | 119005 0.90 40658 0.93 39461
2033 1.00 1557 1.00 1760 | 137349 0.93 57063 0.93 54326
2956 0.99 1908 1.00 2297 | 106388 0.92 43357 0.94 40191
""",
)

# Maxima of the record-level bounds before weighting, and the targets: Figure 3.
UNWEIGHTED = {"FBS": 8.89, "FBP": 9.92}
BOUNDS = (1.8, 3.4)
SETS = (1, 3, 5)
CORRELATION = {"population": -0.57, "sample": -0.58, "SDR": 0.09}

# Mean length of FBP's intervals over FBS's, by Δ, files and statistic: captions of Figures 10 to 16 and Tables 4 and 5.
LENGTH_RATIO: dict[tuple[float, int], dict[Statistic, float]] = {
    (1.8, 1): {"count": 1.81, "mean": 0.93},
    (1.8, 3): {"count": 1.38, "mean": 0.97},
    (1.8, 5): {"count": 1.54, "mean": 0.95},
    (3.4, 1): {"count": 1.71, "mean": 0.97},
    (3.4, 3): {"count": 1.39, "mean": 0.97},
    (3.4, 5): {"count": 1.52, "mean": 0.97},
}


@dataclass(frozen=True)
class Applied:
    """A line of Table 2 or 3: estimate and standard error by the sample, Laplace, FBS and FBP on the SDR."""

    estimate: dict[str, float]
    error: dict[str, float]

    def relative_rmse(self, method: str) -> float:
        """As Figure 2: against the sample's estimate, squared bias and variance; here relative to that estimate."""
        truth = self.estimate["Sample"]
        return float(((self.estimate[method] - truth) ** 2 + self.error[method] ** 2) ** 0.5 / truth)


def _applied(lines: list[str]) -> dict[Cell, Applied]:
    methods = ("Sample", "Laplace", "FBS", "FBP")
    cells = {}
    for cell, line in zip(CELLS, lines, strict=True):
        numbers = [float(one) for one in line.split()]
        pairs = dict(zip(methods, zip(numbers[::2], numbers[1::2], strict=True), strict=True))
        cells[cell] = Applied({one: pairs[one][0] for one in methods}, {one: pairs[one][1] for one in methods})
    return cells


# Table 2 | Table 3
APPLIED: dict[Statistic, dict[Cell, Applied]] = _both(
    _applied,
    """
125199 1383 125323 2281 125199 234 125199 165 | 108707 1050 109513 11190 107421 780 107031 964
76610 1305 76917 964 76583 876 68696 638 | 115785 1491 115664 7352 113623 1013 112206 1445
48589 930 48510 744 48616 753 56503 610 | 97548 1309 99593 18564 97660 959 100840 1206
34185 725 34255 2732 30370 247 37505 567 | 107609 2133 107017 42677 97568 954 97392 1481
18545 652 18526 2402 17089 441 18528 441 | 115172 3299 101900 440042 102378 1419 102984 1575
15640 533 15606 1981 13281 250 18977 440 | 98641 2478 102608 223808 91366 1368 92099 1998
5555 280 5859 2401 6513 194 4706 246 | 132192 4874 135918 174237 135373 4204 136571 4271
4495 295 4757 1824 4848 205 3324 209 | 135522 5648 163687 234994 137929 5157 140664 5544
1059 134 1115 757 1665 155 1382 134 | 118061 9376 134395 218548 128013 7900 126984 6455
6085 356 6160 2128 5934 256 4673 235 | 104992 4885 105217 55443 98907 2758 101444 2899
4351 331 4435 1010 4362 219 3197 197 | 105941 5464 99976 354606 102080 3399 104261 3941
1734 237 1736 2142 1572 154 1476 132 | 102610 10184 130265 342208 90094 3767 95494 4166
18539 529 18504 3561 17625 195 21457 469 | 110323 2530 107428 106783 107985 1860 104866 1319
13714 527 13728 816 12310 283 13653 391 | 111671 3026 117144 291832 112101 2077 109198 1712
4825 277 4931 1486 5315 185 7804 299 | 106513 4575 100038 287057 98456 2695 97510 2498
13238 415 13329 2726 14779 475 11730 358 | 94520 2552 89890 175891 98409 1791 97013 1736
4312 339 4290 1440 5074 290 3439 204 | 104400 5966 92574 326365 105570 3429 103183 3696
8926 369 8983 2165 9705 400 8291 304 | 89748 2408 91096 659405 94654 2002 94515 1828
15810 448 15784 1691 16991 371 15789 405 | 95754 3216 101597 119309 93209 2202 92206 1435
8328 441 8542 1267 8664 361 7045 284 | 104427 5505 58174 265991 97993 2951 98955 2227
7483 313 7431 1533 8327 260 8744 308 | 86103 2768 82758 199529 88208 2140 86964 1721
26977 688 26940 2872 28600 133 23376 506 | 120444 2315 118149 101962 125963 2302 125303 2030
20822 673 21104 1746 22131 353 17044 443 | 123570 2766 117140 459755 127912 2577 128236 2020
6156 400 6110 1372 6468 272 6332 280 | 109867 3748 129382 402416 119289 3379 117615 4144
4810 238 4686 1274 4388 121 5963 264 | 103636 4147 104684 99206 107302 3945 101453 2508
2044 206 1899 1127 2105 123 2466 174 | 117473 7344 115349 274175 114344 5049 110167 4458
2766 192 2819 2650 2283 118 3497 203 | 93411 4236 89180 276217 100778 4668 95536 3055
""",
)


def words(cell: Cell) -> str:
    """How the tables name a cell.

    >>> words(("3", "female")), words(("3", ALL)), words((ALL, "male")), words((ALL, ALL))
    ('Field 3, female', 'Field 3', 'All fields, male', 'All fields')
    """
    field = "All fields" if cell[0] == ALL else f"Field {cell[0]}"
    return field if cell[1] == ALL else f"{field}, {cell[1]}"
