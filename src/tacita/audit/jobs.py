"""Employer-employee files: establishments with public attributes and workers, as linked tables, one flat file or sizes.

Neighbours are made by adding workers, as the definitions do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tacita.audit.families import Family, Files, Random, picked
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.privacy import AddRemoveOne, Neighbours, StrongAlpha, WeakAlpha

Kind = tuple[str | None, str | None]  # sex, age: as stored, so possibly missing or unheard of
Form = Literal["flat", "linked", "size"]
PLACES, SECTORS = ("A", "B", "C", "X"), ("1", "2")
SEXES, AGES = ("F", "M", "U"), ("young", "old")
_KINDS: tuple[Kind, ...] = tuple(product(SEXES, AGES))
_STRANGE: tuple[Kind, ...] = (("?", "ancient"), (None, None), ("9", None), ("M", "?"))
# Around 0 and 1, around the borders of α = 1/10 and 1/4, around the θ = 25 of the examples, and large.
_SIZES = (0, 0, 1, 1, 2, 4, 5, 8, 9, 10, 11, 19, 20, 21, 24, 25, 26, 40, 130)


@dataclass(frozen=True)
class Establishment:
    """One establishment: where it is, what it does, who works there."""

    place: str
    sector: str
    workers: tuple[Kind, ...]
    listed: bool = True  # in the table of establishments

    def hires(self, *kinds: Kind) -> Establishment:
        return replace(self, workers=self.workers + kinds)


File = tuple[Establishment, ...]


def schema(form: str) -> Schema:
    """The public description; linked tables keep workplace and worker attributes in tables of their own."""
    table = {"table": "workplace"} if form == "linked" else {}
    person = {"table": "worker"} if form == "linked" else {}
    place = {"role": "workplace", "type": "categorical", "levels": list(PLACES), "outside": "X", "missing": "X"}
    sex = {"role": "worker", "type": "categorical", "levels": list(SEXES), "outside": "U", "missing": "U"}
    age = {"role": "worker", "type": "categorical", "levels": list(AGES), "outside": "old", "missing": "old"}
    variables: dict[str, Any] = {
        "workplace_id": {"role": "id", "entity": "workplace"},
        "worker_id": {"role": "id", "entity": "worker"},
        "place": {**place, **table},
        "sector": {"role": "workplace", "type": "categorical", "levels": list(SECTORS), **table},
        "sex": {**sex, "missing_codes": ["9"], **person},
        "age": {**age, **person},
    }
    if form == "size":
        variables = {name: variables[name] for name in ("workplace_id", "place", "sector")}
        variables["jobs"] = {"role": "size", "type": "integer", "lower": 0, "upper": 1_000_000}
    return Schema.from_dict(
        {"dataset": {"identity": f"example-{form}", "unit": "establishment"}, "variables": variables}
    )


def tables(file: File) -> dict[str, pa.Table]:
    """Linked tables; establishments without workers are listed too."""
    persons = _persons(file)
    return {
        "job": _texts(persons, "worker_id", "workplace_id"),
        "workplace": _texts(_workplaces(file), "workplace_id", "place", "sector"),
        "worker": _texts(persons, "worker_id", "sex", "age"),
    }


def flat(file: File) -> pa.Table:
    """Jobs of establishments that are listed, each with what its establishment and its worker are."""
    there = {one["workplace_id"]: one for one in _workplaces(file)}
    jobs = [person | there[place] for person in _persons(file) if (place := person["workplace_id"]) in there]
    return _texts(jobs, "worker_id", "workplace_id", "place", "sector", "sex", "age")


def sizes(file: File) -> pa.Table:
    counts = pa.array([len(one.workers) for one in file if one.listed], type=pa.int64())
    return _texts(_workplaces(file), "workplace_id", "place", "sector").append_column("jobs", counts)


def _workplaces(file: File) -> list[dict[str, str | None]]:
    return [
        {"workplace_id": f"e{at}", "place": one.place, "sector": one.sector}
        for at, one in enumerate(file)
        if one.listed
    ]


def _persons(file: File) -> list[dict[str, str | None]]:
    return [
        {"worker_id": f"w{at}-{number}", "workplace_id": f"e{at}", "sex": sex, "age": age}
        for at, one in enumerate(file)
        for number, (sex, age) in enumerate(one.workers)
    ]


def _texts(records: list[dict[str, str | None]], *names: str) -> pa.Table:
    return pa.table({name: pa.array([one[name] for one in records], type=pa.string()) for name in names})


def stored(file: File, form: str) -> Any:
    """The file as `Confidential.from_frame` takes it."""
    return {"linked": tables, "flat": flat, "size": sizes}[form](file)


def most_new(size: int, alpha: Any) -> int:
    """How many workers a class of this size may gain."""
    return max(int(alpha * size), 1)


def job_files(form: Form, neighbours: Neighbours) -> Files:
    """Families under the strong, the weak, the worker-level and the establishment-level relation."""

    def family(random: Random, count: int) -> Family:
        base = _file(random)
        near = [_neighbour(base, neighbours, random, at) for at in range(count)]
        return Family(stored(base, form), tuple(stored(one, form) for one in near))

    return Files(schema(form), family)


def _file(random: Random) -> File:
    """A few establishments; some have nobody, some share a cell, one cell is never used."""
    return tuple(
        Establishment(picked(random, PLACES[:3]), picked(random, SECTORS), _crew(random, int(picked(random, _SIZES))))
        for _ in range(int(random.integers(3, 8)))
    )


def _crew(random: Random, size: int) -> tuple[Kind, ...]:
    """All of one kind, of two, or of any, strange ones among them."""
    among = {0: [picked(random, _KINDS)], 1: [picked(random, _KINDS), picked(random, _KINDS)]}.get(
        int(random.integers(3)), [*_KINDS, *_STRANGE]
    )
    return tuple(picked(random, among) for _ in range(size))


def _neighbour(base: File, neighbours: Neighbours, random: Random, at: int) -> File:
    largest = max(range(len(base)), key=lambda place: len(base[place].workers))
    place = largest if at % 3 == 0 else int(random.integers(len(base)))
    one = base[place]
    if isinstance(neighbours, StrongAlpha):
        most = most_new(len(one.workers), neighbours.alpha)
        other = one.hires(*_new(random, most if at % 4 else int(random.integers(1, most + 1))))
    elif isinstance(neighbours, WeakAlpha):
        other = one.hires(*_weakly_new(one, neighbours.alpha, random))
    elif neighbours == AddRemoveOne("worker"):
        other = one.hires(*_new(random, 1)) if at % 2 or not one.workers else replace(one, workers=one.workers[1:])
    elif getattr(neighbours, "unit", None) in ("establishment", "workplace"):
        crew = () if one.workers else _crew(random, int(picked(random, _SIZES)))
        other = replace(one, workers=crew, listed=bool(crew) or at % 2 == 0)
    else:
        raise UsageError(f"the audit has no example files for {neighbours}; add them to tacita.audit.jobs")
    return (*base[:place], other, *base[place + 1 :])


def _new(random: Random, count: int) -> tuple[Kind, ...]:
    among = [picked(random, (*_KINDS, *_STRANGE))] if random.random() < 0.7 else [*_KINDS, *_STRANGE]
    return tuple(picked(random, among) for _ in range(count))


def declared(kind: Kind) -> Kind:
    """The kind that the schema's rules make of what is stored."""
    sex, age = kind
    return (sex if sex in SEXES else "U", age if age in AGES else "old")


def _weakly_new(one: Establishment, alpha: Fraction, random: Random) -> tuple[Kind, ...]:
    """New workers such that no class, of all that can be made of kinds, gains more than max(α·class, 1)."""
    held = np.array([sum(declared(worker) == kind for worker in one.workers) for kind in _KINDS])
    new = np.array([most_new(int(count), alpha) if random.random() < 0.6 else 0 for count in held])
    new[int(random.integers(len(_KINDS)))] += not new.any()
    classes = np.array(list(product([False, True], repeat=len(_KINDS)))[1:])
    while new.any():
        allowed = np.maximum(np.floor(np.array([float(alpha * int(held[which].sum())) for which in classes])), 1)
        too_many = (classes @ new) > allowed
        if not too_many.any():
            break
        full = np.flatnonzero(new)
        new[picked(random, full)] -= 1
    return tuple(kind for kind, count in zip(_KINDS, new.tolist(), strict=True) for _ in range(count))
