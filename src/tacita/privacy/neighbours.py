"""What is protected: which two files a reader must not tell apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from tacita.errors import UsageError
from tacita.privacy.loss import Number, exact, text


def _require_word(unit: object) -> None:
    if not isinstance(unit, str) or not unit.strip():
        raise UsageError('unit: must be a word for what is protected, such as "person"')


@dataclass(frozen=True)
class AddRemoveOne:
    """Two files are neighbours when one unit, with everything it reports, is in only one of them.

    >>> print(AddRemoveOne("worker"))
    one worker added or removed
    """

    unit: str

    def __post_init__(self) -> None:
        _require_word(self.unit)

    def __str__(self) -> str:
        return f"one {self.unit} added or removed"

    @property
    def meaning(self) -> str:
        return f"whether any one {self.unit} is in the file at all, and everything it reported"


@dataclass(frozen=True)
class ReplaceOne:
    """Two files of the same public size are neighbours when one unit's record differs.

    >>> print(ReplaceOne("person"), "/", ReplaceOne("record"))
    one person's record replaced / one record replaced
    """

    unit: str

    def __post_init__(self) -> None:
        _require_word(self.unit)

    def __str__(self) -> str:
        whose = "" if self.unit in ("record", "row") else "'s record"
        return f"one {self.unit}{whose} replaced"

    @property
    def meaning(self) -> str:
        return f"what any one {self.unit} reported; the number of units is public"


@dataclass(frozen=True)
class _Alpha:
    alpha: Fraction

    def __init__(self, alpha: Number) -> None:
        value = exact(alpha, "alpha")
        if value <= 0:
            raise UsageError(
                "alpha: must be above 0; it is the relative change in an establishment's size that is hidden, "
                'such as "0.1" for 10 percent'
            )
        object.__setattr__(self, "alpha", value)


@dataclass(frozen=True, init=False)
class StrongAlpha(_Alpha):
    """haney2017, definition 7.1: one establishment gains up to max(α·size, 1) workers of any kind.

    The list of establishments and their workplace attributes is public and equal in both files.

    >>> print(StrongAlpha("0.1"))
    strong α = 0.1 neighbours
    """

    def __str__(self) -> str:
        return f"strong α = {text(self.alpha)} neighbours"

    @property
    def meaning(self) -> str:
        return (
            "whether any one worker holds a job, and the size of any one establishment to within a factor "
            f"{text(1 + self.alpha)}, against an attacker who may know everything else"
        )


@dataclass(frozen=True, init=False)
class WeakAlpha(_Alpha):
    """haney2017, definition 7.3: every class of an establishment's workers grows by at most max(α·class, 1).

    "Class" means a class defined by the declared worker attributes. (Read literally, with classes that may
    single out persons by name, the printed definition shrinks to one added worker.) Weak neighbours are
    strong neighbours, so a strong guarantee is also a weak one.
    """

    def __str__(self) -> str:
        return f"weak α = {text(self.alpha)} neighbours"

    @property
    def meaning(self) -> str:
        return (
            "whether any one worker holds a job, and the number of workers of any kind at any one establishment "
            f"to within a factor {text(1 + self.alpha)}, against an attacker with no knowledge of who works there"
        )


@dataclass(frozen=True, init=False)
class NumbersWithin(_Alpha):
    """One unit's numbers differ, in all years at once, each by at most max(α · the smaller, one whole step). When units
    were there, their categories and which numbers are missing are the same in both files.

    >>> print(NumbersWithin("firm", "0.1"))
    one firm's numbers changed by up to α = 0.1
    """

    unit: str

    def __init__(self, unit: str, alpha: Number) -> None:
        super().__init__(alpha)
        _require_word(unit)
        object.__setattr__(self, "unit", unit)

    def __str__(self) -> str:
        return f"one {self.unit}'s numbers changed by up to α = {text(self.alpha)}"

    @property
    def meaning(self) -> str:
        hidden = f"the numbers of any one {self.unit}, all years together, to within a factor {text(1 + self.alpha)}"
        return f"{hidden} or one step; not when it was there, its categories, or roughly how large it is"


Scaling = Literal["square-root", "fourth-root", "log"]
STEPS = 1 << 26
"""Into so many steps the stretch from nothing to the reference is divided, so that noise can be exact."""
ROUNDING = 2
"""Steps that rounding may add to the distance of two files."""


@dataclass(frozen=True, init=False)
class PerRecord:
    """One unit's number differs, and the loss grows with how large it is (Seeman and others, arXiv 2310.12827;
    Finley and others, arXiv 2409.18118).

    With f the root or the logarithm, F(v) = (f(offset + v) − f(offset)) / (f(offset + reference) − f(offset)). Two
    files are neighbours when one unit has v in one and w in the other, |F(w) − F(v)| ≤ 1: such as nothing and the
    reference. Further apart the loss grows with the square of that distance: `policy`. Below the offset that is as the
    square of the number, above it ever slower. Units, their categories and
    which numbers are missing are the same in both files.

    >>> relation = PerRecord("firm", "log", offset="10000", reference="1000000")
    >>> print(relation)
    one firm's number, by log scaling from 10000 with the loss of 1000000
    >>> [round(relation.policy(v), 3) for v in (0, 10_000, 1_000_000, 100_000_000)]
    [0.0, 0.023, 1.0, 3.983]
    """

    unit: str
    scaling: Scaling
    offset: Fraction
    reference: Fraction

    def __init__(self, unit: str, scaling: Scaling, *, offset: Number, reference: Number) -> None:
        _require_word(unit)
        if scaling not in get_args(Scaling):
            raise UsageError(f"scaling: must be one of {', '.join(get_args(Scaling))}")
        for name, given in (("offset", offset), ("reference", reference)):
            value = exact(given, name)
            if not Fraction(1, 10**9) <= value <= 10**18:
                raise UsageError(f'{name}: must be between 10^-9 and 10^18, in the number\'s own units, such as "1000"')
            object.__setattr__(self, name, value)
        if self.reference * 10**9 < self.offset:
            raise UsageError("reference: is so far below the offset that nothing tells its size; raise it")
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "scaling", scaling)

    def __str__(self) -> str:
        return (
            f"one {self.unit}'s number, by {self.scaling} scaling from {text(self.offset)} "
            f"with the loss of {text(self.reference)}"
        )

    def policy(self, number: float) -> float:
        """What a unit with this number loses, as a multiple of the stated ρ, against having nothing."""
        return ((STEPS * self._scaled(number) + ROUNDING) / (STEPS + ROUNDING)) ** 2

    def _scaled(self, number: float) -> float:
        ratio, whole = (float(Fraction(one) / self.offset) for one in (number, self.reference))
        if self.scaling == "log":
            return math.log1p(ratio) / math.log1p(whole)
        power = 0.5 if self.scaling == "square-root" else 0.25
        return math.expm1(power * math.log1p(ratio)) / math.expm1(power * math.log1p(whole))

    @property
    def policy_in_words(self) -> str:
        """The policy function as a reader may compute it; rounding adds less than a ten-millionth."""
        a, c = text(self.offset), text(self.reference)
        if self.scaling == "log":
            return f"ρ · (ln(1 + v/{a}) / ln(1 + {c}/{a}))²"
        root = "√" if self.scaling == "square-root" else "∜"
        return f"ρ · (({root}(1 + v/{a}) − 1) / ({root}(1 + {c}/{a}) − 1))²"

    @property
    def meaning(self) -> str:
        return (
            f"the number of any one {self.unit}, the less the larger it is: {text(self.reference)} loses ρ, and v "
            f"loses {self.policy_in_words}; not that it is in the file, or its categories"
        )


Neighbours = AddRemoveOne | ReplaceOne | StrongAlpha | WeakAlpha | NumbersWithin | PerRecord
