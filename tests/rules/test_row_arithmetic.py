"""No module that sees confidential rows computes with them in a way that depends on the other rows."""

import re

import pytest

from support.row_arithmetic import EXEMPT, REVIEWED, SOURCE, breaches, modules


def test_no_module_that_sees_rows_sums_floats_or_multiplies_matrices() -> None:
    held = dict(modules())
    assert len(held) > 40
    found = [
        f"{place}:{line}: {what} in {name or 'the module'}"
        for place, source in held.items()
        for name, line, what in breaches(source)
        if not any(f"{place}::{name}" == one or f"{place}::{name}".startswith(f"{one}.") for one in REVIEWED)
    ]
    assert not found, "use tacita.data.rowwise, or dtype=np.int64 for a sum of whole numbers:\n" + "\n".join(found)


def test_every_reviewed_exception_is_still_one() -> None:
    held = dict(modules())
    for one in REVIEWED:
        place, _, name = one.partition("::")
        assert any(where == name or where.startswith(f"{name}.") for where, _, _ in breaches(held[place])), one


def test_whoever_opens_the_door_to_rows_is_not_called_released() -> None:
    """Modules that take rows from a `Confidential` are held to the rule, or promise nothing."""
    door = re.compile(r"from tacita\.confidential import .*\b(rows|engine_of|parquet_file)\b")
    for place, reason in EXEMPT.items():
        if reason == "sees public or released numbers only":
            path = SOURCE / place
            for file in path.rglob("*.py") if path.is_dir() else [path]:
                assert not file.exists() or not door.search(file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize(
    "source",
    [
        "y = x @ a",
        "x @= a",
        "y = np.dot(x, a)",
        "y = x.dot(a)",
        "y = np.einsum('ij,jk->ik', x, a)",
        "y = np.linalg.lstsq(x, a)",
        "from scipy.linalg import solve",
        "from scipy.linalg.blas import dgemm",
        "y = x.sum()",
        "y = x.sum(axis=0, dtype=np.float64)",
        "y = np.mean(x, axis=0)",
        "y = np.add.reduce(x)",
        "y = np.cumsum(x)",
        "y = np.bincount(cell, weights=x)",
        "y = np.log(x)",
        "def f(x):\n    class A:\n        y = np.arcsinh(x)",
        "@numba.njit(fastmath=True)\ndef f(x): pass",
        "@numba.njit(parallel=True)\ndef f(x): pass",
    ],
)
def test_the_rule_finds_what_it_forbids(source: str) -> None:
    assert list(breaches(source))


@pytest.mark.parametrize("source", ["y = x.sum(dtype=np.int64)", "y = np.bincount(cell)", "y = math.log(2) + x"])
def test_the_rule_lets_whole_sums_pass(source: str) -> None:
    assert not list(breaches(source))
