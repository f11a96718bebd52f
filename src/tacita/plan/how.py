"""How a method knows the confidential rows, in words for a reader: the plan that acts says so itself.

Pages take these sentences from the plan of each product, so that none is described by what is true of another.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class How:
    """What a reader must know about a method before any number. Whole sentences; `exact` may be empty."""

    knows: str
    """What was read of the confidential rows, and what kept single ones from showing."""
    exact: str = ""
    """What leaves exactly as it stands in the file, and so is not protected."""
    another: str = ""
    """What one more synthetic file would cost."""


@dataclass(frozen=True)
class Worth:
    """What a release of this size is worth, from the plan and public facts alone."""

    said: str
    """How far off its numbers typically are, and what serves better where that is too far."""
    enough: bool
    """Whether margins that are computed from the files may be shown beside their numbers."""


FREE = "More files could be drawn from what was released at no further loss."
EACH_PAID = "Each file was paid for by itself: one more would cost as much again."
SIZE = "The number of records leaves exactly as it is."


def as_collected(names: tuple[str, ...]) -> str:
    """For methods that publish public columns record by record.

    >>> as_collected(("field", "sex"))
    'The columns field, sex of every record leave as collected, and with them how many records have each combination.'
    """
    if not names:
        return SIZE
    listed = f"The column{'s' if len(names) > 1 else ''} {', '.join(names)} of every record"
    leave = "leave" if len(names) > 1 else "leaves"
    return (
        f"{listed} {leave} as collected, and with {'them' if len(names) > 1 else 'it'} how many records have each "
        + ("combination." if len(names) > 1 else "value.")
    )
