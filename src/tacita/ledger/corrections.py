"""Releases that are no longer to be used, and what takes their place. What they cost stays spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacita.ledger.terms import Reservation

if TYPE_CHECKING:  # the book asks this module
    from tacita.ledger.book import Book


@dataclass(frozen=True)
class Correction:
    """A release that is no longer to be used, and the entries that take its place; none where it was withdrawn."""

    by: tuple[int, ...]
    entry: int

    def __str__(self) -> str:
        words = f"superseded by {', '.join(map(str, self.by))}" if self.by else "withdrawn"
        return f"{words} (entry {self.entry})"


def why_not_superseded(book: Book, old: Sequence[Reservation], new: Sequence[Reservation]) -> str | None:
    """Why some releases cannot take the place of others; None where they can."""
    for made in old:
        known = book.corrections.get(made.number)
        if known is not None and (known.by or not new):
            return f"entry {made.number} is {known} already; a release is superseded once"
        for one in new:
            if one.number <= made.number:
                return f"entry {one.number} does not come after entry {made.number}, which it is to supersede"
            if one.number in book.corrections:
                return f"entry {one.number} is {book.corrections[one.number]} itself; name what took its place"
            if not book.are_kin(made.data, one.data):
                return (
                    f"entries {made.number} and {one.number} are of files that share no budget, so one is no "
                    "correction of the other; declare lineage in the schema of the corrected file"
                )
    return None
