"""The data package, checked by the Frictionless library itself."""

import hashlib
import json
from pathlib import Path

import pytest

frictionless = pytest.importorskip("frictionless", reason="frictionless is not installed; it comes with the dev extra")


def _errors(bundle: Path) -> list[str]:
    report = frictionless.validate(str(bundle / "datapackage.json"))
    return [str(row[0]) for row in report.flatten(["type"])]


def test_frictionless_finds_nothing_wrong(bundle: Path) -> None:
    assert _errors(bundle) == []


def test_frictionless_reads_every_row_as_declared(bundle: Path) -> None:
    (resource,) = frictionless.Package(str(bundle / "datapackage.json")).resources
    rows = resource.read_rows()
    assert [row["place"] for row in rows] == ["01", "02", "03"]
    assert all(isinstance(row["value"], int) for row in rows)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [('"01"', '"99"', "constraint-error"), ('"02"', '"01"', "primary-key"), (",0.95,", ",high,", "type-error")],
)
def test_frictionless_refuses_a_table_that_breaks_its_schema(bundle: Path, old: str, new: str, kind: str) -> None:
    table = bundle / "tables" / "employment.csv"
    table.write_text(table.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    assert kind in _errors(bundle)


def test_hash_and_size_are_those_of_the_file(bundle: Path) -> None:
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    for resource in package["resources"]:
        content = (bundle / resource["path"]).read_bytes()
        assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert resource["bytes"] == len(content)
