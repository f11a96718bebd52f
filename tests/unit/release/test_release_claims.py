"""Pages and the command line say what a method does, as firmly as it holds, and the doubtful things first."""

import re
from dataclasses import replace
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console

from support.browser_page import look
from support.release import small_release
from support.specifications import head, levels, microdata, number, schema
from tacita import synthesis
from tacita.dossier.findings import Findings
from tacita.dossier.page import render_dossier
from tacita.ledger import Ledger
from tacita.mechanisms import change, eree, magnitude, slow, table
from tacita.plan.how import How
from tacita.privacy import UNCHECKED, AddRemoveOne, Guarantee, Loss, ReplaceOne
from tacita.privacy.json_form import loss_to_json, neighbours_to_json
from tacita.release.mechanisms import TABLE_MECHANISMS, synthesizer_names
from tacita.release.outlook import show_finished, show_ledger, show_plan
from tacita.release.plans import prepare
from tacita.release.run import run
from tacita.release.spec import Spec

PERSON = ReplaceOne("person")
TRUSTED = "each row of the file is one whole person; the file has no person id, so nothing could check it"

PANEL: dict[str, Any] = {"unit": "firm", "keep": ["county"], "years": (1976, 1978)}
# One of each, as they are released. What a page may say of each is held to its proof below.
PLANS: dict[str, Any] = {
    "HistogramSynthesis": lambda: synthesis.HistogramSynthesis(["a"], "1", neighbours=AddRemoveOne("person")),
    "IndependentSynthesis": lambda: synthesis.IndependentSynthesis(["a"], "1"),
    "DirichletSynthesis": lambda: synthesis.DirichletSynthesis(["a"], "1"),
    "StepsSynthesis": lambda: synthesis.StepsSynthesis(["a", "b"], "1"),
    "PairwiseSynthesis": lambda: synthesis.PairwiseSynthesis(["a", "b"], "1", delta="1e-9"),
    "FileSynthesis": lambda: synthesis.FileSynthesis(["a", "b"], "1"),
    "QuantileSynthesis": lambda: synthesis.QuantileSynthesis(["a"], "1"),
    "SurveySynthesis": lambda: synthesis.SurveySynthesis(["pay"], "1", weight="w", by=["field"]),
    "CensoredPosterior": lambda: synthesis.CensoredPosterior(["pay"], "1", weight="w", by=["field"]),
    "PseudoPosterior": lambda: synthesis.PseudoPosterior(["pay"], "1", weight="w", by=["field"]),
    "PanelSynthesis": lambda: synthesis.PanelSynthesis({"employment": "emp{year}"}, "4", **PANEL),
    "PlainPanelSynthesis": lambda: synthesis.PlainPanelSynthesis({"employment": "emp{year}"}, **PANEL),
    "Table": lambda: table.Table("mean", "1", of="pay"),
    "Change": lambda: change.Change("growth", "1", of=["before", "after"]),
    "SmoothSums": lambda: magnitude.SmoothSums("0.1", "2", of=["pay"]),
    "SmoothGrowth": lambda: magnitude.SmoothGrowth("0.1", "2", of=["before", "after"]),
    "SlowSums": lambda: slow.SlowSums("1", of="pay", offset="1000", reference="10000"),
    "SmoothFlows": lambda: magnitude.SmoothFlows("0.1", "2", of=["before", "after"]),
    "EdgeLaplace": lambda: eree.EdgeLaplace("1"),
    "TruncatedLaplace": lambda: eree.TruncatedLaplace(50, "1"),
    **{
        name: lambda name=name: getattr(eree, name)("0.1", "2")
        for name in ("LogLaplace", "SmoothGamma", "SmoothLaplace", "SmoothStaircase", "SmoothStudent", "SmoothVector")
    },
}
# Nothing is added to any number by these: what protects is the law of a draw.
WITHOUT_NOISE = {"DirichletSynthesis", "CensoredPosterior", "PseudoPosterior", "PlainPanelSynthesis"}
# Their files hold public columns as collected, so the exact number of records in each of their cells.
DESIGN_LEAVES = {"SurveySynthesis", "CensoredPosterior", "PseudoPosterior", "PanelSynthesis", "PlainPanelSynthesis"}
EACH_FILE_COSTS = WITHOUT_NOISE - {"PlainPanelSynthesis"}


def test_every_plan_of_the_package_says_how_it_knows_the_file() -> None:
    assert set(PLANS) == {*TABLE_MECHANISMS, *synthesizer_names()}


