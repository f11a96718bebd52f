"""Evidence of an audit travels with a release that the same version made, and with no other."""

import json
from pathlib import Path

import pytest

from support.command_line import SCHEMA, SPEC, write_jobs
from tacita.audit import evidence
from tacita.audit.forced import Outcome
from tacita.audit.run import PlanReport
from tacita.errors import UsageError, VerificationError
from tacita.ledger import Ledger
from tacita.release.bundle_files import json_bytes, manifest_hash
from tacita.release.run import run
from tacita.release.spec import Spec
from tacita.release.verify import verify


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.schema.toml").write_text(SCHEMA)
    (tmp_path / "release.toml").write_text(SPEC)
    write_jobs(tmp_path / "jobs.parquet")
    return tmp_path


def _leave(folder: Path) -> None:
    report = PlanReport("SmoothStaircase", 3, Outcome(504, 504, 0, 0.99), 0.1, 2.0, (("too little noise", "loss"),))
    evidence.write(folder / evidence.evidence_name(), evidence.evidence(evidence.document((report,))))


def _made(folder: Path) -> Path:
    return run(Spec.load(folder / "release.toml"), folder / "bundle").bundle


def test_a_release_carries_the_evidence_beside_its_ledger(folder: Path) -> None:
    _leave(folder)
    bundle = _made(folder)
    assert json.loads((bundle / "evidence.json").read_text())["plans"][0]["neighbours_tried"] == 504
    assert any("on 504 neighbouring files" in one for one in verify(bundle))
    page = (bundle / "report.html").read_text()
    assert "evidence.json" in page
    assert "on 504 pairs of files" in page


def test_without_evidence_nothing_is_said(folder: Path) -> None:
    bundle = _made(folder)
    assert not (bundle / "evidence.json").exists()
    assert "evidence.json" not in (bundle / "report.html").read_text()
    verify(bundle)


def test_evidence_that_is_none_stops_a_run_before_anything_is_spent(folder: Path) -> None:
    (folder / evidence.evidence_name()).write_text("{}")
    with pytest.raises(UsageError, match="make it again"):
        _made(folder)
    assert not (folder / "jobs.ledger").exists() or not Ledger.open(folder / "jobs.ledger", read_only=True).entries()


def test_evidence_of_another_version_does_not_verify(folder: Path) -> None:
    _leave(folder)
    bundle = _made(folder)
    found = json.loads((bundle / "evidence.json").read_text())
    _put_in(bundle, json_bytes(found | {"version": "9.9.9"}))
    with pytest.raises(VerificationError, match=r"9\.9\.9"):
        verify(bundle)


def _put_in(bundle: Path, content: bytes) -> None:
    """Another evidence, with the manifest made to fit: what someone does who can write to the bundle."""
    import hashlib

    (bundle / "evidence.json").write_bytes(content)
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["files"]["evidence.json"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    manifest["manifest_sha256"] = manifest_hash(manifest)
    (bundle / "manifest.json").write_bytes(json_bytes(manifest))
