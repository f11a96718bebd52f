"""The map: the picture and the table of layers say what the import contracts say, and so does the code."""

from __future__ import annotations

import ast
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tacita"
UPDATE = "bring the table of layers in docs/architecture.md up to date and run: python docs/tools/picture.py"
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
READ_ROWS = tuple(f"tacita.data.{room}" for room in ("confidential", "reading", "workforce", "engine", "checks"))


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "tools" / "picture.py"))


def test_the_table_has_the_layers_of_the_contract_in_their_order(tool: dict[str, Any]) -> None:
    contract = [name for line in tool["layers_of_contract"]() for name in line]
    assert [layer.name for layer in tool["layers_of_page"]()] == contract, UPDATE


def test_the_picture_is_the_one_that_the_table_gives(tool: dict[str, Any]) -> None:
    assert tool["PICTURE"].read_text(encoding="utf-8") == tool["drawn"](), UPDATE


def test_every_module_is_a_layer_or_is_named_as_standing_outside(tool: dict[str, Any]) -> None:
    page = tool["PAGE"].read_text(encoding="utf-8")
    layers = {layer.name for layer in tool["layers_of_page"]()}
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    outside = modules - layers - {"__init__"}
    assert [name for name in sorted(outside) if f"`tacita.{name}`" not in page] == [], UPDATE


def test_what_never_sees_rows_is_what_the_contract_forbids_them_to(tool: dict[str, Any]) -> None:
    (forbidden,) = (one for one in CONTRACTS if "tacita.tables" in one.get("source_modules", ()))
    never = {f"tacita.{layer.name}" for layer in tool["layers_of_page"]() if layer.rows == "never"}
    assert never == set(forbidden["source_modules"]), UPDATE


def test_a_layer_without_a_file_imports_nothing_that_opens_one(tool: dict[str, Any]) -> None:
    for layer in tool["layers_of_page"]():
        if layer.rows:
            assert layer.rows in tool["COLOURS"]
            continue
        folder = PACKAGE / layer.name
        for path in folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]:
            opening = [name for name in _imported(path) if name.startswith(READ_ROWS)]
            assert not opening, f"{path.relative_to(PACKAGE)} imports {opening}; {UPDATE}"


def _imported(path: Path) -> list[str]:
    """Modules that are imported when the code runs, wherever that stands in the file; not those for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    return [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
