"""Mock rows drawn from the schema alone: every declared level equally likely, every number uniform in its bounds.

They say nothing about the confidential file, and serve to rehearse a release from end to end.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Categorical, Date, Identifier, Integer, Numeric, Rulebook, Schema, Variable
from tacita.data.schema.units import published

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
