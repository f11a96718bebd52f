"""Panels with a formal guarantee: noisy tables and clamped sums of each group, and files drawn from them.

`measuring` asks the questions, with the shares of `budget`; the proof is `formal.md`. `drawing` makes a file: first
years and who leaves (`lives`), sizes (`growth`, `steps`, `targets`, `accounts`), other numbers (`ratios`,
`pinned`). `promise` is what `PanelSynthesis` (`plan`) says before it acts, `model` what it returns.
"""
