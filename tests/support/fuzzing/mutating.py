"""Changes that a tired or a hostile person could make to a specification or a schema: seeded, so that each repeats."""

import copy
import datetime
import json
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

NASTY_TEXTS = (
    "", " ", "nan", "inf", "-inf", "1e400", "1e-400", "1e5000", "1e-3000", "1e999999999", "1e-99999", "1/0", "1/3",
    "-1", "0", "0x10", "１", "٣", "½", "1_000", "1e", "1" * 5000, "../../x", "../x", "/etc/passwd", "/dev/null", ".",
    "..", "~", "*", "x[1].parquet", "duckdb:x.db?table=a", "http://127.0.0.1:9/x.csv", "s3://b/x.parquet", "a\nb",
    "a\x00b", "\x7f", "\x1b[31m", "\x08", "\u2028", "\u202e", "\ufeff", "<script>alert(1)</script>", "]]>",
    "=cmd|' /C calc'!A0", "+1", "@x", "a" * 300, "a" * 5000, "🎉", "e\u0301", "TODO", "error", "Total", "total", "[/]",
    "[bold red]x[/bold", "{x}", "{0.__class__}", "{year}", "%s%n", "${HOME}", "'; DROP TABLE x;--", 'a"b', "a'b",
    "a.b", "a b", "a-b", "__class__", "self", "run", "neighbours", "mechanism", "epsilon", "place", "sex", "F",
    "north", "value", "margin_of_error", "con", "nul", "SmoothStaircase", "QuantileSynthesis", "Plan", "log",
    "pareto", "id", "size", "workplace", "establishment", "worker", "person", "firm", "strong", "replace",
    "add-remove", "numbers-within", "spark",
)  # fmt: skip
NASTY: tuple[Any, ...] = (
    *NASTY_TEXTS, 0, -1, 1, 2, 3, 2**31, 2**53 + 1, 2**63 - 1, 2**64, 10**30, 10**400, -(10**18), 0.1, -0.0, 5e-324,
    1e308, float("nan"), float("inf"), -float("inf"), True, False, datetime.datetime(1979, 5, 27, 7, 32),
    datetime.date(1, 1, 1), datetime.time(0, 0), [], [[]], [[], []], ["a", "a"], ["place", "place"], ["place", "sex"],
    ["sex"], [""], [0], [1.5, "a"], [True], [float("nan")], [1, 2, 3], [3, 2, 1], ["north", "south"], ["x"] * 300, {},
    {"a": 1}, {"": ""}, {"place": ["north"]}, {"place": "north"}, {"sex": ["F", "F"]}, {"sex": []}, {"jobs": []},
    {"size": [float("nan")]}, {"size": "none"}, {"age": [-1e308, 1e308]}, [{}], [{"name": "x"}], [["place"]],
    [[["place"]]],
)  # fmt: skip
# Values of the right kind at the edges of what is allowed: these get past the reading and into plans and rows.
PLAUSIBLE: dict[str, list[Any]] = {
    "epsilon": ["0.001", "0.1", "0.3", "3", "20", "100", "150", "5000", "1/3", "0.0000001", "1e-40"],
    "alpha": ["0.001", "0.01", "0.5", "1", "2", "10", "1/3"],
    "delta": ["0", "1e-12", "0.01", "0.5", "1", "1e-30", "1e-400"],
    "sets": [0, 1, 2, 3],
    "confidence": ["0.5", "0.999999", "0.01", "0.9999999999999999"],
    "theta": [0, 1, 10**6],
    "margin_share": ["0", "1", "0.999", "1/2"],
    "rows": [0, 1, 5, 300, 301, 10**12],
    "draws": [0, 1, 7, 10**12],
    "layers": [0, 1, 3, 9],
    "lower": [0, -5, 1, 999, -(2**53)],
    "upper": [0, 1, 5, 10**6, 2**53, 2**62],
    "scale": [0, 1, 9, 30],
    "levels": [["north"], ["x"], ["F", "M", "north", "south", "a"], ["no", "yes"], ["z" * 300], ["Total", "north"]],
    "missing": [0, 1, "F", "no"],
    "missing_codes": [[0], [5], ["F"], ["no"], [1.5]],
    "outside": ["error", "clamp", "F", "north", 0],
    "by": [[], ["place"], ["sex"], ["field"], ["gender", "field"], ["n"], ["age"], ["region"]],
    "worker": [[], ["sex"], ["place"], ["age"]],
    "groups": [[], ["sector"], ["legal"]],
    "columns": [
        *(["hours"], ["pay", "hours"], ["w"], ["job"]),
        *(["size"], ["pay"], ["jobs"], ["size", "legal"], ["sector"]),
        *(["sex"], ["sex", "region"], ["age"], ["pay", "sex"], ["registered", "voted", "sex", "region"]),
    ],
    "cuts": [{}, {"age": [50]}, {"age": [-1]}, {"age": [0, 99]}, {"age": [50, 40]}, {"pay": [0]}],
    "spikes": [{}, {"size": [0]}, {"jobs": [0, 1, 2, 3]}, {"jobs": [10**6]}],
    "scales": [{"size": "linear"}, {"pay": "log"}, {"pay": "arcsinh"}, {"jobs": "log"}],
    "shares": [{"size": "0"}, {"size": "1"}, {"size": "1000"}],
    "weight": ["w", "pay", "fpc"],
    "neighbours": ["strong", "weak", "add-remove", "replace", "numbers-within", "per-record"],
    "unit": ["worker", "person", "firm", "establishment", "workplace"],
    "totals": [["place"], ["sex"], ["place", "sex"]],
    "where": [{"sex": ["F"]}, {"place": ["north"]}, {"sex": []}, {"sex": ["F", "M"]}],
    "calibration": ["proved", "paper"],
    "years": [[2000, 2000], [2006, 2000], [1999, 2010]],
    "keep": [[], ["county"], ["sector"]],
    "role": ["public", "confidential", "worker", "workplace", "design", "weight", "id", "size"],
    "type": ["categorical", "integer", "numeric"],
    "name": ["x" * 200, "x" * 300, "con", "files", "-"],
    "title": ["[/]", "", "\x08", "a" * 5000],
    "at_most": [0, 1, 5, 10**12],
    "holds": ["always", "asymptotically", "never"],
}  # fmt: skip


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value, at any depth."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def _nested(depth: int, as_list: bool) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value] if as_list else {"a": value}
    return value


