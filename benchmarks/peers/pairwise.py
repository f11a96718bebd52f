"""One method on one file, a few times, in a process of its own: what `pairwise_peers.py` starts for every row.

    python benchmarks/peers/pairwise.py METHOD FOLDER REPETITIONS SECONDS [FIRST]

FOLDER holds codes.npy and about.json; made-0.npy, made-1.npy … are written there, and of each run the seconds, the CPU
seconds and the most memory so far in MB. FIRST is the seed of the first run. A run that takes more than SECONDS of CPU
ends the process. Each method needs its own package only, so that packages that do not go together can be compared; the
first run counts from before that package is imported.

MST and AIM on mbi 2 are written here from the papers (McKenna, Miklau and Sheldon 2021; McKenna, Mullins, Sheldon and
Miklau 2022), for one record replaced: a table costs ρ = 1/variance, and a distance moves by at most 2. Their noise is
in floating point. SmartNoise and dpmm run as they are shipped, which is for one record added or removed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from used import cpu, limit, peak

Codes = npt.NDArray[np.int64]
Clique = tuple[str, ...]

MODEL_MEGABYTES = 80.0  # AIM's limit on the size of its model, as the paper has it
MEASURING = 0.9  # of AIM's budget; the rest chooses
REACHED = "reached: "  # how far a long run is, on stderr, for one that does not finish


@dataclass(frozen=True)
class Task:
    """`codes` of all records; per attribute its name and number of levels; `zeros` as attribute and level, twice."""

    codes: Codes
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    zeros: tuple[tuple[str, int, str, int], ...]
    epsilon: str
    delta: str
    rho: float


def tacita(task: Task, seed: int, *, name: str, replaced: bool) -> Codes:
    from tacita.privacy import AddRemoveOne, ReplaceOne
    from tacita_studies.bowen2018.simulation import PersonFile

    levels = {name: tuple(map(str, range(size))) for name, size in zip(task.names, task.sizes, strict=True)}
    zeros = tuple({a: str(u), b: str(v)} for a, u, b, v in task.zeros)
    neighbours = ReplaceOne("person") if replaced else AddRemoveOne("person")
    plan: Any
    if name == "pairwise":
        from tacita.synthesis.pairwise import PairwiseSynthesis

        plan = PairwiseSynthesis(
            task.names, task.epsilon, delta=task.delta, rows=len(task.codes), neighbours=neighbours
        )
    else:
        from tacita.synthesis.file import FileSynthesis

        plan = FileSynthesis(task.names, task.epsilon, delta=task.delta, neighbours=neighbours)
    frame = _frame(task).astype(str)
    (made,) = plan.rehearse(frame, PersonFile("peers", levels, zeros=zeros).schema, seed=seed).implicates
    return np.asarray(made[list(task.names)].to_numpy(), dtype=np.int64)


# ---------------------------------------------------------------- mbi 2


class Tables:
    """Exact tables for the peer's noise, and mbi's estimate from what was measured."""

    def __init__(self, task: Task, seed: int) -> None:
        from mbi import Dataset, Domain

        self.random = np.random.default_rng(seed)
        self.domain = Domain(list(task.names), list(task.sizes))
        self.rows, self.names = len(task.codes), task.names
        self.data = Dataset({name: task.codes[:, k] for k, name in enumerate(task.names)}, self.domain)
        self.measured: list[Any] = []
        self.model: Any = None

    def exact(self, clique: Clique) -> npt.NDArray[np.float64]:
        return np.asarray(self.data.project(clique).datavector(), dtype=np.float64)

    def fitted(self, clique: Clique) -> npt.NDArray[np.float64]:
        return np.asarray(self.model.project(clique).datavector(), dtype=np.float64)

    def measure(self, clique: Clique, spread: float) -> None:
        from mbi import LinearMeasurement

        exact = self.exact(clique)
        self.measured.append(LinearMeasurement(exact + self.random.normal(0, spread, exact.size), clique, spread))

    def estimate(self) -> None:
        from mbi import estimation

        self.model = estimation.MirrorDescent().estimate(
            self.domain, self.measured, known_total=self.rows, warm_start=self.model
        )

    def off(self, clique: Clique) -> float:
        return float(np.abs(self.exact(clique) - self.fitted(clique)).sum())

    def draw(self, worth: dict[Clique, float]) -> Clique:
        """The exponential mechanism: the largest of values with Gumbel noise."""
        open_ones = list(worth)
        noisy = np.array([worth[one] for one in open_ones]) + self.random.gumbel(size=len(open_ones))
        return open_ones[int(np.argmax(noisy))]

    def records(self) -> Codes:
        made = self.model.synthetic_data(rows=self.rows)
        return np.column_stack([np.asarray(made.data[name]) for name in self.names]).astype(np.int64)


def mst(task: Task, seed: int) -> Codes:
    """A third of ρ each for one-way tables, for choosing a spanning tree, and for the tree's pairs."""
    tables, share, edges = Tables(task, seed), task.rho / 3, len(task.names) - 1
    for name in task.names:
        tables.measure((name,), (len(task.names) / share) ** 0.5)
    tables.estimate()
    factor = (8 * share / edges) ** 0.5 / (2 * 2)
    worth = {pair: factor * tables.off(pair) for pair in combinations(task.names, 2)}
    part, tree = {name: name for name in task.names}, []
    while len(tree) < edges:
        a, b = tables.draw({pair: value for pair, value in worth.items() if part[pair[0]] != part[pair[1]]})
        old, new = part[b], part[a]
        part = {name: new if here == old else here for name, here in part.items()}
        tree.append((a, b))
    for pair in tree:
        tables.measure(pair, (edges / share) ** 0.5)
    tables.estimate()
    return tables.records()


