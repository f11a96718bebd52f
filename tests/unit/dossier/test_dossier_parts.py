"""Parts of a dossier: attacks, files, how it looks, and how much a real file takes."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.attacked_plans import Files, Histogram
from support.browser_page import look, print_to_pdf
from support.dossier import request, schema
from tacita.data.schema import Schema
from tacita.dossier.files import common_columns, original_file, plain_file, synthetic_paths
from tacita.dossier.findings import Findings
from tacita.dossier.run import evaluate
from tacita.errors import UsageError


@dataclass(frozen=True)
class Bootstrap(Histogram):
    """Two files of rows drawn from the file itself, which no promise can hold for."""

    def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Files:
        rng = np.random.default_rng(seed)
        return Files(tuple(frame.iloc[rng.integers(0, len(frame), len(frame))] for _ in range(2)))


def _evaluated(paths: dict[str, Path], out: Path, **changes: Any) -> tuple[str, dict[str, Any]]:
    evaluate(request(paths, **changes), out)
    return (out / "dossier.html").read_text().replace("\u00a0", " "), json.loads((out / "dossier.json").read_text())


def test_a_broken_promise_is_on_the_first_page_and_in_the_record(paths: dict[str, Path], tmp_path: Path) -> None:
    plans = (("copies", Bootstrap("0.1")), ("careful words", Bootstrap("8")))
    changes: dict[str, Any] = {"synthetic": (), "attacks": 60, "plans": plans}
    page, record = _evaluated(paths, tmp_path / "d", **changes)
    assert page.index("A promise is broken") < page.index("Attacks that run the method itself")
    assert "The promise of ε = 0.1 is refuted" in page
    # 60 runs can never show ε = 8, and the page says that rather than that the promise stood a test.
    assert "could not have been" in page
    scores = {one["name"]: one for one in record["scores"]}
    assert scores["lower bound on ε: copies"]["value"] > 0.1
    assert scores["membership-inference advantage: copies"]["value"] > 0.2
    assert any("rehearsals of copies, careful words" in one["what"] for one in record["touches"])
    assert "nan" not in page.lower().split()


def test_they_are_off_unless_asked_for(paths: dict[str, Path], tmp_path: Path) -> None:
    page, record = _evaluated(paths, tmp_path / "d", synthetic=(paths["good-1"],), plans=(("copies", Bootstrap("1")),))
    assert "Attacks that run the method itself" not in page
    (said,) = [one["why"] for one in record["skipped"] if one["name"].startswith("Membership")]
    assert "--attacks N" in said


def test_what_cannot_be_attacked_is_listed_with_the_reason(paths: dict[str, Path], tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Mute(Bootstrap):
        def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Any:
            return None

    _, record = _evaluated(paths, tmp_path / "d", synthetic=(), attacks=20, plans=(("mute", Mute("1")),))
    (said,) = [one["why"] for one in record["skipped"] if one["name"] == "Attacks on mute"]
    assert "neither" in said


def test_too_few_runs_and_linked_tables(paths: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--attacks"):
        evaluate(request(paths, attacks=3), tmp_path / "d")
    linked = {"job": str(paths["original"])}
    _, record = _evaluated(paths, tmp_path / "e", synthetic=(), attacks=20, original=linked, plans=())
    assert any("linked tables" in one["why"] for one in record["skipped"])


def test_a_large_file_is_sampled_in_the_engine_and_the_same_way_each_time(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    pd.DataFrame({"x": np.arange(50_000)}).to_parquet(path, index=False)
    file, table = plain_file(path, "synthetic 1", None, 1000)
    assert (file.rows, file.looked_at, table.num_rows) == (50_000, 1000, 1000)
    chosen = table["x"].to_numpy()
    assert len(np.unique(chosen)) == 1000
    assert chosen.mean() == pytest.approx(25_000, abs=2_500)  # five standard errors of a mean of 1,000
    again = plain_file(path, "synthetic 1", None, 1000)[1]
    assert again.equals(table)


def test_codes_keep_their_leading_zeros_where_a_schema_says_so(tmp_path: Path) -> None:
    declared = Schema.from_dict(
        {
            "dataset": {"identity": "d", "unit": "person"},
            "variables": {
                "place": {"role": "public", "type": "categorical", "levels": ["01", "02"]},
                "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 9},
            },
        }
    )
    (tmp_path / "s.csv").write_text("place,pay\n01,1.5\n02,\n", encoding="utf-8")
    for _, table in (
        plain_file(tmp_path / "s.csv", "synthetic 1", declared),
        original_file(str(tmp_path / "s.csv"), declared),
    ):
        assert table["place"].to_pylist() == ["01", "02"]
        assert table["pay"].to_pylist() == [1.5, None]


def test_identifiers_are_never_compared(paths: dict[str, Path]) -> None:
    table = plain_file(paths["original"], "original", schema())[1]
    kept, left_out = common_columns([table, table.drop_columns(["sex"])], schema())
    assert kept == ["place", "year", "pay"]
    assert left_out == ["sex"]
    with pytest.raises(UsageError, match="no column is in every file"):
        common_columns([table.select(["sex"]), table.select(["pay"])], schema())


def test_a_folder_stands_for_its_implicates(tmp_path: Path) -> None:
    (tmp_path / "bundle" / "microdata").mkdir(parents=True)
    names = ["implicate-01.parquet", "implicate-02.parquet"]
    for name in reversed(names):
        (tmp_path / "bundle" / "microdata" / name).touch()
    for given in (tmp_path / "bundle", tmp_path / "bundle" / "microdata"):
        assert [path.name for path in synthetic_paths([given])] == names
    assert synthetic_paths([tmp_path / "one.csv"]) == [tmp_path / "one.csv"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 700])
def test_the_dossier_in_a_browser(made: tuple[Findings, Path], tmp_path: Path, width: int) -> None:
    seen = look((made[1] / "dossier.html").read_text(encoding="utf-8"), tmp_path, width)
    assert seen.console == []
    assert seen.requests == []
    assert seen.content <= seen.window


@pytest.mark.browser
def test_every_printed_sheet_says_confidential(made: tuple[Findings, Path], tmp_path: Path) -> None:
    sheets = print_to_pdf(made[1] / "dossier.html", tmp_path)
    assert len(sheets) > 3
    assert all("Confidential, not for release" in sheet for sheet in sheets)


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
