"""What every study writes: result rows beside the paper's numbers, a JSON file and a page that stands alone.

>>> row = Row("Workload 1", "SmoothGamma", "L1 ratio", ours=0.81, paper=3.0, paper_says="within a factor of 3")
>>> row.as_json()["paper"], row.as_json()["se"]
(3.0, None)
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacita.privacy import Guarantee


@dataclass(frozen=True)
class Row:
    """One number of a study, with the paper's number beside it where the paper prints one.

    `paper_says` keeps the printed words where the number is a bound or a round figure. `where` holds the settings
    the number belongs to (ε, α, stratum …), so that a reader of the JSON file need not parse names.
    """

    table: str
    method: str
    metric: str
    ours: float | None
    se: float | None = None
    paper: float | None = None
    paper_says: str | None = None
    reference: float | None = None
    replicates: int = 1
    guarantee: str = "not a release: a fact about the simulated file"
    where: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "method": self.method,
            "metric": self.metric,
            "paper": _finite(self.paper),
            "ours": _finite(self.ours),
            "se": _finite(self.se),
            "reference": _finite(self.reference),
            "replicates": self.replicates,
            "guarantee": self.guarantee,
            "paper_says": self.paper_says,
            **self.where,
        }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity and no NaN; a number that does not exist is null."""
    return None if value is None or not math.isfinite(value) else float(value)


def in_words(guarantee: Guarantee) -> str:
    """One plain sentence for a guarantee.

    >>> from tacita.privacy import Loss, StrongAlpha
    >>> in_words(Guarantee(StrongAlpha("0.1"), Loss("1")))
    "ε = 1 under strong α = 0.1 neighbours: an attacker's odds change by at most a factor 2.72"
    """
    if guarantee.holds == "never":
        return "none: this method has no guarantee"
    return f"{guarantee}: {guarantee.odds_factor}"


def mean_and_se(values: ArrayLike) -> tuple[float, float | None]:
    """The mean and its standard error, which one value alone does not have.

    >>> mean_and_se([1.0, 2.0, 3.0])
    (2.0, 0.577...)
    >>> mean_and_se([4.0])
    (4.0, None)
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size < 2:
        return float(array.mean()), None
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(array.size))


def ratio_and_se(numerator: ArrayLike, denominator: ArrayLike) -> tuple[float, float | None]:
    """Ratio of two independent means, with its standard error to first order (the delta method)."""
    (top, top_se), (bottom, bottom_se) = mean_and_se(numerator), mean_and_se(denominator)
    if bottom == 0:
        return math.nan, None
    ratio = top / bottom
    if top_se is None or bottom_se is None or top == 0:
        return ratio, None
    return ratio, ratio * math.hypot(top_se / top, bottom_se / bottom)


def as_document(study: str, settings: Mapping[str, Any], rows: Iterable[Row]) -> dict[str, Any]:
    """The content of results.json."""
    return {
        "study": study,
        "version": version("tacita"),
        "settings": dict(settings),
        "rows": [row.as_json() for row in rows],
    }


def write_json(folder: Path, document: Mapping[str, Any]) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    return path


# ---------------------------------------------------------------- the page

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.55 Georgia, 'Times New Roman', serif; color: #1d2327; background: #fff; margin: 0 auto;
  max-width: 1080px; padding: 2.2rem 1.4rem 4rem; }
h1, h2, h3, th, figcaption, .note, nav { font-family: 'Helvetica Neue', Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .8rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-top: .8rem; border-top: 1px solid #d5d9dd; }
p { max-width: 46rem; }
p.lead { font-size: 1.08rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0 1.2rem; font-size: .88rem; line-height: 1.4; width: 100%; }
th { text-align: left; font-weight: 600; border-bottom: 2px solid #1d2327; padding: .35rem .7rem .35rem 0; }
td { vertical-align: top; border-bottom: 1px solid #e3e6e9; padding: .4rem .7rem .4rem 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.yes { color: #14612f; font-weight: 600; } .no { color: #8c2a12; font-weight: 600; }
figure { margin: 1.4rem 0 2rem; } figure svg { max-width: 100%; height: auto; }
figcaption, .note { font-size: .85rem; color: #4a5258; max-width: 46rem; }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } figure { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Markup:
    """Text that is already HTML; anything else is escaped."""

    text: str


def cell(content: object) -> str:
    if isinstance(content, Markup):
        return content.text
    if content is None:
        return "–"
    if isinstance(content, float):
        return escaped(shown(content))
    return escaped(str(content))


def escaped(words: str) -> str:
    """Text for a page; "ε = 2" stays on one line."""
    return html.escape(words).replace(" = ", "&nbsp;=&nbsp;")


def shown(value: float) -> str:
    """A number as a reader wants it: three figures, and no exponent for sizes that have a name.

    >>> shown(0.6042), shown(12.345), shown(527000.0), shown(float("nan"))
    ('0.604', '12.3', '527,000', '–')
    """
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(head: Sequence[str], body: Iterable[Sequence[object]]) -> str:
    """An HTML table; numbers are set to the right."""
    rows = [list(row) for row in body]
    numeric = [bool(rows) and all(isinstance(row[i], float | int | None) for row in rows) for i in range(len(head))]
    kind = [' class="number"' if flag else "" for flag in numeric]
    top = "".join(f"<th{kind[i]}>{escaped(text)}</th>" for i, text in enumerate(head))
    lines = ("".join(f"<td{kind[i]}>{cell(value)}</td>" for i, value in enumerate(row)) for row in rows)
    inner = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>\n{inner}\n</tbody></table></div>'


def figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escaped(caption)}</figcaption></figure>"


def paragraph(words: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escaped(words)}</p>' if kind else f"<p>{escaped(words)}</p>"


def holds(yes: bool | None) -> Markup:
    """The verdict of one comparison with the paper."""
    if yes is None:
        return Markup("not measured in this run")
    return Markup('<span class="yes">holds</span>' if yes else '<span class="no">does not hold</span>')


def write_page(folder: Path, title: str, opening: str, sections: Iterable[tuple[str, Sequence[str]]]) -> Path:
    """One self-contained page: plain words first, then sections of ready HTML parts."""
    parts = [f"<h1>{html.escape(title)}</h1>", paragraph(opening, "lead")]
    for heading, content in sections:
        parts += [f"<h2>{html.escape(heading)}</h2>", *content]
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    return path
