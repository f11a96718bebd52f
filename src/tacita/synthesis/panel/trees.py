"""Classification and regression trees, as users of synthpop expect: a value is that of a donor in the same leaf.

The trees are scikit-learn's (extra `trees`). Donors are drawn with random weights (a Bayesian bootstrap within the
leaf), anew for every file. A tree's values are values of the confidential file.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.errors import UsageError
from tacita.synthesis.panel.categories import Limits, pick
from tacita.synthesis.panel.numbers import Scale
from tacita.synthesis.panel.predictors import Floats, Integers, Predictors

_DUMMIES = 20  # levels of a category that are split one by one; longer lists are split by their order


def _tree(kind: str, least: int) -> Any:
    try:
        module = importlib.import_module("sklearn.tree")
    except ImportError:
        raise UsageError(
            'trees need scikit-learn; install it with pip install "tacita[trees]", or choose another model'
        ) from None
    return getattr(module, kind)(min_samples_leaf=least, random_state=0)


def _features(given: Predictors, names: tuple[str, ...]) -> Floats:
    parts: list[Any] = [np.zeros(given.rows)]
    for name in names:
        column = given.columns[name]
        if column.is_number or column.levels > _DUMMIES:
            parts.append(column.values)
        else:
            parts.extend(column.values == level for level in range(column.levels))
    return np.column_stack(parts).astype(np.float32)


def _leaves(tree: Any, features: Floats) -> Integers:
    """The leaf of each unit; of none, none: a file may have no unit of a kind."""
    return np.asarray(tree.apply(features)) if len(features) else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class NumberTree:
    """A regression tree of the log of a number, with at least `least` donors in a leaf."""

    given: tuple[str, ...]
    least: int = 5

    @property
    def needs(self) -> tuple[str, ...]:
        return self.given

    def fit(self, response: Floats, given: Predictors, scale: Scale, random: np.random.Generator) -> FittedNumberTree:
        names = given.among(self.given)
        features = _features(given, names)
        tree = _tree("DecisionTreeRegressor", self.least).fit(features, scale.logs(response))
        leaves = tree.apply(features)
        order = np.argsort(leaves, kind="stable")
        return FittedNumberTree(names, tree, leaves[order], response[order])


@dataclass(frozen=True, eq=False)
class FittedNumberTree:
    names: tuple[str, ...]
    tree: Any
    leaves: Integers
    donors: Floats

    def draw(self, given: Predictors, random: np.random.Generator) -> Floats:
        # One running total of weights over all donors: a leaf is a stretch of it.
        steps = np.concatenate([[0.0], np.cumsum(random.exponential(size=len(self.donors)))])
        mine = _leaves(self.tree, _features(given, self.names))
        start = steps[np.searchsorted(self.leaves, mine, side="left")]
        end = steps[np.searchsorted(self.leaves, mine, side="right")]
        aim = start + random.random(given.rows) * (end - start)
        return np.asarray(self.donors[np.clip(np.searchsorted(steps, aim, side="right") - 1, 0, len(self.donors) - 1)])


@dataclass(frozen=True)
class CategoryTree:
    """A classification tree, with at least `least` donors in a leaf."""

    given: tuple[str, ...]
    least: int = 5

    @property
    def needs(self) -> tuple[str, ...]:
        return self.given

    def fit(self, response: Integers, levels: int, given: Predictors, random: np.random.Generator) -> FittedTree:
        features = _features(given, self.given)
        tree = _tree("DecisionTreeClassifier", self.least).fit(features, response)
        leaves, place = np.unique(tree.apply(features), return_inverse=True)
        counts = np.bincount(place * levels + response, minlength=len(leaves) * levels)
        return FittedTree(self, tree, leaves, counts.reshape(len(leaves), levels).astype(np.float64))


@dataclass(frozen=True, eq=False)
class FittedTree:
    model: CategoryTree
    tree: Any
    leaves: Integers
    counts: Floats

    def draw(self, given: Predictors, random: np.random.Generator, limits: Limits) -> Integers:
        chances = random.standard_gamma(self.counts)
        mine = np.searchsorted(self.leaves, _leaves(self.tree, _features(given, self.model.given)))
        values, possible = pick(chances[mine], random, limits)
        if not possible.all():
            # No donor of the leaf has a value within the limits: those of all leaves, else any value.
            rest = np.flatnonzero(~possible)
            anywhere = np.tile(self.counts.sum(axis=0) + 1e-6, (len(rest), 1))
            values[rest], _ = pick(anywhere, random, limits.at(rest))
        return values
