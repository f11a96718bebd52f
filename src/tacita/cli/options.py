"""Options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Force = Annotated[bool, typer.Option("--force", help="Replace what the target holds already.")]
OutFolder = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder to write; it appears whole or not at all.")
]
