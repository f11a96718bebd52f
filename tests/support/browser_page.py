"""Opens a page in headless Chromium and reports what a reader would run into."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path

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
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium here; install it with .ci/debian-packages")
    copy = folder / "probe.html"
    copy.write_text(page.replace("</body>", f"<script>{_PROBE}</script></body>"), encoding="utf-8")
    command = [
        chromium,
        *_QUIET,
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},2000",
        "--virtual-time-budget=2000",
        "--dump-dom",
        copy.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"<title>(\{.*\})</title>", done.stdout)
    assert found, "the browser did not run the probe"
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(console=console, **json.loads(unescape(found[1])))


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
