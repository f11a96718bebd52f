"""Attacks in the dossier: off unless asked for, shown beside the promise, and never more than they prove."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.attacked_plans import Files, Histogram
from support.dossier import request
from tacita.data.schema import Schema
from tacita.dossier.run import evaluate
from tacita.errors import UsageError


@dataclass(frozen=True)
class Bootstrap(Histogram):
    """Two files of rows drawn from the file itself, which no promise can hold for."""

    def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Files:
        rng = np.random.default_rng(seed)
        return Files(tuple(frame.iloc[rng.integers(0, len(frame), len(frame))] for _ in range(2)))


def _evaluated(paths: dict[str, Path], out: Path, **changes: Any) -> tuple[str, dict[str, Any]]:
    evaluate(request(paths, **changes), out)
    return (out / "dossier.html").read_text().replace("\u00a0", " "), json.loads((out / "dossier.json").read_text())


def test_a_broken_promise_is_on_the_first_page_and_in_the_record(paths: dict[str, Path], tmp_path: Path) -> None:
    plans = (("copies", Bootstrap("0.1")), ("careful words", Bootstrap("8")))
    changes: dict[str, Any] = {"synthetic": (), "attacks": 60, "plans": plans}
    page, record = _evaluated(paths, tmp_path / "d", **changes)
    assert page.index("A promise is broken") < page.index("Attacks that run the method itself")
    assert "The promise of ε = 0.1 is refuted" in page
    # 60 runs can never show ε = 8, and the page says that rather than that the promise stood a test.
    assert "could not have been" in page
    scores = {one["name"]: one for one in record["scores"]}
    assert scores["lower bound on ε: copies"]["value"] > 0.1
    assert scores["membership-inference advantage: copies"]["value"] > 0.2
    assert any("rehearsals of copies, careful words" in one["what"] for one in record["touches"])
    assert "nan" not in page.lower().split()


def test_they_are_off_unless_asked_for(paths: dict[str, Path], tmp_path: Path) -> None:
    page, record = _evaluated(paths, tmp_path / "d", synthetic=(paths["good-1"],), plans=(("copies", Bootstrap("1")),))
    assert "Attacks that run the method itself" not in page
    (said,) = [one["why"] for one in record["skipped"] if one["name"].startswith("Membership")]
    assert "--attacks N" in said


def test_what_cannot_be_attacked_is_listed_with_the_reason(paths: dict[str, Path], tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Mute(Bootstrap):
        def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Any:
            return None

    _, record = _evaluated(paths, tmp_path / "d", synthetic=(), attacks=20, plans=(("mute", Mute("1")),))
    (said,) = [one["why"] for one in record["skipped"] if one["name"] == "Attacks on mute"]
    assert "neither" in said


def test_too_few_runs_and_linked_tables(paths: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--attacks"):
        evaluate(request(paths, attacks=3), tmp_path / "d")
    linked = {"job": str(paths["original"])}
    _, record = _evaluated(paths, tmp_path / "e", synthetic=(), attacks=20, original=linked, plans=())
    assert any("linked tables" in one["why"] for one in record["skipped"])
