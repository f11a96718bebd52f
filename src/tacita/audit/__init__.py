"""Attacks on the package's own promises, run from the installed package: `tacita audit`.

Which file answers which question:

- `examples`: which plans are tried, with which settings? Third-party plans come in here.
- `families`, `jobs`, `records`, `panels`: on which files, and which neighbours?
- `forced`: does a run on a neighbour, handed what the first released, differ in nothing but bounded losses?
- `losses`, `laws`: what does one draw tell two files apart?
- `drawn`: does a sampler draw the law that its loss is computed from?
- `twins`, `twins_rows`, `toy`: would a mistake have been found?
- `run`: what does counting events of real runs show, do the same words lead to the same requests?
- `run`, `show`, `evidence`: all of it, on the terminal and as a document.
"""
