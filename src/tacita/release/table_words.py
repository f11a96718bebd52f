"""What each published table shows, in words: the statistic, of which column, of which records, and what it may be used
for. From plan.json alone, so that page, codebook and workbook say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacita.data.schema import Integer, Numeric, Schema
from tacita.release.mechanisms import JOB_MECHANISMS

_STATISTICS = {
    "sum": "Sum of {of}",
    "mean": "Mean of {of}",
    "variance": "Variance of {of}",
    "share": "Share of the records of a cell at each level of {of}",
    "median": "Median of {of}",
    "quantiles": "Quantiles of {of}",
}
_ADD_UP = ("count", "sum")


def statistic_of(record: Mapping[str, Any]) -> str:
    """A count where a plan does not name it; plans of sums alone say of what."""
    mechanism = record["mechanism"]
    return str(mechanism.get("statistic") or ("sum" if mechanism.get("of") else "count"))


def table_in_words(record: Mapping[str, Any], schema: Schema) -> str:
    """What a table shows: the statistic with the schema's labels, the cells, and which records count how much."""
    mechanism, settings = record["mechanism"], record["settings"]
    of, weights = _listed(mechanism.get("of")), mechanism.get("weights")
    by = [*_listed(settings.get("by")), *_listed(settings.get("worker"))]
    statistic = statistic_of(record)
    said = [f"{_of(statistic, of, mechanism, schema)}, {_by(by, schema)}."]
    if levels := _listed(settings.get("levels")):
        said.append(f"The same at coarser levels: {', '.join(levels)}.")
    if weights:
        said.append(f"Every record counts by its weight, {named(schema, weights)}.")
    if where := mechanism.get("where") or settings.get("where"):
        limits = "; ".join(f"{named(schema, name)} is {' or '.join(levels)}" for name, levels in where.items())
        said.append(f"Only records whose {limits}.")
    if mechanism.get("mechanism") == "Table":
        said += _missing((*of, *([weights] if weights else [])) if statistic != "share" else (), schema)
    return " ".join(said)


def named(schema: Schema, name: str) -> str:
    """A column by its label and its name in the files; by its name alone where it has no label."""
    label = schema[name].label if name in schema else ""
    return f"{label} ({name})" if label and label.casefold() != name.casefold() else name


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _of(statistic: str, of: Sequence[str], mechanism: Mapping[str, Any], schema: Schema) -> str:
    words = [named(schema, name) for name in of]
    between = mechanism.get("between") or {}
    years = next((f" between {first} and {last}" for first, last in between.values()), "")
    if statistic == "ratio":
        return f"Sum of {words[0]} over the sum of {words[-1]}"
    if statistic == "growth":
        return f"Growth of {' to '.join(words) or 'the number of units'}{years}"
    if statistic == "flows":
        return f"Gains and losses of {' to '.join(words) or 'units, as they come and go'}{years}"
    if statistic == "count":
        return f"Number of {'jobs' if mechanism.get('mechanism') in JOB_MECHANISMS else 'records'}"
    return _STATISTICS.get(statistic, "{of}").format(of=" and ".join(words))


def _by(by: Sequence[str], schema: Schema) -> str:
    return f"by {', '.join(named(schema, name) for name in by)}" if by else "of the whole file"


def _missing(numbers: Sequence[str], schema: Schema) -> list[str]:
    """What became of records without a number: a mean of those who answered is not one of all."""
    kinds = {name: schema[name].kind for name in numbers if name in schema}
    found = {name: kind for name, kind in kinds.items() if isinstance(kind, Integer | Numeric)}
    own = [name for name, kind in found.items() if kind.own_missing]
    said = [f"Records without a value of {' or '.join(own)} are left out."] if own else []
    counted = {name: kind.missing for name, kind in found.items() if kind.missing is not None}
    return said + [f"Where {name} is missing it counts as {value:,.10g}." for name, value in counted.items()]


# ---------------------------------------------------------------- what not to use a release for


def unfit_uses(tables: Sequence[Mapping[str, Any]], files: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a release must not be used for, as its own figures say; `tables` and `files` are views of the page."""
    vague = [one["record"]["title"] for one in tables if one["vague"]]
    said = [f"figures from {_joined(vague)}, hardly any of which has a margin below half its value"] if vague else []
    for one in (one for one in files if one["m"]):
        if (one["check"] or {}).get("unfit"):
            said.append("results from the synthetic files, which failed their own check")
        elif one["worth"] is not None and not one["worth"].enough:
            said.append("results from the synthetic files: by the method’s own forecast they are for trying out code")
    return said


def _joined(titles: Sequence[str]) -> str:
    quoted = [f"“{one}”" for one in titles]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def usage(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Which rules of use are true of these tables."""
    statistics = [statistic_of(one) for one in records]
    sampled = [one["title"] for one in records if one["mechanism"].get("sampling")]
    consistent = ("totals", "levels", "public_totals", "agree")
    return {
        "adds_up": any(one in _ADD_UP for one in statistics),
        "does_not": any(one not in _ADD_UP for one in statistics),
        "counts": "count" in statistics,
        "sampled": _joined(sampled) if sampled else "",
        "all_sampled": len(sampled) == len(records),
        "weighted": any(one["mechanism"].get("weights") for one in records),
        "worker": any(one["settings"].get("worker") for one in records),
        "consistent": any(one["settings"].get(key) for one in records for key in consistent),
    }
