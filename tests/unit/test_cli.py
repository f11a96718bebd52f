import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.command_line import SCHEMA, SECRET, SPEC, Call, replaced, write_jobs
from tacita import cli
from tacita.release.bundle_files import bundle_files, write_json, write_manifest
from tacita.release.records import write_records


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------- the way through


def test_plan_run_verify_and_look(folder: Path, tacita: Call) -> None:
    spec, bundle, ledger = folder / "release.toml", folder / "bundle", folder / "jobs.ledger"
    before = listing(folder)
    planned = tacita("plan", spec)
    assert planned.code == 0
    for part in (
        "ε = 1 under strong α = 0.1",
        "factor 2.72",
        "Not protected",
        "cap for this file",
        "places",
        "It fits",
    ):
        assert part in planned.out
    assert listing(folder) == before

    done = tacita("run", spec, "--out", bundle)
    assert done.code == 0, done.err
    assert "before ε = 0 ε = 2" in done.out
    assert "after ε = 1 ε = 1" in done.out
    assert listing(folder) == sorted([*before, "bundle", "jobs.ledger"])

    checked = tacita("verify", bundle, "--ledger", ledger)
    assert checked.code == 0, checked.err
    assert "Verified" in checked.out

    shown = tacita("ledger", "show", ledger)
    assert shown.code == 0
    assert "Test tables: places" in shown.out
    assert "ε = 1 of ε = 2 spent" in shown.out
    assert tacita("ledger", "verify", ledger).code == 0

    page = folder / "page.html"
    assert tacita("report", bundle, "--out", page).code == 0
    assert page.read_bytes() == (bundle / "report.html").read_bytes()
    assert tacita("report", bundle, "--out", page).code == 2


def test_the_same_release_again_is_the_same_and_free(folder: Path, tacita: Call) -> None:
    spec = folder / "release.toml"
    assert tacita("run", spec, "--out", folder / "one").code == 0
    again = tacita("run", spec, "--out", folder / "two")
    assert again.code == 0
    assert "Nothing new was charged" in again.out
    for name in ("tables/places.csv", "tables/places.parquet", "measurements/places.parquet", "ledger.json"):
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()


def test_a_bundle_holds_no_folder_names(folder: Path, tacita: Call) -> None:
    spec = (folder / "release.toml").read_text().replace('"jobs.parquet"', json.dumps(str(folder / "jobs.parquet")))
    (folder / "release.toml").write_text(spec)
    assert tacita("run", folder / "release.toml", "--out", folder / "bundle").code == 0
    for name in [*bundle_files(folder / "bundle"), "manifest.json"]:
        assert str(folder).encode() not in (folder / "bundle" / name).read_bytes(), name


def test_all_public_inputs_are_listed_with_their_source(folder: Path, tacita: Call) -> None:
    (folder / "places.csv").write_text("code,label\nnorth,North\nsouth,South\n")
    schema = SCHEMA.replace('levels = ["north", "south"]', 'levels_file = "places.csv"')
    (folder / "jobs.schema.toml").write_text(schema)
    with (folder / "release.toml").open("a") as spec:
        spec.write('[[public_input]]\nwhat = "A register"\nsource = "The registrar"\n')
    assert tacita("run", folder / "release.toml", "--out", folder / "bundle").code == 0
    listed = json.loads((folder / "bundle/manifest.json").read_text())["public_inputs"]
    what = " | ".join(one["what"] for one in listed)
    for part in ("The schema", "Code list places.csv", "list of establishments", "A register"):
        assert part in what
    assert all(one["source"] for one in listed)


# ---------------------------------------------------------------- refusals and mistakes


def jobs(place: Callable[[int], Any]) -> Callable[[Path], None]:
    return lambda folder: write_jobs(folder / "jobs.parquet", place)


