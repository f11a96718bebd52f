"""The verbs of signatures: make a key, sign a bundle or a dossier. `tacita verify --key` checks what they prove."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tacita.errors import UsageError
from tacita.terminal import console

keys_app = typer.Typer(help="Keys to sign with.", no_args_is_help=True)

PrivateKey = Annotated[Path, typer.Option("--key", metavar="KEY", help="Your private key, NAME.key.")]
Signer = Annotated[str, typer.Option(metavar="NAME", help="Who signs. Public.")]
Role = Annotated[
    str, typer.Option(metavar="ROLE", help="In what role, such as operator or member of the board. Public.")
]
PASSPHRASE = "TACITA_PASSPHRASE"


@keys_app.command("new", epilog="Example:  tacita keys new board --out keys/")
def keys_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the two files are called: NAME.key and NAME.pub.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write them.")] = Path(),
    protect: Annotated[
        bool, typer.Option("--protect", help="Ask for a passphrase, or take it from TACITA_PASSPHRASE.")
    ] = False,
) -> None:
    """Make an Ed25519 key. NAME.key stays with its owner; NAME.pub is handed out, by another way than the bundles."""
    from tacita.ledger.signatures import key_id, new_key, public_key

    passphrase = None
    if protect:
        asked = os.environ.get(PASSPHRASE)
        passphrase = asked or typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True)
    private, public = new_key(out, name, passphrase)
    console().print(
        f"Private key: {private} (keep it to yourself)\nPublic key:  {public} (hand it out; its id is "
        f"{key_id(public_key(public))})",
        highlight=False,
    )


def signer(key: Path | None, name: str | None, role: str | None) -> Callable[[Path], None] | None:
    """What signs a bundle that is still to be made: key and words are looked at before anything is paid."""
    from tacita.ledger.decisions import require_words
    from tacita.ledger.signatures import private_key

    if key is None:
        if name is not None or role is not None:
            raise UsageError("--name, --role: say who signs, and nothing is signed; add --sign KEY, or leave them out")
        return None
    if name is None or role is None:
        raise UsageError("--sign: add --name NAME and --role ROLE, who signs and in what role; both are public")
    require_words(name, "name", "who signs")
    require_words(role, "role", "in what role")
    private_key(key, os.environ.get(PASSPHRASE))
    return lambda folder: sign(folder, key, name, role)


def sign(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="The bundle that `tacita run` wrote, or the dossier of `tacita evaluate`."
        ),
    ],
    key: PrivateKey,
    name: Signer,
    role: Role,
    statement: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What is signed for. As public as the folder.")
    ] = None,
) -> None:
    """Sign a bundle or a dossier, after verifying it: a name, a role and a statement over its files, in signatures/.

    Several people may sign, each with a key of their own.
    """
    from tacita.ledger.signatures import private_key
    from tacita.release.signed import is_dossier, signable_bundle, signable_dossier
    from tacita.release.verify import read_manifest, verify

    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    opened, place = private_key(key, os.environ.get(PASSPHRASE)), folder.absolute()
    if is_dossier(place):
        signable, said = signable_dossier(place), "We have seen this dossier."
    else:
        verify(place)
        signable, said = signable_bundle(place, read_manifest(place)), "This is the release as we made it."
    path = signable.sign(opened, name=name, role=role, statement=said if statement is None else statement)
    console().print(f"Signed: {path.relative_to(place.parent)}", highlight=False)
