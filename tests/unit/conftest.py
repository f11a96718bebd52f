"""Fixtures of the tests of ledgers and of the command line."""

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import SCHEMA, SPEC, Call, Said, write_jobs
from support.ledger_fakes import WORKER
from support.postgres_server import Server, ServerLedger, programs, running
from tacita import cli
from tacita.ledger import Ledger
from tacita.privacy import Loss
from tacita.release.run import run
from tacita.release.spec import Spec


def written(folder: Path) -> Path:
    (folder / "jobs.schema.toml").write_text(SCHEMA)
    (folder / "release.toml").write_text(SPEC)
    write_jobs(folder / "jobs.parquet")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture(scope="session")
def released_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = written(tmp_path_factory.mktemp("released"))
    run(Spec.load(folder / "release.toml"), folder / "bundle")
    return folder


@pytest.fixture
def released_folder(released_once: Path, tmp_path: Path) -> Path:
    """The folder after its first release: entry 3 of the ledger is one of ε = 1 under a cap of 2. A copy."""
    return Path(shutil.copytree(released_once, tmp_path, dirs_exist_ok=True))


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


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="needs psycopg (the extra postgres)")
    if programs() is None:
        pytest.skip("needs a PostgreSQL server (Debian: postgresql)")
    with running() as made:
        yield made


_NUMBERS = itertools.count(1)


@pytest.fixture(params=["file", "server"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | ServerLedger:
    """Where a ledger is to be: one contract for files and servers. `FILE_ALONE` marks what is about files."""
    if request.param == "file":
        return tmp_path / "panel.ledger"
    return ServerLedger(request.getfixturevalue("server").ledger(f"panel_{next(_NUMBERS)}"))


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.open(path, cap=Loss("1"), neighbours=WORKER)
