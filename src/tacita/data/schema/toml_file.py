"""Reads a TOML file that a tired or a hostile person wrote: whatever is wrong with it is said in one sentence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from tacita.errors import TacitaError

_MOST_BYTES = 4 << 20
_ENDLESS_KEY = re.compile(r"""(?<![\w-])(?:["']?[\w-]++["']?[ \t]*\.[ \t]*){100}""")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def read_toml(path: Path, name: str, error: type[TacitaError], *, if_missing: str) -> dict[str, Any]:
    """The content; `error` is raised for what is no file, no text or no TOML, and `name` says which file is meant."""
    try:
        if not path.exists():
            raise error(f"{name}: {if_missing}")
        if not path.is_file():  # nor a pipe, which could be read for ever
            raise error(f"{name}: is not a file; name the TOML file itself")
        if path.stat().st_size > _MOST_BYTES:
            raise error(
                f"{name}: larger than {_MOST_BYTES >> 20} MB; is this a TOML file? A long code list goes to levels_file"
            )
        written = path.read_text(encoding="utf-8")
        if _ENDLESS_KEY.search(written):  # which the reader would work on for minutes
            raise RecursionError
        content = tomllib.loads(written)
        if (where := unseen(content)) is not None:
            raise error(f"{name}: {where} holds a control character, which no file of a bundle can carry; remove it")
        return content
    except OSError as problem:
        raise error(f"{name}: cannot be read ({type(problem).__name__}); check the path and your permission") from None
    except UnicodeDecodeError:
        raise error(f"{name}: not a UTF-8 text file; it must be a TOML file") from None
    except tomllib.TOMLDecodeError as problem:
        raise error(f"{name}: not valid TOML: {problem}") from None
    except RecursionError:
        raise error(f"{name}: not valid TOML: lists or tables within each other without end") from None
    except ValueError:  # a number of thousands of digits, or a path with a zero byte
        raise error(f"{name}: not valid TOML: a number or a name that nothing can be made of") from None


def unseen(content: Any) -> str | None:
    """The key under which a text holds a control character other than a tab or a line's end; None where none does.

    >>> unseen({"title": "Jobs", "table": [{"name": "a" + chr(1)}]})
    'table.name'
    """
    waiting: list[tuple[str, Any]] = [("", content)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict):
            if any(_UNSEEN.search(key) for key in value):
                return f"a key of {where or 'the file'}"
            waiting += [(f"{where}.{key}".lstrip("."), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(where, inner) for inner in value]
        elif isinstance(value, str) and _UNSEEN.search(value):
            return where
    return None
