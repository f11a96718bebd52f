"""The first sheet of the page: everything a reader must know, without a formula, and the doubtful things first."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from tacita.privacy import Guarantee
from tacita.privacy.json_form import loss_from_json
from tacita.release.page_budget import amount
from tacita.release.page_method import methods
from tacita.release.page_parts import capital
from tacita.release.words import account_of, firmly, not_protected, odds_example, up_front

_FIRMNESS = {
    "always": "That is a proved bound. It holds for every method of attack, now and later, and however much computing "
    "power goes into it.",
    "asymptotically": "That bound is proved in a limit only: as a chain that draws the noise gets longer, or as the "
    "file that a bound was measured on grows. How near to the limit this release is, is evidence, not proof.",
    "never": "",
}


def first_sheet(plan: dict[str, Any], ledger: dict[str, Any], guarantee: Guarantee) -> str:
    """What is published, kept silent, left open and spent; before that, what nobody could check or prove."""
    products = [*plan["tables"], *plan.get("microdata", [])]
    unit = plan["schema"]["dataset"]["unit"]
    odds = odds_example(guarantee) or capital(guarantee.odds_factor) + "."
    points = [
        ("What is published", "; ".join(product["title"] for product in products) + "."),
        ("What is kept silent", f"{capital(guarantee.neighbours.meaning)}. {odds} {_FIRMNESS[guarantee.holds]}"),
        (
            "What is left open",
            f"{not_protected(guarantee.neighbours)[0]} The section on the guarantee has the whole list.",
        ),
        _cost(plan, ledger, guarantee),
        *_reading(plan, unit),
    ]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>" for name, words in points)
    doubts = "".join(f"<p class='doubt'>{escape(one)}</p>" for one in up_front(guarantee))
    return (
        f"<section class='first'>{doubts}<p class='lead'>{escape(_opening(plan))}</p>"
        f"<dl class='plain'>{listed}</dl></section>"
    )


def _cost(plan: dict[str, Any], ledger: dict[str, Any], guarantee: Guarantee) -> tuple[str, str]:
    this, cap, left = (loss_from_json(ledger[key]) for key in ("this_release", "cap", "left"))
    words = (
        f"A privacy loss of {firmly(amount(this, cap), guarantee.holds)}, out of {amount(cap, cap)} set as the cap for "
        f"this file; {amount(left, cap)} is left for later releases."
    )
    others = account_of(ledger["extract"], guarantee.neighbours).get("holds", "always")
    if others == "asymptotically" and guarantee.holds == "always":
        words += " An earlier release from this file holds asymptotically only, so the sum of all losses is not proved."
    return ("What it would cost" if plan["rehearsal"] else "What it costs"), words


def _opening(plan: dict[str, Any]) -> str:
    """What there is, and how it knows the confidential file, in the words of each method."""
    tables, files = plan["tables"], plan.get("microdata", [])
    counted = [
        "one " + what if count == 1 else f"{count} {what}s"
        for what, count in (("table", len(tables)), ("synthetic file", sum(len(one["rows"]) for one in files)))
        if count
    ]
    words = [f"This release publishes {' and '.join(counted)} made from a confidential file."]
    if tables:
        made = methods(tables) or "Random noise was added on purpose."
        words.append(f"Every number in {'the table' if len(tables) == 1 else 'the tables'} is an estimate. {made}")
    if files:
        words.append(methods(files) or "How the synthetic files came about is in the proof of their method.")
    return " ".join(words).strip()


def _reading(plan: dict[str, Any], unit: str) -> Iterator[tuple[str, str]]:
    """How to use what was published, and how not to."""
    wrong = [f"Statements about one {unit}"]
    if plan["tables"]:
        wrong.append("or about a cell whose margin is as large as its value")
        yield (
            "How to read a number",
            "Each number comes with a margin of error. The margin says how far the noise may have moved the number; "
            "it is part of the statistic and belongs beside it wherever it is quoted.",
        )
    if plan.get("microdata"):
        several = sum(len(one["rows"]) for one in plan["microdata"]) > 1
        if several:
            wrong.append("or results from one synthetic file alone")
        yield (
            "How to use the files",
            "Run an analysis on each synthetic file by itself and combine the answers. The difference between the "
            "files is part of the error of every result."
            if several
            else "There is one synthetic file. What it was drawn from is noisy, and one file does not show by how "
            "much: an interval computed from it is too narrow.",
        )
    yield "What it must not be used for", ", ".join(wrong) + "."
