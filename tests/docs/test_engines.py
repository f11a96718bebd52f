"""The picture of sizes says what the table of docs/engines.md says."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_of_sizes_is_the_one_that_the_table_gives() -> None:
    tool = runpy.run_path(str(ROOT / "docs" / "tools" / "sizes.py"))
    assert len(tool["sizes_of_page"]()) >= 15
    shown = (ROOT / "docs" / "pictures" / "sizes.svg").read_text(encoding="utf-8")
    assert shown == tool["drawn"](), "run: python docs/tools/sizes.py"
