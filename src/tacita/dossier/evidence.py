"""What a disclosure review board turns to: tables, risk, the cost of today's practice, touches, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from tacita.dossier import pictures
from tacita.dossier.findings import Findings, per_file
from tacita.dossier.record import table_record
from tacita.dossier.sections import number, percent, table
from tacita.dossier.tables import TableCheck
from tacita.evaluation.risk import PlanAttack
from tacita.release.words import firmly


def published_tables(found: Findings) -> str:
    """Each published table against the truth, the worst first."""
    if not found.tables:
        return ""
    ordered = sorted(found.tables, key=lambda one: -one.relative)
    return (
        "<h2>Published tables against the exact counts</h2><p>Errors are in jobs. Noise infusion multiplies every "
        "establishment by a secret factor 5% to 15% away from 1, and draws counts of 1 and 2 anew; the other "
        "comparator suppresses cells by the 15% rule, without secondary suppression, and rounds the rest to 5. "
        "Neither carries a guarantee.</p>" + "".join(_one_table(one) for one in ordered)
    )


def _one_table(check: TableCheck) -> str:
    ratio = check.against_infusion
    facts = [
        ("Cells, without totals", f"{check.cells:,}"),
        ("Sum of absolute errors over the table’s total", percent(check.relative)),
        ("Root mean squared error", number(check.rmse, 3)),
        ("Same, noise infusion", number(check.infusion_rmse, 3)),
        ("Ours over noise infusion", "—" if ratio is None else number(ratio, 3)),
        ("Same, rounded to 5 where not suppressed", number(check.rounding_rmse, 3)),
        ("Cells that suppression would have taken away", _of(check.suppressed, check.cells)),
        (f"Cells within their margin ({check.confidence:.0%} promised)", percent(check.coverage)),
    ]
    rows = [
        (
            escape(band.name),
            f"{band.cells:,}",
            number(band.published, 3),
            number(band.infused, 3),
            number(band.rounded, 3) if band.suppressed < band.cells else "—",
            f"{band.suppressed:,}",
            percent(band.covered),
        )
        for band in check.bands
    ]
    worst = [
        (escape(label), number(truth), number(value), "not bounded" if margin is None else f"± {number(margin)}")
        for label, truth, value, margin in check.worst[:8]
    ]
    record: dict[str, Any] = table_record(check)
    head = ["True size", "Cells", "Published", "Infused", "Rounded", "Suppressed", "Within margin"]
    return (
        f"<h3>{escape(check.title)}</h3>"
        + table(["Figure", ""], [(escape(name), value) for name, value in facts], numbers=(1,))
        + f"<figure>{pictures.error_by_size(record['bands'])}</figure>"
        + table(head, rows, numbers=range(1, 7), caption="Root mean squared error by true size of cell")
        + table(
            ["Cell", "True", "Published", "Margin"], worst, numbers=(1, 2, 3), caption="Cells with the largest error"
        )
    )


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def risk(found: Findings) -> str:
    """Empirical risk with the figures behind each score."""
    answers = [one for one in found.answers if one.group == "risk"]
    if not answers:
        return ""
    scope = found.scope
    said = ""
    if scope is not None and scope.known:
        how = "declared in the specification" if scope.declared else "chosen by default; declare them in [evaluation]"
        said = (
            f"<p>The intruder is taken to know {escape(', '.join(scope.known))} and to want "
            f"{escape(', '.join(scope.targets) or 'nothing further')} ({escape(how)}).</p>"
        )
    rows = [(escape(answer.name), number(answer.score.value), _figures(answer.score.details)) for answer in answers]
    return (
        "<h2>Empirical risk</h2><p>These figures say how some known attacks fare on these files. They are no "
        "substitute for the guarantee: an attack that is not listed here may do better.</p>"
        f"{said}" + table(["Attack", "Score", "Behind it"], rows, numbers=(1,))
    )


def _figures(details: Mapping[str, Any]) -> str:
    """The single numbers of a score's details; of the first file where there are several."""
    files = per_file(details)
    held = files[0] if files else details
    shown = [
        f"{escape(str(name))} {number(float(value), 3)}"
        for name, value in held.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    note = " (first file)" if len(files) > 1 and shown else ""
    return "; ".join(shown) + note


def comparators(found: Findings) -> str:
    """The release beside rounding, coarsening and suppression."""
    if not found.compared:
        return ""
    head = ["Measure", *(one.method for one in found.compared)]
    rows = [("records withheld", *(percent(one.lost) for one in found.compared))]
    rows += [
        (escape(name), *(number(one.scores[name], 3) for one in found.compared)) for name in found.compared[0].scores
    ]
    how = "; ".join(f"{one.method.lower()}: {one.how}" for one in found.compared[1:])
    return (
        "<h2>What rounding, coarsening or suppression would have cost</h2><p>The same measures for files that an "
        "office might have made instead. They carry no guarantee: a low error there is bought with exact values that "
        "can be linked.</p>"
        + table(head, rows, numbers=range(1, 1 + len(found.compared)))
        + f"<p class='note'>{escape(how[:1].upper() + how[1:])}.</p>"
    )


def touched(found: Findings) -> str:
    """Every known touch of confidential rows."""
    rows = [
        (escape(one.when), escape(one.what), escape(one.paid) + (f" ({escape(one.state)})" if one.state else ""))
        for one in found.touches
    ]
    return (
        "<h2>Every touch of the confidential rows</h2><p>From the ledger, and from what the software does by itself. "
        "Work done with other software is not known here.</p>" + table(["When (UTC)", "What", "Paid for?"], rows)
    )


def not_answered(found: Findings) -> str:
    """What this dossier does not say, and why."""
    rows = [(escape(one.name), escape(one.why)) for one in found.skipped]
    return f"<h2>Not answered</h2>{table(['Question', 'Why'], rows)}" if rows else ""


def method(found: Findings) -> str:
    """Files with hashes, choices and running time."""
    rows = [
        (
            escape(one.role),
            f"{escape(one.name)}<br><code class='hash'>{one.sha256}</code>",
            f"{one.rows:,}",
            f"{one.looked_at:,}",
        )
        for one in found.files
    ]
    files = table(["File", "Name and SHA-256", "Rows", "Looked at"], rows, numbers=(2, 3)) if rows else ""
    slow = sorted(found.answers, key=lambda one: -one.seconds)[:3]
    took = "; ".join(f"{escape(one.name)} {one.seconds:.0f} s" for one in slow if one.seconds >= 1)
    kind = found.scope.kind if found.scope is not None else None
    combined = f" Intervals over the files follow the combining rule for “{escape(kind)}” files." if kind else ""
    return (
        f"<h2>Files and method</h2>{files}<p class='note'>Made {escape(found.moment)} with tacita "
        f"{escape(found.version)} in {found.seconds:.0f} seconds{'; longest: ' + took if took else ''}. Random choices "
        f"inside the measures are seeded, so the same files give the same dossier.{combined} <code>dossier.json</code> "
        "beside this page holds every score by name; the next dossier compares itself with it.</p>"
    )


def sign_off(labels: Iterable[str] = ("Data steward", "Methodologist", "Disclosure review board")) -> str:
    """Lines to sign on paper."""
    rows = [(escape(label), "", "") for label in labels]
    return "<h2>Sign-off</h2>" + table(["Role", "Name and signature", "Date"], rows)


def attacks(found: Findings) -> str:
    """What attackers who run the method themselves achieved, beside the promise."""
    if not found.attacks:
        return ""
    rows = [
        (
            escape(one.product),
            escape(firmly(one.guarantee.loss, one.guarantee.holds)) if one.claimed is not None else "none",
            f"{number(one.canary.epsilon, 3)}<span class='meaning'>of at most {number(one.canary.ceiling, 3)}</span>",
            "—" if one.power is None else percent(one.power),
            "—" if one.membership is None else _interval(one.membership.advantage, one.membership.interval),
        )
        for one in found.attacks
    ]
    head = ["Product", "Promised", "ε is at least", "Chance to notice", "Advantage of shadow models"]
    trials, sure = found.attacks[0].canary.trials, found.attacks[0].canary.confidence
    said = "".join(f"<li>{escape(one.product)}: {_verdict(one)}</li>" for one in found.attacks)
    return (
        "<h2>Attacks that run the method itself</h2>"
        f"<p>Canary: something was planted that the promise must hide, and the method was run {trials:,} times with it "
        f"and {trials:,} times without it. How differently it answers proves, with {sure:.0%} confidence, that its ε "
        "is at least the figure shown; so many runs could never show more than the figure below it. “Chance to notice” "
        "is the chance that a method with twice the promised ε would have been caught, had the event that tells most "
        "been known. Shadow models: an attacker who can run the method on similar rows guesses who was in the file; "
        "the advantage is the share of right accusations less the share of false ones.</p>"
        + table(head, rows, numbers=(2, 3, 4))
        + f"<ul>{said}</ul><p>A figure above the promise refutes it. A figure below it refutes nothing and proves "
        "nothing: these attacks failed, with one planted record, on a small part of the file, and a better attack may "
        "not. The guarantee rests on its proof.</p>"
    )


def _interval(value: float, ends: tuple[float, float]) -> str:
    return f"{number(value, 2)}<span class='meaning'>{number(ends[0], 2)} to {number(ends[1], 2)}</span>"


def _verdict(one: PlanAttack) -> str:
    planted = f"planted was {escape(one.planted)}"
    if one.claimed is None:
        return f"{planted}. This method promises nothing, so there is nothing to refute."
    if one.is_refuted:
        return f"{planted}. <strong class='worse'>The promise of ε = {number(one.claimed, 3)} is refuted.</strong>"
    if one.is_doubtful and one.membership is not None:
        return (
            f"{planted}. <strong class='worse'>The shadow models did better than ε = {number(one.claimed, 3)} allows"
            f"</strong> (it takes at least {number(one.membership.epsilon_needed, 3)}); find out why before publishing."
        )
    if one.canary.ceiling <= one.claimed:
        return (
            f"{planted}. The promise of ε = {number(one.claimed, 3)} was not refuted, and could not have been: more "
            "runs are needed to show that much."
        )
    return f"{planted}. The promise of ε = {number(one.claimed, 3)} was not refuted."
