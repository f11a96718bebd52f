"""`make accuracy`: `python -m tacita_studies.accuracy [--file NAME] [--plan NAME] [--draws 3] [--data DIR]`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tacita.errors import TacitaError, UsageError
from tacita_studies.accuracy.folder import TriedFile, in_folder, public_files
from tacita_studies.accuracy.measure import attempts
from tacita_studies.accuracy.page import page
from tacita_studies.harness.replicates import each

DRAWS = 8  # about half an hour on two cores
_USUAL_DATA = Path("../shared/data")


@dataclass(frozen=True)
class Job:
    """All tries of the suite by their number, for any process."""

    files: tuple[TriedFile, ...]
    plans: tuple[str, ...]
    draws: int
    seed: int

    @property
    def places(self) -> list[tuple[TriedFile, int]]:
        return [
            (file, at)
            for file in self.files
            for at, one in enumerate(attempts(file))
            if not self.plans or one.mechanism in self.plans
        ]

    def __call__(self, number: int) -> list[dict[str, Any]]:
        warnings.simplefilter("ignore")
        file, at = self.places[number]
        return [row.as_json() for row in attempts(file)[at].rows(range(self.draws), self.seed)]


def _arguments() -> argparse.ArgumentParser:
    usual = Path(os.environ.get("TACITA_DATA", _USUAL_DATA))
    parser = argparse.ArgumentParser(prog="make accuracy", description="What every plan is worth on real files.")
    parser.add_argument("--file", action="append", default=[], help="only this file; may be given several times")
    parser.add_argument("--plan", action="append", default=[], help="only this plan, such as SurveySynthesis")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"rehearsals of each try (usually {DRAWS})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="a folder of other files, each with its schema and tries beside it")
    parser.add_argument("--public", type=Path, default=usual, help="where the public files are (or TACITA_DATA)")
    parser.add_argument("--out", type=Path, default=Path("build/accuracy"), help="the folder of results.json")
    parser.add_argument("--page", type=Path, help="where the page goes (usually beside results.json)")
    parser.add_argument("--from", dest="made", type=Path, nargs="+", help="measure nothing: the page of these results")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser


def chosen(told: argparse.Namespace) -> tuple[TriedFile, ...]:
    known = in_folder(told.data) if told.data is not None else public_files(told.public)
    names = [one.name for one in known]
    if strangers := [name for name in told.file if name not in names]:
        raise UsageError(f"--file {strangers[0]}: is not there; known are {', '.join(names)}")
    return tuple(one for one in known if not told.file or one.name in told.file)


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """The content of results.json, written with its page."""
    told = _arguments().parse_args(arguments)
    if told.made:
        documents = [json.loads(path.read_text(encoding="utf-8")) for path in told.made]
        rows = [row for document in documents for row in document["rows"]]
    else:
        if told.draws < 1:
            raise UsageError("--draws: at least one")
        job = Job(chosen(told), tuple(told.plan), told.draws, told.seed)
        rows = [row for rows in each(job, len(job.places), told.workers, _say, "tries") for row in rows]
    document = {"version": version("tacita"), "rows": rows}
    told.out.mkdir(parents=True, exist_ok=True)
    if not told.made:
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        (told.out / "results.json").write_text(text + "\n", encoding="utf-8")
    whole = not (told.file or told.plan or told.data or told.made)
    place = told.page or (Path("docs/accuracy.md") if whole else told.out / "accuracy.md")
    place.write_text(page(document), encoding="utf-8")
    return document


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
