"""Fixtures of the tests of ledgers and of the command line."""

from pathlib import Path

import pytest

from support.command_line import SCHEMA, SPEC, Call, Said, write_jobs
from support.ledger_fakes import WORKER
from tacita import cli
from tacita.ledger import Ledger
from tacita.privacy import Loss


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.schema.toml").write_text(SCHEMA)
    (tmp_path / "release.toml").write_text(SPEC)
    write_jobs(tmp_path / "jobs.parquet")
    return tmp_path


@pytest.fixture
def tacita(capfd: pytest.CaptureFixture[str]) -> Call:
    def call(*arguments: object) -> Said:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main([str(one) for one in arguments])
        code = stop.value.code
        out, err = capfd.readouterr()
        return Said(code if isinstance(code, int) else 0, out, err)

    return call


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "panel.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.open(path, cap=Loss("1"), neighbours=WORKER)
