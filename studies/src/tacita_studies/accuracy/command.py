"""`make accuracy`: `python -m tacita_studies.accuracy [--tables] [--file NAME] [--plan NAME] [--draws 3] …`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tacita.errors import TacitaError, UsageError
from tacita_studies.accuracy.coverage import Rehearsed
from tacita_studies.accuracy.coverage_page import coverage_page
from tacita_studies.accuracy.folder import TriedFile, in_folder, public_files
from tacita_studies.accuracy.lines import kept, measured, printed
from tacita_studies.accuracy.measure import Attempt, attempts
from tacita_studies.accuracy.page import page
from tacita_studies.harness.replicates import each

DRAWS = 8
TABLE_DRAWS = 200  # of the suite of tables, in about as long
_USUAL_DATA = Path("../shared/data")
_PAGE = Path("docs/accuracy.md")


@dataclass(frozen=True)
class Job:
    """All tries of the suite by their number, for any process."""

    files: tuple[TriedFile, ...]
    plans: tuple[str, ...]
    draws: int
    seed: int

    @cached_property
    def places(self) -> list[tuple[TriedFile, int]]:
        return [
            (file, at)
            for file in self.files
            for at, one in enumerate(attempts(file))
            if (not self.plans or one.mechanism in self.plans) and self.takes(one)
        ]

    def takes(self, attempt: Attempt) -> bool:
        return True

    def __call__(self, number: int) -> list[dict[str, Any]]:
        warnings.simplefilter("ignore")
        file, at = self.places[number]
        return [row.as_json() for row in attempts(file)[at].rows(range(self.draws), self.seed)]


@dataclass(frozen=True)
class TableJob(Job):
    """The tables among them, each rehearsed many times."""

    def takes(self, attempt: Attempt) -> bool:
        return "table" in attempt.specification

    def __call__(self, number: int) -> list[dict[str, Any]]:
        file, at = self.places[number]
        return Rehearsed(attempts(file)[at]).coverage(self.draws, self.seed)


def _arguments() -> argparse.ArgumentParser:
    usual = Path(os.environ.get("TACITA_DATA", _USUAL_DATA))
    parser = argparse.ArgumentParser(prog="make accuracy", description="What every plan is worth on real files.")
    parser.add_argument("--file", action="append", default=[], help="only this file; may be given several times")
    parser.add_argument("--plan", action="append", default=[], help="only this plan, such as SurveySynthesis")
    usually = f"{DRAWS}, or {TABLE_DRAWS} of tables"
    parser.add_argument("--draws", type=int, help=f"rehearsals of each try (usually {usually})")
    parser.add_argument("--tables", action="store_true", help="the suite of tables: what their margins hold, at size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="a folder of other files, each with its schema and tries beside it")
    parser.add_argument("--public", type=Path, default=usual, help="where the public files are (or TACITA_DATA)")
    parser.add_argument("--out", type=Path, default=Path("build/accuracy"), help="the folder of results")
    parser.add_argument("--page", type=Path, help="where the page goes (usually beside the results)")
    parser.add_argument("--from", dest="made", type=Path, nargs="+", help="measure nothing: the page of these results")
    whole = "the page of an earlier run, whose other tries stay as they were; it is written again"
    parser.add_argument("--keep", type=Path, nargs="?", const=_PAGE, help=f"{whole} (usually {_PAGE})")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser


def known_files(told: argparse.Namespace) -> list[TriedFile]:
    return in_folder(told.data) if told.data is not None else public_files(told.public, tables=told.tables)


def chosen(told: argparse.Namespace) -> tuple[TriedFile, ...]:
    known = known_files(told)
    names = [one.name for one in known]
    if strangers := [name for name in told.file if name not in names]:
        raise UsageError(f"--file {strangers[0]}: is not there; known are {', '.join(names)}")
    return tuple(one for one in known if not told.file or one.name in told.file)


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """The content of results.json, or of coverage.json for tables, written with its page."""
    told = _arguments().parse_args(arguments)
    if told.keep is not None and told.tables:
        raise UsageError("--keep: is for the page of all plans, not for that of --tables")
    name = "coverage" if told.tables else "results"
    if told.made:
        documents = [json.loads(path.read_text(encoding="utf-8")) for path in told.made]
    else:
        documents = [_measured(told)]
        text = json.dumps(documents[0], indent=1, ensure_ascii=False, allow_nan=False)
        told.out.mkdir(parents=True, exist_ok=True)
        (told.out / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    rows = [row for document in documents for row in document["rows"]]
    document = documents[0] if len(documents) == 1 else {"version": version("tacita"), "rows": rows}
    whole = not (told.file or told.plan or told.data or told.made)
    usual = Path("docs/table-coverage.md") if told.tables else _PAGE
    place = told.page or told.keep or (usual if whole else told.out / usual.name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(coverage_page(document) if told.tables else _paged(documents, told), encoding="utf-8")
    return document


def _measured(told: argparse.Namespace) -> dict[str, Any]:
    draws = told.draws if told.draws is not None else TABLE_DRAWS if told.tables else DRAWS
    if draws < 1:
        raise UsageError("--draws: at least one")
    job = (TableJob if told.tables else Job)(chosen(told), tuple(told.plan), draws, told.seed)
    rows = [row for rows in each(job, len(job.places), told.workers, _say, "tries") for row in rows]
    return {"version": version("tacita"), "date": f"{datetime.now(UTC):%Y-%m-%d}", "rows": rows}


def _paged(documents: Sequence[dict[str, Any]], told: argparse.Namespace) -> str:
    """The page of these results; with --keep also of what that page says of other tries that the suite still has."""
    before = printed(told.keep.read_text(encoding="utf-8")) if told.keep is not None else []
    known = () if told.data is None and not told.public.is_dir() else known_files(told)
    suite = {file.name: [(one.mechanism, one.name) for one in attempts(file)] for file in known}
    return page(kept(before, measured(documents), suite))


def _say(what: str, done: int, total: int) -> None:
    sys.stderr.write(f"\r{what}: {done} of {total}{'' if done < total else chr(10)}")
    sys.stderr.flush()


def main() -> int:
    try:
        run(sys.argv[1:])
    except TacitaError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0
