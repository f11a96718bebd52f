"""A few ids of a file under a secret key, by which the ledger knows its units again in another file.

Of every kind of unit a sample of ids is hashed with a key that never leaves the ledger. Another file is asked whether
any of them is among all of its own ids: one hash in common means, beyond all chance, one unit in common.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import ibis

from tacita.data.engine import Engine, is_missing, text_of
from tacita.data.schema import Identifier, Schema, entity_word

SIZE = 512  # ids kept: a file that holds one in a hundred of the units is missed once in 170 times
Sketch = dict[str, list[int]]

_BITS = 60  # of each hash
_PARTS = 1 << 20


def sketch_of(tables: Mapping[str, Any], schema: Schema, engine: Engine, key: str) -> Sketch:
    """For every kind of unit that has an id, the keyed hashes of some ids, chosen by a plain hash that costs little."""
    found: Sketch = {}
    for entity, table, column in _ids(tables, schema):
        (rows,) = engine.collect(table.aggregate(rows=table.count()))["rows"].to_pylist()
        part = table[column].hash() & (_PARTS - 1)
        share = max(SIZE * 4 * _PARTS // max(int(rows), 1), 1)
        chosen = _hashes(table.filter(part < share), column, engine, key).distinct().limit(SIZE)
        hashes = engine.collect(chosen)["hash"].to_pylist()
        if len(hashes) < SIZE and share < _PARTS:  # few units with many rows: take the first that come
            hashes = engine.collect(_hashes(table, column, engine, key).distinct().limit(SIZE))["hash"].to_pylist()
        found[entity] = sorted(int(one) for one in hashes)
    return found


def shared_units(
    tables: Mapping[str, Any], schema: Schema, engine: Engine, key: str, wanted: Mapping[str, Collection[int]]
) -> list[str]:
    """The kinds of units of which a wanted one is in the file; all of its ids are looked at."""
    found = []
    for entity, table, column in _ids(tables, schema):
        if sought := sorted(set(wanted.get(entity, ()))):
            hashes = _hashes(table, column, engine, key)
            if engine.collect(hashes.filter(hashes.hash.isin(sought)).limit(1)).num_rows:
                found.append(entity)
    return found


def _ids(tables: Mapping[str, Any], schema: Schema) -> Iterator[tuple[str, Any, str]]:
    for variable in schema:
        if isinstance(variable.kind, Identifier):
            for name in (
                variable.kind.entity,
                *tables,
            ):  # where an entity has a table of its own, each id is there once
                if name in tables and variable.name in tables[name].columns:
                    yield entity_word(variable.kind.entity), tables[name], variable.name
                    break


def _hashes(table: Any, column: str, engine: Engine, key: str) -> Any:
    """The id as text, so that it is the same whatever file it is in; the key is secret, so nobody can choose ids that
    collide."""
    ids = table.filter(~is_missing(table[column]))
    digest = (ibis.literal(key) + text_of(ids[column])).hexdigest("md5")
    return ids.select(hash=engine.hex_to_integer(digest.substr(0, _BITS // 4)))
