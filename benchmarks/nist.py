"""`FileSynthesis` on NIST's Diverse Communities excerpts, by SDNist's k-marginal score of 1000.

Three files, and five sets of their columns, those of the archive of NIST's Collaborative Research Cycle. The score
follows SDNist 2.4: numbers by twentieths of the real file, all pairs of columns but PUMA and INDP, within PUMAs where
the set has them; with `--areas` the tables of PUMA and each other column are named in `keep`. SDNist's rules of
consistency are declared in the schema, and counted where files break them. The excerpts are public files that are not
part of the project.

    python benchmarks/nist.py [FOLDER] [--only ma tx national] [--sets family all] [--epsilon 1 5 10] [--seed 1]
        [--areas] [--reduced]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import combinations
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tacita
from tacita.privacy import AddRemoveOne

NUMBERS = {"AGEP": (0, 99), "POVPIP": (0, 501), "PINCP": (-20_000, 2_000_000), "PWGTP": (1, 3_000), "WGTP": (0, 3_000)}
LEVELS: dict[str, Any] = {
    "SEX": "12", "MSP": "N123456", "HISP": "01234", "RAC1P": "123456789", "HOUSING_TYPE": "123", "OWN_RENT": "012",
    "PINCP_DECILE": "N0123456789", "DVET": "N123456", "DREM": "N12", "DPHY": "N12", "DEYE": "12", "DEAR": "12",
    "NOC": ["N", *map(str, range(20))], "NPF": ["N", *map(str, range(2, 21))],
    "EDU": ["N", *map(str, range(1, 13))], "INDP_CAT": ["N", *map(str, range(19))],
}  # fmt: skip
SETS = {
    "demographic": "AGEP SEX MSP RAC1P HOUSING_TYPE OWN_RENT EDU PINCP_DECILE DVET DEYE",
    "industry": "PUMA SEX MSP HISP RAC1P OWN_RENT INDP_CAT EDU PINCP_DECILE",
    "family": "PUMA AGEP SEX MSP HISP RAC1P NOC NPF OWN_RENT PINCP_DECILE POVPIP",
    "simple": "PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP_CAT EDU PINCP PINCP_DECILE "
    "POVPIP DVET DREM DPHY DEYE DEAR",
}
SETS["all"] = f"{SETS['simple']} INDP PWGTP WGTP"
EPSILONS = ("1", "5", "10")
# Of each file and set at these ε: the best archived submission with a guarantee (0: there is none), and what we aim at.
ANCHORS = {
    ("ma", "demographic"): ((783, 0, 867), (976, 990, 993)),
    ("ma", "industry"): ((899, 911, 917), (930, 962, 972)),
    ("ma", "family"): ((785, 0, 865), (915, 950, 958)),
    ("ma", "simple"): ((861, 0, 930), (922, 952, 962)),
    ("ma", "all"): ((717, 773, 876), (900, 930, 942)),
    ("tx", "demographic"): ((828, 0, 873), (979, 991, 994)),
    ("tx", "industry"): ((889, 902, 907), (928, 960, 970)),
    ("tx", "family"): ((759, 0, 775), (905, 940, 952)),
    ("tx", "simple"): ((862, 0, 928), (915, 948, 957)),
    ("tx", "all"): ((733, 761, 867), (888, 922, 937)),
    ("national", "demographic"): ((976, 0, 969), (990, 996, 997)),
    ("national", "industry"): ((841, 861, 864), (908, 938, 948)),
    ("national", "family"): ((804, 0, 802), (888, 928, 940)),
    ("national", "simple"): ((851, 0, 927), (895, 942, 952)),
    ("national", "all"): ((847, 682, 781), (870, 915, 932)),
}
NOT_BY_AREA = ("PUMA", "DENSITY", "INDP")  # follows from it; not scored
ALLOWED = {"broken": "allow"}  # real records that break a rule pass; synthetic ones keep it


def schema_of(frame: pd.DataFrame) -> tacita.Schema:
    """Levels and bounds of the dictionary; the areas, their densities and the codes of industries are public."""
    kinds: dict[str, Any] = {}
    for name, (lower, upper) in NUMBERS.items():
        kinds[name] = {"role": "confidential", "type": "integer", "lower": lower, "upper": upper}
    for name in ("POVPIP", "PINCP"):
        kinds[name] |= {"missing": "own state"}
    for name, levels in LEVELS.items():
        kinds[name] = {"role": "confidential", "type": "categorical", "levels": list(levels)}
    for name in ("PUMA", "DENSITY", "INDP", "INDP_CAT"):
        if name in frame:
            kinds[name] = {"role": "confidential", "type": "categorical", "levels": sorted(frame[name].unique())}
    rules = [rule | ALLOWED for rule in rules_of(frame)]
    content = {
        "dataset": {"identity": "nist", "unit": "person"},
        "variables": {name: kinds[name] for name in frame},
        "rules": rules,
    }
    return tacita.Schema.from_dict(content)


def rules_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rules about columns that the file has."""
    child, adult = {"AGEP": {"most": 14}}, {"AGEP": {"least": 15}}
    not_n = {"not": "N"}
    grown = {"MSP": not_n, "PINCP_DECILE": not_n, "EDU": not_n, "DPHY": not_n, "DREM": not_n}
    none = {"DVET": "N", "MSP": "N", "PINCP_DECILE": "N", "INDP_CAT": "N", "PINCP": "missing"}
    implied = [
        (child, none | {"EDU": [one for one in LEVELS["EDU"] if one != "12"]}),
        (adult, grown | {"PINCP": {"not": "missing"}}),
        ({"AGEP": {"most": 4}}, {"DPHY": "N", "DREM": "N", "EDU": ["N", "1", "2", "3"]}),
        ({"AGEP": {"most": 2}}, {"EDU": "N"}),
        ({"HOUSING_TYPE": ["2", "3"]}, {"OWN_RENT": "0", "NPF": "N", "NOC": "N"}),
        ({"HOUSING_TYPE": "1"}, {"OWN_RENT": {"not": "0"}, "NOC": not_n}),
    ]
    never = [
        {"PINCP": {"least": 300_001}, "POVPIP": {"most": 100}},
        {"PINCP": {"least": 300_001}, "PINCP_DECILE": ["0", "1", "2", "3", "4"]},
        *({"NPF": str(size), "NOC": [str(one) for one in range(size, 20)]} for size in range(2, 20)),
    ]
    rules: list[dict[str, Any]] = [{"never": one} for one in never if set(one) <= set(frame)]
    for when, then in implied:
        then = {name: said for name, said in then.items() if name in frame}
        rules += [{"when": when, "then": then}] if then and set(when) <= set(frame) else []
    if "DENSITY" in frame:
        rules.append({"determines": "DENSITY", "from": "PUMA", "map": _map(frame, "PUMA", "DENSITY")})
    if "INDP" in frame:
        # Not `determines`: INDP has 260 codes, and its 19 categories are nearer when they are counted themselves.
        industry = _map(frame, "INDP", "INDP_CAT")
        codes = {own: sorted(one for one in industry if industry[one] == own) for own in sorted(set(industry.values()))}
        rules += [{"when": {"INDP_CAT": own}, "then": {"INDP": fine}} for own, fine in codes.items()]
    return rules


