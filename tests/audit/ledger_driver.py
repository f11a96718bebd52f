"""Processes that spend from one ledger and are killed, or race one another. Run as a script by the tests beside it.

A path is a file's; "server" stands for a PostgreSQL server that is started for the task and stopped after it.

It forks, so it has to be a small process with one thread of its own rather than part of the test runner.
Prints one JSON object of counts; an assertion that fails ends it with a traceback.
"""

import hashlib
import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # which numpy starts when it is loaded

import tacita.plan  # noqa: F401  (loaded once, before the first fork: a ledger loads it when first asked for a share)
from support.ledger_fakes import WORKER as UNIT
from support.ledger_fakes import FakeData, FakePlan, FakeResult
from support.postgres_server import Server, running
from tacita.errors import RefusedError, TacitaError
from tacita.ledger import Ledger
from tacita.privacy import Loss

SHARE = Loss("1/7")
SHARES_PER_FAMILY = 20
KILLS_PER_FAMILY = 8
FOR_EVER = 600.0  # seconds that a plan runs which is to be killed
CLIENTS = 4  # that are spending when a server is killed
Place = str | Path


@dataclass(frozen=True)
class Plan(FakePlan):
    """Takes its time, so that a kill can come while it runs."""

    seconds: float = 0.0

    def run(self, data: object, entropy: object) -> FakeResult:
        time.sleep(self.seconds)
        return super().run(data, entropy)


def file_called(name: str) -> FakeData:
    return FakeData(name, f"rows of {name}")


def spend(ledger: Ledger, plan: Plan, data: FakeData) -> str:
    """The SHA-256 of what was released."""
    result = ledger.release(plan, data, label=plan.name)  # type: ignore[arg-type]
    return hashlib.sha256(result.to_bytes()).hexdigest()


def fork(work: Callable[[int], None]) -> tuple[int, int]:
    """A child that runs `work(pipe)`; returns its id and the reading end of the pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    status = 1
    try:
        work(writing)
        status = 0
    finally:
        os._exit(status)


def end(child: int, pipe: int, enough: Callable[[bytes], bool], moment: float) -> list[str]:
    """Kill a child some time after it has said enough, and return everything it managed to say."""
    said = b""
    while not enough(said):
        more = os.read(pipe, 1 << 16)
        assert more, "a process ended before it was killed"
        said += more
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(pipe, 1 << 16):
        said += more
    os.close(pipe)
    return said.decode().splitlines()


def lines(count: int) -> Callable[[bytes], bool]:
    return lambda said: said.count(b"\n") >= count


def refused(said: bytes) -> bool:
    return b"refused\n" in said


def answered(said: bytes) -> bool:
    """By a server that is there again: released or refused, and not only told that it is away."""
    return any(line != b"broken" for line in said.split(b"\n")[:-1])


def seconds_for(work: Callable[[], object]) -> float:
    """How long something takes on this disk, so that the kills fall all over it."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# ---------------------------------------------------------------- killed


def crash(path: Place, kills: int, seed: int) -> dict[str, int]:
    """Kill a spending child `kills` times, and check the whole ledger after each.

    Most kills come at any moment. So that no count hangs on chance, the first of every family of kills comes while a
    plan runs, and the last when the cap is reached.
    """
    moments = random.Random(seed)
    cap = SHARE * SHARES_PER_FAMILY
    Ledger.open(path, cap=cap, neighbours=UNIT)
    counts = {"kills": 0, "confirmed": 0, "inside_a_write": 0, "refused": 0}
    before: list[str] = []
    spare = file_called("for timing")
    for turn in range(kills):
        if turn % KILLS_PER_FAMILY == 0:
            typical = seconds_for(lambda turn=turn: spend(Ledger.open(path), Plan(f"timing {turn}", SHARE), spare))
        data = file_called(f"file {turn // KILLS_PER_FAMILY}")

        # A write to a server takes longer, so runs do too: a fair part of the kills must fall into them.
        running_for = 0.002 if isinstance(path, Path) else typical
        first, last = turn % KILLS_PER_FAMILY == 0, turn % KILLS_PER_FAMILY == KILLS_PER_FAMILY - 1
        seconds = (FOR_EVER, FOR_EVER) if first else (0.0, running_for)

        def keep_spending(
            pipe: int, turn: int = turn, data: FakeData = data, seconds: tuple[float, float] = seconds
        ) -> None:
            ledger = Ledger.open(path, cap=cap, neighbours=UNIT)
            os.write(pipe, b"\n")
            for step in range(10_000):
                try:
                    seal = spend(ledger, Plan(f"{turn}/{step}", SHARE, seconds=seconds[step % 2]), data)
                    os.write(pipe, f"{turn}/{step} {seal}\n".encode())
                except RefusedError:
                    os.write(pipe, b"refused\n")

        unfinished = len(Ledger.open(path).interrupted())
        child, pipe = fork(keep_spending)
        while first and len(Ledger.open(path).interrupted()) == unfinished:
            time.sleep(0.01)
        enough = refused if last else lines(1 if first else moments.randint(1, 4))
        said = [line for line in end(child, pipe, enough, moments.uniform(0, 2 * typical)) if line]
        counts["kills"] += 1
        counts["inside_a_write"] += isinstance(path, Path) and path.with_name(f"{path.name}-journal").exists()
        counts["refused"] += "refused" in said
        confirmed = dict(line.split() for line in said if line != "refused" and len(line.split()) == 2)
        counts["confirmed"] += len(confirmed)
        before = inspect(path, data, confirmed, before, cap)
    ledger = Ledger.open(path)
    counts["interrupted"] = len(ledger.interrupted())
    counts["reservations"] = sum(entry.kind == "reserve" for entry in ledger.entries())
    return counts


