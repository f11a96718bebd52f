"""The files of a bundle that follow from its others: codebook, data package, registry record, SDMX, workbook, page.

They are made from the documents and products in the folder and from nothing else. `verify` makes them again the same
way and compares: a record or a page that was edited by hand contradicts its own bundle.

`registry.yaml` is for a public registry of differential-privacy deployments: who, what, unit, parameters, how. The
groups follow what such registries ask for at their fullest tier. Written as plain YAML without a library: quoted
strings, maps and lists are all it needs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import tacita
from tacita.data.schema import Categorical, Schema
from tacita.implicates import Implicates
from tacita.mechanisms.table.levels import LEVEL, TableLevels
from tacita.privacy import Guarantee
from tacita.privacy.json_form import guarantee_from_json, loss_from_json, loss_to_json
from tacita.release.bundle_files import fingerprint, json_bytes, read_json, read_thin
from tacita.release.codebook import data_package, ddi
from tacita.release.facts import ALL_LEVELS, TableFacts, table_facts
from tacita.release.mechanisms import JOB_MECHANISMS
from tacita.release.microdata import FOLDER, WITHHELD, is_unfit, microdata_facts, verdict_of
from tacita.release.page import render_page
from tacita.release.sdmx import sdmx_csv, sdmx_structure
from tacita.release.words import account_of, kind_of_privacy, left_open, promise_in_short
from tacita.release.xlsx import WORKBOOK, tables_workbook

Yaml = str | list["Yaml"] | dict[str, "Yaml"]


def registry_record(
    *,
    title: str,
    publisher: str,
    published: str,
    unit: str,
    guarantee: Guarantee,
    cap: str,
    all_hold: str | None = None,
    tables: Sequence[dict[str, Any]],
    microdata: Sequence[dict[str, Any]] = (),
    version: str,
    rehearsal: bool,
) -> bytes:
    """The record as YAML bytes; each product has a name, a title and a mechanism.

    `all_hold` is how firmly the sum of all releases under the cap holds, where the ledger knows.
    """
    products, bare = [*tables, *microdata], guarantee.holds == "never"
    kinds = [kind for kind, there in (("tables", tables), ("synthetic microdata", microdata)) if there]
    after = [
        words
        for words, there in (
            ("rounding, non-negativity, totals and ranks are made from the noisy values only", tables),
            (
                "none: synthetic files are drawn from models of the confidential rows"
                if bare
                else "synthetic files are drawn from released numbers and public columns only",
                microdata,
            ),
        )
        if there
    ]
    record: dict[str, Yaml] = {
        "name": title,
        "status": "REHEARSAL, not a deployment" if rehearsal else "published",
        "data_curator": publisher or "not stated in the specification",
        "data_product": {
            "type": " and ".join(kinds),
            "description": [f"{one['name']}: {one['title']}" for one in products],
            "publication_date": published,
        },
        "privacy_definition": {
            "name": kind_of_privacy(guarantee),
            "neighbours": "none" if bare else str(guarantee.neighbours),
            "holds": guarantee.holds,
            "not_protected": list(left_open(guarantee)),
        },
        "privacy_unit": {"unit": unit, "protected": guarantee.protects},
        "privacy_loss": {
            **({"epsilon": "not bounded"} if bare else loss_to_json(guarantee.loss)),
            "holds": guarantee.holds,
            "cap_over_all_releases": cap,
            "sum_over_all_releases_holds": all_hold or "not recorded",
        },
        "model": "central: the curator holds the confidential file and "
        + ("lets this leave without a guarantee" if bare else "protects what leaves it"),
        "accounting": {
            "composition": "losses of all products and releases add, as exact fractions, in an append-only ledger",
            "post_processing": "; ".join(after),
        },
        "implementation": {
            "software": f"tacita {version}",
            "mechanisms": [f"{one['name']}: {one['mechanism']}" for one in products],
            "randomness": "a stated seed" if rehearsal else "the operating system's entropy",
            "assumes": list(guarantee.assumes) or ["nothing beyond the definition"],
        },
    }
    return ("\n".join(_lines(record)) + "\n").encode()


def _lines(value: Yaml, indent: str = "") -> Iterator[str]:
    """YAML block style; JSON string quoting is valid YAML and needs no rules about special words.

    >>> list(_lines({"unit": "worker", "assumes": ["yes", "no"]}))
    ['unit: "worker"', 'assumes:', '  - "yes"', '  - "no"']
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str):
                yield f"{indent}{key}: {_quoted(inner)}"
            else:
                yield f"{indent}{key}:"
                yield from _lines(inner, indent + "  ")
    elif isinstance(value, list):
        for inner in value:
            if not isinstance(inner, str):
                raise TypeError("lists in a registry record hold text only")
            yield f"{indent}- {_quoted(inner)}"


