"""A bundle, written once and copied for each test."""

import shutil
from pathlib import Path

import pytest

from support.release import small_release


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_release().write(tmp_path_factory.mktemp("release") / "bundle")


@pytest.fixture
def bundle(written: Path, tmp_path: Path) -> Path:
    return shutil.copytree(written, tmp_path / "bundle")
