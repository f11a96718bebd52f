"""The verbs of a ledger: decisions on record, what later bundles say of them, and the page for a board."""

import json
from pathlib import Path

import pytest

from support.browser_page import look
from support.command_line import Call, replaced, write_jobs
from tacita.ledger import Ledger
from tacita.privacy import AddRemoveOne, Loss, StrongAlpha

WHO = ("--reason", "Board, 3 March", "--operator", "A. Meier")
STRONG = StrongAlpha("0.1")


@pytest.fixture
def ledger(released_folder: Path) -> Path:
    return released_folder / "jobs.ledger"


def correct(folder: Path, tacita: Call) -> None:
    """The corrected file, released as entry 5."""
    write_jobs(folder / "jobs.parquet", lambda job: "north" if job % 4 else "south")
    done = tacita("run", folder / "release.toml", "--out", folder / "corrected")
    assert done.code == 0, done.err


# ---------------------------------------------------------------- raise


def test_a_specification_from_before_a_raise_still_runs(folder: Path, tacita: Call, ledger: Path) -> None:
    raised = tacita("ledger", "raise", ledger, "--epsilon", "5", *WHO)
    assert raised.code == 0, raised.err
    assert "The cap for strong α = 0.1 neighbours is ε = 5 now." in raised.out
    write_jobs(folder / "jobs.parquet", lambda job: "north" if job % 4 else "south")
    said = tacita("plan", folder / "release.toml").out
    assert "was raised to ε = 5 since this specification was written; it runs as it is." in said
    assert "would refuse" not in said
    assert tacita("run", folder / "release.toml", "--out", folder / "two").code == 0
    write_jobs(folder / "jobs.parquet", lambda job: "north" if job % 5 else "south")
    assert tacita("run", folder / "release.toml", "--out", folder / "three").code == 0  # beyond the old cap
    checked = tacita("verify", folder / "three", "--ledger", ledger)
    assert checked.code == 0, checked.err
    document = json.loads((folder / "three" / "ledger.json").read_text())
    assert document["cap"]["epsilon"] == "5"
    replaced('epsilon = "2"', 'epsilon = "3"')(folder)
    assert tacita("run", folder / "release.toml", "--out", folder / "four").code == 3  # a cap that there never was


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--epsilon", "2"), 3, "a cap only rises"),
        (("--epsilon", "1"), 3, "a cap only rises"),
        (("--epsilon", "many"), 2, "epsilon"),
        (("--epsilon", "3", "--delta", "2"), 2, "delta"),
        (("--epsilon", "3", "--neighbours", "weak", "--alpha", "0.1"), 2, "no cap is declared for weak"),
        (("--epsilon", "3", "--neighbours", "weak"), 2, "needs the key alpha; add the option"),
        (("--epsilon", "3", "--neighbours", "strange"), 2, "--neighbours"),
        (("--epsilon", "3", "--alpha", "0.1"), 2, "--neighbours: goes with --alpha"),
        (("--epsilon", "3", "--neighbours", "strong", "--alpha", "-1"), 2, "alpha"),
    ],
)
def test_a_raise_that_cannot_be_is_refused(
    tacita: Call, ledger: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    before = ledger.read_bytes()
    said = tacita("ledger", "raise", ledger, *options, *WHO)
    assert said.code == code
    assert message in said.err
    assert ledger.read_bytes() == before


def test_of_several_caps_one_is_named(tacita: Call, ledger: Path) -> None:
    Ledger.open(ledger, cap=Loss("9"), neighbours=AddRemoveOne("worker"))
    said = tacita("ledger", "raise", ledger, "--epsilon", "10", *WHO)
    assert said.code == 2
    assert "several caps (strong α = 0.1 neighbours; one worker added or removed)" in said.err
    done = tacita("ledger", "raise", ledger, "--epsilon", "10", "--neighbours", "add-remove", "--unit", "worker", *WHO)
    assert done.code == 0, done.err
    assert Ledger.open(ledger).caps() == {STRONG: Loss("2"), AddRemoveOne("worker"): Loss("10")}


def test_an_account_in_rho_rises_by_the_keys_of_its_cap(tmp_path: Path, tacita: Call) -> None:
    from tacita.release.cap_spec import CapSpec

    def cap(epsilon: str) -> CapSpec:
        keys = {"neighbours": "add-remove", "unit": "person", "epsilon": epsilon, "delta": "1e-9", "account": "rho"}
        return CapSpec.model_validate(keys)

    path = tmp_path / "rho.ledger"
    ledger = Ledger.open(path, cap=cap("1").loss, neighbours=cap("1").relation)
    said = tacita("ledger", "raise", path, "--epsilon", "2", *WHO)
    assert said.code == 2
    assert "--delta: this account is kept in ρ" in said.err
    assert tacita("ledger", "raise", path, "--epsilon", "2", "--delta", "1e-9", *WHO).code == 0
    assert ledger.caps() == {cap("2").relation: cap("2").loss}


def test_nothing_is_decided_without_an_operator_and_a_reason(
    tacita: Call, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACITA_OPERATOR", raising=False)
    before = ledger.read_bytes()
    for verb in (("raise", ledger, "--epsilon", "3"), ("annotate", ledger, "--note", "x"), ("supersede", ledger, 3)):
        assert tacita("ledger", *verb, "--reason", "board").code == 2
        assert tacita("ledger", *verb, "--operator", " ", *(() if verb[0] == "annotate" else WHO[:2])).code == 2
    assert tacita("ledger", "raise", ledger, "--epsilon", "3", "--operator", "A").code == 2
    assert ledger.read_bytes() == before
    monkeypatch.setenv("TACITA_OPERATOR", "B. Rossi")
    monkeypatch.setenv("COLUMNS", "250")
    assert tacita("ledger", "annotate", ledger, "--note", "Sent to the press office", "--entry", "3").code == 0
    shown = tacita("ledger", "show", ledger).out
    assert "Sent to the press office" in shown
    assert "about entry 3; entered by B. Rossi" in shown


# ---------------------------------------------------------------- waive


def test_a_promise_is_lifted_from_the_command_line(tacita: Call, ledger: Path) -> None:
    assert tacita("ledger", "waive", ledger, *WHO).code == 2
    assert tacita("ledger", "waive", ledger, "--neighbours", "weak", "--alpha", "0.1", *WHO).code == 2
    done = tacita("ledger", "waive", ledger, "--neighbours", "strong", "--alpha", "0.1", *WHO)
    assert done.code == 0, done.err
    (account,) = Ledger.open(ledger).accounts()
    assert account.waived is not None
    assert account.waived.reason == "Board, 3 March"


def test_an_overlap_is_let_pass_from_the_command_line(folder: Path, tacita: Call, ledger: Path) -> None:
    replaced('identity = "test-jobs"', 'identity = "other-jobs"')(folder)
    write_jobs(folder / "jobs.parquet", lambda job: "north" if job % 4 else "south")
    refused = tacita("run", folder / "release.toml", "--out", folder / "other")
    assert refused.code == 3
    assert "tacita ledger waive --overlap" in refused.err
    both = ("--overlap", "test-jobs", "other-jobs", "--neighbours", "strong", "--alpha", "0.1")
    assert tacita("ledger", "waive", ledger, *both, *WHO).code == 2
    assert tacita("ledger", "waive", ledger, "--overlap", "test-jobs", "test-jobs", *WHO).code == 2
    done = tacita("ledger", "waive", ledger, "--overlap", "test-jobs", "other-jobs", *WHO)
    assert done.code == 0, done.err
    assert tacita("run", folder / "release.toml", "--out", folder / "other").code == 0
    assert tacita("ledger", "waive", ledger, "--overlap", "other-jobs", "test-jobs", *WHO).code == 2


# ---------------------------------------------------------------- corrections


def test_a_correction_stands_on_both_pages_and_in_both_manifests(folder: Path, tacita: Call, ledger: Path) -> None:
    rows = (folder / "jobs.parquet").read_bytes()
    correct(folder, tacita)
    untouched = (folder / "corrected" / "manifest.json").read_bytes()
    done = tacita("ledger", "supersede", ledger, 3, "--by", 5, "--reason", "A wrong <code> list", "--operator", "A. M.")
    assert done.code == 0, done.err
    assert tacita("run", folder / "release.toml", "--out", folder / "corrected", "--force").code == 0
    (folder / "jobs.parquet").write_bytes(rows)
    again = tacita("run", folder / "release.toml", "--out", folder / "bundle", "--force")
    assert "Nothing new was charged" in again.out

    old, new = (json.loads((folder / name / "manifest.json").read_text()) for name in ("bundle", "corrected"))
    assert old["superseded"] == new["supersedes"]
    assert "supersedes" not in old
    assert "superseded" not in new
    assert old["superseded"][0]["reason"] == "A wrong <code> list"
    assert [one["number"] for one in old["superseded"][0]["by"]] == [5]
    assert b"supersede" not in untouched
    page = (folder / "bundle" / "report.html").read_text()
    assert "SUPERSEDED on" in page
    assert "A wrong &lt;code&gt; list" in page
    assert "This release supersedes" in (folder / "corrected" / "report.html").read_text()
    for name in ("bundle", "corrected"):
        checked = tacita("verify", folder / name, "--ledger", ledger)
        assert checked.code == 0, checked.err
        assert ("superseded: on" in checked.out) == (name == "bundle")
        assert "A. M." not in "".join(path.read_text() for path in (folder / name).rglob("*.json"))


@pytest.mark.parametrize("forge", ["removed", "reworded", "invented"])
def test_a_manifest_that_hides_a_correction_is_refused(folder: Path, tacita: Call, ledger: Path, forge: str) -> None:
    from tacita.release.bundle_files import write_manifest

    assert tacita("ledger", "supersede", ledger, 3, *WHO).code == 0
    assert tacita("run", folder / "release.toml", "--out", folder / "bundle", "--force").code == 0
    manifest = json.loads((folder / "bundle" / "manifest.json").read_text())
    if forge == "removed":
        del manifest["superseded"]
    elif forge == "reworded":
        manifest["superseded"][0]["reason"] = "Nothing of importance"
    else:
        manifest["supersedes"] = manifest["superseded"]
    write_manifest(
        folder / "bundle", {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")}
    )
    said = tacita("verify", folder / "bundle")
    assert said.code == 4
    assert "corrections" in said.err


def test_a_correction_that_cannot_be_leaves_no_trace(folder: Path, tacita: Call, ledger: Path) -> None:
    before = ledger.read_bytes()
    for entries, code in (((2,), 2), ((3, "--by", 3), 3), ((3, "--by", 4), 2), ((99,), 2), (("x",), 2)):
        assert tacita("ledger", "supersede", ledger, *entries, *WHO).code == code
    assert ledger.read_bytes() == before


# ---------------------------------------------------------------- the page


def test_the_page_of_a_ledger_is_the_same_bytes_and_holds_everything(folder: Path, tacita: Call, ledger: Path) -> None:
    correct(folder, tacita)
    tacita("ledger", "supersede", ledger, 3, "--by", 5, *WHO)
    tacita("ledger", "raise", ledger, "--epsilon", "4", *WHO)
    tacita("ledger", "annotate", ledger, "--note", "Sent to <the> press", "--entry", "3", "--operator", "B. Rossi")
    page, again = folder / "ledger.html", folder / "again.html"
    done = tacita("ledger", "show", ledger, "--html", page)
    assert done.code == 0, done.err
    tacita("ledger", "show", ledger, "--html", again)
    assert page.read_bytes() == again.read_bytes()
    text = page.read_text().replace("\u00a0", " ")
    for words in (
        "test-jobs", "ε = 4", "ε = 2", "50% of the cap is spent", "released, superseded by 5 (entry 7)",
        "Sent to &lt;the&gt; press", "B. Rossi", "A. Meier", "Board, 3 March", "Not part of a release",
        Ledger.open(ledger).verify(),
    ):  # fmt: skip
        assert words in text, words
    assert "http" not in text
    assert "T0" not in text  # no times of day


def test_the_page_of_a_ledger_replaces_pages_only(folder: Path, tacita: Call, ledger: Path) -> None:
    before = ledger.read_bytes()
    for target, force in ((ledger, True), (folder / "release.toml", True), (folder, False)):
        said = tacita("ledger", "show", ledger, "--html", target, *(["--force"] if force else []))
        assert said.code == 2
        assert "--html" in said.err
    assert ledger.read_bytes() == before
    page = folder / "ledger.html"
    assert tacita("ledger", "show", ledger, "--html", page).code == 0
    assert tacita("ledger", "show", ledger, "--html", page).code == 2
    assert tacita("ledger", "show", ledger, "--html", page, "--force").code == 0


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_of_a_ledger_opens_in_a_browser(folder: Path, tacita: Call, ledger: Path, width: int) -> None:
    page = folder / "ledger.html"
    tacita("ledger", "show", ledger, "--html", page)
    seen = look(page.read_text(), folder, width)
    assert seen.console == []
    assert seen.requests == []
    assert seen.content <= seen.window
