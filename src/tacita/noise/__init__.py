"""Exact noise: where the bits come from, how they become draws, and what error they cause.

Which file answers which question:

- `entropy`: where does randomness come from, and may the result be released? `SystemEntropy`, `SeededEntropy`.
- `discrete`: whole-number noise for counts, exact and fast. `add_discrete_laplace`, `DiscreteLaplace` (its error).
- `laws`: the continuous laws of unit scale, with certified distribution functions. `Laplace`, `Student`,
  `QuarticCauchy`.
- `rounding`: continuous noise rounded to a grid without floating-point leaks. `noisy_on_grid`, `noisy_log`.
- `forcing`: what do two neighbouring files give away once the second is handed what the first released? `Tape`.
- `replay`: do two neighbouring files ask for noise in the same way? `Recording`, `Replaying`, `compare`.

The proofs are `discrete.md` and `rounding.md`, in this folder.
"""

from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace, discrete_laplace
from tacita.noise.entropy import Entropy, Request, SeededEntropy, SystemEntropy
from tacita.noise.forcing import Draw, Tape, settles
from tacita.noise.laws import Laplace, Law, QuarticCauchy, Student
from tacita.noise.replay import Difference, Recording, Replaying, ReplayMismatch, compare
from tacita.noise.rounding import noisy_log, noisy_on_grid

__all__ = [
    "Difference",
    "DiscreteLaplace",
    "Draw",
    "Entropy",
    "Laplace",
    "Law",
    "QuarticCauchy",
    "Recording",
    "ReplayMismatch",
    "Replaying",
    "Request",
    "SeededEntropy",
    "Student",
    "SystemEntropy",
    "Tape",
    "add_discrete_laplace",
    "compare",
    "discrete_laplace",
    "noisy_log",
    "noisy_on_grid",
    "settles",
]
