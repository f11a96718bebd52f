"""Sequential synthesis of skewed data by exact private quantile regression (tran2023 and past it)."""

from tacita.synthesis.quantile.model import QuantileModel
from tacita.synthesis.quantile.plan import QuantileSynthesis

__all__ = ["QuantileModel", "QuantileSynthesis"]