@pytest.mark.parametrize(
    ("change", "code", "parts"),
    [
        (replaced("ledger =", "legder ="), 2, ["unknown key legder", "did you mean ledger?"]),
        (replaced('epsilon = "1"', "epsilon = 1.5"), 2, ['epsilon of table "places"', "put quotes"]),
        (replaced('epsilon = "1"', 'epsilon = "0"'), 2, ['table "places"', "epsilon", "above 0"]),
        (replaced('alpha = "0.1"', 'alpha = "0"'), 2, ["alpha", "above 0"]),
        (replaced("SmoothStaircase", "SmoothStairs"), 2, ["no SmoothStairs", "did you mean SmoothStaircase?"]),
        (replaced('epsilon = "1"', 'epsilon = "1"\ntheta = 3'), 2, ["theta", "SmoothStaircase has no such setting"]),
        (replaced('by = ["place"]', 'by = ["plaice"]'), 2, ['table "places"', "plaice"]),
        (replaced('by = ["place"]', 'by = ["sex"]'), 2, ['table "places"', "sex"]),
        (replaced('epsilon = "1"', 'epsilon = "3"'), 3, ["cost ε = 3", "allows ε = 2", "Nothing was spent"]),
        (replaced('neighbours = "strong"', 'neighbours = "add-remove"\nunit = "worker"'), 2, ["has no alpha"]),
        (replaced("jobs.parquet", "none.parquet"), 2, ["none.parquet"]),
        (replaced('unit = "establishment"', 'units = "establishment"'), 2, ["units"]),
        (jobs(lambda job: SECRET if job == 3 else "north"), 2, ["place", "levels"]),
        (jobs(lambda job: None if job == 3 else "north"), 2, ["place", "missing"]),
    ],
)
def test_a_mistake_is_named_and_leaves_no_trace(
    folder: Path, tacita: Call, change: Callable[[Path], None], code: int, parts: list[str]
) -> None:
    change(folder)
    before = listing(folder)
    said = tacita("run", folder / "release.toml", "--out", folder / "bundle")
    assert said.code == code, said.err
    for part in parts:
        assert part in said.err
    assert SECRET not in said.out + said.err
    assert "Traceback" not in said.err
    assert listing(folder) == before


def test_other_neighbours_than_the_cap_are_refused(folder: Path, tacita: Call) -> None:
    replaced("SmoothStaircase", "EdgeLaplace")(folder)
    said = tacita("plan", folder / "release.toml")
    assert said.code == 3
    assert 'table "places"' in said.err
    assert "change neighbours in [cap]" in said.err


def test_a_spent_budget_refuses_and_leaves_the_ledger_as_it_was(folder: Path, tacita: Call) -> None:
    spec = folder / "release.toml"
    assert tacita("run", spec, "--out", folder / "one").code == 0
    replaced('epsilon = "1"', 'epsilon = "3/2"')(folder)
    ledger = (folder / "jobs.ledger").read_bytes()
    said = tacita("run", spec, "--out", folder / "two")
    assert said.code == 3
    for part in ("cap is ε = 2", "spent is ε = 1", "asked is ε = 1.5", "left is ε = 1"):
        assert part in said.err
    assert (folder / "jobs.ledger").read_bytes() == ledger
    assert not (folder / "two").exists()


def test_two_tables_that_do_not_fit_together_are_both_left_unpaid(folder: Path, tacita: Call) -> None:
    spec = folder / "release.toml"
    assert tacita("run", spec, "--out", folder / "one").code == 0
    table = SPEC[SPEC.index("[[table]]") :]
    more = table.replace('"places"', '"second"').replace('epsilon = "1"', 'epsilon = "3/4"')
    third = table.replace('"places"', '"third"').replace('epsilon = "1"', 'epsilon = "1/2"')
    spec.write_text(SPEC.replace(table, "") + more + third)
    ledger = (folder / "jobs.ledger").read_bytes()
    assert tacita("run", spec, "--out", folder / "two").code == 3
    assert (folder / "jobs.ledger").read_bytes() == ledger


def test_a_full_target_is_refused_before_anything_is_spent(folder: Path, tacita: Call) -> None:
    (folder / "bundle").mkdir()
    (folder / "bundle" / "notes.txt").write_text("mine")
    said = tacita("run", folder / "release.toml", "--out", folder / "bundle")
    assert said.code == 2
    assert "--force" in said.err
    assert not (folder / "jobs.ledger").exists()
    forced = tacita("run", folder / "release.toml", "--out", folder / "bundle", "--force")
    assert forced.code == 2
    assert "not a release that Tacita wrote" in forced.err
    assert (folder / "bundle" / "notes.txt").read_text() == "mine"
    assert not (folder / "jobs.ledger").exists()


