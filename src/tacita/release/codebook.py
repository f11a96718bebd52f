"""The records that archives take: a DDI codebook and a Frictionless data package, made from public facts only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from tacita.release.facts import Column, TableFacts

DDI_NAMESPACE = "ddi:codebook:2_5"
_LARGEST_INLINE_LIST = 60  # a longer code list stays in the codebook; validators need not carry it twice


def ddi(*, title: str, publisher: str, abstract: str, unit: str, tables: Sequence[TableFacts]) -> bytes:
    """A DDI Codebook 2.5 document: the study, each file, each variable with its categories."""
    root = ElementTree.Element("codeBook", {"xmlns": DDI_NAMESPACE, "version": "2.5"})
    study = ElementTree.SubElement(root, "stdyDscr")
    citation = ElementTree.SubElement(study, "citation")
    _text(ElementTree.SubElement(citation, "titlStmt"), "titl", title)
    if publisher:
        _text(ElementTree.SubElement(citation, "prodStmt"), "producer", publisher)
    information = ElementTree.SubElement(study, "stdyInfo")
    _text(information, "abstract", abstract)
    summary = ElementTree.SubElement(information, "sumDscr")
    _text(summary, "anlyUnit", f"cells of tables; the unit of privacy is the {unit}")
    for universe in dict.fromkeys(table.universe for table in tables):
        _text(summary, "universe", universe)
    _text(summary, "dataKind", "aggregate data with noise added for privacy")
    for number, table in enumerate(tables, start=1):
        _file(root, number, table)
    data = ElementTree.SubElement(root, "dataDscr")
    for number, table in enumerate(tables, start=1):
        for position, column in enumerate(table.columns, start=1):
            _variable(data, number, position, column, table)
    ElementTree.indent(root)
    body: bytes = ElementTree.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + body + b"\n"


def _text(parent: ElementTree.Element, tag: str, content: str) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag)
    child.text = content
    return child


def _file(root: ElementTree.Element, number: int, table: TableFacts) -> None:
    description = ElementTree.SubElement(root, "fileDscr", {"ID": f"F{number}"})
    file = ElementTree.SubElement(description, "fileTxt")
    _text(file, "fileName", f"tables/{table.name}.csv")
    _text(file, "fileCont", table.title)
    size = ElementTree.SubElement(file, "dimensns")
    _text(size, "caseQnty", str(table.rows))
    _text(size, "varQnty", str(len(table.columns)))


def _variable(parent: ElementTree.Element, number: int, position: int, column: Column, table: TableFacts) -> None:
    interval = "contin" if column.kind == "number" else "discrete"
    names = {"ID": f"F{number}V{position}", "name": column.name, "files": f"F{number}", "intrvl": interval}
    variable = ElementTree.SubElement(parent, "var", names)
    _text(variable, "labl", column.label)
    _text(variable, "universe", table.universe)
    for code, label in column.levels:
        category = ElementTree.SubElement(variable, "catgry")
        _text(category, "catValu", code)
        _text(category, "labl", label)
    ElementTree.SubElement(variable, "varFormat", {"type": "character" if column.kind == "string" else "numeric"})
    if column.name == "value":
        _text(variable, "notes", f"Noise was added for privacy. {table.guarantee}")


def data_package(
    *, name: str, title: str, description: str, tables: Sequence[TableFacts], hashes: dict[str, tuple[str, int]]
) -> dict[str, Any]:
    """A Frictionless data package of the CSV files; `hashes` gives sha256 and size by path."""
    return {
        "profile": "tabular-data-package",
        "name": name,
        "title": title,
        "description": description,
        "resources": [_resource(table, hashes) for table in tables],
    }


def _resource(table: TableFacts, hashes: dict[str, tuple[str, int]]) -> dict[str, Any]:
    path = f"tables/{table.name}.csv"
    digest, size = hashes[path]
    return {
        "profile": "tabular-data-resource",
        "name": table.name,
        "title": table.title,
        "path": path,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": size,
        "hash": f"sha256:{digest}",
        "schema": {"fields": [_field(column) for column in table.columns], "primaryKey": list(table.keys)},
    }


def _field(column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name, "type": column.kind, "title": column.label}
    if column.levels and len(column.levels) <= _LARGEST_INLINE_LIST:
        field["constraints"] = {"enum": [code for code, _ in column.levels]}
    return field
