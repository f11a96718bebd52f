"""Files that hold the same units under another name: found by their ids before anything is spent on them.

The budget of a file is shared by everything that was declared, or is known by its rows, to hold the same units. A new
name and one column less would make a copy look like another file. So each file's first reservation keeps a sketch of
its ids (`tacita.data.checks.sketch`), and the first release from a file asks whether units of another family are in it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacita.errors import RefusedError
from tacita.ledger.book import Book
from tacita.ledger.terms import DataKey, Reservation

if TYPE_CHECKING:  # annotations only: `tacita ledger show` need not load an engine
    from tacita.data.confidential import Confidential


@dataclass(frozen=True)
class Kin:
    """What was found out about one file: what its first reservation keeps, and up to which reservation it was compared.

    A reservation of another family that comes in meanwhile was not compared: `is_current` says whether to look again.
    """

    private: dict[str, Any]
    compared: tuple[int, ...]

    def is_current(self, book: Book, key: DataKey) -> bool:
        return {made.number for made in _strangers(book, key)} <= set(self.compared)


def kin_of(book: Book, data: Confidential, key: DataKey) -> Kin:
    """What the reservation of a file keeps, once it was compared with every other family."""
    if _is_known(book, key):
        return Kin({}, tuple(book.reservations))  # compared when it came in; whatever came later was compared with it
    secret = book.sketch_key or secrets.token_hex(32)
    strangers = refuse_kin(book, data, key)
    known = {} if book.sketch_key else {"sketch_key": secret}
    return Kin({"sketch": data.sketch(secret), **known}, tuple(made.number for made in strangers))


def refuse_kin(book: Book, data: Confidential, key: DataKey) -> list[Reservation]:
    """Refuse a file that holds units of another family, unless a person let that pass on record."""
    strangers = [] if _is_known(book, key) else _strangers(book, key)
    wanted: dict[str, list[int]] = {}
    for made in strangers:
        for entity, hashes in made.sketch.items():
            wanted.setdefault(entity, []).extend(hashes)
    if book.sketch_key is None or not data.shared_units(book.sketch_key, wanted):  # one pass for all of them
        return strangers
    for made in strangers:
        if shared := data.shared_units(book.sketch_key, made.sketch):
            raise RefusedError(
                f"{key.identity} holds units of {made.data.identity} (the same {shared[0]} ids, entry {made.number}), "
                f'and would have a budget of its own. Declare lineage = ["{made.data.identity}"] under [dataset] in '
                "the schema, so that they share one, or have it let pass on record with `tacita ledger waive "
                f'--overlap`, Ledger.waive_overlap("{key.identity}", "{made.data.identity}", reason=…). Nothing was '
                "spent"
            )
    return strangers


def _is_known(book: Book, key: DataKey) -> bool:
    return any(made.sketch and made.data.names == key.names for made in book.reservations.values())


def _strangers(book: Book, key: DataKey) -> list[Reservation]:
    """The first reservation of every file of another family that keeps a sketch and was not let pass."""
    return [
        made
        for made in book.reservations.values()
        if made.sketch and not book.are_kin(made.data, key) and not book.let_pass(made.data.identity, key.identity)
    ]
