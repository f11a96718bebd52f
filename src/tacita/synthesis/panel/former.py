"""How panels were planned before there were two classes: old scripts and stored descriptions keep working."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacita.errors import UsageError
from tacita.plan.base import Renaming

Arguments = tuple[Any, ...]
Updated = tuple["FormerPanels", Arguments, dict[str, Any]]
_ELSEWHERE = {
    "models": "a panel with epsilon is drawn from noisy tables; leave models out, or use PlainPanelSynthesis",
    "epsilon": "this plan has no guarantee; leave epsilon out, or use PanelSynthesis",
    "alpha": "goes with epsilon; leave alpha out, or use PanelSynthesis",
}
_NOTHING: tuple[Any, ...] = (None, (), [], {})


class FormerPanels(Renaming):
    """`PanelSynthesis` took the unit first, and without epsilon it was what `PlainPanelSynthesis` is now."""

    gone: tuple[str, ...]
    """Settings of the one class that only the other has now."""

    def outdated(cls, args: Arguments, settings: Mapping[str, Any]) -> Iterator[str]:  # noqa: N805
        yield from super().outdated(args, settings)
        if args and isinstance(args[0], str):
            yield f'the columns come first now, and the unit has a name: unit="{args[0]}"'
        meant, _, now = cls.updated(args, settings)
        if meant is not cls:
            yield f"without epsilon it is called {meant.__name__} now"
        for name in meant.gone:
            if name in now:
                raise UsageError(f"{name}: {_ELSEWHERE[name]}")

    def updated(cls, args: Arguments, settings: Mapping[str, Any]) -> Updated:  # noqa: N805
        if args and isinstance(args[0], str):
            args, settings = args[1:], {"unit": args[0], **settings}
        without = "epsilon" not in cls.gone and len(args) < 2 and settings.get("epsilon") is None
        meant = _plain() if without else cls
        _, _, now = super().updated(args, settings)
        return meant, args, {name: one for name, one in now.items() if name not in meant.gone or one not in _NOTHING}


def _plain() -> FormerPanels:
    from tacita.synthesis.panel.plain import PlainPanelSynthesis  # which is made by the class above

    return PlainPanelSynthesis
