"""The one query, against a slow and obvious computation in pandas."""

import importlib.util
import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacita.data.confidential import Confidential
from tacita.data.engine import connect
from tacita.data.schema import Schema
from tacita.data.workforce import Workforce, workforce
from tacita.errors import SchemaError, UsageError

PLACES, SECTORS, SEX, GRADES = ["01", "02", "03", "??"], ["A", "B"], ["F", "M"], ["1", "2", "3"]


def schema_of(form: str = "flat") -> Schema:
    workplace, worker = ({"table": "workplace"}, {"table": "worker"}) if form == "linked" else ({}, {})
    place = {"role": "workplace", "type": "categorical", "levels": PLACES, "outside": "??", "missing": "??"}
    variables: dict[str, Any] = {
        "workplace_id": {"role": "id", "entity": "workplace"},
        "place": {**place, **workplace},
        "sector": {"role": "workplace", "type": "categorical", "levels": SECTORS, **workplace},
    }
    if form == "size":
        variables["size"] = {"role": "size", "type": "integer", "lower": 0, "upper": 500, "missing": 0}
    else:
        variables |= {
            "worker_id": {"role": "id", "entity": "worker"},
            "sex": {"role": "worker", "type": "categorical", "levels": SEX, **worker},
            "grade": {"role": "worker", "type": "categorical", "levels": GRADES, "missing": "3", **worker},
        }
    return Schema.from_dict({"dataset": {"identity": "demo", "unit": "establishment"}, "variables": variables})


def simulate(seed: int, establishments: int = 12, jobs: int = 150) -> dict[str, pd.DataFrame]:
    """Linked tables; some establishments have no job, some places are stored as codes the schema does not know."""
    rng = np.random.default_rng(seed)
    workplace = pd.DataFrame(
        {
            "workplace_id": rng.permutation(establishments) * 7 + 3,
            "place": rng.choice(np.array(["01", "02", "88", "99", None], dtype=object), establishments),
            "sector": rng.choice(SECTORS, establishments),
        }
    )
    staffed = workplace["workplace_id"].to_numpy()[: max(1, establishments - 3)]
    worker = pd.DataFrame(
        {
            "worker_id": rng.permutation(jobs) + 1,
            "sex": rng.choice(SEX, jobs),
            "grade": rng.choice(np.array(["1", "2", "3", None], dtype=object), jobs),
        }
    )
    job = pd.DataFrame(
        {"workplace_id": rng.choice(staffed, jobs), "worker_id": rng.permutation(worker["worker_id"].to_numpy())}
    )
    return {"job": job, "workplace": workplace, "worker": worker}


