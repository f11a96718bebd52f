"""What every part of a specification is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """Every part of a specification: closed to unknown keys and unchangeable once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PublicInputSpec(Part):
    """Something used that did not come from the confidential file, and where it came from."""

    what: str
    source: str