@pytest.mark.parametrize("name", PLANS)
def test_the_words_of_a_method_are_those_of_its_proof(name: str) -> None:
    how = PLANS[name]().how
    assert isinstance(how, How)
    assert ("random noise" in how.knows.lower()) == (name not in WITHOUT_NOISE)
    assert ("No noise was added" in how.knows) == (name in WITHOUT_NOISE)
    assert ("as collected" in how.exact) == (name in DESIGN_LEAVES)
    if name not in TABLE_MECHANISMS:
        assert ("cost as much again" in how.another) == (name in EACH_FILE_COSTS)
    assert ("nothing is proved for the file at hand" in how.knows) == (
        PLANS[name]().guarantee.holds == "asymptotically"
    )


def test_a_plain_panel_says_that_nothing_is_promised() -> None:
    plan = PLANS["PlainPanelSynthesis"]()
    assert "nothing is promised" in plan.how.knows
    assert "random noise was added" not in plan.how.knows


# ---------------------------------------------------------------- the page


def page_of(tmp_path: Path, **changed: Any) -> str:
    out = small_release(**changed).write(tmp_path / "bundle")
    return unescape((out / "report.html").read_text(encoding="utf-8")).replace("\u00a0", " ")


def test_what_nobody_could_check_stands_before_everything_else(tmp_path: Path) -> None:
    page = page_of(tmp_path, guarantee=Guarantee(PERSON, Loss("1"), assumes=(UNCHECKED + TRUSTED,)))
    first = re.findall(r"<p.*?</p>", page[page.index("</header>") :], re.DOTALL)[0]
    assert TRUSTED in first
    assert "rests on this" in first
    for record in ("codebook.xml", "datapackage.json", "registry.yaml", "plan.json"):
        assert TRUSTED in (tmp_path / "bundle" / record).read_text(encoding="utf-8"), record


def test_a_bound_in_the_limit_is_said_first_and_beside_each_number(tmp_path: Path) -> None:
    page = page_of(tmp_path, guarantee=Guarantee(PERSON, Loss("1"), "asymptotically"))
    assert page.index("Not proved for this file") < page.index("This release publishes")
    assert "A privacy loss of ε = 1 (asymptotic, not proved)" in page
    assert "If the bound held for this file: someone who gives a guess" in page
    assert "Highest after" not in page  # a table of odds that nothing bounds
    assert "The guarantee is proved" not in page
    loose = [found for found in re.findall(r"ε = 1\b(?!\.)[^<]{0,60}", page) if "asymptotic" not in found]
    # The sample's one product keeps a promise of its own.
    assert not [one for one in loose if not re.search("cap|limit|strong α", one)], loose


def account(**more: Any) -> dict[str, Any]:
    one = Loss("1")
    return {
        "neighbours": neighbours_to_json(PERSON),
        "identities": ["people"],
        "cap": loss_to_json(Loss("20")),
        "spent": loss_to_json(one),
        "left": loss_to_json(one),
        "waived": None,
        "silent": [],
        **more,
    }


def test_a_sum_with_an_earlier_bound_in_the_limit_is_not_printed_as_proved(tmp_path: Path) -> None:
    trusted = "the number of records is large"
    extract = {"accounts": [account(holds="asymptotically", assumes=[trusted])]}
    page = page_of(tmp_path, guarantee=Guarantee(PERSON, Loss("1")), ledger_extract=extract)
    assert "An earlier release from this file holds asymptotically only" in page
    assert re.search(
        r"All other charges to this file</td><td class=\"number\">ε = [\d.]+ \(asymptotic, not proved\)", page
    )
    assert "The number of records is large." in page


def test_a_ledger_that_did_not_record_firmness_is_not_taken_as_firm(tmp_path: Path) -> None:
    page = page_of(tmp_path, guarantee=Guarantee(PERSON, Loss("1")), ledger_extract={"accounts": [account()]})
    assert "was not recorded when they were made" in page


