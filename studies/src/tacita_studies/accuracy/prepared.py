"""The public files as a statistical office would hold them: one row per unit (and year), codes as text, no logarithms.

Nothing is chosen to suit a plan. Levels and bounds are declared in NAME.schema.toml from each file's documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tacita_studies.harness.real import sector_of

Prepare = Callable[[Path], pd.DataFrame]


def _coded(path: Path, *, number: tuple[str, ...] = ()) -> pd.DataFrame:
    """All columns but the numbers as codes, as they are written in the file."""
    frame = pd.read_csv(path, dtype="str")
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in number})


def _families(path: Path) -> pd.DataFrame:
    """One of the five imputed rows of each family."""
    codes = dict.fromkeys(("HHSEX", "AGECL", "EDCL", "MARRIED", "LF", "RACECL4", "HOUSECL"), "str")
    frame = pd.read_csv(path, dtype=codes)
    return frame[frame["Y1"] % 10 == 1]


def _colombian(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)
    columns = {"employment": "L", "output": "RGO", "capital": "K", "materials": "RI"}
    panel = pd.DataFrame({"plant": frame["id"], "year": 1900 + frame["year"], "industry": "311"})
    numbers = {name: np.exp(frame[column]).round(2) for name, column in columns.items()}
    return panel.assign(**numbers | {"employment": np.exp(frame["L"]).round().clip(1).astype(int)})


def _colombian_years(path: Path) -> pd.DataFrame:
    """Two years side by side, one row per plant; its size is that of the first year in which it is there."""
    panel = _colombian(path)
    years = {year: panel[panel["year"] == year].set_index("plant") for year in (1981, 1982)}
    columns = {f"{name}{year}": one[name] for name in ("employment", "output") for year, one in years.items()}
    wide = pd.DataFrame(columns)
    first = wide["employment1981"].fillna(wide["employment1982"])
    names = ["below 20", "20 to 49", "50 to 99", "100 or more"]
    size = pd.cut(first, [-1, 19.5, 49.5, 99.5, np.inf], labels=names).astype("str")
    return wide.assign(size=size).reset_index()


def _british(path: Path) -> pd.DataFrame:
    """Thousands of employees in the file, and pay per head."""
    frame = pd.read_csv(path, dtype={"sector": "str"})
    jobs = (1000 * frame["emp"]).round().astype(int)
    return pd.DataFrame(
        {
            "firm": frame["firm"],
            "year": frame["year"],
            "sector": frame["sector"],
            "employment": jobs,
            "payroll": (jobs * frame["wage"]).round().astype(int),
            "capital": (1000 * frame["capital"]).round().astype(int),
        }
    )


def _spanish(path: Path) -> pd.DataFrame:
    """A wide file: one row per firm, a column for each year; pay per head is a logarithm in the file."""
    frame = pd.read_csv(path)
    jobs = np.exp(frame["n"]).round().astype(int)
    pay = (10 * jobs * np.exp(frame["w"])).round().astype(int)
    long = frame.assign(employment=jobs, payroll=pay)
    wide = long.pivot_table(index="firm", columns="year", values=["employment", "payroll"])
    wide = wide.set_axis([f"{name}{year}" for name in ("employment", "payroll") for year in range(1983, 1991)], axis=1)
    return wide.astype(int).reset_index().assign(country="ES")


_EMPLOYEES = ("earnings", "earningsMonth", "hoursPaid", "weights")


def _employees(path: Path) -> pd.DataFrame:
    frame = _coded(path, number=_EMPLOYEES)
    return frame.assign(occupation=frame["occupation"].str[0])


def _tax_units(path: Path) -> pd.DataFrame:
    """Weights are hundredths in the file."""
    frame = pd.read_csv(path, dtype={"MARS": "str"})
    names = {"e00200": "wages", "e00300": "interest", "e00900": "business", "e02400": "social_security"}
    return frame.rename(columns=names).assign(
        weight=frame["s006"] / 100, children=frame["nu18"].clip(0, 5).astype("str")
    )


def _loans(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, dtype={"NAICSCode": "str"})
    return pd.DataFrame(
        {
            "loan": np.arange(len(frame)),
            "state": frame["file_state"],
            "sector": sector_of(frame["NAICSCode"]),
            "amount": frame["LoanAmount"],
            "jobs": frame["JobsRetained"],
        }
    )


def _zinc(path: Path) -> pd.DataFrame:
    """Those whose blood was examined."""
    frame = _coded(path, number=("finalwgt", "zinc"))
    return frame.dropna(subset=["zinc"])


PREPARED: dict[str, tuple[str, Prepare]] = {
    "scf2019": ("scf2019/scfp2019.csv.gz", _families),
    "colombian_plants": ("colombian_plants/colombian.csv.gz", _colombian),
    "colombian_years": ("colombian_plants/colombian.csv.gz", _colombian_years),
    "EmplUK": ("firm_panels/EmplUK.csv.gz", _british),
    "Snmesp": ("firm_panels/Snmesp.csv.gz", _spanish),
    "ses": ("laeken_eusilc_ses/ses.csv.gz", _employees),
    "ses_jobs": ("laeken_eusilc_ses/ses.csv.gz", _employees),
    "taxcalc_cps": ("taxcalc_cps/cps_core.csv.gz", _tax_units),
    "ppp": ("ppp_small_states/ppp_under150k_12states.csv.gz", _loans),
    "ppp_jobs": ("ppp_small_states/ppp_under150k_12states.csv.gz", _loans),
    "cps09mar": ("cps09mar/cps09mar.csv.gz", partial(_coded, number=("age", "education", "earnings", "hours"))),
    "apistrat": ("survey_r_package/apistrat.csv.gz", partial(_coded, number=("api00", "api99", "enroll", "pw"))),
    "nhanes2": ("nhanes2_nmihs/nhanes2.csv.gz", _zinc),
    "yrbs": ("survey_r_package/yrbs.csv.gz", partial(_coded, number=("weight",))),
    "sd2011": (
        "synthpop_sd2011/SD2011.csv.gz",
        partial(_coded, number=("age", "income", "nofriend", "height", "weight", "bmi", "nociga")),
    ),
    "adult": ("adult/adult.csv.gz", _coded),
    "cps2016": ("cps2016_categorical/cps2016.csv.gz", partial(_coded, number=("age", "weekly_hrs"))),
    "eusilc": ("laeken_eusilc_ses/eusilc.csv.gz", partial(_coded, number=("age", "eqIncome", "rb050"))),
    "nltcs": ("adult_nltcs/nltcs.csv.gz", _coded),
}
