"""Odd data files: what exports, mail programs and old tools make of a good file. Seeded, so that each repeats."""

import datetime
import decimal
import gzip
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from support.fuzzing.starting_points import MARK, MARKED_NUMBER, Start

Write = Callable[[Path], Any]
_NUMBERS: tuple[str, ...] = (
    "nan", "inf", "-inf", "1e400", "-0", "9223372036854775808", "0x10", "1_000", "１", "1e-400", "5e-324", " 7 ", "+5",
    "1,5", "1.234,5", "", "NA", ".", "2020-01-01", MARK, str(MARKED_NUMBER),
)  # fmt: skip


def odd_file(random: Random, start: Start) -> tuple[str, Write]:
    """A file name and how to write it, from the rows of a starting point."""
    frame = start.rows()
    kind = random.choice([_csv, _csv, _parquet, _parquet, _statistical, _renamed])
    return kind(random, frame)


# ---------------------------------------------------------------- text


def _csv(random: Random, frame: pd.DataFrame) -> tuple[str, Write]:
    text = frame.to_csv(index=False)
    for change in random.sample(_TEXT_CHANGES, random.choice([1, 1, 2])):
        text = change(random, text)
    raw = random.choice(_ENCODINGS)(text) if random.random() < 0.4 else text.encode(errors="replace")
    name = random.choice(["x.csv", "x.csv", "x.tsv", "x.txt"])
    if random.random() < 0.15:
        raw, name = gzip.compress(raw), "x.csv.gz"
        raw = raw[: random.randrange(len(raw))] if random.random() < 0.3 else raw
    return name, lambda path: path.write_bytes(raw)


