"""Bundles of files with a self-check: fit, stamped and withheld; what readers see, and what `verify` finds."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from support.mixed_people import people, schema, schema_text
from support.specifications import head, microdata
from tacita.dossier.request import request_of
from tacita.dossier.run import evaluate
from tacita.errors import SpecError, UsageError, VerificationError
from tacita.implicates import Implicates
from tacita.ledger import Ledger
from tacita.release.bundle_files import write_manifest
from tacita.release.plans import prepare
from tacita.release.run import rehearse, run
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, page_of, verify

SPEC = (
    head("people", title="People, synthetic", neighbours="replace", unit="person", epsilon="8", delta="1e-6")
    + microdata("people", columns=["sex", "group", "kids", "age"], epsilon="8", delta="1e-9")
    + "check = CHECK\n"
)
CHECKS = {
    "fit": '{ share = "0.2" }',
    "stamped": '{ share = "0.2", limits = { two_way = 0.00001 } }',
    "withheld": '{ share = "0.2", limits = { two_way = "0.001%" }, fail = "withhold" }',
}


def written(folder: Path, check: str) -> Path:
    folder.mkdir()
    people(3000).to_parquet(folder / "people.parquet")
    (folder / "people.schema.toml").write_text(schema_text())
    (folder / "people.toml").write_text(SPEC.replace("CHECK", check))
    return folder / "people.toml"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("checked")
    return {
        name: run(Spec.load(written(place / name, check)), place / name / "bundle").bundle
        for name, check in CHECKS.items()
    }


def plan_of(bundle: Path) -> dict[str, object]:
    return dict(json.loads((bundle / "plan.json").read_text())["microdata"][0])


@pytest.mark.parametrize("name", CHECKS)
def test_every_kind_of_bundle_verifies_and_says_its_verdict(releases: dict[str, Path], name: str) -> None:
    bundle = releases[name]
    verdict = "fit for use" if name == "fit" else "not fit for use"
    assert f"the self-check of people is the one that was paid for, and says: {verdict}" in verify(bundle)
    compare_with_ledger(bundle, bundle.parent / "people.ledger")
    (account,) = Ledger.open(bundle.parent / "people.ledger", read_only=True).accounts()
    assert float(account.spent.epsilon) == 8  # withheld or not, and not a fraction more than the product says


def test_fit_files_have_no_stamp_and_their_page_has_the_findings(releases: dict[str, Path]) -> None:
    bundle = releases["fit"]
    assert (bundle / "microdata" / "implicate-01.csv").is_file()
    page = page_of(bundle)
    assert "Fit for use: the file met every limit" in page
    assert "tables of two columns, on average" in page
    assert "NOT FIT" not in page
    assert "NOT FIT" not in (bundle / "codebook.xml").read_text()


def test_failing_files_are_stamped_wherever_a_reader_may_meet_them(releases: dict[str, Path]) -> None:
    bundle = releases["stamped"]
    assert sorted(one.name for one in (bundle / "microdata").iterdir()) == [
        "implicate-01.NOT-FIT-FOR-USE.csv",
        "implicate-01.parquet",
    ]
    assert b"NOT FIT FOR USE" in pq.read_schema(bundle / "microdata" / "implicate-01.parquet").metadata
    for name in ("report.html", "codebook.xml", "datapackage.json", "registry.yaml"):
        assert "NOT FIT FOR USE" in (bundle / name).read_text(), name
    assert "tables of two columns, on average" in (bundle / "codebook.xml").read_text()
    assert "implicate-01.NOT-FIT-FOR-USE.csv" in page_of(bundle)  # in the code to copy
    assert "results from the synthetic files, which failed their own check" in page_of(bundle)
    assert Implicates.read(bundle / "microdata", schema()).m == 1


def test_of_withheld_files_nothing_leaves_but_the_report(releases: dict[str, Path]) -> None:
    bundle = releases["withheld"]
    assert not (bundle / "microdata").exists()
    assert json.loads((bundle / "measurements" / "people.json").read_text()).keys() == {"check"}
    assert len((bundle / "measurements" / "people.result").read_bytes()) < 5000
    assert plan_of(bundle)["kind"] == "withheld"
    assert json.loads((bundle / "datapackage.json").read_text())["resources"] == []
    page = page_of(bundle)
    assert "The files were withheld; only this report is published." in page
    assert "How to analyse" not in page


def test_a_second_run_gives_the_stored_files_at_no_cost(releases: dict[str, Path]) -> None:
    for name in ("stamped", "withheld"):
        again = run(Spec.load(releases[name].parent / "people.toml"), releases[name].parent / "again")
        assert again.spent_before == again.spent_after
        assert plan_of(again.bundle)["check"] == plan_of(releases[name])["check"]


def _edit(document: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / document).read_text()
        assert old in text
        (folder / document).write_text(text.replace(old, new))

    return edit


def _rename(folder: Path) -> None:
    one = folder / "microdata" / "implicate-01.NOT-FIT-FOR-USE.csv"
    one.rename(one.with_name("implicate-01.csv"))


def _unstamp(folder: Path) -> None:
    path = folder / "microdata" / "implicate-01.parquet"
    table = pq.read_table(path)
    kept = {key: value for key, value in table.schema.metadata.items() if key != b"NOT FIT FOR USE"}
    pq.write_table(table.replace_schema_metadata(kept), path)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (_edit("plan.json", '"verdict": "not fit for use"', '"verdict": "fit for use"'), "does not hold the files"),
        (_edit("plan.json", '"limit": 1e-05', '"limit": 0.5'), "the self-check is not the one that was measured"),
        (_rename, "does not hold the files"),
        (_unstamp, "is not stamped as its self-check asks for"),
    ],
)
def test_a_stamp_cannot_be_taken_off(
    releases: dict[str, Path], tmp_path: Path, edit: Callable[[Path], None], words: str
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(releases["stamped"], bundle)
    edit(bundle)
    manifest = json.loads((bundle / "manifest.json").read_text())
    write_manifest(bundle, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})
    with pytest.raises(VerificationError, match=words):
        verify(bundle)


def test_the_dossier_calls_files_unfit_that_the_public_was_told_are(releases: dict[str, Path], tmp_path: Path) -> None:
    for name, grades in (("stamped", {"unfit"}), ("fit", {"fit", "fit with care"})):
        spec = releases[name].parent / "people.toml"
        found = evaluate(request_of(spec, bundle=releases[name]), tmp_path / name)
        assert found.verdicts()[0].grade in grades
        assert (found.self_check == "not fit for use") == (name == "stamped")


def test_a_rehearsal_does_as_the_release_would(tmp_path: Path) -> None:
    spec = Spec.load(written(tmp_path / "rehearsed", '{ limits = { one_way = 0.00001 }, share = "0.5" }'))
    release = rehearse(spec, tmp_path / "out", seed=1)
    assert release.microdata[0].check is not None
    names = {one.name for one in (tmp_path / "out" / "microdata").iterdir()}
    unfit = release.microdata[0].check["verdict"] == "not fit for use"
    assert (f"implicate-01.REHEARSAL{'.NOT-FIT-FOR-USE' * unfit}.csv") in names
    assert len(pd.read_parquet(tmp_path / "out" / "microdata" / "implicate-01.parquet")) > 0


def test_files_without_a_check_say_so(tmp_path: Path) -> None:
    path = written(tmp_path / "bare", "{}")
    path.write_text(path.read_text().replace("check = {}\n", ""))
    rehearse(Spec.load(path), tmp_path / "out", seed=1)
    assert "No self-check was paid for" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("{ share = 0.05 }", 'microdata "people": share'),
        ('{ share = "2" }', 'microdata "people": share: must lie between 0 and 1'),
        ('{ limits = { mena = "5%" } }', r"limits\.mena: there is no such check"),
        ('{ fail = "burn" }', "check.fail of microdata"),
        ('{ shares = "0.1" }', "unknown key check.shares"),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, check: str, words: str) -> None:
    path = written(tmp_path / "wrong", check)
    with pytest.raises((SpecError, UsageError), match=words):
        prepare(Spec.load(path))
