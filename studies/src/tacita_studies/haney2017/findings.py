"""The paper's six findings, each checked against what this run measured.

A finding is split in claims. Each claim is tested on the algorithms *as printed*, since that is what the paper
measured; beside it stands what the proved calibration gives at the same setting. Where the paper says "close to
1" or "nearly the same", the reading used here is in the words of the claim.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tacita.pages.render import shown
from tacita.simulated.frame import STRATA
from tacita_studies.haney2017 import arms
from tacita_studies.haney2017.rows import CLOSE, CORRELATION, RATIO
from tacita_studies.haney2017.tables import ALL_PLACES
from tacita_studies.harness.results import Row, Rows

PURE = ("LogLaplace", "SmoothGamma", "SmoothStudent", "SmoothStaircase", "SmoothVector")
THREE = ("LogLaplace", "SmoothGamma", "SmoothLaplace")
LARGE = ("10k-100k", "100k+")
_NEAR_ONE = 0.95
_SAME = 0.25  # "nearly the same" error: within a quarter


@dataclass(frozen=True)
class Claim:
    """One testable sentence of a finding; `verdict` is None where the run holds no number for it."""

    finding: int
    paper: str
    measured: str
    verdict: bool | None
    proved: str


class Lookup(Rows):
    """Rows by table, method and setting."""

    def __call__(
        self,
        table: str,
        method: str,
        alpha: str | None,
        epsilon: str,
        *,
        metric: str = RATIO,
        stratum: str = ALL_PLACES,
        printed: bool = False,
    ) -> float:
        """The number, or NaN where the mechanism does not exist at that setting."""
        label = f"{method} (as printed)" if printed else method
        value = self.value(label, metric, table=table, alpha=alpha, epsilon=epsilon, stratum=stratum)
        return math.nan if value is None else value

    def best_pure(self, table: str, alpha: str, epsilon: str, *, stratum: str = ALL_PLACES) -> tuple[str, float]:
        """The proved mechanism with δ = 0 that has the smallest error here, and its ratio."""
        errors = {name: self(table, name, alpha, epsilon, stratum=stratum) for name in PURE}
        existing = {name: value for name, value in errors.items() if not math.isnan(value)}
        if not existing:
            return "none", math.nan
        best = min(existing, key=lambda name: existing[name])
        return best, existing[best]

    def order(self, method: str, epsilon: str, stratum: str = ALL_PLACES, *, printed: bool = True) -> float:
        """The correlation of Ranking 1."""
        return self("Ranking 1", method, "0.1", epsilon, metric=CORRELATION, stratum=stratum, printed=printed)

    def over_alphas(self, table: str, alphas: Sequence[str] = arms.ALPHAS, method: str = "") -> dict[str, float]:
        """At ε = 4: what a method gives as printed, or without its name the best pure one."""
        if not method:
            return {f"α = {a}": self.best_pure(table, a, "4")[1] for a in alphas}
        return {f"α = {a}": self(table, method, a, "4", printed=True) for a in alphas}


def claims(rows: Sequence[Row]) -> list[Claim]:
    """All claims, in the order of the paper's findings."""
    at = Lookup(rows)
    return [*_first(at), *_second(at), *_third(at), *_fourth(at), *_fifth(at), *_sixth(at)]


