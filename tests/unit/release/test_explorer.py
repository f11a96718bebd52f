"""The explorer: its page computes what `plan` says, at every price, and writes the specification that does it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from support.browser_page import ask, look
from support.explorable import CAPS, STATISTICS, firms, jobs, people, plain_jobs, with_files
from support.fuzzing.starting_points import STARTS, Start
from tacita.data.schema import Schema
from tacita.errors import TacitaError
from tacita.mechanisms.eree import SmoothStaircase
from tacita.mechanisms.table import Table
from tacita.mechanisms.table.accuracy import FEWEST
from tacita.privacy import AddRemoveOne, StrongAlpha
from tacita.release import explorer
from tacita.release.explorer import explorer_model, explorer_page, staircase_table
from tacita.release.plans import PlannedRelease, prepare, repriced
from tacita.release.spec import Spec

PRICES = ("0.003", "0.02", "0.11", "1/3", "0.5", "0.84", "1", "2.5", "6", "17")
DELTAS = ("0", "1e-9", "0.0003")
EXACTLY = 1e-9


def figures_of(release: PlannedRelease, name: str, alpha: str | None = None, **price: str) -> dict[str, float] | None:
    """What Python says that changes with the price on the page; None where it refuses. The page does not say how many
    records a cell needs."""
    (product,) = (one for one in release.products if one.spec.name == name)
    try:
        told = repriced(release, product, alpha=alpha, **price).plan.forecast(release.schema).figures
    except TacitaError:
        return None
    return {key: one for key, one in told.items() if key != FEWEST}


def in_page(page: str, asked: list[tuple[Any, ...]], folder: Path) -> list[dict[str, float] | None]:
    """What the page says, for rows of name, ε, δ and α."""
    script = f"""const asked = {json.dumps(asked)};
    return asked.map(([name, epsilon, delta, alpha]) => forecast(
      MODEL.products.find((one) => one.name === name), exact(epsilon), exact(delta), alpha ? exact(alpha) : null));"""
    answer: list[dict[str, float] | None] = ask(page, script, folder)
    return answer


def differing(
    expected: list[dict[str, float] | None], found: list[dict[str, float] | None], asked: list[tuple[Any, ...]]
) -> Iterator[str]:
    for wanted, got, row in zip(expected, found, asked, strict=True):
        if not wanted or not got:
            if bool(wanted) != bool(got):
                yield f"{row}: {wanted} in Python, {got} in the page"
        elif wanted.keys() != got.keys() or any(
            abs(got[key] - value) > EXACTLY * abs(value) for key, value in wanted.items()
        ):
            yield f"{row}: {wanted} in Python, {got} in the page"


@pytest.mark.browser
@pytest.mark.parametrize("cap", CAPS)
def test_the_page_forecasts_tables_as_the_plan_does(cap: str, tmp_path: Path) -> None:
    """Every statistic at ten prices, pure and with two values of δ: 690 settings under each relation."""
    release = people(tmp_path, cap)
    asked = [(name, epsilon, delta, None) for name in STATISTICS for epsilon in PRICES for delta in DELTAS]
    expected = [figures_of(release, name, epsilon=epsilon, delta=delta) for name, epsilon, delta, _ in asked]
    assert sum(one is not None for one in expected) > 500
    found = in_page(explorer_page(release), asked, tmp_path)
    assert list(differing(expected, found, asked)) == []


@pytest.mark.browser
def test_a_formula_that_is_off_by_a_millionth_is_noticed(tmp_path: Path) -> None:
    """The check itself."""
    release = people(tmp_path, names=("sum-tight",))
    page = explorer_page(release)
    broken = page.replace("variance: 2 * Math.exp", "variance: 2.000002 * Math.exp")
    assert broken != page
    asked = [("sum-tight", "1", "0", None)]
    expected = [figures_of(release, "sum-tight", epsilon="1")]
    assert len(list(differing(expected, in_page(broken, asked, tmp_path), asked))) == 1


@pytest.mark.browser
def test_the_page_forecasts_jobs_as_the_plan_does(tmp_path: Path) -> None:
    """Formulas at any price and α; grids at the points that were computed; the staircase at the price asked for."""
    release = jobs(tmp_path)
    asked = [("log", epsilon, "0", alpha) for epsilon in PRICES for alpha in ("0.01", "0.05", "0.1", "0.3")]
    grid = ("0.125", "0.315", "0.5", "1", "1.26", "2", "5.04", "32")
    asked += [
        (name, epsilon, "0", alpha) for name in ("gamma", "vector") for epsilon in grid for alpha in ("0.05", "0.1")
    ]
    asked.append(("staircase", "2", "0", "0.1"))
    expected = [figures_of(release, name, alpha, epsilon=epsilon) for name, epsilon, _, alpha in asked]
    found = in_page(explorer_page(release), asked, tmp_path)
    assert list(differing(expected, found, asked)) == []
    assert sum(one is not None for one in found) > 50


@pytest.mark.browser
@pytest.mark.parametrize("unit", ["worker", "establishment"])
def test_the_page_forecasts_jobs_under_plain_promises(unit: str, tmp_path: Path) -> None:
    release = plain_jobs(tmp_path, unit)
    asked = [("jobs", epsilon, "0", None) for epsilon in PRICES]
    expected = [figures_of(release, "jobs", epsilon=epsilon) for epsilon in PRICES]
    assert list(differing(expected, in_page(explorer_page(release), asked, tmp_path), asked)) == []


@pytest.mark.browser
def test_the_page_forecasts_sums_and_flows_of_firms(tmp_path: Path) -> None:
    release = firms(tmp_path)
    asked = [("sums", "2", "0", "0.1"), *(("flows", epsilon, "0", "0.1") for epsilon in ("0.125", "1", "2", "4"))]
    expected = [figures_of(release, name, epsilon=epsilon) for name, epsilon, *_ in asked]
    page = explorer_page(release)
    assert list(differing(expected, in_page(page, asked, tmp_path), asked)) == []
    now = moved(page, 'set("alpha", "0.2");', tmp_path)
    assert "no forecast here" not in now["words"]["head-0"]
    assert "Computed for α = 0.1 only" in ask(page, NOTE, tmp_path)


NOTE = """document.getElementById("alpha").value = "0.2";
  document.getElementById("alpha").dispatchEvent(new Event("change")); drawAll();
  return document.getElementById("figures-1").textContent;"""


@pytest.mark.browser
def test_the_page_forecasts_synthetic_files_where_they_were_computed(tmp_path: Path) -> None:
    release = with_files(tmp_path)
    asked = [("files", epsilon, "0", None) for epsilon in ("0.0625", "0.5", "1", "2", "16")]
    expected = [figures_of(release, "files", epsilon=epsilon) for _, epsilon, *_ in asked]
    page = explorer_page(release)
    assert list(differing(expected, in_page(page, asked, tmp_path), asked)) == []
    (between,) = in_page(page, [("files", "1.4", "0", None)], tmp_path)
    assert between == pytest.approx(figures_of(release, "files", epsilon="1.4"), rel=0.02)
    again = read_again(moved(page, 'set("epsilon-text-1", "3");', tmp_path)["spec"], tmp_path)
    assert again.microdata[0].spec.epsilon == "3"


@pytest.mark.browser
def test_between_computed_points_the_page_is_near_the_plan(tmp_path: Path) -> None:
    """The margin of a staircase falls in steps of its own, so there it is less near than the typical error."""
    release = jobs(tmp_path, ("vector", "staircase"))
    asked = [(name, epsilon, "0", "0.1") for name in ("vector", "staircase") for epsilon in ("1.3", "2.7", "3.9")]
    expected = [figures_of(release, name, alpha, epsilon=epsilon) for name, epsilon, _, alpha in asked]
    found = in_page(explorer_page(release), asked, tmp_path)
    for wanted, got, row in zip(expected, found, asked, strict=True):
        assert wanted is not None
        assert got is not None
        assert got["typical_error_in_S"] == pytest.approx(wanted["typical_error_in_S"], rel=0.01), row
        assert got["margin_90_in_S"] == pytest.approx(wanted["margin_90_in_S"], rel=0.04), row


def test_the_shipped_table_is_of_the_law_that_is_drawn() -> None:
    table = staircase_table()
    for alpha, epsilon in (("0.05", "4"), ("0.1", "8")):
        told = table["figures"][alpha][table["epsilon"].index(epsilon)]
        figures = SmoothStaircase(alpha, epsilon).accuracy(1)[1]
        # The programme that finds the law is solved to a tolerance of its own.
        assert told[:2] == pytest.approx([figures["typical_error_in_S"], figures["margin_90_in_S"]], rel=1e-3)


# ---------------------------------------------------------------- from a wish to its price


@pytest.mark.browser
def test_a_wanted_margin_has_the_price_that_the_plan_gives_it(tmp_path: Path) -> None:
    release = people(tmp_path, names=("count", "sum-clamped", "sum-tight", "mean-clamped"))
    common: dict[str, Any] = {"by": ["region"], "neighbours": AddRemoveOne("person")}
    clamped = {"of": "income", "clamp": [0, 200000]}
    wishes: list[tuple[str, str, dict[str, Any]]] = [
        ("count", "±5% for cells over 500", {"margin": "5%", "margin_at": 500}),
        ("count", "2% at 10,000", {"margin": "2%", "margin_at": 10000}),
        ("count", "37", {"margin": "37"}),
        ("count", "0.4%: towns of 1000", {"margin": "0.4%", "margin_at": 1000}),
        ("sum-clamped", "250000", {"statistic": "sum", "margin": "250000", **clamped}),
        ("sum-clamped", "1,000,000", {"statistic": "sum", "margin": "1000000", **clamped}),
        ("mean-clamped", "1500 at 400", {"statistic": "mean", "margin": "1500", "margin_at": 400, **clamped}),
    ]
    script = f"""return {json.dumps([[name, words] for name, words, _ in wishes])}.map(([name, words]) => {{
      const product = MODEL.products.find((one) => one.name === name);
      const figures = forecast(product, exact("1"), ZERO, null);
      return text(priced(product, words, {{ figures, delta: ZERO, alpha: null, share: 1 }}));
    }});"""
    found = [Fraction(one) for one in ask(explorer_page(release), script, tmp_path)]
    assert found == [Table(**common, **settings).epsilon for _, _, settings in wishes]


@pytest.mark.browser
def test_a_wish_that_cannot_be_priced_is_answered_in_words(tmp_path: Path) -> None:
    release = people(tmp_path, names=("count", "sum-clamped", "mean-tight"))
    wishes = [("count", "5%"), ("count", "narrow"), ("sum-clamped", "5%"), ("mean-tight", "3"), ("sum-clamped", "0.5")]
    script = f"""return {json.dumps(wishes)}.map(([name, words]) => {{
      const product = MODEL.products.find((one) => one.name === name);
      const figures = forecast(product, exact("1"), ZERO, null);
      return priced(product, words, {{ figures, delta: ZERO, alpha: null, share: 1 }});
    }});"""
    said = ask(explorer_page(release), script, tmp_path)
    expected = ("cells of how many", "Write a margin", "units of the column", "cells of how many", "so narrow")
    for words, part in zip(said, expected, strict=True):
        assert part in words


# ---------------------------------------------------------------- what a person does


def moved(page: str, steps: str, folder: Path) -> dict[str, Any]:
    """What the page shows after some steps: its words by id, and the specification."""
    helpers = """
      const set = (id, value, kind) => { const field = document.getElementById(id); field.value = value;
        field.dispatchEvent(new Event(kind || "change")); };
      const settle = () => drawAll();
    """
    shown = """settle(); return { cost: text(total()), spec: document.getElementById("specification").textContent,
      words: Object.fromEntries([...document.querySelectorAll("[id]")].filter((one) => !one.children.length)
        .map((one) => [one.id, one.textContent])) };"""
    answer: dict[str, Any] = ask(page, helpers + steps + shown, folder)
    assert "problem" not in answer, answer
    return answer


def read_again(spec: str, folder: Path) -> PlannedRelease:
    (folder / "copied.toml").write_text(spec, encoding="utf-8")
    return prepare(Spec.load(folder / "copied.toml"))


@pytest.mark.browser
def test_what_was_moved_stands_in_the_specification(tmp_path: Path) -> None:
    """With the writer's own comments; `plan` then says the cost that the page said."""
    release = people(tmp_path, names=("count", "median"))
    steps = """set("epsilon-0", -30, "input"); set("epsilon-text-1", "1/3"); set("delta-1", "1e-9");
      set("cap-epsilon", "3");"""
    now = moved(explorer_page(release), steps, tmp_path)
    again = read_again(now["spec"], tmp_path)
    assert again.guarantee.loss.epsilon == Fraction(now["cost"]) == Fraction("0.5") + Fraction(1, 3)
    assert str(again.guarantee.loss.delta) == str(Fraction("1e-9"))
    assert again.spec.cap.epsilon == "3"
    assert 'epsilon = "1/3"  # a try' in now["spec"]
    assert "[cap]  # for ever" in now["spec"]
    assert now["words"]["sum-left"] == "2.167 of 3"
    assert now["words"]["promise"].startswith("Approximate differential privacy: one person added or removed")
    assert now["words"]["guess"].endswith("70% likely afterwards, except with probability 1e−9.")
    assert now["words"]["sum-lasts"] == "3 releases"


