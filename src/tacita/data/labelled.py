"""What Stata, SPSS and SAS files say of their own columns: labels of columns and codes, and which codes mean missing.

It is part of a file's description, as its column names are: no row is read for it.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacita.data.engine import code_text
from tacita.data.engine.frames import STATISTICAL
from tacita.errors import SchemaError

_MOST = 100  # codes of a declared range of missing values that are listed; of a longer one its ends are named


@dataclass(frozen=True)
class Described:
    """A column as its file describes it; codes as text, `missing` those that are declared to mean missing."""

    label: str = ""
    codes: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    beyond: str = ""
    """A declared range of missing values that is too long to list, in words."""

    @property
    def valid(self) -> tuple[str, ...]:
        """Labelled codes that are values. A letter labels one of Stata's own missing values, .a to .z."""
        return tuple(code for code, _ in self.codes if code not in self.missing and not _is_letter(code))


def about_file(path: Path) -> Any:
    """What a statistical package wrote about a file's columns."""
    readers = importlib.import_module("pyreadstat")
    suffix = path.suffix.lower()
    more = {"user_missing": True} if suffix in (".sav", ".zsav") else {}  # else SPSS's declared ones are not told
    read = {
        ".sas7bdat": readers.read_sas7bdat,
        ".xpt": readers.read_xport,
        ".dta": readers.read_dta,
    }.get(suffix, readers.read_sav)
    try:
        _, about = read(str(path), metadataonly=True, **more)
    except Exception as problem:
        raise SchemaError(f"data {path.name}: its columns cannot be read ({type(problem).__name__})") from None
    return about


def descriptions(path: Path) -> dict[str, Described]:
    """Each column as the file describes it; SAS keeps the labels of codes elsewhere, and other files have none."""
    if not path.name.lower().endswith(STATISTICAL):
        return {}
    about = about_file(path)
    found = {}
    for name, label in about.column_names_to_labels.items():
        codes = about.variable_value_labels.get(name, {})
        ranges = about.missing_ranges.get(name, [])
        found[name] = Described(
            label or "",
            tuple((text, str(said)) for code, said in codes.items() if (text := code_text(code))),
            tuple(dict.fromkeys(code for one in ranges for code in _listed(one))),
            "; ".join(f"{one['lo']:g} to {one['hi']:g}" for one in ranges if not list(_listed(one))),
        )
    return found


def coded(described: Described) -> list[str]:
    """The domain of a column whose codes have labels."""
    levels, labels = [code for code, _ in described.codes], dict(described.codes)
    levels += [code for code in described.missing if code not in labels]
    said = ", ".join(f"{_quoted(code)} = {_quoted(one)}" for code, one in labels.items())
    lines = [
        'type = "categorical"     # as the file labels its codes; for a number with labelled exceptions change this'
    ]
    if _gap(described):
        number = f" with missing_codes = [{', '.join(described.missing)}]" if described.missing else ""
        lines.append(f"# codes between these have no label: add those that occur, or declare a number{number}")
    lines += [f"levels = {json.dumps(levels, ensure_ascii=False)}", f"labels = {{ {said} }}"]
    if gone := [code for code in levels if code in described.missing]:
        lines.append(f"missing = {_quoted(gone[0])}            # for empty cells too: by the file it means missing")
    return lines


def absent(described: Described) -> list[str]:
    """What a number's declaration says of values that the file declares to be missing."""
    said = [f"# the file declares {described.beyond} to be missing: list what occurs"] if described.beyond else []
    numbers = [code for code in described.missing if not _is_letter(code)]
    if numbers:
        said += ['missing = "own state"    # as the file declares:', f"missing_codes = [{', '.join(numbers)}]"]
    return said


def _listed(given: Mapping[str, Any]) -> Iterator[str]:
    """The codes of a declared range; a text is its own end."""
    low, high = given["lo"], given["hi"]
    if low == high:
        yield code_text(low) or ""
    elif isinstance(low, int | float) and low == int(max(low, -1e15)) and 0 < high - low < _MOST:
        yield from (str(int(low) + step) for step in range(int(high - low) + 1))


def _gap(described: Described) -> bool:
    """Whether whole numbers between the labelled codes have no label, as where a scale has its ends labelled."""
    try:
        valid = sorted(int(code) for code in described.valid)
    except ValueError:
        return False
    return bool(valid) and valid[-1] - valid[0] + 1 > len(valid)


def _is_letter(code: str) -> bool:
    return len(code) == 1 and code.isalpha() and code.islower()


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
