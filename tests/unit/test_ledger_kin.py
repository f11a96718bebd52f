"""Files that hold the same units under another name, and files that change while they are used."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.data.checks import sketch
from tacita.data.checks.sketch import SIZE, sketch_of
from tacita.data.confidential import Confidential
from tacita.data.engine import text_of
from tacita.data.schema import Schema
from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.ledger import Ledger, verify_extract
from tacita.ledger.book import Book
from tacita.ledger.store import Record
from tacita.mechanisms.eree import EdgeLaplace
from tacita.privacy import AddRemoveOne, Loss

WORKER = AddRemoveOne("worker")
JOBS = pd.DataFrame(
    {
        "workplace_id": np.repeat([f"e{number}" for number in range(300)], 4),
        "place": np.repeat(["A", "B"], 600),
        "sex": ["F", "M"] * 600,
    }
)


def schema(identity: str, *, sex: bool = True, lineage: tuple[str, ...] = ()) -> Schema:
    variables: dict[str, Any] = {
        "workplace_id": {"role": "id", "entity": "workplace"},
        "place": {"role": "workplace", "type": "categorical", "levels": ["A", "B"]},
    }
    if sex:
        variables["sex"] = {"role": "worker", "type": "categorical", "levels": ["F", "M"]}
    dataset = {"identity": identity, "unit": "establishment", "lineage": list(lineage)}
    return Schema.from_dict({"dataset": dataset, "variables": variables})


def opened(identity: str, frame: pd.DataFrame = JOBS, **more: Any) -> Confidential:
    return Confidential.from_frame(frame, schema(identity, **more))


@pytest.fixture
def ledger(path: Path) -> Ledger:
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=WORKER)
    table(ledger, opened("jobs"))
    return ledger


def table(ledger: Ledger, data: Confidential, epsilon: str = "1/2") -> None:
    ledger.release(EdgeLaplace(epsilon, by=["place"]), data, label=data.identity)


# ---------------------------------------------------------------- the same units


def test_another_name_and_one_column_less_do_not_make_another_budget(ledger: Ledger, path: Path) -> None:
    before = path.read_bytes()
    copy = opened("jobs for table 2", sex=False)
    for ask in (table, lambda ledger, data: ledger.admit([EdgeLaplace("1/2", by=["place"])], data)):
        with pytest.raises(RefusedError, match=r"holds units of jobs \(the same workplace ids, entry 3\).*lineage"):
            ask(ledger, copy)
    assert path.read_bytes() == before


@pytest.mark.parametrize("part", [slice(0, 120), slice(600, 1200), slice(None)], ids=["a tenth", "a region", "all"])
def test_part_of_the_units_is_enough(ledger: Ledger, part: slice) -> None:
    with pytest.raises(RefusedError, match="holds units of jobs"):
        table(ledger, opened("some of them", JOBS[part].assign(sex="F")))


def test_a_file_that_holds_them_and_more_is_found_too(ledger: Ledger) -> None:
    more = pd.DataFrame({"workplace_id": [f"n{number}" for number in range(30_000)], "place": "A", "sex": "F"})
    with pytest.raises(RefusedError, match="holds units of jobs"):
        table(ledger, opened("everything", pd.concat([more, JOBS])))


def test_declared_lineage_shares_the_budget_instead(ledger: Ledger) -> None:
    table(ledger, opened("jobs for table 2", sex=False, lineage=("jobs",)))
    assert ledger.remaining(WORKER, "jobs") == Loss.zero()


def test_other_units_and_later_releases_are_left_alone(ledger: Ledger) -> None:
    others = opened("other jobs", JOBS.assign(workplace_id="x" + JOBS["workplace_id"]))
    table(ledger, others, "1/4")
    table(ledger, others, "1/3")
    table(ledger, opened("jobs"), "1/4")
    assert len({account.identities for account in ledger.accounts()}) == 2


def test_a_person_may_let_it_pass_on_record(ledger: Ledger) -> None:
    copy = opened("jobs for table 2", sex=False)
    with pytest.raises(UsageError, match="reason: must say why"):
        ledger.waive_overlap("jobs", "jobs for table 2", reason=" ")
    ledger.waive_overlap("jobs for table 2", "jobs", reason="board decision of 3 March")
    with pytest.raises(UsageError, match="already"):
        ledger.waive_overlap("jobs", "jobs for table 2", reason="again")
    table(ledger, copy, "1")
    assert ledger.spent(WORKER, "jobs for table 2") == Loss("1")
    extract = ledger.extract("jobs for table 2")
    verify_extract(extract)
    assert any(line["entry"].get("reason") == "board decision of 3 March" for line in extract["entries"])
    assert any("may hold the same units" in entry.state for entry in ledger.entries())
    ledger.verify()
    with ledger._store.writing() as writer:
        writer.append("overlap", {"identities": ["a", "a"], "reason": "x"})
    with pytest.raises(VerificationError, match="let pass once"):
        ledger.verify()


def test_neither_key_nor_sketch_is_public(ledger: Ledger) -> None:
    with ledger._store.reading() as reader:
        records = reader.records()
    key, sketch = records[0].private["sketch_key"], records[2].private["sketch"]["workplace"]
    assert len(sketch) == 300
    public = str([record.body for record in records]) + str(ledger.extract("jobs"))
    assert key not in public
    assert not any(str(one) in public for one in sketch)


def test_a_sketch_is_small_knows_an_id_in_any_form_and_depends_on_the_key() -> None:
    numbers = pd.DataFrame({"workplace_id": np.arange(20_000), "place": "A", "sex": "F"})
    one, other = opened("a", numbers), opened("b", numbers.assign(workplace_id=numbers["workplace_id"].astype(str)))
    sketch = sketch_of(one._tables, one.schema, one._engine, "key")
    assert len(set(sketch["workplace"])) == SIZE
    assert other.shared_units("key", {"workplace": sketch["workplace"][:1]}) == ["workplace"]
    assert other.shared_units("another key", sketch) == []


@pytest.mark.parametrize("form", ["{:06d}", " {} ", "Ab{}", "{}.0", "A b{}"])
def test_ids_that_an_earlier_version_hashed_as_written_are_known(
    path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    frame = JOBS.assign(workplace_id=np.repeat([form.format(number) for number in range(300)], 4))
    with monkeypatch.context() as earlier:
        earlier.setattr(sketch, "_one_spelling", text_of)
        ledger = Ledger.open(path, cap=Loss("1"), neighbours=WORKER)
        table(ledger, opened("jobs", frame))
    copy = opened("copy", frame.assign(sex="F"))
    assert ledger.knows(copy)
    with pytest.raises(RefusedError, match="holds units of jobs"):
        table(ledger, copy)
    assert copy.sketch("key") == opened(
        "other words", frame.assign(workplace_id=frame["workplace_id"].map(tidy))
    ).sketch("key")


def tidy(written: str) -> str:
    """An id in its one spelling, by hand."""
    short = written.replace(" ", "").lower().removesuffix(".0")
    return (short.lstrip("0") or "0") if short.isdigit() else short


def test_a_ledger_of_the_version_before_gets_a_key_with_its_next_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Book.add

    def without_key(book: Book, record: Record) -> None:
        add(book, record)
        if record.number == 1:
            book.sketch_key = None

    monkeypatch.setattr(Book, "add", without_key)
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=WORKER)
    table(ledger, opened("jobs"))
    with pytest.raises(RefusedError, match="holds units of jobs"):
        table(ledger, opened("copy", sex=False))


# ---------------------------------------------------------------- files that change


def saved(path: Path, frame: pd.DataFrame) -> Path:
    aside = path.with_suffix(".new")
    frame.to_parquet(aside)
    return aside.replace(path)


def test_a_file_replaced_after_it_was_opened_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    """The check and the fingerprint are of the file that was opened; another one in its place passes neither."""
    file = saved(tmp_path / "jobs.parquet", JOBS)
    data = Confidential.open(file, schema("jobs"))
    table(ledger, data, "1/4")
    saved(file, JOBS[:8])
    before = ledger.entries()
    for epsilon in ("1/4", "1/8"):  # stored already, and new
        with pytest.raises(RefusedError, match=r"data jobs\.parquet: the file was changed or replaced"):
            table(ledger, data, epsilon)
    assert ledger.entries() == before


def test_a_part_added_to_a_folder_is_a_change(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    saved(parts / "1.parquet", JOBS)
    data = Confidential.open(parts, schema("jobs"))
    data.refuse_changed()
    saved(parts / "2.parquet", JOBS)
    with pytest.raises(RefusedError, match="data parts: the file was changed"):
        data.refuse_changed()


def test_rows_in_memory_have_nothing_to_seal() -> None:
    opened("jobs").refuse_changed()


def test_a_hard_link_to_a_file_in_use_costs_no_result(tmp_path: Path, ledger: Ledger) -> None:
    """A backup links the file, which changes its record and not its rows."""
    file = saved(tmp_path / "jobs.parquet", JOBS)
    data = Confidential.open(file, schema("jobs"))
    data.fingerprint()
    (tmp_path / "backup.parquet").hardlink_to(file)
    file.chmod(0o600)
    table(ledger, data, "1/4")
    data.refuse_changed()


def test_rows_changed_behind_an_old_date_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    JOBS.to_csv(file, index=False)
    data = Confidential.open(file, schema("jobs"))
    data.fingerprint()
    before, text = file.stat(), file.read_bytes()
    changed = text[: text.index(b"F")] + b"M" + text[text.index(b"F") + 1 :]
    with file.open("r+b") as same:
        same.write(changed)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(RefusedError, match=r"data jobs\.csv: the file was changed"):
        data.refuse_changed()
