"""What a bundle says about corrections: whether its release was superseded, and what it supersedes itself.

Both follow from the ledger's sealed lines in the bundle's own extract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PARTS = ("superseded", "supersedes")


def corrections(extract: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The corrections that concern this release, by what they say of it; a part without any is left out.

    >>> cited = {"number": 3, "label": "Jobs: places", "time": "2026-03-01"}
    >>> line = {"kind": "supersede", "time": "2026-04-01", "entries": [cited], "by": [], "reason": "A wrong code list."}
    >>> corrections({"entries": [{"entry": {"kind": "commit", "reserve": 3}}, {"entry": line}]})["superseded"]
    [{'date': '2026-04-01', 'releases': [{'number': 3, ...}], 'by': [], 'reason': 'A wrong code list.'}]
    """
    lines = [line["entry"] for line in extract.get("entries", [])]
    own = {line["reserve"] for line in lines if line["kind"] == "commit"}
    told: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if line["kind"] == "supersede":
            said = {"date": line["time"], "releases": line["entries"], "by": line["by"], "reason": line["reason"]}
            for part, cited in zip(PARTS, (line["entries"], line["by"]), strict=True):
                if any(one["number"] in own for one in cited):
                    told.setdefault(part, []).append(said)
    return told
