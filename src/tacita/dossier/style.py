"""What the dossier's page adds to the look of the public one: its warning, wider tables and small pictures."""

from tacita.release.page_style import STYLE

DOSSIER_STYLE = (
    STYLE
    + """
:root { --warn: #a3331f; }
main { max-width: 54rem; }
.banner { position: sticky; top: 0; z-index: 2; background: var(--warn); color: #fff; text-align: center;
  font-size: .9rem; padding: .5rem 1rem; letter-spacing: .02em; }
.kicker { color: var(--warn); }
.group td { padding-top: 1.1rem; border-bottom: 1.5px solid var(--ink); font-weight: 600; }
.scores td:first-child { width: 56%; }
.meaning { display: block; color: var(--soft); font-size: .92em; }
.caution { display: block; color: var(--warn); font-size: .92em; }
.multiples { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 1.1rem 1.3rem; margin: 1.2rem 0; }
.multiples figure { margin: 0; } .multiples figcaption { margin: 0 0 .2rem; color: var(--ink); font-size: .8rem; }
.multiples.two { grid-template-columns: repeat(2, minmax(0, 1fr)); }
.key { color: var(--soft); font-size: .86rem; }
.key i { display: inline-block; width: .7rem; height: .7rem; margin: 0 .3rem 0 .9rem; vertical-align: -1px; }
.worse { color: var(--warn); } .better { color: #2c6e49; }
th.number { white-space: normal; min-width: 4rem; }
td.wrap { overflow-wrap: anywhere; }
@page { margin: 22mm 16mm 18mm; @top-center { content: "Confidential, not for release"; color: #a3331f;
  font: 9pt Charter, Georgia, "DejaVu Serif", serif; } @bottom-center { content: counter(page); font-size: 8pt;
  color: #5c6b76; } }
@media print { h2 + p { break-after: avoid; }
  .banner { position: static; margin-bottom: 1.2rem; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .multiples figure { break-inside: avoid; } }
@media (max-width: 640px) { .multiples, .multiples.two { grid-template-columns: 1fr; } }
"""
)
