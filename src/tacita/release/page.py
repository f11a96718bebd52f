"""The public page: what was published, what was promised, what it cost, and how to use it.

It is rendered from the bundle's own files and nothing else, so it cannot show what the bundle does not hold,
and `tacita report` can make it again. One self-contained HTML file: no script, no font, no outside address.
"""

from __future__ import annotations

import json
import re
from calendar import month_name
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tacita.ledger.terms import implies
from tacita.mechanisms.eree import requirements
from tacita.privacy import AddRemoveOne, Guarantee, ReplaceOne, unchecked_units
from tacita.privacy.json_form import guarantee_from_json, neighbours_from_json
from tacita.release.page_budget import budget_section
from tacita.release.page_first import first_sheet
from tacita.release.page_microdata import microdata_section
from tacita.release.page_parts import bullets, capital, stop, visible
from tacita.release.page_style import STYLE
from tacita.release.page_tables import file_list, product_section
from tacita.release.page_usage import usage_section
from tacita.release.words import firmly, kind_of_privacy, not_protected, odds_rows

_EMPLOYER_UNITS = ("worker", "establishment")
_REQUIREMENTS = {
    "individuals": "whether a person holds a job",
    "establishment size": "the size of an establishment",
    "establishment shape": "the make-up of its workforce",
}

_HOLDS = {
    "always": "Always, for every possible file.",
    "asymptotically": "In the limit only; for this file it is not proved. The section on what the methods assume says "
    "which limit that is, and what was checked.",
    "never": "Never: this method has no guarantee.",
}


def render_page(folder: Path, made: dict[str, Any]) -> str:
    """The page of the bundle in `folder`; `made` is the manifest's account of how it was made."""
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    ledger = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
    guarantee = guarantee_from_json(plan["guarantee"])
    sections = [
        _head(plan, made),
        first_sheet(plan, ledger, guarantee),
        _guarantee(plan, ledger, guarantee),
        budget_section(ledger, guarantee),
        _tables(folder, plan),
        *(microdata_section(folder, record, plan) for record in plan.get("microdata", [])),
        usage_section(folder, plan),
        _requirements(guarantee),
        _assumptions(guarantee),
        _public_inputs(plan),
        file_list(folder),
        _foot(folder, made, plan),
    ]
    title = ("REHEARSAL: " if plan["rehearsal"] else "") + plan["title"]
    body = "\n".join(section for section in sections if section)
    # escape() writes an apostrophe in prose as &#x27;; markup and code to copy have them as they are.
    body = body.replace("&#x27;", "’")
    body = re.sub(r"([αεδρ]) = ", "\\1\u00a0=\u00a0", body)  # a parameter and its number stay on one line
    return visible(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + body
        + "\n</main>\n</body>\n</html>\n"
    )


def _head(plan: dict[str, Any], made: dict[str, Any]) -> str:
    stamp = (
        f'<p class="stamp">REHEARSAL. This is not a release. It was made with a seed from {escape(plan["source"])}, '
        "so its noise can be drawn again and protects nobody. It shows how a release would look.</p>"
        if plan["rehearsal"]
        else ""
    )
    by = f"{escape(plan['publisher'])} · " if plan["publisher"] else ""
    return (
        f"{stamp}<header><p class='kicker'>Release report</p><h1>{escape(plan['title'])}</h1>"
        f"<p class='dateline'>{by}made {escape(_day(_date(made)))} · "
        f"tacita {escape(made['versions'].get('tacita', ''))}</p></header>"
    )


def _date(made: dict[str, Any]) -> str:
    """The day a bundle was made; those of earlier versions say it to the second."""
    return str(made.get("date") or made["finished"])[:10]


def _day(moment: str) -> str:
    date = datetime.fromisoformat(moment)
    return f"{date.day} {month_name[date.month]} {date.year}"


def _guarantee(plan: dict[str, Any], ledger: dict[str, Any], guarantee: Guarantee) -> str:
    trusted = (
        " Provided that what is taken on trust at the top of this page is so." if unchecked_units(guarantee) else ""
    )
    rows = [
        ("Definition", kind_of_privacy(guarantee)),
        ("Neighbouring files", capital(str(guarantee.neighbours))),
        ("Privacy loss", firmly(guarantee.loss, guarantee.holds)),
        ("What that means", capital(guarantee.odds_factor) + "."),
        ("What is protected", capital(guarantee.neighbours.meaning) + "."),
        ("How firmly it holds", _HOLDS[guarantee.holds] + trusted),
        ("Unit of privacy", capital(plan["schema"]["dataset"]["unit"])),
    ]
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    open_matters = bullets(not_protected(guarantee.neighbours))
    return (
        f"<h2>The guarantee</h2><dl>{facts}</dl>{_odds(guarantee)}<h3>What is not protected</h3>{open_matters}"
        f"{_waivers(ledger)}"
    )


def _waivers(ledger: dict[str, Any]) -> str:
    """Promises that the ledger once made for this file and that were lifted; the ledger's sealed lines say which."""
    lines = [line["entry"] for line in ledger["extract"].get("entries", [])]
    paid = [guarantee_from_json(line["guarantee"]) for line in lines if line["kind"] == "reserve"]
    sentences = []
    for line in lines:
        if line["kind"] != "waive":
            continue
        relation = neighbours_from_json(line["neighbours"])
        kept = all(implies(one, relation) for one in paid)
        sentences.append(
            f"{capital(relation.meaning)} ({relation}). This promise was lifted on {_day(line['time'])}, in entry "
            f"{line['number']} of the ledger. The reason on record: {line['reason']}{stop(line['reason'])} "
            + ("This release keeps it all the same." if kept else "This release says nothing about it.")
        )
    if not sentences:
        return ""
    return (
        "<h3>Promises that were lifted</h3><p>The ledger of this file once promised, or was asked to promise, more "
        "than it does now. Whoever keeps the ledger lifted these promises on record. That cannot be undone, and every "
        f"later release may leave open what they covered.</p>{bullets(sentences)}"
    )


