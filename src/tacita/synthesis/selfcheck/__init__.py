"""The paid self-check of synthetic files: what a file got wrong, measured with noise, held against stated limits.

`plan` has `SelfCheck`, which is put around any synthesizer; `yardstick` what is compared, read off the synthetic file;
`measuring` what sees confidential rows; `report` the limits, the findings and the verdict.
"""

from tacita.synthesis.selfcheck.plan import Checked, SelfCheck, stamped

__all__ = ["Checked", "SelfCheck", "stamped"]
