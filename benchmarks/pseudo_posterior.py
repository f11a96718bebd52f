"""FBS and FBP by the pseudo posterior: full pipeline against the same models written record by record in NumPyro.

The pipeline is an unweighted fit, record risks, the search for weights that meet a bound of 1.8, the weighted fit and
three synthetic files. The comparison is two fits only, without any search, by NUTS (1,000 + 1,000 draws, one chain),
with the priors of the paper's supplement and one likelihood term per record; compiling is not counted. A comparison
that takes longer than --patience, compiling included, is ended and counts with that time. Where NumPyro is missing
(extra `bayes`) the comparison is not run. Then larger files: what grows with the records are the passes over them; the
fits are timed alone.

    python benchmarks/pseudo_posterior.py [--reduced] [--patience 600]
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tacita import Schema
from tacita.synthesis.comparison.pseudo import PseudoPosterior, bounds_before_after
from tacita.synthesis.comparison.pseudo.fbp import PopulationModel, SampleModel
from tacita.synthesis.survey.moments import Moments

FIELDS, SEXES, DRAWS = 8, 2, 1000
BAR_RATIO, BAR_MILLION, BAR_CONJUGATE = 50.0, 60.0, 5.0


def sample(records: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Log salary and log weight as in the paper's simulation, with public field and gender."""
    random = np.random.default_rng(2024)
    field, sex = random.integers(0, FIELDS, records), random.integers(0, SEXES, records)
    y = 11.4 + 0.05 * field - 0.2 * sex + 0.4 * random.standard_normal(records)
    w = 4.4 - (y - 11.6) + 0.4 * random.standard_normal(records)
    frame = pd.DataFrame(
        {
            "field": pd.Categorical.from_codes(field, [str(one) for one in range(FIELDS)]),
            "sex": pd.Categorical.from_codes(sex, ["f", "m"]),
            "salary": np.round(np.exp(y), 2),
            "weight": np.round(np.exp(w), 2),
        }
    )
    effects = np.zeros((records, FIELDS + 1))
    effects[:, 0], effects[:, -1] = 1, sex
    effects[np.arange(records), field] = 1
    return frame, np.log(frame[["salary", "weight"]].to_numpy()), effects


def schema() -> Schema:
    levels = {"field": [str(one) for one in range(FIELDS)], "sex": ["f", "m"]}
    bounds = {"salary": (5_000, 2_000_000), "weight": (1, 5_000)}
    return Schema.from_dict(
        {
            "dataset": {"identity": "sample", "unit": "person"},
            "variables": {
                **{name: {"type": "categorical", "role": "public", "levels": known} for name, known in levels.items()},
                **{
                    name: {"type": "numeric", "role": "confidential", "lower": low, "upper": high}
                    for name, (low, high) in bounds.items()
                },
            },
        }
    )


def plan(model: Any) -> PseudoPosterior:
    return PseudoPosterior(["salary"], "21.6", weight="weight", by=["field", "sex"], sets=3, likelihood=model)


def pipeline(model: Any, frame: pd.DataFrame) -> float:
    """Seconds from the file to three synthetic files."""
    start = time.perf_counter()
    assert plan(model).rehearse(frame, schema(), seed=1).implicates.m == 3
    return time.perf_counter() - start


def fits(z: np.ndarray, effects: np.ndarray, model: Any, repeats: int = 20) -> float:
    """Seconds of one fit, moments given: it does not see the records."""
    cells, cell = np.unique(effects, axis=0, return_inverse=True)
    moments = Moments.of(z, cell.reshape(-1), len(cells))
    low, high = np.log([5_000.0, 1.0]), np.log([2_000_000.0, 5_000.0])
    fitted = SampleModel(cells, low, high) if model == "FBS" else PopulationModel(cells, 70.0)
    uniforms = np.random.default_rng(1).random((DRAWS, fitted.numbers))
    start = time.perf_counter()
    for _ in range(repeats):
        fitted.draw(moments, uniforms)
    return (time.perf_counter() - start) / repeats


# ---------------------------------------------------------------- the same models, record by record


