"""CPU seconds and memory of a process and of those it has started, a JVM among them; and a limit in CPU seconds."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 12  # the wall clock may take so many times the CPU seconds, on a machine that others use


def cpu() -> float:
    """CPU seconds so far, of processes that have ended and that still run."""
    ended = [resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in ended) + sum(_cpu(one) for one in _below(os.getpid()))


def peak() -> float:
    """The most memory in MB: that of each process at its own highest, together."""
    running = sum(_peak(one) for one in _below(os.getpid()))
    most = [resource.getrusage(one).ru_maxrss / 1024 for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return most[0] + max(running, most[1])


def limit(seconds: int) -> None:
    """From now on so many CPU seconds, here and in each process started from here; then the process ends, also inside
    compiled code. A process that waits for ever is ended by the wall clock."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(own.ru_utime + own.ru_stime) + seconds, resource.getrlimit(resource.RLIMIT_CPU)[1])
    )
    signal.alarm(PATIENCE * seconds)


def _below(process: int) -> list[int]:
    """Processes that this one has started, and theirs; none where there is no /proc."""
    started: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            above = int(place.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        started.setdefault(above, []).append(int(place.parent.name))
    found = [process]
    for one in found:
        found += started.get(one, [])
    return found[1:]


def _cpu(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(int(one) for one in fields[11:15]) / TICKS


def _peak(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
