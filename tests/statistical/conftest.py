"""Densities written by hand live beside the audits."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "audit"))
