"""Opens a page in headless Chromium and reports what a reader would run into."""

import atexit
import functools
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
)
_PATIENCE = 120  # seconds

# Chromium listens at 3 and answers at 4.
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)

# The browser asks its maker for things too; the page's own list of resources leaves that out.
_PROBE = """return {
  requests: performance.getEntriesByType("resource").map(one => one.name),
  content: document.documentElement.scrollWidth,
  window: window.innerWidth,
};"""

# Whatever a page says by itself: what its scripts write, what they stumble over, what the browser has against it.
_ON_THE_CONSOLE = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")


@dataclass(frozen=True)
class Seen:
    """What the browser reported: console messages, addresses asked for, and how wide the page came out."""

    console: list[str]
    requests: list[str]
    content: int
    window: int


class _Browser:
    """One Chromium for all pages of a process, spoken to through two pipes: starting it takes longer than a page."""

    def __init__(self, chromium: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        heard, self._to = os.pipe()
        self._from, said = os.pipe()
        command = [chromium, *_QUIET, f"--user-data-dir={self._profile.name}", "--remote-debugging-pipe", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(heard), str(said), *command],
            pass_fds=(heard, said),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(heard)
        os.close(said)
        self._numbers = itertools.count(1)
        self._rest = b""
        self._events: list[dict[str, Any]] = []
        atexit.register(self.close)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._profile.cleanup()

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], _PATIENCE)
            more = os.read(self._from, 1 << 20) if ready else b""
            assert more, "the browser does not answer"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def tell(self, method: str, session: str | None = None, **given: Any) -> dict[str, Any]:
        """The answer to one command; what happens meanwhile is kept."""
        number = next(self._numbers)
        asked = {"id": number, "method": method, "params": given} | ({"sessionId": session} if session else {})
        left = json.dumps(asked).encode() + b"\0"
        while left:
            left = left[os.write(self._to, left) :]
        while (message := self._message()).get("id") != number:
            self._events.append(message)
        assert "error" not in message, message
        answer: dict[str, Any] = message["result"]
        return answer

    def open(self, page: Path, script: str, width: int, settled: int) -> tuple[Any, list[str]]:
        """What a script in the page returns so many milliseconds after it was loaded, and what the console says."""
        self._events.clear()
        context = self.tell("Target.createBrowserContext")["browserContextId"]
        target = self.tell("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for room in ("Runtime", "Log", "Page"):
            self.tell(f"{room}.enable", session)
        size = {"width": width, "height": 2000, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", session, **size)
        self.tell("Page.navigate", session, url=page.as_uri())
        while not any(one.get("method") == "Page.loadEventFired" for one in self._events):
            self._events.append(self._message())
        wait = f"await new Promise((go) => setTimeout(go, {settled}));" if settled else ""
        answer = self.tell(
            "Runtime.evaluate",
            session,
            expression=f"(async () => {{ {wait} {script} }})()",
            awaitPromise=True,
            returnByValue=True,
        )
        console = [json.dumps(one["params"]) for one in self._events if one.get("method") in _ON_THE_CONSOLE]
        self.tell("Target.disposeBrowserContext", browserContextId=context)
        if "exceptionDetails" in answer:
            return {"problem": answer["exceptionDetails"]["exception"]["description"]}, console
        return answer["result"].get("value"), console


def _chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return found or pytest.skip("no Chromium here; install it with .ci/debian-packages")


@functools.cache
def _browser() -> _Browser:
    return _Browser(_chromium())


def _opened(page: str, script: str, folder: Path, width: int, settled: int = 100) -> tuple[Any, list[str]]:
    copy = folder / "probe.html"
    copy.write_text(page, encoding="utf-8")
    return _browser().open(copy, script, width, settled)


def look(page: str, folder: Path, width: int) -> Seen:
    """Open the page in a window of this width; skips where there is no Chromium."""
    answer, console = _opened(page, _PROBE, folder, width)
    return Seen(console=console, **answer)


def ask(page: str, script: str, folder: Path, width: int = 1280) -> Any:
    """What a script in the page returns, as JSON, once the page has settled."""
    return _opened(page, script, folder, width)[0]


def clocked(page: str, script: str, folder: Path) -> Any:
    """What a script returns that runs when the page has loaded: for times."""
    return _opened(page, script, folder, 1280, settled=0)[0]


def print_to_pdf(page: Path, folder: Path) -> list[str]:
    """The page as it prints: the text of each sheet; skips where Chromium or pdftotext is missing."""
    reader = shutil.which("pdftotext") or pytest.skip("no pdftotext (poppler-utils) here")
    sheet = folder / "page.pdf"
    command = [_chromium(), *_QUIET, f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer"]
    subprocess.run([*command, f"--print-to-pdf={sheet}", page.as_uri()], capture_output=True, timeout=120, check=True)
    text = subprocess.run([reader, str(sheet), "-"], capture_output=True, text=True, timeout=60, check=True).stdout
    return [one for one in text.split("\f") if one.strip()]
