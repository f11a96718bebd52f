"""What every part of a specification is, and its single values: names of files, exact numbers, paths. Each says what is
wrong with it in words.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from tacita.data.address import is_server, split_address
from tacita.errors import UsageError
from tacita.ledger.places import server_address
from tacita.privacy import exact, text

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


def _file_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("becomes a file name: use small letters, digits, - and _ only")
    if len(value) > 100:
        raise ValueError("becomes a file name: use at most 100 characters")
    return value


def _path_text(value: str) -> str:
    """A path that a file system can be asked about at all; whether something is there is found out later."""
    if not value or not value.isprintable() or max(len(part.encode()) for part in value.split("/")) > 255:
        raise ValueError("must be the name of a file: not empty, no control characters, no part beyond 255 bytes")
    return value


def _exact_text(value: object) -> str:
    """A privacy parameter, kept as the shortest exact text of the number.

    TOML reads 0.1 as a binary float, which is not one tenth: the ledger would add up something else than
    what the board signed. So a bare decimal is refused rather than repaired.
    """
    if isinstance(value, float):
        raise ValueError(f'put quotes around it: "{value:g}"; without them it is read as a rounded binary number')
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError('must be a number in quotes, such as "0.1" or "1/3"')
    try:
        return text(exact(value))
    except UsageError:
        raise ValueError('must be a number in quotes, such as "0.1" or "1/3"') from None


def _rows(value: int) -> int:
    if value < 1:
        raise ValueError("must be a whole number of rows, at least 1")
    return value


def _ledger_text(value: str) -> str:
    if not is_server(value):
        return _path_text(value)
    try:
        server_address(value)
    except UsageError as problem:
        raise ValueError(str(problem).removeprefix("ledger: ")) from None
    return value


def _data_text(value: str) -> str:
    if is_server(value):
        try:
            split_address(value, "data")
        except UsageError as problem:
            raise ValueError(str(problem).removeprefix("data: ")) from None
    return _path_text(value)


AtMost = Annotated[int, AfterValidator(_rows)]
DataText = Annotated[str, AfterValidator(_data_text)]
Exact = Annotated[str, BeforeValidator(_exact_text)]
FileName = Annotated[str, AfterValidator(_file_name)]
LedgerText = Annotated[str, AfterValidator(_ledger_text)]
PathText = Annotated[str, AfterValidator(_path_text)]


class Part(BaseModel):
    """Every part of a specification: closed to unknown keys and unchangeable once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PublicInputSpec(Part):
    """Something used that did not come from the confidential file, and where it came from."""

    what: str
    source: str