def _quoted(text: str) -> str:
    """A YAML string in double quotes, with letters that YAML does not allow written as their numbers.

    >>> print(_quoted('caf\N{LATIN SMALL LETTER E WITH ACUTE} "1"'), _quoted(chr(7)))
    "caf\N{LATIN SMALL LETTER E WITH ACUTE} \\"1\\"" "\\U00000007"
    """
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one.isprintable() else f"\\U{ord(one):08X}" for one in plain) + '"'


PAGE = "report.html"
STAMP = "REHEARSAL"


@cache
def code_hash() -> str:
    """A hash of the package's own files: two installations with the same one write the same records."""
    package = Path(tacita.__file__).parent
    whole = hashlib.sha256()
    for path in sorted(one for one in package.rglob("*") if one.suffix in (".py", ".j2", ".css")):
        whole.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return whole.hexdigest()


def full_title(plan: Mapping[str, Any]) -> str:
    return f"{STAMP}: {plan['title']}" if plan["rehearsal"] else str(plan["title"])


def write_records(folder: Path, made: Mapping[str, Any]) -> None:
    """All of them, into a folder that holds everything else; the page last, since it lists the others."""
    for path, content in records(folder, made).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    (folder / PAGE).write_text(render_page(folder, made), encoding="utf-8")


def records(folder: Path, made: Mapping[str, Any]) -> dict[str, bytes]:
    """Every record by its path; `made` is the manifest's account of how the bundle was made."""
    plan, ledger = (read_json(folder / name) for name in ("plan.json", "ledger.json"))
    schema, guarantee = Schema.stored(plan["schema"]), guarantee_from_json(plan["guarantee"])
    version, date = made["versions"].get("tacita") or "unknown", made["date"]
    tables = {one["name"]: read_thin(folder / "tables" / f"{one['name']}.parquet") for one in plan["tables"]}
    facts = [_table_facts(one, tables[one["name"]], schema) for one in plan["tables"]]
    files = [
        fact
        for one in plan["microdata"]
        if one["kind"] != WITHHELD
        for fact in microdata_facts(one, Implicates.read(folder / FOLDER, schema), rehearsal=plan["rehearsal"])
    ]
    title, promise = full_title(plan), promise_in_short(guarantee)
    bounded = "NOT protected: no formal guarantee" if guarantee.holds == "never" else "protected as stated"
    checks = [verdict_of(one) for one in plan["microdata"] if one.get("check")]
    codebook = ddi(
        title=title,
        publisher=plan["publisher"],
        published=date,
        software=f"tacita {version}",
        abstract=" ".join([f"{_products(plan)} made from a confidential file and {bounded}.", *checks]),
        confidentiality=promise,
        unit=schema.unit,
        tables=[*facts, *files],
    )
    package = data_package(
        name=re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "release",
        title=title,
        description=" ".join([promise, *checks]),
        publisher=plan["publisher"],
        created=f"{date}T00:00:00Z",
        version=date,
        tables=[*facts, *files],
        hashes={one.path: fingerprint(folder / one.path) for one in (*facts, *files)},
    )
    registry = registry_record(
        title=title,
        publisher=plan["publisher"],
        published=date,
        unit=schema.unit,
        guarantee=guarantee,
        cap=str(loss_from_json(ledger["cap"])),
        all_hold=account_of(ledger["extract"], guarantee.neighbours).get("holds"),
        tables=[_in_short(one) for one in plan["tables"]],
        microdata=[_in_short(one) for one in plan["microdata"]],
        version=version,
        rehearsal=plan["rehearsal"],
    )
    published = [*facts, *(one for one in files if not one.series)]
    workbook = {}
    if plan["spec"].get("excel") and published:  # no key of the first bundles
        workbook[WORKBOOK] = tables_workbook(folder, plan | {"title": title}, guarantee, published, checks)
    written = {"codebook.xml": codebook, "datapackage.json": json_bytes(package), "registry.yaml": registry}
    return written | workbook | (_sdmx(plan, facts, tables, date) if facts else {})


