"""The tables as SDMX: one SDMX-CSV 2.0 file each, and a structure message that says what the codes mean.

Identifiers follow the standard's rule (letters, digits, _ @ $ -), so a column or code that does not is spelled anew;
the structure message keeps the original spelling as the name. A total is the code `_T`, as everywhere in SDMX.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.compute as pc

from tacita.release.codebook import xml_text
from tacita.release.facts import ALL_LEVELS, Column, TableFacts

VERSION = "1.0"
_MESSAGE = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"
_STRUCTURE = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure"
_COMMON = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common"
_XML = "http://www.w3.org/XML/1998/namespace"
_BLOCK = 100_000  # lines that are held as texts at once
_AGENCY, _CONCEPTS = "TACITA", "CONCEPTS"
# What travels with a value; the guarantee is the same for the whole table, so it is said in the structure.
_MEASURES = {"value": "OBS_VALUE", "margin_of_error": "MARGIN_OF_ERROR", "confidence": "CONFIDENCE"}


def sdmx_csv(facts: TableFacts, table: pa.Table) -> bytes:
    """One table in SDMX-CSV 2.0: a line per cell, with its dimensions, its value and its margin of error.

    >>> from tacita.release.facts import table_facts
    >>> t = pa.table({"sex": ["F", "Total"], "value": [3, 4], "margin_of_error": [1, None], "confidence": [0.95, 0.95]})
    >>> levels = {"sex": (("F", "Female"), ("Total", "All levels together"))}
    >>> print(sdmx_csv(table_facts("jobs", "Jobs", "All jobs", "ε = 1", t, levels), t).decode().replace("\\r", ""))
    STRUCTURE,STRUCTURE_ID,ACTION,SEX,OBS_VALUE,MARGIN_OF_ERROR,CONFIDENCE
    dataflow,TACITA:JOBS(1.0),I,F,3,1,0.95
    dataflow,TACITA:JOBS(1.0),I,_T,4,,0.95
    <BLANKLINE>
    """
    measures = [name for name in _MEASURES if name in table.column_names]
    keys = identifiers(facts.keys)
    codes = [code_identifiers(column) for column in facts.columns if column.levels]
    flow = f"{_AGENCY}:{_identifier(facts.name)}({VERSION})"
    head = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *keys.values(), *(_MEASURES[name] for name in measures)]
    written = [",".join(head).encode()]
    for start in range(0, table.num_rows, _BLOCK):
        part = table.slice(start, _BLOCK)
        named = zip(facts.keys, codes, strict=True)
        columns = [_spelled(part[name], partial(_looked_up, of)) for name, of in named]
        columns += [_spelled(part[name], _number) for name in measures]
        written += pc.binary_join_element_wise("dataflow", flow, "I", *columns, ",").cast(pa.binary()).to_pylist()
    return b"\r\n".join([*written, b""])


def _looked_up(codes: Mapping[str, str], code: object) -> str:
    return codes[str(code)]


def _number(one: float | None) -> str:
    return "" if one is None else f"{one:.12g}"


def _spelled(column: pa.ChunkedArray, spelled: Callable[[Any], str]) -> pa.Array:
    """A column in words that need no quotes, each different value spelled once."""
    held = column.combine_chunks()
    held = held if pa.types.is_dictionary(held.type) else held.dictionary_encode()
    words = pa.array([spelled(one) for one in held.dictionary.to_pylist()], pa.string()).take(held.indices)
    return words.fill_null(spelled(None)) if words.null_count else words


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """SDMX identifiers in capitals, different for different names.

    >>> identifiers(["place of work", "place_of_work", "2nd"])
    {'place of work': 'PLACE_OF_WORK', 'place_of_work': 'PLACE_OF_WORK_2', '2nd': 'C_2ND'}
    """
    given: dict[str, str] = {}
    taken: dict[str, int] = {}
    for name in names:
        wanted = _identifier(name)
        wanted = wanted if wanted[:1].isalpha() else f"C_{wanted}"
        given[name] = _unused(wanted, taken)
    return given


def code_identifiers(column: Column) -> dict[str, str]:
    """The SDMX code of each level of a column."""
    given: dict[str, str] = {}
    taken = {"_T": 1}
    for level in column.levels:
        given[level[0]] = "_T" if level == ALL_LEVELS else _unused(_allowed(level[0]), taken)
    return given


def sdmx_structure(title: str, prepared: str, tables: Sequence[TableFacts], *, is_test: bool = False) -> bytes:
    """An SDMX-ML 2.1 structure message: code lists, concepts, data structures and dataflows of all tables."""
    for prefix, address in (("mes", _MESSAGE), ("str", _STRUCTURE), ("com", _COMMON)):
        ElementTree.register_namespace(prefix, address)
    root = ElementTree.Element(f"{{{_MESSAGE}}}Structure")
    header = ElementTree.SubElement(root, f"{{{_MESSAGE}}}Header")
    for tag, content in (("ID", _identifier(title)[:60]), ("Test", str(is_test).lower()), ("Prepared", prepared)):
        ElementTree.SubElement(header, f"{{{_MESSAGE}}}{tag}").text = content
    ElementTree.SubElement(header, f"{{{_MESSAGE}}}Sender", {"id": _AGENCY})
    parts = ElementTree.SubElement(root, f"{{{_MESSAGE}}}Structures")
    flows, lists, concepts, structures = (
        _under(parts, name) for name in ("Dataflows", "Codelists", "Concepts", "DataStructures")
    )
    named: dict[str, str] = {}
    for facts in tables:
        _code_lists(lists, facts)
        _data_structure(structures, facts)
        named |= _concepts_of(facts)
        flow = _maintained(flows, "Dataflow", _identifier(facts.name), facts.title)
        _reference(_under(flow, "Structure"), _flow_structure(facts), "DataStructure", "datastructure")
    scheme = _maintained(concepts, "ConceptScheme", _CONCEPTS, "Concepts of the tables")
    for identifier, label in named.items():
        _name(_under(scheme, "Concept", id=identifier), label)
    ElementTree.indent(root)
    body: bytes = ElementTree.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + body + b"\n"


def _concepts_of(facts: TableFacts) -> dict[str, str]:
    labels = {column.name: column.label for column in facts.columns}
    concepts = {identifier: labels[name] for name, identifier in identifiers(facts.keys).items()}
    return concepts | {identifier: labels[name] for name, identifier in _MEASURES.items() if name in labels}


def _code_lists(parent: ElementTree.Element, facts: TableFacts) -> None:
    keys = identifiers(facts.keys)
    for column in facts.columns:
        if not column.levels:
            continue
        held = _maintained(parent, "Codelist", _code_list(facts, keys[column.name]), column.label)
        spelled = code_identifiers(column)
        for code, label in column.levels:
            _name(_under(held, "Code", id=spelled[code]), label or code)


def _data_structure(parent: ElementTree.Element, facts: TableFacts) -> None:
    structure = _maintained(parent, "DataStructure", _flow_structure(facts), f"{facts.title}. {facts.guarantee}")
    components = _under(structure, "DataStructureComponents")
    dimensions = _under(components, "DimensionList", id="DimensionDescriptor")
    for position, identifier in enumerate(identifiers(facts.keys).values(), start=1):
        dimension = _under(dimensions, "Dimension", id=identifier, position=str(position))
        _concept(dimension, identifier)
        coded = _under(_under(dimension, "LocalRepresentation"), "Enumeration")
        _reference(coded, _code_list(facts, identifier), "Codelist", "codelist")
    present = {column.name for column in facts.columns}
    extra = [identifier for name, identifier in _MEASURES.items() if name in present and name != "value"]
    if extra:
        attributes = _under(components, "AttributeList", id="AttributeDescriptor")
        for identifier in extra:
            attribute = _under(attributes, "Attribute", id=identifier, assignmentStatus="Conditional")
            _concept(attribute, identifier)
            _under(_under(attribute, "LocalRepresentation"), "TextFormat", textType="Double")
            ElementTree.SubElement(_under(_under(attribute, "AttributeRelationship"), "PrimaryMeasure"), "Ref").set(
                "id", "OBS_VALUE"
            )
    measures = _under(components, "MeasureList", id="MeasureDescriptor")
    measure = _under(measures, "PrimaryMeasure", id="OBS_VALUE")
    _concept(measure, "OBS_VALUE")
    _under(_under(measure, "LocalRepresentation"), "TextFormat", textType="Double")


def _flow_structure(facts: TableFacts) -> str:
    return f"DSD_{_identifier(facts.name)}"


def _code_list(facts: TableFacts, identifier: str) -> str:
    return f"CL_{_identifier(facts.name)}_{identifier}"


def _under(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, f"{{{_STRUCTURE}}}{tag}", attributes)


def _maintained(parent: ElementTree.Element, tag: str, identifier: str, label: str) -> ElementTree.Element:
    made = _under(parent, tag, id=identifier, agencyID=_AGENCY, version=VERSION)
    _name(made, label)
    return made


def _name(parent: ElementTree.Element, label: str) -> None:
    ElementTree.SubElement(parent, f"{{{_COMMON}}}Name", {f"{{{_XML}}}lang": "en"}).text = xml_text(label)


def _reference(parent: ElementTree.Element, identifier: str, kind: str, package: str) -> None:
    facts = {"id": identifier, "version": VERSION, "agencyID": _AGENCY, "package": package, "class": kind}
    ElementTree.SubElement(parent, "Ref", facts)


def _concept(parent: ElementTree.Element, identifier: str) -> None:
    facts: Mapping[str, str] = {
        "id": identifier,
        "maintainableParentID": _CONCEPTS,
        "maintainableParentVersion": VERSION,
        "agencyID": _AGENCY,
        "package": "conceptscheme",
        "class": "Concept",
    }
    ElementTree.SubElement(_under(parent, "ConceptIdentity"), "Ref", dict(facts))


def _allowed(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_@$-]", "_", text) or "_"


def _identifier(text: str) -> str:
    return _allowed(text).upper()


def _unused(wanted: str, taken: dict[str, int]) -> str:
    """The name itself or with the first number that is free; `taken` has the last one that was tried for each."""
    number, candidate = taken.get(wanted, 1), wanted
    while candidate in taken:
        number += 1
        candidate = f"{wanted}_{number}"
    taken[wanted] = number
    taken.setdefault(candidate, 1)
    return candidate
