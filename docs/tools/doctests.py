"""Examples in docstrings are shown as code: an extension of griffe, which reads the docstrings for the reference."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*(?:\n\n>>> .*(?:\n(?!\s*$).*)*)*", flags=re.MULTILINE)


class FencedExamples(Extension):
    """Markdown would take `>>>` for quotations."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(lambda lines: f"```pycon\n{lines[0]}\n```", obj.docstring.value)
