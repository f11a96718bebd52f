"""The records that archives take: a DDI codebook and a Frictionless data package, made from public facts only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from tacita.release.facts import Column, TableFacts

DDI_NAMESPACE = "ddi:codebook:2_5"
_LARGEST_INLINE_LIST = 60  # a longer code list stays in the codebook; validators need not carry it twice


def ddi(
    *,
    title: str,
    publisher: str,
    published: str,
    software: str,
    abstract: str,
    confidentiality: str,
    unit: str,
    tables: Sequence[TableFacts],
) -> bytes:
    """A DDI Codebook 2.5 document: the study, each file, each variable with its categories.

    Elements stand in the order of the 2.5 schema, which is a sequence: a validator refuses any other.
    """
    root = ElementTree.Element("codeBook", {"xmlns": DDI_NAMESPACE, "version": "2.5"})
    document = ElementTree.SubElement(ElementTree.SubElement(root, "docDscr"), "citation")
    _text(ElementTree.SubElement(document, "titlStmt"), "titl", f"Codebook: {title}")
    made = ElementTree.SubElement(document, "prodStmt")
    _text(made, "prodDate", published).set("date", published)
    _text(made, "software", software)
    _study(
        ElementTree.SubElement(root, "stdyDscr"), title, publisher, published, abstract, confidentiality, unit, tables
    )
    for number, table in enumerate(tables, start=1):
        _file(root, number, table)
    data = ElementTree.SubElement(root, "dataDscr")
    for number, table in enumerate(tables, start=1):
        for position, column in enumerate(table.columns, start=1):
            _variable(data, number, position, column, table)
    ElementTree.indent(root)
    body: bytes = ElementTree.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + body + b"\n"


def _study(
    study: ElementTree.Element,
    title: str,
    publisher: str,
    published: str,
    abstract: str,
    confidentiality: str,
    unit: str,
    tables: Sequence[TableFacts],
) -> None:
    citation = ElementTree.SubElement(study, "citation")
    _text(ElementTree.SubElement(citation, "titlStmt"), "titl", title)
    production = ElementTree.SubElement(citation, "prodStmt")
    if publisher:
        _text(production, "producer", publisher)
    _text(production, "prodDate", published).set("date", published)
    information = ElementTree.SubElement(study, "stdyInfo")
    _text(information, "abstract", abstract)
    summary = ElementTree.SubElement(information, "sumDscr")
    _text(summary, "anlyUnit", f"cells of tables; the unit of privacy is the {unit}")
    for universe in dict.fromkeys(table.universe for table in tables):
        _text(summary, "universe", universe)
    _text(summary, "dataKind", "aggregate data with noise added for privacy")
    use = ElementTree.SubElement(ElementTree.SubElement(study, "dataAccs"), "useStmt")
    _text(use, "confDec", confidentiality)
    _text(use, "disclaimer", "Every value is an estimate. Quote it with its margin of error.")


def _text(parent: ElementTree.Element, tag: str, content: str) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag)
    child.text = content
    return child


def _file(root: ElementTree.Element, number: int, table: TableFacts) -> None:
    description = ElementTree.SubElement(root, "fileDscr", {"ID": f"F{number}"})
    file = ElementTree.SubElement(description, "fileTxt")
    _text(file, "fileName", table.path)
    _text(file, "fileCont", table.title)
    size = ElementTree.SubElement(file, "dimensns")
    _text(size, "caseQnty", str(table.rows))
    _text(size, "varQnty", str(len(table.columns)))
    _text(file, "fileType", "CSV, UTF-8, comma-separated, with a header line")


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
    *,
    name: str,
    title: str,
    description: str,
    publisher: str,
    created: str,
    version: str,
    tables: Sequence[TableFacts],
    hashes: Mapping[str, tuple[str, int]],
) -> dict[str, Any]:
    """A Frictionless data package of the CSV files; `hashes` gives sha256 and size by path."""
    package: dict[str, Any] = {
        "profile": "tabular-data-package",
        "name": name,
        "title": title,
        "description": description,
        "version": version,
        "created": created,
    }
    if publisher:
        package["contributors"] = [{"title": publisher, "role": "publisher"}]
    return package | {"resources": [_resource(table, hashes) for table in tables]}


def _resource(table: TableFacts, hashes: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    digest, size = hashes[table.path]
    return {
        "profile": "tabular-data-resource",
        "name": table.name,
        "title": table.title,
        "description": f"{table.universe}. {table.guarantee}",
        "path": table.path,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": size,
        "hash": f"sha256:{digest}",
        "schema": {
            "fields": [_field(column) for column in table.columns],
            "missingValues": [""],
            "primaryKey": list(table.keys),
        },
    }


def _field(column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name, "type": column.kind, "title": column.label}
    constraints: dict[str, Any] = {}
    if column.levels:
        constraints["required"] = True
        if len(column.levels) <= _LARGEST_INLINE_LIST:
            constraints["enum"] = [code for code, _ in column.levels]
    if column.name == "margin_of_error":
        constraints["minimum"] = 0
    if constraints:
        field["constraints"] = constraints
    return field
