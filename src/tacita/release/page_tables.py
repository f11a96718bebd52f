"""The part of the page that shows each table: accuracy by size of cell, the largest cells, the mechanism sheet."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.release.bundle_files import bundle_files, fingerprint
from tacita.release.charts import error_bars
from tacita.release.page_parts import settings_rows, sheet
from tacita.tables.publish import attributes, without_totals

Floats = NDArray[np.float64]

_SHOWN = 15  # cells in a picture: as many as a reader compares at a glance
_BANDS = ((0, 10), (10, 100), (100, 1_000), (1_000, 10_000), (10_000, None))


def product_section(record: dict[str, Any], table: pa.Table) -> str:
    """One table of the release."""
    cells = without_totals(table, record["settings"].get("totals") or ())
    values = cells["value"].to_numpy(zero_copy_only=False).astype(float)
    margins = cells["margin_of_error"].to_numpy(zero_copy_only=False).astype(float)  # NaN where nothing bounds it
    confidence = f"{float(record['settings'].get('confidence', '0.95')):.0%}"
    name = escape(record["name"])
    parts = [
        f"<h3>{escape(record['title'])}</h3>",
        f"<p class='note'><code>tables/{name}.csv</code>, <code>tables/{name}.parquet</code> · "
        f"{table.num_rows:,} rows · {escape(record['guarantee']['in_short'])}</p>",
        _picture(cells, values, margins, confidence, floor=0.0 if record["settings"].get("nonnegative") else -math.inf),
        _bands(values, margins, confidence),
        _sheet(record),
    ]
    return "".join(parts)


def _picture(table: pa.Table, values: Floats, margins: Floats, confidence: str, *, floor: float) -> str:
    if not len(values):
        return ""
    chosen, caption = _examples(values, ranked="rank" in table.column_names)
    labels = _cell_labels(table, chosen)
    drawn = error_bars(labels, values[chosen].tolist(), margins[chosen].tolist(), confidence, floor=floor)
    return f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>"


def _examples(values: Floats, *, ranked: bool) -> tuple[NDArray[np.intp], str]:
    """Cells worth showing: all of a small table, the top of a ranking, else a ladder of sizes.

    The largest cells alone would flatter a table: their margins are small beside them.
    """
    order = np.argsort(-values, kind="stable")
    if len(values) <= _SHOWN:
        return order, "All values of this table, from the largest down."
    if ranked:
        return order[:_SHOWN], f"The first {_SHOWN} of the ranking."
    order = order[values[order] >= 1] if (values >= 1).sum() > _SHOWN else order
    sorted_values = values[order]
    rungs = np.geomspace(max(sorted_values[0], 2.0), max(sorted_values[-1], 1.0), _SHOWN)
    nearest = np.searchsorted(-sorted_values, -rungs, side="left").clip(0, len(order) - 1)
    return order[np.unique(nearest)], "Cells across the range of published sizes, from the largest down."


def _cell_labels(table: pa.Table, order: NDArray[np.intp]) -> list[str]:
    """Each cell in words: the labels of its levels, or the codes where there are no labels."""
    names = [f"{one}_label" if f"{one}_label" in table.column_names else one for one in attributes(table)]
    shown = table.take(pa.array(order))
    labels = [" · ".join(str(part) for part in row.values() if part) for row in shown.select(names).to_pylist()]
    # The picture has one line per label, so two cells that share one are told apart.
    return [f"{label} ({place})" if labels.count(label) > 1 else label for place, label in enumerate(labels, start=1)]


def _bands(values: Floats, margins: Floats, confidence: str) -> str:
    rows = []
    for low, high in _BANDS:
        inside = (values >= low) & (values < (np.inf if high is None else high))
        if low == 0:
            inside |= values < 0
        if not inside.any():
            continue
        known = margins[inside & np.isfinite(margins)]
        typical = float(np.median(known)) if known.size else math.nan
        relative = typical / max(float(np.median(values[inside])), 1.0)
        band = f"{low:,} and more" if high is None else "below 10" if low == 0 else f"{low:,} to {high - 1:,}"
        margin = f"± {typical:,.0f}" if known.size else "not bounded"
        share = "—" if low == 0 or not known.size else f"{relative:.1%}" if relative < 0.1 else f"{relative:.0%}"
        rows.append(
            f"<tr><td>{band}</td><td class='number'>{int(inside.sum()):,}</td>"
            f"<td class='number'>{margin}</td><td class='number'>{share}</td></tr>"
        )
    return (
        f"<table><caption>Typical margin of error by size of cell ({escape(confidence)} confidence; medians)</caption>"
        "<thead><tr><th>Published value</th><th class='number'>Cells</th><th class='number'>Margin of error</th>"
        f"<th class='number'>Relative to the value</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _sheet(record: dict[str, Any]) -> str:
    """The mechanism sheet: which method, with which settings, proved where."""
    rows = settings_rows(record["mechanism"])
    rows += [("noise", _noise(record["noise"])), ("proof", record["proof"])]
    settings = record["settings"]
    after = [
        words
        for key, words in (("integers", "rounded to integers"), ("nonnegative", "negative values set to zero"))
        if settings.get(key)
    ]
    if settings.get("totals"):
        after.append(f"totals by {', '.join(settings['totals'])} made consistent")
    if settings.get("rank"):
        after.append("ranked by the noisy values")
    rows.append(("after the noise", "; ".join(after) or "nothing"))
    return sheet(rows)


def _noise(law: dict[str, Any]) -> str:
    scale = f", scale {law['scale']}" if "scale" in law else ""
    return f"{law.get('law', 'unknown')}{scale}"


def file_list(folder: Path) -> str:
    """Every file that can be listed before the page and the manifest exist."""
    rows = []
    for path in bundle_files(folder):
        if path == "report.html":
            continue
        digest, size = fingerprint(folder / path)
        rows.append(
            f"<tr><td><code>{escape(path)}</code><br><code class='hash'>{digest}</code></td>"
            f"<td class='number'>{_size(size)}</td></tr>"
        )
    return (
        "<h2>Files</h2><p>The checksums are SHA-256. <code>manifest.json</code> holds them too, with those of this "
        "page and of itself.</p><table><thead><tr><th>File and checksum</th><th class='number'>Size</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _size(count: int) -> str:
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"
