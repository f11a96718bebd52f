"""A release tried out before it is paid for, on mock measurements of the same shape.

A charge is the last thing before the rows. Everything that follows (synthesizing, publishing, names, charts, records,
the page, writing) is done once beforehand with made-up values in a hidden folder beside the target, so that a level
that breaks the codebook or a name too long for the disk costs nothing. Small on purpose: it must not be felt beside the
run. Mock rows are not the rows: where they are refused as rows, nothing is known, and the real ones have their turn.

Mock rows are drawn from the schema alone: every declared level equally likely, every number uniform in its bounds.

They say nothing about the confidential file, and serve to rehearse a release from end to end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from attrs import evolve
from numpy.typing import NDArray

from tacita.data.schema import Categorical, Date, Identifier, Integer, Numeric, Rulebook, Schema, Variable
from tacita.data.schema.units import published
from tacita.errors import TacitaError, UsageError
from tacita.implicates import Implicates, Synthetic
from tacita.measured import Measured
from tacita.noise.entropy import SeededEntropy
from tacita.plan import Bounded, Plan, check
from tacita.release.bundle import Budget
from tacita.release.folder import scratch
from tacita.release.making import as_release, made, unpaid
from tacita.release.mechanisms import JOB_MECHANISMS
from tacita.release.plans import PlannedMicrodata, PlannedRelease, PlannedTable
from tacita.synthesis.base import Synthesizer
from tacita.synthesis.selfcheck import SelfCheck, stamped

ESTABLISHMENTS = 400
ROWS = 8_000
_TRIES = 200
_LARGEST_MOCK_SIZE = 200  # a declared upper bound is often far above any real establishment


def mock_tables(schema: Schema, *, seed: int, most_rows: int = ROWS) -> dict[str, pa.Table]:
    """Tables by name: the main one (`Schema.row`), and "workplace" and "worker" where the schema links them.

    >>> schema = Schema.from_dict({
    ...     "dataset": {"identity": "demo", "unit": "establishment"},
    ...     "variables": {
    ...         "workplace_id": {"role": "id", "entity": "workplace"},
    ...         "place": {"role": "workplace", "type": "categorical", "levels": ["01", "02"]},
    ...         "sex": {"role": "worker", "type": "categorical", "levels": ["F", "M"]},
    ...     },
    ... })
    >>> mock_tables(schema, seed=1)["job"].column_names
    ['workplace_id', 'place', 'sex']
    """
    rng = np.random.default_rng(seed)
    rows = min(ESTABLISHMENTS if schema.by_role("size") else ROWS, most_rows)
    is_linked = any(variable.table != "job" for variable in schema.variables)
    establishment = np.arange(rows) if schema.by_role("size") else rng.integers(ESTABLISHMENTS, size=rows)
    main: dict[str, pa.Array] = {}
    columns = {schema.row: main}
    for variable in schema.variables:
        kind = variable.kind
        if isinstance(kind, Identifier):
            _place_id(main, columns, variable, kind.entity, establishment, rows, is_linked)
        elif variable.table == "workplace":
            columns.setdefault("workplace", {})[variable.name] = _draw(variable, ESTABLISHMENTS, rng)
        elif variable.table == "worker":
            columns.setdefault("worker", {})[variable.name] = _draw(variable, rows, rng)
        elif variable.role == "workplace":
            # One value per establishment, repeated on each of its rows: an establishment sits in one place.
            main[variable.name] = _draw(variable, ESTABLISHMENTS, rng).take(pa.array(establishment))
        elif schema.design is not None and variable.name == schema.design.population:
            assert isinstance(kind, Integer | Numeric)
            main[variable.name] = pa.repeat(kind.upper, rows)  # one size per stratum, none below its sample
        else:
            main[variable.name] = _draw(variable, rows, rng)
    keep_rules(main, schema, rng)
    return {name: pa.table(content) for name, content in columns.items()}


def keep_rules(main: dict[str, pa.Array], schema: Schema, rng: np.random.Generator) -> None:
    """Columns that rules are about are drawn again: evenly, and then one value at a time until the rules hold."""
    concerned = dict.fromkeys(n for rule in schema.rules for n in rule.columns if n in main)
    book = Rulebook.of(schema, tuple(concerned))
    if not book.rules:
        return
    rows = len(next(iter(main.values())))

    def drawn(name: str, count: int) -> NDArray[np.int64]:
        domain = book.domains[name]
        return rng.integers(domain.first - domain.missing, domain.last, size=count, endpoint=True)

    units = {name: drawn(name, rows) for name in book.drawn}
    for _ in range(_TRIES):
        whole = book.completed(units)
        wrong = [np.flatnonzero(book.breaks(rule, whole)) for rule in book.rules]
        if not any(one.size for one in wrong):
            break
        for rule, some in zip(book.rules, wrong, strict=True):
            choices = book.sources(rule)
            name = choices[int(rng.integers(len(choices)))]
            units[name][some] = drawn(name, some.size)
    whole = book.completed(units)
    right = np.flatnonzero(~book.broken(whole))
    if right.size:  # or the check of the rows will say what is wrong
        left = np.setdiff1d(np.arange(rows), right)
        donors = rng.choice(right, left.size)
        for name, values in whole.items():
            values[left] = values[donors]
            main[name] = published(schema[name].kind, values)


def _place_id(
    main: dict[str, pa.Array],
    columns: dict[str, dict[str, pa.Array]],
    variable: Variable,
    entity: str,
    establishment: NDArray[np.int64],
    rows: int,
    is_linked: bool,
) -> None:
    """An id stands in the main table, and in the table of its own entity where there is one."""
    own = np.arange(ESTABLISHMENTS) if entity == "workplace" else np.arange(rows)
    main[variable.name] = pa.array(establishment if entity == "workplace" else own)
    if is_linked and entity in ("workplace", "worker"):
        columns.setdefault(entity, {})[variable.name] = pa.array(own)


def _draw(variable: Variable, count: int, rng: np.random.Generator) -> pa.Array:
    kind = variable.kind
    if isinstance(kind, Categorical):
        return pa.array(kind.levels).take(pa.array(rng.integers(len(kind.levels), size=count)))
    if isinstance(kind, Integer):
        upper = min(kind.upper, kind.lower + _LARGEST_MOCK_SIZE) if variable.role == "size" else kind.upper
        return pa.array(rng.integers(kind.lower, upper, size=count, endpoint=True))
    if isinstance(kind, Date):
        return pa.array(rng.integers(kind.first, kind.last, size=count, endpoint=True), pa.int32()).cast(pa.date32())
    if isinstance(kind, Identifier):
        raise TypeError("an id is placed, not drawn")
    return pa.array(np.round(rng.uniform(kind.lower, kind.upper, size=count), kind.scale))


_CELLS = 2_000  # of one mock table
_ROWS = 50  # of one mock file that no synthesizer made
TRIED = 300  # rows that a synthesizer is tried on
_FILES = 2  # that it is tried for: a third comes about as the second does, and drawing them is most of the work


def try_out(planned: PlannedRelease, out: Path, mock: Callable[[], Any]) -> None:
    """Make and write the whole release from mock rows and measurements; an error here has cost nothing."""
    files = [_tried(one, mock) or _mock_files(one, planned.schema) for one in planned.microdata]
    try:
        with scratch(out) as folder:
            _write_all(planned, [*(_mock_table(one, planned.schema, mock) for one in planned.tables), *files], folder)
    except TacitaError:
        raise
    except Exception as problem:
        raise UsageError(
            f"the release cannot be made: on mock values of the same shape, publishing or writing it failed "
            f"({type(problem).__name__}: {problem}). Names of products, titles, levels and labels are what it is made "
            "of beside the numbers; correct what is unusual there. Nothing was spent"
        ) from problem


def _write_all(planned: PlannedRelease, results: Sequence[Any], folder: Path) -> None:
    """What a survey table cannot be made of may be the mock sample, such as a stratum of one: then without them."""
    try:
        _write(planned, results, folder / "trial")
    except TacitaError:
        bare = _without_survey_tables(planned)
        if bare == planned:
            raise
        _write(bare, results, folder / "bare")


def _write(planned: PlannedRelease, results: Sequence[Any], place: Path) -> None:
    cost = planned.guarantee.loss
    release = as_release(
        planned,
        *made(planned, unpaid(planned, results)),
        budget=Budget(cost, cost, cost),
        ledger_extract={},
        seed=0,
        source="mock values",
    )
    release.write(place)


def _tried(files: PlannedMicrodata, mock: Callable[[], Any]) -> Synthetic | None:
    """What a synthesizer makes of mock rows; None where there are none that it takes."""
    try:
        rows = mock()
        check(files.plan, rows)
    except Exception:
        return None
    try:
        return cast(Synthetic, _small(stamped(files.plan)).run(rows, SeededEntropy(0)))
    except UsageError as problem:
        raise UsageError(f"{files.spec.spoken}: {problem}. Nothing was spent") from None
    except TacitaError:
        return None
    except Exception as problem:
        raise UsageError(
            f"{files.spec.spoken}: {files.spec.mechanism} failed on mock rows of this schema "
            f"({type(problem).__name__}: {problem}), and may fail on the file after it is paid for. Change its "
            "settings, or choose another mechanism. Nothing was spent"
        ) from problem


def _small(plan: Plan[Any]) -> Plan[Any]:
    if isinstance(plan, Bounded | SelfCheck):
        return evolve(plan, plan=_small(plan.plan))
    return evolve(plan, sets=min(plan.sets, _FILES)) if isinstance(plan, Synthesizer) else plan


def _without_survey_tables(planned: PlannedRelease) -> PlannedRelease:
    bare = tuple(replace(files, spec=files.spec.model_copy(update={"tables": ()})) for files in planned.microdata)
    return replace(planned, microdata=bare)


def _mock_table(table: PlannedTable, schema: Schema, mock: Callable[[], Any]) -> Any:
    """Measurements of a mock table: of jobs without any rows, of other files from a few made-up ones."""
    if table.spec.mechanism in JOB_MECHANISMS:
        return _mock_counts(table, schema)
    result = table.plan.run(mock(), SeededEntropy(0))
    if result.plan.get("levels"):
        return result  # levels agree as wholes
    # Cells beyond what a trial needs are left out: it must not be felt beside the run. Shares stay together.
    together = int(list(result.keys.values())[-1].max(initial=0)) + 1 if result.statistic == "share" else 1
    most = max(_CELLS // together, 1) * together
    kept = {name: code[:most] for name, code in result.keys.items()}
    return replace(result, keys=kept, noisy={name: one[:most] for name, one in result.noisy.items()})


def _mock_counts(table: PlannedTable, schema: Schema) -> Any:
    """Noisy counts as the plan would return them: fewer cells, in which every declared level comes up if it can."""
    spec, plan = table.spec, table.plan
    described = plan.describe()
    cells = prod(len(schema.levels(name)) for name in spec.worker)
    most = max((len(schema.levels(name)) for name in spec.by), default=1)
    rows = max(min(most, _CELLS // cells), 1)
    keys = {name: np.arange(rows, dtype=np.int32) % len(schema.levels(name)) for name in spec.by}
    values = np.arange(rows * cells, dtype=np.int64).reshape(rows, cells)
    largest = None
    if described.get("margin_share", "0") != "0":
        largest = values[:, :1] if described.get("definition") == "strong" else values
    measured = Measured(
        keys=keys,
        worker=tuple(spec.worker),
        values=values,
        error=None,  # type: ignore[arg-type]  # the plan knows it, and gives it back below
        plan=described,
        guarantee=str(table.guarantee),
        rehearsal=True,
        largest=largest,
    )
    return plan.restore(measured.to_bytes())


@dataclass(frozen=True)
class _MockFiles:
    """Synthetic files in which nothing is synthesized."""

    implicates: Implicates
    rehearsal: bool = True

    @property
    def measured(self) -> Mapping[str, Any]:
        return {}

    def to_bytes(self) -> bytes:
        return b""


def _mock_files(files: PlannedMicrodata, schema: Schema) -> Synthetic:
    rows = mock_tables(schema, seed=0)[schema.row].slice(0, _ROWS)
    reads = [name for name in files.plan.reads(schema) if name in rows.column_names]
    columns = [name for name in reads if not isinstance(schema[name].kind, Identifier)] or reads
    rows = rows.select(columns)
    return _MockFiles(Implicates((rows,), schema, tuple(columns), "one-measurement"))
