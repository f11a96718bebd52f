"""What the page says beside its tables: margins by size, why there is none, and each method once."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from support.bundles import released, spec, table
from support.specifications import key, levels, number, schema
from tacita.release.page_products import _by_size, _examples

SCHEMA = schema(
    "incomes",
    "person",
    sex=levels("F", "M"),
    job=levels("a", "b", "c"),
    pay=number(0, 10**12),
    hours=number(0, 80),
    saved=number(-100, 100, label="Saved in a month, euros", missing="own state"),
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


def test_each_table_says_what_it_shows_and_how_it_was_measured(page: str) -> None:
    first = page[: page.index("What is published")]
    assert "What was measured for each, and how, is said beside it." in first
    assert "Numbers were added up" not in first
    tables = page[page.index("The tables ") :]
    assert "Number of records, by sex. Records were counted in each cell" in tables
    assert "Share of the records of a cell at each level of job, by sex." in tables
    assert "Sum of pay over the sum of hours, by sex. Numbers were added up in each cell" in tables


def test_a_table_says_what_became_of_records_without_a_value(page: str) -> None:
    saved = page[page.index("tables/saved.csv") :]
    assert "Mean of Saved in a month, euros (saved), by sex. Records without a value of saved are left out." in saved


def test_of_one_or_two_products_the_first_sheet_says_how(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": ["F", "M"] * 500, "job": "a", "pay": 10, "hours": 20, "saved": 3})
    folder = released(tmp_path, SCHEMA, frame, spec(table("people", by=["sex"])))[0]
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "Records were counted in each cell" in text[: text.index("What is published")]


def test_the_page_says_by_which_column_one_record_of_each_was_checked(tmp_path: Path, folder: Path) -> None:
    told = schema("people", "person", pid=key("person"), sex=levels("F", "M"))
    frame = pd.DataFrame({"pid": range(400), "sex": ["F", "M"] * 200})
    made = released(tmp_path, told, frame, spec(table("people", by=["sex"])))[0]
    text = re.sub(r"\s+", " ", (made / "report.html").read_text(encoding="utf-8"))
    assert "one record of each was checked in the file before anything was measured, by the column <code>pid" in text
    assert "one record of each was checked" not in (folder / "report.html").read_text(encoding="utf-8"), "it has no id"


def test_the_marks_of_a_table_and_the_first_sheet_count_the_same_cells(tmp_path: Path) -> None:
    """Totals are counted by neither: their margins are small beside them."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"sex": random.choice(["F", "M"], 40), "job": random.choice(["a", "b", "c"], 40), "pay": 1, "hours": 2}
    ).assign(saved=3)
    made = released(tmp_path, SCHEMA, frame, spec(table("people", by=["sex", "job"], totals=["sex"], epsilon="4")))[0]
    page = unescape(re.sub(r"<[^>]+>", " ", (made / "report.html").read_text(encoding="utf-8")))
    near, cells = re.search(r"in (\d+) of (\d+) cells", page).groups()
    marks = re.search(r"Of (\d+) cells \(without totals and coarser levels\): ([^.]*)\.", re.sub(r"\s+", " ", page))
    counts = dict(one.split() for one in marks[2].split(", "))
    assert cells == marks[1] == str(sum(map(int, counts.values()))) == "6"
    assert int(near) == int(counts.get("A", 0)) + int(counts.get("B", 0))


def test_a_table_most_of_whose_cells_are_empty_warns_of_the_few_others(tmp_path: Path, page: str) -> None:
    """One place of seven has records; each of the others shows a ratio once in two hundred draws."""
    made = schema("made-up", "person", place=levels(*"abcdefg"), one=number(0, 9), two=number(0, 9))
    frame = pd.DataFrame({"place": "a", "one": 1.0, "two": np.repeat([1.0, 2.0], 500)})
    asked = spec(table("per-head", statistic="ratio", of=["one", "two"], by=["place"]))
    told = (released(tmp_path, made, frame, asked)[0] / "report.html").read_text(encoding="utf-8")
    words = "Where most cells are empty, the few others may have a value because noise made them look large enough"
    assert words in " ".join(told.split())
    assert words not in page


def test_a_picture_of_shares_has_cells_of_all_sizes() -> None:
    for values in (np.linspace(0, 1, 27), np.linspace(-300, 200, 40)):
        order, which = _examples(values, ranked=False)
        assert which == "ladder"
        assert len(order) == 15
        assert {values[order].min(), values[order].max()} == {values.min(), values.max()}


def test_values_far_below_zero_are_not_small() -> None:
    bands = [row[0] for row in _by_size(np.array([-165.0, -3.0]), np.array([10.0, 10.0]), shares=False)]
    assert bands == ["below 10", "100 to 999"]


def test_what_the_release_is_not_for_names_tables_that_say_nothing(page: str) -> None:
    must_not = page[page.index("What it must not be used for") : page.index("The guarantee")]
    said = r"figures from “pay”( and “per-head”)?, hardly any of which has a margin below half its value"
    assert re.search(said, must_not), "whether the tail of a ratio is seen to be open hangs on chance"
    assert "“people”" not in must_not


def test_rules_of_use_are_those_of_the_tables(page: str) -> None:
    """No table here crosses attributes of workers or was made consistent with a total."""
    rules = page[page.index("How to analyse the tables") :]
    assert "worker attributes" not in rules
    assert "made consistent with a total" not in rules
    assert "Means, shares, ratios, quantiles and rates of growth do not add up." in rules
    assert "values drawn by rank" not in page


def test_the_first_sheet_says_of_which_tables_no_cell_has_a_margin(page: str) -> None:
    assert "Pay: no cell has a margin of error." in page
    assert "People: the margin is at most 20% of the value in 2 of 2 cells." in page


def test_values_are_said_to_be_set_to_zero_only_where_they_cannot_be_negative(page: str) -> None:
    people = page[page.index("tables/people.csv") : page.index("tables/jobs.csv")]
    assert "negative values set to zero" in people
    assert "negative values set to zero" not in page[page.index("tables/saved.csv") :]


def test_the_order_of_the_picture_is_said_of_the_picture(page: str) -> None:
    assert "The picture has all values of this table, the largest first." in page
