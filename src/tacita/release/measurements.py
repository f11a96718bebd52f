"""The measurements as a file for modellers: one row per noisy value, level codes as the schema has them.

The form loses nothing: what the ledger stored can be built from it again, so a bundle can be checked against
the hash that the ledger sealed, and its tables made again, by anyone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.data.schema import Schema
from tacita.errors import VerificationError
from tacita.measured import NOISY, Measured, Measurements
from tacita.mechanisms.table.levels import LEVEL, TableLevels
from tacita.plan import Plan
from tacita.privacy.json_form import canonical

_NOISE, _FACTS = b"noise", b"facts"


def long_form(result: Measured | Measurements, schema: Schema) -> pa.Table:
    """The cell's attributes, its noisy value and the law of the noise; the noisy largest size where it was paid for."""
    if isinstance(result, Measurements):
        attributes = _spelled(result.keys, result.plan, schema)
        noisy = {f"{NOISY}{name}": pa.array(values) for name, values in result.noisy.items()}
        return pa.table(attributes | noisy).replace_schema_metadata({_FACTS: canonical(result.facts).encode()})
    rows, cells = result.values.shape
    columns: dict[str, pa.Array] = {}
    for name, code in result.keys.items():
        columns[name] = _levels(schema, name, np.repeat(code, cells))
    sizes = [len(schema.levels(name)) for name in result.worker]
    if sizes:
        for name, kind in zip(result.worker, np.unravel_index(np.arange(cells), sizes), strict=True):
            columns[name] = _levels(schema, name, np.tile(kind, rows))
    columns["noisy"] = pa.array(result.values.ravel())
    if result.largest is not None:
        repeats = cells // result.largest.shape[1]
        columns["noisy_largest"] = pa.array(np.repeat(result.largest, repeats, axis=1).ravel())
    law = noise_record(result)
    for column, key in (("noise_law", "law"), ("noise_scale", "scale")):
        columns[column] = pa.repeat(str(law.get(key, "1")), rows * cells)
    widths = {"cells": cells, "largest": 0 if result.largest is None else result.largest.shape[1]}
    return pa.table(columns).replace_schema_metadata({_NOISE: json.dumps({**law, **widths}, sort_keys=True).encode()})


def noise_record(result: Measured | Measurements) -> dict[str, Any]:
    """The law of the noise and its scale, as far as they are public."""
    if isinstance(result, Measurements):
        return {"law": ", ".join(dict.fromkeys(_laws(result.facts))), **result.facts}
    return dict(result.error.describe())


def _laws(facts: Any) -> Iterator[str]:
    """The names of all laws that stand in the facts."""
    for key, value in facts.items() if isinstance(facts, dict) else ():
        if key == "law" and isinstance(value, dict):
            yield str(value["law"])
        elif key == "laws":  # one per level
            yield from (str(one["law"]) for one in value)
        else:
            yield from _laws(value)


def rebuild(table: pa.Table, plan: Plan[Any], schema: Schema) -> Measured | Measurements:
    """What the ledger stored, from the file and the plan."""
    facts = (table.schema.metadata or {}).get(_FACTS)
    return _jobs(table, plan, schema) if facts is None else _statistic(table, plan, schema, json.loads(facts))


def _statistic(table: pa.Table, plan: Plan[Any], schema: Schema, facts: dict[str, Any]) -> Measurements:
    named = [name for name in table.column_names if name.startswith(NOISY)]
    described = plan.describe()
    if described.get("levels"):
        keys = TableLevels.described(schema, described).keys()
        wanted = _spelled(keys, described, schema)
        if any(table[name].to_pylist() != column.to_pylist() for name, column in wanted.items()):
            raise VerificationError("measurements: the cells of a level are not those of the schema, in their order")
    else:
        keys = {name: _codes(table, name, schema) for name in table.column_names if name not in named}
    return Measurements(
        keys=keys,
        noisy={name.removeprefix(NOISY): table[name].to_numpy() for name in named},
        facts=facts,
        plan=plan.describe(),
        guarantee=str(plan.guarantee),
        rehearsal=False,
    )


def _spelled(keys: Mapping[str, Any], plan: Mapping[str, Any], schema: Schema) -> dict[str, pa.Array]:
    """Codes as they are called; a table of several levels says which one each row is of."""
    if not plan.get("levels"):
        return {name: _levels(schema, name, code) for name, code in keys.items()}
    levels = TableLevels.described(schema, plan)
    columns = {LEVEL: pa.array(levels.names).take(pa.array(keys[LEVEL]))}
    return columns | {
        name: pa.array(levels.listed(name)).take(pa.array(at)) for name, at in levels.places(keys).items()
    }


def _jobs(table: pa.Table, plan: Plan[Any], schema: Schema) -> Measured:
    described = plan.describe()
    widths = json.loads((table.schema.metadata or {})[_NOISE])
    cells = int(widths["cells"])

    def matrix(name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.asarray(table[name].to_numpy(), dtype=np.int64).reshape(-1, cells)

    keys = {name: _codes(table, name, schema)[::cells] for name in described["by"]}
    largest = matrix("noisy_largest")[:, :: cells // widths["largest"]] if widths["largest"] else None
    draft = Measured(
        keys=keys,
        worker=tuple(described["worker"]),
        values=matrix("noisy"),
        error=None,  # type: ignore[arg-type]  # the plan knows it, and gives it back below
        plan=described,
        guarantee=str(plan.guarantee),
        rehearsal=False,
        largest=largest,
    )
    restored: Measured = plan.restore(draft.to_bytes())
    return restored


def _codes(table: pa.Table, name: str, schema: Schema) -> np.ndarray[Any, np.dtype[np.int32]]:
    code = schema.categorical(name).code
    stored = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
    known = np.array([code[level] for level in stored.dictionary.to_pylist()], dtype=np.int32)
    return np.asarray(known[stored.indices.to_numpy(zero_copy_only=False)])


def _levels(schema: Schema, name: str, codes: np.ndarray[Any, Any]) -> pa.Array:
    return pa.array(schema.levels(name)).take(pa.array(codes))
