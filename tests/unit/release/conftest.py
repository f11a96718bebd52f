"""A bundle written once per test."""

from pathlib import Path

import pytest

from support.release import small_release


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return small_release().write(tmp_path / "bundle")
