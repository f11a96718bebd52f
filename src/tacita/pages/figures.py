"""Numbers as readers want them, the same on every page."""

from __future__ import annotations

import math
from decimal import Decimal


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
