"""Watches workers: collects how every case ended, and ends a worker that hangs."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

# A case may use this many seconds of the processor. It is ended after three times that, or where it does nothing at all
# for as long as a busy machine hardly keeps a process waiting.
MOST_SECONDS, MOST_WAITING = 20, 240


def ended(kind: str, seed: int, count: int) -> list[dict[str, Any]]:
    """How each of `count` cases ended; a hang and a process that died are endings too."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        found += _worker(kind, seed, len(found), count)
    for one in found:
        if one.get("seconds", 0) > MOST_SECONDS and "wrong" not in one:
            one["wrong"] = f"took {one['seconds']} s"
    return found


def _worker(kind: str, seed: int, first: int, last: int) -> list[dict[str, Any]]:
    """Everything up to the last case, or up to the first that hangs or kills the process."""
    script = [sys.executable, "-m", "support.fuzzing.worker", kind, str(seed), str(first), str(last)]
    found: list[dict[str, Any]] = []
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()) as process:
        lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True).start()
        while True:
            line = _next(lines, process.pid)
            if line is None:
                process.kill()
                return [*found, {"number": first + len(found), "end": "hang", "wrong": "hang"}]
            if not line:
                break
            found.append(json.loads(line))
    if first + len(found) < last:
        found.append({"number": first + len(found), "end": "died", "wrong": f"the process died: {process.returncode}"})
    return found


def _next(lines: queue.Queue[bytes], pid: int) -> bytes | None:
    """The next line, or None where the process works on one case, or waits, for too long."""
    begun, used = time.monotonic(), _used(pid)
    while True:
        with contextlib.suppress(queue.Empty):
            return lines.get(timeout=2)
        if _used(pid) - used > 3 * MOST_SECONDS or time.monotonic() - begun > MOST_WAITING:
            return None


def _used(pid: int) -> float:
    """Seconds of the processor so far; 0 where the system does not tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _pass_on(stream: Any, lines: queue.Queue[bytes]) -> None:
    for line in stream:
        if line.startswith(b"{"):
            lines.put(line)
    lines.put(b"")


def _environment() -> dict[str, str]:
    """The package as this process finds it, and this one."""
    import tacita

    folders = Path(tacita.__file__).parents[1], Path(__file__).parents[2]
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}


def summary(found: list[dict[str, Any]]) -> str:
    """Numbers for people: how cases ended, what was wrong how often, and where to look."""
    wrong: dict[str, list[int]] = {}
    for one in found:
        if "wrong" in one:
            wrong.setdefault(one["wrong"], []).append(one["number"])
    ends = ", ".join(f"{times} {end}" for end, times in Counter(one["end"] for one in found).most_common())
    slowest = max((one.get("seconds", 0) for one in found), default=0)
    lines = [f"{len(found)} cases: {ends}; slowest {slowest} s; wrong: {sum(map(len, wrong.values()))}"]
    lines += [
        f"  {len(numbers)} × {what}: {numbers[:6]}" for what, numbers in sorted(wrong.items(), key=lambda x: -len(x[1]))
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    _found = ended(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(summary(_found) + "\n")
    sys.exit(any("wrong" in one for one in _found))