def flatten(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    return tables["job"].merge(tables["workplace"], on="workplace_id").merge(tables["worker"], on="worker_id")


def brute_force(
    tables: Mapping[str, pd.DataFrame],
    by: Sequence[str],
    worker: Sequence[str],
    where: Mapping[str, Sequence[str]],
    drop_above: int | None,
    flat: bool,
) -> dict[str, Any]:
    levels = {"place": PLACES, "sector": SECTORS, "sex": SEX, "grade": GRADES}
    places = tables["workplace"].copy()
    places["place"] = [value if value in PLACES else "??" for value in places["place"]]
    jobs = flatten(tables).drop(columns=["place", "sector"]).merge(places, on="workplace_id")
    jobs["grade"] = jobs["grade"].fillna("3")
    cells = list(itertools.product(*(levels[name] for name in by)))
    if not flat:
        present = set(map(tuple, places[list(by)].to_numpy())) if by else {()}
        cells = [cell for cell in cells if cell in present]
    columns = list(itertools.product(*(levels[name] for name in worker)))
    counts = np.zeros((len(cells), len(columns)), dtype=int)
    largest, totals = np.zeros_like(counts), np.zeros(len(cells), dtype=int)
    existing = np.zeros(len(cells), dtype=int)
    for _, place in places.iterrows():
        cell = cells.index(tuple(place[name] for name in by))
        existing[cell] += 1
        staff = jobs[jobs["workplace_id"] == place["workplace_id"]]
        if drop_above is not None and len(staff) > drop_above:
            continue
        totals[cell] = max(totals[cell], len(staff))
        for name, wanted in where.items():
            staff = staff[staff[name].isin(wanted)]
        for column, values in enumerate(columns):
            matching = staff
            for name, value in zip(worker, values, strict=True):
                matching = matching[matching[name] == value]
            counts[cell, column] += len(matching)
            largest[cell, column] = max(largest[cell, column], len(matching))
    keys = {name: [levels[name].index(cell[at]) for cell in cells] for at, name in enumerate(by)}
    return {
        "keys": keys,
        "counts": counts.tolist(),
        "largest": largest.tolist(),
        "largest_total": totals.tolist(),
        "establishments": [-1] * len(cells) if flat else existing.tolist(),
    }


def plain(found: Workforce) -> dict[str, Any]:
    return {
        "keys": {name: codes.tolist() for name, codes in found.keys.items()},
        "counts": found.counts.tolist(),
        "largest": found.largest.tolist(),
        "largest_total": found.largest_total.tolist(),
        "establishments": found.establishments.tolist(),
    }


QUESTIONS = st.fixed_dictionaries(
    {
        "by": st.sampled_from([(), ("place",), ("sector", "place"), ("place", "sector")]),
        "worker": st.sampled_from([(), ("sex",), ("sex", "grade"), ("grade", "sex")]),
        "where": st.sampled_from([{}, {"sex": ["F"]}, {"grade": ["1", "3"], "sex": ["M"]}]),
        "drop_above": st.sampled_from([None, 0, 10, 15]),
    }
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1000), question=QUESTIONS, form=st.sampled_from(["flat", "linked"]))
def test_agrees_with_counting_by_hand(seed: int, question: dict[str, Any], form: str) -> None:
    tables = simulate(seed)
    source = tables if form == "linked" else flatten(tables)
    found = workforce(Confidential.from_frame(source, schema_of(form)), **question)
    assert plain(found) == brute_force(tables, **question, flat=form == "flat")


def test_linked_and_flat_agree_where_there_are_jobs() -> None:
    tables = simulate(5)
    by, worker = ("place", "sector"), ("sex", "grade")
    linked = workforce(Confidential.from_frame(tables, schema_of("linked")), by, worker=worker)
    flat = workforce(Confidential.from_frame(flatten(tables), schema_of()), by, worker=worker)
    at = np.ravel_multi_index((linked.keys["place"], linked.keys["sector"]), (len(PLACES), len(SECTORS)))
    assert (flat.counts[at] == linked.counts).all()
    assert (flat.largest[at] == linked.largest).all()
    assert (flat.largest_total[at] == linked.largest_total).all()
    assert flat.counts.sum() == linked.counts.sum() == len(tables["job"])


def test_a_cell_without_a_job_is_still_there() -> None:
    tables = simulate(1)
    tables["job"] = tables["job"][tables["job"]["workplace_id"] == tables["workplace"]["workplace_id"].iloc[0]]
    found = workforce(Confidential.from_frame(tables, schema_of("linked")), ["place", "sector"])
    assert found.establishments.sum() == len(tables["workplace"])
    assert (found.counts > 0).sum() == 1
    assert (found.establishments[found.counts[:, 0] == 0] > 0).all()


@pytest.mark.parametrize("order", [1, -1])
def test_an_establishment_with_two_addresses_sits_in_one_cell_whatever_the_order_of_its_rows(order: int) -> None:
    frame = pd.DataFrame(
        {
            "workplace_id": [1, 1, 1, 2],
            "place": ["02", "01", "02", "02"],
            "sector": ["A", "A", "A", "A"],
            "worker_id": [1, 2, 3, 4],
            "sex": ["F", "F", "M", "M"],
            "grade": ["1", "1", "1", "1"],
        }
    ).iloc[::order]
    found = workforce(Confidential.from_frame(frame, schema_of()), ["place"])
    assert found.counts[:, 0].tolist() == [3, 1, 0, 0]
    assert found.largest_total.tolist() == [3, 1, 0, 0]


