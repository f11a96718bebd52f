"""How much one draw tells two files apart: for every sampler, the loss of its confidential arguments.

Both runs released the same outputs and have the same public arguments (`tacita.noise.forcing` saw to that), so what
one draw loses is a function of the two sets of confidential arguments. It is the largest over all outputs, not only
the one that came, so that a promise is held against the worst. Where a sampler's law is bounded and not enumerated,
the bound is the one of its proof, with the number of records that differ counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from tacita.audit.laws import Placed, laplace_failure, largest_ratio
from tacita.errors import UsageError
from tacita.noise.concentrated import rho_for
from tacita.noise.forcing import Draw, same
from tacita.noise.laws import Laplace
from tacita.noise.replay import ReplayMismatch
from tacita.privacy import Loss

Arguments = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lost:
    """Of one draw: ε for certain, ρ of zero-concentrated privacy, or pairs of Laplace laws of unequal scale, for which
    only an (ε, δ) is known."""

    epsilon: float = 0.0
    rho: float = 0.0
    unequal: tuple[tuple[Placed, Placed], ...] = ()

    @classmethod
    def pure(cls, epsilon: float) -> Lost:
        return cls(epsilon, epsilon**2 / 2)

    @classmethod
    def ranged(cls, widest: float, epsilon: float | None = None) -> Lost:
        """A law whose log ratio lies in an interval this long has ρ = length²/8 (Cesar and Rogers 2021)."""
        return cls(widest if epsilon is None else epsilon, widest**2 / 8)


Rule = Callable[[Arguments, Arguments, Arguments], Lost]


def loss_of(first: Draw, second: Draw) -> Lost:
    """What the same draw on two files tells apart."""
    rule = RULES.get(first.sampler)
    if rule is None:
        raise UsageError(
            f"{first.sampler}: the audit does not know what this sampler loses; add a rule to tacita.audit.losses.RULES"
        )
    if same(first.confidential, second.confidential):
        return Lost()
    return rule(first.public, first.confidential, second.confidential)


def over_claim(losses: Iterable[Lost], claim: Loss) -> float:
    """All losses of a run added up, as a multiple of what was promised."""
    found = list(losses)
    epsilon, rho = sum(one.epsilon for one in found), sum(one.rho for one in found)
    if claim.rho is not None:
        return rho / float(claim.rho)
    if not claim.delta:
        return epsilon / float(claim.epsilon)
    unequal = [pair for one in found for pair in one.unequal]
    if unequal:
        # What else was lost comes off ε first; the rest is shared by the values that differ, as their budget is.
        left = float(claim.epsilon) - sum(one.epsilon for one in found if not one.unequal)
        if left < 0:
            return 1 - left / float(claim.epsilon)
        return sum(laplace_failure(*pair, left / len(unequal)) for pair in unequal) / float(claim.delta)
    return min(epsilon / float(claim.epsilon), rho / float(rho_for(claim.epsilon, claim.delta)))


def _moved(one: Any, two: Any) -> Floats:
    """Differences of two arrays of values, which must be equally many."""
    if np.shape(one) != np.shape(two):
        raise ReplayMismatch("how many values are noised depends on the rows")
    return np.asarray(np.abs(np.asarray(two, dtype=object) - np.asarray(one, dtype=object)), dtype=np.float64)


# ---------------------------------------------------------------- values with noise


def _discrete_laplace(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    return Lost.pure(float(_moved(one["values"], two["values"]).sum()) / float(public["scale"]))


def _cube(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    return Lost.pure(float(_moved(one["values"], two["values"]).max(initial=0.0)) / float(public["scale"]))


def _discrete_gaussian(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    square = float((_moved(one["values"], two["values"]) ** 2).sum())
    return Lost(inf if square else 0.0, square / (2 * float(public["variance"])))


def _scaled(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """Noise of one law per value, whose scale may follow the rows as well."""
    law = public.get("law", public.get("self"))
    _moved(one["centre"], two["centre"])
    pairs = [pair for pair in zip(_placed(public, one), _placed(public, two), strict=True) if pair[0] != pair[1]]
    if isinstance(law, Laplace) and any(a.scale != b.scale for a, b in pairs):
        return Lost(inf, inf, tuple(pairs))
    return Lost.pure(sum(largest_ratio(law, *pair) for pair in pairs))


def _placed(public: Arguments, given: Arguments) -> list[Placed]:
    centre = np.asarray(given["centre"])
    scale = np.broadcast_to(np.asarray(given["scale_num"]), centre.shape) / public["scale_den"]
    return [Placed(float(c), float(s)) for c, s in zip(centre.ravel(), scale.ravel(), strict=True)]


def _log_laplace(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    _moved(one["count"], two["count"])
    gamma = float(public["gamma"])
    logs = [np.log(np.maximum(np.asarray(given["count"], dtype=np.float64), 0) + gamma) for given in (one, two)]
    return Lost.pure(float(np.abs(logs[0] - logs[1]).sum()) / float(public["lam"]))


def _power(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """Density ∝ (b + ‖z‖₁)^−(a+d) of each row. The ratio is largest at a centre or at infinity: its argument is a
    Möbius function of the distance to one centre."""
    law, moved = public["self"], _moved(one["centre"], two["centre"]).sum(axis=1)
    a, b, d = float(law.a), float(law.b), np.shape(one["centre"])[1]
    scales = [np.asarray(given["scale_num"], dtype=np.float64) / public["scale_den"] for given in (one, two)]
    total = 0.0
    for s, t, gap in zip(*scales, moved, strict=True):
        if s == t and gap == 0:
            continue
        if min(s, t) <= 0:
            return Lost(inf, inf)
        above = (a + d) * log(max(1 + gap / (t * b), s / t)) + d * log(t / s)
        below = (a + d) * log(max(1 + gap / (s * b), t / s)) + d * log(s / t)
        total += max(above, below)
    return Lost.pure(total)


def _box(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """Density ∝ (b + max |z_i|)^−(a+d) of each row, every value with a scale of its own. Seen from one centre, the
    other norm is at most a multiple of this one plus what it is there: the ratio is largest there or at infinity."""
    law = public["self"]
    a, b, d = float(law.a), float(law.b), law.width
    moved = _moved(one["centre"], two["centre"])
    scales = [np.asarray(given["scale_num"], dtype=np.float64) / public["scale_den"] for given in (one, two)]
    total = 0.0
    for s, t, gap in zip(*scales, moved, strict=True):
        if (s == t).all() and not gap.any():
            continue
        if min(s.min(), t.min()) <= 0:
            return Lost(inf, inf)
        stretch = float(np.log(t / s).sum())
        above = (a + d) * log(max(1 + (gap / t).max() / b, (s / t).max())) + stretch
        below = (a + d) * log(max(1 + (gap / s).max() / b, (t / s).max())) - stretch
        total += max(above, below)
    return Lost.pure(total)


# ---------------------------------------------------------------- choices


def _choice(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    _moved(one["scores"], two["scores"])
    possible = np.asarray(public["widths"]) > 0
    change = (np.asarray(two["scores"], dtype=object) - np.asarray(one["scores"], dtype=object))[possible]
    return Lost.ranged(float(public["rate"] * (max(change) - min(change))))


def _threshold(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """The law is constant between records, so every output is looked at."""
    share, end = public["share"], public["end"]
    rate = float(public["epsilon"] / (2 * max(share, 1 - share) * share.denominator))
    starts = np.unique(np.concatenate([[0], one["places"] + 1, two["places"] + 1]))
    starts = starts[starts <= end]

    def log_law(places: NDArray[np.int64]) -> Floats:
        ranks = np.arange(places.size + 1)
        worth = -rate * np.abs(share.denominator * ranks - share.numerator * places.size)
        with np.errstate(divide="ignore"):
            whole = logsumexp(np.log(np.diff(np.concatenate(([-1], places, [end])))) + worth)
        return np.asarray(worth[np.searchsorted(places, starts)] - whole)

    ratio = log_law(two["places"]) - log_law(one["places"])
    return Lost.ranged(float(ratio.max() - ratio.min()), float(np.abs(ratio).max()))


def _ends(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """The law is constant between and on values, so every pair of stretches of either file is looked at."""
    from tacita.mechanisms.table.ladder import furthest, runs, scores_of

    ladder, rate, shift = public["ladder"], float(public["rate"]), public["shift"]
    most = furthest(ladder, public["share"], shift, public["rate"])
    values = np.unique(np.concatenate([one["rungs"], two["rungs"]]))
    starts = np.unique(np.concatenate([[ladder.bottom], values, values + 1]))
    starts = starts[starts <= ladder.top]
    many = np.diff(ladder.weight_below(np.append(starts, ladder.top + 1))).astype(np.float64)

    def log_law(given: Arguments) -> Floats:
        first, _, below, upto = runs(given["rungs"], given["counts"], ladder)
        # An empty stretch begins where the next one does: the last of them is the one that has rungs.
        there = np.searchsorted(first, starts, side="right") - 1
        low, high = (scores_of(below, upto, public["share"], away)[there] for away in (-shift, shift))
        worth = -rate * np.minimum(np.maximum(low[:, None], high[None, :]), most).astype(np.float64)
        return np.asarray(worth - logsumexp(np.log(np.outer(many, many)) + worth))

    ratio = log_law(two) - log_law(one)
    return Lost.ranged(float(ratio.max() - ratio.min()), float(np.abs(ratio).max()))


def _plane(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """A record that is in one file only moves the score of every plane by 1, up or down."""

    def records(given: Arguments) -> Counter[bytes]:
        joined = np.column_stack([given["phi"], given["v"], given["cell"].astype(np.float64)])
        return Counter(row.tobytes() for row in np.ascontiguousarray(joined))

    return Lost.ranged(2 * float(public["rate"]) * _unshared(records(one), records(two)))


def _unshared(one: Counter[Any], two: Counter[Any]) -> int:
    """In how many records two files differ, those of both counted."""
    return (one - two).total() + (two - one).total()


def _election(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """Report noisy max: a node loses the range of the changes of its candidates' scores, over the scale."""
    from tacita.synthesis.comparison.steps.electing import widest

    useful, cap, stop = public["useful"], public["cap"], public["ballot"].threshold is not None
    _moved(one["scores"], two["scores"])
    running = np.concatenate((useful, np.full((len(useful), 1), stop)), axis=1)
    total = 0.0
    for node, change in enumerate(two["scores"] - one["scores"]):
        here = change[running[node]]
        scale = Fraction(widest(int(cap[node]), public["domain"].sizes, with_stop=stop)) / public["epsilon"]
        total += float(here.max() - here.min()) / float(scale) if here.size else 0.0
    return Lost.pure(total)


