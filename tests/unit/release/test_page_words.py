"""What the page says beside its tables: margins by size, why there is none, and each method once."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from support.bundles import released, spec, table
from support.specifications import levels, number, schema

SCHEMA = schema(
    "incomes",
    "person",
    sex=levels("F", "M"),
    job=levels("a", "b", "c"),
    pay=number(0, 10**12),
    hours=number(0, 80),
    saved=number(-100, 100),
)
TABLES = (
    table("people", by=["sex"])
    + table("jobs", statistic="share", of="job", by=["sex"], epsilon="4")
    + table("pay", statistic="mean", of="pay", by=["sex"], epsilon="4")
    + table("per-head", statistic="ratio", of=["pay", "hours"], by=["sex"], epsilon="4")
    + table("saved", statistic="mean", of="saved", by=["sex"])
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pay with a tail whose amounts do not fall off."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "sex": random.choice(["F", "M"], 30_000),
            "job": random.choice(["a", "b", "c"], 30_000, p=[0.9, 0.07, 0.03]),
            "hours": random.integers(1, 60, 30_000),
            "saved": random.integers(-90, 100, 30_000),
            "pay": np.minimum(1000 * random.random(30_000) ** (-1 / 0.9), 1e12).astype(np.int64),
        }
    )
    return released(tmp_path_factory.mktemp("page"), SCHEMA, frame, spec(TABLES))[0]


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    text = re.sub(r"<[^>]+>", " ", (folder / "report.html").read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", unescape(text))


def test_margins_of_shares_are_told_in_points(page: str) -> None:
    jobs = page[page.index("tables/jobs.csv") : page.index("tables/pay.csv")]
    assert re.search(r"below 5% 2 ± 0\.\d+ points \d\.\d%", jobs)
    assert "50% and more 2 ±" in jobs
    assert "± 0 " not in jobs


def test_a_table_without_margins_says_why_and_what_would_help(page: str) -> None:
    pay = page[page.index("tables/pay.csv") : page.index("tables/per-head.csv")]
    assert "No value has a margin of error: towards " in pay
    assert "where pay was clamped, large numbers become so slowly fewer" in pay
    assert "upper in the schema, or clamp in the specification" in pay
    assert "No value has a margin of error" not in page[: page.index("tables/pay.csv")]


def test_a_value_without_a_margin_has_three_digits(folder: Path) -> None:
    published = pq.read_table(folder / "tables" / "pay.parquet")
    assert published["margin_of_error"].null_count == 2
    assert all(float(f"{value:.3g}") == value for value in published["value"].to_pylist())


def test_the_first_sheet_has_each_method_once(page: str) -> None:
    first = page[: page.index("What is published")]
    assert first.count("Records were counted in each cell") == first.count("Numbers were added up in each cell") == 1
    assert "Shares follow from such counts." in first
    assert "Means follow from such sums." in first
    assert "Ratios follow from such sums." in first


def test_the_first_sheet_says_of_which_tables_no_cell_has_a_margin(page: str) -> None:
    assert "Pay: no cell has a margin of error." in page
    assert "People: the margin is at most 20% of the value in 2 of 2 cells." in page


def test_values_are_said_to_be_set_to_zero_only_where_they_cannot_be_negative(page: str) -> None:
    people = page[page.index("tables/people.csv") : page.index("tables/jobs.csv")]
    assert "negative values set to zero" in people
    assert "negative values set to zero" not in page[page.index("tables/saved.csv") :]


def test_the_order_of_the_picture_is_said_of_the_picture(page: str) -> None:
    assert "The picture has all values of this table, the largest first." in page
