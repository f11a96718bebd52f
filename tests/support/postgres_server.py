"""A PostgreSQL server of the tests' own: made in a temporary folder, reached by a socket there, gone with it."""

import os
import pickle
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

PLACES = ("/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt")  # Debian keeps its tools off the path


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; None where there is no server."""
    if there := shutil.which("pg_ctl"):
        return Path(there).resolve().parent
    folders = sorted((one for place in PLACES for one in Path(place).glob("*/bin/pg_ctl")), reverse=True)
    return folders[0].parent if folders else None


class Server:
    """One server with one database, `statistics`, and whoever connects a superuser but for people made by `person`."""

    def __init__(self, folder: Path, tools: Path) -> None:
        self.folder, self._tools = folder, tools
        self._data = folder / "data"

    def address(self, person: str = "postgres") -> str:
        return f"postgresql://{person}@/statistics?host={quote(str(self.folder), safe='')}"

    def ledger(self, name: str, person: str = "postgres") -> str:
        return f"{self.address(person)}#{name}"

    def make(self) -> None:
        self._run("initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-locale", "-D", self._data)
        settings = f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 120\n"
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(settings)
        self.start()
        self._run("createdb", "-h", self.folder, "-U", "postgres", "statistics")

    def start(self, *, fsync: str = "on") -> None:
        settings = f"-c fsync={fsync}"
        self._run("pg_ctl", "-w", "-t", "60", "-D", self._data, "-l", self.folder / "log", "-o", settings, "start")

    def kill(self) -> None:
        """As a power cut would: no process of it says goodbye to anyone, and nothing is written down any more."""
        self._run("pg_ctl", "-w", "-D", self._data, "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._tools / program), *map(str, arguments)]
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            command = ["setpriv", "--reuid=nobody", "--clear-groups", *command]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": self.folder, "text": True}
        done = subprocess.run(command, check=False, **quiet)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr


@contextmanager
def running() -> Iterator[Server]:
    """A server for as long as the block lasts."""
    tools = programs()
    assert tools is not None, "ask `programs` first"
    # Not pytest's folder: the path of a socket must be short, and others than root must get there. In memory where
    # there is room: what a killed server leaves is the same.
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and shutil.disk_usage(memory).free > 1 << 30 else None
    with tempfile.TemporaryDirectory(prefix="pg-", dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if os.getuid() == 0:
            shutil.chown(folder, "nobody")
        server = Server(folder, tools)
        try:
            server.make()
            yield server
        finally:
            if (folder / "data" / "postmaster.pid").exists():
                server.kill()


class ServerLedger(str):
    """The address of a ledger that answers a test's questions as the path of a file does: all its bytes at once."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self.rpartition("#")[2]

    def with_name(self, name: str) -> "ServerLedger":
        return ServerLedger(f"{self}_{name.partition('.')[0]}")

    def sql(self, *statements: str) -> list[tuple[object, ...]]:
        """What the last statement gives, run by a superuser."""
        import psycopg

        with psycopg.connect(self.rpartition("#")[0], autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.format(name=self.name).encode())
            return cursor.fetchall() if cursor.description else []

    def exists(self) -> bool:
        return bool(self.sql("SELECT 1 FROM pg_namespace WHERE nspname = '{name}'"))

    def unlink(self) -> None:
        self.sql("DROP SCHEMA {name} CASCADE")

    def read_bytes(self) -> bytes:
        return pickle.dumps(
            [self.sql(f"SELECT * FROM {{name}}.{one} ORDER BY number") for one in ("entries", "results")]
        )

    def write_bytes(self, content: bytes) -> None:
        """Put back an older state, past the guards, as only an administrator can."""
        older = [{row[0] for row in rows} for rows in pickle.loads(content)]
        for table, numbers in reversed(list(zip(("entries", "results"), older, strict=True))):
            place, kept = f"{{name}}.{table}", ", ".join(map(str, numbers)) or "0"
            self.sql(
                f"ALTER TABLE {place} DISABLE TRIGGER {table}_kept",
                f"DELETE FROM {place} WHERE number NOT IN ({kept})",
                f"ALTER TABLE {place} ENABLE ALWAYS TRIGGER {table}_kept",
            )