def test_a_file_of_sizes_counts_like_the_jobs_it_stands_for() -> None:
    tables = simulate(9)
    sizes = tables["job"].groupby("workplace_id").size().rename("size")
    places = tables["workplace"].merge(sizes, on="workplace_id", how="left")
    for drop_above in (None, 15):
        found = workforce(Confidential.from_frame(places, schema_of("size")), ["place"], drop_above=drop_above)
        linked = workforce(Confidential.from_frame(tables, schema_of("linked")), ["place"], drop_above=drop_above)
        assert plain(found) == plain(linked)
    clamped = Confidential.from_frame(places.assign(size=[-4.0, 9e9, np.nan] + [1.0] * 9), schema_of("size"))
    clamped.check(["size", "place"])
    assert workforce(clamped, []).counts.tolist() == [[0 + 500 + 0 + 9]]
    with pytest.raises(SchemaError, match=r"establishment\.workplace_id: an establishment has more than one row"):
        Confidential.from_frame(pd.concat([places, places]), schema_of("size")).check(["size"])


def test_many_worker_cells_are_counted_in_several_scans() -> None:
    levels = [f"{code:02d}" for code in range(70)]
    content = schema_of().to_dict()
    content["variables"]["grade"] = {"role": "worker", "type": "categorical", "levels": levels}
    frame = flatten(simulate(3)).assign(grade=lambda frame: [levels[row % 70] for row in range(len(frame))])
    data = Confidential.from_frame(frame, Schema.from_dict(content))
    found = workforce(data, ["sector"], worker=["sex", "grade"])
    assert found.counts.shape == (2, 140)
    expected = frame.groupby(["sector", "sex", "grade"]).size()
    for (sector, sex, grade), count in expected.items():
        column = SEX.index(sex) * 70 + levels.index(grade)
        assert found.counts[SECTORS.index(sector), column] == count
    assert found.counts.sum() == len(frame)


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        ({"by": ["sex"]}, UsageError, "sex: has the role worker"),
        ({"by": ["place"], "worker": ["sector"]}, UsageError, "sector: has the role workplace"),
        ({"by": ["workplace_id"]}, SchemaError, "workplace_id: is not categorical"),
        ({"by": ["nowhere"]}, SchemaError, "nowhere: no such variable"),
        ({"by": ["place", "place"]}, UsageError, "by: a column is listed twice"),
        ({"by": "place"}, UsageError, "by: give a list"),
        ({"by": ["place"], "where": {"sex": ["X"]}}, UsageError, 'where.sex: "X" is not a declared level'),
        ({"by": ["place"], "where": {"sex": []}}, UsageError, "where.sex: give a list"),
    ],
)
def test_a_wrong_question_names_the_column(question: dict[str, Any], error: type[Exception], words: str) -> None:
    data = Confidential.from_frame(flatten(simulate(1)), schema_of())
    with pytest.raises(error) as caught:
        workforce(data, **question)
    assert words in str(caught.value)


def test_worker_attributes_are_refused_for_a_file_of_sizes() -> None:
    content = schema_of("size").to_dict()
    data = Confidential.from_frame(simulate(1)["workplace"].assign(size=1), Schema.from_dict(content))
    with pytest.raises(SchemaError, match="sex: no such variable"):
        workforce(data, ["place"], worker=["sex"])


