"""Reads a TOML file that a tired or a hostile person wrote: whatever is wrong with it is said in one sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tacita.errors import TacitaError

_MOST_BYTES = 64 << 20


def read_toml(path: Path, name: str, error: type[TacitaError], *, if_missing: str) -> dict[str, Any]:
    """The content; `error` is raised for what is no file, no text or no TOML, and `name` says which file is meant."""
    try:
        if not path.exists():
            raise error(f"{name}: {if_missing}")
        if not path.is_file():  # nor a pipe, which could be read for ever
            raise error(f"{name}: is not a file; name the TOML file itself")
        if path.stat().st_size > _MOST_BYTES:
            raise error(f"{name}: larger than {_MOST_BYTES >> 20} MB; is this a TOML file?")
        return tomllib.loads(path.read_text(encoding="utf-8"))
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
