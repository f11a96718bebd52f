"""The page's style sheet: one column for reading, wide enough for its tables, and fit for paper."""

STYLE = """
:root { --ink: #1f2a33; --soft: #5c6b76; --rule: #d5dbe0; --accent: #1d5f8a; --wash: #f5f7f8; }
* { box-sizing: border-box; }
html { font-size: 18px; -webkit-text-size-adjust: 100%; }
body { margin: 0; overflow-wrap: break-word; color: var(--ink); background: #fff; line-height: 1.55; hyphens: manual;
  font-family: Charter, "Bitstream Charter", "Source Serif 4", "Iowan Old Style", Georgia, "DejaVu Serif", serif;
  font-feature-settings: "kern", "liga"; text-rendering: optimizeLegibility; }
main { max-width: 43rem; margin: 0 auto; padding: 4.5rem 1.5rem 5rem; }
header { margin-bottom: 2.6rem; }
.kicker { margin: 0 0 .6rem; color: var(--accent); font-size: .82rem; letter-spacing: .02em; }
h1 { font-size: 2.05rem; line-height: 1.16; margin: 0 0 .7rem; font-weight: 600; letter-spacing: -.012em;
  text-wrap: balance; }
h2 { font-size: 1.32rem; line-height: 1.25; margin: 3.2rem 0 .8rem; padding-top: .9rem; font-weight: 600;
  border-top: 1px solid var(--rule); text-wrap: balance; }
h3 { font-size: 1.05rem; line-height: 1.3; margin: 2rem 0 .5rem; font-weight: 600; }
p, ul { margin: 0 0 .85rem; text-wrap: pretty; }
ul { padding-left: 1.15rem; }
li { margin-bottom: .4rem; }
.dateline, figcaption, .note { color: var(--soft); font-size: .86rem; line-height: 1.45; }
.lead { font-size: 1.12rem; line-height: 1.5; }
.doubt { margin: 0 0 1.2rem; padding: .8rem 1.1rem; border-left: 5px solid #a3331f; background: #fbf1ef;
  color: #7d2516; font-weight: 600; }
.stamp { margin: 0 0 2.4rem; padding: .9rem 1.1rem; border: 3px solid #a3331f; color: #a3331f; font-weight: 600; }
dl { display: grid; grid-template-columns: 11rem 1fr; gap: .55rem 1.4rem; margin: 1.4rem 0 1.6rem;
  padding: 1.1rem 1.3rem; background: var(--wash); }
dl.plain { grid-template-columns: 9.5rem 1fr; gap: .8rem 1.4rem; padding: 0; background: none; }
dl.plain dt { color: var(--accent); }
dt { color: var(--soft); font-size: .9rem; padding-top: .08rem; }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; text-wrap: pretty; }
figure { margin: 1.3rem 0 1.5rem; }
figcaption { margin-top: .4rem; }
table { width: 100%; border-collapse: collapse; margin: 1rem 0 1.4rem; font-size: .87rem; line-height: 1.4;
  font-variant-numeric: tabular-nums lining-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .45rem; }
th { text-align: left; font-weight: 600; border-bottom: 1.5px solid var(--ink); padding: .35rem .9rem .35rem 0;
  vertical-align: bottom; }
td { border-bottom: 1px solid var(--rule); padding: .38rem .9rem .38rem 0; vertical-align: top; }
th, td { overflow-wrap: anywhere; } td.number, th.number { overflow-wrap: normal; }
th:last-child, td:last-child { padding-right: 0; }
table.odds { width: auto; } table.odds th, table.odds td { min-width: 8rem; }
figure.code { margin: 1rem 0 1.2rem; }
pre { margin: .3rem 0 0; padding: .8rem 1rem; background: var(--wash); border-left: 3px solid var(--rule);
  line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere; }
pre code { font-size: .72rem; }
.sheet td:first-child { width: 9.5rem; color: var(--soft); }
.number { text-align: right; white-space: nowrap; }
code { font-family: "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .82em; }
.hash { overflow-wrap: anywhere; font-size: .72em; color: var(--soft); }
svg { display: block; }
footer { margin-top: 3.4rem; padding-top: .9rem; border-top: 1px solid var(--rule); color: var(--soft);
  font-size: .84rem; }
@media (max-width: 640px) {
  html { font-size: 16px; } main { padding-top: 2rem; } dl, dl.plain { grid-template-columns: 1fr; gap: .1rem; }
  dd { margin-bottom: .7rem; } table { display: block; overflow-x: auto; }
}
@page { margin: 20mm 18mm; }
@media print {
  html { font-size: 10.5pt; } main { max-width: none; padding: 0; }
  .first { break-after: page; }
  h2 { margin-top: 1.8rem; } h2, h3, caption { break-after: avoid; }
  figure:not(.code), tr, dl, .stamp { break-inside: avoid; } thead { display: table-header-group; }
  figure.code figcaption { break-after: avoid; }
  p, li { orphans: 3; widows: 3; }
}
"""
