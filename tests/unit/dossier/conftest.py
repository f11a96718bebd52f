"""Files to evaluate, and one dossier that several tests look at."""

from pathlib import Path

import pytest

from support.dossier import request, write
from tacita.dossier.findings import Findings
from tacita.dossier.run import evaluate


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="session")
def made(paths: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Findings, Path]:
    """A dossier of two good files, with everything declared and a hold-out."""
    out = tmp_path_factory.mktemp("dossier") / "good"
    return evaluate(request(paths, holdout=paths["holdout"]), out), out
