"""The page on series: what it prints runs on files of three years, and what it says of variances is true."""

import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.table import Table
from tacita.noise.entropy import SeededEntropy
from tacita.tables import series

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "series.md").read_text(encoding="utf-8")
YEARS = ("2026", "2027", "2028")
LEVELS = ["n", "e", "s", "w"]
PAIRS = 150


def _printed(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def _schema(year: str) -> str:
    earlier = [f'"people{one}"' for one in YEARS if one < year]
    return (
        f'[dataset]\nidentity = "people{year}"\nunit = "person"\nlineage = [{", ".join(earlier)}]\n\n[variables]\n'
        f'region = {{ role = "confidential", type = "categorical", levels = {LEVELS} }}\n'
        'pay = { role = "confidential", type = "integer", lower = 0, upper = 1000 }\n'
    ).replace("'", '"')


def _people(year: str) -> pd.DataFrame:
    random, number = np.random.default_rng(int(year)), 2000 + 300 * YEARS.index(year)
    return pd.DataFrame({"region": random.choice(LEVELS, number), "pay": random.integers(0, 1000, number)})


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    for year in YEARS:
        _people(year).to_parquet(f"people{year}.parquet")
        Path(f"people{year}.schema.toml").write_text(_schema(year), encoding="utf-8")
    clock = {"year": 2026}
    for module in ("store", "ledger"):
        monkeypatch.setattr(f"tacita.ledger.{module}.now", lambda: datetime(clock["year"], 7, 1, tzinfo=UTC))

    class Files(dict[str, str]):
        """Each is released in its own year."""

        def items(self) -> Any:
            for year, file in super().items():
                clock["year"] = int(year)
                yield year, file

    return Files({year: f"people{year}.parquet" for year in YEARS})


def test_what_is_printed_runs_and_margins_hold(files: dict[str, str]) -> None:
    names: dict[str, Any] = {"files": files}
    for code in _printed("python"):
        exec(compile(code, "series.md", "exec"), names)
    rows = names["table"].to_pandas()
    assert len(rows) == 2 * 4 * 4
    counts = {year: _people(year).region.value_counts() for year in YEARS}
    change = rows[rows.measure == "change"]
    truth = [counts[row.to][row.region] - counts[row["from"]][row.region] for _, row in change.iterrows()]
    assert (np.abs(change.value.to_numpy() - truth) <= change.margin_of_error.to_numpy()).mean() >= 0.6
    # First and last year alone.
    ends = rows[(rows["from"] == "2026") & (rows.measure == "earlier")].set_index("region").variance
    last = rows[(rows["from"] == "2027") & (rows.measure == "later")].set_index("region").variance
    assert names["two_years"].variance.to_dict() == pytest.approx((ends + last).to_dict())


def test_the_printed_cap_is_one() -> None:
    (cap,) = _printed("toml")
    assert tomllib.loads(cap)["cap"]["per_year"] == "1"


@pytest.mark.parametrize("given", [{"statistic": "count"}, {"statistic": "sum", "of": "pay"}])
def test_margins_of_a_series_hold(given: dict[str, Any]) -> None:
    """Of 95%, over 4 cells and 150 pairs: fewer than 92% in one of 1,000 tests. Margins of 0.6 times that do not."""
    schema = Schema.from_dict(tomllib.loads(_schema("2026")))
    frames = {year: _people(year) for year in YEARS[:2]}
    plan = Table(**given, epsilon="1", by=["region"])
    truth = [
        (frame.groupby("region").pay.sum() if "of" in given else frame.region.value_counts())[LEVELS].to_numpy()
        for frame in frames.values()
    ]
    wanted = np.stack([*truth, truth[1] - truth[0], 100 * (truth[1] / truth[0] - 1)], axis=1).ravel()
    held, narrow = [], []
    files = {year: Confidential.from_frame(frame, schema) for year, frame in frames.items()}
    for seed in range(PAIRS):
        draws = (SeededEntropy(2 * seed), SeededEntropy(2 * seed + 1))
        results = {year: plan.run(file, one) for (year, file), one in zip(files.items(), draws, strict=True)}
        found = series(results, schema).to_pandas()
        off = np.abs(found.value.to_numpy() - wanted)
        held.append(off <= found.margin_of_error.to_numpy() + 1e-9)
        narrow.append(off <= 0.6 * found.margin_of_error.to_numpy())
    by_measure = np.array(held).reshape(PAIRS, 4, 4).mean(axis=(0, 1))
    assert by_measure.min() >= 0.92
    assert np.array(narrow).mean() < 0.92


def test_what_is_no_series_is_refused() -> None:
    schema = Schema.from_dict(tomllib.loads(_schema("2026")))
    frame = _people("2026")
    counts = Table("count", "1", by=["region"]).rehearse(frame, schema, seed=1)
    sums = Table("sum", "1", of="pay", by=["region"]).rehearse(frame, schema, seed=1)
    means = Table("mean", "1", of="pay", by=["region"]).rehearse(frame, schema, seed=1)
    for results, words in (
        ({"2026": counts}, "at least two periods"),
        ({"2026": counts, "2027": sums}, "statistic of 2026 and 2027 differ"),
        ({"2026": means, "2027": means}, "no counts or sums"),
    ):
        with pytest.raises(UsageError, match=words):
            series(results, schema)
