"""`check` of a [[microdata]]: the self-check that its own budget pays for. What values mean is up to `SelfCheck`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.release.spec_part import Part


class CheckSpec(Part):
    """Which share of the product's budget measures what its first file got wrong, what is tolerated, and what becomes
    of files that fail."""

    share: str | float = "0.05"
    limits: dict[str, str | float] = Field(default_factory=dict)
    fail: Literal["stamp", "withhold"] = "stamp"

    @property
    def settings(self) -> dict[str, Any]:
        return {"share": self.share, "limits": self.limits, "fail": self.fail}
