"""The dossier as a reader sees it, on screen and on paper."""

from pathlib import Path

import pytest

from support.browser_page import look, print_to_pdf
from tacita.dossier.findings import Findings


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 700])
def test_the_dossier_in_a_browser(made: tuple[Findings, Path], tmp_path: Path, width: int) -> None:
    seen = look((made[1] / "dossier.html").read_text(encoding="utf-8"), tmp_path, width)
    assert seen.console == []
    assert seen.requests == []
    assert seen.content <= seen.window


@pytest.mark.browser
def test_every_printed_sheet_says_confidential(made: tuple[Findings, Path], tmp_path: Path) -> None:
    sheets = print_to_pdf(made[1] / "dossier.html", tmp_path)
    assert len(sheets) > 3
    assert all("Confidential, not for release" in sheet for sheet in sheets)
