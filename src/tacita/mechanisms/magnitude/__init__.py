"""Tables of magnitudes (payroll, sales, amounts, jobs) when one unit's numbers may change by a factor 1 + α.

`SmoothSums` adds numbers up by cell. The noise of a cell follows its largest unit, with the certified law
of `SmoothStaircase`.
"""

from tacita.mechanisms.magnitude.sums import SmoothSums

__all__ = ["SmoothSums"]
