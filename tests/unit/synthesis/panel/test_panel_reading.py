"""Confidential rows as arrays: wide and long files, missing values, edits, groups, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from support.panels import YEARS, long_plan, long_schema, plan, to_long, wide, wide_schema
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError
from tacita.synthesis.panel import PanelSynthesis
from tacita.synthesis.panel.panel import MISSING, Panel
from tacita.synthesis.panel.reading import ALL, groups_of, read_group


def as_read(frame: pd.DataFrame, given: PanelSynthesis, schema: Schema, group: str = ALL) -> Panel:
    return read_group(Confidential.from_frame(frame, schema), given.layout(schema), group)


def equal(one: Panel, two: Panel) -> bool:
    arrays = [(one.first, two.first), (one.last, two.last)]
    arrays += [(one.static[name], two.static[name]) for name in one.static]
    arrays += [(one.changed[name], two.changed[name]) for name in one.changed]
    arrays += [(one.values[name], two.values[name]) for name in one.values]
    arrays += [(one.public[name].values, two.public[name].values) for name in one.public]
    return all(np.array_equal(first, second, equal_nan=True) for first, second in arrays)


def test_wide_and_long_files_are_the_same_panel_in_any_order() -> None:
    frame = wide(200)
    read = as_read(frame, plan(), wide_schema())
    assert read.rows == 200
    assert equal(read, as_read(frame.sample(frac=1, random_state=1), plan(), wide_schema()))
    long = to_long(frame).sample(frac=1, random_state=2)
    assert equal(read, as_read(long, long_plan(), long_schema()))


def test_codes_and_hierarchies_are_those_of_the_file() -> None:
    frame = wide(200)
    read = as_read(frame, plan(), wide_schema())
    ordered = frame.sort_values(["county", "industry", "firm"])
    assert [read.labels["county"][code] for code in read.public["county"].values] == ordered.county.tolist()
    assert [read.labels["state"][code] for code in read.public["state"].values] == ordered.county.str[:2].tolist()
    assert read.first.tolist() == ordered.born.tolist()
    assert read.values["jobs"][2].tolist() == pytest.approx(ordered.jobs2002.tolist(), nan_ok=True)


def test_a_life_is_what_the_rows_show_where_no_years_are_stored() -> None:
    frame = wide(150)
    bare = {"first": None, "last": None, "static": [], "change": {}}
    long = as_read(to_long(frame), long_plan(**bare), long_schema())
    wider = as_read(frame, plan(**bare), wide_schema())
    ordered = frame.sort_values(["county", "industry", "firm"])
    assert long.first.tolist() == np.maximum(ordered.born, 2000).tolist()
    assert long.last.tolist() == ordered.gone.tolist()
    assert equal(long, wider)


def test_missing_values_and_codes_are_missing_and_the_rest_of_the_schema_holds() -> None:
    frame = wide(100)
    alive = frame.index[(frame.born <= 2002) & (frame.gone >= 2002)]
    frame.loc[alive[0], "jobs2002"] = np.nan
    frame.loc[alive[1], "jobs2002"] = -9  # the schema's code for missing
    frame.loc[alive[2], "jobs2002"] = 7000  # clamped
    frame.loc[alive[3], "kind"] = None
    frame.loc[alive[4], "born"] = np.nan
    read = as_read(frame, plan(ratios={}), wide_schema())
    order = frame.sort_values(["county", "industry", "firm"]).index
    at = {row: int(np.flatnonzero(order == row)[0]) for row in alive[:5]}
    jobs = read.values["jobs"][YEARS.index(2002)]
    assert np.isnan(jobs[[at[alive[0]], at[alive[1]]]]).all()
    assert jobs[at[alive[2]]] == 5000
    # An empty category is imputed, though the schema has a level for other readers of the file.
    assert read.static["kind"][at[alive[3]]] == MISSING
    assert not read.known[at[alive[4]]]
    assert np.isnan(read.values["jobs"][:, at[alive[4]]]).all()


def test_values_outside_a_life_or_an_edit_are_not_used() -> None:
    frame = wide(100)
    row = frame.index[(frame.born > 2002)][0]
    frame.loc[row, "jobs2001"] = 17
    broken = frame.index[(frame.born <= 2003) & (frame.gone >= 2003) & (frame.jobs2003 > 0)][0]
    frame.loc[broken, "pay2003"] = frame.loc[broken, "jobs2003"] * 1000
    swapped = frame.index[(frame.born == 1999) & (frame.index != broken)][0]
    frame.loc[swapped, ["born", "gone"]] = [2004, 2001]
    read = as_read(frame, plan(), wide_schema())
    order = list(frame.sort_values(["county", "industry", "firm"]).index)
    assert np.isnan(read.values["jobs"][1, order.index(row)])
    assert np.isnan(read.values["pay"][3, order.index(broken)])
    assert not np.isnan(read.values["jobs"][3, order.index(broken)])
    assert not read.known[order.index(swapped)]


def test_groups_come_from_the_schema_and_hold_their_rows_only() -> None:
    frame = wide(200)
    frame = frame[frame.industry != "112"]
    given = plan(group="sector")
    data = Confidential.from_frame(frame, wide_schema())
    layout = given.layout(wide_schema())
    assert dict(layout.groups()) == {"11": ("111", "112"), "22": ("221", "222")}
    assert groups_of(data, layout) == ["11", "22"]
    assert read_group(data, layout, "11").rows == (frame.industry == "111").sum()
    by_industry = plan(group="industry").layout(wide_schema())
    assert groups_of(data, by_industry) == ["111", "221", "222"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: pd.concat([frame, frame.head(1)]), "firm: an id occurs more than once"),
        (lambda frame: frame.assign(county="zz99"), "county: a public value is missing or not among"),
    ],
)
def test_wide_files_that_are_refused(change: object, said: str) -> None:
    with pytest.raises(SchemaError, match=said) as refused:
        as_read(change(wide(50)), plan(), wide_schema())  # type: ignore[operator]
    assert "zz99" not in str(refused.value)


def test_long_files_that_are_refused() -> None:
    long = to_long(wide(50))
    with pytest.raises(SchemaError, match="year: a unit has two rows for one year"):
        as_read(pd.concat([long, long.head(1)]), long_plan(), long_schema())
    for name, value in (("county", "0102"), ("kind", "multi"), ("born", 2000)):
        other = long.copy()
        row = other.index[other.firm.duplicated(keep=False)][0]
        other.loc[row, name] = value if other.loc[row, name] != value else {"county": "0101"}.get(name, "single")
        with pytest.raises(SchemaError, match=f"{name}: rows of one unit disagree"):
            as_read(other, long_plan(), long_schema())
