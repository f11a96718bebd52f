"""The dossier as one self-contained HTML page that says on every sheet that it is confidential."""

from __future__ import annotations

from html import escape

from tacita.dossier import evidence, sections
from tacita.dossier.findings import Findings
from tacita.dossier.record import NOTICE
from tacita.dossier.style import DOSSIER_STYLE
from tacita.release.page_parts import visible


def render_dossier(found: Findings) -> str:
    """The whole page; no script, no font, no outside address."""
    parts = [
        sections.plain_words(found),
        sections.difference(found),
        evidence.published_tables(found),
        sections.score_tables(found),
        sections.variables(found),
        sections.pairs(found),
        sections.domains(found),
        sections.trends(found),
        sections.analyses(found),
        evidence.risk(found),
        evidence.attacks(found),
        evidence.comparators(found),
        evidence.touched(found),
        evidence.not_answered(found),
        evidence.method(found),
        evidence.sign_off(),
    ]
    body = "\n".join(part for part in parts if part).replace("&#x27;", "’")
    title = escape(f"{NOTICE}: {found.title}")
    return visible(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{DOSSIER_STYLE}</style>\n</head>\n<body>\n"
        f"<div class='banner'>{NOTICE}. Internal evaluation against confidential rows.</div>\n<main>\n"
        f"<header><p class='kicker'>Evaluation dossier · {NOTICE.lower()}</p><h1>{escape(found.title)}</h1>"
        f"<p class='dateline'>{escape(found.moment[:16].replace('T', ' '))} UTC · tacita {escape(found.version)}</p>"
        f"</header>\n{body}\n</main>\n</body>\n</html>\n"
    )
