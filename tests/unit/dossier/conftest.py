"""Files to evaluate, and one dossier that several tests look at."""

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.dossier import request, write
from tacita.dossier.findings import Findings
from tacita.dossier.run import evaluate


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write(tmp_path_factory.mktemp("files"))


@dataclass(frozen=True)
class Timed:
    """A dossier, what was announced before, and the seconds of computing it took."""

    findings: Findings
    out: Path
    said: list[str]
    seconds: float


@pytest.fixture(scope="session")
def timed(paths: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Timed:
    """A dossier of two good files, with everything declared and a hold-out."""
    out, said, start = tmp_path_factory.mktemp("dossier") / "good", list[str](), time.process_time()
    findings = evaluate(request(paths, holdout=paths["holdout"]), out, say=said.append)
    return Timed(findings, out, said, time.process_time() - start)


@pytest.fixture(scope="session")
def made(timed: Timed) -> tuple[Findings, Path]:
    return timed.findings, timed.out