_ENCODINGS: list[Callable[[str], bytes]] = [
    lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.encode("utf-16"),
    lambda text: text.encode("utf-16-le"),
    lambda text: text.replace("a", "é", 3).encode("latin-1", errors="replace"),
    lambda text: text.encode().replace(b"\n", b"\r\n"),
    lambda text: text.encode().replace(b"\n", b"\r"),
    lambda text: b"",
    lambda text: b"\n",
    lambda text: text.encode()[: len(text) // 3],
    lambda text: Random(len(text)).randbytes(5000),
]


def _at_lines(change: Callable[[Random, str], str]) -> Callable[[Random, str], str]:
    def changed(random: Random, text: str) -> str:
        lines = text.split("\n")
        place = random.randrange(len(lines))
        lines[place] = change(random, lines[place])
        return "\n".join(lines)

    return changed


def _other_cell(random: Random, line: str) -> str:
    cells = line.split(",")
    cells[random.randrange(len(cells))] = random.choice(_NUMBERS)
    return ",".join(cells)


def _every_cell_of_a_column(random: Random, text: str) -> str:
    lines = [line.split(",") for line in text.split("\n")]
    place = random.randrange(len(lines[0]))
    for cells in lines[1:]:
        if place < len(cells):
            cells[place] = random.choice(_NUMBERS)
    return "\n".join(",".join(cells) for cells in lines)


_TEXT_CHANGES: list[Callable[[Random, str], str]] = [
    lambda random, text: text,
    _every_cell_of_a_column,
    _at_lines(_other_cell),
    _at_lines(lambda random, line: line + f",{MARK},{MARKED_NUMBER}"),
    _at_lines(lambda random, line: line.split(",")[0]),
    _at_lines(lambda random, line: f'"{MARK}{line}'),
    _at_lines(lambda random, line: line.replace(",", ',"', 1)),
    _at_lines(lambda random, line: line + "\n" + line),
    _at_lines(lambda random, line: line.replace(",", f"\x00{MARK},", 1)),
    _at_lines(lambda random, line: "" if random.random() < 0.5 else "\n\n\n"),
    lambda random, text: f"# made by {MARK}\n\n" + text,
    lambda random, text: text.split("\n", 1)[1],
    lambda random, text: text.split("\n", 1)[0],
    lambda random, text: text + text,
    lambda random, text: text.replace(",", ";").replace(".", ","),
    lambda random, text: text.replace(",", "\t"),
    lambda random, text: text.replace(",", ", "),
    lambda random, text: text.replace("\n", ",\n"),
    lambda random, text: text.replace(",", ",PLACE,", 1),
    lambda random, text: text.replace(text.split(",")[1], text.split(",")[0], 1),
    lambda random, text: text.replace("_", " ", 4),
    lambda random, text: text.replace(",", f",{'n' * 200_000}", 12),
]


# ---------------------------------------------------------------- Arrow's types

_TYPED: list[tuple[list[Any], pa.DataType]] = [
    ([float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1.7e308, MARKED_NUMBER], pa.float64()),
    ([float("nan"), 1.5, 3e38], pa.float32()),
    ([2**63 - 1, -(2**63), 5], pa.int64()),
    ([2**64 - 1, 2**63, 5], pa.uint64()),
    ([5, -3], pa.int8()),
    ([decimal.Decimal(10) ** 37, decimal.Decimal(5)], pa.decimal128(38, 0)),
    ([decimal.Decimal("1.5"), decimal.Decimal("417.25")], pa.decimal128(38, 10)),
    ([decimal.Decimal(10) ** 70], pa.decimal256(76, 0)),
    ([datetime.datetime(2020, 1, 1), datetime.datetime(1, 1, 1)], pa.timestamp("us")),
    ([datetime.datetime(2020, 1, 1)], pa.timestamp("ns", tz="Europe/Paris")),
    ([datetime.date(2020, 1, 1)], pa.date32()),
    ([datetime.time(1, 2, 3)], pa.time64("us")),
    ([datetime.timedelta(1)], pa.duration("us")),
    ([True, False], pa.bool_()),
    (list(_NUMBERS), pa.string()),
    ([MARK, "1"], pa.large_string()),
    ([b"\xff\xfe", MARK.encode()], pa.binary()),
    ([b"abcd"], pa.binary(4)),
    ([None], pa.null()),
    ([None], pa.int64()),
    ([None, "north", "F"], pa.string()),
    ([[1, 2], [5]], pa.list_(pa.int64())),
    ([{"a": 5}], pa.struct([("a", pa.int64())])),
    ([[("a", 5)]], pa.map_(pa.string(), pa.int64())),
]


def _arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def _retyped(random: Random, table: pa.Table) -> pa.Table:
    column = random.randrange(table.num_columns)
    values, kind = random.choice(_TYPED)
    if random.random() < 0.5:  # one odd value only: the rest as they are, where the type can hold them
        values = [*values, *([None] if random.random() < 0.5 else [])]
    array = pa.array([values[row % len(values)] for row in range(table.num_rows)], type=kind)
    if random.random() < 0.2 and pa.types.is_string(kind):
        array = array.dictionary_encode()
    return table.set_column(column, table.column_names[column], array)


def _parquet(random: Random, frame: pd.DataFrame) -> tuple[str, Write]:
    table, kind = _arrow(frame), random.random()
    name = "x.parquet"
    if kind < 0.5:
        for _ in range(random.choice([1, 1, 2])):
            table = _retyped(random, table)
    elif kind < 0.58:
        names = list(table.column_names)
        names[random.randrange(len(names))] = random.choice(
            ["PLACE", "a b", "", "x\x00", "é" * 200, names[0], names[-1]]
        )
        table = pa.table(table.columns, names=names)
    elif kind < 0.64:
        table = random.choice([table.slice(0, 0), table.slice(0, 1), table.drop_columns(table.column_names[:1])])
    elif kind < 0.7:
        table = pa.concat_tables([table] * random.choice([2, 5]))
    elif kind < 0.8:
        return random.choice(["x", "x.parquet"]), _folder(random, table)
    stored = io.BytesIO()
    pq.write_table(table, stored, compression=random.choice(["snappy", "zstd", "none"]))
    raw = bytearray(stored.getvalue())
    if kind >= 0.9:
        raw = raw[: random.randrange(len(raw))]
    elif kind >= 0.8:
        for _ in range(random.choice([1, 3, 20])):
            raw[random.randrange(len(raw))] = random.randrange(256)
    return name, lambda path: path.write_bytes(bytes(raw))


def _folder(random: Random, table: pa.Table) -> Write:
    def write(path: Path) -> None:
        path.mkdir()
        match random.randrange(5):
            case 0:
                pass
            case 1:
                pq.write_table(table, path / "a.parquet")
                (path / "junk.parquet").write_bytes(MARK.encode())
            case 2:
                pq.write_table(table, path / "a.parquet")
                pq.write_table(table.drop_columns(table.column_names[-1:]), path / "b.parquet")
            case 3:
                pq.write_table(table.slice(0, 20), path / "a.parquet")
                pq.write_table(table.slice(20), path / "b.parquet")
            case _:
                pq.write_table(table, path / "a.parquet")
                (path / "inner").mkdir()
                pq.write_table(table, path / "inner" / "c.parquet")

    return write


# ---------------------------------------------------------------- statistical packages, and files under a wrong name


def _statistical(random: Random, frame: pd.DataFrame) -> tuple[str, Write]:
    suffix, write = random.choice(
        [
            ("dta", pyreadstat.write_dta),
            ("sav", pyreadstat.write_sav),
            ("zsav", lambda rows, path: pyreadstat.write_sav(rows, path, compress=True)),
            ("xpt", lambda rows, path: pyreadstat.write_xport(rows, path, file_format_version=8)),
        ]
    )
    choice, place, flips, seed = random.random(), random.random(), random.choice([1, 2, 10, 60]), random.random()

    def written(path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write(frame, str(path))
        raw, inner = bytearray(path.read_bytes()), Random(seed)
        if 0.3 < choice <= 0.6:
            raw = raw[: int(place * len(raw))]
        elif choice > 0.6:
            for _ in range(flips):
                raw[inner.randrange(min(len(raw), inner.choice([200, 2000, 10**6])))] = inner.choice([0, 255, 65])
        path.write_bytes(bytes(raw))

    return f"x.{suffix}", written


def _renamed(random: Random, frame: pd.DataFrame) -> tuple[str, Write]:
    name = random.choice(
        [
            "x.csv",
            "x.parquet",
            "x.dta",
            "x.sav",
            "x.xpt",
            "x.sas7bdat",
            "x.json",
            "x.db",
            "x",
            "x[1].csv",
            "x 'y.parquet",
        ]
    )
    stored = io.BytesIO()
    pq.write_table(_arrow(frame), stored)
    raw = random.choice(
        [
            frame.to_csv(index=False).encode(),
            stored.getvalue(),
            b"",
            np.random.default_rng(7).bytes(20_000),
            b"PAR1",
            b"PK\x03\x04",
        ]
    )
    if random.random() < 0.1:
        return name, lambda path: path.mkdir()
    return name, lambda path: path.write_bytes(raw)