@pytest.mark.browser
def test_a_page_that_nobody_touched_shows_the_file_as_it_is(tmp_path: Path) -> None:
    release = jobs(tmp_path, ("log",))
    now = moved(explorer_page(release), "", tmp_path)
    assert tomllib.loads(now["spec"]) == tomllib.loads((tmp_path / "release.toml").read_text(encoding="utf-8"))
    assert now["words"]["sum-guess"] == "50% → 88%"
    assert now["words"]["verdict"] == "It fits: 18 of the cap is left after this release."


@pytest.mark.browser
def test_a_price_that_cannot_be_moved_counts_all_the_same(tmp_path: Path) -> None:
    """As printed, a mechanism loses something else than the ε it is given: what that is follows from no formula."""
    release = jobs(tmp_path, ("log", "paper"))
    page = explorer_page(release)
    assert Fraction(moved(page, "", tmp_path)["cost"]) == release.guarantee.loss.epsilon
    now = moved(page, 'set("total-text", "5");', tmp_path)
    again = read_again(now["spec"], tmp_path)
    assert again.guarantee.loss.epsilon == Fraction(now["cost"]) <= 5
    assert again.tables[1].plan == release.tables[1].plan


@pytest.mark.browser
def test_alpha_moves_with_the_cap_and_the_promise_says_so(tmp_path: Path) -> None:
    now = moved(explorer_page(jobs(tmp_path, ("log",))), 'set("alpha", "0.05"); set("spent", "19");', tmp_path)
    assert read_again(now["spec"], tmp_path).guarantee.neighbours == StrongAlpha("0.05")
    assert "factor 1.05" in now["words"]["promise"]
    assert now["words"]["verdict"] == "It does not fit: 2 is asked for and 1 is left of the cap."


