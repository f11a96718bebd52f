"""What all studies share: settings are checked before anything is written, pages escape text, names are used once."""

import ast
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import pytest

import tacita_studies
from tacita.errors import UsageError
from tacita_studies.harness.bars import Bar
from tacita_studies.harness.experiment import Kept
from tacita_studies.harness.page import figure, page_from, table
from tacita_studies.harness.results import Row, Rows
from tacita_studies.harness.study import Report, Settings, Study

PACKAGE = Path(str(files(tacita_studies)))
STUDY = Study("haney2017", seed=7, replicates=3, full_replicates=9, real="some_files")
ROW = Row("Table 1", "A", "length", 2.0, replicates=5, where={"epsilon": "1"})


def test_every_class_has_a_name_of_its_own() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []
    assert {"Method", "Outcome", "Experiment", "Settings", "RealFile", "Bar", "Row"} <= set(names)


def test_settings_have_the_studys_defaults_and_wrong_ones_are_named(tmp_path: Path) -> None:
    usual, full, own = STUDY.settings(), STUDY.settings(full=True), STUDY.settings(replicates=2, seed=1, data=tmp_path)
    assert [(one.replicates, one.seed) for one in (usual, full, own)] == [(3, 7), (9, 7), (2, 1)]
    assert (usual.data, own.data) == (None, tmp_path)
    with pytest.raises(UsageError, match="replicates: the study needs at least one"):
        STUDY.settings(replicates=0)
    with pytest.raises(UsageError, match="data: there is no such folder; name the one that holds some_files"):
        STUDY.settings(data=tmp_path / "nowhere")


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Settings] = []

    def report(chosen: Settings) -> Report:
        seen.append(chosen)
        return Report([ROW], {"seed": chosen.seed}, lambda: {"never": 1 / len(seen[1:])})

    with pytest.raises(ZeroDivisionError):  # when results.json is written already
        STUDY.write(tmp_path / "out", report, keep_data=True)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("tacita_studies.harness.study.page_from", lambda template, values: "a page")
    document = STUDY.write(tmp_path / "out", report, keep_data=True)
    assert seen[-1].keep is not None
    assert json.loads((tmp_path / "out/results.json").read_text(encoding="utf-8")) == document
    assert document["rows"] == [ROW.as_json()]


def test_text_of_a_page_is_escaped_and_parts_are_not() -> None:
    values: dict[str, Any] = {"name": "<b>A & B</b>", "body": table(["<x>"], [["1 < 2"], [3.0]])}
    page = page_from(
        "# Title & more\n\nOf {{ name }}.\n\n> A note.\n\n{{ body }}", values | {"svg": figure("<svg/>", "<")}
    )
    assert "<h1>Title &amp; more</h1>" in page
    assert "&lt;b&gt;A &amp; B&lt;/b&gt;" in page
    assert '<p class="note">A note.</p>' in page
    assert "<th>&lt;x&gt;</th>" in page
    assert "<td>1 &lt; 2</td>" in page
    with pytest.raises(jinja2.UndefinedError):
        page_from("# Title\n\n{{ missing }}", {})


def test_rows_are_found_by_what_they_are_about() -> None:
    rows = Rows([ROW, Row("Table 2", "A", "length", None), Row("Table 2", "B", "width", 1.0)])
    assert rows.value("A", "length", epsilon="1") == 2.0
    assert rows.row("A", "length", table="Table 2") is not None
    assert rows.value("A", "length", epsilon="2") is None
    assert (rows.methods("Table 2"), rows.metrics("Table 2")) == (["A", "B"], ["length", "width"])


def test_a_bar_judges_only_what_is_there() -> None:
    bar = Bar("A", "length", most=3, where={"epsilon": "1"}, replicates=5)
    assert bar.verdict(bar.row([ROW])) is True
    assert bar.row([ROW], epsilon="2") is None
    assert bar.verdict(None) is None
    assert Bar("A", "length", most=3, replicates=6).verdict(ROW) is None
    assert Bar("A", "length", least=3).verdict(ROW) is False


def test_nothing_is_kept_without_a_folder(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2]})
    Kept(None).write("frame", frame)
    Kept(tmp_path / "new").write("frame", frame)
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["frame.parquet"]