# ---------------------------------------------------------------- whole tables and files


def _cells(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """Noisy cells of leaves, however they are drawn: every cell has discrete Laplace noise."""
    first, second = one["leaves"], two["leaves"]
    for name in ("layer", "nodes", "fixed", "noisy"):
        if not same(getattr(first, name), getattr(second, name)):
            raise ReplayMismatch(f"{name} of the leaves is public, but differs between the two files")

    def counted(leaves: Any) -> Counter[Any]:
        found: Counter[Any] = Counter()
        for at, code, count in zip(leaves.at.tolist(), leaves.codes.tolist(), leaves.counts.tolist(), strict=True):
            found[(at, *code)] += count
        return found

    return Lost.pure(_unshared(counted(first), counted(second)) / float(public["scale"]))


def _urn(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """Pólya's urn: P(file) ∝ Π Γ(n_c + a + x_c)/Γ(n_c + a), for x_c rows in cell c, over the same of the totals."""
    rows, prior, domain = public["rows"], public["prior"], public["domain"]

    def counted(occupied: Any) -> Counter[Any]:
        pairs = zip(map(tuple, occupied.codes.tolist()), occupied.counts.tolist(), strict=True)
        return Counter(dict(pairs))

    def grown(held: float) -> float:
        return float(gammaln(held + rows) - gammaln(held))

    first, second = counted(one["occupied"]), counted(two["occupied"])
    gains = [grown(second[cell] + prior) - grown(first[cell] + prior) for cell in {*first, *second}]
    balls = prior * domain.cells
    whole = grown(second.total() + balls) - grown(first.total() + balls)
    above, below = sum(one for one in gains if one > 0), sum(one for one in gains if one < 0)
    return Lost.pure(max(above - whole, whole - below))


def _posterior(public: Arguments, one: Arguments, two: Arguments) -> Lost:
    """Every record costs between 0 and MOST, in each of the draws; one that is in both files costs the same in both."""
    from tacita.synthesis.comparison.pseudo.lattice import MOST

    def records(given: Arguments) -> Counter[bytes]:
        joined = np.column_stack([given["value"], given["given"], given["cell"].astype(np.float64)])
        return Counter(row.tobytes() for row in np.ascontiguousarray(joined))

    widest = float(public["rate"]) * MOST * _unshared(records(one), records(two))
    return Lost(public["draws"] * widest, public["draws"] * widest**2 / 8)


RULES: dict[str, Rule] = {
    "add_discrete_laplace": _discrete_laplace,
    "add_cube": _cube,
    "add_discrete_gaussian": _discrete_gaussian,
    "noisy_on_grid": _scaled,
    "PlateauLaw.on_grid": _scaled,
    "PowerLaw.on_grid": _power,
    "BoxLaw.on_grid": _box,
    "noisy_log": _log_laplace,
    "choose": _choice,
    "draw_threshold": _threshold,
    "draw_ends": _ends,
    "draw_plane": _plane,
    "_noisy_best": _election,
    "measure_cells": _cells,
    "_urn": _urn,
    "draw_points": _posterior,
}
