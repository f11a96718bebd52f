"""Code to copy from the public page, run as a reader would, in Python and in R, for every kind of bundle."""

import contextlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from support.bundles import PEOPLE, people, released, spec, table
from tacita.data.schema import Schema
from tacita.implicates import Implicates, Kind
from tacita.pages import render
from tacita.release.bundle_files import write_csv
from tacita.release.microdata import csv_name
from tacita.release.page import code_for_cells, files_code, table_code


def code(page: str, language: str) -> str:
    block = re.search(rf"<figcaption>{language}</figcaption><pre><code>(.*?)</code></pre>", page, re.DOTALL)
    assert block, language
    return unescape(block[1])


def numbers(page: str, language: str, folder: Path) -> list[float]:
    """Every number that the code prints; skips where R is missing. Python's needs no process of its own to be run."""
    if language == "R":
        r = shutil.which("Rscript") or pytest.skip("no Rscript here; install it with .ci/debian-packages")
        done = subprocess.run([r, "-e", code(page, language)], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        printed = done.stdout
    else:
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code(page, language), {"__name__": "__main__"})
        printed = out.getvalue()
    return [float(one.replace(",", "")) for one in re.findall(r"-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?", printed)]


# ---------------------------------------------------------------- tables of a release

TABLES = {
    "plain": {"by": ["tract"]},
    "crossed": {"by": ["tract", "sex"], "totals": ["tract"]},
    "levels": {"by": ["tract"], "levels": ["county", "state"]},
    "weighted": {"by": ["sex"], "statistic": "sum", "of": "pay", "weights": "w", "clamp": [0, 50000]},
    "withheld": {"by": ["tract", "sex"], "withhold": "1%"},
}
NO_SUM = {"mean": {"by": ["sex"], "statistic": "mean", "of": "hours"}, "all": {"by": []}}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = "".join(table(name, **settings) for name, settings in {**TABLES, **NO_SUM}.items())
    return released(tmp_path_factory.mktemp("tables"), PEOPLE, people(), spec(asked))[0]


def records(folder: Path) -> dict[str, Any]:
    return {one["name"]: one for one in json.loads((folder / "plan.json").read_text())["tables"]}


@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize("name", TABLES)
def test_cells_of_every_kind_of_table_are_compared(tables: Path, name: str, language: str) -> None:
    page = render.part("code_to_copy", table_code(tables, [records(tables)[name]]))
    cells = pd.read_parquet(tables / "tables" / f"{name}.parquet")
    key = TABLES[name]["by"][0]
    if name == "levels":
        cells = cells[cells["level"] == "tract"]
    if name == "crossed":
        cells = cells[cells["level"] == "cell"]
    first, second = cells[key].drop_duplicates()[:2]
    a, b = (cells[cells[key] == one] for one in (first, second))
    if name == "withheld":
        assert cells["value"].isna().any()
        assert numbers(page, language, tables) == []  # what is not known is not made up
        return
    margin = np.sqrt((a["margin_of_error"] ** 2).sum() + (b["margin_of_error"] ** 2).sum())
    rounded = {"rel": 1e-4, "abs": 0.51}
    assert numbers(page, language, tables)[:2] == pytest.approx(
        [a["value"].sum() - b["value"].sum(), margin], **rounded
    )


@pytest.mark.parametrize("name", NO_SUM)
def test_what_does_not_add_up_has_no_code_that_adds(tables: Path, name: str) -> None:
    assert table_code(tables, [records(tables)[name]]) == []


@pytest.mark.parametrize("language", ["Python", "R"])
def test_codes_that_look_like_formulas_are_found_in_the_csv_file(tmp_path: Path, language: str) -> None:
    """The file has an apostrophe before them; without it in the code the answer was 0, and nobody noticed."""
    cells = pa.table({'pl"ace': ["=1+1", "-b"], "value": [10, 20], "margin_of_error": [3, 4]})
    (tmp_path / "tables").mkdir()
    write_csv(cells, tmp_path / "tables" / "jobs.csv")
    page = render.part("code_to_copy", code_for_cells("jobs", cells, ()))
    assert numbers(page, language, tmp_path)[:2] == pytest.approx([-10, 5])


# ---------------------------------------------------------------- totals


@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize("labelled", [True, False])
def test_totals_are_not_added_to_their_own_parts(tmp_path: Path, language: str, labelled: bool) -> None:
    """Also where a column has no labels: its totals were added to the cells, and every sum came out double."""
    columns: dict[str, Any] = {
        "place name": ["NA", "NA", "NA", "02", "02", "02"],
        "place name_label": ["A", "A", "A", "B", "B", "B"],
        "sex": ["F", "M", "Total", "F", "M", "Total"],
        "sex_label": ["F", "M", "", "F", "M", ""],
        "value": [10, 20, 30, 1, 2, 3],
        "margin_of_error": [3, 4, 9, 3, 4, 9],
    }
    if not labelled:
        del columns["sex_label"]
    table = pa.table(columns)
    (tmp_path / "tables").mkdir()
    pa_csv.write_csv(table, tmp_path / "tables" / "jobs.csv")
    page = render.part("code_to_copy", code_for_cells("jobs", table, ["place name"]))
    assert numbers(page, language, tmp_path)[:2] == pytest.approx([27, 7], abs=0.5)
    assert 'drop if sex == "Total"' in code(page, "Stata")