def _sdmx(plan: dict[str, Any], facts: list[TableFacts], tables: dict[str, pa.Table], date: str) -> dict[str, bytes]:
    stamp = f"{STAMP}_" if plan["rehearsal"] else ""  # an SDMX table is told apart by the name of its flow
    flows = {one.name: replace(one, name=f"{stamp}{one.name}") for one in facts}
    structure = sdmx_structure(full_title(plan), date, list(flows.values()), is_test=plan["rehearsal"])
    values = {f"sdmx/{name}.csv": sdmx_csv(flow, tables[name]) for name, flow in flows.items()}
    return values | {"sdmx/structure.xml": structure}


def _in_short(record: dict[str, Any]) -> dict[str, Any]:
    stamp = " (NOT FIT FOR USE)" * is_unfit(record)
    return {"name": record["name"], "title": record["title"] + stamp, "mechanism": record["settings"]["mechanism"]}


def _products(plan: dict[str, Any]) -> str:
    kinds = (("tables", plan["tables"]), ("synthetic files", plan["microdata"]))
    words = " and ".join(kind for kind, there in kinds if there)
    return words[:1].upper() + words[1:]


def _table_facts(record: dict[str, Any], table: pa.Table, schema: Schema) -> TableFacts:
    """The columns of one table, with the schema's public labels."""
    levels: dict[str, tuple[tuple[str, str], ...]] = {}
    totals = record["settings"].get("totals") or ()
    for variable in schema.variables:
        kind = variable.kind
        if isinstance(kind, Categorical) and variable.name in table.column_names:
            listed = tuple(zip(kind.levels, kind.labels, strict=True))
            summed = totals and variable.name not in totals
            levels[variable.name] = (*listed, ALL_LEVELS) if summed else listed
    if record["settings"].get("levels"):
        tables = TableLevels.described(schema, record["settings"])
        for name in tables.by:
            coarser = {code: code for code in tables.listed(name)}
            levels[name] = tuple((coarser | dict(levels[name])).items())
        levels[LEVEL] = tuple((one, one) for one in tables.names)
    where = record["settings"].get("where") or {}
    limits = "; ".join(f"{name} = {', '.join(values)}" for name, values in where.items())
    counted = "jobs" if record["settings"].get("mechanism") in JOB_MECHANISMS else "records"
    universe = f"All {counted} in the file" + (f" with {limits}" if limits else "")
    if "quantile" in table.column_names:
        levels["quantile"] = tuple((one, f"Quantile {one}") for one in dict.fromkeys(table["quantile"].to_pylist()))
    if "measure" in table.column_names:
        levels["measure"] = tuple((one, one) for one in dict.fromkeys(table["measure"].to_pylist()))
    guarantee = str(guarantee_from_json(record["guarantee"]))
    labels = {one.name: one.label for one in schema.variables}
    return table_facts(record["name"], record["title"], universe, guarantee, table, levels, labels)
