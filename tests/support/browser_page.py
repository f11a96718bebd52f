"""Opens a page in headless Chromium and reports what a reader would run into."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
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


# The browser asks its maker for things too; the page's own list of resources leaves that out.
_PROBE = """
window.addEventListener("load", () => setTimeout(() => {
  document.title = JSON.stringify({
    requests: performance.getEntriesByType("resource").map(one => one.name),
    content: document.documentElement.scrollWidth,
    window: window.innerWidth,
  });
}, 300));
"""


@dataclass(frozen=True)
class Seen:
    """What the browser reported: console messages, addresses asked for, and how wide the page came out."""

    console: list[str]
    requests: list[str]
    content: int
    window: int


def look(page: str, folder: Path, width: int) -> Seen:
    """Open the page in a window of this width; skips where there is no Chromium."""
    answer, console = _run(page, _PROBE, folder, width)
    return Seen(console=console, **json.loads(answer))


def ask(page: str, script: str, folder: Path, width: int = 1280) -> Any:
    """What a script in the page returns, as JSON, once the page has settled."""
    probe = f"""window.addEventListener("load", () => setTimeout(async () => {{
      let answer;
      try {{ answer = await (async () => {{ {script} }})(); }}
      catch (problem) {{ answer = {{ problem: String(problem) }}; }}
      document.title = JSON.stringify({{ answer }});
    }}, 300));"""
    answer, _ = _run(page, probe, folder, width)
    return json.loads(answer)["answer"]


def clocked(page: str, script: str, folder: Path) -> Any:
    """What a script returns that runs when the page has loaded, by a clock that does not stand still: for times."""
    probe = f"""window.addEventListener("load", () => {{
      document.title = JSON.stringify({{ answer: (() => {{ {script} }})() }});
    }});"""
    answer, _ = _run(page, probe, folder, 1280, clock=())
    return json.loads(answer)["answer"]


def _run(
    page: str, probe: str, folder: Path, width: int, clock: tuple[str, ...] = ("--virtual-time-budget=2000",)
) -> tuple[str, list[str]]:
    """The title that the probe gave the page, and the messages on the console."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium here; install it with .ci/debian-packages")
    copy = folder / "probe.html"
    copy.write_text(page.replace("</body>", f"<script>{probe}</script></body>"), encoding="utf-8")
    command = [
        chromium,
        *_QUIET,
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},2000",
        *clock,
        "--dump-dom",
        copy.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(\{.*\})</title>", done.stdout)
    assert title, "the browser did not run the probe"
    return unescape(title[1]), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def print_to_pdf(page: Path, folder: Path) -> list[str]:
    """The page as it prints: the text of each sheet; skips where Chromium or pdftotext is missing."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    reader = shutil.which("pdftotext")
    if chromium is None or reader is None:
        pytest.skip("no Chromium or no pdftotext (poppler-utils) here")
    sheet = folder / "page.pdf"
    command = [chromium, *_QUIET, f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer"]
    subprocess.run([*command, f"--print-to-pdf={sheet}", page.as_uri()], capture_output=True, timeout=120, check=True)
    text = subprocess.run([reader, str(sheet), "-"], capture_output=True, text=True, timeout=60, check=True).stdout
    return [one for one in text.split("\f") if one.strip()]
