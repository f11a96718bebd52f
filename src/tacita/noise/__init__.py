"""Exact noise: where the bits come from, how they become draws, and what error they cause.

Which file answers which question:

- `entropy`: where does randomness come from, and may the result be released? `SystemEntropy`, `SeededEntropy`.
- `discrete`: whole-number noise for counts, exact and fast. `add_discrete_laplace`, `DiscreteLaplace` (its error).
- `cube`: the same for a few values that one unit may all change. `add_cube`, `CubeLaw`.
- `laws`: the continuous laws of unit scale, with certified distribution functions. `Laplace`, `Student`,
  `QuarticCauchy`.
- `rounding`: continuous noise rounded to a grid without floating-point leaks. `noisy_on_grid`, `noisy_log`.
- `forcing`: what do two neighbouring files give away once the second is handed what the first released? `Tape`.
- `replay`: do two neighbouring files ask for noise in the same way? `Recording`, `Replaying`, `compare`.

The proofs are `discrete.md`, `cube.md` and `rounding.md`, in this folder.
"""
