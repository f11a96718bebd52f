"""Disclosure risk, measured against confidential rows. Internal by nature, and never a substitute for the guarantee.

A low number here says that the attacks below failed, not that every attack will. Which file answers which question:

- `uniques`: who is alone with a combination of values, and who is still alone in the synthetic file.
- `attribute`: how often an intruder who knows some columns gets another right.
- `linkage`: are synthetic records nearer to the rows they were made from than to rows they never saw?
- `membership`: can an attacker with shadow models tell whether a record was in the file?
- `contributors`: p% and (n, k) rules for establishment tables.
- `canary`: a lower bound on ε with a confidence level.
- `plans`: the last two against a plan, with neighbours that fit its guarantee.
"""

from tacita.evaluation.risk.attribute import attribute_disclosure, replicated_uniques, uniques
from tacita.evaluation.risk.canary import CanaryBound, canary_bound, detection_power
from tacita.evaluation.risk.contributors import Dominance, PPercent, given_away_cells, sensitive_cells
from tacita.evaluation.risk.linkage import nearest_record
from tacita.evaluation.risk.membership import MembershipAdvantage, membership_inference
from tacita.evaluation.risk.plans import PlanAttack, attack_plan

__all__ = [
    "CanaryBound",
    "Dominance",
    "MembershipAdvantage",
    "PPercent",
    "PlanAttack",
    "attack_plan",
    "attribute_disclosure",
    "canary_bound",
    "detection_power",
    "given_away_cells",
    "membership_inference",
    "nearest_record",
    "replicated_uniques",
    "sensitive_cells",
    "uniques",
]