@pytest.mark.browser
def test_the_sum_is_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    release = people(tmp_path, names=("count", "median", "share"))
    steps = """document.getElementById("keep").click(); set("epsilon-text-0", "0.9");"""
    again = read_again(moved(explorer_page(release), steps, tmp_path)["spec"], tmp_path)
    assert [one.spec.epsilon for one in again.tables] == ["0.9", "0.3", "0.3"]


@pytest.mark.browser
def test_years_share_what_is_left(tmp_path: Path) -> None:
    release = people(tmp_path, names=("count", "median"))
    steps = (
        """set("spent", "10"); set("years", 7, "input"); settle(); document.getElementById("years-apply").click();"""
    )
    now = moved(explorer_page(release), steps, tmp_path)
    assert Fraction(now["cost"]) <= Fraction(30, 7)
    assert now["words"]["sum-lasts"] == "7 releases"


@pytest.mark.browser
def test_the_page_says_what_is_left_of_a_year(tmp_path: Path) -> None:
    page = explorer_page(people(tmp_path, "years", ("count", "median")))
    now = moved(page, "", tmp_path)["words"]["years-words"]
    assert "With ε = 2 a year until 2030: ε = 1 of this year would be left." in now
    dearer = moved(page, 'set("epsilon-text-0", "1.75");', tmp_path)["words"]["years-words"]
    assert "this release costs more, and would be refused" in dearer