@pytest.mark.parametrize("verb", ["run", "rehearse", "evaluate"])
def test_force_deletes_nothing_that_the_specification_names(released_folder: Path, tacita: Call, verb: str) -> None:
    folder = released_folder
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    more = {"run": (), "rehearse": ("--mock", "--seed", 1), "evaluate": ("--bundle", folder / "bundle")}[verb]
    for out in (folder, folder.parent):
        said = tacita(verb, folder / "release.toml", "--out", out, "--force", *more)
        assert said.code == 2, said.err
        assert "which this work needs" in said.err
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_figures_of_the_account_are_those_of_the_ledger(released_folder: Path, tacita: Call) -> None:
    """A bundle agrees with itself where what others spent and what is left are shifted together."""
    folder = released_folder
    call = ("verify", folder / "bundle", "--ledger", folder / "jobs.ledger")
    assert "these entries and figures" in tacita(*call).out
    path = folder / "bundle" / "ledger.json"
    honest = json.loads(path.read_text())
    account = honest["extract"]["accounts"][0]
    spent, left = {"epsilon": "3/2", "delta": "0"}, {"epsilon": "1/2", "delta": "0"}
    extract = {**honest["extract"], "accounts": [{**account, "spent": spent, "left": left}]}
    for forged in (
        {**honest, "other_releases": left, "left": left},
        {**honest, "other_releases": left, "left": left, "extract": extract},
    ):
        write_json(path, forged)
        manifest = json.loads((folder / "bundle" / "manifest.json").read_text())
        head = {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")}
        write_records(folder / "bundle", head["made"])
        write_manifest(folder / "bundle", head)
        assert tacita("verify", folder / "bundle").code == 0
        refused = tacita(*call)
        assert refused.code == 4
        assert "not what the ledger" in refused.err or "not those of the ledger" in refused.err


def test_force_replaces_a_former_bundle(folder: Path, tacita: Call) -> None:
    for _ in range(2):
        assert tacita("run", folder / "release.toml", "--out", folder / "bundle", "--force").code == 0
    assert tacita("verify", folder / "bundle").code == 0
    assert tacita(
        "rehearse", folder / "release.toml", "--mock", "--seed", 1, "--out", folder / "bundle", "--force"
    ).code
    assert tacita("verify", folder / "bundle").code == 0


def test_a_crash_after_paying_leaves_no_bundle_and_costs_once(
    folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, out = folder / "release.toml", folder / "bundle"
    with monkeypatch.context() as patch:
        patch.setattr("tacita.release.run.try_out", lambda *args: None)  # it would find this before paying
        patch.setattr("tacita.release.records.render_page", lambda *args: 1 / 0)
        said = tacita("run", spec, "--out", out)
    assert said.code == 1
    assert "ZeroDivisionError" in said.err
    assert "division by zero" not in said.err
    assert listing(folder) == ["jobs.ledger", "jobs.parquet", "jobs.schema.toml", "release.toml"]
    again = tacita("run", spec, "--out", out)
    assert again.code == 0
    assert "after ε = 1 ε = 1" in again.out


def test_debug_shows_what_is_otherwise_kept_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacita.release.run.try_out", lambda *args: None)
    monkeypatch.setattr("tacita.release.records.render_page", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        cli.main(["run", str(folder / "release.toml"), "--out", str(folder / "bundle"), "--debug"])


def test_a_changed_byte_exits_with_4(folder: Path, tacita: Call) -> None:
    bundle = folder / "bundle"
    assert tacita("run", folder / "release.toml", "--out", bundle).code == 0
    path = bundle / "tables/places.csv"
    path.write_bytes(path.read_bytes().replace(b"north", b"North", 1))
    said = tacita("verify", bundle)
    assert said.code == 4
    assert "tables/places.csv was changed" in said.err


def test_another_ledger_does_not_vouch_for_a_bundle(folder: Path, tacita: Call) -> None:
    assert tacita("run", folder / "release.toml", "--out", folder / "one").code == 0
    replaced("jobs.ledger", "other.ledger")(folder)
    assert tacita("run", folder / "release.toml", "--out", folder / "two").code == 0
    said = tacita("verify", folder / "one", "--ledger", folder / "other.ledger")
    assert said.code == 4
    assert "another ledger" in said.err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["rehearse", "release.toml", "--seed", "1", "--out", "x"], "--mock"),
        (["verify", "nowhere"], "no such folder"),
        (["plan", "nowhere.toml"], "no such file"),
        (["study", "smith2020", "--out", "x"], "haney2017"),
        (["ledger", "show", "nowhere.ledger"], "no such file"),
        (["init", "nowhere.parquet"], "no such file"),
        (["run", "release.toml"], "--out"),
        (["plann"], "plann"),
    ],
)
def test_wrong_usage_exits_with_2(
    folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch, arguments: list[str], part: str
) -> None:
    monkeypatch.chdir(folder)
    said = tacita(*arguments)
    assert said.code == 2
    assert part in said.err


def test_studies_that_are_not_installed_say_how_to_install_them(
    tmp_path: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "tacita_studies"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tacita_studies", None)  # what Python finds of a package that is not there
    said = tacita("study", "haney2017", "--out", tmp_path / "study")
    assert said.code == 2
    assert "pip install" in said.err
    assert not (tmp_path / "study").exists()


def test_a_study_is_told_what_the_command_line_says(
    tmp_path: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr("tacita_studies.haney2017.run", lambda out, **given: told.update(given, out=out))
    said = tacita("study", "haney2017", "--out", tmp_path / "a", "--jobs", "20000", "--trials", "3", "--seed", "5")
    assert said.code == 0
    wanted = {"out": tmp_path / "a", "jobs": 20_000, "replicates": 3, "seed": 5, "full": False, "keep_data": False}
    assert {key: told[key] for key in wanted} == wanted
