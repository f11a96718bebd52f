"""Synthetic files in a bundle: how they are written, described and checked again.

A synthesizer's result goes into the bundle three times, each for another reader: the files for analysts
(`microdata/`), the released parameters for modellers (`measurements/NAME.json`), and the bytes that the ledger
sealed (`measurements/NAME.result`), from which anyone with the software can make the other two again.

What a self-check found, in words and one picture: for the page, the codebook and the terminal.

Made from what plan.json says of a product and from nothing else. Post-processing of released numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from markupsafe import Markup

from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.errors import VerificationError
from tacita.implicates import Implicates, Synthetic
from tacita.pages.charts import limit_bars
from tacita.pages.render import percent
from tacita.privacy import Guarantee
from tacita.privacy.json_form import digest, guarantee_from_json
from tacita.release.alike import read_both, same_document, same_values
from tacita.release.bundle_files import read_json, write_csv
from tacita.release.facts import Column, TableFacts, kind_of, spoken
from tacita.release.settings import plan_from_record
from tacita.release.survey_tables import check_survey_tables_made, survey_table_facts, write_survey_tables
from tacita.synthesis.selfcheck import Checked
from tacita.synthesis.selfcheck.report import FIT, SPOKEN, UNFIT, Finding, Report, report_from

FOLDER = "microdata"
WITHHELD = "withheld"  # the kind of files that are not there
_REHEARSAL = ((b"REHEARSAL", b"no guarantee"),)
_UNFIT = ((b"NOT FIT FOR USE", b"failed its self-check"),)


@dataclass(frozen=True)
class Made:
    """What every product of a release says of itself: its plan, and the promise it was made under."""

    name: str
    title: str
    mechanism: dict[str, Any]
    settings: dict[str, Any]
    proof: str
    guarantee: Guarantee
    forecast: dict[str, Any]


@dataclass(frozen=True)
class Microdata(Made):
    """The synthetic files of a release, and what was measured for them."""

    measured: Mapping[str, Any]
    implicates: Implicates | None
    """None where they failed their self-check and were withheld."""
    stored: bytes
    tables: tuple[tuple[str, ...], ...] = ()
    """Survey tables to make from the files."""
    check: dict[str, Any] | None = None
    """What their self-check found."""
    agrees: tuple[str, ...] = ()
    """Tables of the same release that the files were made to agree with."""

    def record(self) -> dict[str, Any]:
        """What plan.json says about the files beyond what it says about every product."""
        files = self.implicates
        checked = {} if self.check is None else {"check": self.check}
        if files is None:
            return {"kind": WITHHELD, "rows": [], "columns": [], "synthesized": [], **checked}
        return {
            **checked,
            "kind": files.kind,
            "rows": list(files.rows),
            "columns": list(files.columns),
            "synthesized": list(files.synthesized),
            **({"tables": [list(by) for by in self.tables]} if self.tables else {}),
            **({"agrees": list(self.agrees)} if self.agrees else {}),
        }


def agreed_with(plan: Mapping[str, Any], result: Synthetic, tables: Mapping[str, Any]) -> tuple[str, ...]:
    """The tables that files agree with: all that count the same records by columns of the files.

    A self-check has seen the files as they were drawn without them, and so they stay; `at_most` leaves other records
    out for each product.
    """
    usable = getattr(result, "usable", None)
    if usable is None or "at_most" in plan:
        return ()
    return tuple(name for name, table in tables.items() if usable(table))


def files_of(result: Any, tables: Sequence[Any]) -> Implicates | None:
    """The files of a result, agreeing with these tables."""
    made: Implicates | None = (result.agreeing(tables) if tables else result).implicates
    return made


def is_unfit(record: Mapping[str, Any]) -> bool:
    """Whether the files of a product failed their self-check; `record` is what plan.json says of it."""
    return bool((record.get("check") or {}).get("verdict") == UNFIT)


def csv_name(number: int, *, rehearsal: bool, unfit: bool = False) -> str:
    """The name of a file as CSV. A CSV cannot carry a stamp inside, so a stamped one has it in its name."""
    return f"implicate-{number:02d}{'.REHEARSAL' * rehearsal}{'.NOT-FIT-FOR-USE' * unfit}.csv"


def write_microdata(product: Microdata, folder: Path, *, rehearsal: bool) -> None:
    """The files as Parquet and CSV unless they are withheld, the released parameters, and the sealed bytes."""
    measurements = folder / "measurements"
    (measurements / f"{product.name}.json").write_text(_parameters(product.measured), encoding="utf-8")
    (measurements / f"{product.name}.result").write_bytes(product.stored)
    if product.implicates is not None:
        _write_files(product, product.implicates, folder, rehearsal=rehearsal)


def _write_files(product: Microdata, files: Implicates, folder: Path, *, rehearsal: bool) -> None:
    unfit = is_unfit(product.record())
    stamps = _REHEARSAL * rehearsal + _UNFIT * unfit
    plain = Implicates(tuple(map(_plain, files.tables)), files.schema, files.synthesized, files.kind)
    for number, path in enumerate(plain.write(folder / FOLDER), start=1):
        table = pq.read_table(path)
        write_csv(table, folder / FOLDER / csv_name(number, rehearsal=rehearsal, unfit=unfit))
        if stamps:
            pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **dict(stamps)}), path)
    promise = "REHEARSAL: no guarantee" if rehearsal else str(product.guarantee)
    write_survey_tables(files, product.name, product.tables, folder, promise)


def _plain(table: pa.Table) -> pa.Table:
    """Columns as both formats hold them: codes as text rather than as a dictionary, and one way to be missing."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        columns[name] = column
    return pa.table(columns)


