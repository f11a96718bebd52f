"""The files of a bundle and the manifest that pins them.

A spreadsheet opens the CSV files without running anything. A text cell that begins with = + - @, a tab or a return is
taken for a formula there, so an apostrophe is put in front of it, as spreadsheets themselves do; codes that are plain
numbers, such as -9, stay as they are. Only CSV files are changed: the Parquet file beside each holds the text as it
is.

A bundle also says whether its release was superseded, and what it supersedes itself. Both follow from the ledger's
sealed lines in the bundle's own extract.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.errors import VerificationError

BUNDLE_FORM = 1  # raised when the layout changes in a way that an older `verify` would misread
_LARGEST_DOCUMENT = 1 << 28  # bytes of JSON; far above any plan or ledger extract


SIGNATURES = "signatures"


def write_manifest(folder: Path, head: dict[str, Any]) -> None:
    """Pin every file of the folder, and then the manifest itself."""
    files = {}
    for path in bundle_files(folder):
        digest, size = fingerprint(folder / path)
        files[path] = {"sha256": digest, "size": size}
    document = {**head, "files": files}
    document["manifest_sha256"] = manifest_hash(document)
    write_json(folder / "manifest.json", document)


def manifest_hash(document: dict[str, Any]) -> str:
    """The hash of a manifest without its own hash."""
    rest = {key: value for key, value in document.items() if key != "manifest_sha256"}
    return hashlib.sha256(json_bytes(rest)).hexdigest()


def bundle_files(folder: Path) -> list[str]:
    """Every file but the manifest and its signatures, and every empty folder, as sorted relative paths.

    A bundle holds regular files in folders; a link, a pipe or a device in it is a VerificationError.
    """
    names = _regular_files(folder, folder)
    return sorted(name for name in names if name != "manifest.json" and not name.startswith(f"{SIGNATURES}/"))


def _regular_files(place: Path, folder: Path) -> Iterator[str]:
    entries = list(os.scandir(place))
    if not entries:
        yield f"{place.relative_to(folder).as_posix()}/"
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _regular_files(path, folder)
        elif entry.is_file(follow_symlinks=False):
            yield path.relative_to(folder).as_posix()
        else:
            raise VerificationError(
                f"{path.relative_to(folder).as_posix()} is not a regular file but a link, a pipe or a device, and a "
                "bundle has none"
            )


def fingerprint(path: Path, expected: int | None = None) -> tuple[str, int]:
    """sha256 and size of one file; one that is not as large as expected is not read."""
    with path.open("rb") as file:
        facts = os.fstat(file.fileno())
        if expected is not None and facts.st_size != expected:
            return "", facts.st_size
        return hashlib.file_digest(file, "sha256").hexdigest(), facts.st_size


def read_json(path: Path) -> Any:
    """A document of a bundle; nothing that is endless or absurdly large is read."""
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode):
        raise VerificationError(f"{path.name} is not a regular file")
    if facts.st_size > _LARGEST_DOCUMENT:
        raise VerificationError(f"{path.name} is larger than any bundle's")
    return json.loads(path.read_bytes())


def json_bytes(document: dict[str, Any]) -> bytes:
    """The one way Tacita writes JSON, so that equal documents are equal bytes."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document to a file in that one way."""
    path.write_bytes(json_bytes(document))


# ---------------------------------------------------------------- cells of a CSV file


_BLOCK, _GROUP = 100_000, 1 << 20  # rows: of texts held at once, and of a row group
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$"


def write_csv(table: pa.Table, path: Path) -> None:
    """The table as a CSV file, with its text made harmless."""
    with pa_csv.CSVWriter(path, harmless(table.slice(0, 0)).schema) as out:
        for start in range(0, table.num_rows, _BLOCK):
            out.write_table(harmless(table.slice(start, _BLOCK)))


def harmless(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before each text that a spreadsheet would run.

    >>> harmless(pa.table({"code": ["=1+1", "-9", "a=b"], "n": [-1, 2, 3]})).to_pydict()
    {'code': ["'=1+1", '-9', 'a=b'], 'n': [-1, 2, 3]}
    >>> harmless(pa.table({"code": pa.array(["=1", "a"], pa.large_string()).dictionary_encode()}))["code"].to_pylist()
    ["'=1", 'a']
    """
    for place, field in enumerate(table.schema):
        if is_text(field.type):
            parts = table[field.name].dictionary_encode().chunks  # few different texts, as a rule
            spelled = [_harmless(one.dictionary.cast(pa.string())).take(one.indices) for one in parts]
            table = table.set_column(place, field.name, pa.chunked_array(spelled, pa.string()))
    return table


def harmless_text(text: str) -> str:
    """The same for one text, such as a code in a record that describes the CSV file."""
    return str(_harmless(pa.array([text]))[0].as_py())


def _harmless(column: pa.Array) -> pa.Array:
    is_formula = pc.match_substring_regex(column, _FORMULA)
    is_number = pc.match_substring_regex(column, _NUMBER)
    runs = pc.and_not(is_formula, is_number)
    return pc.if_else(runs, pc.binary_join_element_wise("'", column, ""), column)


# ---------------------------------------------------------------- tables of many cells


def thin(table: pa.Table) -> pa.Table:
    """The same table with each text held once: codes and guarantees stand in millions of rows."""
    for place, field in enumerate(table.schema):
        if is_text(field.type) and not pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table[field.name].dictionary_encode())
    return table


def read_thin(path: Path) -> pa.Table:
    """A table of a bundle, as `thin` has it."""
    texts = [field.name for field in pq.read_schema(path) if is_text(field.type)]
    return pq.read_table(path, read_dictionary=texts)


def write_parquet(table: pa.Table, path: Path) -> None:
    """The same file for a thin table and a plain one. It has no statistics beyond the values, and no writer's own
    metadata that differs from run to run."""
    plain = _plain_texts(table.schema)
    if table.schema == plain:
        pq.write_table(table, path, compression="zstd")
        return
    with pq.ParquetWriter(path, plain, compression="zstd") as out:
        for start in range(0, max(table.num_rows, 1), _GROUP):
            out.write_table(table.slice(start, _GROUP).cast(plain).combine_chunks(), _GROUP)


def is_text(held: pa.DataType) -> bool:
    held = held.value_type if pa.types.is_dictionary(held) else held
    return bool(pa.types.is_string(held) or pa.types.is_large_string(held))


def _plain_texts(schema: pa.Schema) -> pa.Schema:
    held = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema([field.with_type(one) for field, one in zip(schema, held, strict=True)], metadata=schema.metadata)


PARTS = ("superseded", "supersedes")


def corrections(extract: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The corrections that concern this release, by what they say of it; a part without any is left out.

    >>> cited = {"number": 3, "label": "Jobs: places", "time": "2026-03-01"}
    >>> line = {"kind": "supersede", "time": "2026-04-01", "entries": [cited], "by": [], "reason": "A wrong code list."}
    >>> corrections({"entries": [{"entry": {"kind": "commit", "reserve": 3}}, {"entry": line}]})["superseded"]
    [{'date': '2026-04-01', 'releases': [{'number': 3, ...}], 'by': [], 'reason': 'A wrong code list.'}]
    """
    lines = [line["entry"] for line in extract.get("entries", [])]
    own = {line["reserve"] for line in lines if line["kind"] == "commit"}
    told: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if line["kind"] == "supersede":
            said = {"date": line["time"], "releases": line["entries"], "by": line["by"], "reason": line["reason"]}
            for part, cited in zip(PARTS, (line["entries"], line["by"]), strict=True):
                if any(one["number"] in own for one in cited):
                    told.setdefault(part, []).append(said)
    return told
