"""The records that archives take: a DDI codebook and a Frictionless data package, made from public facts only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from tacita.release.bundle_files import harmless_text
from tacita.release.facts import Column, TableFacts

DDI_NAMESPACE = "ddi:codebook:2_5"
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\x7e\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
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
    described: set[str] = set()
    for number, table in enumerate(tables, start=1):
        if table.series and table.series in described:
            continue  # its variables are those of the first file of the series
        described.add(table.series)
        files = [at for at, other in enumerate(tables, start=1) if at == number or _same_series(other, table)]
        for position, column in enumerate(table.columns, start=1):
            _variable(data, files, position, column, table)
    ElementTree.indent(root)
    body: bytes = ElementTree.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + body + b"\n"


def _same_series(one: TableFacts, other: TableFacts) -> bool:
    return bool(one.series) and one.series == other.series


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
    has_tables, has_files = any(not one.series for one in tables), any(one.series for one in tables)
    rows = [words for words, there in (("cells of tables", has_tables), (f"synthetic {unit}", has_files)) if there]
    _text(summary, "anlyUnit", f"{' and '.join(rows)}; the unit of privacy is the {unit}")
    for universe in dict.fromkeys(table.universe for table in tables):
        _text(summary, "universe", universe)
    if has_tables:
        _text(summary, "dataKind", "aggregate data with noise added for privacy")
    if has_files:
        _text(summary, "dataKind", "synthetic microdata")
    use = ElementTree.SubElement(ElementTree.SubElement(study, "dataAccs"), "useStmt")
    _text(use, "confDec", confidentiality)
    warnings = ["Every value is an estimate. Quote it with its margin of error."] if has_tables else []
    if has_files:
        warnings.append("Analyse each synthetic file by itself and combine the answers. Say nothing about one record.")
    _text(use, "disclaimer", " ".join(warnings))


def _text(parent: ElementTree.Element, tag: str, content: str) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag)
    child.text = xml_text(content)
    return child


def xml_text(content: str) -> str:
    """The text without the letters that no XML document may hold.

    >>> xml_text("a" + chr(1) + "b")
    'a\N{REPLACEMENT CHARACTER}b'
    """
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", content)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _file(root: ElementTree.Element, number: int, table: TableFacts) -> None:
    description = ElementTree.SubElement(root, "fileDscr", {"ID": f"F{number}"})
    file = ElementTree.SubElement(description, "fileTxt")
    _text(file, "fileName", table.path)
    _text(file, "fileCont", table.title)
    size = ElementTree.SubElement(file, "dimensns")
    _text(size, "caseQnty", str(table.rows))
    _text(size, "varQnty", str(len(table.columns)))
    _text(file, "fileType", "CSV, UTF-8, comma-separated, with a header line")


def _variable(
    parent: ElementTree.Element, files: Sequence[int], position: int, column: Column, table: TableFacts
) -> None:
    interval = "contin" if column.kind == "number" else "discrete"
    places = " ".join(f"F{number}" for number in files)
    names = {"ID": f"F{files[0]}V{position}", "name": xml_text(column.name), "files": places, "intrvl": interval}
    variable = ElementTree.SubElement(parent, "var", names)
    _text(variable, "labl", column.label)
    if column.drawn:
        _text(variable, "imputation", f"Every value was drawn by a synthesizer. {table.guarantee}")
    if column.bounds is not None:
        ends = {"min": _number(column.bounds[0]), "max": _number(column.bounds[1])}
        ElementTree.SubElement(ElementTree.SubElement(variable, "valrng"), "range", ends)
    _text(variable, "universe", table.universe)
    for code, label in column.levels:
        category = ElementTree.SubElement(variable, "catgry")
        _text(category, "catValu", code)
        _text(category, "labl", label)
    ElementTree.SubElement(
        variable, "varFormat", {"type": "character" if column.kind in ("string", "date") else "numeric"}
    )
    if column.name == "value" and not table.series:
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
            "fields": [_field(column, table) for column in table.columns],
            "missingValues": [""],
            **({"primaryKey": list(table.keys)} if not table.series else {}),
        },
    }


def _field(column: Column, table: TableFacts) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name, "type": column.kind, "title": column.label}
    constraints: dict[str, Any] = {}
    if column.bounds is not None and column.kind != "string":
        constraints["minimum"], constraints["maximum"] = column.bounds
    if column.levels:
        if not table.series:
            constraints["required"] = True
        if len(column.levels) <= _LARGEST_INLINE_LIST:
            constraints["enum"] = [harmless_text(code) for code, _ in column.levels]
    if column.name == "margin_of_error" and not table.series:
        constraints["minimum"] = 0
    if constraints:
        field["constraints"] = constraints
    return field