def _odds(guarantee: Guarantee) -> str:
    """An attacker's suspicion before and after, for a few suspicions: the loss in numbers people use."""
    rows = "".join(
        f"<tr><td class='number'>{before}</td><td class='number'>{least}</td><td class='number'>{most}</td></tr>"
        for before, least, most in odds_rows(guarantee)
    )
    if not rows:
        return ""
    return (
        "<h3>What it means for an attacker’s odds</h3><p>Take any guess about one unit that the guarantee covers, "
        f"such as “{escape(_guess(guarantee))}”. However sure an attacker was before, and whatever else is known, "
        "the release can move that belief no further than this.</p>"
        "<table class='odds'><thead><tr><th class='number'>Belief before</th><th class='number'>Lowest after</th>"
        f"<th class='number'>Highest after</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _guess(guarantee: Guarantee) -> str:
    """Something an attacker may suspect, and that the guarantee covers."""
    relation = guarantee.neighbours
    if isinstance(relation, ReplaceOne):
        return f"this {relation.unit} reported that value"
    if isinstance(relation, AddRemoveOne) and relation.unit != "worker":
        return f"this {relation.unit} is in the file"
    return "this person holds a job there"


def _tables(folder: Path, plan: dict[str, Any]) -> str:
    if not plan["tables"]:
        return ""
    opening = (
        "<p>All figures in this section are computed from the published values. They contain the same noise, "
        "and nothing in them was read from the confidential file.</p>"
    )
    parts = [
        product_section(record, pq.read_table(folder / "tables" / f"{record['name']}.parquet"))
        for record in plan["tables"]
    ]
    return "<h2>The tables</h2>" + opening + "".join(parts)


def _requirements(guarantee: Guarantee) -> str:
    """Which of the three statutory requirements of employer-employee data are met, and at what level."""
    if isinstance(guarantee.neighbours, AddRemoveOne | ReplaceOne) and guarantee.neighbours.unit not in _EMPLOYER_UNITS:
        return ""
    rows = "".join(
        f"<tr><td>{escape(_REQUIREMENTS[name])}</td><td>{escape(answer.level(guarantee.loss.epsilon))}</td>"
        f"<td>{escape(capital(answer.note))}</td></tr>"
        for name, answer in requirements(guarantee).items()
    )
    return (
        "<h2>What the law asks for, and at what level it is met</h2>"
        "<p>Data on employers and their workers are commonly held to three requirements. A level of 2ε means that the "
        "proof takes two steps between neighbouring files, so the loss counts twice.</p>"
        f"<table><thead><tr><th>Nobody may learn</th><th>Level</th><th>What to know</th></tr></thead><tbody>{rows}"
        "</tbody></table>"
    )


def _assumptions(guarantee: Guarantee) -> str:
    assumed = guarantee.assumes or ("Nothing beyond the definition itself.",)
    proved = (
        "The guarantee is proved, and the proof of each mechanism is part of the software. The proofs rest"
        if guarantee.holds == "always"
        else "The proof of each mechanism is part of the software, and says what is proved and what is not. All rests"
    )
    listed = bullets(capital(one) + stop(one) for one in assumed)
    return f"<h2>What the methods assume</h2><p>{proved} on the following.</p>{listed}"


def _public_inputs(plan: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one['what'])}</td><td>{escape(one['source'])}"
        + (f"<br><code class='hash'>sha256 {escape(one['sha256'])}</code>" if "sha256" in one else "")
        + "</td></tr>"
        for one in plan["public_inputs"]
    )
    return (
        "<h2>Public inputs</h2><p>These were used as public knowledge. They are not protected, and nothing was paid "
        "for them; whoever signs the release confirms that they do not come from the confidential file.</p>"
        f"<table><thead><tr><th>What</th><th>Where it comes from</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _audited(folder: Path) -> str:
    """What the bundle's evidence says about the version that made it."""
    if not (folder / "evidence.json").is_file():
        return ""
    found = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
    plans, tried = len(found["plans"]), sum(one["neighbours_tried"] for one in found["plans"])
    return (
        f"<p>On {escape(_day(found['date']))} an audit of tacita {escape(found['version'])} attacked the promises of "
        f"{plans} methods on {tried:,} pairs of files that differ in one unit, and found none broken. That is evidence "
        "beside the proofs, not one of them; its figures are in <code>evidence.json</code>.</p>"
    )


def _foot(folder: Path, made: dict[str, Any], plan: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    draw = f"seed {plan['seed']} (rehearsal)" if plan["rehearsal"] else "the operating system's entropy"
    return (
        f"<footer><p>Made on {escape(_date(made))} with {escape(made['engine'])}; noise "
        f"from {escape(draw)}. Python {escape(made['python'])}; {escape(versions)}.</p>"
        f"{_audited(folder)}"
        "<p>Check this bundle with <code>tacita verify</code>: it fails if one byte of any file has changed.</p>"
        "</footer>"
    )
