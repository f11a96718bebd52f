"""SAS transport files that were cut short: the format has no end mark, and a reader takes what is there for all."""

from __future__ import annotations

import mmap
from pathlib import Path

_LINE = 80  # bytes; everything in the format is padded to it with blanks
_NAMESTR = 140  # bytes of the description of one variable
_HEADER = b"HEADER RECORD*******"


def is_cut_short(path: Path, variables: int, rows: int) -> bool:
    """Whether bytes are missing at the end of a file in which so many variables and rows were found.

    A version 5 file that ends exactly with a row cannot be told from a whole one.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        names, observed = content.find(_HEADER + b"NAM"), content.find(_HEADER + b"OBS")
        if len(content) % _LINE or names < 0 or observed < 0:
            return True
        told = content[observed + 48 : observed + _LINE].split()
        if content[observed + 20 : observed + 25] == b"OBSV8" and told and told[0].isdigit():
            return int(told[0]) != rows
        places = (names + _LINE + _NAMESTR * number + 4 for number in range(variables))
        width = sum(int.from_bytes(content[place : place + 2], "big") for place in places)
        more = content.find(_HEADER + b"MEMB", observed)  # a second table in the same file
        first, end = observed + _LINE, more if more >= 0 else len(content)
        rest = (end - first) % width if width else 0
        return rest >= _LINE or content[end - rest : end].strip(b" ") != b""