def _near(random: Random, value: Any) -> Any:
    """Something close to what stood there."""
    if isinstance(value, str):
        return random.choice([value + " ", value.upper(), value * 3, value + "\n", value[:1], value + "\x00"])
    if isinstance(value, int | float) and not isinstance(value, bool):
        return random.choice([-value, value * 10**9, value + 0.5, str(value)])
    return str(value)


def mutate(random: Random, content: dict[str, Any]) -> None:
    """One change at a random place."""
    known = list(places(content))
    if not known:
        return
    path = random.choice(known)
    parent, key = at(content, path[:-1]), path[-1]
    value, kind = parent[key], random.random()
    if kind < 0.5:
        parent[key] = copy.deepcopy(random.choice(NASTY))
    elif kind < 0.6:
        parent.pop(key)
    elif kind < 0.7:
        new = copy.deepcopy(random.choice(NASTY))
        if isinstance(parent, dict):
            parent[random.choice(NASTY_TEXTS)] = new
        else:
            parent.append(new)
    elif kind < 0.77 and isinstance(parent, dict):
        parent[random.choice(NASTY_TEXTS)] = parent.pop(key)
    elif kind < 0.8:
        parent[key] = _nested(random.choice([2, 5, 50, 300]), random.random() < 0.5)
    elif kind < 0.85:
        parent[key] = [copy.deepcopy(value) for _ in range(random.choice([1, 2, 50]))]
    elif kind < 0.9:
        parent[key] = {"x": value}
    elif kind < 0.95:
        parent[key] = copy.deepcopy(at(content, random.choice(known)))
    else:
        parent[key] = _near(random, value)


def adjust(random: Random, content: dict[str, Any]) -> None:
    """Another plausible value for a key that has some; or such a key where it was not."""
    known = [path for path in places(content) if path[-1] in PLAUSIBLE]
    product = next((content[key][0] for key in ("table", "microdata") if content.get(key)), None)
    if known and (product is None or random.random() < 0.75):
        path = random.choice(known)
        at(content, path[:-1])[path[-1]] = copy.deepcopy(random.choice(PLAUSIBLE[path[-1]]))
    elif isinstance(product, dict):
        key = random.choice(list(PLAUSIBLE))
        product[key] = copy.deepcopy(random.choice(PLAUSIBLE[key]))


def spoil(random: Random, text: str) -> bytes:
    """A file that is hardly TOML any more."""
    raw = bytearray(text.encode())
    for _ in range(random.choice([1, 1, 5, 50])):
        place = random.randrange(len(raw))
        match random.randrange(5):
            case 0:
                raw[place] = random.randrange(256)
            case 1:
                del raw[place : place + random.randrange(1, 30)]
            case 2:
                raw[place:place] = random.choice([b"\xff", b"\x00", b"[[", b"]", b'"""', b"=", b"\r", b"\xef\xbb\xbf"])
            case 3:
                raw[place:place] = b"9" * random.choice([5, 400, 5000])
            case _:
                raw[place:place] = b"\nx = " + b"[" * random.choice([2, 200, 20_000])
        raw = raw or bytearray(b"x")
    return bytes(raw)


def to_toml(content: dict[str, Any]) -> str:
    """TOML with inline tables below the first level: plain to write, and any reader understands it."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * usual)  # a nest within a nest is deeper than what is tested may go
    try:
        return "".join(f"{_quoted(key)} = {_inline(value)}\n" for key, value in content.items())
    finally:
        sys.setrecursionlimit(usual)


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _inline(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _quoted(value)
        case float():
            return "nan" if value != value else repr(value)
        case int():
            return str(value)
        case dict():
            return "{" + ", ".join(f"{_quoted(key)} = {_inline(one)}" for key, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case _:
            return str(value.isoformat())
