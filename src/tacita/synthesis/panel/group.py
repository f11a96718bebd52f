"""The function that is mapped over groups, the same on every engine: a panel in, tables out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from tacita.synthesis.panel.panel import Panel
from tacita.synthesis.panel.sequence import Models, draw, fit
from tacita.synthesis.panel.streams import stream
from tacita.synthesis.panel.tables import to_table


def group_files(
    panel: Panel, models: Models, group: str, seed: str, sets: Iterable[int]
) -> Iterator[tuple[int, pa.Table]]:
    """The synthetic rows of a group in each of the files asked for; a file does not depend on which others are."""
    fitted = fit(panel, models, stream(seed, group, "fit"))
    for number in sets:
        yield number, to_table(draw(fitted, panel, models, stream(seed, group, str(number))))
