"""Tables of any file: counts, sums, means, variances, shares, ratios and quantiles by groups. Proof: table.md."""

from __future__ import annotations

from tacita.mechanisms.table.plan import Table

__all__ = ["Table"]
