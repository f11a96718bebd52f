"""The R package in r/: clean by R's own check, and the same numbers as Python from the same bundle."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import tacita as tc
from support.bundles import PEOPLE, people, released, spec, table
from tacita.inference import (
    Estimate,
    FixedMeasurement,
    FullSynthesis,
    LargeSample,
    OneMeasurement,
    PartialSynthesis,
    Rule,
    combine_estimates,
)

PACKAGE = Path(__file__).parents[2] / "r"
FILES = """
[[microdata]]
name = "people"
mechanism = "QuantileSynthesis"
epsilon = "4"
columns = ["w", "pay"]
groups = ["sex"]
sets = 3
"""
RULES: dict[str, tuple[Rule, str]] = {
    "partial": (PartialSynthesis(), ""),
    "full": (FullSynthesis(0.5), ", size_ratio = 0.5"),
    "one-measurement": (OneMeasurement(), ""),
    "fixed-measurement": (FixedMeasurement([2.0, 3.0]), ", noise_variance = c(2, 3)"),
    "large-sample": (LargeSample(0.5, True), ", size_ratio = 0.5, drawn_parameters = TRUE"),
}

pytestmark = pytest.mark.r


def r(script: str) -> list[float]:
    """Numbers that a script prints, one to a line; the package's files are read as they stand."""
    command = shutil.which("Rscript") or pytest.skip("no Rscript here (Debian: r-base-core)")
    sources = "".join(f"source({json.dumps(str(path))})\n" for path in sorted((PACKAGE / "R").glob("*.R")))
    show = 'show <- function(...) cat(sprintf("%.12g\\n", unlist(list(...))), sep = "")\n'
    done = subprocess.run([command, "-e", sources + show + script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    schema = PEOPLE.replace('"B11"]', '"B11", "=1+1"]')
    asked = (
        table("persons", by=["tract", "sex"], totals=["tract"])
        + table("levels", by=["tract"], levels=["county", "state"], confidence="0.9")
        + table("mean", by=["sex"], statistic="mean", of="hours")
        + table("withheld", by=["tract"], withhold="1%")
    )
    return released(tmp_path_factory.mktemp("r"), schema, people(600), spec(asked + FILES))[0]


def read(bundle: Path) -> str:
    return f"bundle <- read_bundle({json.dumps(str(bundle))})\n"


def test_r_finds_nothing_to_say_about_the_package(tmp_path: Path) -> None:
    command = shutil.which("R") or pytest.skip("no R here (Debian: r-base-core)")
    # The list of other packages is an empty one beside it, so that nothing is asked of the network.
    (tmp_path / "src" / "contrib").mkdir(parents=True)
    (tmp_path / "src" / "contrib" / "PACKAGES").touch()
    (tmp_path / "profile").write_text(f'options(repos = c(CRAN = "file://{tmp_path}"))\n')
    quiet = {
        "R_PROFILE_USER": str(tmp_path / "profile"),
        "_R_CHECK_SYSTEM_CLOCK_": "0",
        "_R_CHECK_FORCE_SUGGESTS_": "0",
    }
    for step in (["build", str(PACKAGE)], ["check", "--no-manual", "tacita_0.1.0.tar.gz"]):
        done = subprocess.run(
            [command, "CMD", *step], cwd=tmp_path, env=os.environ | quiet, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "Status: OK" in done.stdout, done.stdout


def test_tables_are_those_of_the_bundle(bundle: Path) -> None:
    names = ["persons", "levels", "mean", "withheld"]
    shown = r(
        read(bundle)
        + 'stopifnot(is.character(bundle$tables$persons$tract), "=1+1" %in% bundle$tables$persons$tract)\n'
        + "".join(
            f"t <- bundle$tables${name}; show(nrow(t), sum(t$value, na.rm = TRUE), sum(is.na(t$value)),"
            " sum(t$margin_of_error, na.rm = TRUE))\n"
            for name in names
        )
    )
    wanted = []
    for name in names:
        cells = pd.read_parquet(bundle / "tables" / f"{name}.parquet")
        wanted += [len(cells), cells["value"].sum(), cells["value"].isna().sum(), cells["margin_of_error"].sum()]
    assert shown == pytest.approx(wanted, rel=1e-10)
    assert wanted[-2] > 0


@pytest.mark.parametrize("name", ["persons", "levels"])
def test_margins_leave_totals_and_coarser_levels_out(bundle: Path, name: str) -> None:
    shown = r(
        read(bundle)
        + f'm <- margins(bundle, "{name}", list(tract = "A11"), list(tract = "A12"))\nshow(m$value, m$margin)'
    )
    cells = pd.read_parquet(bundle / "tables" / f"{name}.parquet")
    cells = cells[cells["level"].isin(["cell", "tract"])]
    a, b = (cells[cells["tract"] == one] for one in ("A11", "A12"))
    value_a, value_b = a["value"].sum(), b["value"].sum()
    margin_a, margin_b = (np.sqrt((one["margin_of_error"] ** 2).sum()) for one in (a, b))
    assert shown[:4] == pytest.approx([value_a, value_b, value_a - value_b, value_a / value_b], rel=1e-10)
    of_ratio = np.hypot(margin_a, value_a / value_b * margin_b) / abs(value_b)
    assert shown[4:] == pytest.approx([margin_a, margin_b, np.hypot(margin_a, margin_b), of_ratio], rel=1e-10)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ('margins(bundle, "mean", list())', "do not add up"),
        ('margins(bundle, "jobs", list())', "there is no published table jobs"),
        ('margins(bundle, "persons", list(tract = "Z"))', "a code that you gave is not in the table"),
        ("combine(bundle$files[1], mean_of(bundle, 'pay'), rule = bundle$kind)", "needs at least 2 synthetic files"),
        ("combine(bundle$files, mean_of(bundle, 'pay'))", "rule: must be one of partial"),
        ("read_bundle('nowhere')", "is not the folder of a release"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(bundle: Path, asked: str, words: str) -> None:
    said = f"said <- tryCatch({{ {asked}; '' }}, error = conditionMessage)\n"
    assert r(read(bundle) + said + f"show(grepl({json.dumps(words)}, said, fixed = TRUE))") == [1]


def test_weights_and_the_rule_of_the_files_are_used(bundle: Path) -> None:
    schema = tc.Schema.from_dict(json.loads((bundle / "plan.json").read_text())["schema"])
    files = tc.Implicates.read(bundle / "microdata", schema)

    def weighted(file: pd.DataFrame) -> tuple[float, float]:
        y, w = file["pay"], file["w"]
        mean = (w * y).sum() / w.sum()
        return mean, ((w * (y - mean)) ** 2).sum() / w.sum() ** 2 * len(y) / (len(y) - 1)

    found = r(
        read(bundle)
        + 'stopifnot(bundle$weight == "w")\n'
        + 'show(combine(bundle, mean_of(bundle, "pay")))\n'
        + 'show(combine(bundle, mean_of(bundle, "sex", "F", weight = NULL)))\n'
        + "show(combine(bundle, function(file) lm(pay ~ w, data = file), level = 0.9))\n"
    )
    pay = tc.combine(files, weighted)
    women = tc.combine(
        files, lambda file: (file["sex"] == "F").astype(float).pipe(lambda y: (y.mean(), y.var() / len(y)))
    )
    line = tc.combine(files, lambda file: smf.ols("pay ~ w", file).fit())
    assert found[:5] == pytest.approx([pay.value, pay.standard_error, pay.df, *pay.interval(0.95)], rel=1e-8)
    # The files agree about it but for rounding, so that its degrees of freedom are without end in either language.
    assert found[7] > 1e12 < women.df
    assert found[5:7] == pytest.approx([women.value, women.standard_error], rel=1e-8)
    assert found[8:10] == pytest.approx(women.interval(0.95), rel=1e-8)
    low, high = line.interval(0.9)
    assert found[10:] == pytest.approx([*line.value, *line.standard_error, *line.df, *low, *high], rel=1e-7)


@pytest.mark.parametrize("df", [np.inf, 7.0])
@pytest.mark.parametrize("name", RULES)
def test_every_rule_gives_what_python_gives(name: str, df: float) -> None:
    """Of two numbers the files agree about the second, so that the rule of `full` files has to be rescued."""
    rule, settings = RULES[name]
    answers = [
        ([9.0, 1.0], [1.0, 2.0]),
        ([12.0, 1.1], [1.5, 2.5]),
        ([11.0, 1.05], [0.5, 2.0]),
        ([8.0, 0.95], [1.0, 1.0]),
    ]
    wanted = combine_estimates([Estimate(np.array(q), np.array(u), df) for q, u in answers], rule)
    degrees = "Inf" if np.isinf(df) else df
    listed = ", ".join(
        f"list(estimate = c({q[0]}, {q[1]}), variance = c({u[0]}, {u[1]}), df = {degrees})" for q, u in answers
    )
    found = r(f'show(combine(list({listed}), identity, rule = "{name}"{settings}))')
    low, high = wanted.interval(0.95)
    assert found == pytest.approx([*wanted.value, *wanted.standard_error, *wanted.df, *low, *high], rel=1e-8)


def test_the_code_of_the_guide_runs(bundle: Path) -> None:
    guide = (PACKAGE.parent / "docs" / "using-a-release.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```r\nlibrary\(tacita\)\n(.*?)```", guide, flags=re.DOTALL)
    script = "answer <- {\n" + code + "}\nshow(answer$value)"
    shown = r(f"setwd({json.dumps(str(bundle.parent))})\n{script}")
    assert len(shown) == 4


def test_a_changed_file_is_noticed(bundle: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bundle, tmp_path / "copy")
    with (copy / "tables" / "mean.csv").open("a") as file:
        file.write("\n")
    said = "said <- tryCatch({ read_bundle(path); '' }, error = conditionMessage)\n"
    script = f"path <- {json.dumps(str(copy))}\n{said}show(grepl('was changed after it was written', said))"
    assert r(script) == [1]