def _existing(values: Iterable[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def _keeps_to(
    finding: int,
    paper: str,
    values: Mapping[str, float],
    limit: float,
    proved: str,
    *,
    above: bool = False,
    words: str = "",
) -> Claim:
    """The claim that all numbers that exist keep to the limit."""
    existing = _existing(values.values())
    verdict = all(value >= limit if above else value <= limit for value in existing) if existing else None
    return Claim(finding, paper, words + _named(values), verdict, proved)


def _named(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name}: {shown(value)}" for name, value in values.items())


def _best(at: Lookup, table: str, alpha: str, epsilon: str) -> str:
    name, value = at.best_pure(table, alpha, epsilon)
    return f"best pure: {name} {shown(value)}" if name != "none" else "no pure mechanism exists here"


def _proved_laplace(at: Lookup, table: str) -> str:
    return f"SmoothLaplace, δ = {arms.PROVED_DELTA}: {shown(at(table, 'SmoothLaplace', '0.1', '2'))}"


def _first(at: Lookup) -> Iterator[Claim]:
    ratio = {name: at("Workload 1", name, "0.1", "2", printed=True) for name in THREE}
    laplace = {"SmoothLaplace": ratio.pop("SmoothLaplace")}
    says = "Workload 1, ε = 2, α = 0.1: Log-Laplace and Smooth Gamma are within a factor of 3 of noise infusion."
    yield _keeps_to(1, says, ratio, 3, _best(at, "Workload 1", "0.1", "2"))
    says = "At the same setting Smooth Laplace (δ > 0) is better than noise infusion."
    yield _keeps_to(1, says, laplace, 1, _proved_laplace(at, "Workload 1"))
    orders = {"SmoothLaplace at ε = 2": at.order("SmoothLaplace", "2")}
    orders |= {f"{name} at ε = 4": at.order(name, "4") for name in ratio}
    says = (
        f"Ranking 1, α = 0.1: correlation close to 1 (read as {_NEAR_ONE} or more) for Smooth Laplace from ε = 2, "
        "for the other two from ε = 4."
    )
    staircase = f"SmoothStaircase {shown(at.order('SmoothStaircase', '2', printed=False))} at ε = 2"
    yield _keeps_to(1, says, orders, _NEAR_ONE, staircase, above=True)
    every = {place: [at.order("SmoothLaplace", e, place) for e in arms.EPSILONS] for place in LARGE}
    large = {f"SmoothLaplace, lowest, {place}": _lowest(values) for place, values in every.items()}
    large |= {f"LogLaplace at ε = 1, {place}": at.order("LogLaplace", "1", place) for place in LARGE}
    ours = {f"SmoothStaircase at ε = 1, {p}": at.order("SmoothStaircase", "1", p, printed=False) for p in LARGE}
    says = (
        "Ranking 1, places above 10,000 people: close to 1 for Smooth Laplace at every ε, for Log-Laplace from ε = 1."
    )
    yield _keeps_to(1, says, large, _NEAR_ONE, _named(ours), above=True)
    printed = {"LogLaplace": 0.65, "SmoothLaplace": 0.75, "SmoothGamma": 0.29}
    shares = {name: at("Relative error", name, "0.1", "2", metric=CLOSE, printed=True) for name in printed}
    proved = {name: at("Relative error", name, "0.1", "2", metric=CLOSE) for name in PURE[:-1]}
    says = (
        "Share of counts whose relative error is within 10 percentage points of noise infusion's: Log-Laplace 65%, "
        "Smooth Laplace 75%, Smooth Gamma 29% (errors averaged over trials, cell by cell; holds: within 10 points of "
        "each share)."
    )
    off = _existing(abs(shares[name] - share) for name, share in printed.items())
    yield Claim(1, says, _named(shares), all(one <= 0.10 for one in off) if off else None, _named(proved))


def _lowest(values: Iterable[float]) -> float:
    return min(_existing(values), default=math.nan)


def _highest(values: Iterable[float]) -> float:
    return max(_existing(values), default=math.nan)


def _second(at: Lookup) -> Iterator[Claim]:
    log, laplace = (
        {name: at("Workload 2", name, "0.1", "2", printed=True)} for name in ("LogLaplace", "SmoothLaplace")
    )
    says = "Workload 2 (single queries, weak definition), ε = 2, α = 0.1: Log-Laplace is within a factor of 3."
    yield _keeps_to(2, says, log, 3, _best(at, "Workload 2", "0.1", "2"))
    says = "Smooth Laplace has nearly the same error as noise infusion (read as within a quarter, or less)."
    yield _keeps_to(2, says, laplace, 1 + _SAME, _proved_laplace(at, "Workload 2"))
    pure = "best pure: " + _named(at.over_alphas("Workload 2"))
    says = "At ε = 4 Smooth Laplace beats noise infusion for every α."
    yield _keeps_to(2, says, at.over_alphas("Workload 2", method="SmoothLaplace"), 1, pure)
    order = {name: at("Ranking 2", name, "0.1", "4", metric=CORRELATION, printed=True) for name in THREE}
    others = _highest(order[name] for name in ("LogLaplace", "SmoothGamma"))
    reached = None if math.isnan(order["SmoothLaplace"]) else order["SmoothLaplace"] >= _NEAR_ONE > others
    ours = {n: at("Ranking 2", n, "0.1", "4", metric=CORRELATION) for n in ("SmoothStaircase", "SmoothStudent")}
    says = f"Ranking 2 over all places: only Smooth Laplace approaches 1 (read as {_NEAR_ONE} or more), at ε = 4."
    yield Claim(2, says, _named(order), reached, _named(ours))


def _third(at: Lookup) -> Iterator[Claim]:
    strong = "strong definition, "
    says = (
        "Workload 3 (sex × education in the table, weak definition): Log-Laplace is within a factor of 10 for "
        "α ≤ 0.05 at ε = 4."
    )
    log = at.over_alphas("Workload 3", ("0.01", "0.05"), "LogLaplace")
    yield _keeps_to(3, says, log, 10, strong + _best(at, "Workload 3, strong", "0.05", "4"))
    laplace = at.over_alphas("Workload 3", method="SmoothLaplace")
    says = "Smooth Laplace is within a factor of 10 at ε = 4 for every α (at which it exists once ε is divided by 8)."
    pure = "weak definition, best pure: " + _named(at.over_alphas("Workload 3"))
    yield _keeps_to(3, says, laplace, 10, pure)
    both = f"{_best(at, 'Workload 3', '0.01', '4')}; {strong}{_best(at, 'Workload 3, strong', '0.01', '4')}"
    lowest = {"SmoothLaplace": laplace["α = 0.01"]}
    yield _keeps_to(3, "At α = 0.01 Smooth Laplace is within a factor of 3.", lowest, 3, both)


def _fourth(at: Lookup) -> Iterator[Claim]:
    for table in ("Workload 1", "Workload 2"):
        series = {name: [at(table, name, "0.1", "2", stratum=s, printed=True) for s in STRATA] for name in THREE}
        falling = all(all(b <= a for a, b in pairwise(one)) for one in series.values())
        first_step = all(one[0] - one[1] >= max(one[1] - one[2], one[2] - one[3]) for one in series.values())
        missing = any(math.isnan(value) for one in series.values() for value in one)
        strata = [shown(at.best_pure(table, "0.1", "2", stratum=s)[1]) for s in STRATA]
        yield Claim(
            4,
            f"{table}, ε = 2, α = 0.1: the ratio falls as places grow ({', '.join(STRATA)}), most from the first "
            "stratum to the second.",
            "; ".join(f"{name} {', '.join(map(shown, one))}" for name, one in series.items()),
            None if missing else falling and first_step,
            f"best pure: {', '.join(strata)}",
        )


def _fifth(at: Lookup) -> Iterator[Claim]:
    workloads = ("Workload 1", "Workload 2", "Workload 3")
    beaten, ahead = [], []
    for setting in ((t, a, e) for t in workloads for a in arms.ALPHAS for e in arms.EPSILONS):
        log, gamma, laplace = (at(setting[0], name, *setting[1:], printed=True) for name in THREE)
        others, best = _lowest((log, gamma)), at.best_pure(*setting)[1]
        beaten += [laplace < others] if not math.isnan(laplace + others) else []
        ahead += [best < laplace] if not math.isnan(laplace + best) else []
    yield Claim(
        5,
        "Smooth Laplace performs best of the three in all experiments.",
        f"best at {sum(beaten)} of the {len(beaten)} settings of the three workloads where it exists",
        all(beaten) if beaten else None,
        f"a proved mechanism with δ = 0 beats the printed Smooth Laplace at {sum(ahead)} of {len(ahead)} settings",
    )

    def log_less_gamma(epsilon: str, *, printed: bool) -> float:
        log, gamma = (at("Workload 1", name, "0.1", epsilon, printed=printed) for name in THREE[:2])
        return log - gamma

    apart = {e: log_less_gamma(e, printed=True) for e in arms.EPSILONS}
    apart = {e: value for e, value in apart.items() if not math.isnan(value)}
    low, high = [e for e in apart if apart[e] < 0], [e for e in apart if apart[e] >= 0]
    ordered = bool(low) and (not high or max(map(float, low)) < min(map(float, high)))
    proved = ", ".join(e for e in arms.EPSILONS if log_less_gamma(e, printed=False) > 0)
    yield Claim(
        5,
        "Log-Laplace does better than Smooth Gamma at low ε.",
        f"Workload 1, α = 0.1: Log-Laplace is ahead at ε = {', '.join(low) or 'none'} of {', '.join(apart)}",
        ordered if apart else None,
        f"proved: Smooth Gamma is ahead at ε = {proved or 'none'}",
    )


def _sixth(at: Lookup) -> Iterator[Claim]:
    names = {f"θ = {theta}": f"TruncatedLaplace θ={theta}" for theta in arms.THETAS}
    says = (
        "Workload 1: Truncated Laplace (establishment-level privacy) has at least 10 times the error of noise infusion "
        "at ε = 4, for every θ."
    )
    four = {theta: at("Workload 1", name, None, "4") for theta, name in names.items()}
    fit = "the establishment-level guarantee stays a poor fit: "
    better = f"{fit}{_best(at, 'Workload 1', '0.1', '4')} under strong α = 0.1"
    yield _keeps_to(6, says, four, 10, better, above=True)
    every = {
        theta: [at("Ranking 1", name, None, e, metric=CORRELATION) for e in arms.EPSILONS]
        for theta, name in names.items()
    }
    says = "Ranking 1: its correlation is no better than 0.7, for any θ and ε."
    order = {theta: _highest(values) for theta, values in every.items()}
    yield _keeps_to(6, says, order, 0.7, "–", words="highest over ε: ")
