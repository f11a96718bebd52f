"""What earlier versions wrote still opens: bundles verify, ledgers add up, stored results come back.

Each archive is a release as a version wrote it: specification, schema, ledger and bundle, without the rows. None is
ever made again: a version that changes a format adds a folder of its own.
"""

import json
import tarfile
from pathlib import Path

import pytest

from tacita.ledger import Ledger
from tacita.release.plans import plan_from_record
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, verify

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
