"""What can go wrong, and what a person should do about it.

Every error names the column or key, the rule it broke and the fix. None of them
ever carries a value read from confidential rows. `exit_code` is what the command
line returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

# The section of a specification or a schema that a message names first: [cap], table "jobs", variables.age.
_OF_SPEC = re.compile(r'(?:\[\[?|\b)(cap|tables|table|microdata|public_input|evaluation)(?:\]| "|: |\.)')
_OF_SCHEMA = re.compile(r"\b(dataset|variables|zeros|rules|hierarchy|design)(?=[.,:])")
_KEYS = "docs/keys.md"
_FILES = ("schema ", "data ")  # how a message begins that names its file


class TacitaError(Exception):
    """Base of every error Tacita raises on purpose."""

    exit_code = 1


class UsageError(TacitaError):
    """A wrong argument: a parameter outside its range, a plan that cannot be built."""

    exit_code = 2


class SchemaError(TacitaError):
    """The schema is wrong, or the file does not fit it."""

    exit_code = 2


class SpecError(TacitaError):
    """The release specification is wrong: an unknown key, a missing table, a bad value."""

    exit_code = 2


class RefusedError(TacitaError):
    """The ledger or a privacy rule says no. Nothing was spent."""

    exit_code = 3


class VerificationError(TacitaError):
    """A bundle or a ledger is not what it says it is."""

    exit_code = 4


@contextmanager
def naming(**files: str) -> Iterator[None]:
    """Say which file an objection is about, where it does not say so itself.

    `data` and `schema` are said where these do not fit, `specification` where a setting is wrong.

    >>> with naming(schema="people.schema.toml"):
    ...     raise SchemaError("variables.age.lower: is above upper; swap them or correct one")
    Traceback (most recent call last):
    tacita.errors.SchemaError: schema people.schema.toml: variables.age.lower: is above upper; swap them or correct one
    """
    try:
        yield
    except (SchemaError, SpecError, UsageError) as error:
        if isinstance(error, SchemaError):
            named = ", ".join(f"{kind} {files[kind]}" for kind in ("data", "schema") if kind in files)
        else:
            named = files.get("specification", "")
        if not named or str(error).startswith(_FILES):
            raise
        raise type(error)(f"{named}: {error}") from None


_SPENT = "Spent all the same: "


def add_spent(error: BaseException, words: str) -> None:
    """Note on an error what was spent before it came up; the command line shows it with any message."""
    error.add_note(f"{_SPENT}{words}")


def spent(error: BaseException) -> str:
    """What was noted; a note of another library is not passed on, since it could carry a confidential value."""
    return " ".join(note for note in getattr(error, "__notes__", ()) if note.startswith(_SPENT))


def explained_at(error: TacitaError) -> str:
    """Where the keys are explained that a message is about; empty where it is about none.

    >>> explained_at(SpecError('release.toml: epsilon of table "jobs" is missing; add it'))
    'docs/keys.md#table'
    """
    message = str(error)
    if message.startswith(_FILES):  # a file may be called design.toml
        message = message.partition(": ")[2]
    if isinstance(error, SchemaError):
        named = _OF_SCHEMA.search(message)
    elif isinstance(error, SpecError) or (
        isinstance(error, UsageError) and re.search(r'(^|: )(table|microdata) "', message)
    ):
        named = _OF_SPEC.search(message)
    else:
        return ""
    if named is None:
        return f"{_KEYS}#specification" if isinstance(error, SpecError) else ""
    return f"{_KEYS}#{named[1]}"


def in_words(error: Exception, given: list[str]) -> tuple[str, str, int]:
    """What kind of error it is, what it says, and the exit code; `given` are the words of the command line."""
    if isinstance(error, TacitaError):
        place = explained_at(error)
        message = f"{str(error).rstrip('.')}. Keys: {place}" if place else str(error)
        return type(error).__name__.removesuffix("Error"), message, error.exit_code
    if isinstance(error, OSError) and str(error.filename) in given:
        return "Usage", f"{str(error.filename)[:80]}: {error.strerror}; correct the path", 2
    # A library's message may quote a value of the confidential file, so only its kind is shown.
    hidden = "Its message is not shown, since it could carry a confidential value; add --debug to see it"
    return "Unexpected error", f"{type(error).__name__}. {hidden} where that is safe", 1
