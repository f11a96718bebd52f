"""Signatures of a bundle: whatever a forger tries is refused under the board's key, and what is genuine is told."""

import shutil
from pathlib import Path

import pytest

from support.forged_bundles import BOARD, FORGER, FORGERIES, KEY, OTHER, WHO, the_signature
from support.release import small_release
from tacita.errors import UsageError, VerificationError
from tacita.ledger.signatures import new_key, private_key, public_key, read_signed
from tacita.release.bundle import Release
from tacita.release.bundle_files import bundle_files
from tacita.release.signed import UNKNOWN_KEY, UNSIGNED, signable_bundle, trust
from tacita.release.verify import read_manifest, verify


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bundle = small_release().write(tmp_path_factory.mktemp("signed") / "bundle")
    signable_bundle(bundle, read_manifest(bundle)).sign(BOARD, **WHO)
    return bundle


@pytest.fixture
def bundle(signed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(signed, tmp_path / "bundle"))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_bundle_is_refused_under_the_boards_key(bundle: Path, name: str) -> None:
    FORGERIES[name](bundle)
    with pytest.raises(VerificationError, match=r"(?i)signature|signed|regular file|whole bundle"):
        verify(bundle, [KEY])


def test_there_are_two_hundred_kinds_of_forgery() -> None:
    assert len(FORGERIES) >= 200


# ---------------------------------------------------------------- what is genuine


def test_a_signed_bundle_verifies_and_says_who_signed_it(bundle: Path) -> None:
    said = verify(bundle, [KEY])
    assert any("B. Rossi, chair of the board" in one and "The board approves this release." in one for one in said)
    assert trust(bundle, [KEY]) == ""
    assert any(one.startswith("not compared: the signature") for one in verify(bundle))
    assert trust(bundle, []) == UNKNOWN_KEY


def test_a_bundle_is_verified_by_the_files_of_keys_in_python(bundle: Path, tmp_path: Path) -> None:
    private, public = new_key(tmp_path, "operator")
    with pytest.raises(VerificationError, match="not signed with the key"):
        Release.verify(bundle, keys=[public])
    signable_bundle(bundle, read_manifest(bundle)).sign(private_key(private), **WHO)
    assert any("signed with the key" in one for one in Release.verify(bundle, keys=[public]))


def test_an_unsigned_bundle_says_so(tmp_path: Path) -> None:
    bundle = small_release().write(tmp_path / "bundle")
    verify(bundle)
    assert trust(bundle, []) == UNSIGNED
    with pytest.raises(VerificationError, match="never signed"):
        verify(bundle, [KEY])


def test_several_may_sign_and_every_key_that_is_asked_for_must_have(bundle: Path) -> None:
    with pytest.raises(VerificationError, match="not signed with the key"):
        verify(bundle, [KEY, OTHER])
    signable_bundle(bundle, read_manifest(bundle)).sign(
        FORGER, name="A. Meier", role="operator", statement="Made as planned."
    )
    assert sum("signed with the key" in one for one in verify(bundle, [KEY, OTHER])) == 2
    assert sum(one.startswith("not compared: the signature") for one in verify(bundle, [KEY])) == 1


def test_a_signature_has_a_day_and_no_time_of_day(bundle: Path, signed: Path) -> None:
    path = the_signature(signed)
    for one in (path, path.parent, signed):
        assert one.stat().st_mtime % 86_400 == 0
    assert "T" not in read_signed(path.read_bytes(), "it").statement.date


def test_a_key_signs_once(bundle: Path) -> None:
    before = the_signature(bundle).read_bytes()
    with pytest.raises(UsageError, match="has signed it already"):
        signable_bundle(bundle, read_manifest(bundle)).sign(BOARD, **WHO)
    assert the_signature(bundle).read_bytes() == before


@pytest.mark.parametrize("part", ["name", "role", "statement"])
@pytest.mark.parametrize("text", ["", " ", "a\u202eb", "x" * 3000])
def test_words_that_cannot_stand_on_record_are_not_signed(bundle: Path, part: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"{part}: must"):
        signable_bundle(bundle, read_manifest(bundle)).sign(FORGER, **(WHO | {part: text}))
    assert len(list((bundle / "signatures").iterdir())) == 1


def test_a_page_of_a_signed_bundle_is_the_same(bundle: Path) -> None:
    assert not any(name.startswith("signatures") for name in bundle_files(bundle))


# ---------------------------------------------------------------- keys


def test_a_key_is_its_owners_alone_and_never_replaced(tmp_path: Path) -> None:
    private, public = new_key(tmp_path, "board")
    assert private.stat().st_mode & 0o777 == 0o600
    before = private.read_bytes()
    with pytest.raises(UsageError, match="never replaced"):
        new_key(tmp_path, "board")
    assert private.read_bytes() == before
    assert private_key(private).public_key().public_bytes_raw().hex() == public_key(public)
    private.chmod(0o640)
    with pytest.raises(UsageError, match="others may read it"):
        private_key(private)


def test_a_protected_key_needs_its_passphrase(tmp_path: Path) -> None:
    private, public = new_key(tmp_path, "board", "correct horse")
    assert b"ENCRYPTED" in private.read_bytes()
    with pytest.raises(UsageError, match="TACITA_PASSPHRASE"):
        private_key(private)
    with pytest.raises(UsageError, match="the passphrase is another one"):
        private_key(private, "wrong")
    assert private_key(private, "correct horse").public_key().public_bytes_raw().hex() == public_key(public)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b", "x" * 200])
def test_a_key_has_the_name_of_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="becomes a file name"):
        new_key(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_the_wrong_half_of_a_key_is_noticed(tmp_path: Path) -> None:
    private, public = new_key(tmp_path, "board")
    with pytest.raises(UsageError, match="is a private key"):
        public_key(private)
    with pytest.raises(UsageError, match="is a public key"):
        private_key(public)
    (tmp_path / "none.pub").write_text("no key")
    with pytest.raises(UsageError, match="no Ed25519 public key"):
        public_key(tmp_path / "none.pub")
    with pytest.raises(UsageError, match="no such file"):
        public_key(tmp_path / "missing.pub")
