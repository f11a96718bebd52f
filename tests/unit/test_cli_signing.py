"""Keys, signed bundles and signed heads of a ledger, through the command line; and a ledger that was put back."""

import json
from pathlib import Path

import pytest

from support.command_line import Call, write_jobs

WHO = ("--name", "B. Rossi", "--role", "chair of the board")


@pytest.fixture(autouse=True)
def no_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACITA_PASSPHRASE", raising=False)


@pytest.fixture
def released(released_folder: Path, tacita: Call) -> Path:
    """A bundle, its ledger, and the keys of a board and of someone else."""
    for name in ("board", "other"):
        made = tacita("keys", "new", name, "--out", released_folder / "keys")
        assert made.code == 0, made.err
        assert "keep it to yourself" in made.out
    return released_folder


def again(folder: Path, tacita: Call, out: str) -> None:
    write_jobs(folder / "jobs.parquet", lambda job: "north" if job % 4 else "south")
    assert tacita("run", folder / "release.toml", "--out", folder / out).code == 0


# ---------------------------------------------------------------- bundles


def test_a_signed_bundle_verifies_under_its_key_and_no_other(released: Path, tacita: Call) -> None:
    bundle, key, public = (released / one for one in ("bundle", "keys/board.key", "keys/board.pub"))
    said = tacita("verify", bundle)
    assert said.code == 0
    assert "This bundle is not signed" in said.out
    refused = tacita("verify", bundle, "--key", public)
    assert refused.code == 4
    assert "not signed with the key" in refused.err
    done = tacita("sign", bundle, "--key", key, *WHO, "--statement", "The board approves this release.")
    assert done.code == 0, done.err
    said = tacita("verify", bundle, "--key", public, "--ledger", released / "jobs.ledger")
    assert said.code == 0, said.err
    assert "by B. Rossi, chair of the board, on" in said.out
    assert "The board approves this release." in said.out
    assert "not signed" not in said.out
    assert tacita("verify", bundle, "--key", released / "keys" / "other.pub").code == 4
    without = tacita("verify", bundle)
    assert without.code == 0
    assert "no key was given" in without.out
    assert tacita("sign", bundle, "--key", key, *WHO).code == 2  # once
    page = tacita("report", bundle, "--out", released / "page.html")
    assert page.code == 0, page.err


def test_a_recomputed_manifest_is_refused(released: Path, tacita: Call) -> None:
    from tacita.release.bundle_files import write_manifest

    bundle = released / "bundle"
    assert tacita("sign", bundle, "--key", released / "keys" / "board.key", *WHO).code == 0
    manifest = json.loads((bundle / "manifest.json").read_text())
    head = {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")}
    head["made"]["code"] = "0" * 64  # other code words a page otherwise, so it is not made again
    page = bundle / "report.html"
    page.write_text(page.read_text().replace("Test tables", "Forged tables"))
    write_manifest(bundle, head)
    for keys in ((), ("--key", released / "keys" / "board.pub")):
        refused = tacita("verify", bundle, *keys)
        assert refused.code == 4
        assert "signed for something else than this bundle" in refused.err
    for path in (bundle / "signatures").iterdir():
        path.unlink()
    (bundle / "signatures").rmdir()
    assert tacita("verify", bundle).code == 0  # what only the key tells
    assert tacita("verify", bundle, "--key", released / "keys" / "board.pub").code == 4


def test_only_a_whole_release_is_signed(released: Path, tacita: Call) -> None:
    key = released / "keys" / "board.key"
    tacita("rehearse", released / "release.toml", "--mock", "--seed", 1, "--out", released / "rehearsal")
    for place, code in (("rehearsal", 4), ("keys", 4), ("nowhere", 2)):
        assert tacita("sign", released / place, "--key", key, *WHO).code == code
        assert not (released / place / "signatures").exists()
    (released / "bundle" / "report.html").write_text("edited")
    assert tacita("sign", released / "bundle", "--key", key, *WHO).code == 4
    assert tacita("sign", released / "bundle", "--key", released / "keys" / "board.pub", *WHO).code == 2
    assert tacita("sign", released / "bundle", "--key", released / "keys" / "none.key", *WHO).code == 2
    assert tacita("sign", released / "bundle", "--key", key, "--name", " ", "--role", "x").code != 0


def test_a_signed_bundle_is_not_replaced(released: Path, tacita: Call) -> None:
    bundle = released / "bundle"
    assert tacita("sign", bundle, "--key", released / "keys" / "board.key", *WHO).code == 0
    said = tacita("run", released / "release.toml", "--out", bundle, "--force")
    assert said.code == 2
    assert "it is signed, and signatures are not thrown away" in said.err


def test_a_key_with_a_passphrase(released: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACITA_PASSPHRASE", "correct horse")
    assert tacita("keys", "new", "safe", "--protect", "--out", released / "keys").code == 0
    monkeypatch.delenv("TACITA_PASSPHRASE")
    key = released / "keys" / "safe.key"
    said = tacita("sign", released / "bundle", "--key", key, *WHO)
    assert said.code == 2
    assert "TACITA_PASSPHRASE" in said.err
    monkeypatch.setenv("TACITA_PASSPHRASE", "wrong")
    assert tacita("sign", released / "bundle", "--key", key, *WHO).code == 2
    monkeypatch.setenv("TACITA_PASSPHRASE", "correct horse")
    assert tacita("sign", released / "bundle", "--key", key, *WHO).code == 0
    assert tacita("keys", "new", "safe", "--out", released / "keys").code == 2  # never replaced


# ---------------------------------------------------------------- heads of a ledger


def test_a_ledger_that_was_put_back_is_noticed_against_the_last_signed_head(released: Path, tacita: Call) -> None:
    ledger, head, public = (released / one for one in ("jobs.ledger", "head.json", "keys/board.pub"))
    older = ledger.read_bytes()
    again(released, tacita, "two")
    done = tacita("ledger", "sign", ledger, "--key", released / "keys" / "board.key", *WHO, "--out", head)
    assert done.code == 0, done.err
    check = ("ledger", "verify", ledger, "--head", head, "--key", public)
    said = tacita(*check)
    assert said.code == 0, said.err
    assert "It holds the head signed by B. Rossi" in said.out
    tacita("ledger", "annotate", ledger, "--note", "goes on", "--operator", "A")
    assert tacita(*check).code == 0  # it may grow

    ledger.write_bytes(older)
    assert tacita("ledger", "verify", ledger).code == 0  # consistent in itself
    refused = tacita(*check)
    assert refused.code == 4
    assert "has 4 entries, and 6 when its head was signed; this file was put back to an older state" in refused.err
    for _ in range(3):  # and written to since, until it is long enough
        tacita("ledger", "annotate", ledger, "--note", "goes on", "--operator", "A")
    refused = tacita(*check)
    assert refused.code == 4
    assert "entry 6 is not the one that was signed" in refused.err


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", 4),
        ("number", 0),
        ("number", -1),
        ("number", True),
        ("number", "4"),
        ("sha256", "0" * 64),
        ("ledger", "x"),
    ],
)
def test_a_forged_head_is_refused(released: Path, tacita: Call, field: str, value: object) -> None:
    ledger, head, public = (released / one for one in ("jobs.ledger", "head.json", "keys/board.pub"))
    tacita("ledger", "annotate", ledger, "--note", "one more", "--operator", "A")
    assert tacita("ledger", "sign", ledger, "--key", released / "keys/board.key", *WHO, "--out", head).code == 0
    document = json.loads(head.read_text())
    document["signed"]["subject"][field] = value
    head.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    refused = tacita("ledger", "verify", ledger, "--head", head, "--key", public)
    assert refused.code == 4
    assert "no genuine signature" in refused.err


