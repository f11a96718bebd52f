"""The verbs of signatures: make a key, sign a bundle. What they prove is checked by `tacita verify --key`."""

from __future__ import annotations

import os
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


def sign(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="The folder that `tacita run` wrote.")],
    key: PrivateKey,
    name: Signer,
    role: Role,
    statement: Annotated[
        str, typer.Option(metavar="TEXT", help="What is signed for. Public.")
    ] = "This is the release as we made it.",
) -> None:
    """Sign a bundle, after verifying it: a name, a role and a statement over its manifest, in signatures/.

    Several people may sign, each with a key of their own.
    """
    from tacita.ledger.signatures import private_key
    from tacita.release.signed import sign_bundle
    from tacita.release.verify import read_manifest, verify

    if not bundle.is_dir():
        raise UsageError(f"{bundle}: there is no such folder")
    opened = private_key(key, os.environ.get(PASSPHRASE))
    verify(bundle)
    place = bundle.absolute()
    path = sign_bundle(place, read_manifest(place), opened, name=name, role=role, statement=statement)
    console().print(f"Signed: {path.relative_to(place.parent)}", highlight=False)
