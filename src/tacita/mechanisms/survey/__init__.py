"""Tables from survey samples with noise on their cells: what hu2024 compares synthetic samples with."""

from tacita.mechanisms.survey.laplace import SurveyLaplace
from tacita.mechanisms.survey.measured import SurveyCells

__all__ = ["SurveyCells", "SurveyLaplace"]
