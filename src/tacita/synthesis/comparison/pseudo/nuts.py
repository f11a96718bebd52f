"""The two models by NUTS (NumPyro, the extra `bayes`), on moments: the priors of the paper's supplement as printed.

A chain is only as good as its convergence: several chains from dispersed starts must agree (split R-hat), be worth
enough independent draws, and have no divergent steps, or the draws are refused. The cost of a step does not depend on
the number of records.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.errors import RefusedError, UsageError
from tacita.mechanisms.kng.convergence import bulk_ess, split_rhat
from tacita.synthesis.comparison.pseudo.fbp import Parameters, PopulationModel, SampleModel
from tacita.synthesis.comparison.pseudo.kernel import Floats
from tacita.synthesis.survey.moments import Moments

CHAINS = 4
WARM_UP = 1000
_LEAST_LENGTH = 1000  # of each chain: shorter ones can look different by chance
_LARGEST_RHAT = 1.01
_LEAST_ESS = 400.0
_ACCEPT = 0.9
_LKJ = 6.0
_SCALE = 10.0  # of the half-t priors with 3 degrees of freedom


@dataclass(frozen=True, eq=False)
class Nuts:
    """Draws by several chains: `draws` in all, spread over what follows the warm-up."""

    model: SampleModel | PopulationModel
    draws: int
    seed: int

    def __call__(self, moments: Moments) -> Parameters:
        jax, numpyro = _loaded()
        length = max(_LEAST_LENGTH, -(-self.draws // CHAINS))
        density = _fbs if isinstance(self.model, SampleModel) else _fbp
        kernel = numpyro.infer.NUTS(density, target_accept_prob=_ACCEPT)
        # jax is told the precision here and nowhere else: other code in the process keeps its own.
        with jax.enable_x64(True):
            chains = numpyro.infer.MCMC(
                kernel,
                num_warmup=WARM_UP,
                num_samples=length,
                num_chains=CHAINS,
                chain_method="vectorized",
                progress_bar=False,
            )
            key = jax.random.PRNGKey(self.seed % 2**63)
            given = self._arguments(moments)
            chains.run(key, *given, extra_fields=("diverging",))
            drawn = {name: np.asarray(one, dtype=np.float64) for name, one in chains.get_samples(True).items()}
            diverging = int(np.asarray(chains.get_extra_fields()["diverging"]).sum())
        if isinstance(self.model, SampleModel):
            drawn["coefficients"] = _coefficients(drawn, given[0], given[1], np.random.default_rng(self.seed))
        named = self._named(drawn)
        check(named, diverging)
        # In random order, so that the first few, which are released, do not follow each other in one chain.
        kept = np.random.default_rng(self.seed).permutation(CHAINS * length)[: self.draws]
        return {name: one.reshape(-1, *one.shape[2:])[kept] for name, one in named.items()}

    def _arguments(self, moments: Moments) -> tuple[Any, ...]:
        """The moments with coefficients measured from the least-squares fit, in units of their standard errors."""
        x = self.model.effects
        gram = (x * moments.weight[:, None]).T @ x + 1e-9 * np.eye(x.shape[1])
        sums, products = moments.sums, moments.products.sum(axis=0)
        if isinstance(self.model, PopulationModel):
            unit = float(np.log(self.model.unit))
            sums = np.column_stack([sums[:, 0], unit * moments.weight - sums[:, 1]])
            turn = np.diag([1.0, -1.0])
            moved = np.array([0.0, unit])
            plain = moments.sums.sum(axis=0) @ turn
            products = turn @ products @ turn + np.outer(plain, moved) + np.outer(moved, plain)
            products = products + np.outer(moved, moved) * moments.weight.sum()
        centre = np.linalg.solve(gram, x.T @ sums)
        axes = np.linalg.inv(np.linalg.cholesky(gram)).T
        rest = products - centre.T @ gram @ centre
        return centre, axes, rest, moments.weight.sum(), x.T @ moments.weight

    def _named(self, drawn: Parameters) -> Parameters:
        if isinstance(self.model, PopulationModel):
            return {name: drawn[name] for name in ("kappa_y", "sigma_y", "sigma_pi", "beta", "kappa_x")}
        return {name: drawn[name] for name in ("coefficients", "covariance")}


def check(drawn: Parameters, diverging: int) -> None:
    """Refuses chains that do not agree; the numbers themselves are confidential."""
    if diverging:
        raise RefusedError(
            "sampler: the chains took steps that diverge, so their draws are not from the posterior; nothing is "
            'released. Use sampler = "exact"'
        )
    for name, chains in drawn.items():
        for one in chains.reshape(*chains.shape[:2], -1).transpose(2, 0, 1):
            if split_rhat(one) > _LARGEST_RHAT or bulk_ess(one) < _LEAST_ESS:
                raise RefusedError(
                    f"sampler: the chains have not converged ({name}), so their draws are not from the posterior; "
                    'nothing is released. Use sampler = "exact", or more draws'
                )


def _loaded() -> tuple[Any, Any]:
    try:
        return importlib.import_module("jax"), importlib.import_module("numpyro")
    except ImportError:
        raise UsageError(
            'sampler: "nuts" needs NumPyro; install it with pip install "tacita[bayes]", or use sampler = "exact"'
        ) from None


def _fbs(centre: Floats, axes: Floats, rest: Floats, records: float, total: Floats) -> None:
    """Supplement C: β_y and β_w normal with one correlation matrix, LKJ(6) and half-t(3, 10) for all of them.

    Coefficients are integrated out: their scales can go to zero only together with them, which no chain does well.
    """
    jax, numpyro = _loaded()
    np_, d = jax.numpy, numpyro.distributions
    k, m = centre.shape
    half_t = d.FoldedDistribution(d.StudentT(3.0, 0.0, _SCALE))
    prior_root = numpyro.sample("prior_root", d.LKJCholesky(k, _LKJ)) if k > 1 else np_.eye(1)
    spread = numpyro.sample("spread", half_t.expand([m, k]).to_event(2))
    sigma = numpyro.sample("sigma", half_t.expand([m]).to_event(1))
    root = sigma[:, None] * numpyro.sample("root", d.LKJCholesky(m, _LKJ))
    covariance = numpyro.deterministic("covariance", root @ root.T)
    prior = jax.scipy.linalg.block_diag(*(_outer(one[:, None] * prior_root) for one in spread))
    numpyro.deterministic("prior", prior)
    fitted = d.MultivariateNormal(np_.zeros(m * k), prior + np_.kron(covariance, axes @ axes.T))
    numpyro.factor("fitted", fitted.log_prob(centre.T.reshape(-1)))
    turned = jax.scipy.linalg.solve_triangular(root, rest, lower=True)
    trace = np_.trace(jax.scipy.linalg.solve_triangular(root, turned.T, lower=True))
    numpyro.factor("records", -(records - k) * np_.log(np_.diag(root)).sum() - trace / 2)


def _outer(root: Any) -> Any:
    return root @ root.T


def _coefficients(sampled: Parameters, centre: Floats, axes: Floats, random: np.random.Generator) -> Floats:
    """B given everything else: normal."""
    prior, covariance = sampled["prior"], sampled["covariance"]
    spread = np.einsum("...ij,kl->...ikjl", covariance, axes @ axes.T).reshape(prior.shape)
    share = np.swapaxes(np.linalg.solve(prior + spread, prior), -1, -2)
    mean = share @ centre.T.reshape(-1)
    left = prior - share @ prior
    values, vectors = np.linalg.eigh((left + np.swapaxes(left, -1, -2)) / 2)
    noise = random.standard_normal(mean.shape) * np.sqrt(np.maximum(values, 0.0))
    drawn = mean + np.einsum("...ij,...j->...i", vectors, noise)
    return np.asarray(np.swapaxes(drawn.reshape(*mean.shape[:-1], *centre.T.shape), -1, -2))


def _fbp(centre: Floats, axes: Floats, rest: Floats, records: float, total: Floats) -> None:
    """Supplement D: coefficients N(0, 100), half-Cauchy(0, 1), with the likelihood of equation 6."""
    jax, numpyro = _loaded()
    np_, d = jax.numpy, numpyro.distributions
    k = centre.shape[0]
    flat = d.ImproperUniform(d.constraints.real_vector, (), event_shape=(k,))
    slope = numpyro.sample("kappa_y", d.Normal(rest[0, 1] / rest[0, 0], 10.0))  # the start; its prior is below
    numpyro.factor("prior", -(slope**2) / 200 + (slope - rest[0, 1] / rest[0, 0]) ** 2 / 200)
    sigma_y, sigma_pi = (numpyro.sample(name, d.HalfCauchy(1.0)) for name in ("sigma_y", "sigma_pi"))
    noise_y, noise_pi = numpyro.sample("noise_y", flat), numpyro.sample("noise_pi", flat)
    # On the sample, y has mean xβ + κ_y·σ_y² and log π has mean κ_y·y + xκ_x + σ_π²: start from those.
    beta = numpyro.deterministic("beta", centre[:, 0] + axes @ noise_y - _constant(np_, k) * slope * sigma_y**2)
    fitted = centre[:, 1] - slope * centre[:, 0]
    kappa = numpyro.deterministic("kappa_x", fitted + axes @ noise_pi - _constant(np_, k) * sigma_pi**2)
    numpyro.factor("coefficients", -(beta**2).sum() / 200 - (kappa**2).sum() / 200)
    gram = np_.linalg.inv(axes @ axes.T)
    off_y, off_pi = beta - centre[:, 0], kappa - fitted
    squares_y = rest[0, 0] + off_y @ gram @ off_y
    squares_pi = rest[1, 1] - 2 * slope * rest[0, 1] + slope**2 * rest[0, 0] + off_pi @ gram @ off_pi
    density = -records * (np_.log(sigma_y) + np_.log(sigma_pi)) - squares_y / (2 * sigma_y**2)
    density = density - squares_pi / (2 * sigma_pi**2) - total @ kappa - slope * (total @ beta)
    numpyro.factor("records", density - records * (sigma_pi**2 + slope**2 * sigma_y**2) / 2)


def _constant(np_: Any, k: int) -> Any:
    """The first effect is the constant; moving it alone moves the mean of every cell."""
    return np_.zeros(k).at[0].set(1.0)


Sampler = Callable[[Moments], Parameters]
