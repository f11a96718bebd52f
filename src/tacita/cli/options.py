"""Options that several verbs have."""

from __future__ import annotations

from typing import Annotated

import typer

Force = Annotated[bool, typer.Option("--force", help="Replace what the target holds already.")]