@pytest.mark.browser
def test_an_allowance_is_moved_written_down_and_taken_away(tmp_path: Path) -> None:
    """One that the cap cannot keep up until its horizon is refused by the page as by the ledger."""
    page = explorer_page(people(tmp_path, names=("count", "median")))
    alone = moved(page, 'set("per-year", "3");', tmp_path)
    assert alone["words"]["years-words"].endswith(
        "takes both: what one year may cost, and the last year it is planned for."
    )
    assert read_again(alone["spec"], tmp_path).spec.cap.yearly is None
    last = datetime.now(UTC).year + 4
    now = moved(page, f'set("per-year", "3"); set("until", "{last}");', tmp_path)
    assert f"With ε = 3 a year until {last}: ε = 2 of this year would be left." in now["words"]["years-words"]
    assert f"until = {last}\n" in now["spec"]
    cap = read_again(now["spec"], tmp_path).spec.cap
    assert (cap.per_year, cap.until) == ("3", last)
    long = moved(page, f'set("per-year", "9"); set("until", "{last}");', tmp_path)["words"]["years-words"]
    assert "5 years may take ε = 45 and 40 is left of the cap, so it would be refused." in long
    declared = explorer_page(people(tmp_path, "years", ("count", "median")))
    gone = moved(declared, 'set("per-year", ""); set("until", "");', tmp_path)
    assert read_again(gone["spec"], tmp_path).spec.cap.yearly is None


