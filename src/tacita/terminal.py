"""Printing on any terminal: one that knows no Greek letters, one that is closed, and text that looks like markup.

A `console` takes text as it is. Titles, labels and paths are other people's, and a bracket in one of them must not be
read as a colour; what is coloured is coloured by `styled` or a `style`.

How ledgers, models and files show themselves in a notebook: small tables of escaped text, in plain HTML.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_SPELLED = {
    "ε": "epsilon",
    "δ": "delta",
    "α": "alpha",
    "±": "+/-",
    "≤": "<=",
    "≥": ">=",
    "×": "x",
    "→": "->",
    "·": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "“": '"',
    "”": '"',
    "’": "'",
    "\N{NO-BREAK SPACE}": " ",
}
_SPELL = "tacita-spell"
# Escape sequences clear the screen or write over it, and turned text reads otherwise than it is; a bundle may hold any.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def open_terminal() -> None:
    """Make output safe on this process's streams, whatever they are; call before anything is printed."""
    codecs.register_error(_SPELL, _spell)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started this process
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_SPELL)


def _spell(problem: UnicodeError) -> tuple[str, int]:
    """A letter that the terminal lacks, in letters that it has."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lacking = problem.object[problem.start : problem.end]
    return "".join(_SPELLED.get(letter, "?") for letter in lacking), problem.end


def console(*, stderr: bool = False) -> Console:
    """Where a verb prints; no markup and no emoji codes are read from the text."""
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=True, markup=False, emoji=False)


def styled(words: str, style: str, rest: str = "") -> Text:
    """Some words in a style, and the rest of the line as it is, without what would steer the terminal."""
    from rich.text import Text

    return Text.assemble((words, style), _STEERING.sub("?", rest))


_EVERY = 10.0  # seconds between lines, where nobody sees a bar


class Steps:
    """A progress bar that names each step; calling it starts the next. In a file or a pipe, a line now and then."""

    def __init__(self, console: Console, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._console, self._total = console, total
        self._begun = self._said = time.monotonic()

    def __enter__(self) -> Steps:
        self._task = self._bar.add_task("Starting", total=self._total)
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self._bar.update(self._task, completed=self._total, description="Done")
        self._bar.stop()

    def at(self, step: str, done: int, total: int) -> None:
        """For work that counts its own steps."""
        self._total = total
        self._bar.update(self._task, description=step, completed=done, total=total)
        self._say(step, f"{done} of {total}, ", at_once=not done)

    def __call__(self, step: str) -> None:
        done = self._bar.tasks[self._task]
        # The first call starts step one, so the bar counts finished steps.
        self._bar.update(self._task, description=step, completed=done.completed + (done.description != "Starting"))
        self._say(step)

    def _say(self, step: str, so_far: str = "", *, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._console.is_terminal or (now - self._said < _EVERY and not at_once):
            return
        self._said = now
        self._console.print(f"{step} ({so_far}{now - self._begun:.0f} s)")
        self._console.file.flush()  # whoever waits for a file to grow is not left waiting for a full buffer


def complain(kind: str, message: str) -> None:
    """An error in one line on stderr; `kind` is the error's class without its ending."""
    words = {"Usage": "Wrong usage", "Spec": "Specification", "Verification": "Not verified", "Tacita": "Error"}
    console(stderr=True).print(styled(f"{words.get(kind, kind)}:", "bold red", f" {message}"), highlight=False)


def shown(title: str, rows: Iterable[Sequence[object]], heads: Sequence[str] = ()) -> str:
    """A table with a title above it.

    >>> shown("a < b", [("x", 1)], ("name", "value"))
    '<table><caption>a &lt; b</caption><tr><th>name</th><th>value</th></tr><tr><td>x</td><td>1</td></tr></table>'
    """
    lines = [_row("th", heads)] if heads else []
    lines += [_row("td", row) for row in rows]
    return str(Markup("<table><caption>{}</caption>{}</table>").format(title, Markup("").join(lines)))


def _row(tag: str, cells: Sequence[object]) -> Markup:
    inside = Markup("").join(Markup("<{0}>{1}</{0}>").format(Markup(tag), str(cell)) for cell in cells)
    return Markup("<tr>{}</tr>").format(inside)
