"""How to analyse synthetic files: the combining rule of this release, with code to copy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tacita.inference import snippets
from tacita.release.page_usage import code_blocks

_RULES = {
    "partial": (
        "These are partially synthetic files: the original units, with some columns replaced by draws from a model. "
        "The variance of an average over m files is the mean of the files’ own variances plus the variance between "
        "files divided by m (Reiter 2003)."
    ),
    "full": (
        "These are fully synthetic files: samples from a population drawn from a model. The variance of an average "
        "over m files is (1 + 1/m) times the variance between files, minus the mean of the files’ own variances "
        "(Raghunathan, Reiter and Rubin 2003)."
    ),
    "one-measurement": (
        "All files are drawn from one noisy measurement of the confidential file. The variance of an average over m "
        "files is the mean of the files’ own variances plus (1 + 1/m) times the variance between files."
    ),
}


def microdata_code(files: Sequence[Path], plan: dict[str, Any]) -> str:
    """The rule for this release's files in words, and in Python, R and Stata."""
    note = (pq.read_schema(files[0]).metadata or {}).get(b"tacita-implicate", b"{}")
    kind = str(json.loads(note).get("kind", "partial"))
    unit = escape(plan["schema"]["dataset"]["unit"])
    blocks = code_blocks(
        ("Python", snippets.PYTHON.strip()),
        ("R", f"{snippets.R}\n{snippets.R_EXAMPLE}".strip()),
        ("Stata", f"{snippets.STATA}\n{snippets.STATA_EXAMPLE}".strip()),
    )
    count = f"{len(files)} synthetic files" if len(files) > 1 else "one synthetic file"
    return (
        f"<h2>How to analyse the synthetic files</h2><p>This bundle holds {count}. No row in them is a real {unit}. "
        "Run your analysis on each file by itself, then combine: the answer is the average, and the spread between the "
        "files is part of its error. Stacking the files, or using one alone, gives intervals that are too narrow.</p>"
        f"<p>{escape(_RULES.get(kind, _RULES['partial']))} In the code below the rule is called "
        f"<code>{escape(kind)}</code>; <code>pay</code> and <code>age</code> stand for your columns. For "
        "Stata, write the Parquet files out as CSV first, with Python or R.</p>"
        f"{blocks}"
    )