def _map(frame: pd.DataFrame, one: str, other: str) -> dict[str, str]:
    return dict(zip(frame[one], frame[other], strict=True))


def broken(made: pd.DataFrame, real: pd.DataFrame) -> int:
    """Records that break one of SDNist's rules, counted apart from the schema."""

    def n(name: str) -> Any:
        return made[name] == "N"

    def child() -> Any:
        return made["AGEP"] < 15

    def group() -> Any:
        return made["HOUSING_TYPE"] != "1"

    def wealthy() -> Any:
        return made["PINCP"] > 300_000

    def size(name: str) -> Any:
        return pd.to_numeric(made[name].where(~n(name)))

    ways = [
        *(("AGEP " + name, lambda a=name: child() & ~n(a)) for name in ("DVET", "MSP", "PINCP_DECILE", "INDP_CAT")),
        *(("AGEP " + a, lambda a=a: ~child() & n(a)) for a in ("MSP", "PINCP_DECILE", "EDU", "DPHY", "DREM")),
        *(("AGEP " + name, lambda a=name: (made["AGEP"] < 5) & ~n(a)) for name in ("DPHY", "DREM")),
        ("AGEP PINCP", lambda: child() != made["PINCP"].isna()),
        ("AGEP EDU", lambda: (child() & (made["EDU"] == "12")) | ((made["AGEP"] < 3) & ~n("EDU"))),
        ("PINCP POVPIP", lambda: wealthy() & (made["POVPIP"] <= 100)),
        ("PINCP PINCP_DECILE", lambda: wealthy() & made["PINCP_DECILE"].isin(list("01234"))),
        ("INDP INDP_CAT", lambda: made["INDP"].map(_map(real, "INDP", "INDP_CAT")) != made["INDP_CAT"]),
        ("PUMA DENSITY", lambda: made["PUMA"].map(_map(real, "PUMA", "DENSITY")) != made["DENSITY"]),
        ("NPF NOC", lambda: size("NPF") <= size("NOC")),
        ("HOUSING_TYPE OWN_RENT", lambda: group() != (made["OWN_RENT"] == "0")),
        ("HOUSING_TYPE NPF", lambda: group() & ~n("NPF")),
        ("HOUSING_TYPE NOC", lambda: group() != n("NOC")),
    ]
    wrong = np.zeros(len(made), dtype=bool)
    for names, way in ways:
        if set(names.split()) <= set(made):
            wrong |= np.asarray(way())
    return int(wrong.sum())


