"""Synthesis of ordinary files: categories, numbers and missing values together."""

from tacita.synthesis.file.model import FileModel
from tacita.synthesis.file.plan import FileSynthesis

__all__ = ["FileModel", "FileSynthesis"]
