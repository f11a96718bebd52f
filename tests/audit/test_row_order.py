"""The order of its rows says nothing of a file: another one asks for the same draws of the same values."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.audit.examples import Example, examples
from tacita.audit.forced import _run, opened
from tacita.audit.losses import loss_of, over_claim
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Tape

# SurveyLaplace gives each row of a stratum its half-samples by chance: its law, not each draw, is the same in any order
# (laplace.md). The pseudo posterior fits all rows by sums of floats, and promises nothing at any file.
BY_CHANCE = ("SurveyLaplace", "PseudoPosterior")
FIRST = {one.name: one for one in reversed(examples()) if one.name not in BY_CHANCE}


def _in_another_order(file: Any, random: np.random.Generator) -> Any:
    if isinstance(file, dict):
        return {name: _in_another_order(table, random) for name, table in file.items()}
    order = random.permutation(len(file))
    return file.take(order) if isinstance(file, pa.Table) else file.iloc[order].reset_index(drop=True)


@pytest.mark.parametrize("example", FIRST.values(), ids=FIRST)
def test_another_order_of_the_rows_changes_nothing(example: Example) -> None:
    random, compared = np.random.default_rng(9), 0
    for seed in range(4):
        file = example.files.family(random, 0).base
        first = Tape(SeededEntropy(seed))
        if (data := opened(example.plan, file, example.files)) is None:
            continue
        one = _run(example.plan, data, first)
        data = opened(example.plan, _in_another_order(file, random), example.files)
        assert data is not None
        second = _run(example.plan, data, Tape(first))
        assert second.finding == one.finding
        assert second.released == one.released
        losses = (loss_of(a, b) for a, b in zip(one.draws, second.draws, strict=True))
        assert over_claim(losses, example.plan.guarantee.loss) == 0
        compared += 1
    assert compared
