"""A few ids of a file under a secret key, by which the ledger knows its units again in another file.

Of every kind of unit a sample of ids is hashed with a key that never leaves the ledger. Another file is asked whether
any of them is among all of its own ids: one hash in common means, beyond all chance, one unit in common.

Files write the same id differently. Ids are compared without spaces, in small letters, and those of digits alone
without zeros in front or behind a decimal point: "0012", " 12", 12 and 12.0 are one id, "AB7" and "ab 7" another. The
same holds for the words of their entities (`entity_word`). Different ids that become one here can only make a file
look like another one's kin; a person then lets it pass on record. Earlier versions hashed ids as they were written, and
their ledgers are in use: so ids are looked for in that form too, which no new sketch has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tacita.data.engine import Engine, text_of
from tacita.data.schema import Identifier, Schema, entity_word
from tacita.lazy import later

ibis = later("ibis")

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
        word = entity_word(entity)
        found[word] = sorted({*found.get(word, ()), *map(int, hashes)})
    return found


def shared_units(
    tables: Mapping[str, Any], schema: Schema, engine: Engine, key: str, wanted: Mapping[str, Collection[int]]
) -> list[str]:
    """The kinds of units of which a wanted one is in the file; all of its ids are looked at."""
    shared = []
    for entity, table, column in _ids(tables, schema):
        alike = [hashes for word, hashes in wanted.items() if entity_word(word) == entity_word(entity)]
        if sought := sorted({one for hashes in alike for one in hashes}):
            spelled = _spelled(table, column)
            forms = [_hash(spelled[form], engine, key).isin(sought) for form in spelled.columns]
            if engine.collect(spelled.filter(ibis.or_(*forms)).limit(1)).num_rows:
                shared.append(entity)
    return shared


def _ids(tables: Mapping[str, Any], schema: Schema) -> Iterator[tuple[str, Any, str]]:
    for variable in schema:
        if isinstance(variable.kind, Identifier):
            entity = variable.kind.entity
            for name in (entity, *tables):  # where an entity has a table of its own, each id is there once
                if name in tables and variable.name in tables[name].columns:
                    yield entity, tables[name], variable.name
                    break


def _hashes(table: Any, column: str, engine: Engine, key: str) -> Any:
    spelled = _spelled(table, column)
    return spelled.select(hash=_hash(spelled.id, engine, key))


def _hash(text: Any, engine: Engine, key: str) -> Any:
    """The key is secret, so nobody can choose ids that collide."""
    return engine.hex_to_integer((ibis.literal(key) + text).hexdigest("md5").substr(0, _BITS // 4))


def _spelled(table: Any, column: str) -> Any:
    """Every id in its one spelling; those of text also as written, where that is another one."""
    forms = {"id": _one_spelling(table[column])}
    if table[column].type().is_string():
        forms["written"] = text_of(table[column]).nullif(forms["id"])
    spelled = table.select(**forms)
    return spelled.filter(spelled.id.notnull())


def _one_spelling(column: Any) -> Any:
    """An id as text, the same whatever file it is in; numbers have one spelling already."""
    text = text_of(column)
    if not column.type().is_string():
        return text
    text = text.replace(" ", "").strip().lower().nullif("")
    digits = text.re_replace(r"^0+|\.0*$", "").nullif("")
    return ibis.ifelse(text.re_search(r"^[0-9]+(\.0*)?$"), ibis.coalesce(digits, "0"), text)