def test_too_many_cells_are_refused_before_anything_is_read() -> None:
    content = schema_of().to_dict()
    content["variables"]["place"]["levels"] = ["??", *(f"{code:05d}" for code in range(26_000_000 // 1000))]
    content["variables"]["place"]["labels"] = {}
    content["variables"]["sector"]["levels"] = [f"{code:04d}" for code in range(2000)]
    content["variables"]["sector"]["labels"] = {}
    data = Confidential.from_frame(flatten(simulate(1)), Schema.from_dict(content))
    with pytest.raises(UsageError, match=r"place.*sector.*50,000,000"):
        workforce(data, ["place", "sector"])


def test_an_unchecked_value_that_must_be_refused_is_refused_without_being_named() -> None:
    frame = flatten(simulate(2)).assign(sector="Zq83")
    with pytest.raises(SchemaError) as caught:
        workforce(Confidential.from_frame(frame, schema_of()), ["sector"])
    assert "sector" in str(caught.value)
    assert "Zq83" not in str(caught.value)


def test_it_does_not_show_its_numbers() -> None:
    found = workforce(Confidential.from_frame(flatten(simulate(2)), schema_of()), ["sector"])
    assert repr(found) == "Workforce(by=['sector'], cells=2, columns=1)"


def test_a_flat_parquet_file_gives_what_the_frame_in_memory_gives(tmp_path: Path) -> None:
    frame = flatten(simulate(4, establishments=40, jobs=3000))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    by = ["sector", "place"]
    for question in ({}, {"worker": ["sex"]}, {"where": {"sex": ["F"]}}, {"drop_above": 90}):
        here = workforce(Confidential.from_frame(frame, schema_of()), by, **question)
        there = workforce(Confidential.open(tmp_path / "a.parquet", schema_of()), by, **question)
        assert plain(here) == plain(there)


@pytest.mark.spark
def test_spark_counts_what_duckdb_counts() -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    spark = connect("spark")
    tables = simulate(11)
    question: dict[str, Any] = {"worker": ["sex"], "where": {"grade": ["1", "3"]}, "drop_above": 20}
    for source, form in ((tables, "linked"), (flatten(tables), "flat")):
        here = workforce(Confidential.from_frame(source, schema_of(form)), ["place", "sector"], **question)
        data = Confidential.from_frame(source, schema_of(form), engine=spark)
        assert plain(workforce(data, ["place", "sector"], **question)) == plain(here)


@pytest.mark.realdata
def test_a_public_file_of_employers_counts_as_pandas_counts_it() -> None:
    """Real codes with their dirt: empty cells, states outside the list, missing employment."""
    folder = Path(os.environ.get("TACITA_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = folder / "ppp_small_states" / "ppp_under150k_12states.csv.gz"
    if not path.exists():
        pytest.skip("needs ppp_small_states in ../shared/data or in the folder that TACITA_DATA names")
    states = ["ID", "ME", "NH", "HI", "MT", "SD", "NM", "WY", "DE", "other"]
    sexes = ["Male Owned", "Female Owned", "Unanswered"]
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "ppp", "unit": "establishment"},
            "variables": {
                "State": {
                    "role": "workplace",
                    "type": "categorical",
                    "levels": states,
                    "outside": "other",
                    "missing": "other",
                },
                "Gender": {"role": "workplace", "type": "categorical", "levels": sexes, "missing": "Unanswered"},
                "JobsRetained": {"role": "size", "type": "integer", "lower": 0, "upper": 50, "missing": 0},
            },
        }
    )
    data = Confidential.open(path, schema)
    data.check(schema.names)
    found = workforce(data, ["State", "Gender"])
    frame = pd.read_csv(path, usecols=list(schema.names), dtype={"State": str, "Gender": str})
    frame["State"] = frame["State"].where(frame["State"].isin(states), "other")
    frame["size"] = frame["JobsRetained"].fillna(0).clip(0, 50).astype(int)
    expected = frame.groupby(["State", "Gender"])["size"].agg(["sum", "max", "size"])
    labels = [(states[s], sexes[g]) for s, g in zip(found.keys["State"], found.keys["Gender"], strict=True)]
    assert sorted(labels) == sorted(expected.index)
    wanted = expected.loc[labels]
    assert found.counts[:, 0].tolist() == wanted["sum"].tolist()
    assert found.largest[:, 0].tolist() == wanted["max"].tolist()
    assert found.establishments.tolist() == wanted["size"].tolist()


def test_a_size_beyond_any_establishment_counts_as_the_largest() -> None:
    """The scale of the noise stops there too: a size that went on growing would outgrow it."""
    content = {
        "dataset": {"identity": "sizes", "unit": "establishment"},
        "variables": {
            "workplace_id": {"role": "id", "entity": "workplace"},
            "place": {"role": "workplace", "type": "categorical", "levels": ["A", "B"]},
            "size": {"role": "size", "type": "integer", "lower": 0, "upper": 2**31},
        },
    }
    schema = Schema.from_dict(content)
    # As a schema of an older version may have it, before such bounds were refused.
    wide = replace(schema["size"].kind, upper=10**13)
    object.__setattr__(schema["size"], "kind", wide)
    frame = pd.DataFrame({"workplace_id": [1, 2, 3], "place": ["A", "A", "B"], "size": [10**11, 50, 7]})
    found = workforce(Confidential.from_frame(frame, schema), ["place"])
    assert found.counts.ravel().tolist() == [2**31 + 50, 7]
    assert found.largest.ravel().tolist() == [2**31, 7]
