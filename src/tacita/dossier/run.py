"""Reads the files, asks the questions, writes `dossier.html` and `dossier.json`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tacita.data.confidential import Confidential
from tacita.dossier.comparators import Compared, compared, methods
from tacita.dossier.files import File, common_columns, common_kind, original_file, plain_file, synthetic_paths
from tacita.dossier.findings import Findings
from tacita.dossier.page import render_dossier
from tacita.dossier.questions import Answer, Progress, Scope, Skipped, answer, questions, scope_of, trend_questions
from tacita.dossier.record import changes, read_earlier, touches, write_record
from tacita.dossier.request import Request, attacked
from tacita.dossier.tables import TableCheck, check_tables
from tacita.errors import RefusedError, UsageError
from tacita.evaluation import Comparison, compare
from tacita.evaluation.risk.plans import LEAST_RUNS
from tacita.privacy import Guarantee
from tacita.privacy.json_form import guarantee_from_json
from tacita.release.folder import check_target, written_whole
from tacita.release.page_products import worth_of

_START, _PER_FILE = 2, 6  # seconds for the page, and for the models of each synthetic file, whatever its size
_PER_CELL = 1e-6  # seconds more per row and column, on two ordinary cores
_PER_PAIR = 6e-8  # … and per row and pair of columns, for marginals and interactions
_TRIED = 1_000_000  # numbers that are sorted to see how busy the machine is: a twentieth of a second
_BUSY = 1.5  # times as long as alone: said from here on
_BYTES = 60  # working memory per row, column and file


@dataclass(frozen=True)
class Looked:
    """What the synthetic files gave."""

    files: tuple[File, ...] = ()
    left_out: tuple[str, ...] = ()
    comparison: Comparison | None = None
    scope: Scope | None = None
    answers: tuple[Answer, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    practice: tuple[Compared, ...] = ()


def evaluate(
    request: Request,
    out: Path,
    *,
    force: bool = False,
    progress: Progress = lambda step, done, total: None,
    say: Callable[[str], None] = lambda sentence: None,
) -> Findings:
    """Make the dossier. Whatever can be refused is refused before the first row is read."""
    started = time.perf_counter()
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    _check(request, out, force)
    earlier = read_earlier(request.earlier) if request.earlier is not None else None
    looked = _microdata(request, progress, say) if request.synthetic else Looked()
    tables, unchecked = _tables(request, progress) if request.bundle is not None else ((), ())
    attacks, unattacked = attacked(request, progress)
    progress("Writing the dossier", 1, 1)
    columns = looked.comparison.original.names if looked.comparison is not None else ()
    findings = Findings(
        title=request.title,
        moment=moment,
        version=version("tacita"),
        seconds=time.perf_counter() - started,
        files=looked.files,
        left_out=looked.left_out,
        comparison=looked.comparison,
        scope=looked.scope,
        answers=looked.answers,
        skipped=(*looked.skipped, *unchecked, *unattacked),
        compared=looked.practice,
        tables=tables,
        attacks=attacks,
        promise=_promise(request),
        limits=request.asked.limits,
        product=_product(request),
        self_check=_self_check(request),
        unsure=_unsure(request),
        touches=tuple(
            touches(request.ledger, moment, columns, [one.name for one in tables], [one.product for one in attacks])
        ),
    )
    if earlier is not None:
        findings = replace(findings, earlier=earlier["made"], changes=tuple(changes(earlier, findings.scores())))
    with written_whole(out, force=force, kind="dossier", keep=request.named) as folder:
        folder.chmod(0o700)  # confidential: for its owner alone, unlike a bundle
        (folder / "dossier.html").write_text(render_dossier(findings), encoding="utf-8")
        write_record(folder / "dossier.json", findings.document())
    return findings


def _check(request: Request, out: Path, force: bool) -> None:
    for place in (out.absolute(), *out.absolute().parents):
        if is_bundle(place):
            raise RefusedError(
                f"--out {out}: lies inside the bundle {place}; a dossier is confidential and a bundle is handed on. "
                "Name a folder elsewhere"
            )
    check_target(out, force=force, kind="dossier", keep=request.named)
    if not request.synthetic and request.bundle is None and not request.attacks:
        raise UsageError("evaluate: nothing to evaluate; give --synthetic FILE, or --bundle DIR for published tables")
    if request.original is None:
        raise UsageError("--original: is missing; give the confidential file, or a specification that names it")
    if request.bundle is not None and not is_bundle(request.bundle):
        raise UsageError(f"--bundle {request.bundle}: is not a bundle; give the folder that `tacita run` wrote")
    if request.bundle is not None and request.schema is None:
        raise UsageError("--bundle: needs the schema of the confidential file; give --schema, or a specification")
    if request.attacks and request.attacks < LEAST_RUNS:
        raise UsageError(f"--attacks: fewer than {LEAST_RUNS} runs show nothing; use at least that, better 1000")
    if request.most_rows < 1:
        raise UsageError("--rows: must be at least 1")


def is_bundle(folder: Path) -> bool:
    """Whether a folder is a bundle, or a bundle's remains."""
    manifest = folder / "manifest.json"
    return manifest.is_file() and b"tacita_bundle" in manifest.read_bytes()