def _parameters(measured: Mapping[str, Any]) -> str:
    return json.dumps(dict(measured), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def microdata_facts(record: Mapping[str, Any], files: Implicates, *, rehearsal: bool) -> list[TableFacts]:
    """Each file as its reader sees it; all synthetic ones have the same columns, and survey tables follow them.

    `record` is what plan.json says of the product.
    """
    name, title, schema = record["name"], record["title"], files.schema
    guarantee, unfit = guarantee_from_json(record["guarantee"]), is_unfit(record)
    columns = tuple(_column(field, schema, files) for field in _plain(files.tables[0]).schema)
    rule = "collected units with drawn values" if files.kind == "partial" else "synthetic records, none of them real"
    synthetic = [
        TableFacts(
            name=f"{name}-{number:02d}",
            title=f"{title}, synthetic file {number} of {files.m}{', NOT FIT FOR USE' * unfit}",
            universe=f"{spoken(schema.unit)}: {rule}",
            guarantee=str(guarantee),
            rows=rows,
            columns=columns,
            file=f"{FOLDER}/{csv_name(number, rehearsal=rehearsal, unfit=unfit)}",
            series=name,
        )
        for number, rows in enumerate(files.rows, start=1)
    ]
    tables = [tuple(by) for by in record.get("tables", ())]
    return synthetic + survey_table_facts(files, name, title, tables, guarantee)


def _column(field: pa.Field, schema: Schema, files: Implicates) -> Column:
    variable = schema[field.name]
    kind, storage = variable.kind, kind_of(field.type)
    levels: tuple[tuple[str, str], ...] = ()
    if isinstance(kind, Categorical):
        levels = tuple(zip(kind.levels, kind.labels, strict=True))
    bounds = (kind.lower, kind.upper) if isinstance(kind, Integer | Numeric) else None
    return Column(
        field.name, variable.label or spoken(field.name), storage, levels, bounds, field.name in files.synthesized
    )


# ---------------------------------------------------------------- checking


def check_microdata(folder: Path, record: dict[str, Any], sealed: list[tuple[Any, str]]) -> None:
    """The bytes are those the ledger sealed, and the files are as many as were announced, the same in both formats."""
    name = record["name"]
    stored = (folder / "measurements" / f"{name}.result").read_bytes()
    if (record["mechanism"], digest(stored)) not in sealed:
        raise VerificationError(f"measurements/{name}.result is not what the ledger stored")
    unfit = is_unfit(record)
    twins = {
        f"implicate-{number:02d}.parquet": csv_name(number, rehearsal=False, unfit=unfit)
        for number in range(1, len(record["rows"]) + 1)
    }
    present = (folder / FOLDER).iterdir() if (folder / FOLDER).exists() else ()
    if sorted(path.name for path in present) != sorted((*twins, *twins.values())):
        raise VerificationError(f"{FOLDER}/ does not hold the files that plan.json lists")
    for (one, twin), rows in zip(twins.items(), record["rows"], strict=True):
        table = read_both(folder / FOLDER / one, folder / FOLDER / twin)
        if table.num_rows != rows or table.column_names != record["columns"]:
            raise VerificationError(f"{FOLDER}/{one} does not have the rows and columns that plan.json lists")
        stamps = table.schema.metadata or {}
        if dict(_REHEARSAL).keys() & stamps.keys():
            raise VerificationError(f"{FOLDER}/{one} is stamped as a rehearsal, which is never released")
        if unfit != bool(dict(_UNFIT).keys() & stamps.keys()):
            raise VerificationError(f"{FOLDER}/{one} is not stamped as its self-check asks for")


def check_made_again(folder: Path, record: dict[str, Any], schema: Schema, tables: Mapping[str, Any]) -> None:
    """The files and the released parameters follow from the sealed bytes, and from the tables they agree with."""
    name = record["name"]
    stored = (folder / "measurements" / f"{name}.result").read_bytes()
    again = plan_from_record(record["mechanism"]).restore(stored)
    if not isinstance(again, Synthetic):
        raise VerificationError(f"measurements/{name}.result holds no synthetic files")
    if again.rehearsal:
        raise VerificationError(f"measurements/{name}.result is a rehearsal, which is never released")
    if not same_document(read_json(folder / "measurements" / f"{name}.json"), json.loads(_parameters(again.measured))):
        raise VerificationError(f"measurements/{name}.json does not hold the parameters that were measured")
    report = again.report.record() if isinstance(again, Checked) else None
    if not same_document(record.get("check"), json.loads(json.dumps(report))):
        raise VerificationError("plan.json: the self-check is not the one that was measured")
    made = files_of(again, [tables[one] for one in record.get("agrees", ())])
    if (made is None) != (record["kind"] == WITHHELD):
        raise VerificationError("plan.json: does not say truly whether files were withheld")
    if made is None:
        return
    written = Implicates.read(folder / FOLDER, schema)
    same = (written.kind, written.synthesized, written.m) == (made.kind, made.synthesized, made.m)
    if not same or (record["kind"], record["synthesized"]) != (made.kind, list(made.synthesized)):
        raise VerificationError(f"{FOLDER}/ does not say truly how its files were made")
    order = [(column, "ascending") for column in made.columns]
    for number, (report, drawn) in enumerate(zip(written.tables, made.tables, strict=True), start=1):
        if not same_values(_plain(drawn).sort_by(order), report):
            raise VerificationError(f"{FOLDER}/implicate-{number:02d}.parquet does not follow from its measurements")
    check_survey_tables_made(made, name, [tuple(by) for by in record.get("tables", [])], folder)


_FEW = 3  # open checks that a sentence can name; more of them have one reason
_UNCHECKED = (
    "No self-check was paid for: nothing here says how near the synthetic files are to the confidential one. Ask "
    "whoever published them before you rely on a result."
)


def verdict_of(record: Mapping[str, Any]) -> str:
    """In a sentence or two, whether the files are any good; `record` is what plan.json says of the product."""
    if not record.get("check"):
        return _UNCHECKED
    report, which = report_from(record["check"]), "first file" if len(record["rows"]) > 1 else "file"
    if report.verdict == FIT:
        return f"Fit for use: the {which} met every limit that was stated for its paid self-check."
    if report.verdict == UNFIT:
        fate = " The files were withheld; only this report is published." if record["kind"] == WITHHELD else ""
        broken = "; ".join(_said(one) for one in report.findings if one.broken)
        return f"NOT FIT FOR USE: the {which} failed its paid self-check: {broken}.{fate}"
    left = [one for one in report.findings if not one.met]
    named = "; ".join(_said(one) for one in left)
    if len(left) > _FEW:
        named = f"{len(left)} of its {len(report.findings)} checks: its share of the budget is small for so few records"
    return (
        f"Not decided: the paid self-check broke no limit for certain, but its margins do not rule it out for {named}."
    )


def _said(one: Finding) -> str:
    off = "" if one.name == "beyond" else " off"  # a share of the records, not how far something is from the truth
    return f"{SPOKEN[one.name]}: {_interval(one)}{off}, limit {percent(one.limit)}"


def _interval(one: Finding) -> str:
    high = "no bound" if one.high is None else percent(one.high)
    return f"{percent(one.value)} ({percent(one.low)} to {high})"


def check_view(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The paragraph and the picture of the page; None where there was no check."""
    if not record.get("check"):
        return None
    report = report_from(record["check"])
    return {
        "verdict": verdict_of(record),
        "paragraph": _paragraph(report, record["mechanism"]["check"]["share"]),
        "picture": _picture(report),
        "rows": [(SPOKEN[one.name], _interval(one), percent(one.limit), _judged(one)) for one in report.findings],
        "unfit": report.verdict == UNFIT,
        "withheld": record["kind"] == WITHHELD,
    }


def _paragraph(report: Report, share: str) -> str:
    told = {one.name: one for one in report.findings}
    said = [
        f"A share of {share} of the budget of the files paid for comparing the first of them with the confidential "
        "file, by a list of checks that was fixed beforehand. Noise was added to each result; the intervals hold all "
        "together with 95% confidence.",
        f"On average a table of one column has {_interval(told['one_way'])} of its records in the wrong cell",
    ]
    if "two_way" in told:
        said[-1] += f", a table of two columns {_interval(told['two_way'])}"
    said[-1] += "."
    if "rank" in told:
        said.append(
            f"The share of records up to any value of any number is off by at most {_interval(told['rank'])}, and "
            f"{_interval(told['beyond'])} of the confidential records have some number that is smaller than the "
            "smallest or larger than the largest one in the file."
        )
    if "mean" in told:
        said.append(
            f"The mean that fares worst is off by {_interval(told['mean'])} of the mean size of its values, extremes "
            "cut off."
        )
    return " ".join(said)


def _judged(one: Finding) -> str:
    return "met" if one.met else "broken" if one.broken else "not decided"


def _picture(report: Report) -> Markup:
    return limit_bars(
        [SPOKEN[one.name] for one in report.findings],
        [one.value for one in report.findings],
        [(one.low, one.high) for one in report.findings],
        [one.limit for one in report.findings],
    )
