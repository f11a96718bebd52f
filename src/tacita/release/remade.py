"""Tables and synthetic files of a bundle, made again from its stored measurements, which the ledger sealed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tacita.data.schema import Schema
from tacita.errors import VerificationError
from tacita.plan.bounded import Bounded
from tacita.privacy.json_form import digest
from tacita.release.alike import read_both, read_table, same_values
from tacita.release.measurements import rebuild
from tacita.release.microdata import check_made_again
from tacita.release.plans import PUBLISHING
from tacita.release.records import code_hash
from tacita.release.settings import plan_from_record
from tacita.tables import publish
from tacita.tables.together import publish_all

_MOST_CELLS, _MOST_LETTERS = 400_000_000, 2_000_000_000  # of a measurement file; far above any table


def sealed_results(ledger: dict[str, Any]) -> list[tuple[Any, str]]:
    """Every stored result that the ledger's lines speak of: the plan and the hash."""
    lines = [line["entry"] for line in ledger["extract"]["entries"]]
    plans = {line["number"]: line["plan"] for line in lines if line["kind"] in ("reserve", "disclose")}
    return [(plans[line["reserve"]], line["sha256"]) for line in lines if line["kind"] == "commit"]


def recomputed(folder: Path, manifest: dict[str, Any], plan: dict[str, Any], ledger: dict[str, Any]) -> Iterator[str]:
    """The measurements are those the ledger sealed, and the tables follow from them, whatever versions made them."""
    try:
        make_again(folder, plan, ledger)
    except VerificationError as error:
        raise VerificationError(f"{error}{_made_otherwise(manifest['made'])}") from None
    made_from = " and the ".join(
        words for words, key in (("tables", "tables"), ("synthetic files", "microdata")) if plan.get(key)
    )
    yield f"the measurements are those the ledger sealed, and the {made_from} follow from them"
    for record in plan.get("microdata", []):
        if record.get("check"):
            verdict = record["check"]["verdict"]
            yield f"the self-check of {record['name']} is the one that was paid for, and says: {verdict}"


def _made_otherwise(made: dict[str, Any]) -> str:
    """What the manifest says of the code that wrote the bundle, where it is not this one."""
    names, versions = ("tacita", "pyarrow", "numpy", "scipy", "numba"), made["versions"]
    others = [f"{name} {versions[name]}" for name in names if name in versions and versions[name] != version(name)]
    if others:
        return f"; it says that it was made with {', '.join(others)}, and is checked with another"
    if made.get("code") == code_hash():
        return ""
    same = f"tacita {versions.get('tacita')}"
    return f"; it says that other code than this wrote it, though both are called {same}: verify it with that code"


def make_again(folder: Path, plan: dict[str, Any], ledger: dict[str, Any]) -> None:
    schema = Schema.stored(plan["schema"])
    sealed = sealed_results(ledger)
    rebuilt = []
    for record in plan["tables"]:
        name, mechanism = record["name"], record["mechanism"]
        known = plan_from_record(mechanism)
        now = known.describe()
        measurements = read_table(folder / "measurements" / f"{name}.parquet", _MOST_CELLS, _MOST_LETTERS)
        measured = rebuild(measurements, known, schema)
        # What an earlier version stored has the plan in the words of its entry.
        told = [(mechanism, measured.guarantee), (now, measured.guarantee)]
        if isinstance(known, Bounded):  # and of several rows of a unit what one of them loses
            told.append((known.plan.describe(), str(known.plan.guarantee)))
        prints = (digest(replace(measured, plan=words, guarantee=said).to_bytes()) for words, said in told)
        if not any((mechanism, one) in sealed for one in prints):
            raise VerificationError(f"measurements/{name}.parquet is not what the ledger stored")
        rebuilt.append(measured)
    by_name = {record["name"]: measured for record, measured in zip(plan["tables"], rebuilt, strict=True)}
    for record in plan.get("microdata", []):
        check_made_again(folder, record, schema, by_name)
    chosen = [{key: record["settings"].get(key) for key in PUBLISHING} for record in plan["tables"]]
    published = publish_all(rebuilt, schema, chosen)
    for record, measured, own, made_again in zip(plan["tables"], rebuilt, chosen, published, strict=True):
        stored = read_both(folder / "tables" / f"{record['name']}.parquet")
        if same_values(made_again, stored):
            continue
        before = publish(measured, schema, **{key: own[key] for key in own if key != "agree"}, cells_twice=True)
        if not same_values(before, stored):
            raise VerificationError(f"tables/{record['name']}.parquet does not follow from its measurements")