def aim(task: Task, seed: int) -> Codes:
    """Each round chooses the table that the model misses most, measures it, and fits again; noise is halved, and the
    budget of a round quadrupled, whenever a round taught nothing. The model may grow as the budget is spent."""
    from mbi import junction_tree

    tables, width = Tables(task, seed), len(task.names)
    rounds = 16 * width
    spread, choice = (rounds / (MEASURING * task.rho)) ** 0.5, (8 * (1 - MEASURING) * task.rho / rounds) ** 0.5
    ones = [(name,) for name in task.names]
    # How much of the workload, all pairs, each candidate meets.
    weights: dict[Clique, float] = dict.fromkeys(ones, width - 1.0)
    weights |= dict.fromkeys(combinations(task.names, 2), 2.0 * (width - 1))
    spent, chosen = 0.0, list(ones)
    for clique in ones:
        tables.measure(clique, spread)
        spent += spread**-2
    tables.estimate()
    last = False
    while not last:
        if task.rho - spent < 2 * (spread**-2 + choice**2 / 8):
            left, last = task.rho - spent, True
            spread, choice = (MEASURING * left) ** -0.5, (8 * (1 - MEASURING) * left) ** 0.5
        spent += spread**-2 + choice**2 / 8
        bias = (2 / np.pi) ** 0.5 * spread
        fits = {
            clique: weight
            for clique, weight in weights.items()
            if clique in chosen
            or junction_tree.hypothetical_model_size(tables.domain, [*chosen, clique])
            <= MODEL_MEGABYTES * spent / task.rho
        }
        factor, off = choice / (2 * 2 * max(fits.values())), {one: tables.off(one) for one in fits}
        near = float(np.mean([off[one] for one in fits if len(one) == 2])) / tables.rows
        sys.stderr.write(f"{REACHED}{len(chosen)} tables, {(spent / task.rho):.0%} of ρ, pairs off by {near:.4f}\n")
        clique = tables.draw({one: factor * w * (off[one] - bias * tables.domain.size(one)) for one, w in fits.items()})
        before = tables.fitted(clique)
        tables.measure(clique, spread)
        chosen += [] if clique in chosen else [clique]
        tables.estimate()
        if float(np.abs(tables.fitted(clique) - before).sum()) <= bias * tables.domain.size(clique):
            spread, choice = spread / 2, choice * 2
    return tables.records()


# ---------------------------------------------------------------- packages as shipped


def smartnoise(task: Task, seed: int, *, name: str) -> Codes:
    from snsynth import Synthesizer

    np.random.seed(seed)  # noqa: NPY002 -- what the package draws from
    plan = Synthesizer.create(name, epsilon=float(task.epsilon), delta=float(task.delta))
    frame = _frame(task)
    plan.fit(frame, categorical_columns=list(task.names), preprocessor_eps=0.0)
    made = plan.sample(len(frame))
    return np.asarray(made, dtype=np.int64)