def test_a_level_called_total_is_kept_where_nothing_was_summed() -> None:
    table = pa.table({"kind": ["Total", "Part"], "value": [3, 1], "margin_of_error": [1, 1]})
    assert '"Total"' in dict(code_for_cells("t", table, ()))["Python"]


# ---------------------------------------------------------------- synthetic files

# The variance of a mean over four files, from that within a file and that between them.
KINDS: dict[Kind, Callable[[float, float], float]] = {
    "partial": lambda within, between: within + between / 4,
    "one-measurement": lambda within, between: within + 1.25 * between,
    "full": lambda within, between: 1.25 * between - within if 1.25 * between > within else within,
}
SCHEMA: dict[str, Any] = {
    "dataset": {"identity": "people", "unit": "person"},
    "variables": {
        "region": {"role": "public", "type": "categorical", "levels": ["=1", "02"]},
        "w": {"role": "confidential", "type": "numeric", "lower": 1, "upper": 5000},
        "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 10**6},
    },
}


def bundle(
    folder: Path,
    files: int,
    *,
    weight: bool,
    columns: tuple[str, ...],
    kind: Kind = "partial",
    rehearsal: bool = False,
    unfit: bool = False,
) -> str:
    """A folder with synthetic files and the page's words on how to analyse them."""
    random = np.random.default_rng(5)
    frames = []
    for _ in range(files):
        w = random.uniform(1, 100, 200).round(1)
        pay = (5_000 + 1e6 / w).round(2)
        pay[:5] = np.nan
        frames.append(pd.DataFrame({"region": random.choice(["=1", "02"], 200), "w": w, "pay": pay})[list(columns)])
    schema = Schema.from_dict(SCHEMA)
    drawn = tuple(one for one in columns if one != "region")
    made = Implicates(tuple(frames), schema, drawn or columns, kind).write(folder / "microdata")
    for number, path in enumerate(made, start=1):
        write_csv(pq.read_table(path), path.with_name(csv_name(number, rehearsal=rehearsal, unfit=unfit)))
    mechanism = {"mechanism": "SurveySynthesis", "weight": "w"} if weight else {"mechanism": "QuantileSynthesis"}
    check = {"check": {"verdict": "not fit for use"}} if unfit else {}
    plan = {"rehearsal": rehearsal, "schema": schema.to_dict(), "microdata": [{"mechanism": mechanism, **check}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    return render.page("report/files_code.html.j2", files_code=files_code(made, plan, schema))


def weighted_means(folder: Path) -> list[float]:
    found = []
    for path in sorted((folder / "microdata").glob("*.parquet")):
        frame = pd.read_parquet(path).dropna()
        found.append(float(np.average(frame["pay"], weights=frame["w"])))
    return found


@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize("files", [1, 3])
def test_weights_of_a_survey_count(tmp_path: Path, language: str, files: int) -> None:
    page = bundle(tmp_path, files, weight=True, columns=("region", "w", "pay"))
    assert "survey weights" in page
    first = numbers(page, language, tmp_path)[0]
    assert first == pytest.approx(np.mean(weighted_means(tmp_path)), rel=1e-4)
    assert "[pweight = w]" in code(page, "Stata")


@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize("columns", [("region", "pay"), ("region",)])
def test_one_file_is_analysed_alone(tmp_path: Path, language: str, columns: tuple[str, ...]) -> None:
    page = bundle(tmp_path, 1, weight=False, columns=columns, kind="one-measurement")
    assert "There is nothing to combine" in page
    assert "combine" not in code(page, language)
    frame = pd.read_parquet(tmp_path / "microdata" / "implicate-01.parquet")
    wanted = frame["pay"].mean() if "pay" in columns else (frame["region"] == "=1").mean()
    assert numbers(page, language, tmp_path)[0] == pytest.approx(wanted, rel=1e-4)


# Every rule, and every stamp with one of them; the rest are slow tests.
STAMPED = [
    pytest.param(kind, stamp, marks=[pytest.mark.slow] * (bool(stamp) and kind != "one-measurement"))
    for kind in KINDS
    for stamp in ({}, {"rehearsal": True}, {"unfit": True})
]


@pytest.mark.parametrize("language", ["Python", "R"])
@pytest.mark.parametrize(("kind", "stamp"), STAMPED, ids=str)
def test_several_files_are_combined_by_their_rule(
    tmp_path: Path, language: str, kind: Kind, stamp: dict[str, bool]
) -> None:
    page = bundle(tmp_path, 4, weight=False, columns=("region", "pay"), kind=kind, **stamp)
    found = numbers(page, language, tmp_path)
    frames = [pd.read_parquet(path)["pay"] for path in sorted((tmp_path / "microdata").glob("*.parquet"))]
    assert found[0] == pytest.approx(np.mean([one.mean() for one in frames]), rel=1e-4)
    within = np.mean([one.var() / one.count() for one in frames])
    between = np.var([one.mean() for one in frames], ddof=1)
    variance = KINDS[kind](within, between)
    assert found[1] == pytest.approx(variance if language == "R" else variance**0.5, rel=1e-3)


def test_rows_are_said_to_be_real_units_only_where_columns_are_kept(tmp_path: Path) -> None:
    assert "stand for the collected persons" in bundle(tmp_path / "a", 2, weight=False, columns=("region", "pay"))
    assert "No row in them is a real person" in bundle(tmp_path / "b", 2, weight=False, columns=("pay",))
