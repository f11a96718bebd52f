"""Specifications and schemas of tests, which would be long and alike as text."""

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
    return _lines(files) + section("cap", **cap)


def schema(identity: str, unit: str, **columns: dict[str, Any]) -> str:
    """A schema of columns.

    >>> print(schema("firms", "firm", firm=key("firm"), w=number(1, 60, role="weight")) + section("design", weight="w"))
    [dataset]
    identity = "firms"
    unit = "firm"
    [variables]
    firm = { role = "id", entity = "firm" }
    w = { type = "numeric", role = "weight", lower = 1, upper = 60 }
    [design]
    weight = "w"
    """
    return section("dataset", identity=identity, unit=unit) + section("variables", **columns)


def section(name: str, /, **keys: Any) -> str:
    return f"[{name}]\n{_lines(keys)}"


def key(entity: str) -> dict[str, Any]:
    return {"role": "id", "entity": entity}


def levels(*codes: str, role: str = "confidential", **more: Any) -> dict[str, Any]:
    return {"type": "categorical", "role": role, "levels": list(codes), **more}


def number(lower: int, upper: int, *, role: str = "confidential", kind: str = "numeric", **more: Any) -> dict[str, Any]:
    return {"type": kind, "role": role, "lower": lower, "upper": upper, **more}


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
    return section("[table]", name=name, **settings)


def microdata(name: str, **settings: Any) -> str:
    return section("[microdata]", name=name, **settings)


def _lines(keys: dict[str, Any]) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in keys.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
