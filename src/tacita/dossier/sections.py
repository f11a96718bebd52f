"""The sections of the dossier's page: each takes the findings and returns HTML, or nothing if it has nothing to say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape

from tacita.dossier import pictures
from tacita.dossier.findings import Findings, per_file, trends_of
from tacita.dossier.questions import GROUPS
from tacita.dossier.scoring import Answer
from tacita.release.words import up_front

_MOST_PICTURES = 30
_MOST_PAIRS = 15


def number(value: float, digits: int = 4) -> str:
    """A figure as a reader wants it; a value that is not a number must never get this far.

    >>> number(280005), number(0.000013), number(0.25), number(-12.3456)
    ('280,005', '0.000013', '0.25', '−12.35')
    """
    if not math.isfinite(value):
        raise ValueError("a dossier holds no undefined number")
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    size = abs(value)
    if size >= 1000:
        shown = f"{value:,.0f}"
    elif size >= 0.001:
        shown = f"{value:.{digits}g}"
    else:
        shown = "less than 0.0000001" if size < 1e-7 else f"{Decimal(f'{value:.2g}'):f}"
    return shown.replace("-", "−", 1)


def percent(share: float) -> str:
    """A share as a percentage with as many digits as it needs.

    >>> percent(0.0), percent(0.00012), percent(0.034), percent(0.5)
    ('0%', '0.012%', '3.4%', '50%')
    """
    if share == 0 or abs(share) >= 0.1:
        return f"{share:.0%}"
    return f"{share:.1%}" if abs(share) >= 0.001 else f"{number(100 * share, 2)}%"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = (), caption: str = "") -> str:
    """An HTML table of ready-made cells; `numbers` are the columns set flush right."""
    kind = [" class='number'" if at in numbers else "" for at in range(len(head))]
    top = "".join(f"<th{kind[at]}>{escape(one)}</th>" for at, one in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{kind[at]}>{cell}</td>" for at, cell in enumerate(row)) + "</tr>" for row in rows
    )
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{said}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def plain_words(found: Findings) -> str:
    """The first page: what was compared and what stands out."""
    points = [*_compared_files(found), *_stand_outs(found)]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{words}</dd>" for name, words in points)
    first = () if found.promise is None else up_front(found.promise)
    doubts = "".join(f"<p class='doubt'>{escape(one)}</p>" for one in first)
    return (
        f"<section class='first'>{doubts}"
        "<p class='lead'>This dossier measures what a release is worth and what it risks, "
        "against the confidential rows it was made from. It is confidential itself: nothing in it was paid for, so "
        "nothing in it may leave. Scores here say how the release turned out. They never replace a guarantee, "
        f"which is about every possible file.</p><dl class='plain'>{listed}</dl></section>"
    )


def _compared_files(found: Findings) -> Iterable[tuple[str, str]]:
    if found.files:
        said = "; ".join(
            f"{escape(one.role)}: {escape(one.name)}, {one.rows:,} rows"
            + (f" (a random {one.looked_at:,} looked at)" if one.looked_at < one.rows else "")
            for one in found.files
        )
        columns = len(found.comparison.original.names) if found.comparison else 0
        yield "What was compared", f"{said[:1].upper()}{said[1:]}; {columns} columns in common."
    if found.tables:
        yield "What was compared", f"{len(found.tables)} published tables with the exact counts behind them."
    if found.left_out:
        yield "Left out", f"Columns that some file lacks: {escape(', '.join(found.left_out))}."


def _stand_outs(found: Findings) -> Iterable[tuple[str, str]]:
    for attack in found.attacks:
        if attack.is_refuted and attack.claimed is not None:
            yield (
                "A promise is broken",
                f"{escape(attack.product)}: ε is at least {number(attack.canary.epsilon, 3)} with "
                f"{attack.canary.confidence:.0%} confidence, and {number(attack.claimed, 3)} was promised. "
                "Do not publish.",
            )
    if found.changes:
        worse = [one.name for one in found.changes if one.verdict == "worse"]
        better = sum(one.verdict == "better" for one in found.changes)
        words = f"{len(worse)} scores got worse and {better} got better"
        yield "Since the last dossier", f"{words}{': ' + escape('; '.join(worse[:3])) if worse else ''}."
    if variables := found.variables()[:3]:
        listed = ", ".join(f"{escape(one.name)} ({percent(one.variation)})" for one in variables)
        yield "Variables that fit worst", f"{listed}: the share of records to move to meet the original’s distribution."
    if pairs := sorted(found.marginals(2).items(), key=lambda one: -one[1])[:2]:
        listed = ", ".join(f"{escape(' × '.join(names))} ({percent(value)})" for names, value in pairs)
        yield "Pairs that fit worst", f"{listed}."
    if cells := found.worst_cells(2):
        listed = "; ".join(f"{escape(cell)} of {escape(of)} ({number(ratio, 3)})" for of, cell, ratio in cells)
        yield "Domains that fit worst", f"{listed}: errors in units of the original’s own sampling error."
    for at, one in enumerate(sorted(found.tables, key=lambda one: -one.relative)[:6]):
        ratio = one.against_infusion
        beside = "" if ratio is None else f" Its cell error is {number(ratio, 2)} times that of noise infusion."
        yield (
            "Tables, worst first" if at == 0 else "",
            f"{escape(one.title)}: errors add up to {percent(one.relative)} of the table; {percent(one.coverage)} of "
            f"{one.cells:,} cells lie within their margin ({one.confidence:.0%} promised).{beside} Suppression would "
            f"have taken {one.suppressed:,} cells away.",
        )
    risks = [one for one in found.answers if one.group == "risk" and one.score.metric.reference is not None]
    if risks:
        listed = "; ".join(f"{escape(one.name)} {number(one.score.value, 3)}" for one in risks[:4])
        yield "Empirical risk", f"{listed}. A low figure says that these attacks failed, not that every attack will."
    if found.skipped:
        count = len(found.skipped)
        yield "Not answered", f"{count} question{'s' * (count > 1)}; “Not answered” below says which and why."


def score_tables(found: Findings) -> str:
    """Every score, group by group."""
    if not found.answers:
        return ""
    has_holdout = any(one.holdout is not None for one in found.answers)
    rows = []
    width = 4 + has_holdout
    for group, title in GROUPS.items():
        inside = [one for one in found.answers if one.group == group]
        if inside:
            rows.append(f"<tr class='group'><td colspan='{width}'>{escape(title)}</td></tr>")
            rows += [_score_row(one, has_holdout=has_holdout) for one in inside]
    extra = "<th class='number'>Against hold-out</th>" if has_holdout else ""
    return (
        "<h2>All scores</h2><p>The target is what a perfect file, or one as good as a fresh sample, would score. Where "
        "there are several synthetic files a score is their mean, with its standard error.</p>"
        "<table class='scores'><thead><tr><th>Measure</th><th class='number'>Score</th>"
        f"{extra}<th class='number'>Target</th><th>Better</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _score_row(answer: Answer, *, has_holdout: bool) -> str:
    metric, error = answer.score.metric, answer.score.standard_error
    spread = f" ± {number(error, 2)}" if error is not None else ""
    held = ""
    if has_holdout:
        held = f"<td class='number'>{'—' if answer.holdout is None else number(answer.holdout.value)}</td>"
    target = "—" if metric.reference is None else number(metric.reference)
    left_out = max((len(one.get("left_out") or ()) for one in per_file(answer.score.details)), default=0)
    note = f" ({left_out} of the interactions left out, to keep the model to a size)" if left_out else ""
    said = f"<span class='caution'>{escape(answer.score.note)}</span>" if answer.score.note else ""
    return (
        f"<tr><td>{escape(metric.name)}<span class='meaning'>{escape(metric.meaning)}{note}</span>{said}</td>"
        f"<td class='number'>{number(answer.score.value)}{spread}</td>{held}"
        f"<td class='number'>{target}</td><td>{escape(metric.better)}</td></tr>"
    )


def difference(found: Findings) -> str:
    """What changed since an earlier dossier."""
    if not found.earlier:
        return ""
    told = [one for one in found.changes if one.verdict != "about the same"]
    same = len(found.changes) - len(told)
    rows = [
        (
            escape(one.name),
            "—" if one.before is None else number(one.before),
            "—" if one.now is None else number(one.now),
            f"<span class='{escape(one.verdict.split()[0])}'>{escape(one.verdict)}</span>",
        )
        for one in told
    ]
    shown = table(["Measure", "Then", "Now", ""], rows, numbers=(1, 2)) if rows else ""
    return (
        "<h2>Difference from an earlier dossier</h2>"
        f"<p>Compared with the dossier of {escape(found.earlier[:10])}. {same} scores are about the same: they "
        f"differ by less than a twentieth, or by less than two standard errors.</p>{shown}"
    )


def variables(found: Findings) -> str:
    """Distributions, the worst first."""
    listed = found.variables()
    comparison = found.comparison
    if not listed or comparison is None:
        return ""
    drawn = "".join(
        f"<figure><figcaption>{escape(one.name)} · {percent(one.variation)}</figcaption>"
        f"{pictures.distribution(comparison, one.name)}</figure>"
        for one in listed[:_MOST_PICTURES]
    )
    rows = [
        (
            escape(one.name),
            "category" if one.kind == "categorical" else "number",
            percent(one.variation),
            *(["—", "—"] if one.mean is None else [number(value) for value in one.mean]),
            *(["—", "—"] if one.spread is None else [number(value) for value in one.spread]),
            " / ".join(percent(share) for share in one.missing),
        )
        for one in listed
    ]
    head = ["Variable", "Kind", "Off by", "Mean", "synth.", "St. dev.", "synth.", "Missing"]
    more = "" if len(listed) <= _MOST_PICTURES else f" The {_MOST_PICTURES} worst of {len(listed)} are drawn."
    return (
        "<h2>Variables, worst first</h2><p>Numbers are compared in tenths of the original’s distribution. "
        "“Off by” is the share of records that would have to move.</p>"
        f"<figure>{pictures.variation_bars([(one.name, one.variation) for one in listed])}</figure>"
        "<p class='key'><i style='background:#9db8c9;margin-left:0'></i>original"
        "<i style='background:#b5542a;border-radius:50%'></i>synthetic (mean, and range over the files). Numbers are "
        f"drawn between their 1st and 99th percentile; shares of records.{more}</p>"
        f"<div class='multiples'>{drawn}</div>"
        + table(head, rows, numbers=range(2, 8), caption="All variables; original and synthetic side by side")
    )


def pairs(found: Findings) -> str:
    """Two-way marginals as a heat map and a list."""
    all_pairs = {(names[0], names[1]): value for names, value in found.marginals(2).items() if len(names) == 2}
    if not all_pairs:
        return ""
    order = [one.name for one in found.variables()]
    worst = sorted(all_pairs.items(), key=lambda one: -one[1])[:_MOST_PAIRS]
    rows = [(escape(f"{one} × {two}"), percent(value)) for (one, two), value in worst]
    cut = "" if len(order) <= 45 else " Only the 45 variables that fit worst are drawn."
    return (
        f"<h2>Pairs of variables</h2><p>Total variation of every two-way table, variables that fit worst first.{cut}"
        f"</p><figure>{pictures.heat_map(all_pairs, order)}</figure>"
        + table(["Pair", "Off by"], rows, numbers=(1,), caption="The pairs that fit worst")
        + _associations(found)
    )


def _associations(found: Findings) -> str:
    """Pairs whose independence test comes out differently."""
    for answer in found.answers:
        tested = answer.score.details.get("pairs")
        level = answer.score.details.get("level")
        if not isinstance(tested, dict) or level is None:
            continue
        differ = [
            (escape(pair), _p_value(one["original"]), _p_value(one["synthetic"]))
            for pair, one in tested.items()
            if (one["original"] < level) != (one["synthetic"] < level)
        ]
        if differ:
            return table(
                ["Pair", "p, original", "p, synthetic"],
                differ[:_MOST_PAIRS],
                numbers=(1, 2),
                caption=f"Pairs whose test of independence at {level:g} comes out differently ({len(differ)})",
            )
    return ""


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def domains(found: Findings) -> str:
    """Cells of domain tables, the worst first."""
    cells = found.worst_cells()
    if not cells:
        return ""
    rows = [(escape(cell), escape(of), number(ratio, 3)) for of, cell, ratio in cells]
    return (
        "<h2>Domains, worst first</h2><p>The error of a cell’s share in the synthetic files, in units of the sampling "
        "error that the original has itself. 1 is as good as the original; a cell above 3 is unfit for use on its "
        "own.</p>" + table(["Cell", "Table", "Error ratio"], rows, numbers=(2,))
    )


def analyses(found: Findings) -> str:
    """Regressions, term by term."""
    parts = []
    for answer in found.answers:
        files = per_file(answer.score.details) if answer.group == "analyses" else []
        terms: dict[str, list[float]] = {}
        for one in files:
            for term, value in (one.get("terms") or {}).items():
                terms.setdefault(term, []).append(float(value))
        if terms:
            means = {term: math.fsum(values) / len(values) for term, values in terms.items()}
            downwards = answer.score.metric.better == "lower"
            order = sorted(means, key=lambda term: -means[term] if downwards else means[term])[:20]
            rows = [(escape(term), number(means[term], 3)) for term in order]
            parts.append(table(["Term", "Score"], rows, numbers=(1,), caption=f"{answer.name}, worst terms first"))
    return f"<h2>Regressions, term by term</h2>{''.join(parts)}" if parts else ""


def trends(found: Findings) -> str:
    """Trends over time with bands."""
    drawn = "".join(
        f"<figure>{pictures.trend(details, name, percent='rate' in name)}</figure>"
        for name, details in trends_of(found)
    )
    if not drawn:
        return ""
    return (
        "<h2>Trends over time</h2><p class='key'><i style='background:#1d5f8a;margin-left:0'></i>original"
        "<i style='background:#b5542a'></i>mean of the synthetic files, with a band of two standard deviations between "
        f"files</p><div class='multiples two'>{drawn}</div>"
    )
