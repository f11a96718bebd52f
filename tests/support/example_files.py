"""A small file as linked tables, as one flat file and as sizes, with the neighbours an attacker would choose.

A file is a list of establishments; every one has public attributes and a list of workers. Nothing here uses the
code under test: neighbours are made by adding workers, as the definitions do.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd

from tacita.audit.jobs import AGES, SEXES, Establishment, File, Kind, flat, most_new, schema, stored
from tacita.data.confidential import Confidential

__all__ = ["FILE", "Establishment", "File", "Kind", "opened", "schema", "with_row"]


@cache
def opened(file: File, form: str) -> Confidential:
    """The file as the code under test gets it; kept open for the whole run."""
    return Confidential.from_frame(stored(file, form), schema(form))


@cache
def with_row(file: File, *, place: str | None) -> Confidential:
    """A flat file in which the first establishment's new worker has his own idea of where he works."""
    new = {"worker_id": "new", "workplace_id": "e0", "sex": "F", "age": "old", "place": place, "sector": "1"}
    return Confidential.from_frame(
        pd.concat([flat(file).to_pandas(), pd.DataFrame([new])], ignore_index=True), schema("flat")
    )


def _crew(**counts: int) -> tuple[Kind, ...]:
    """`_crew(F_young=2)` is two young women."""
    return tuple(kind for name, count in counts.items() for kind in [tuple(name.split("_"))] * count)  # type: ignore[misc]


# Cell (A, 1) is led by a large establishment; (A, 2) holds two of equal size; (B, 1) a lone small one and an empty
# one; (B, 2) only an empty one; no establishment is in (C, ·).
FILE: File = (
    Establishment("A", "1", _crew(F_young=10, F_old=20, M_young=3, M_old=7)),
    Establishment("A", "1", _crew(F_young=2, M_old=3)),
    Establishment("A", "2", _crew(F_young=20)),
    Establishment("A", "2", _crew(M_young=10, M_old=10)),
    Establishment("B", "1", _crew(F_old=1)),
    Establishment("B", "1", ()),
    Establishment("B", "2", ()),
)


def changed(file: File, at: int, *kinds: Kind) -> File:
    return (*file[:at], file[at].hires(*kinds), *file[at + 1 :])


def strong_neighbours(alpha: Any) -> dict[str, File]:
    """One establishment gains up to max(α·size, 1) workers of any kind."""
    sizes = [len(one.workers) for one in FILE]
    return {
        "the largest grows by men": changed(FILE, 0, *[("M", "young")] * most_new(sizes[0], alpha)),
        "the largest grows by a kind it lacks": changed(FILE, 0, *[("U", "old")] * most_new(sizes[0], alpha)),
        "the second largest grows": changed(FILE, 1, *[("F", "young")] * most_new(sizes[1], alpha)),
        "one of two equals grows by a kind it lacks": changed(FILE, 2, *[("M", "old")] * most_new(sizes[2], alpha)),
        "growth of every kind at once": changed(
            FILE, 0, *[(SEXES[n % 3], AGES[n % 2]) for n in range(most_new(sizes[0], alpha))]
        ),
        "from nobody to one worker": changed(FILE, 6, ("F", "young")),
        "from nobody to one where another exists": changed(FILE, 5, ("M", "old")),
        "from one worker to two": changed(FILE, 4, ("M", "young")),
        "a worker of unheard-of kind": changed(FILE, 4, ("?", "ancient")),
        "a worker with nothing known": changed(FILE, 1, (None, None)),
        "a worker coded as missing": changed(FILE, 6, ("9", None)),
    }


def weak_neighbours(alpha: Any) -> dict[str, File]:
    """One establishment in which no class of workers gains more than max(α·class, 1)."""
    by_kind: dict[Kind, int] = {}
    for kind in FILE[0].workers:
        by_kind[kind] = by_kind.get(kind, 0) + 1
    women = by_kind[("F", "young")] + by_kind[("F", "old")]
    return {
        # All of them of one kind, within what that kind, and so every class that holds it, may gain.
        "the largest gains old women": changed(FILE, 0, *[("F", "old")] * most_new(by_kind[("F", "old")], alpha)),
        "the largest gains women of both ages": changed(
            FILE,
            0,
            *[("F", "old")] * min(most_new(by_kind[("F", "old")], alpha), max(most_new(women, alpha) - 1, 1)),
            *[("F", "young")] * (1 if most_new(women, alpha) > 1 else 0),
        ),
        "one of two equals gains women": changed(FILE, 2, *[("F", "young")] * most_new(20, alpha)),
        "the largest gains a kind it lacks": changed(FILE, 0, ("U", "old")),
        "from nobody to one worker": changed(FILE, 6, ("F", "young")),
        "from one worker to two": changed(FILE, 4, ("F", "old")),
        "a worker of unheard-of kind": changed(FILE, 4, ("?", "ancient")),
        "a worker coded as missing": changed(FILE, 6, ("9", None)),
    }


def one_worker_more() -> dict[str, File]:
    """Worker-level neighbours."""
    return {
        "at the largest": changed(FILE, 0, ("M", "young")),
        "of a new kind": changed(FILE, 2, ("U", "old")),
        "where there was nobody": changed(FILE, 6, ("F", "young")),
        "of unheard-of kind": changed(FILE, 1, ("?", None)),
    }


def one_workforce_less() -> dict[str, File]:
    """Establishment-level neighbours: a whole workforce is gone, its public record stays."""
    return {
        f"without the workers of establishment {at}": (*FILE[:at], replace(FILE[at], workers=()), *FILE[at + 1 :])
        for at in (0, 1, 2, 4)
    }
