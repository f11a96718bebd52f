"""What a study writes, for the tests of every study: each has a `folder` of its own."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def rows_of_the_agreed_form(document: dict[str, Any]) -> None:
    keys = {"table", "method", "metric", "paper", "ours", "se", "reference", "replicates", "guarantee"}
    for row in document["rows"]:
        assert keys <= set(row)
        assert len(row["guarantee"]) > 10
