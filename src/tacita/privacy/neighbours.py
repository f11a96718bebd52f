"""What is protected: which two files a reader must not tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

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


Neighbours = AddRemoveOne | ReplaceOne | StrongAlpha | WeakAlpha | NumbersWithin
