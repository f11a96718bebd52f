"""Specifications of tests, which would be long and alike as text."""

from typing import Any


def head(name: str, *, title: str, data: str = "parquet", **cap: str) -> str:
    """How one begins that is about NAME.parquet, with its schema and ledger: up to the products.

    >>> print(head("jobs", title="Jobs", data="csv", neighbours="strong", alpha="0.1", epsilon="2"))
    title = "Jobs"
    schema = "jobs.schema.toml"
    data = "jobs.csv"
    ledger = "jobs.ledger"
    [cap]
    neighbours = "strong"
    alpha = "0.1"
    epsilon = "2"
    """
    files = {"title": title, "schema": f"{name}.schema.toml", "data": f"{name}.{data}", "ledger": f"{name}.ledger"}
    return f"{_lines(files)}[cap]\n{_lines(cap)}"


def table(name: str, **settings: Any) -> str:
    """One product.

    >>> print(table("jobs", by=["place"], where={"sex": ["F"]}, epsilon="1", integers=False))
    [[table]]
    name = "jobs"
    by = ["place"]
    where = { sex = ["F"] }
    epsilon = "1"
    integers = false
    """
    return f"[[table]]\n{_lines({'name': name, **settings})}"


def microdata(name: str, **settings: Any) -> str:
    return f"[[microdata]]\n{_lines({'name': name, **settings})}"


def _lines(keys: dict[str, Any]) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in keys.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
