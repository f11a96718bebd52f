"""The record for a public registry of differential-privacy deployments: who, what, unit, parameters, how.

The groups follow what such registries ask for at their fullest tier. Written as plain YAML without a
library: quoted strings, maps and lists are all it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacita.privacy import Guarantee
from tacita.privacy.json_form import loss_to_json
from tacita.release.words import kind_of_privacy, left_open

Yaml = str | list["Yaml"] | dict[str, "Yaml"]


def registry_record(
    *,
    title: str,
    publisher: str,
    published: str,
    unit: str,
    guarantee: Guarantee,
    cap: str,
    all_hold: str | None = None,
    tables: Sequence[dict[str, Any]],
    microdata: Sequence[dict[str, Any]] = (),
    version: str,
    rehearsal: bool,
) -> bytes:
    """The record as YAML bytes; each product has a name, a title and a mechanism.

    `all_hold` is how firmly the sum of all releases under the cap holds, where the ledger knows.
    """
    products, bare = [*tables, *microdata], guarantee.holds == "never"
    kinds = [kind for kind, there in (("tables", tables), ("synthetic microdata", microdata)) if there]
    after = [
        words
        for words, there in (
            ("rounding, non-negativity, totals and ranks are made from the noisy values only", tables),
            (
                "none: synthetic files are drawn from models of the confidential rows"
                if bare
                else "synthetic files are drawn from released numbers and public columns only",
                microdata,
            ),
        )
        if there
    ]
    record: dict[str, Yaml] = {
        "name": title,
        "status": "REHEARSAL, not a deployment" if rehearsal else "published",
        "data_curator": publisher or "not stated in the specification",
        "data_product": {
            "type": " and ".join(kinds),
            "description": [f"{one['name']}: {one['title']}" for one in products],
            "publication_date": published,
        },
        "privacy_definition": {
            "name": kind_of_privacy(guarantee),
            "neighbours": "none" if bare else str(guarantee.neighbours),
            "holds": guarantee.holds,
            "not_protected": list(left_open(guarantee)),
        },
        "privacy_unit": {"unit": unit, "protected": guarantee.protects},
        "privacy_loss": {
            **({"epsilon": "not bounded"} if bare else loss_to_json(guarantee.loss)),
            "holds": guarantee.holds,
            "cap_over_all_releases": cap,
            "sum_over_all_releases_holds": all_hold or "not recorded",
        },
        "model": "central: the curator holds the confidential file and "
        + ("lets this leave without a guarantee" if bare else "protects what leaves it"),
        "accounting": {
            "composition": "losses of all products and releases add, as exact fractions, in an append-only ledger",
            "post_processing": "; ".join(after),
        },
        "implementation": {
            "software": f"tacita {version}",
            "mechanisms": [f"{one['name']}: {one['mechanism']}" for one in products],
            "randomness": "a stated seed" if rehearsal else "the operating system's entropy",
            "assumes": list(guarantee.assumes) or ["nothing beyond the definition"],
        },
    }
    return ("\n".join(_lines(record)) + "\n").encode()


def _lines(value: Yaml, indent: str = "") -> Iterator[str]:
    """YAML block style; JSON string quoting is valid YAML and needs no rules about special words.

    >>> list(_lines({"unit": "worker", "assumes": ["yes", "no"]}))
    ['unit: "worker"', 'assumes:', '  - "yes"', '  - "no"']
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str):
                yield f"{indent}{key}: {_quoted(inner)}"
            else:
                yield f"{indent}{key}:"
                yield from _lines(inner, indent + "  ")
    elif isinstance(value, list):
        for inner in value:
            if not isinstance(inner, str):
                raise TypeError("lists in a registry record hold text only")
            yield f"{indent}- {_quoted(inner)}"


def _quoted(text: str) -> str:
    """A YAML string in double quotes, with letters that YAML does not allow written as their numbers.

    >>> print(_quoted('caf\N{LATIN SMALL LETTER E WITH ACUTE} "1"'), _quoted(chr(7)))
    "caf\N{LATIN SMALL LETTER E WITH ACUTE} \\"1\\"" "\\U00000007"
    """
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one.isprintable() else f"\\U{ord(one):08X}" for one in plain) + '"'
