"""`CodeLists`: the codes of columns that at least so many records have, found privately."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp
from typing import Any

from attrs import field, frozen

from tacita.data.confidential import Confidential
from tacita.data.occurring import occurring
from tacita.data.schema import Categorical, Schema
from tacita.errors import SchemaError, UsageError
from tacita.mechanisms.table.noise import Budget, Reach
from tacita.noise.entropy import Entropy
from tacita.plan import ONE_ROW, Forecast, Plan, opened, packed
from tacita.plan.fields import RECORD, OneUnit, as_delta, as_epsilon, as_names, as_relation, at_least_one, one_unit
from tacita.plan.how import How
from tacita.privacy import Guarantee, Loss, ReplaceOne

_FORM = "codes-1"
_MOST_EPSILON = 20  # beyond, e^ε leaves no δ for single codes
_NEARLY = Fraction(9, 10)  # of draws are within the margin on either side, so 19 in 20 above its lower end


@dataclass(frozen=True)
class FoundCodes:
    """For each column the codes that were found, each with about how many records have it."""

    lists: dict[str, tuple[tuple[str, int], ...]]
    rehearsal: bool

    def of(self, column: str) -> tuple[str, ...]:
        """The codes of a column: numbers by size, then words by their letters."""
        return tuple(sorted((code for code, _ in self.lists[column]), key=_place))

    def to_bytes(self) -> bytes:
        return packed(_FORM, {"lists": self.lists, "rehearsal": self.rehearsal})

    @classmethod
    def from_bytes(cls, stored: bytes) -> FoundCodes:
        held, _ = opened(stored, _FORM)
        lists = {name: tuple((code, count) for code, count in found) for name, found in held["lists"].items()}
        return cls(lists, held["rehearsal"])


def _place(code: str) -> tuple[int, int, str]:
    number = code.removeprefix("-")
    whole = number.isascii() and number.isdigit() and str(int(number)) == number
    return (0, int(code), code) if whole else (1, 0, code)


@frozen
class CodeLists(Plan[FoundCodes]):
    """The codes that occur in columns, where no public code list exists: those that few records have stay unknown.

    Records are counted by stored value, noise is added to each count, and a value is a code where its noisy count is
    above a threshold that follows from ε and δ alone. Noise is that of the law whose threshold is the lower one.

    >>> from tacita.privacy import AddRemoveOne
    >>> plan = CodeLists(["region"], "0.1", "1e-9", neighbours=AddRemoveOne("person"))
    >>> plan.guarantee
    Guarantee(neighbours=AddRemoveOne(unit='person'), loss=Loss(epsilon='0.1', delta='0.000000001'), ...)
    >>> plan.threshold
    213
    """

    proof = "mechanisms/codes/codes.md"
    takes_any_rows = True
    takes_missing = True
    brings = "values"

    columns: tuple[str, ...] = field(converter=as_names, validator=at_least_one)
    epsilon: Fraction = field(converter=as_epsilon)
    delta: Fraction = field(converter=as_delta)
    neighbours: OneUnit = field(default=RECORD, converter=as_relation, validator=one_unit, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise UsageError('delta: must be above 0 and below 1, such as "1e-9"; no code can be found without it')
        if self.epsilon > _MOST_EPSILON:
            raise UsageError(f"epsilon: must be at most {_MOST_EPSILON}")

    # ------------------------------------------------------------ known before any data

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, Loss(self.epsilon, delta=self.delta), assumes=(ONE_ROW,))

    @property
    def how(self) -> How:
        return How(
            "Records were counted by the value of each column, random noise was added to each count, and the values "
            "whose noisy count was above a threshold became codes."
        )

    @property
    def _reach(self) -> Reach:
        """One unit has one value in each column: its count changes by one, that of another too where it is replaced."""
        changed = len(self.columns) * (2 if isinstance(self.neighbours, ReplaceOne) else 1)
        return Reach(changed, changed)

    @cached_property
    def _noise(self) -> tuple[Budget, int]:
        """What pays for the noise, and the most that it adds to a count but for a chance that δ pays for."""
        values = len(self.columns) * (1 + ceil(exp(self.epsilon) * (1 + 1e-9)))  # times their chance is paid: codes.md
        tries = ((Budget(self.epsilon), self.delta), (Budget(self.epsilon, self.delta / 2), self.delta / 2))
        margins = [(one, one.law(self._reach).margin(1 - 2 * rest / values)) for one, rest in tries]
        return min(margins, key=lambda one: one[1])

    @property
    def threshold(self) -> int:
        """A value is a code where its noisy count is at least this."""
        return self._noise[1] + 2

    @property
    def surely(self) -> int:
        """Records that a code needs to be found in 19 of 20 draws."""
        return self.threshold + self._noise[0].law(self._reach).margin(_NEARLY)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """None that the schema's rules are about: what a column holds is what is asked."""
        for name in self.columns:
            if not isinstance(schema[name].kind, Categorical):
                raise SchemaError(f"{name}: is not categorical, so it has no codes; leave it out")
        return ()

    def relies_on(self, schema: Schema) -> dict[str, Any]:
        return {}

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        sentences = (
            f"a code that {self.surely:,} records or more have is found in 19 of 20 draws; one that about "
            f"{self.threshold:,} have in half of them",
            f"a value that single records have never becomes a code, but for a chance of {float(self.delta):.0e}",
        )
        figures = {"threshold": float(self.threshold), "surely": float(self.surely)}
        return Forecast(f"Codes of {', '.join(self.columns)}", len(self.columns), sentences, figures)

    # ------------------------------------------------------------ acting

    def run(self, data: Confidential, entropy: Entropy) -> FoundCodes:
        self.reads(data.schema)
        return FoundCodes({name: self._found(data, name, entropy) for name in self.columns}, entropy.rehearsal)

    def _found(self, data: Confidential, column: str, entropy: Entropy) -> tuple[tuple[str, int], ...]:
        codes, counts = occurring(data, column)
        noisy = self._noise[0].noisy(counts, self._reach, entropy, f"values of {column}")
        return tuple((code, int(count)) for code, count in zip(codes, noisy, strict=True) if count >= self.threshold)

    def restore(self, stored: bytes) -> FoundCodes:
        return FoundCodes.from_bytes(stored)
