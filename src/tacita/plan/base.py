"""What every mechanism and every synthesizer has in common.

A plan is a frozen attrs class. Its claim (`guarantee`), its expected accuracy (`forecast`) and its identity
(`describe`) are known before any data; `run` is the only thing that touches confidential rows, and only the ledger
calls it on real ones.
"""

from __future__ import annotations

import inspect
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from attrs import fields, frozen

from tacita.data.confidential import Confidential, Scan
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, SeededEntropy
from tacita.plan.fields import plain
from tacita.plan.how import How
from tacita.privacy import Guarantee


@dataclass(frozen=True)
class Forecast:
    """How accurate a plan will be, said before anything is spent."""

    product: str
    cells: int
    sentences: tuple[str, ...]
    figures: dict[str, float]

    def __str__(self) -> str:
        return "\n".join((self.product, *(f"  {line}" for line in self.sentences)))


class Result(Protocol):
    """What a plan returns: noisy statistics that may leave, and know whether they were a rehearsal."""

    @property
    def rehearsal(self) -> bool: ...

    def to_bytes(self) -> bytes: ...


Brings = Literal["counts", "values", "groups", "records"]
R = TypeVar("R", bound=Result, covariant=True)


class Renaming(ABCMeta):
    """Lets a plan be made with names that its settings had before: old scripts keep working."""

    former: Mapping[str, str]

    def __call__(cls, *args: Any, **settings: Any) -> Any:
        for said in cls.outdated(args, settings):
            warnings.warn(f"{cls.__name__}: {said}", DeprecationWarning, stacklevel=2)
        meant, args, settings = cls.updated(args, settings)
        meant.refuse_more_by_place(args)
        return super(Renaming, meant).__call__(*args, **settings)

    def outdated(cls, args: tuple[Any, ...], settings: Mapping[str, Any]) -> Iterator[str]:
        """What a call still has in its old form, and how it is said now."""
        for old in cls.former.keys() & settings.keys():
            yield f"the setting {old} is called {cls.former[old]} now"

    def updated(
        cls, args: tuple[Any, ...], settings: Mapping[str, Any]
    ) -> tuple[Renaming, tuple[Any, ...], dict[str, Any]]:
        """The call as it is made now: which class makes the plan, and from what."""
        now = {cls.former.get(name, name): value for name, value in settings.items()}
        if len(now) < len(settings):
            old = next(name for name in settings if name in cls.former and cls.former[name] in settings)
            raise UsageError(f"{cls.former[old]}: is given twice, once under its old name {old}; give it once")
        return cls, args, now

    def refuse_more_by_place(cls, args: tuple[Any, ...]) -> None:
        known = cls.__signature__.parameters.values()
        by_place = [one.name for one in known if one.kind is not one.KEYWORD_ONLY]
        if len(args) > len(by_place):
            named = [f"{one.name}=…" for one in known if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
            raise UsageError(
                f"{cls.__name__}: only {' and '.join(by_place)} may be given by place; "
                f"write {cls.__name__}({', '.join((*by_place, *named))}, …)"
            )

    def renamed(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings under the names that they have now."""
        return cls.updated((), settings)[2]

    def from_record(cls, settings: Mapping[str, Any]) -> Any:
        """The plan that any version described by these settings."""
        meant, _, now = cls.updated((), settings)
        return meant(**now)

    @property
    def __signature__(cls) -> inspect.Signature:
        """That of the settings; without this, help would show the call above."""
        _, *settings = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
        return inspect.Signature(settings)


@frozen
class Plan(Generic[R], metaclass=Renaming):
    """The base of every plan: what the ledger, the specification and the contract suite speak to.

    A subclass declares its settings as attrs fields (`tacita.plan.fields` has the rules they share) and says what it
    promises, reads and does. `R` is what `run` returns.
    """

    former: ClassVar[Mapping[str, str]] = {}
    """Names that settings had in earlier versions, and what they are called now."""

    later: ClassVar[Mapping[str, Any]] = {}
    """Settings that earlier versions did not have, and what they meant without them."""

    # ------------------------------------------------------------ known before any data

    @property
    def takes_any_rows(self) -> bool:
        """Whether the promise holds whichever rows differ, none of their columns being public: then several rows of a
        unit can be bounded and priced (`tacita.plan.Bounded`)."""
        return False

    @property
    def takes_missing(self) -> bool:
        """Whether it can read numbers whose missing values are a state of their own."""
        return False

    @property
    def brings(self) -> Brings:
        """What its run brings from the engine to this machine: counts and sums, by stored values of the cells; one line
        for each value or sampled unit of a cell; or the columns it reads of every record, at once or by groups."""
        return "records"

    @property
    def keeps_rules(self) -> bool:
        """Whether what it makes keeps the schema's [[rules]]; what holds no records has none to keep."""
        return True

    def weighed_by(self, schema: Schema) -> str | None:
        """The column by which records count, where they do not count alike: a file with a negative weight is refused,
        whatever its schema does with numbers out of bounds."""
        return None

    def relies_on(self, schema: Schema) -> dict[str, Any]:
        """What its result follows from in the schema beside the declared variables, as JSON values: with another one it
        is another request, whose result is not stored yet."""
        return {}

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee: ...

    @property
    @abstractmethod
    def proof(self) -> str:
        """The proof file, relative to the package folder."""

    @property
    def how(self) -> How | None:
        """How the method knows the confidential rows, in words for readers of the page."""
        return None

    def scan(self, schema: Schema) -> Scan | None:
        """What `run` asks of all rows first, where that is one small aggregate: the check then reads it in passing."""
        return None

    def describe(self) -> dict[str, Any]:
        """The whole configuration as plain JSON values, every default spelled out: the plan's identity."""
        own: dict[str, Any] = {"mechanism": type(self).__name__}
        return own | {one.name: plain(getattr(self, one.name)) for one in fields(type(self))}

    def former_descriptions(self) -> tuple[dict[str, Any], ...]:
        """How earlier versions described this very plan: what was paid for then is not paid for again."""
        if not self.former and not self.later:
            return ()
        old = {now: before for before, now in self.former.items()}
        described = self.describe()
        known = {key: value for key, value in described.items() if key not in self.later or value != self.later[key]}
        return ({old.get(key, key): value for key, value in known.items()},)

    @abstractmethod
    def reads(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads; raises a clear error where the schema cannot carry the plan."""

    @abstractmethod
    def forecast(self, schema: Schema) -> Forecast: ...

    def suits(self, data: Confidential) -> None:
        """Raises a clear error where public facts of the file, such as its size, rule the plan out; asked before
        anything is spent, and silent about anything confidential."""

    # ------------------------------------------------------------ acting

    @abstractmethod
    def run(self, data: Confidential, entropy: Entropy) -> R: ...

    @abstractmethod
    def restore(self, stored: bytes) -> R:
        """The result as it was stored by the ledger."""

    def rehearse(self, frame: Any, schema: Schema, *, seed: int) -> R:
        """Run on public or mock rows without a ledger; the result is stamped as a rehearsal."""
        from tacita.plan.contribution import check  # which asks about plans

        data = Confidential.from_frame(frame, schema)
        check(self, data)
        return self.run(data, SeededEntropy(seed))
