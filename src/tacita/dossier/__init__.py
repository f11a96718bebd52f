"""The internal dossier: what a release is worth and what it risks, measured against confidential rows.

It is confidential itself. Every page says so, it is never written inside a bundle, and nothing in it was paid for.

Where to look:

* `request` says what to evaluate; `run` reads the files, asks the questions and writes `dossier.html` and
  `dossier.json`; `findings` holds what was found in between.
* `files` reads and samples rows; `questions` picks the metrics that apply, and runs them.
* `comparators` asks what rounding, coarsening and suppression would have cost the files.
* `tables` holds published tables against the rows: `exact` answers what a table asks; `asked` says what that is, what
  the forecast was of each cell, and what methods without a guarantee would have published.
* `record` is the dossier as JSON, and the difference from an earlier one.
* `page` and `pictures` gather what its page shows; the words are in `pages/templates/dossier`.
"""