@pytest.mark.browser
def test_ten_tenths_fill_a_cap_of_one_and_the_same_twice_is_paid_for_once(tmp_path: Path) -> None:
    distinct = [name for name in STATISTICS if name != "count-again"][:10]
    release = people(tmp_path, names=(*distinct, "count-again"))
    now = moved(explorer_page(release), 'set("total-text", "1"); set("cap-epsilon", "1");', tmp_path)
    assert now["cost"] == "1"
    assert now["words"]["sum-left"] == "0 of 1"
    assert now["words"]["sum-lasts"] == "1 release"
    assert read_again(now["spec"], tmp_path).fits


# ---------------------------------------------------------------- the page itself


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 700, 500])
def test_the_page_in_a_browser(tmp_path: Path, width: int) -> None:
    """No message on the console, no request to anywhere, and nothing wider than the window."""
    seen = look(explorer_page(people(tmp_path)), tmp_path, width)
    assert seen.console == []
    assert seen.requests == []
    assert seen.content <= seen.window


@pytest.mark.parametrize("start", STARTS, ids=lambda start: start.name)
def test_every_kind_of_product_has_a_page(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Schema, "load", lambda path: Schema.from_dict(start.schema))
    monkeypatch.setattr(explorer, "_OCTAVES", 1)  # fewer points: a forecast of a panel takes seconds
    release = prepare(Spec.parse(start.spec, tmp_path / "release.toml"), rehearsal=True)
    (product,) = explorer_model(release)["products"]
    if product["model"]["form"] == "grid":
        assert any(point for line in product["model"]["points"].values() for point in line)
    assert product["mechanism"] in explorer_page(release)


def test_every_field_has_a_name_and_no_text_ends_the_script(tmp_path: Path) -> None:
    release = people(tmp_path, names=("count", "ratio"))
    hostile = "</script><script>alert(1)</script> it's & \u202e"
    spec = release.spec.model_copy(update={"title": hostile})
    page = explorer_page(PlannedRelease(spec, release.schema, release.tables))
    labelled = set(re.findall(r'<label for="([^"]+)"', page))
    for field in re.findall(r"<(?:input|select)[^>]*>", page):
        name = re.search(r'id="([^"]+)"', field)
        assert name
        assert name[1] in labelled or "aria-label" in field or name[1] == "keep", field
    assert page.count("<script") == page.count("</script>") == 1
    assert "\u202e" not in page
    assert "http" not in page