def crash_server(server: Server, kills: int, seed: int) -> dict[str, int]:
    """Kill a server `kills` times under several spending clients, and check the whole ledger after each."""
    moments = random.Random(seed)
    cap, path = SHARE * SHARES_PER_FAMILY, server.ledger("killed")
    Ledger.open(path, cap=cap, neighbours=UNIT)
    counts = {"kills": 0, "confirmed": 0, "answered_after": 0, "broken": 0}
    before: list[str] = []
    for turn in range(kills):
        spare = Plan(f"timing {turn}", Loss("1/1000"))
        typical = seconds_for(lambda spare=spare: spend(Ledger.open(path), spare, file_called("for timing")))
        data = file_called(f"file {turn}")

        def keep_spending(pipe: int, runner: int, turn: int = turn, data: FakeData = data) -> None:
            ledger = Ledger.open(path)
            os.write(pipe, b"\n")
            for step in range(10_000):
                try:
                    name = f"{turn}/{runner}/{step}"
                    seal = spend(ledger, Plan(name, SHARE, seconds=0.005 * (step % 2)), data)
                    os.write(pipe, f"{name} {seal}\n".encode())
                except RefusedError:
                    os.write(pipe, b"refused\n")
                    time.sleep(0.02)
                except TacitaError:
                    os.write(pipe, b"broken\n")

        children = [fork(lambda pipe, runner=runner: keep_spending(pipe, runner)) for runner in range(CLIENTS)]
        early = b"".join(os.read(pipe, 1 << 16) for _, pipe in children)  # each has begun
        time.sleep(moments.uniform(0, 3 * CLIENTS * typical))
        server.kill()
        counts["kills"] += 1
        early += b"".join(_waiting(pipe) for _, pipe in children)
        server.start()
        # The same clients go on.
        late = "\n".join(
            line for child, pipe in children for line in end(child, pipe, answered, moments.uniform(0, 2 * typical))
        )
        said = f"{early.decode()}\n{late}".splitlines()
        counts["broken"] += said.count("broken")
        confirmed = dict(line.split() for line in said if len(line.split()) == 2)
        counts["confirmed"] += len(confirmed)
        counts["answered_after"] += sum(line != "broken" for line in late.splitlines())
        before = inspect(path, data, confirmed, before, cap)
    counts["interrupted"] = len(Ledger.open(path).interrupted())
    return counts


def _waiting(pipe: int) -> bytes:
    """What was said so far and not read yet; whole lines, since each is written at once."""
    return os.read(pipe, 1 << 16) if select.select([pipe], [], [], 0)[0] else b""


def inspect(path: Place, data: FakeData, confirmed: dict[str, str], before: list[str], cap: Loss) -> list[str]:
    ledger = Ledger.open(path)
    with ledger._store.writing():
        pass  # a server may still be at the last word of a client that is gone
    ledger.verify()
    entries = ledger.entries()
    hashes = [entry.hash for entry in entries]
    assert hashes[: len(before)] == before, "an entry that was there is gone"
    reserved = [entry for entry in entries if entry.kind == "reserve"]
    labels = [entry.label for entry in reserved]
    assert len(set(labels)) == len(labels), "a release was charged twice"
    released = {entry.label for entry in reserved if entry.state == "released"}
    assert confirmed.keys() <= released, "a confirmed spend is lost"
    for label, seal in confirmed.items():
        assert spend(ledger, Plan(label, SHARE), data) == seal, "a stored result is not the one that was returned"
    mine = [entry for entry in reserved if entry.identity == data.identity]
    assert ledger.spent(UNIT, data.identity) == SHARE * len(mine)
    assert ledger.spent(UNIT, data.identity) <= cap
    unfinished = [entry for entry in reserved if entry.state.startswith("reserved, never finished")]
    assert unfinished == ledger.interrupted()
    assert [entry.hash for entry in ledger.entries()] == hashes, "looking changed the ledger"
    return hashes


