"""Folders that appear whole or not at all.

Everything is written aside, in a hidden folder beside the target, and renamed at the end. A run that fails
half-way leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacita.errors import UsageError


def check_target(out: Path, *, force: bool) -> None:
    """Refuse a target that cannot be written, before anything is spent on filling it."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: is a file; name a folder")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise UsageError(f"--out {out}: the folder is not empty; name another one, or add --force to replace it")
    parent = next(place for place in (out.absolute(), *out.absolute().parents) if place.is_dir())
    if not os.access(parent, os.W_OK):
        raise UsageError(f"--out {out}: {parent} cannot be written to; name a folder elsewhere")


@contextmanager
def written_whole(out: Path, *, force: bool) -> Iterator[Path]:
    """A folder to fill; it becomes `out` when the block ends well, and vanishes when it does not."""
    check_target(out, force=force)
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent))
    try:
        yield aside
        aside.chmod(0o777 & ~_umask())  # mkdtemp keeps the folder to its owner; a bundle is made to be handed on
        _swap(aside, out)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _swap(aside: Path, out: Path) -> None:
    """Rename into place; the folder that was there goes only after the new one stands."""
    if not out.exists():
        aside.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".old", dir=out.parent))
    out.rename(old / "old")
    aside.rename(out)
    shutil.rmtree(old)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
