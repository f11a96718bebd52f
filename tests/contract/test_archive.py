"""What earlier versions wrote still opens: bundles verify, ledgers add up, stored results come back.

Each archive is a release as a version wrote it: specification, schema, ledger and bundle, without the rows. None is
ever made again: a version that changes a format adds a folder of its own.
"""

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support import command_line, synthetic
from tacita.ledger import Ledger
from tacita.mechanisms.eree import SmoothStaircase
from tacita.plan import Plan
from tacita.release.run import run
from tacita.release.settings import plan_from_record
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, verify
from tacita.synthesis import PairwiseSynthesis

ARCHIVES = sorted((Path(__file__).parent.parent / "archive").glob("*/*.tar.xz"))


@pytest.fixture(params=ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.name.partition('.')[0]}")
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def test_there_is_an_archive_of_every_product() -> None:
    assert len(ARCHIVES) >= 11


def test_a_bundle_of_an_earlier_version_verifies(release: Path) -> None:
    assert len(verify(release / "bundle")) >= 6
    compare_with_ledger(release / "bundle", release / "file.ledger")


def test_a_ledger_of_an_earlier_version_opens_and_adds_up(release: Path) -> None:
    ledger = Ledger.open(release / "file.ledger", read_only=True)
    published = json.loads((release / "bundle" / "ledger.json").read_bytes())
    assert ledger.verify(published["extract"]) == published["extract"]["head"]["sha256"]
    (account,) = ledger.accounts()
    assert not account.spent.is_zero
    assert account.spent + account.left == account.cap
    paid = [entry for entry in ledger.entries() if entry.kind == "reserve"]
    assert {entry.state for entry in paid} == {"released"}
    assert ledger.extract([entry.number for entry in paid])["entries"] == published["extract"]["entries"]


def test_a_specification_of_an_earlier_version_is_still_one(release: Path) -> None:
    spec = Spec.load(release / "release.toml")
    assert spec.table or spec.microdata


def test_what_an_earlier_version_paid_for_is_known_again(release: Path) -> None:
    """The ledger finds a paid result by the description of its plan, which may have had other names for settings."""
    published = json.loads((release / "bundle" / "plan.json").read_bytes())
    for product in (*published["tables"], *published.get("microdata", [])):
        plan = plan_from_record(product["mechanism"])
        assert product["mechanism"] in (plan.describe(), *plan.former_descriptions())


# ---------------------------------------------------------------- a new run on an old ledger


def files(folder: Path) -> Path:
    spec = synthetic.write_people(folder)
    options = 'mechanism = "PairwiseSynthesis"\ncolumns = ["region", "age"]\ncuts.age = [30, 60]\n'
    text = synthetic.SPEC.replace('drawn = ["age", "pay"]\n', "").replace('mechanism = "MeanSynthesis"\n', options)
    spec.write_text(text.replace('epsilon = "2"', 'epsilon = "2"\ndelta = "1e-6"') + 'delta = "1e-9"\n')
    return spec


def tables(folder: Path) -> Path:
    command_line.write_jobs(folder / "jobs.parquet")
    (folder / "jobs.schema.toml").write_text(command_line.SCHEMA)
    (folder / "release.toml").write_text(command_line.SPEC)
    return folder / "release.toml"


@pytest.mark.parametrize(
    ("written", "mechanism", "former"),
    [(files, PairwiseSynthesis, {"attributes": "columns"}), (tables, SmoothStaircase, {"rows": "by"})],
    ids=["files", "tables"],
)
def test_a_bundle_of_what_an_earlier_version_paid_for_verifies(
    written: Any,
    mechanism: type[Plan[Any]],
    former: Mapping[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The ledger has the plan in former words, and sealed bytes that hold them: the new bundle has both as they are."""
    spec, describe = Spec.load(written(tmp_path)), mechanism.describe
    names = {now: before for before, now in former.items()}
    monkeypatch.setattr(mechanism, "former", former)
    with monkeypatch.context() as earlier:
        earlier.setattr(
            mechanism, "describe", lambda plan: {names.get(key, key): value for key, value in describe(plan).items()}
        )
        first = run(spec, tmp_path / "first")
    again = run(spec, tmp_path / "again")
    assert again.spent_before == again.spent_after == first.spent_after
    (product,) = (*again.release.products, *again.release.microdata)
    assert former.keys() <= product.mechanism.keys()
    for bundle in (first.bundle, again.bundle):
        verify(bundle)
        compare_with_ledger(bundle, spec.resolve(spec.ledger))
