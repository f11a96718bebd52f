"""Margins of sums of noises: the numbers that are kept are those that are found."""

import subprocess
import sys

import numpy as np
import pytest

from tacita.mechanisms.table.noise import PRUDENCE
from tacita.noise import combination
from tacita.noise.usual import DEVIATIONS


@pytest.mark.parametrize("confidence", DEVIATIONS)
def test_the_numbers_that_are_kept_are_found_again(confidence: float) -> None:
    found = [combination._deviations(confidence, kurtosis) for kurtosis in np.linspace(0, 3, 25)]
    np.testing.assert_allclose(DEVIATIONS[confidence], found, rtol=1e-12)


def test_usual_margins_need_no_library() -> None:
    for confidence in (0.9, 0.95, 0.99):
        assert {confidence, 1 - float(PRUDENCE) * (1 - confidence)} <= DEVIATIONS.keys()
    code = "import sys, numpy as np; from tacita.noise.combination import margin\n"
    code += "margin(0.95, [(np.ones(2), 3.0)]); print('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
