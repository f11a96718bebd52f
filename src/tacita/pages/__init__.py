"""Pages that stand alone: the public report, the internal dossier and the studies, from one set of templates.

* `templates/` holds the words and the markup: `report.html.j2` and `dossier.html.j2` with their sections in folders of
  the same name, `study.html.j2`, `parts.html.j2` for what all use, `style.css` for how it looks, and `code/` for code
  that readers copy.
* `render` fills them in, and says a number as a reader wants it; `charts` draws.

Nothing here reads a file of a release or a confidential row: `release`, `dossier` and the studies prepare what a
template shows, and this package knows only values to print.
"""