def _microdata(request: Request, progress: Progress, say: Callable[[str], None]) -> Looked:
    if not isinstance(request.original, str):
        raise UsageError(
            "--original: the specification's data are linked tables; give one file with the columns of the synthetic "
            "files"
        )
    most = request.most_rows
    paths = synthetic_paths(request.synthetic)
    progress("Reading the original", 0, 1)
    loaded = [original_file(request.original, request.schema, most)]
    progress("Reading the synthetic files", 0, 1)
    loaded += [plain_file(path, f"synthetic {at}", request.schema, most) for at, path in enumerate(paths, start=1)]
    if request.holdout is not None:
        loaded.append(plain_file(request.holdout, "hold-out", request.schema, most))
    files = tuple(file for file, _ in loaded)
    tables = [table for _, table in loaded]
    del loaded
    names, left_out = common_columns(tables, request.schema)
    say(estimate(files, len(names), shared_with()))
    progress("Encoding the files", 0, 1)
    held = tables[-1] if request.holdout is not None else None
    synthetic = tables[1 : 1 + len(paths)]
    comparison = compare(
        tables[0],
        synthetic,
        schema=request.schema,
        holdout=held,
        columns=names,
        categorical=[name for name in request.categorical if name in names],
    )
    scope = scope_of(comparison, request.asked, common_kind(paths))
    trends = None
    if scope.panel is not None:
        trends = compare(tables[0], synthetic, columns=list(scope.panel.stored))
    del tables, synthetic, held  # the encoding is what the metrics use
    asked, skipped = questions(comparison, scope)
    about_trends = trend_questions(scope.panel) if scope.panel is not None else ()
    total = len(asked) + len(about_trends) + 1 + len(methods(scope.known))
    answers, unanswered = answer(comparison, asked, progress, 0, total)
    if trends is not None:
        more, gone = answer(trends, about_trends, progress, len(asked), total)
        answers, unanswered = [*answers, *more], [*unanswered, *gone]
    done = len(asked) + len(about_trends)
    practice = compared(comparison, scope.known, lambda step: progress(step, done, total))
    return Looked(files, tuple(left_out), comparison, scope, tuple(answers), (*unanswered, *skipped), tuple(practice))


def shared_with() -> float:
    """How many times longer work takes now than its computing: 1 on an idle machine, 4 where three others work too."""
    wall, busy = time.perf_counter(), time.process_time()
    np.sort(np.sin(np.arange(_TRIED)))
    return max(1.0, (time.perf_counter() - wall) / max(time.process_time() - busy, 1e-3))


def estimate(files: tuple[File, ...], columns: int, shared: float = 1.0) -> str:
    """How long and how much memory, said before the work starts; a guess within a factor of about two."""
    rows = sum(one.looked_at for one in files)
    pairs = columns * (columns - 1) / 2
    fits = (len(files) - 1) * _PER_FILE
    seconds = shared * (_START + fits + rows * columns * _PER_CELL + rows * pairs * _PER_PAIR)
    memory = 0.4 + rows * columns * _BYTES / 1e9
    spoken = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    busy = f" The machine is busy: that is {shared:.0f} times as long as alone." if shared >= _BUSY else ""
    return f"About {spoken} and {memory:.1f} GB of memory for {rows:,} rows of {columns} columns.{busy}"


def _promise(request: Request) -> Guarantee | None:
    return None if request.bundle is None else guarantee_from_json(_plan(request.bundle)["guarantee"])


def _product(request: Request) -> str:
    """What the synthetic files are called: by their title where they are a bundle's."""
    of_bundle = request.bundle is not None and request.synthetic == (request.bundle,)
    titles = [one["title"] for one in _plan(request.bundle)["microdata"]] if of_bundle and request.bundle else []
    return str(titles[0]) if titles else "Synthetic files"


def _self_check(request: Request) -> str | None:
    """The verdict of the paid self-check, where the bundle's own files are looked at and have one."""
    if request.bundle is None or request.synthetic != (request.bundle,):
        return None
    checks = [one.get("check") for one in _plan(request.bundle)["microdata"]]
    return next((str(one["verdict"]) for one in checks if one), None)


def _unsure(request: Request) -> bool:
    """Whether the public page says that numbers of the bundle's own files are for trying out code."""
    if request.bundle is None or request.synthetic != (request.bundle,) or request.schema is None:
        return False
    told = (worth_of(request.bundle, one, request.schema) for one in _plan(request.bundle)["microdata"])
    return any(one is not None and not one.enough for one in told)


def _plan(bundle: Path) -> dict[str, Any]:
    return dict(json.loads((bundle / "plan.json").read_text(encoding="utf-8")))


def _tables(request: Request, progress: Progress) -> tuple[tuple[TableCheck, ...], tuple[Skipped, ...]]:
    assert request.bundle is not None
    assert request.schema is not None
    assert request.original is not None
    progress("Making the exact tables", 0, 1)
    data = Confidential.open(request.original, request.schema)
    checks, skipped = check_tables(request.bundle, data, request.asked.limits)
    return tuple(checks), tuple(skipped)
