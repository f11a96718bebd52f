"""One encoding of the files to compare, made once and shared by every metric.

A categorical column becomes int32 codes on the union of its declared and its observed levels; a numeric column
becomes float64. A missing cell is never dropped: it is a level of its own in a categorical column and NaN, with
`missing` as the flag, in a numeric one. Values outside declared bounds are kept as they are, because what a
mechanism clamped is part of what a release lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Categorical, Date, Identifier, Schema
from tacita.errors import UsageError
from tacita.evaluation.cells import Cells, tenths, to_bins

Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]
Frame: TypeAlias = pd.DataFrame | pa.Table
MISSING = "(missing)"
_LARGEST = 1e100  # products of squares of such numbers, and sums of them, are still finite

_T = TypeVar("_T")


@runtime_checkable
class HoldsFrames(Protocol):
    """Anything that holds m synthetic files, such as `tacita.Implicates`."""

    @property
    def frames(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Column:
    """How one column was encoded; `levels` is empty for a number, and `missing` is the code of missing cells."""

    name: str
    kind: Literal["categorical", "numeric"]
    levels: tuple[str, ...] = ()
    missing: int | None = None


@dataclass(frozen=True, eq=False)
class Encoded:
    """One file in the shared encoding. Arrays are read-only by agreement: every metric sees the same ones."""

    columns: tuple[Column, ...]
    rows: int
    codes: Mapping[str, Codes]
    numbers: Mapping[str, Numbers]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def categorical(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.kind == "categorical")

    @property
    def numeric(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.kind == "numeric")

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise UsageError(f"{name}: no such column in the comparison; compared are {', '.join(self.names)}")

    def missing(self, name: str) -> NDArray[np.bool_]:
        """True where the cell is missing, for either kind of column."""
        column = self.column(name)
        if column.kind == "numeric":
            return np.isnan(self.numbers[name])
        if column.missing is None:
            return np.zeros(self.rows, dtype=np.bool_)
        return np.asarray(self.codes[name] == column.missing)

    def squarable(self, name: str) -> Numbers:
        """A numeric column for measures that add up squares: refused where a square would be infinite."""
        values = self.numbers[name]
        known = values[~np.isnan(values)]
        if known.size and max(-known.min(), known.max()) > _LARGEST:
            raise UsageError(f"{name}: holds numbers beyond {_LARGEST:g}, whose squares overflow; rescale the column")
        return values


@dataclass(frozen=True, eq=False)
class Pair:
    """One original file against one synthetic file: what most metrics look at."""

    original: Encoded
    synthetic: Encoded
    _memo: dict[object, Any] = field(default_factory=dict, repr=False)

    def once(self, key: object, compute: Callable[[], _T]) -> _T:
        """The result of `compute`, worked out the first time a metric asks and kept for the others."""
        if key not in self._memo:
            self._memo[key] = compute()
        kept: _T = self._memo[key]
        return kept

    @property
    def rows(self) -> int:
        return self.original.rows + self.synthetic.rows

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.original.columns

    @property
    def all_categorical(self) -> bool:
        return not self.original.numeric

    @cached_property
    def is_original(self) -> NDArray[np.bool_]:
        """The indicator T of the stacked file: original rows first."""
        return np.arange(self.rows) < self.original.rows

    def codes(self, name: str) -> Codes:
        """Codes of a categorical column in the stacked file."""
        return np.concatenate([self.original.codes[name], self.synthetic.codes[name]])

    def numbers(self, name: str) -> Numbers:
        """Numbers of a numeric column in the stacked file, NaN where missing."""
        return np.concatenate([self.original.numbers[name], self.synthetic.numbers[name]])

    @cached_property
    def cells(self) -> Cells:
        """Every column of the stacked file as cells: levels, or tenths of the original's distribution."""
        return self.binned(tenths)

    def binned(self, cut: Callable[[Numbers], Numbers]) -> Cells:
        """Every column as cells; `cut` gives the cut points of a number from its original values."""
        made = []
        for column in self.columns:
            if column.kind == "categorical":
                made.append((self.codes(column.name), len(column.levels)))
            else:
                points = cut(self.original.numbers[column.name])
                made.append(to_bins(self.numbers(column.name), points))
        return Cells(
            names=self.original.names,
            codes=np.stack([codes for codes, _ in made]),
            sizes=tuple(size for _, size in made),
            first=self.original.rows,
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything a metric may look at: the original, the synthetic files, and a hold-out file if there is one."""

    original: Encoded
    synthetic: tuple[Encoded, ...]
    holdout: Encoded | None = None
    schema: Schema | None = None

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The original against each synthetic file."""
        return tuple(Pair(self.original, one) for one in self.synthetic)

    @cached_property
    def against_holdout(self) -> Comparison:
        """The same synthetic files against rows of the population that the synthesizer never saw."""
        if self.holdout is None:
            raise UsageError("holdout: this form needs rows kept out of the synthesis; give compare(…, holdout=frame)")
        return Comparison(self.holdout, self.synthetic, None, self.schema)


def compare(
    original: Frame,
    synthetic: HoldsFrames | Frame | Sequence[Frame],
    *,
    schema: Schema | None = None,
    holdout: Frame | None = None,
    columns: Sequence[str] | None = None,
    categorical: Iterable[str] = (),
) -> Comparison:
    """Encode an original file and its synthetic files once, for all metrics.

    Kinds come from the schema. Without one, text and booleans are categorical and numbers are numbers, except those
    named in `categorical`. Columns declared as identifiers are left out; `columns` compares only some.

    >>> original = pd.DataFrame({"sex": ["F", "M", None], "pay": [10.0, 20.0, 30.0]})
    >>> pair = compare(original, original.assign(sex="U")).pairs[0]
    >>> pair.original.column("sex").levels, pair.codes("sex").tolist()
    (('F', 'M', 'U', '(missing)'), [0, 1, 3, 2, 2, 2])
    >>> compare(original, original[["sex"]])
    Traceback (most recent call last):
    ...
    tacita.errors.UsageError: synthetic file 1: lacks the column pay; give every file the same columns, or name ...
    """
    files = _named_files(original, synthetic, holdout)
    names = _common_columns(files, schema, columns)
    by_request = frozenset(categorical)
    if unknown := sorted(by_request.difference(names)):
        raise UsageError(f"categorical: {', '.join(unknown)} not among the compared columns; correct the name")
    encoded: dict[str, tuple[Column, list[NDArray[Any]]]] = {}
    for name in names:
        stored = [_stored(frame, name) for frame in files.values()]
        kind = None if schema is None else schema[name].kind
        if isinstance(kind, Categorical) or (kind is None and (name in by_request or _is_text(stored))):
            encoded[name] = _encode_categorical(name, stored, kind if isinstance(kind, Categorical) else None)
        else:
            encoded[name] = _encode_numeric(name, stored, kind)
    made = [_file(encoded, position, _rows(frame)) for position, frame in enumerate(files.values())]
    held = made.pop() if holdout is not None else None
    return Comparison(made[0], tuple(made[1:]), held, schema)


def _named_files(original: Frame, synthetic: Any, holdout: Frame | None) -> dict[str, Frame]:
    """Files by the name an error gives them: the original first, the hold-out last."""
    if isinstance(synthetic, pd.DataFrame | pa.Table):
        frames: Sequence[Any] = (synthetic,)
    elif isinstance(synthetic, HoldsFrames):
        frames = tuple(synthetic.frames)
    else:
        frames = tuple(synthetic)
    if not frames:
        raise UsageError("synthetic: no file given; give at least one synthetic file")
    files = {"original": original} | {f"synthetic file {place}": one for place, one in enumerate(frames, 1)}
    if holdout is not None:
        files["holdout"] = holdout
    for name, frame in files.items():
        if not isinstance(frame, pd.DataFrame | pa.Table):
            raise UsageError(f"{name}: must be a pandas DataFrame or a pyarrow Table")
        if _rows(frame) == 0:
            raise UsageError(f"{name}: has no rows; a comparison needs at least one row in each file")
    return files


def _common_columns(files: Mapping[str, Frame], schema: Schema | None, chosen: Sequence[str] | None) -> list[str]:
    ids = () if schema is None else tuple(one.name for one in schema if isinstance(one.kind, Identifier))
    names: list[str] = []
    for file, frame in files.items():
        present = _names(frame)
        if len(set(present)) != len(present):
            raise UsageError(f"{file}: two columns have the same name; rename one")
        held = [name for name in present if name not in ids]
        wanted = list(chosen) if chosen is not None else names or held
        if lacking := [name for name in wanted if name not in held]:
            raise UsageError(
                f"{file}: lacks the column {', '.join(lacking[:3])}; give every file the same columns, "
                "or name the ones to compare in columns=[…]"
            )
        if chosen is None and (extra := [name for name in held if name not in wanted]):
            raise UsageError(
                f"{file}: has the column {', '.join(extra[:3])} that the original lacks; give every file the same "
                "columns, or name the ones to compare in columns=[…]"
            )
        names = wanted
    if not names:
        raise UsageError("columns: none to compare; identifiers do not count")
    if schema is not None and (undeclared := [name for name in names if name not in schema]):
        raise UsageError(f"{undeclared[0]}: not declared in the schema; declare it or leave it out with columns=[…]")
    return names


def _rows(frame: Frame) -> int:
    return int(frame.num_rows) if isinstance(frame, pa.Table) else len(frame)


def _names(frame: Frame) -> list[str]:
    return [str(name) for name in (frame.column_names if isinstance(frame, pa.Table) else frame.columns)]


def _stored(frame: Frame, name: str) -> pa.Array:
    """One column as a single Arrow array with nulls for every spelling of missing that pandas knows."""
    if isinstance(frame, pa.Table):
        column = frame.column(name).combine_chunks()
        return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    series = frame.iloc[:, _names(frame).index(name)]
    try:
        made = pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # an object column of mixed types, such as numbers and words
        made = pa.array([None if pd.isna(value) else as_text(value) for value in series], type=pa.string())
    return pa.concat_arrays(made.chunks) if isinstance(made, pa.ChunkedArray) else made


def _is_text(stored: Sequence[pa.Array]) -> bool:
    """Without a schema: a column is a number only if no file stores anything else in it."""
    types = [one.type for one in stored if not pa.types.is_null(one.type)]
    return any(not (pa.types.is_integer(one) or pa.types.is_floating(one) or pa.types.is_decimal(one)) for one in types)


def as_text(value: object) -> str | None:
    """The published spelling of a stored value; 1.0 is "1", because pandas makes floats of codes with gaps."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _encode_categorical(
    name: str, stored: Sequence[pa.Array], declared: Categorical | None
) -> tuple[Column, list[NDArray[Any]]]:
    parts = []
    for array in stored:
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        texts = [as_text(value) for value in array.dictionary.to_pylist()]
        positions = array.indices
        if positions.null_count:
            positions = positions.fill_null(len(texts))
            texts.append(None)
        if declared is not None:
            texts = [_by_rule(text, declared) for text in texts]
        parts.append((texts, positions.to_numpy(zero_copy_only=False)))
    seen = {text for texts, positions in parts for text in np.array(texts, dtype=object)[np.unique(positions)]}
    levels = list(declared.levels) if declared is not None else []
    levels += sorted(seen.difference(levels, (None, MISSING)), key=_natural)
    if None in seen or MISSING in seen:
        levels.append(MISSING)
    place: dict[str | None, int] = {level: code for code, level in enumerate(levels)}
    missing = place.get(declared.missing if declared is not None and declared.missing is not None else MISSING)
    place[None] = place.get(MISSING, 0)
    column = Column(name, "categorical", tuple(levels), missing)
    return column, [
        np.array([place.get(text, 0) for text in texts], dtype=np.int32)[positions] if texts else _none(positions)
        for texts, positions in parts
    ]


def _none(positions: NDArray[Any]) -> Codes:
    return np.zeros(len(positions), dtype=np.int32)


def _by_rule(text: str | None, declared: Categorical) -> str | None:
    """The schema's own rule; a value the schema would refuse is kept as a level of its own."""
    code = declared.code_of(text)
    return text if code is None else declared.levels[code]


def _natural(level: str) -> tuple[int, float, str]:
    """Numbers before words and in their order, so that 2 comes before 10."""
    try:
        return (0, float(level), level)
    except ValueError:
        return (1, 0.0, level)


def _encode_numeric(name: str, stored: Sequence[pa.Array], declared: Any) -> tuple[Column, list[NDArray[Any]]]:
    made: list[NDArray[Any]] = []
    for array in stored:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        try:
            if pa.types.is_null(array.type):
                values = np.full(len(array), np.nan)
            else:
                if isinstance(declared, Date) and not pa.types.is_floating(array.type):  # days already, from rows
                    array = array.cast(pa.date32(), safe=False).cast(pa.int32())
                values = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise UsageError(f"{name}: is declared a number but holds other values; correct the schema") from None
        if np.isinf(values).any():
            raise UsageError(f"{name}: holds infinite values; replace them before comparing")
        if declared is not None and declared.missing is not None:
            gone = np.isnan(values) | np.isin(values, np.array(declared.missing_codes, dtype=np.float64))
            instead = Date.day(declared.missing) if isinstance(declared, Date) else declared.missing
            values = np.where(gone, float(instead), values)
        made.append(values)
    return Column(name, "numeric"), made


def _file(encoded: Mapping[str, tuple[Column, list[NDArray[Any]]]], position: int, rows: int) -> Encoded:
    columns = tuple(column for column, _ in encoded.values())
    return Encoded(
        columns=columns,
        rows=rows,
        codes={one.name: encoded[one.name][1][position] for one in columns if one.kind == "categorical"},
        numbers={one.name: encoded[one.name][1][position] for one in columns if one.kind == "numeric"},
    )
