"""What libraries expect of the account they run under, where a service account lacks it.

The compiler keeps its code beside the source or in the user's cache folder, and the chart library wants to know where
home is. A service account often has neither: its installation is not writable and nobody wrote down its home. Then
both get a folder of their own for this run.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

_COMPILED = "NUMBA_CACHE_DIR"


def furnish() -> None:
    """Give the account what it lacks; does nothing to one that lacks nothing."""
    has_home = os.path.isabs(os.path.expanduser("~"))  # noqa: PTH111, PTH117 -- pathlib raises where there is none
    has_cache = bool(os.environ.get(_COMPILED)) or any(_is_writable(place) for place in _usual_caches())
    if has_home and has_cache:
        return
    # Made anew and for this user only: code is loaded from it, so nobody else may have put any there.
    folder = tempfile.mkdtemp(prefix="tacita-account-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # In the environment, so that processes that this one starts have it too.
    if not has_home:
        os.environ["HOME"] = folder
    if not has_cache:
        os.environ[_COMPILED] = folder
        if "numba" in sys.modules:  # which reads the environment once
            sys.modules["numba"].config.CACHE_DIR = folder


def _usual_caches() -> list[Path]:
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    return [Path(__file__).parent / "__pycache__", *([home / "numba"] if home.is_absolute() else [])]


def _is_writable(place: Path) -> bool:
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError:
        return False
