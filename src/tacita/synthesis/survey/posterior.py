"""What the confidential sums and cross-products may have been, given the noisy ones: post-processing only.

Records are normal with a mean for each cell and one covariance; cells' means scatter around the sum of the effects of
their levels, and the effects of a design variable's levels around zero. A cell whose noise is large beside its own
records so leans on the others. The law of the noise is public
and enters as it is (Laplace noise as a mixture of normal noise). Gibbs sampling; its convergence is a matter of
accuracy, never of privacy. All in units of half-ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.survey.columns import Floats

_WARM_UP = 400
_BETWEEN = 15  # steps from one file to the next
_AVERAGED = 50
_MOVES = 2  # of the cross-products, each step
_WANTED = 0.3  # share of moves accepted
_SCATTER = 0.01  # expected variance of cells around main effects, as a share of that of records, before any data
_LOOSE = 40.0  # expected variance of a level's effect, in such scatters; a heavy-tailed guess
_TYPICAL = 0.09  # variance of a record: a released range spans about 3.4 standard deviations to either side
_TRUST = 2  # records' worth of that
_FLAT = 1e-3  # precision of the constant


@dataclass(frozen=True, eq=False)
class Evidence:
    """Noisy sums (cells × d) and cross-products (d × d) with the spread of their noise."""

    sizes: Floats
    effects: Floats
    owner: NDArray[np.int64]
    sums: Floats
    products: Floats
    spread: float
    product_spread: Floats
    gaussian: bool

    def surprise(self, off: Floats) -> float:
        """Minus the log density of noise on the cross-products."""
        scaled = np.triu(off / self.product_spread)
        return float((scaled * scaled).sum() / 2 if self.gaussian else np.abs(scaled).sum())


class Chain:
    """States (sums in cells, cross-products about the cells' means) in proportion to their posterior probability."""

    def __init__(self, evidence: Evidence, random: np.random.Generator) -> None:
        self.evidence, self.random = evidence, random
        sizes = evidence.sizes
        self.free = float(sizes.sum() - len(sizes))
        self.sums = np.clip(evidence.sums, -sizes[:, None], sizes[:, None])
        self.covariance = _positive(self._noisy_within() / self.free, _TYPICAL / 10)
        self.within = self.covariance * self.free
        self.means = self.sums / sizes[:, None]
        self.scatter = _SCATTER * np.diag(self.covariance.diagonal())
        self._prior = self.scatter.copy()
        d = evidence.sums.shape[1]
        # Without a prior that holds it off zero, large noise would let the covariance collapse.
        self._trust, self._expected = d + 1 + _TRUST, _TRUST * _TYPICAL * np.eye(d)
        self.looseness = np.full(int(evidence.owner.max()) + 1, _LOOSE)  # variance of a level's effect, in scatters
        self.steps = {"within": 0.5 / self.free**0.5, "both": 0.1}

    def draws(self, count: int) -> Iterator[tuple[Floats, Floats]]:
        for _ in range(_WARM_UP):
            self.step(adapt=True)
        for _ in range(count):
            for _ in range(_BETWEEN):
                self.step()
            yield self.sums.copy(), self.within.copy()

    def centres(self) -> Floats:
        """The means of the cells, in the middle of what the noise leaves open."""
        sizes = self.evidence.sizes[:, None]
        return np.asarray(np.mean([sums / sizes for sums, _ in self.draws(_AVERAGED)], axis=0))

    def step(self, *, adapt: bool = False) -> None:
        self._draw_sums()
        self._draw_means()
        for _ in range(_MOVES):
            self._move_within(adapt=adapt)
            self._draw_covariance()
            self._move_both(adapt=adapt)

    def _noisy_within(self) -> Floats:
        return np.asarray(self.evidence.products - (self.sums / self.evidence.sizes[:, None]).T @ self.sums)

    def _draw_sums(self) -> None:
        evidence = self.evidence
        if evidence.gaussian:
            precision = np.full_like(self.sums, 1 / evidence.spread**2)
        else:
            off = np.maximum(np.abs(evidence.sums - self.sums), 1e-9 * evidence.spread)
            precision = self.random.wald(1 / (evidence.spread * off), 1 / evidence.spread**2)
        inverse = np.linalg.inv(self.covariance)
        d = len(inverse)
        total = inverse / evidence.sizes[:, None, None] + precision[:, :, None] * np.eye(d)
        pull = self.means @ inverse + precision * evidence.sums
        self.sums = _normal(total, pull, self.random)

    def _draw_means(self) -> None:
        sizes, effects = self.evidence.sizes, self.evidence.effects
        tight = self._tightness()
        gram = np.linalg.inv(effects.T @ effects + np.diag(tight))
        noise = self.random.standard_normal((len(tight), self.means.shape[1]))
        drawn = np.linalg.cholesky(gram) @ noise @ np.linalg.cholesky(self.scatter).T
        effect = gram @ effects.T @ self.means + drawn
        centre = effects @ effect
        left = self.means - centre
        scale = self._prior + left.T @ left + (effect * tight[:, None]).T @ effect
        df = self.means.shape[1] + 2 + len(sizes) + len(tight)
        self.scatter = _inverse_wishart(df, scale, self.random)
        within, across = (np.asarray(np.linalg.inv(one)) for one in (self.covariance, self.scatter))
        self._draw_looseness(effect, across)
        total = sizes[:, None, None] * within + across
        self.means = _normal(total, self.sums @ within + centre @ across, self.random)

    def _tightness(self) -> Floats:
        """The precision of each effect, in inverse scatters."""
        return np.where(self.evidence.owner < 0, _FLAT, 1 / np.append(self.looseness, 1.0)[self.evidence.owner])

    def _draw_looseness(self, effect: Floats, across: Floats) -> None:
        sizes = np.einsum("pi,ij,pj->p", effect, across, effect)
        for at in range(self.looseness.size):
            mine = self.evidence.owner == at
            shape, rate = (1 + mine.sum() * effect.shape[1]) / 2, (_LOOSE + sizes[mine].sum()) / 2
            self.looseness[at] = rate / self.random.gamma(shape)

    def _draw_covariance(self) -> None:
        sizes = self.evidence.sizes[:, None]
        left = self.sums / sizes - self.means
        scale = self.within + self._expected + (left * sizes).T @ left
        self.covariance = _inverse_wishart(self.free + len(sizes) + self._trust, scale, self.random)

    def _move_within(self, *, adapt: bool) -> None:
        """The true cross-products given the covariance: W → gWgᵀ."""
        turn, d = self._turn("within"), len(self.within)
        moved = turn @ self.within @ turn.T
        noisy = self._noisy_within()
        # Wishart density times the Jacobian |g|^(d+1), and log|gWgᵀ| − log|W| = 2 log|g|.
        grown = np.linalg.slogdet(turn)[1]
        gain = (self.free - d - 1) * grown + (d + 1) * grown
        gain -= float(np.trace(np.linalg.solve(self.covariance, moved - self.within))) / 2
        gain += self.evidence.surprise(noisy - self.within) - self.evidence.surprise(noisy - moved)
        if self._accepted("within", gain, adapt):
            self.within = moved

    def _move_both(self, *, adapt: bool) -> None:
        """Cross-products and covariance together, which the Wishart law does not notice."""
        turn = self._turn("both")
        moved, covariance = turn @ self.within @ turn.T, turn @ self.covariance @ turn.T
        noisy, sizes = self._noisy_within(), self.evidence.sizes[:, None]
        left = self.sums / sizes - self.means
        about = self._expected + (left * sizes).T @ left
        gain = self.evidence.surprise(noisy - self.within) - self.evidence.surprise(noisy - moved)
        gain -= (len(sizes) + self._trust) * np.linalg.slogdet(turn)[1]
        gain -= float(np.trace(np.linalg.solve(covariance, about) - np.linalg.solve(self.covariance, about))) / 2
        if self._accepted("both", gain, adapt):
            self.within, self.covariance = moved, covariance

    def _turn(self, name: str) -> Floats:
        # Cayley's transform: a turn and its inverse are equally likely, as the acceptance rule needs.
        half = self.steps[name] / 2 * self.random.standard_normal(self.within.shape)
        unit = np.eye(len(half))
        return np.asarray(np.linalg.solve(unit - half, unit + half))

    def _accepted(self, name: str, gain: float, adapt: bool) -> bool:
        accepted = bool(np.log(self.random.random()) < gain)
        if adapt:
            self.steps[name] = min(self.steps[name] * np.exp(0.05 * (float(accepted) - _WANTED)), 0.7)
        return accepted


def _normal(precision: NDArray[np.float64], pull: Floats, random: np.random.Generator) -> Floats:
    """One normal vector per row, with this precision and mean precision⁻¹·pull."""
    root = np.linalg.cholesky(precision)
    half = np.linalg.solve(root, pull[..., None])
    noise = random.standard_normal(pull.shape)[..., None]
    return np.asarray(np.linalg.solve(np.swapaxes(root, -1, -2), half + noise)[..., 0])


def _inverse_wishart(df: float, scale: Floats, random: np.random.Generator) -> Floats:
    d = len(scale)
    lower = np.tril(random.standard_normal((d, d)), -1)
    lower[np.diag_indices(d)] = np.sqrt(random.chisquare(df - np.arange(d)))
    # If A is standard Wishart, then (C⁻ᵀ A C⁻¹)⁻¹ with CCᵀ = scale … is inverse Wishart with that scale.
    turned = np.linalg.solve(lower, np.linalg.cholesky(scale).T)
    return np.asarray(turned.T @ turned)


def _positive(matrix: Floats, least: float) -> Floats:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
