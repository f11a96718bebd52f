"""The DDI codebook against the order and the attributes that DDI-Codebook 2.5 prescribes."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from support.codebook import NAMESPACE, check_structure
from support.release import small_release


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
    assert codebook.findtext(f".//{NAMESPACE}caseQnty") == str(table.num_rows)
    assert (bundle / (codebook.findtext(f".//{NAMESPACE}fileName") or "")).is_file()


def test_the_promise_is_the_confidentiality_statement(codebook: ElementTree.Element) -> None:
    assert "ε = 1" in (codebook.findtext(f".//{NAMESPACE}confDec") or "")


def test_a_rehearsal_says_so_in_its_title(tmp_path: Path) -> None:
    out = small_release(seed=1).write(tmp_path / "rehearsal")
    root = ElementTree.parse(out / "codebook.xml").getroot()
    check_structure(root)
    assert all((title.text or "").count("REHEARSAL") == 1 for title in root.iter(f"{NAMESPACE}titl"))
