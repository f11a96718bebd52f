"""Runs fuzzed cases one after the other and says of each how it ended, in a line of JSON.

A process of its own, so that whoever watches it can notice a hang and end it. One case by itself, to look into it:
    PYTHONPATH=src:tests python -m support.fuzzing.worker specs 1 1234 1235 --show
"""

import contextlib
import copy
import io
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from support.fuzzing.mutating import adjust, mutate, spoil, to_toml
from support.fuzzing.odd_files import odd_file
from support.fuzzing.starting_points import MARKS, STARTS, Content, Start
from tacita import cli
from tacita.errors import TacitaError
from tacita.ledger import Ledger
from tacita.release import records

EXIT_CODES = {1, 2, 3, 4}
PLAN, RUN = ["plan", "release.toml", "--debug"], ["run", "release.toml", "--out", "bundle", "--debug"]


def prepared(kind: str, random: Random, start: Start, folder: Path) -> list[str]:
    """Write one case into the folder; returned is the call of the command line.

    specs: changed specifications and schemas, planned. broken: the same, run on good rows. runs: mostly plausible
    changes, run on good rows. files: a good specification on odd rows. valid: nothing is changed.
    """
    spec, schema = copy.deepcopy(start.spec), copy.deepcopy(start.schema)
    if kind == "files":
        spec["data"], write = odd_file(random, start)
        write(folder / spec["data"])
        if random.random() < 0.4:
            _forgive(schema)
        return _written(spec, schema, folder, RUN)
    for _ in range(random.choice([1, 1, 1, 2, 3]) if kind != "valid" else 0):
        change = adjust if kind == "runs" and random.random() < 0.7 else mutate
        change(random, spec if random.random() < 0.6 else schema)
    if kind == "specs":
        call = _written(spec, schema, folder, PLAN)
        if random.random() < 0.08:
            name = random.choice(["release.toml", "x.schema.toml"])
            (folder / name).write_bytes(spoil(random, (folder / name).read_text(encoding="utf-8")))
        return call
    # Where files lie is the subject of specs; here every run finds its rows, and writes into its own folder.
    spec |= {"schema": "x.schema.toml", "data": "x.parquet", "ledger": "x.ledger"}
    start.rows().to_parquet(folder / "x.parquet", index=False)
    return _written(spec, schema, folder, RUN)


def _written(spec: Content, schema: Content, folder: Path, call: list[str]) -> list[str]:
    (folder / "release.toml").write_bytes(to_toml(spec).encode())
    (folder / "x.schema.toml").write_bytes(to_toml(schema).encode())
    return call


def _forgive(schema: Content) -> None:
    """Let every confidential column take what is missing or outside, so that odd rows are measured too."""
    for one in schema["variables"].values():
        if one["role"] not in ("confidential", "worker"):
            continue
        if one["type"] == "categorical":
            one |= {"missing": one["levels"][0], "outside": one["levels"][0]}
        else:
            one |= {"missing": one["lower"]}
            one.pop("outside", None)


@cache
def paid(start: Start) -> bytes:
    """A ledger that holds one release of these rows."""
    with _folder_of_its_own() as folder:
        found = outcome(folder, prepared("valid", Random(0), start, folder))
        assert found["end"] == "done", found
        return (folder / "x.ledger").read_bytes()


def outcome(folder: Path, call: list[str]) -> dict[str, Any]:
    """How one call ended, and the worst that is wrong with that."""
    ledger, said, found = folder / "x.ledger", io.StringIO(), {}
    before = ledger.read_bytes() if ledger.is_file() else None
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.chdir(folder):
        try:
            cli.main(call)
            found = {"end": "done"}
        except SystemExit as stop:
            found = {"end": "done" if stop.code in (0, None) else f"exit {stop.code}"}
        except TacitaError as error:
            said.write(str(error))
            found = {"end": type(error).__name__, "code": error.exit_code}
        except Exception as error:
            found = {"end": "crash", "wrong": f"{type(error).__name__} at {_where(error)}"}
    found["said"] = said.getvalue()[-400:]
    if found.get("code", 2) not in EXIT_CODES:
        found["wrong"] = f"exit code {found['code']}"
    if found["end"] == "done":
        if call is RUN and not (folder / "bundle" / "manifest.json").is_file():
            found["wrong"] = "done without a bundle"
    elif _charged(ledger, before):
        found["wrong"] = f"the ledger changed, no result; {found.get('wrong', found['end'])}"
    if any(MARKS[0].encode() in one.read_bytes() for one in (folder / "bundle").rglob("*") if one.is_file()):
        found["wrong"] = "an id of the file in the bundle"
    if any(mark in said.getvalue() for mark in MARKS):
        found["wrong"] = "a value of the file in a message"
    return found


def _charged(ledger: Path, before: bytes | None) -> bool:
    """Whether a call that failed left something: any byte in a ledger in use, an entry in a new one."""
    if before is not None:
        return ledger.read_bytes() != before
    return ledger.is_file() and any(one.kind == "reserve" for one in Ledger.open(ledger, read_only=True).entries())


def _where(error: BaseException) -> str:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if f"{os.sep}tacita{os.sep}" in one.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno} ({last.name})"


@contextlib.contextmanager
def _folder_of_its_own() -> Iterator[Path]:
    above = Path(tempfile.mkdtemp(prefix="tacita-fuzz-"))
    try:
        folder = above / "one" / "two"  # so that ../../x is still ours
        folder.mkdir(parents=True)
        yield folder
    finally:
        shutil.rmtree(above, ignore_errors=True)


def main(kind: str, seed: int, first: int, last: int, show: bool) -> None:
    warnings.simplefilter("ignore")
    records.render_page = lambda *given: "<p>"  # type: ignore[attr-defined]  # charts take a second each
    for number in range(first, last):
        random = Random(f"{kind}-{seed}-{number}")
        start = STARTS[number] if kind == "valid" else random.choice(STARTS)
        with _folder_of_its_own() as folder:
            call = prepared(kind, random, start, folder)
            if kind in ("broken", "runs") and number % 2:
                (folder / "x.ledger").write_bytes(paid(start))
            begun = time.process_time()
            found = outcome(folder, call)
            found |= {"number": number, "start": start.name, "seconds": round(time.process_time() - begun, 2)}
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
            for name in ("release.toml", "x.schema.toml") if show else ():
                sys.stdout.write((folder / name).read_bytes().decode(errors="replace")[:3000] + "\n")


if __name__ == "__main__":
    _kind, *_numbers = [one for one in sys.argv[1:] if one != "--show"]
    main(_kind, *map(int, _numbers), show="--show" in sys.argv)  # type: ignore[call-arg]