def fbs_by_record(z: Any, x: Any, alpha: Any) -> None:
    """Equation 3 with the priors of supplement C."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    k, d = x.shape[1], z.shape[1]
    half_t = dist.FoldedDistribution(dist.StudentT(3.0, 0.0, 10.0))
    root = numpyro.sample("omega_beta", dist.LKJCholesky(k, 6.0))
    columns = []
    for name in ("y", "w"):
        spread = numpyro.sample(f"spread_{name}", half_t.expand([k]).to_event(1))
        prior = dist.MultivariateNormal(jnp.zeros(k), scale_tril=spread[:, None] * root)
        columns.append(numpyro.sample(f"beta_{name}", prior))
    beta = numpyro.deterministic("beta", jnp.stack(columns, axis=1))
    sigma = numpyro.sample("sigma", half_t.expand([d]).to_event(1))
    scale = sigma[:, None] * numpyro.sample("omega", dist.LKJCholesky(d, 6.0))
    likelihood = dist.MultivariateNormal(x @ beta, scale_tril=scale).log_prob(z)
    numpyro.factor("records", (alpha * likelihood).sum())


def fbp_by_record(z: Any, x: Any, alpha: Any) -> None:
    """Equations 6 and 7 with the priors of supplement D."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    k = x.shape[1]
    y, log_pi = z[:, 0], jnp.log(70.0) - z[:, 1]
    beta = numpyro.sample("beta", dist.Normal(0, 10).expand([k]).to_event(1))
    kappa_x = numpyro.sample("kappa_x", dist.Normal(0, 10).expand([k]).to_event(1))
    kappa_y = numpyro.sample("kappa_y", dist.Normal(0, 10))
    sigma_y, sigma_pi = (numpyro.sample(name, dist.HalfCauchy(1.0)) for name in ("sigma_y", "sigma_pi"))
    likelihood = dist.Normal(kappa_y * y + x @ kappa_x, sigma_pi).log_prob(log_pi)
    likelihood += dist.Normal(x @ beta, sigma_y).log_prob(y)
    likelihood -= x @ kappa_x + sigma_pi**2 / 2 + kappa_y * (x @ beta) + kappa_y**2 * sigma_y**2 / 2
    numpyro.factor("records", (alpha * likelihood).sum())


def by_record(model: Callable[..., None], z: np.ndarray, x: np.ndarray, alpha: np.ndarray, steps: int) -> float:
    """Seconds of two fits with `steps` of warm-up and as many draws: twice the second one, which need not compile."""
    import jax
    from numpyro.infer import MCMC, NUTS

    with jax.enable_x64(True):
        chain = MCMC(NUTS(model), num_warmup=steps, num_samples=steps, num_chains=1, progress_bar=False)
        given = [jax.numpy.asarray(one) for one in (z, x)]
        for weight in (np.ones(len(z)), alpha):
            start = time.perf_counter()
            chain.run(jax.random.PRNGKey(1), *given, jax.numpy.asarray(weight))
            jax.block_until_ready(chain.get_samples())
            taken = time.perf_counter() - start
    return 2 * taken


def with_patience(model: Callable[..., None], arguments: tuple[Any, ...], patience: float) -> tuple[float, str]:
    """The same in a process of its own, which is ended where two fits take longer than that."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(by_record, (model, *arguments)).get(patience), ""
        except multiprocessing.TimeoutError:
            return patience, "more than "


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reduced", action="store_true", help="one model by 100 records, 5 + 5 draws; no bars")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds that a comparison may take")
    given = parser.parse_args()
    compared, steps, large = (100, 5, 10_000) if given.reduced else (10_000, 1_000, 1_000_000)
    met = True
    frame, z, x = sample(compared)
    for model in ("FBS", "FBP"):
        pipeline(model, frame.head(500))  # compiled loops are loaded before the clock starts
    sys.stdout.write(f"{compared:,} records, {FIELDS * SEXES} cells\n")
    others = {"FBS": fbs_by_record} if given.reduced else {"FBS": fbs_by_record, "FBP": fbp_by_record}
    for model, written in others.items():
        ours = min(pipeline(model, frame) for _ in range(3))
        sys.stdout.write(f"{model} pipeline {ours:.2f} s\n")
        if importlib.util.find_spec("numpyro") is None:
            sys.stdout.write(f'{model} record by record: not run, NumPyro is missing (pip install "tacita[bayes]")\n')
            continue
        alpha = bounds_before_after(plan(model), frame, schema(), seed=1).alpha
        theirs, least = with_patience(written, (z, x, alpha, steps), given.patience)
        passed = given.reduced or theirs / ours >= BAR_RATIO
        met = met and passed
        verdict = "" if given.reduced else f"; bar {BAR_RATIO:.0f}: {'met' if passed else 'missed'}"
        line = f"{model} record by record, two fits {least}{theirs:.1f} s: {least}{theirs / ours:.0f} times{verdict}\n"
        sys.stdout.write(line)
        sys.stdout.flush()
    sys.stdout.write(f"{'model':>6} {'records':>10} {'pipeline s':>11} {'µs/record':>10} {'one fit s':>10}\n")
    for size in (large // 100, large // 10, large):
        frame, z, x = sample(size)
        for model in ("FBS", "FBP"):
            taken = pipeline(model, frame)
            line = f"{model:>6} {size:10,} {taken:11.2f} {1e6 * taken / size:10.1f} {fits(z, x, model):10.4f}\n"
            sys.stdout.write(line)
            sys.stdout.flush()
            if size == large and not given.reduced:
                met = met and taken <= (BAR_CONJUGATE if model == "FBS" else BAR_MILLION)
    if not given.reduced:
        bars = f"largest: FBS (conjugate) {BAR_CONJUGATE:.0f} s, FBP {BAR_MILLION:.0f} s"
        sys.stdout.write(f"bars, {bars}, ratio {BAR_RATIO:.0f}: {'met' if met else 'missed'}\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
