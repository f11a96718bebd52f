"""Fills in the templates: every value is escaped, a name that a view lacks is an error, the same view gives the same
bytes. Only this module knows Jinja.

Numbers as readers want them, the same on every page.
"""

from __future__ import annotations

import json
import math
import re
from calendar import month_name
from datetime import datetime
from decimal import Decimal
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape


def number(value: float, digits: int = 4) -> str:
    """A measured figure; a value that is not a number must never get this far.

    >>> number(280005), number(0.000013), number(0.25), number(-12.3456)
    ('280,005', '0.000013', '0.25', '−12.35')
    """
    if not math.isfinite(value):
        raise ValueError("a dossier holds no undefined number")
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    size = abs(value)
    if size >= 1000:
        said = f"{value:,.0f}"
    elif size >= 0.001:
        said = f"{value:.{digits}g}"
    else:
        said = "less than 0.0000001" if size < 1e-7 else f"{Decimal(f'{value:.2g}'):f}"
    return said.replace("-", "−", 1)


def percent(share: float) -> str:
    """A share as a percentage with as many digits as it needs.

    >>> percent(0.0), percent(0.00012), percent(0.034), percent(0.5)
    ('0%', '0.012%', '3.4%', '50%')
    """
    if share == 0 or abs(share) >= 0.1:
        return f"{share:.0%}"
    return f"{share:.1%}" if abs(share) >= 0.001 else f"{number(100 * share, 2)}%"


def shown(value: float | None) -> str:
    """Three figures, and no exponent for sizes that have a name; a dash where there is no number.

    >>> shown(0.6042), shown(12.345), shown(527000.0), shown(float("nan"))
    ('0.604', '12.3', '527,000', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def file_size(count: int) -> str:
    """
    >>> file_size(20), file_size(3_200), file_size(1_250_000)
    ('20 bytes', '3 kB', '1.2 MB')
    """
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


# Control characters, and marks that turn the direction of what follows: a name must not rearrange our sentences.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_AS_IT_IS = re.compile(r"(<style>.*?</style>|<script.*?</script>|<pre>.*?</pre>|<svg.*?</svg>)", re.DOTALL)


def page(template: str, **view: Any) -> str:
    """A whole page: no font, no outside address, and a script in the explorer alone."""
    made = _PAGES.get_template(template).render(view)
    prose = (part if at % 2 else _set(part) for at, part in enumerate(_AS_IT_IS.split(made)))
    return _UNSEEN.sub("\ufffd", "".join(prose)) + "\n"


def part(name: str, *given: Any, **named: Any) -> Markup:
    """One of the parts that all pages use, for a page that is put together elsewhere.

    >>> part("bullets", ["a < b"])
    Markup('<ul>\\n<li>a &lt; b</li>\\n</ul>\\n')
    """
    made: Markup = getattr(_PAGES.get_template("parts.html.j2").module, name)(*given, **named)
    return made


def code(template: str, **view: Any) -> str:
    """Code for a reader to copy; it is escaped when a page shows it."""
    return _CODE.get_template(f"code/{template}").render(view)


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def sentence(words: str) -> str:
    """With a capital and a full stop.

    >>> sentence("each worker holds one job"), sentence("Done.")
    ('Each worker holds one job.', 'Done.')
    """
    return capital(words) if words.endswith(".") else capital(words) + "."


def _set(prose: str) -> str:
    """Lines of a template as running text; a parameter and its number stay on one line."""

    def space(gap: re.Match[str]) -> str:
        before, after = prose[gap.start() - 1 : gap.start()], prose[gap.end() : gap.end() + 1]
        return "\n" if before in (">", "") and after in ("<", "") else " "

    lines = re.sub(r"[ \n]*\n[ \n]*", space, prose)
    return re.sub(r"([αεδρ]) = ", "\\1\u00a0=\u00a0", re.sub(r" (?=</(?:p|li|dd|td|caption)>)", "", lines))


def _typeset(value: Any) -> Any:
    """Names and sentences get the apostrophe of print; markup and code to copy stay as they are."""
    return value.replace("'", "’") if isinstance(value, str) and not isinstance(value, Markup) else value


def _verbatim(words: str) -> Markup:
    """Code keeps its quotes, also for those who read the page's source."""
    return Markup(str(escape(words)).replace("&#39;", "'").replace("&#34;", '"'))


def _day(moment: str) -> str:
    date = datetime.fromisoformat(moment)
    return f"{date.day} {month_name[date.month]} {date.year}"


def _cell(value: Any) -> Any:
    """A cell of a table: words as they are, whole numbers with commas, other numbers as a reader wants them."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return value
    return shown(value)


def _embedded(value: Any) -> Markup:
    """For a script to read. Nothing in it can end the element that holds it."""
    return Markup(json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"))


def _quoted(words: str) -> str:
    """As Python, R and Stata all read it."""
    return json.dumps(words, ensure_ascii=False)


def _environment(**more: Any) -> Environment:
    made = Environment(
        loader=PackageLoader("tacita.pages"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
        **more,
    )
    made.filters |= {"capital": capital, "sentence": sentence, "verbatim": _verbatim, "day": _day, "cell": _cell}
    made.filters |= {"number": number, "percent": percent, "shown": shown, "file_size": file_size, "quoted": _quoted}
    made.filters["embedded"] = _embedded
    return made


_PAGES = _environment(autoescape=True, finalize=_typeset)
_CODE = _environment(autoescape=False, keep_trailing_newline=False)
