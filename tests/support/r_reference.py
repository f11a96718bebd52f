"""Values that R computed: from R itself where it is installed, from the stored file everywhere."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

STORED = Path(__file__).parents[1] / "data" / "survey_reference.json"
SCRIPT = STORED.with_suffix(".R")


@dataclass(frozen=True, eq=False)
class Reference:
    """Estimates, standard errors (or a covariance matrix as a vector) and degrees of freedom of one case."""

    estimate: NDArray[np.float64]
    error: NDArray[np.float64]
    df: float


def data_folder() -> Path:
    root = Path(__file__).parents[2]
    folder = Path(os.environ.get("TACITA_DATA", root.parent / "shared" / "data"))
    if not (folder / "survey_r_package").is_dir():
        pytest.skip("the public survey files are not at ../shared/data or $TACITA_DATA")
    return folder


def rscript() -> str:
    """The R command, where R and its survey package are installed."""
    found = shutil.which("Rscript")
    if found is None:
        pytest.skip("R is not installed (Debian: r-base-core, r-cran-survey)")
    probe = subprocess.run(
        [found, "-e", 'quit(status = !requireNamespace("survey"))'], capture_output=True, check=False
    )
    if probe.returncode:
        pytest.skip("the R package survey is not installed (Debian: r-cran-survey)")
    return found


def stored() -> dict[str, Reference]:
    content = json.loads(STORED.read_text(encoding="utf-8"))
    return {
        case: Reference(np.array(one["estimate"]), np.array(one["error"]), one["df"])
        for case, one in content["cases"].items()
    }


def from_r(folder: Path) -> dict[str, Reference]:
    run = subprocess.run([rscript(), str(SCRIPT), str(folder)], capture_output=True, text=True, check=True)
    found = {}
    for line in run.stdout.splitlines():
        case, estimate, error, df = line.split("\t")
        found[case] = Reference(np.array(estimate.split(","), float), np.array(error.split(","), float), float(df))
    return found
