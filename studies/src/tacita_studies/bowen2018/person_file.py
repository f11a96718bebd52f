"""What is public about a categorical person file: its attributes with levels, cuts of numbers, impossible pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacita.schema import Schema


@dataclass(frozen=True)
class PersonFile:
    """`levels` of categories, `bounds` and `cuts` of whole numbers, `zeros` of combinations that cannot occur.

    >>> PersonFile("demo", {"sex": ("1", "2")}, {"age": (0, 99)}, {"age": (18, 65)}).cells
    6
    """

    name: str
    levels: Mapping[str, tuple[str, ...]]
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    cuts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    zeros: tuple[Mapping[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.levels, *self.bounds)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (*(len(one) for one in self.levels.values()), *(len(self.cuts[name]) + 1 for name in self.bounds))

    @property
    def cells(self) -> int:
        """Cells of the full cross-tabulation, impossible ones included."""
        found = 1
        for size in self.sizes:
            found *= size
        return found

    @property
    def schema(self) -> Schema:
        variables: dict[str, dict[str, object]] = {
            name: {"type": "categorical", "role": "confidential", "levels": list(levels)}
            for name, levels in self.levels.items()
        }
        for name, (lower, upper) in self.bounds.items():
            variables[name] = {"type": "integer", "role": "confidential", "lower": lower, "upper": upper}
        content = {"dataset": {"identity": self.name, "unit": "person"}, "variables": variables}
        return Schema.from_dict(content | ({"zeros": [dict(one) for one in self.zeros]} if self.zeros else {}))
