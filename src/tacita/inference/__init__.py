"""For the people who use a release: valid answers from synthetic files, survey samples and noisy tables.

Which file answers which question:

- `combine`: one answer with an interval from m synthetic files (`combine`, `combine_estimates`), and which rule fits,
  what it assumes, where it comes from (`PartialSynthesis`, `FullSynthesis`, `OneMeasurement`, `FixedMeasurement`,
  `LargeSample`).
- `significance`: joint tests over the files. `wald_test`, `likelihood_ratio_test`, `combine_chi_square`.
- `survey`: totals, means, ratios and quantiles by domain with design-based variances.
- `noise_aware`: intervals for sums, differences, shares and ratios of published cells.
- `snippets`: the same rules as text to copy into R and Stata.

Nothing in here can reach confidential rows.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacita.inference.combine import (
    FixedMeasurement,
    FullSynthesis,
    LargeSample,
    OneMeasurement,
    PartialSynthesis,
    Rule,
    combine,
    combine_estimates,
    rule_for,
)
from tacita.inference.estimate import Estimate
from tacita.inference.significance import (
    Test,
    combine_chi_square,
    combine_p_values,
    likelihood_ratio_test,
    wald_test,
)

if TYPE_CHECKING:
    from tacita.inference import survey
    from tacita.inference.noise_aware import NoisyCells, NoisyInterval


def __getattr__(name: str) -> Any:
    # Loaded when first used: not everybody who combines files has a survey or a noisy table.
    if name == "survey":
        return import_module("tacita.inference.survey")
    if name in ("NoisyCells", "NoisyInterval"):
        return getattr(import_module("tacita.inference.noise_aware"), name)
    raise AttributeError(f"module 'tacita.inference' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Estimate",
    "FixedMeasurement",
    "FullSynthesis",
    "LargeSample",
    "NoisyCells",
    "NoisyInterval",
    "OneMeasurement",
    "PartialSynthesis",
    "Rule",
    "Test",
    "combine",
    "combine_chi_square",
    "combine_estimates",
    "combine_p_values",
    "likelihood_ratio_test",
    "rule_for",
    "survey",
    "wald_test",
]
