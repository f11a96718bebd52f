"""A board signs the dossier it saw: a dossier that was changed afterwards is refused, whoever recomputed its record."""

import shutil
from pathlib import Path

import pytest

from support.command_line import Call
from support.forged_bundles import BOARD, FORGER, KEY, WHO
from tacita.dossier.findings import Findings
from tacita.errors import UsageError, VerificationError
from tacita.ledger.signatures import new_key
from tacita.release.folder import MARKER, mark, why_not
from tacita.release.signed import UNSIGNED_DOSSIER, is_dossier, signable_dossier, trust
from tacita.release.verify import dossier_checks

Made = tuple[Findings, Path]


@pytest.fixture
def dossier(made: Made, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[1], tmp_path / "dossier"))


@pytest.fixture
def signed(dossier: Path) -> Path:
    signable_dossier(dossier).sign(BOARD, **WHO)
    return dossier


def test_an_unsigned_dossier_is_checked_and_says_so(dossier: Path) -> None:
    assert is_dossier(dossier)
    assert list(dossier_checks(dossier)) == ["all files of the dossier are as they were written, and there is no other"]
    assert trust(dossier, []) == UNSIGNED_DOSSIER


def test_a_signed_dossier_says_who_saw_it_and_is_not_replaced(signed: Path) -> None:
    assert any(WHO["name"] in sentence for sentence in dossier_checks(signed, [KEY]))
    assert trust(signed, [KEY]) == ""
    assert "bundle" not in trust(signed, [])
    assert why_not(signed, "dossier") == "it is signed, and signatures are not thrown away"
    with pytest.raises(UsageError, match="signed it already"):
        signable_dossier(signed).sign(BOARD, **WHO)


@pytest.mark.parametrize("name", ["dossier.html", "dossier.json"])
def test_a_changed_file_is_noticed_with_the_record_recomputed_too(signed: Path, name: str) -> None:
    (signed / name).write_bytes((signed / name).read_bytes() + b" ")
    with pytest.raises(VerificationError, match="not as Tacita recorded it"):
        list(dossier_checks(signed, [KEY]))
    signatures = (signed / "signatures").rename(signed.parent / "aside")
    (signed / MARKER).unlink()
    mark(signed, "dossier")
    signatures.rename(signed / "signatures")
    with pytest.raises(VerificationError, match="signed for something else than this dossier"):
        list(dossier_checks(signed, [KEY]))


def test_a_file_more_or_less_and_a_stranger_signing_are_noticed(signed: Path) -> None:
    (signed / "note.txt").write_text("x")
    with pytest.raises(VerificationError, match=r"holds note\.txt"):
        signable_dossier(signed)
    (signed / "note.txt").unlink()
    shutil.rmtree(signed / "signatures")
    signable_dossier(signed).sign(FORGER, **WHO)
    with pytest.raises(VerificationError, match="is not signed with the key"):
        list(dossier_checks(signed, [KEY]))
    (signed / "dossier.html").unlink()
    with pytest.raises(VerificationError, match=r"dossier\.html is missing"):
        signable_dossier(signed)


def test_from_the_command_line(dossier: Path, tmp_path: Path, tacita: Call) -> None:
    private, public = new_key(tmp_path, "board")
    words = ("--key", private, "--name", "B. Rossi", "--role", "chair of the board")
    assert "Signed: " in tacita("sign", dossier, *words).out
    verified = tacita("verify", dossier, "--key", public)
    assert verified.code == 0
    assert "We have seen this dossier." in verified.out
    refused = tacita("verify", dossier, "--ledger", tmp_path / "jobs.ledger")
    assert (refused.code, "a dossier has no entries" in refused.err) == (2, True)
