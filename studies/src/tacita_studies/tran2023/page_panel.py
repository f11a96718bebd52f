"""The page's part on section 5: Table 5, and the trends of figures 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacita_studies.harness.pictures import PALETTE, trends
from tacita_studies.harness.results import figure, paragraph, table
from tacita_studies.tran2023.page_cells import Found, beside, number
from tacita_studies.tran2023.printed import INDUSTRIES, K_MARGINAL, PMSE_LASSO
from tacita_studies.tran2023.section5 import EMPLOYMENT, RAW


def panel_section(found: Found, settings: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> list[str]:
    methods = found.methods("Table 5")
    body: list[list[object]] = []
    for method in methods:
        cells = [
            beside(found.row("Table 5", method, metric, industry.sic3))
            for metric in (PMSE_LASSO, K_MARGINAL)
            for industry in INDUSTRIES
        ]
        body.append([method, *cells])
    head = [f"{short} {one.sic3}" for short in ("pMSE", "KM") for one in INDUSTRIES]
    colours = {RAW: "#000000", **dict(zip(methods, PALETTE, strict=False))}
    gross = [one for one in records if one["figure"] == EMPLOYMENT]
    rates = [one for one in records if one["figure"] == "rates"]
    errors: list[list[object]] = []
    for method in methods:
        by_industry = [(metric, one.sic3) for metric in found.metrics("Figure 1") for one in INDUSTRIES]
        together = [(metric, None) for metric in found.metrics("Figure 2")]
        cells = [number(found.row("Figure 1", method, metric, sic3)) for metric, sic3 in by_industry]
        errors.append([method, *cells, *(number(found.row("Figure 2", method, one, none)) for one, none in together)])
    return [
        paragraph(
            f"The SynLBD cannot be passed on, so the panel is simulated: {settings['establishments']:,} establishments "
            "in the four industries of Table 4, 1976 to 2000, at most 2,000 employees, first and last years public. "
            "Births are drawn from quantiles, continuers from quantile regressions on the (synthetic) year before. "
            "Numbers can agree with the paper's in size and order, not digit by digit."
        ),
        paragraph(
            "Each industry has ε = 1 for the whole employment history of an establishment, which is there or not; "
            "first and last years are public. The paper divides it into 0.04 a year, three quarters of it for "
            "continuers; an establishment can be in every year, so these budgets add up. The last row spends the same "
            "ε = 1 better: an establishment is born once, so the births of every year can have 0.25 each, and one law "
            "of growth is measured on the transitions of all years with the other 0.75."
        ),
        table(("Method", *head), body),
        figure(
            trends(gross, colours, RAW, columns=2, number=",d"),
            f"Gross employment by year (figure 1): mean of {settings['repetitions']} repetitions, band of one standard "
            "deviation. Lines that leave the picture are cut off.",
        ),
        figure(
            trends(rates, colours, RAW, columns=2),
            "Job creation and net job creation in the four industries together (figure 2). Job destruction counts "
            "losses as positive; the paper's formula has its sign the other way round.",
        ),
        paragraph("How far the trends are from those of the raw panel:", "note"),
        table(("Method", *(f"employment {one.sic3}" for one in INDUSTRIES), "job creation", "net creation"), errors),
    ]
