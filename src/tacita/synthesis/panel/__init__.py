"""Panels of businesses: lives, static variables and yearly numbers, drawn one conditional model after another.

`PanelSynthesis` is the plan; `write_panel` runs it out of core. The models: `DirichletMultinomial`,
`CollapsingMultinomial`, `LifeTable`, `LogitRegression` and `CategoryTree` for categories, `NormalRegression`,
`QuantileRegression` and `NumberTree` for numbers.
"""

from tacita.synthesis.panel.categories import CollapsingMultinomial, DirichletMultinomial
from tacita.synthesis.panel.lifetable import LifeTable
from tacita.synthesis.panel.logit import LogitRegression
from tacita.synthesis.panel.normal import NormalRegression
from tacita.synthesis.panel.plan import PanelSynthesis
from tacita.synthesis.panel.quantiles import QuantileRegression
from tacita.synthesis.panel.trees import CategoryTree, NumberTree
from tacita.synthesis.panel.writing import write_panel

__all__ = [
    "CategoryTree",
    "CollapsingMultinomial",
    "DirichletMultinomial",
    "LifeTable",
    "LogitRegression",
    "NormalRegression",
    "NumberTree",
    "PanelSynthesis",
    "QuantileRegression",
    "write_panel",
]
