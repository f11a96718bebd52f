"""Writes an Excel workbook: sheets of texts and numbers, and nothing that could run.

Equal sheets give equal parts: no date, no name and no random id is written. Texts are stored as texts, so that no cell
can hold a formula; one that begins like a formula stays a text when somebody edits it. Knows nothing of releases.

The tables of a bundle as one Excel workbook, where the specification says `excel = true`.

It is made from the published tables and the records of the bundle alone, and `verify` makes it again.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.privacy import Guarantee
from tacita.release.facts import TableFacts
from tacita.release.words import firmly, left_open, odds_example, promise_in_short

Cell = str | int | float | None
Row = Sequence[Cell]

MOST_ROWS = 1_048_576  # of a sheet, as Excel has it
_LONGEST_NAME, _LONGEST_TEXT = 31, 32_767
_WIDTHS = (8, 60)  # characters of a column, from and to
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_NOT_XML = re.compile("[^\\t\\n\\x20-\\x7e\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_LOOKS_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")  # Excel reads _x0041_ as A
_FORMULA = re.compile(r"[=+\-@\t\r]")
# Places in the list of formats below.
_BOLD, _TEXT, _QUOTED, _WHOLE, _NOTE = 1, 2, 3, 4, 5
_STYLES = (
    f'{_HEAD}<styleSheet xmlns="{_MAIN}">'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    "</fills><borders count='1'><border><left/><right/><top/><bottom/><diagonal/></border></borders>"
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="6"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" quotePrefix="1"/>'
    '<xf numFmtId="3" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1">'
    '<alignment vertical="top" wrapText="1"/></xf></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


@dataclass(frozen=True)
class Sheet:
    """One sheet: lines of `notes` in bold, the `head` of the columns, and `rows`. Without a head, rows are prose."""

    name: str
    notes: tuple[str, ...]
    head: tuple[str, ...]
    rows: Sequence[Row]


def workbook(sheets: Sequence[Sheet]) -> bytes:
    """The file; sheets keep their order, and get names that Excel takes."""
    names = sheet_names([sheet.name for sheet in sheets])
    places = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{at}" r:id="rId{at}"/>' for at, name in zip(places, names, strict=True)
    )
    related = "".join(
        f'<Relationship Id="rId{at}" Type="{_RELATED}/worksheet" Target="worksheets/sheet{at}.xml"/>' for at in places
    )
    types = "".join(
        f'<Override PartName="/xl/worksheets/sheet{at}.xml" ContentType="{_TYPE}.worksheet+xml"/>' for at in places
    )
    parts = {
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>{types}'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>',
        "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_RELATED}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_RELATED}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{related}'
        f'<Relationship Id="rId{len(sheets) + 1}" Type="{_RELATED}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": _STYLES,
    }
    parts |= {f"xl/worksheets/sheet{at}.xml": _sheet(sheet) for at, sheet in zip(places, sheets, strict=True)}
    return _zipped({name: part.encode() for name, part in parts.items()})


def same_workbook(one: bytes, other: bytes) -> bool:
    """Whether two files hold the same parts; how they are packed depends on the machine."""
    if one == other:
        return True
    try:
        with zipfile.ZipFile(io.BytesIO(one)) as here, zipfile.ZipFile(io.BytesIO(other)) as there:
            sizes = [[(part.filename, part.file_size) for part in file.infolist()] for file in (here, there)]
            # Sizes first: what claims to be larger than it should be is never unpacked.
            return sizes[0] == sizes[1] and all(here.read(name) == there.read(name) for name, _ in sizes[0])
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError):
        return False


def sheet_names(names: Sequence[str]) -> list[str]:
    """The same names as Excel takes them: short, without certain signs, each once.

    >>> sheet_names(["about", "a/b", "A_B", "x" * 40])
    ['about', 'a_b', 'A_B~2', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx']
    """
    taken: set[str] = set()
    made = []
    for name in names:
        plain = re.sub(r"[\[\]:*?/\\']", "_", name) or "sheet"
        short, count = plain[:_LONGEST_NAME], 1
        while short.casefold() in taken:
            count += 1
            short = f"{plain[: _LONGEST_NAME - len(f'~{count}')]}~{count}"
        taken.add(short.casefold())
        made.append(short)
    return made


def _sheet(sheet: Sheet) -> str:
    top = len(sheet.notes) + 1  # the row of the head
    pane = (
        f'<pane ySplit="{top}" topLeftCell="A{top + 1}" activePane="bottomLeft" state="frozen"/>' if sheet.head else ""
    )
    widths = "".join(
        f'<col min="{at}" max="{at}" width="{width}" customWidth="1"/>'
        for at, width in enumerate(_widths(sheet), start=1)
    )
    last = f"{_letters(len(sheet.head))}{top + len(sheet.rows)}"
    asked = f'<autoFilter ref="A{top}:{last}"/>' if sheet.head else ""
    return (
        f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">{pane}</sheetView></sheetViews>'
        f"<cols>{widths}</cols><sheetData>{''.join(_lines(sheet))}</sheetData>{asked}</worksheet>"
    )


def _lines(sheet: Sheet) -> Iterator[str]:
    head: list[Row] = [[note] for note in sheet.notes]
    head += [sheet.head] if sheet.head else []
    for number, row in enumerate(head, start=1):
        yield _line(number, row, _BOLD)
    for number, row in enumerate(sheet.rows, start=len(head) + 1):
        yield _line(number, row, _TEXT if sheet.head else _NOTE)


def _line(number: int, row: Row, style: int) -> str:
    cells = (_cell(f"{_letters(at)}{number}", value, style) for at, value in enumerate(row, start=1))
    return f'<row r="{number}">{"".join(cells)}</row>'


def _cell(place: str, value: Cell, style: int) -> str:
    """One cell; a number that is none stays empty.

    >>> _cell("A1", 1240, _TEXT), _cell("B1", float("nan"), _TEXT)
    ('<c r="A1" s="4"><v>1240</v></c>', '')
    >>> _cell("C1", "=1+1", _TEXT)
    '<c r="C1" s="3" t="inlineStr"><is><t xml:space="preserve">=1+1</t></is></c>'
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, str):
        text = _LOOKS_ESCAPED.sub("_x005F_", _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", value[:_LONGEST_TEXT]))
        style = _QUOTED if _FORMULA.match(text) else style
        return f'<c r="{place}" s="{style}" t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'
    return (
        f'<c r="{place}" s="{_WHOLE}"><v>{value}</v></c>'
        if isinstance(value, int)
        else f'<c r="{place}"><v>{value!r}</v></c>'
    )


def _widths(sheet: Sheet) -> list[int]:
    """As wide as the longest of the first rows, within bounds."""
    looked_at = [sheet.head, *sheet.rows[:200]]
    columns = max(len(row) for row in looked_at)
    longest = (max((len(str(row[at])) for row in looked_at if at < len(row)), default=0) for at in range(columns))
    least, most = _WIDTHS
    return [min(max(one + 2, least), most if sheet.head else 2 * most) for one in longest]


def _letters(column: int) -> str:
    """The name of a column.

    >>> [_letters(one) for one in (1, 26, 27, 703)]
    ['A', 'Z', 'AA', 'AAA']
    """
    name = ""
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def _zipped(parts: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 0, 0  # the same on every system
            file.writestr(entry, part)
    return packed.getvalue()


WORKBOOK = "tables.xlsx"
_SAID_ABOVE = ("confidence", "guarantee")  # the same in every row of a table
_READING = (
    "A value comes with its margin of error: the exact value lies within value ± margin, at the confidence that stands "
    "above the table.",
    "To compare two values, take the root of the sum of their squared margins; a difference smaller than that is no "
    "evidence of a difference.",
    "A cell without a value was withheld or could not be bounded. A margin covers what the table says it covers, not "
    "late reports or wrong codes.",
)


def tables_workbook(
    folder: Path, plan: Mapping[str, Any], guarantee: Guarantee, facts: Sequence[TableFacts], checks: Sequence[str]
) -> bytes:
    """A sheet on the release, then one for each of its published tables; `checks` are verdicts of self-checks."""
    about = Sheet("about", (plan["title"],), (), _about(plan, guarantee, facts, checks))
    return workbook([about, *(_table_sheet(one, _read(folder, one), plan["title"]) for one in facts)])


def _about(
    plan: Mapping[str, Any], guarantee: Guarantee, facts: Sequence[TableFacts], checks: Sequence[str]
) -> list[Row]:
    rows: list[Row] = [
        *(("Self-check", one) for one in checks),
        ("Publisher", plan["publisher"] or "not stated"),
        ("Promise", promise_in_short(guarantee)),
        ("In odds", odds_example(guarantee) or "No bound on odds is stated."),
        ("Privacy loss", firmly(guarantee.loss, guarantee.holds)),
        ("Unit of the file", plan["schema"]["dataset"]["unit"]),
        *(("Assumed", one) for one in guarantee.assumes),
        *(("Not protected", one) for one in left_open(guarantee)),
        *(("How to read it", one) for one in _READING),
    ]
    columns = {column.name: column.label for one in facts for column in one.columns if column.name not in _SAID_ABOVE}
    rows += [(f"Column {name}", label) for name, label in columns.items()]
    rows += [(f"Sheet {one.name}", f"{one.title} ({one.path})") for one in facts]
    return rows


def _table_sheet(fact: TableFacts, table: pa.Table, title: str) -> Sheet:
    told = {name: table[name][0].as_py() if table.num_rows else "" for name in _SAID_ABOVE}
    confidence = f"Margins at {told['confidence']:.4g} confidence. " if table.num_rows else ""
    notes = (f"{title}: {fact.title}", f"{fact.universe}. {confidence}Guarantee: {told['guarantee'] or fact.guarantee}")
    if table.num_rows > MOST_ROWS - len(notes) - 1:
        return Sheet(fact.name, (*notes, f"Too long for a sheet: see {fact.path}"), (), [])
    shown = table.drop_columns(list(_SAID_ABOVE))
    rows: list[tuple[Cell, ...]] = list(zip(*(shown[name].to_pylist() for name in shown.column_names), strict=True))
    return Sheet(fact.name, notes, tuple(shown.column_names), rows)


def _read(folder: Path, fact: TableFacts) -> pa.Table:
    """The table as it was published: Parquet where there is one, since codes stand there as they are."""
    stored = (folder / fact.path).with_suffix(".parquet")
    if stored.is_file():
        return pq.read_table(stored)
    texts = {column.name: pa.string() for column in fact.columns if column.kind == "string"}
    options = pa_csv.ConvertOptions(column_types=texts, strings_can_be_null=False)
    return pa_csv.read_csv(folder / fact.path, convert_options=options)
