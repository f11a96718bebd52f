"""The simulated frame has the printed facts of the paper's file, at every size that is asked for."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.data.workforce import workforce
from tacita.errors import UsageError
from tacita.simulated.frame import (
    EDUCATION,
    FEMALE_COLLEGE,
    FULL_JOBS,
    OWNERSHIP,
    SECTORS,
    STRATA,
    WORKER_CELLS,
    LinkedFrame,
    simulate,
)


@pytest.fixture(scope="module")
def full() -> LinkedFrame:
    return simulate()


@pytest.fixture(scope="module")
def small() -> LinkedFrame:
    return simulate(jobs=40_000, establishments=2_000, seed=3)


def test_full_frame_has_the_facts_the_paper_prints(full: LinkedFrame) -> None:
    facts = full.facts()
    assert facts["jobs"] == FULL_JOBS == 10_900_000
    assert facts["establishments"] == 527_000
    assert 740 <= facts["establishments above 1,000 workers"] <= 815
    assert facts["share of cells below 1,000 jobs"] > 0.93
    assert 0.6 < facts["share of establishments below 10 workers"] < 0.85
    assert 0.01 < facts["share of establishments without jobs"] < 0.08


def test_full_frame_fills_every_sector_ownership_and_stratum(full: LinkedFrame) -> None:
    assert set(np.unique(full.sector)) == set(range(len(SECTORS)))
    assert len(SECTORS) == 20
    assert set(np.unique(full.ownership)) == set(range(len(OWNERSHIP)))
    assert {code[:2] for code in full.place_codes} == {"91", "92", "93"}
    keys, _ = full.cells()
    per_stratum = np.bincount(full.stratum_of(keys["place"]), minlength=len(STRATA))
    assert (per_stratum > 100).all()


def test_sizes_are_right_skewed_and_shapes_differ_between_establishments(full: LinkedFrame) -> None:
    size = full.size
    assert size.mean() > 3 * np.median(size)
    large = full.workers[size > 200] / size[size > 200, None]
    women = large[:, :4].sum(axis=1)
    assert 0.10 < women.std() < 0.35  # one sector mix for all would give about 0.03
    schools = full.sector == [row.code for row in SECTORS].index("61")
    builders = full.sector == [row.code for row in SECTORS].index("23")
    college = [WORKER_CELLS.index((sex, "BA")) for sex in ("F", "M")]
    share = [full.workers[who][:, college].sum() / full.workers[who].sum() for who in (schools, builders)]
    assert share[0] > 2 * share[1]
    assert WORKER_CELLS[FEMALE_COLLEGE] == ("F", "BA")


@pytest.mark.parametrize(
    ("jobs", "establishments"), [(1_090_000, 52_700), (40_000, 2_000), (123_457, 1_001), (400, 200)]
)
def test_totals_are_exact_at_other_sizes(jobs: int, establishments: int) -> None:
    frame = simulate(jobs=jobs, establishments=establishments, seed=11)
    assert frame.size.sum() == jobs
    assert len(np.unique(frame.workplace_id)) == establishments
    assert frame.workers.min() >= 0
    assert frame.place.max() < len(frame.place_codes) == len(frame.place_population)


def test_the_seed_decides_everything() -> None:
    one, same, other = (simulate(jobs=4_000, establishments=200, seed=seed) for seed in (1, 1, 2))
    assert (one.workers == same.workers).all()
    assert (one.place == same.place).all()
    assert (one.workers != other.workers).any()


@pytest.mark.parametrize(("jobs", "establishments"), [(10, 100), (100, 10)])
def test_impossible_sizes_are_refused(jobs: int, establishments: int) -> None:
    with pytest.raises(UsageError, match="establishments, jobs"):
        simulate(jobs=jobs, establishments=establishments)


def _brute_force(frame: LinkedFrame, columns: list[int] | None, drop_above: int | None) -> pd.DataFrame:
    size = frame.size
    wide = pd.DataFrame({"place": frame.place, "sector": frame.sector, "ownership": frame.ownership, "size": size})
    wide["counted"] = size if columns is None else frame.workers[:, columns].sum(axis=1)
    if drop_above is not None:
        wide.loc[size > drop_above, ["counted", "size"]] = 0
    grouped = wide.groupby(["place", "sector", "ownership"])
    return grouped.agg(
        counts=("counted", "sum"), largest=("counted", "max"), whole=("size", "max"), many=("size", "size")
    ).reset_index()


@pytest.mark.parametrize(("columns", "drop_above"), [(None, None), ([FEMALE_COLLEGE], None), (None, 20), ([0], 5)])
def test_workforce_is_the_plain_group_by(small: LinkedFrame, columns: list[int] | None, drop_above: int | None) -> None:
    table = small.workforce(columns, drop_above=drop_above)
    expected = _brute_force(small, columns, drop_above)
    for name in ("place", "sector", "ownership"):
        assert table.keys[name].tolist() == expected[name].tolist()
    assert table.counts[:, 0].tolist() == expected["counts"].tolist()
    assert table.largest[:, 0].tolist() == expected["largest"].tolist()
    assert table.largest_total.tolist() == expected["whole"].tolist()
    assert table.establishments.tolist() == expected["many"].tolist()


def test_worker_columns_add_up_to_the_total(small: LinkedFrame) -> None:
    split = small.workforce(range(len(WORKER_CELLS)))
    assert (split.counts.sum(axis=1) == small.workforce().counts[:, 0]).all()
    assert (split.largest.max(axis=1) <= split.largest_total).all()


def test_flat_and_linked_files_hold_the_same_jobs(small: LinkedFrame, tmp_path: Path) -> None:
    flat = small.write(tmp_path / "flat", "flat")
    linked = small.write(tmp_path / "linked", "linked")
    joined = duckdb.sql(
        f"select worker_id, workplace_id, place, sector, ownership, sex, education from '{linked['job.parquet']}' "
        f"join '{linked['workplace.parquet']}' using (workplace_id) "
        f"join '{linked['worker.parquet']}' using (worker_id) "
        "order by worker_id"
    ).df()
    plain = duckdb.sql(f"select * from '{flat['jobs.parquet']}' order by worker_id").df()
    assert len(plain) == 40_000
    pd.testing.assert_frame_equal(plain, joined)
    assert plain["worker_id"].is_unique


def test_written_jobs_give_back_the_frame(small: LinkedFrame, tmp_path: Path) -> None:
    flat = small.write(tmp_path, "flat")
    jobs = duckdb.sql(f"select * from '{flat['jobs.parquet']}'").df()
    counted = jobs.groupby("workplace_id").size()
    expected = pd.Series(small.size, index=small.workplace_id)
    assert (counted == expected[expected > 0]).all()
    cell = pd.Series([WORKER_CELLS.index(pair) for pair in zip(jobs["sex"], jobs["education"], strict=True)], dtype=int)
    assert (np.bincount(cell, minlength=8) == small.workers.sum(axis=0)).all()
    # Rows come in random order: neighbours in the file seldom share an establishment.
    assert (jobs["workplace_id"].diff() == 0).mean() < 0.05


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_the_schema_written_beside_the_jobs_loads(small: LinkedFrame, tmp_path: Path, form: str) -> None:
    paths = small.write(tmp_path, form)  # type: ignore[arg-type]
    schema = Schema.load(paths["jobs.schema.toml"])
    assert list(schema.levels("place")) == list(small.place_codes)
    assert list(schema.levels("education")) == list(EDUCATION)
    assert len(schema.levels("sector")) == 20


def test_an_unknown_form_is_refused(small: LinkedFrame, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="form"):
        small.write(tmp_path, "wide")  # type: ignore[arg-type]


def test_the_written_file_and_the_arrays_give_one_table(small: LinkedFrame, tmp_path: Path) -> None:
    paths = small.write(tmp_path, "linked")
    source = {table: paths[f"{table}.parquet"] for table in ("job", "workplace", "worker")}
    data = Confidential.open(source, paths["jobs.schema.toml"])
    read = workforce(data, ["place", "sector", "ownership"], worker=["sex", "education"])
    held = small.workforce(range(len(WORKER_CELLS)))
    for name, codes in held.keys.items():
        assert (read.keys[name] == codes).all()
    assert (read.counts == held.counts).all()
    assert (read.largest == held.largest).all()
    assert (read.largest_total == held.largest_total).all()
    assert (read.establishments == held.establishments).all()


def test_a_table_that_is_opened_as_a_file_is_refused_without_a_value() -> None:
    """A path that is too long stands in the error of the system that was asked for it: here it would be the rows."""
    frame = pd.DataFrame({"sex": ["F"] * 3, "secret": ["Zyx417"] * 3})
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "p", "unit": "person"},
            "variables": {"sex": {"type": "categorical", "role": "confidential", "levels": ["F"]}},
        }
    )
    for given in (frame, pa.Table.from_pandas(frame), ["a.csv"]):
        with pytest.raises(UsageError, match=r"Confidential\.from_frame") as caught:
            Confidential.open(given, schema)
        assert "Zyx417" not in str(caught.value)