def crash_creating(folder: Path, kills: int, seed: int) -> dict[str, int]:
    """Kill a child that creates ledgers; whatever it leaves behind can be opened."""
    moments = random.Random(seed)
    cap = Loss("1")
    counts = {"kills": 0, "files": 0}
    typical = seconds_for(lambda: Ledger.open(folder / "timing", cap=cap, neighbours=UNIT))
    for turn in range(kills):

        def keep_creating(pipe: int, turn: int = turn) -> None:
            os.write(pipe, b"\n")
            for step in range(10_000):
                Ledger.open(folder / f"{turn}-{step}.ledger", cap=cap, neighbours=UNIT)

        child, pipe = fork(keep_creating)
        end(child, pipe, lines(1), moments.uniform(0, 3 * typical))
        counts["kills"] += 1
        for path in folder.glob(f"{turn}-*.ledger"):
            counts["files"] += 1
            ledger = Ledger.open(path, cap=cap, neighbours=UNIT)
            ledger.verify()
            assert [entry.kind for entry in ledger.entries()] == ["open", "cap"]
    return counts


# ---------------------------------------------------------------- racing


def together(runners: int, work: Callable[[int], str]) -> list[str]:
    """Run `work(0)` … `work(runners - 1)` in processes that start at the same moment; what each returned."""
    gate, opener = os.pipe()
    children = []
    for runner in range(runners):

        def wait_and_run(pipe: int, runner: int = runner) -> None:
            os.close(opener)
            os.read(gate, 1)  # returns when the parent closes the other end
            os.write(pipe, work(runner).encode())

        children.append(fork(wait_and_run))
    os.close(gate)
    os.close(opener)
    said = []
    for child, pipe in children:
        answer = b""
        while more := os.read(pipe, 1 << 16):
            answer += more
        os.close(pipe)
        assert os.waitpid(child, 0)[1] == 0, "a racing process failed"
        said.append(answer.decode())
    return said


def race(path: Place, rounds: int, runners: int) -> dict[str, Any]:
    """Every round is one data set with one share left and `runners` processes that want it."""
    cap = Loss("1")
    winners = []
    for turn in range(rounds):
        data = file_called(f"file {turn}")
        spend(Ledger.open(path, cap=cap, neighbours=UNIT), Plan("before", Loss("0.9")), data)

        def want_the_rest(runner: int, data: FakeData = data) -> str:
            try:
                spend(Ledger.open(path), Plan(f"runner {runner}", Loss("0.1"), seconds=0.001), data)
            except RefusedError as refusal:
                return "refused" if "left is ε = 0." in str(refusal) else str(refusal)
            return "got it"

        said = together(runners, want_the_rest)
        assert set(said) <= {"got it", "refused"}, said
        winners.append(said.count("got it"))
        assert Ledger.open(path).spent(UNIT, data.identity) == cap
    ledger = Ledger.open(path)
    ledger.verify()
    return {"winners": winners, "interrupted": len(ledger.interrupted())}


def race_to_fill(path: Place, runners: int, each: int) -> dict[str, Any]:
    """All shares fit exactly: nobody is refused, nothing is left. The ledger itself is created in the race."""
    share = Loss(f"1/{runners * each}")

    def take(runner: int) -> str:
        ledger = Ledger.open(path, cap=Loss("1"), neighbours=UNIT)
        for step in range(each):
            spend(ledger, Plan(f"{runner}/{step}", share), file_called("file"))
        return "done"

    said = together(runners, take)
    ledger = Ledger.open(path)
    ledger.verify()
    kinds = [entry.kind for entry in ledger.entries()]
    return {
        "done": said.count("done"),
        "left": str(ledger.remaining(UNIT, "file")),
        "kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
    }


def main(task: str, path: str, *numbers: str) -> None:
    tasks: dict[str, Callable[..., dict[str, Any]]] = {
        "crash": crash,
        "crash-creating": crash_creating,
        "race": race,
        "race-to-fill": race_to_fill,
    }
    settings = [int(number) for number in numbers]
    if path != "server":
        counts = tasks[task](Path(path), *settings)
    else:
        import psycopg  # noqa: F401  (loaded once, before the first fork)

        with running() as server:
            counts = (
                crash_server(server, *settings)
                if task == "crash-server"
                else tasks[task](server.ledger(task.replace("-", "_")), *settings)
            )
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
