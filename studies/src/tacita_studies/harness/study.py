"""A study as a whole: what every study is told, and how its folder is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, TypedDict, Unpack

from tacita.errors import UsageError
from tacita.release.folder import written_whole
from tacita_studies.harness.page import page_from
from tacita_studies.harness.replicates import Progress, silent
from tacita_studies.harness.results import Row


class Told(TypedDict, total=False):
    """What `run` of every study takes beside settings of its own."""

    replicates: int | None
    seed: int | None
    full: bool
    keep_data: bool
    force: bool
    data: Path | None
    workers: int
    progress: Progress | None


@dataclass(frozen=True)
class Settings:
    """The same with defaults filled in. `keep` is where files of the first replicate go, if they are kept."""

    replicates: int
    seed: int
    full: bool = False
    data: Path | None = None
    workers: int = 1
    say: Progress = silent
    keep: Path | None = None


@dataclass(frozen=True)
class Report:
    """What a study found: result rows, the settings as results.json has them, and what the page's template is given."""

    rows: Sequence[Row]
    settings: Mapping[str, Any]
    page: Callable[[], Mapping[str, object]]


@dataclass(frozen=True)
class Study:
    """The name of a study, its usual settings, and the public files that its table on real data begins with."""

    name: str
    seed: int
    replicates: int
    full_replicates: int
    real: str | None = None
    counted: str = "replicates"

    def settings(self, *, keep: Path | None = None, **told: Unpack[Told]) -> Settings:
        full, data, replicates, seed = (
            told.get("full", False),
            told.get("data"),
            told.get("replicates"),
            told.get("seed"),
        )
        usual = self.full_replicates if full else self.replicates
        count = usual if replicates is None else replicates
        if count < 1:
            raise UsageError(f"{self.counted}: the study needs at least one")
        if self.real is not None and data is not None and not Path(data).is_dir():
            raise UsageError(f"data: there is no such folder; name the one that holds {self.real}, or leave it out")
        return Settings(
            count,
            self.seed if seed is None else seed,
            full,
            None if data is None else Path(data),
            told.get("workers", 1),
            told.get("progress") or silent,
            keep,
        )

    def write(self, out: Path, report: Callable[[Settings], Report], **told: Unpack[Told]) -> dict[str, Any]:
        """Run the study and write its folder, whole or not at all; returns the content of results.json."""
        self.settings(**told)  # wrong settings are named before anything is written
        with written_whole(Path(out), force=told.get("force", False), kind="study") as folder:
            chosen = self.settings(keep=folder if told.get("keep_data", False) else None, **told)
            made = report(chosen)
            document = {
                "study": self.name,
                "version": version("tacita"),
                "settings": dict(made.settings),
                "rows": [row.as_json() for row in made.rows],
            }
            text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            (folder / "results.json").write_text(text, encoding="utf-8")
            chosen.say("writing the page", 1, 1)
            template = (files("tacita_studies") / self.name / "page.md").read_text(encoding="utf-8")
            (folder / "report.html").write_text(page_from(template, made.page()), encoding="utf-8")
        return document
