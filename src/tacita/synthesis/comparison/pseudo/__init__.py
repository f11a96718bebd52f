"""Weighted survey microdata from posterior draws: risky records count less (FBS, FBP), or every record is censored."""

from tacita.synthesis.comparison.pseudo.censored import CensoredPosterior
from tacita.synthesis.comparison.pseudo.model import PseudoModel
from tacita.synthesis.comparison.pseudo.plan import Bounds, PseudoPosterior, bounds_before_after

__all__ = ["Bounds", "CensoredPosterior", "PseudoModel", "PseudoPosterior", "bounds_before_after"]