def test_a_head_of_another_signer_kind_or_ledger_is_refused(released: Path, tacita: Call) -> None:
    ledger, head, public = (released / one for one in ("jobs.ledger", "head.json", "keys/board.pub"))
    assert tacita("ledger", "sign", ledger, "--key", released / "keys/other.key", *WHO, "--out", head).code == 0
    refused = tacita("ledger", "verify", ledger, "--head", head, "--key", public)
    assert refused.code == 4
    assert "not with" in refused.err
    assert tacita("sign", released / "bundle", "--key", released / "keys/board.key", *WHO).code == 0
    (signature,) = (released / "bundle" / "signatures").iterdir()
    refused = tacita("ledger", "verify", ledger, "--head", signature, "--key", public)
    assert "is not the signed head of a ledger" in refused.err
    ledger.unlink()
    assert tacita("run", released / "release.toml", "--out", released / "anew").code == 0
    refused = tacita("ledger", "verify", ledger, "--head", head, "--key", released / "keys/other.pub")
    assert refused.code == 4
    assert "comes from another ledger" in refused.err


def test_what_is_left_out_or_in_the_way_is_said(released: Path, tacita: Call) -> None:
    ledger, head, key = (released / one for one in ("jobs.ledger", "head.json", "keys/board.key"))
    assert tacita("ledger", "verify", ledger, "--key", released / "keys/board.pub").code == 2
    assert tacita("ledger", "sign", ledger, "--key", key, *WHO, "--out", head).code == 0
    before = head.read_bytes()
    assert tacita("ledger", "sign", ledger, "--key", key, *WHO, "--out", head).code == 2
    assert head.read_bytes() == before
    assert tacita("ledger", "verify", ledger, "--head", head).code == 2
    assert (
        tacita("ledger", "verify", ledger, "--head", released / "none", "--key", released / "keys/board.pub").code == 2
    )


# ---------------------------------------------------------------- run and sign in one step


def test_a_run_signs_what_it_made(folder: Path, tacita: Call) -> None:
    assert tacita("keys", "new", "operator", "--out", folder / "keys").code == 0
    key = folder / "keys" / "operator.key"
    done = tacita("run", folder / "release.toml", "--out", folder / "bundle", "--sign", key, *WHO)
    assert done.code == 0, done.err
    said = tacita("verify", folder / "bundle", "--key", key.with_suffix(".pub"))
    assert said.code == 0, said.err
    assert "by B. Rossi, chair of the board, on" in said.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--sign", "keys/operator.key"), "--sign: add --name NAME and --role ROLE"),
        (("--sign", "keys/nobody.key", *WHO), "nobody.key"),
        (("--sign", "keys/operator.key", "--name", " ", "--role", "x"), "name"),
        (WHO, "add --sign KEY"),
    ],
)
def test_what_cannot_be_signed_is_not_paid_for(
    given: tuple[str, ...], said: str, folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tacita("keys", "new", "operator", "--out", folder / "keys").code == 0
    monkeypatch.chdir(folder)
    refused = tacita("run", folder / "release.toml", "--out", folder / "bundle", *given)
    assert refused.code == 2
    assert said in " ".join(refused.err.split())
    assert not (folder / "jobs.ledger").exists()
    assert not (folder / "bundle").exists()
