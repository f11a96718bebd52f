"""`tacita codes`: lists that the schema names and nobody has are bought, written, and used by the release."""

import csv
from pathlib import Path

import pandas as pd
import pytest

import tacita as tc
from support.command_line import Call

SCHEMA = """
[dataset]
identity = "people"
unit = "person"
[variables.pid]
role = "id"
entity = "person"
[variables.region]
role = "confidential"
type = "categorical"
levels_file = "lists/region.csv"
outside = "elsewhere"
missing = "not said"
missing_codes = ["-9"]
[variables.job]
role = "confidential"
type = "categorical"
levels_file = "job.csv"
outside = "other"
[variables.age]
role = "confidential"
type = "integer"
lower = "TODO"
upper = "TODO"
"""

SPEC = """
title = "People"
schema = "people.schema.toml"
data = "people.csv"
ledger = "people.ledger"
[cap]
neighbours = "add-remove"
unit = "person"
epsilon = "2"
delta = "1e-8"
[[table]]
name = "people"
by = ["region"]
epsilon = "1"
"""
SECRET = "the only one of its kind"


@pytest.fixture
def office(tmp_path: Path) -> Path:
    regions = ["2"] * 400 + ["10"] * 300 + ["north"] * 200 + ["-9"] * 150 + [None] * 150 + [SECRET]
    frame = pd.DataFrame({"pid": range(len(regions)), "region": regions, "age": 30})
    frame["job"] = [f"job {at % 3}" for at in range(len(frame))]
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.schema.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "people.release.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def codes_in(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [line["code"] for line in csv.DictReader(file)]


def test_codes_are_bought_once_and_the_release_uses_them(office: Path, tacita: Call) -> None:
    spec = office / "people.release.toml"
    said = tacita("plan", spec)
    assert said.code == 2
    assert "`tacita codes` can find its codes" in said.err

    said = tacita("codes", spec, "--epsilon", "0.5")
    assert said.code == 0
    assert "nothing was spent" in said.out
    assert "region: region.csv is not there" in said.out
    assert not (office / "people.ledger").exists()
    assert not (office / "lists").exists()

    said = tacita("codes", spec, "--epsilon", "0.5", "--buy")
    assert said.code == 0, said.err
    assert SECRET not in said.out + said.err
    # Numbers by size, then words; codes that mean missing are no codes of their own.
    assert codes_in(office / "lists" / "region.csv") == ["2", "10", "north", "elsewhere", "not said"]
    assert codes_in(office / "job.csv") == ["job 0", "job 1", "job 2", "other"]
    ledger = tc.Ledger.open(office / "people.ledger", read_only=True)
    (account,) = ledger.accounts()
    assert account.spent == tc.Loss("0.5", "1e-9")
    assert SECRET not in (office / "people.ledger").read_bytes().decode("latin-1")

    assert tacita("codes", spec, "--epsilon", "0.5", "--buy").code == 2  # every list is there
    said = tacita("run", spec, "--out", office / "bundle")
    assert said.code == 0, said.err
    table = pd.read_csv(office / "bundle" / "tables" / "people.csv", keep_default_na=False)
    assert list(table["region"].astype(str)) == ["2", "10", "north", "elsewhere", "not said"]
    (account,) = tc.Ledger.open(office / "people.ledger", read_only=True).accounts()
    assert account.spent == tc.Loss("1.5", "1e-9")


def test_lists_that_were_lost_are_written_again_at_no_price(office: Path, tacita: Call) -> None:
    spec = office / "people.release.toml"
    assert tacita("codes", spec, "--epsilon", "0.5", "--buy").code == 0
    written = {name: (office / name).read_bytes() for name in ("lists/region.csv", "job.csv")}
    for name in written:
        (office / name).unlink()
    assert tacita("codes", spec, "--epsilon", "0.5", "--buy").code == 0
    assert {name: (office / name).read_bytes() for name in written} == written
    (account,) = tc.Ledger.open(office / "people.ledger", read_only=True).accounts()
    assert account.spent == tc.Loss("0.5", "1e-9")


@pytest.mark.parametrize(
    ("before", "after", "code", "words"),
    [
        ('outside = "other"\n', "", 2, "variables.job.outside: is missing"),
        ('delta = "1e-8"\n', "", 3, "δ"),
        ('neighbours = "add-remove"\nunit = "person"', 'neighbours = "strong"\nalpha = "0.1"', 2, "cap.neighbours"),
        ('levels_file = "job.csv"', 'levels_file = "lists/region.csv"', 2, "two columns name one file"),
        ('epsilon = "2"', 'epsilon = "0.4"', 3, "cap"),
    ],
)
def test_what_cannot_be_bought_is_said_and_leaves_everything_as_it_was(
    office: Path, tacita: Call, before: str, after: str, code: int, words: str
) -> None:
    for name in ("people.schema.toml", "people.release.toml"):
        text = (office / name).read_text(encoding="utf-8")
        (office / name).write_text(text.replace(before, after), encoding="utf-8")
    said = tacita("codes", office / "people.release.toml", "--epsilon", "0.5", "--buy")
    assert (said.code, words in said.err) == (code, True), said.err
    assert not (office / "job.csv").exists()
    assert not (office / "people.ledger").exists()


def test_a_person_with_many_rows_is_refused_or_priced(office: Path, tacita: Call) -> None:
    frame = pd.read_csv(office / "people.csv", dtype=str)
    frame.loc[:4, "pid"] = "7"
    frame.to_csv(office / "people.csv", index=False)
    spec = office / "people.release.toml"
    said = tacita("codes", spec, "--epsilon", "0.5", "--buy")
    assert said.code == 2
    assert not (office / "people.ledger").exists()
    spec.write_text(SPEC.replace('unit = "person"', 'unit = "person"\nat_most = 6'), encoding="utf-8")
    said = tacita("codes", spec, "--epsilon", "2", "--buy")
    assert said.code == 0, said.err
    assert "job 0" in codes_in(office / "job.csv")
    (account,) = tc.Ledger.open(office / "people.ledger", read_only=True).accounts()
    assert account.spent <= tc.Loss("2", "1e-9")
