"""What people who used it for the first time stumbled over: each says now what is wrong and what to do."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacita as tc
from support.command_line import Call
from tacita.data.confidential import Confidential
from tacita.data.draft import storage_types
from tacita.data.engine import connect
from tacita.errors import RefusedError, SchemaError

SCHEMA: dict[str, Any] = {
    "dataset": {"identity": "people", "unit": "person"},
    "variables": {
        "zip": {
            "type": "categorical",
            "role": "confidential",
            "levels": ["00501", "10001", "99999"],
            "outside": "99999",
        },
        "vote": {"type": "categorical", "role": "confidential", "levels": ["0", "1"]},
    },
}


def counted(frame: pd.DataFrame, column: str, path: Path) -> None:
    """What `run` asks of a file before anything is spent."""
    frame.to_parquet(path, index=False)
    data = tc.Confidential.open(str(path), tc.Schema.from_dict(SCHEMA))
    ledger = tc.Ledger.open(path.with_suffix(".ledger"), cap=tc.Loss("1"), neighbours=tc.ReplaceOne("person"))
    ledger.release(tc.Table("count", "1", by=[column], neighbours=tc.ReplaceOne("person")), data, label="test")


def test_codes_with_leading_zeros_do_not_vanish_in_a_column_of_numbers(tmp_path: Path) -> None:
    """Nine of ten became 99999 without a word: 501 is not "00501"."""
    frame = pd.DataFrame({"zip": [501] * 90 + [10001] * 10, "vote": ["0"] * 100})
    with pytest.raises(
        SchemaError, match=r'person\.zip: the file stores numbers there, and none of them is written "00501"'
    ):
        counted(frame, "zip", tmp_path / "numbers.parquet")
    counted(frame.assign(zip=frame["zip"].astype(str).str.zfill(5)), "zip", tmp_path / "texts.parquet")


def test_a_code_that_is_written_otherwise_is_hinted_at(tmp_path: Path) -> None:
    frame = pd.DataFrame({"zip": ["10001"] * 20, "vote": ["1.0", "0.0"] * 10})
    with pytest.raises(SchemaError, match=r'person\.vote: .* as the file writes it \(text "1\.0" is not "1"\)'):
        counted(frame, "vote", tmp_path / "texts.parquet")
    counted(frame.assign(vote=frame["vote"].astype(float)), "vote", tmp_path / "numbers.parquet")


def test_a_file_in_latin_1_says_what_to_do(tmp_path: Path, tacita: Call) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("zip,vote\nKöln,1\n".encode("latin-1") * 5)
    with pytest.raises(SchemaError, match=r"data people\.csv: is not text in UTF-8; save it as CSV in UTF-8"):
        tc.Confidential.open(str(path), tc.Schema.from_dict(SCHEMA))
    (tmp_path / "head.csv").write_bytes("größe,vote\n1,1\n".encode("latin-1"))
    with pytest.raises(SchemaError, match=r"data head\.csv: is not text in UTF-8"):
        storage_types(tmp_path / "head.csv")
    said = tacita("init", tmp_path / "head.csv", "--out", tmp_path)
    assert said.code == 2
    assert "save it as CSV in UTF-8" in " ".join(said.err.split())


def test_a_plan_for_other_units_than_the_cap_is_told_how_to_name_them(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pd.DataFrame({"zip": ["10001"] * 20, "vote": ["1"] * 20}).to_parquet(path, index=False)
    data = tc.Confidential.open(str(path), tc.Schema.from_dict(SCHEMA))
    ledger = tc.Ledger.open(tmp_path / "people.ledger", cap=tc.Loss("1"), neighbours=tc.ReplaceOne("person"))
    with pytest.raises(RefusedError, match=r"give the plan the declared one: neighbours=ReplaceOne\(unit='person'\)"):
        ledger.release(tc.Table("count", "1", by=["vote"]), data, label="test")


def test_a_loss_takes_epsilon_and_delta_in_their_usual_order() -> None:
    assert tc.Loss("1", "1e-9") == tc.Loss("1", delta="1e-9")


def test_files_are_had_by_their_place_as_frames() -> None:
    frames = tuple(pd.DataFrame({"vote": [code]}) for code in ("0", "1"))
    files = tc.Implicates(frames, tc.Schema.from_dict(SCHEMA), ("vote",), "partial")
    assert [files[0]["vote"].tolist(), files[-1]["vote"].tolist()] == [["0"], ["1"]]
    assert [file["vote"].tolist() for file in files] == [["0"], ["1"]]
    with pytest.raises(IndexError):
        files[2]


def test_a_file_of_many_columns_is_checked_in_few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each column took minutes of a survey with two hundred; one that is odd is still told apart."""
    entry = {"role": "confidential", "type": "categorical", "levels": ["a", "b"]}
    kinds = [entry, entry | {"outside": "b"}, entry | {"missing": "b", "missing_codes": ["9"]}]
    variables = {f"c{at}": kinds[at % 3] for at in range(60)}
    schema = tc.Schema.from_dict({"dataset": {"identity": "x", "unit": "person"}, "variables": variables})
    frame = pd.DataFrame({name: ["a", "b", "a"] for name in variables})
    frame["c1"], frame["c2"] = ["a", "x", "b"], ["a", "9", None]
    asked = []
    engine = type(connect("duckdb"))
    collect = engine.collect
    monkeypatch.setattr(engine, "collect", lambda self, table: (asked.append(1), collect(self, table))[1])
    Confidential.from_frame(frame, schema).check(list(variables))
    assert len(asked) < 10
    for column, values, said in (
        ("c0", ["a", "x", "b"], "a value is not among the declared levels"),
        ("c0", ["a", None, "b"], "a value is missing"),
        ("c1", ["x", "y", "z"], "no value of the column is among the declared levels"),
        ("c2", ["a", "x", "9"], "a value is not among the declared levels"),
    ):
        with pytest.raises(SchemaError, match=rf"person\.{column}: {said}"):
            Confidential.from_frame(frame.assign(**{column: values}), schema).check(list(variables))


def test_the_help_of_evaluate_names_the_section_whose_keys_it_takes(tacita: Call) -> None:
    said = tacita("evaluate", "--help")
    assert "[evaluation]" in " ".join(said.out.replace("│", " ").split())


def test_a_ledger_that_is_not_there_is_made_by_the_first_run(tmp_path: Path, tacita: Call) -> None:
    said = tacita("ledger", "show", tmp_path / "no.ledger")
    assert said.code == 2
    assert "The first `tacita run` makes it" in " ".join(said.err.split())
