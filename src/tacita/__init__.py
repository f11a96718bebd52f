"""Tacita turns a confidential file into tables and synthetic microdata that may be published.

Where to look:

* `Schema` says what is public about a file; `Confidential` is the only door to its rows.
* `Guarantee`, `Loss` and the neighbour relations say what a release promises, before any data.
* `tacita.mechanisms.eree` measures employer-employee tables; each mechanism is a plan with a proof beside it.
* `Ledger` pays for a plan once and keeps its result; nothing reaches confidential rows any other way.
* `tacita.tables.publish` turns a `Measured` result into a table with margins of error.
* `Implicates` are synthetic files; `combine` gets valid answers from them (`tacita.inference`).
* `Release` writes and verifies the bundle that a board and a reader get.

The command line does the same from a specification: `tacita plan`, `tacita run`, `tacita verify`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacita.account import furnish

if TYPE_CHECKING:
    from tacita.data.confidential import Confidential
    from tacita.data.schema import Schema
    from tacita.implicates import Implicates
    from tacita.inference import combine
    from tacita.ledger import Ledger
    from tacita.measured import Measured
    from tacita.plan import Forecast, Plan
    from tacita.plan.bounded import Bounded
    from tacita.privacy import AddRemoveOne, Guarantee, Loss, NumbersWithin, ReplaceOne, StrongAlpha, WeakAlpha
    from tacita.release.bundle import Release
    from tacita.synthesis import (
        PairwiseSynthesis,
        PanelSynthesis,
        QuantileSynthesis,
        StepsSynthesis,
        SurveySynthesis,
    )

__version__ = "0.1.0"

furnish()  # before any library looks for a home or a cache

# Names are loaded when they are first used, so that `tacita --help` does not wait for the engine.
_HOMES = {
    "AddRemoveOne": "tacita.privacy",
    "Bounded": "tacita.plan.bounded",
    "Confidential": "tacita.data.confidential",
    "Forecast": "tacita.plan",
    "Guarantee": "tacita.privacy",
    "Implicates": "tacita.implicates",
    "Ledger": "tacita.ledger",
    "Loss": "tacita.privacy",
    "Measured": "tacita.measured",
    "NumbersWithin": "tacita.privacy",
    "PairwiseSynthesis": "tacita.synthesis",
    "PanelSynthesis": "tacita.synthesis",
    "Plan": "tacita.plan",
    "QuantileSynthesis": "tacita.synthesis",
    "Release": "tacita.release.bundle",
    "ReplaceOne": "tacita.privacy",
    "Schema": "tacita.data.schema",
    "StepsSynthesis": "tacita.synthesis",
    "StrongAlpha": "tacita.privacy",
    "SurveySynthesis": "tacita.synthesis",
    "WeakAlpha": "tacita.privacy",
    "combine": "tacita.inference",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in ("inference", "mechanisms", "tables"):
        return import_module(f"tacita.{name}")
    raise AttributeError(f"module 'tacita' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "AddRemoveOne",
    "Bounded",
    "Confidential",
    "Forecast",
    "Guarantee",
    "Implicates",
    "Ledger",
    "Loss",
    "Measured",
    "NumbersWithin",
    "PairwiseSynthesis",
    "PanelSynthesis",
    "Plan",
    "QuantileSynthesis",
    "Release",
    "ReplaceOne",
    "Schema",
    "StepsSynthesis",
    "StrongAlpha",
    "SurveySynthesis",
    "WeakAlpha",
    "__version__",
    "combine",
]