def dpmm(task: Task, seed: int, *, name: str) -> Codes:
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    kind = MSTGM if name == "mst" else AIMGM
    size = {} if name == "mst" else {"max_model_size": int(MODEL_MEGABYTES)}
    plan = kind(epsilon=float(task.epsilon), delta=float(task.delta), **size)
    plan.set_random_state(np.random.RandomState(seed))
    plan.set_domain(dict(zip(task.names, task.sizes, strict=True)))
    plan.fit(_frame(task))
    made = plan.generate(n_records=len(task.codes))
    return np.asarray(made[list(task.names)].to_numpy(), dtype=np.int64)


# ---------------------------------------------------------------- without a guarantee


def sdv(task: Task, seed: int) -> Codes:
    import torch
    from sdv.metadata import Metadata
    from sdv.single_table import GaussianCopulaSynthesizer

    np.random.seed(seed)  # noqa: NPY002 -- what the package draws from
    torch.manual_seed(seed)
    frame = _frame(task).astype(str)
    columns = {name: {"sdtype": "categorical"} for name in task.names}
    metadata = Metadata.load_from_dict({"tables": {"file": {"columns": columns}}, "relationships": []})
    plan = GaussianCopulaSynthesizer(metadata)
    plan.fit({"file": frame})
    return np.asarray(plan.sample(len(frame))["file"][list(task.names)].to_numpy(), dtype=np.int64)


def synthpop(task: Task, seed: int) -> Codes:
    """Trees, the default of synthpop, through R; the order of columns is the file's."""
    if shutil.which("Rscript") is None:
        raise RuntimeError("R is not installed")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _frame(task).to_csv(folder / "codes.csv", index=False)
        program = (
            f"library(synthpop); x <- read.csv('{folder}/codes.csv', check.names = FALSE, colClasses = 'factor'); "
            f"y <- syn(x, seed = {seed}, print.flag = FALSE, maxfaclevels = 100)$syn; "
            f"write.csv(y, '{folder}/made.csv', row.names = FALSE)"
        )
        done = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(next((one for one in done.stderr.splitlines() if "Error" in one), "R failed"))
        import pandas as pd

        return np.asarray(pd.read_csv(folder / "made.csv").to_numpy(), dtype=np.int64)


METHODS: dict[str, Callable[[Task, int], Codes]] = {
    "PairwiseSynthesis": lambda task, seed: tacita(task, seed, name="pairwise", replaced=True),
    "FileSynthesis": lambda task, seed: tacita(task, seed, name="file", replaced=True),
    "MST, mbi 2": mst,
    "AIM, mbi 2": aim,
    "PairwiseSynthesis, added": lambda task, seed: tacita(task, seed, name="pairwise", replaced=False),
    "FileSynthesis, added": lambda task, seed: tacita(task, seed, name="file", replaced=False),
    "MST, SmartNoise": lambda task, seed: smartnoise(task, seed, name="mst"),
    "AIM, SmartNoise": lambda task, seed: smartnoise(task, seed, name="aim"),
    "MST, dpmm": lambda task, seed: dpmm(task, seed, name="mst"),
    "AIM, dpmm": lambda task, seed: dpmm(task, seed, name="aim"),
    "GaussianCopula, SDV": sdv,
    "trees, synthpop": synthpop,
}


def _frame(task: Task) -> Any:
    import pandas as pd

    return pd.DataFrame(task.codes, columns=list(task.names))


def main() -> int:
    method, folder, repetitions, most = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    about = json.loads((folder / "about.json").read_text())
    task = Task(
        np.load(folder / "codes.npy"),
        tuple(about["names"]),
        tuple(about["sizes"]),
        tuple(map(tuple, about["zeros"])),
        about["epsilon"],
        about["delta"],
        about["rho"],
    )
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    for run, seed in enumerate(range(first, first + repetitions)):
        limit(most)
        begun, used = time.perf_counter(), cpu()
        made = METHODS[method](task, seed)
        seconds = time.perf_counter() - begun
        np.save(folder / f"made-{run}.npy", made)
        with (folder / "seconds.txt").open("a") as written:
            written.write(f"{seconds} {cpu() - used} {peak()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
