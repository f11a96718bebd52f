"""Weighted survey microdata: outcomes and weights from noisy sums in public cells."""

from tacita.synthesis.survey.model import SurveyModel
from tacita.synthesis.survey.plan import SurveySynthesis

__all__ = ["SurveyModel", "SurveySynthesis"]
