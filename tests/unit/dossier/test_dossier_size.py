"""The dossier of a real file, within the time and memory that an office has."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

DATA = Path(os.environ.get("TACITA_DATA", Path(__file__).parents[4] / "shared" / "data"))
CODES = ("fips", "MARS", "XTOT", "nu18", "elderly_dependents")


@pytest.mark.realdata
@pytest.mark.slow
def test_a_dossier_of_280_000_records_in_five_minutes_and_four_gigabytes(tmp_path: Path) -> None:
    source = DATA / "taxcalc_cps" / "cps_core.csv.gz"
    if not source.exists():
        pytest.skip(f"the file taxcalc_cps is not at {DATA.name}; set TACITA_DATA")
    frame = pd.read_csv(source).drop(columns="RECID")
    random = np.random.default_rng(1)
    swapped = frame.copy()
    for name in frame.columns:  # three cells in ten change places within their column
        taken = random.random(len(frame)) < 0.3
        swapped.loc[taken, name] = random.permutation(frame[name].to_numpy())[taken]
    frame.to_parquet(tmp_path / "original.parquet", index=False)
    swapped.to_parquet(tmp_path / "synthetic.parquet", index=False)
    call = ["evaluate", "--original", "original.parquet", "--synthetic", "synthetic.parquet", "--out", "dossier"]
    call += [word for name in CODES for word in ("--categorical", name)]
    watch = (
        "import resource, sys; from tacita.cli import app; app(sys.argv[1:], standalone_mode=False); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", watch, *call], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=1200
    )
    assert time.monotonic() - start < 300
    assert int(done.stdout.split()[-1]) < 4 * 2**20  # kilobytes
    record = json.loads((tmp_path / "dossier" / "dossier.json").read_text(encoding="utf-8"))
    assert len(record["variables"]) == 28
    assert len(record["pairs"]) == 28 * 27 / 2
    assert all(np.isfinite(one["value"]) for one in record["scores"])