def test_a_page_has_days_and_no_times_nor_attempts(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    assert "1 January 2026" in page
    assert not re.search(r"\d\d:\d\d", page)
    assert not re.search(r"interrupted|broken off|unfinished|refused|failed", page)


HOSTILE = "<script>alert(1)</script>\u202egnp.exe\u2066\x1b[31m\x00\x9b &amp; [/] " + "w" * 300


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    (product,) = small_release().products
    named = small_release(title=HOSTILE, publisher=HOSTILE, products=(_renamed(product),))
    page = (named.write(tmp_path / "bundle") / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def _renamed(product: Any) -> Any:
    labels = pa.array([f"{at}{HOSTILE}" for at in range(product.table.num_rows)])
    table = product.table.set_column(product.table.column_names.index("place_label"), "place_label", labels)
    settings = {**product.settings, "title": HOSTILE}
    return replace(product, title=HOSTILE, proof=HOSTILE, settings=settings, table=table)


@pytest.mark.parametrize("width", [500, 1200])
def test_hostile_names_neither_run_nor_stretch_the_page(tmp_path: Path, width: int) -> None:
    (product,) = small_release().products
    named = small_release(title=HOSTILE, publisher=HOSTILE, products=(_renamed(product),))
    page = (named.write(tmp_path / "bundle") / "report.html").read_text(encoding="utf-8")
    seen = look(page, tmp_path, width)
    assert seen.console == []
    assert seen.requests == []
    assert seen.content <= seen.window


def test_the_dossier_opens_with_the_same_doubts() -> None:
    promise = Guarantee(PERSON, Loss("18"), "asymptotically", (UNCHECKED + TRUSTED,))
    page = render_dossier(
        Findings("t", "2026-11-15", "0", 0.0, (), (), None, None, (), (), (), (), (), promise=promise)
    )
    assert page.index(TRUSTED) < page.index("Not proved for this file") < page.index("This dossier measures")
    assert "holds for every possible file" not in page


# ---------------------------------------------------------------- the command line

SCHEMA = schema(
    "people[/]", "person", region=levels("n", "s", role="public"), pay=number(100, 100000), w=number(1, 2000)
)
SPEC = head(
    "people", title="Pay [/] [bold]of[/red] all\\\\", neighbours="replace", unit="person", epsilon="60"
) + microdata("pay", title="Pay [/] [link=x]")
PSEUDO = 'mechanism = "PseudoPosterior"\ncolumns = ["pay"]\nweight = "w"\nby = ["region"]\nepsilon = "24"\nsets = 2\n'
COUNTS = 'mechanism = "HistogramSynthesis"\ncolumns = ["region"]\nepsilon = "1"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = range(1, 301)
    pay = [900 + 37 * one % 5000 for one in rows]
    frame = pd.DataFrame({"region": ["n", "s"] * 150, "pay": pay, "w": [1 + one % 90 for one in rows]})
    frame.astype({"pay": float, "w": float}).to_parquet(tmp_path / "people.parquet", index=False)
    (tmp_path / "people.schema.toml").write_text(SCHEMA)
    return tmp_path


def spec(folder: Path, product: str) -> Spec:
    (folder / "spec.toml").write_text(SPEC + product)
    return Spec.load(folder / "spec.toml")


def shown(show: Any, *args: Any) -> str:
    console = Console(file=StringIO(), width=400, color_system=None, markup=False, emoji=False)  # as in `terminal`
    show(console, *args)
    return " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]


def test_plan_run_and_ledger_say_what_a_number_rests_on(folder: Path) -> None:
    given = spec(folder, PSEUDO)
    said = shown(show_plan, prepare(given))
    assert said.index("Taken on trust: each row of the file is one whole person") < said.index("The guarantee")
    assert said.index("Not proved for this file") < said.index("The guarantee")
    assert said.count("ε = 24 (asymptotic, not proved)") >= 2
    assert "Pay [/] [bold]of[/red] all\\" in said
    assert "Pay [/] [link=x]" in said
    finished = run(given, folder / "first")
    said = shown(show_finished, finished, folder / "first")
    assert "Not proved for this file" in said
    assert "Taken on trust" in said
    ledger = Ledger.open(folder / "people.ledger", read_only=True)
    said = shown(show_ledger, ledger)
    assert "Pay [/] [bold]of[/red] all\\: pay" in said
    assert TRUSTED in said
    assert "The sum is not proved" in said
    assert said.count("ε = 24 (asymptotic, not proved)") == 1


def test_a_later_release_carries_the_firmness_of_the_earlier_one(folder: Path) -> None:
    """An asymptotic ε, paid for before, is never printed as if it were proved."""
    run(spec(folder, PSEUDO), folder / "first")
    planned = prepare(spec(folder, COUNTS))
    said = shown(show_plan, planned)
    assert "ε = 24 (asymptotic, not proved)" in said
    finished = run(planned.spec, folder / "second")
    assert finished.release.guarantee.holds == "always"
    page = (folder / "second" / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "An earlier release from this file holds asymptotically only" in page
    assert "ε = 24 (asymptotic, not proved)" in page
    registry = (folder / "second" / "registry.yaml").read_text(encoding="utf-8")
    assert "asymptotic" in registry
    said = shown(show_finished, finished, folder / "second")
    assert "asymptotic" in said
