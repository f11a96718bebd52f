"""What is protected, how much is lost, how firmly that holds, and on what assumptions.

No data and no arrays in here: a guarantee is known before any file is opened. All
losses are exact rationals, so ten releases at 0.1 fill a budget of 1 exactly.

>>> cap = Loss("1")
>>> sum((Loss("0.1") for _ in range(10)), Loss.zero()) == cap
True
>>> Guarantee(StrongAlpha("0.1"), Loss("1")) + Guarantee(WeakAlpha("0.1"), Loss("1"))
Traceback (most recent call last):
...
tacita.errors.RefusedError: these two guarantees protect different things and cannot be added: \
strong α = 0.1 neighbours; weak α = 0.1 neighbours. ...
"""

from tacita.privacy.guarantee import UNCHECKED, UNPROTECTED, Guarantee, Holds, in_sequence, unchecked_units
from tacita.privacy.loss import Loss, Number, exact, text, upward
from tacita.privacy.neighbours import (
    AddRemoveOne,
    Neighbours,
    NumbersWithin,
    PerRecord,
    ReplaceOne,
    StrongAlpha,
    WeakAlpha,
)

__all__ = [
    "UNCHECKED",
    "UNPROTECTED",
    "AddRemoveOne",
    "Guarantee",
    "Holds",
    "Loss",
    "Neighbours",
    "Number",
    "NumbersWithin",
    "PerRecord",
    "ReplaceOne",
    "StrongAlpha",
    "WeakAlpha",
    "exact",
    "in_sequence",
    "text",
    "unchecked_units",
    "upward",
]
