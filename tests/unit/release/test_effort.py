"""The work that `plan --records` foretells, beside whole releases that were measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from tacita.release.effort import effort
from tacita.release.plans import prepare
from tacita.release.spec import Spec

CATEGORIES, NUMBERS = [f"c{at}" for at in range(30)], [f"n{at}" for at in range(10)]
HEAD = """
title = "Work"
schema = "work.schema.toml"
data = "work.parquet"
ledger = "work.ledger"
[cap]
neighbours = "add-remove"
unit = "record"
epsilon = "10"
delta = "1e-6"
"""


@pytest.fixture
def spec(tmp_path: Path) -> Any:
    lines = ['[dataset]\nidentity = "work"\nunit = "record"']
    for at, name in enumerate(CATEGORIES):
        levels = json.dumps([str(one) for one in range((2, 5, 3, 8, 12, 4)[at % 6])])
        lines.append(f'[variables.{name}]\nrole = "confidential"\ntype = "categorical"\nlevels = {levels}')
    for name in NUMBERS:
        lines.append(f'[variables.{name}]\nrole = "confidential"\ntype = "integer"\nlower = 0\nupper = 120')
    (tmp_path / "work.schema.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def made(*products: str) -> Spec:
        (tmp_path / "work.toml").write_text(HEAD + "".join(products), encoding="utf-8")
        return Spec.load(tmp_path / "work.toml")

    return made


def files(mechanism: str, columns: int, numbers: int) -> str:
    """A quarter of the columns are numbers, or all."""
    names = [*CATEGORIES[: columns - numbers], *NUMBERS[:numbers]]
    cuts = f"cuts = {{ {', '.join(f'{one} = [20, 40, 60]' for one in NUMBERS[:numbers])} }}\n"
    return (
        f'[[microdata]]\nname = "file"\nmechanism = "{mechanism}"\ncolumns = {json.dumps(names)}\nepsilon = "1"\n'
        + 'delta = "1e-9"\n' * (mechanism != "QuantileSynthesis")
        + cuts * (mechanism == "PairwiseSynthesis")
    )


def tables(count: int) -> str:
    return "".join(
        f'[[table]]\nname = "t{at}"\nby = ["c{at}", "c{at + 1}"]\nstatistic = "count"\nepsilon = "1/10"\n'
        for at in range(count)
    )


# Processor seconds and GB of whole runs on two cores that others shared, 2026-11-19 (benchmarks/at_size.py).
MEASURED = (
    (tables(1), 10_000, 1.6, 0.36),
    (tables(1), 1_000_000, 2.2, 0.38),
    (tables(10), 100_000, 2.5, 0.39),
    (tables(10), 1_000_000, 3.0, 0.38),
    (files("FileSynthesis", 12, 3), 10_000, 4.5, 0.52),
    (files("FileSynthesis", 12, 3), 100_000, 9.0, 0.58),
    (files("FileSynthesis", 12, 3), 1_000_000, 24.7, 0.96),
    (files("FileSynthesis", 20, 5), 64_600, 14.4, 0.63),
    (files("FileSynthesis", 40, 10), 1_000_000, 159.0, 2.08),
    (files("PairwiseSynthesis", 12, 3), 10_000, 2.3, 0.47),
    (files("PairwiseSynthesis", 20, 5), 64_600, 3.5, 0.51),
    (files("PairwiseSynthesis", 40, 10), 1_000_000, 56.8, 1.99),
    (files("QuantileSynthesis", 3, 3), 10_000, 2.7, 0.51),
    (files("QuantileSynthesis", 3, 3), 100_000, 7.3, 0.61),
    (files("QuantileSynthesis", 3, 3), 1_000_000, 9.5, 0.77),
)


@pytest.mark.parametrize(("products", "records", "seconds", "memory"), MEASURED)
def test_the_work_that_is_foretold_is_within_a_factor_of_two(
    products: str, records: int, seconds: float, memory: float, spec: Any
) -> None:
    foretold = effort(prepare(spec(products)), records)
    assert foretold is not None
    assert seconds / 2 < foretold.seconds < 2 * seconds
    assert memory / 2 < foretold.memory < 2 * memory


def test_nothing_is_foretold_of_products_that_nobody_has_measured(spec: Any) -> None:
    assert effort(prepare(spec(files("IndependentSynthesis", 3, 0).replace('delta = "1e-9"\n', ""))), 1_000) is None
