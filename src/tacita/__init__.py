"""Tacita turns a confidential file into tables and synthetic microdata that may be published.

Where to look:

* `Schema` says what is public about a file; `Confidential` is the only door to its rows.
* `Guarantee`, `Loss` and the neighbour relations say what a release promises, before any data.
* `Table` measures counts, sums, means, shares, ratios and quantiles of any file by groups, `Change` growth and flows;
  `tacita.mechanisms.eree` measures employer-employee tables; each mechanism is a plan with a proof beside it.
* `Ledger` pays for a plan once and keeps its result; nothing reaches confidential rows any other way.
* `publish` turns what was measured into a table with margins of error.
* `FileSynthesis`, `PairwiseSynthesis`, `QuantileSynthesis`, `SurveySynthesis`, `PanelSynthesis`: synthetic files;
  `tacita.comparison` has the methods that they are measured against. `SelfCheck` around one of them measures, with a
  share of its budget, what its first file got wrong.
* `Implicates` are synthetic files; `combine` gets valid answers from them (`tacita.inference`).
* `Release` writes and verifies the bundle that a board and a reader get.

The command line does the same from a specification: `tacita plan`, `tacita run`, `tacita verify`.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacita.account import furnish

if TYPE_CHECKING:
    from tacita.data.confidential import Confidential
    from tacita.data.schema import Schema
    from tacita.errors import RefusedError, SchemaError, SpecError, TacitaError, UsageError, VerificationError
    from tacita.implicates import Implicates
    from tacita.inference import combine
    from tacita.ledger import Ledger
    from tacita.measured import Measured
    from tacita.mechanisms.change import Change
    from tacita.mechanisms.eree import SmoothStaircase, SmoothVector
    from tacita.mechanisms.table import Table
    from tacita.plan import Bounded, Forecast, Plan
    from tacita.privacy import AddRemoveOne, Guarantee, Loss, NumbersWithin, ReplaceOne, StrongAlpha, WeakAlpha
    from tacita.release.bundle import Release
    from tacita.synthesis import (
        FileSynthesis,
        PairwiseSynthesis,
        PanelSynthesis,
        PlainPanelSynthesis,
        QuantileSynthesis,
        SurveySynthesis,
    )
    from tacita.synthesis.selfcheck import SelfCheck
    from tacita.tables import publish

__version__ = "0.1.0"

furnish()  # before any library looks for a home or a cache

# Names are loaded when they are first used, so that `tacita --help` does not wait for the engine.
_HOMES = {
    "tacita.data.confidential": ["Confidential"],
    "tacita.data.schema": ["Schema"],
    "tacita.errors": [
        "RefusedError",
        "SchemaError",
        "SpecError",
        "TacitaError",
        "UsageError",
        "VerificationError",
    ],
    "tacita.implicates": ["Implicates"],
    "tacita.inference": ["combine"],
    "tacita.ledger": ["Ledger"],
    "tacita.measured": ["Measured"],
    "tacita.mechanisms.change": ["Change"],
    "tacita.mechanisms.eree": ["SmoothStaircase", "SmoothVector"],
    "tacita.mechanisms.table": ["Table"],
    "tacita.plan": ["Bounded", "Forecast", "Plan"],
    "tacita.privacy": ["AddRemoveOne", "Guarantee", "Loss", "NumbersWithin", "ReplaceOne", "StrongAlpha", "WeakAlpha"],
    "tacita.release.bundle": ["Release"],
    "tacita.synthesis": [
        "FileSynthesis",
        "PairwiseSynthesis",
        "PanelSynthesis",
        "PlainPanelSynthesis",
        "QuantileSynthesis",
        "SurveySynthesis",
    ],
    "tacita.synthesis.selfcheck": ["SelfCheck"],
    "tacita.tables": ["publish"],
}
_MODULES = ("comparison", "inference", "mechanisms", "tables")
_FOUND_IN = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _FOUND_IN:
        return getattr(import_module(_FOUND_IN[name]), name)
    if name in _MODULES:
        return import_module(f"tacita.{name}")
    if name == "StepsSynthesis":
        said = "tacita.StepsSynthesis is kept for comparison; it is tacita.comparison.StepsSynthesis now"
        warnings.warn(said, DeprecationWarning, stacklevel=2)
        return import_module("tacita.comparison").StepsSynthesis
    raise AttributeError(f"module 'tacita' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "AddRemoveOne",
    "Bounded",
    "Change",
    "Confidential",
    "FileSynthesis",
    "Forecast",
    "Guarantee",
    "Implicates",
    "Ledger",
    "Loss",
    "Measured",
    "NumbersWithin",
    "PairwiseSynthesis",
    "PanelSynthesis",
    "PlainPanelSynthesis",
    "Plan",
    "QuantileSynthesis",
    "RefusedError",
    "Release",
    "ReplaceOne",
    "Schema",
    "SchemaError",
    "SelfCheck",
    "SmoothStaircase",
    "SmoothVector",
    "SpecError",
    "StrongAlpha",
    "SurveySynthesis",
    "Table",
    "TacitaError",
    "UsageError",
    "VerificationError",
    "WeakAlpha",
    "__version__",
    "combine",
    "publish",
]
