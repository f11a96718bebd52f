"""The simulated panel against the public facts it follows, and what every record must satisfy."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.data.confidential import Confidential
from tacita_studies.kinney2007.facts import BY_YEAR, SECTORS, YEARS
from tacita_studies.kinney2007.simulation import ONE, Industry, counties, industries, schema


def jobs_of(panel: pa.Table) -> np.ndarray:
    return np.array([panel[f"emp{year}"].to_numpy(zero_copy_only=False) for year in YEARS], dtype=np.float64)


@pytest.fixture(scope="module")
def panel() -> pa.Table:
    return Industry("581", "44", 40_000).simulate(seed=1)


def test_every_record_is_possible_and_fits_its_schema(panel: pa.Table) -> None:
    about = schema((ONE,))
    Confidential.from_frame(panel, about).check(about.names)
    first, last = panel["firstyear"].to_numpy(), panel["lastyear"].to_numpy()
    assert (last >= np.maximum(first, YEARS[0])).all()
    year = np.array(YEARS)[:, None]
    alive = (year >= first) & (year <= last)
    jobs = jobs_of(panel)
    assert (~np.isnan(jobs) == alive).all()
    change = panel["changeyear"].to_numpy(zero_copy_only=False)
    switched = np.isin(panel["multiunit"].to_pylist(), ["2", "3", "4"])
    assert (~np.isnan(change) == switched).all()
    assert (change[switched] > first[switched]).all()
    assert (change[switched] <= last[switched]).all()
    assert len(set(panel["establishment"].to_pylist())) == panel.num_rows
    assert set(panel["county"].to_pylist()) <= set(counties())


def test_rates_and_sizes_are_near_the_published_ones(panel: pa.Table) -> None:
    facts = SECTORS["44"]
    jobs = jobs_of(panel)
    alive, filled = ~np.isnan(jobs), np.nan_to_num(jobs)
    entries = (alive[1:] & ~alive[:-1]).sum(axis=1) / alive[1:].sum(axis=1)
    exits = (~alive[1:] & alive[:-1]).sum(axis=1) / alive[:-1].sum(axis=1)
    assert 100 * entries.mean() == pytest.approx(facts.entry, rel=0.1)
    assert 100 * exits.mean() == pytest.approx(facts.exit, rel=0.1)
    assert filled.sum() / alive.sum() == pytest.approx(facts.size, rel=0.3)
    births = filled[1:][alive[1:] & ~alive[:-1]].mean()
    assert births == pytest.approx(facts.birth_size, rel=0.1)
    assert filled[:-1][~alive[1:] & alive[:-1]].mean() == pytest.approx(facts.death_size, rel=0.35)
    # Continuers create and destroy as many jobs as in the statistics, and the years differ alike.
    stay = alive[1:] & alive[:-1]
    change = np.where(stay, np.diff(filled, axis=0), 0)
    average = (filled[1:].sum(axis=1) + filled[:-1].sum(axis=1)) / 2
    net = change.sum(axis=1) / average
    published = np.array([BY_YEAR[year].creation - BY_YEAR[year].destruction for year in YEARS[1:]]) / 100
    assert np.corrcoef(net, published)[0, 1] > 0.9
    assert np.maximum(change, 0).sum(axis=1) / average == pytest.approx(0.1, abs=0.04)
    switched = np.isin(panel["multiunit"].to_pylist(), ["2", "3", "4"]).mean()
    assert switched == pytest.approx(0.0096, abs=0.004)


@pytest.mark.parametrize("code", ["23", "31", "56", "62"])
def test_sectors_turn_over_as_published(code: str) -> None:
    """Entry, exit and the jobs that continuers create and destroy, from the busiest sectors to the calmest."""
    facts = SECTORS[code]
    jobs = jobs_of(Industry("581", code, 15_000).simulate(seed=1))
    alive, filled = ~np.isnan(jobs), np.nan_to_num(jobs)
    both = (alive[1:].sum() + alive[:-1].sum()) / 200
    assert (alive[1:] & ~alive[:-1]).sum() / both == pytest.approx(facts.entry, rel=0.1)
    assert (~alive[1:] & alive[:-1]).sum() / both == pytest.approx(facts.exit, rel=0.1)
    change = np.where(alive[1:] & alive[:-1], np.diff(filled, axis=0), 0)
    average = (filled[1:] + filled[:-1]).sum() / 200
    assert np.maximum(change, 0).sum() / average == pytest.approx(facts.creation, rel=0.25)
    assert np.maximum(-change, 0).sum() / average == pytest.approx(facts.destruction, rel=0.35)


def test_a_national_file_is_made_of_industries_with_streams_of_their_own() -> None:
    parts = tuple(industries(1_000_000))
    assert sum(one.establishments for one in parts) == pytest.approx(1_000_000, abs=10)
    assert max(one.establishments for one in parts) <= 130_000
    assert len({one.sic3 for one in parts}) == len(parts)
    assert {one.sector for one in parts} == set(SECTORS)
    small = Industry("111", "81", 500)
    assert small.simulate(seed=1).equals(small.simulate(seed=1))
    assert not small.simulate(seed=1)["emp1980"].equals(small.simulate(seed=2)["emp1980"])
    assert schema(parts).levels("sic3") == tuple(one.sic3 for one in parts)
