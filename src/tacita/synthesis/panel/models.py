"""The models of a panel by name: the paper's for each variable, and any of the others in their place."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast, get_args

from tacita.errors import UsageError
from tacita.synthesis.panel.categories import CollapsingMultinomial, DirichletMultinomial
from tacita.synthesis.panel.layout import AGE, CLOSING, LIFE, REMAINING, YEAR, Layout, before
from tacita.synthesis.panel.lifetable import LifeTable
from tacita.synthesis.panel.logit import LogitRegression
from tacita.synthesis.panel.normal import NormalRegression
from tacita.synthesis.panel.quantiles import QuantileRegression
from tacita.synthesis.panel.residuals import LogRegression
from tacita.synthesis.panel.trees import CategoryTree, NumberTree

Categorical = DirichletMultinomial | CollapsingMultinomial | LifeTable | LogitRegression | CategoryTree
Number = NormalRegression | LogRegression | QuantileRegression | NumberTree
Model = Categorical | Number
CATEGORY_MODELS = get_args(Categorical)
NUMBER_MODELS = get_args(Number)


def defaults(layout: Layout) -> dict[str, Model]:
    """kinney2007, section 3, with the first column of `keep` that has a coarser version in the place of the county.

    Numbers beside the size are regressed on it and on each other on the scale of logarithms, as they will be by whoever
    estimates a production function: ranks, as in the paper, keep less of how two numbers go together.
    """
    coarse = {column: name for name, column, _ in reversed(layout.coarser)}
    place = next((name for name in layout.keep if name in coarse), None)
    others = tuple(name for name in layout.keep if name != place)
    prior = tuple(coarse[name] if name == place else name for name in layout.keep)
    region = () if place is None else (coarse[place],)
    found: dict[str, Model] = {
        layout.first.name: DirichletMultinomial(layout.keep, prior if place else ()),
        layout.last.name: LifeTable((layout.first.name, *others)),
    }
    for name in layout.static:
        found[name] = CollapsingMultinomial((LIFE, layout.first.name, *others, *region))
    for change in layout.changes:
        found[change.name] = CollapsingMultinomial((LIFE, change.static))
    numbers = [one.name for one in layout.yearly]
    for at, name in enumerate(numbers):
        given = (*layout.static, LIFE, AGE, REMAINING, CLOSING, *others, *map(before, numbers), *numbers[:at])
        size = NormalRegression(given, relative_to=before(name), apart=(CLOSING, *layout.static[:1]))
        found[name] = LogRegression(given) if at else size
    return found


def checked(layout: Layout, models: dict[str, Model]) -> dict[str, Model]:
    """Each variable has a model of its kind, which is given only what is drawn before it."""
    numbers = [one.name for one in layout.yearly]
    categories = [layout.first.name, layout.last.name, *layout.static, *(one.name for one in layout.changes)]
    for name, model in models.items():
        if name not in (*categories, *numbers):
            raise UsageError(f"models: {name} is not drawn; it may be one of {', '.join((*categories, *numbers))}")
        kind, fitting = ("a number", NUMBER_MODELS) if name in numbers else ("a category", CATEGORY_MODELS)
        if not isinstance(model, fitting):
            raise UsageError(f"models.{name}: {type(model).__name__} is no model of {kind}")
        if isinstance(model, LifeTable) and (name, model.given[:1]) != (layout.last.name, (layout.first.name,)):
            raise UsageError(
                f"models.{name}: LifeTable is for {layout.last.name}, with {layout.first.name} first in given; "
                "use CollapsingMultinomial"
            )
        known = _known_before(layout, name, numbers)
        if late := [one for one in model.needs if one not in known]:
            raise UsageError(
                f"models.{name}: is given {late[0]}, which is not known then; known are {', '.join(known)}"
            )
    return models


def _known_before(layout: Layout, name: str, numbers: list[str]) -> tuple[str, ...]:
    public = (*layout.keep, *(one for one, _, _ in layout.coarser))
    if name == layout.first.name:
        return public
    if name == layout.last.name:
        return (*public, layout.first.name)
    lives = (*public, layout.first.name, layout.last.name, LIFE)
    if name in layout.static:
        return (*lives, *layout.static[: layout.static.index(name)])
    if name not in numbers:
        return (*lives, *layout.static)
    return (
        *lives, *layout.static, AGE, REMAINING, CLOSING, YEAR,
        *map(before, numbers), *numbers[: numbers.index(name)],
    )  # fmt: skip


def model_to_dict(model: Model) -> dict[str, Any]:
    found = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(model).items()}
    return {"model": type(model).__name__, **found}


def model_from(name: str, given: Any) -> Model:
    """A model, or the table of its settings as a specification has it."""
    known = {one.__name__: one for one in (*CATEGORY_MODELS, *NUMBER_MODELS)}
    if isinstance(given, (*CATEGORY_MODELS, *NUMBER_MODELS)):
        return cast(Model, given)
    if not isinstance(given, dict) or given.get("model") not in known:
        raise UsageError(f"models.{name}: give one of {', '.join(known)}")
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    kind = known[settings.pop("model")]
    try:
        return kind(**settings)  # type: ignore[no-any-return]
    except TypeError:
        raise UsageError(f"models.{name}: a setting is not one of {kind.__name__}") from None
