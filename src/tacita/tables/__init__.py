"""From measured values to published tables: intervals, totals that add up, ranks. Post-processing only.

Nothing in here can reach confidential rows: it starts from `Measured`.
"""

from tacita.tables.publish import publish
from tacita.tables.series import series

__all__ = ["publish", "series"]
