"""Every plan of employer-employee tables and the settings they are tested with."""

import inspect
from typing import Any

from tacita.audit.examples import TABLE_SETTINGS
from tacita.mechanisms import eree

PLANS = [
    thing for name in eree.__all__ if inspect.isclass(thing := getattr(eree, name)) and hasattr(thing, "guarantee")
]
BASE = {"alpha": "0.1", "epsilon": "6", "theta": 25}
# Those of `tacita audit`, and some that several plans refuse.
SETTINGS: dict[str, dict[str, Any]] = TABLE_SETTINGS | {
    "weak, where": {"by": ["place"], "where": {"sex": ["F", "U"]}, "definition": "weak"},
    "margin paid, worker": {"by": ["place"], "worker": ["sex"], "margin_share": "1/5"},
    "paper, worker": {"by": ["place"], "worker": ["age"], "calibration": "paper"},
    "paper, weak, worker": {"by": ["place"], "worker": ["age"], "calibration": "paper", "definition": "weak"},
}


def given_to(plan: type, name: str) -> dict[str, Any] | None:
    """Arguments for one setting; None where the plan has no such argument at all."""
    accepted = inspect.signature(plan).parameters
    if not set(SETTINGS[name]) <= set(accepted):
        return None
    return {key: value for key, value in (BASE | SETTINGS[name]).items() if key in accepted}
