"""The base of every plan: settings, claim, forecast, identity, whose rows count, and how results are stored.

`base` has the plan itself, `fields` the settings they share, `contribution` whose rows a promise counts, `bounded`
units with several rows, `how` the words for readers, `stored` the form in which results are kept.
"""

from tacita.plan.base import Brings, Forecast, Plan, Result
from tacita.plan.bounded import Bounded
from tacita.plan.contribution import ONE_JOB, ONE_ROW, Contribution, check, claimed, contribution_of
from tacita.plan.how import How
from tacita.plan.stored import form_of, opened, packed, seed_from

__all__ = [
    "ONE_JOB",
    "ONE_ROW",
    "Bounded",
    "Brings",
    "Contribution",
    "Forecast",
    "How",
    "Plan",
    "Result",
    "check",
    "claimed",
    "contribution_of",
    "form_of",
    "opened",
    "packed",
    "seed_from",
]
