"""Peers in environments of their own under build/peers: none of them is a dependency, and not all go together."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Peer:
    """What pip is asked for, what is imported to see that it works, and the distribution whose version counts."""

    needed: str
    module: str
    distribution: str


PEERS = {
    "opendp": Peer("opendp[polars]", "opendp.prelude, polars", "opendp"),
    "tumult": Peer("tmlt.analytics", "tmlt.analytics", "tmlt.analytics"),
    "mbi": Peer("mbi>=2", "mbi", "mbi"),
    "smartnoise": Peer("smartnoise-synth", "snsynth", "smartnoise-synth"),
    "dpmm": Peer("dpmm", "dpmm", "dpmm"),
    "sdv": Peer("sdv", "sdv.single_table", "sdv"),
}


@dataclass(frozen=True)
class Environment:
    """An interpreter that has a package, or the reason why there is none."""

    python: str
    version: str
    error: str | None = None


def ours() -> Environment:
    """Compiled beforehand, as pip compiles the peers; kernels of Numba are compiled by the first run of a machine."""
    compiled = [sys.executable, "-m", "compileall", "-q", str(HOME / "src"), str(HOME / "studies" / "src")]
    subprocess.run(compiled, check=True)
    return Environment(sys.executable, _version(sys.executable, "tacita"))


def in_r(name: str) -> Environment:
    """A package of the R that is installed; the interpreter is ours, which starts R."""
    asked = f"cat(as.character(packageVersion('{name}')))"
    try:
        said = subprocess.run(["Rscript", "-e", asked], capture_output=True, text=True)
    except OSError:
        return Environment(sys.executable, "", "R is not installed")
    error = f"cannot be loaded: {_last(said.stderr)}" if said.returncode else None
    return Environment(sys.executable, said.stdout.strip(), error)


def environment(name: str, *, install: bool, limit: float) -> Environment:
    """The peer's own environment, made now where it is not there and may be installed."""
    peer, place = PEERS[name], HOME / "build" / "peers" / name
    python = str(place / "bin" / "python")
    if not Path(python).exists():
        if not install:
            return Environment(python, "", "is not installed (--install)")
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    if not _imports(python, peer.module) and install:
        try:
            got = subprocess.run(
                [python, "-m", "pip", "install", "-q", peer.needed], capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return Environment(python, "", f"was not installed within {limit:.0f} s")
        if got.returncode:
            return Environment(python, "", f"cannot be installed: {_last(got.stderr)}")
    tried = subprocess.run([python, "-c", f"import {peer.module}"], capture_output=True, text=True)
    if tried.returncode:
        return Environment(python, "", f"cannot be imported: {_last(tried.stderr)}")
    return Environment(python, _version(python, peer.distribution))


def _imports(python: str, module: str) -> bool:
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def _version(python: str, distribution: str) -> str:
    asked = f"from importlib.metadata import version; print(version({distribution!r}))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout.strip()


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no reason given"
