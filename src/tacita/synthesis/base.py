"""The base of every synthesizer and of the models they release.

A synthesizer says which columns it draws, at which price, under which relation, and how it measures the rows
(`measure`). What it measured is released: a `Model`, from which any number of files is drawn without a row in sight.
A new synthesizer is one folder with a subclass of each, and one line in `tacita.synthesis`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import RefusedError, UsageError
from tacita.implicates import Implicates
from tacita.noise.entropy import Entropy
from tacita.plan import ONE_ROW, Plan, opened, packed, seed_from
from tacita.plan.fields import RECORD, OneUnit, as_epsilon, as_names, as_relation, at_least_one, one_unit, whole
from tacita.privacy import Guarantee, Loss, ReplaceOne
from tacita.terminal import shown

MOST_FILES = 1000

Released = TypeVar("Released")
M = TypeVar("M", bound="Model[Any]", covariant=True)


@frozen(eq=False, repr=False)
class Model(Generic[Released]):
    """What the ledger keeps and a bundle publishes. `implicates` are the files of the release, the same ones each time;
    `sample` draws others. Post-processing only: no confidential row comes here."""

    form: ClassVar[str]
    """The layout of the stored bytes and its version: a layout that changes takes a new name."""

    plan: Any
    schema: Schema
    released: Released
    seed: int
    rehearsal: bool
    guarantee: Guarantee | None = field(default=None, kw_only=True)
    """Of the plan around its own, where there is one; what it shows of itself."""

    @abstractmethod
    def files(self, m: int, random: Any, rows: int | None) -> Implicates:
        """m synthetic files; `rows` is the number of rows that was asked for, if any."""

    @property
    @abstractmethod
    def measured(self) -> Mapping[str, Any]:
        """What was released, as JSON values."""

    @classmethod
    @abstractmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> Released:
        """What was released, from what `stored` gave."""

    def stored(self) -> tuple[Mapping[str, Any], pa.Table | None]:
        """What is kept of it: JSON values, and a table where there are large arrays."""
        return self.measured, None

    # ------------------------------------------------------------ alike for all

    @cached_property
    def implicates(self) -> Implicates:
        return self.sample()

    def sample(
        self,
        m: int | None = None,
        *,
        seed: int | None = None,
        rows: int | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Implicates:
        """m synthetic files, by default as many as the plan says; a seed draws others from the same release.

        `where` draws records of one kind alone, such as `{"sex": "F", "age": {"least": 65}}`, with what a rule of a
        schema may say of a column; without `rows` about as many as the whole file would have.

        A single file follows the release as it stands. With m > 1 each file also draws what the noise leaves open, so
        that `combine(files, analysis)` gives honest intervals.
        """
        count = self.plan.sets if m is None else m
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError("m: give the number of files, at least 1")
        if self.paid_files is not None and count > self.paid_files:
            raise UsageError(
                f"m: {self.paid_files} files were released, and each cost its share; ask for no more, or plan the "
                "release with more sets"
            )
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise UsageError("rows: must be a whole number of at least 1")
        if rows is not None and not self.any_length:
            raise UsageError("rows: the files have the length of the release; leave rows out")
        random = self.random(self.seed if seed is None else seed)
        return self.files(count, random, rows) if where is None else self.files_where(count, random, rows, where)

    def files_where(self, m: int, random: Any, rows: int | None, where: Mapping[str, Any]) -> Implicates:
        """The same of records of one kind."""
        raise UsageError(
            "where: files of this method are drawn as a whole; leave where out, and choose records of them"
        )

    def random(self, seed: int) -> Any:
        """Where `files` takes its draws from."""
        return np.random.default_rng(seed)

    @property
    def any_length(self) -> bool:
        """Whether files can be drawn with another number of rows."""
        return False

    @property
    def paid_files(self) -> int | None:
        """How many files were paid for, where each was; None where more cost nothing."""
        return None

    def to_bytes(self) -> bytes:
        content, table = self.stored()
        about = {"plan": self.plan.describe(), "schema": self.schema.to_dict()}
        return packed(self.form, {**about, "seed": self.seed, "rehearsal": self.rehearsal, **content}, table)

    @classmethod
    def from_bytes(cls, plan: Any, stored: bytes) -> Self:
        content, table = opened(stored, cls.form)
        schema = Schema.stored(content["schema"])
        released = cls.released_from(content, table, plan, schema)
        seed = content["seed"]
        return cls(plan, schema, released, int(seed, 16) if isinstance(seed, str) else seed, content["rehearsal"])

    def promised(self, plan: Any) -> Self:
        """The same as a result of the plan around its own (`plan/bounded.py`)."""
        return evolve(self, guarantee=plan.guarantee)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise RefusedError(
            "a model cannot be pickled or copied: a pickle runs code where it is opened, and says nothing of its "
            "version. Keep model.to_bytes(), open it with plan.restore(…), or ask the ledger again, which costs nothing"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.plan.columns)}; {self.guarantee or self.plan.guarantee})"

    def _repr_html_(self) -> str:
        stamp = "REHEARSAL, no guarantee: " if self.rehearsal else ""
        rows = [
            ("plan", type(self.plan).__name__),
            ("columns", ", ".join(self.plan.columns)),
            ("guarantee", f"{stamp}{self.guarantee or self.plan.guarantee}"),
            (
                "files",
                "sample(m=…) draws them; they cost nothing further" if self.paid_files is None else self.paid_files,
            ),
        ]
        return shown(type(self).__name__, rows)


@frozen
class Synthesizer(Plan[M]):
    """Columns to draw, ε, the number of files, and what is protected: the settings that all synthesizers have."""

    model: ClassVar[type[Model[Any]]]
    concentrated: ClassVar[bool] = False
    """Whether, where δ > 0, all it measures is ρ-zero-concentrated for the ρ that `rho_for` says (ε, δ) allows."""
    one_row: ClassVar[bool] = True
    """Whether its files have one row for each unit, as the confidential file has."""

    columns: tuple[str, ...] = field(converter=as_names, validator=at_least_one)
    epsilon: Fraction = field(converter=as_epsilon)
    sets: int = field(default=1, validator=whole(1, MOST_FILES), kw_only=True)
    neighbours: OneUnit = field(default=RECORD, converter=as_relation, validator=one_unit, kw_only=True)

    @abstractmethod
    def measure(self, data: Confidential, entropy: Entropy) -> Any:
        """What is released about the rows: the only step that sees them."""

    @property
    def loss(self) -> Loss:
        return Loss(self.epsilon)

    @property
    def assumes(self) -> Sequence[str]:
        return (ONE_ROW,)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, self.loss, assumes=tuple(self.assumes))

    @property
    def keeps_rules(self) -> bool:
        return False

    @property
    def size_is_public(self) -> bool:
        """A replaced record leaves the number of records as it is."""
        return isinstance(self.neighbours, ReplaceOne)

    @property
    def per_record(self) -> Fraction:
        """The budget for one record added or removed: a replaced one is one of each."""
        return self.epsilon / 2 if self.size_is_public else self.epsilon

    @property
    def product(self) -> str:
        """What the forecast is about."""
        return f"Synthetic microdata: {', '.join(self.columns)}"

    def reads(self, schema: Schema) -> tuple[str, ...]:
        return self.columns

    def without_weights(self, schema: Schema) -> list[str]:
        """What a forecast says where records have weights and the files have none."""
        weights = [one.name for one in schema if one.role == "weight"]
        if not weights or any(name in self.reads(schema) for name in weights):
            return []
        return [
            f"the files have no weights: what is computed from them is about the records, not about those that "
            f"{weights[0]} makes them stand for; name it among the columns where that matters"
        ]

    def relies_on(self, schema: Schema) -> dict[str, Any]:
        """[[zeros]] and [[rules]] about its columns, which its files keep."""
        zeros = [dict(zero) for zero in schema.zeros if set(dict(zero)) <= set(self.columns)]
        rules = [dict(rule.entry) for rule in schema.rules if set(rule.columns) <= set(self.columns)]
        return {key: held for key, held in (("zeros", zeros), ("rules", rules)) if held}

    def run(self, data: Confidential, entropy: Entropy) -> M:
        released = self.measure(data, entropy)
        made: Any = self.model(self, data.schema, released, seed_from(entropy), entropy.rehearsal)
        return made  # type: ignore[no-any-return]

    def restore(self, stored: bytes) -> M:
        restored: Any = self.model.from_bytes(self, stored)
        return restored  # type: ignore[no-any-return]