def binned(real: pd.DataFrame, made: pd.DataFrame, name: str) -> list[Any]:
    """A column of both files as SDNist codes it."""
    if name == "DENSITY":
        cuts = [150, *np.logspace(1, log10(52_864.7 + 500), 21)[8:]]
        return [np.searchsorted(cuts, frame[name].astype(float)) for frame in (real, made)]
    if name not in NUMBERS:
        codes = {level: k for k, level in enumerate(pd.concat([real[name], made[name]]).unique())}
        return [frame[name].map(codes).to_numpy() for frame in (real, made)]
    known = real[name].dropna()
    apart = known == 501 if name == "POVPIP" else known != known
    place = (20 * known[~apart].rank(pct=True)).astype(int).clip(upper=19)
    cuts = np.sort([*known[~apart].groupby(place).max(), *known[apart].unique()])
    return [
        np.where(frame[name].isna(), 0, 1 + np.minimum(np.searchsorted(cuts, frame[name]), cuts.size - 1))
        for frame in (real, made)
    ]


def k_marginal(real: pd.DataFrame, made: pd.DataFrame) -> float:
    names = [name for name in (*LEVELS, *NUMBERS, "DENSITY") if name in real]
    within = ["PUMA"] if "PUMA" in real else []
    coded = {name: binned(real, made, name) for name in (*names, *within)}
    far = []
    for one, two in combinations(names, 2):
        columns = [coded[name] for name in (*within, one, two)]
        shape = [int(max(part.max() for part in both)) + 1 for both in columns]
        cells = [np.ravel_multi_index([both[k] for both in columns], shape) for k in (0, 1)]
        shares = [np.bincount(some, minlength=int(np.prod(shape))) / some.size for some in cells]
        far.append(np.abs(shares[0] - shares[1]).sum())
    return 500 * (2 - float(np.mean(far)))


def as_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{name: pd.to_numeric(frame[name].replace("N", np.nan)) for name in NUMBERS})


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(os.environ.get("TACITA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    parser.add_argument("folder", type=Path, nargs="?", default=usual)
    parser.add_argument("--only", nargs="+", choices=("ma", "tx", "national"), default=["ma", "tx", "national"])
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--epsilon", nargs="+", default=list(EPSILONS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--areas", action="store_true", help="keep the tables of PUMA and each other column")
    parser.add_argument("--reduced", action="store_true", help="1,000 records of one file and set at one ε")
    given = parser.parse_args()
    folder = given.folder / "nist_diverse_communities"
    if not folder.is_dir():
        say("skipped: the public files are not there (TACITA_DATA)")
        return 0
    if given.reduced:
        given.only, given.sets, given.epsilon = ["ma"], ["family"], ["10"]
    for file in given.only:
        whole = as_numbers(pd.read_csv(folder / f"{file}2019.csv.gz", dtype=str, keep_default_na=False))
        for chosen in given.sets:
            real = whole[SETS[chosen].split()][: 1000 if given.reduced else None]
            schema = schema_of(real)
            some = k_marginal(real, real.sample(frac=0.4, random_state=given.seed))
            say(
                f"{file}, {chosen} ({len(real):,} records, {len(real.columns)} columns): a 40% subsample has {some:.0f}"
            )
            keep = [("PUMA", name) for name in real if given.areas and "PUMA" in real and name not in NOT_BY_AREA]
            for epsilon in given.epsilon:
                plan = tacita.FileSynthesis(
                    list(real), epsilon, delta="1e-5", neighbours=AddRemoveOne("person"), keep=keep
                )
                start = time.process_time()
                made = next(iter(plan.rehearse(real, schema, seed=given.seed).implicates))
                seconds = time.process_time() - start
                anchors = (dict(zip(EPSILONS, row, strict=True)).get(epsilon) for row in ANCHORS[file, chosen])
                best, goal = (one or "–" for one in anchors)
                say(
                    f"{file}, {chosen}, epsilon {epsilon}: {k_marginal(real, made):.0f} (best archived {best}, goal "
                    f"{goal}); {broken(made, real)} records break a rule; {seconds:.0f} s"
                )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
