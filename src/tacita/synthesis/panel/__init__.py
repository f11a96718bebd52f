"""Panels of businesses: lives, static variables and yearly numbers, drawn one conditional model after another.

Two plans with one layout (`settings`): `PanelSynthesis` draws from noisy tables, with a guarantee, and
`PlainPanelSynthesis` from models of the rows, with none. `write_panel` runs either out of core. The models:
`DirichletMultinomial`, `CollapsingMultinomial`, `LifeTable`, `LogitRegression` and `CategoryTree` for categories,
`NormalRegression`, `LogRegression`, `QuantileRegression` and `NumberTree` for numbers.
"""

from typing import TYPE_CHECKING

from tacita.lazy import lazily

if TYPE_CHECKING:
    from tacita.synthesis.panel.categories import CollapsingMultinomial, DirichletMultinomial
    from tacita.synthesis.panel.formal.plan import PanelSynthesis
    from tacita.synthesis.panel.lifetable import LifeTable
    from tacita.synthesis.panel.logit import LogitRegression
    from tacita.synthesis.panel.normal import NormalRegression
    from tacita.synthesis.panel.plain import PlainPanelSynthesis
    from tacita.synthesis.panel.quantiles import QuantileRegression
    from tacita.synthesis.panel.residuals import LogRegression
    from tacita.synthesis.panel.trees import CategoryTree, NumberTree
    from tacita.synthesis.panel.writing import write_panel

__all__ = [
    "CategoryTree",
    "CollapsingMultinomial",
    "DirichletMultinomial",
    "LifeTable",
    "LogRegression",
    "LogitRegression",
    "NormalRegression",
    "NumberTree",
    "PanelSynthesis",
    "PlainPanelSynthesis",
    "QuantileRegression",
    "write_panel",
]

__getattr__ = lazily(
    __name__,
    {
        "CategoryTree": "trees",
        "CollapsingMultinomial": "categories",
        "DirichletMultinomial": "categories",
        "LifeTable": "lifetable",
        "LogRegression": "residuals",
        "LogitRegression": "logit",
        "NormalRegression": "normal",
        "NumberTree": "trees",
        "PanelSynthesis": "formal.plan",
        "PlainPanelSynthesis": "plain",
        "QuantileRegression": "quantiles",
        "write_panel": "writing",
    },
)
