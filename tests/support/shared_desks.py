"""Small files in memory, many of them, opened as an audit opens its own: on connections that others have left.

Connecting and writing SQL is most of what a file of a few rows takes. `tests/audit/test_desk.py` shows that answers on
a desk are those of a connection of one's own.
"""

import weakref
from collections.abc import Iterator

import pytest

from tacita.audit.desk import Desk, DeskEngine
from tacita.data import confidential
from tacita.data.engine import connect

_DESKS: list[Desk] = []
_SITTING: "weakref.WeakValueDictionary[int, DeskEngine]" = weakref.WeakValueDictionary()  # by the number of their desk


def _engine() -> DeskEngine:
    """On a desk that nobody sits at any more, or a new one."""
    free = next((at for at in range(len(_DESKS)) if at not in _SITTING), len(_DESKS))
    if free == len(_DESKS):
        _DESKS.append(Desk())
    engine = _SITTING[free] = _DESKS[free].engine()
    return engine


@pytest.fixture(autouse=True, scope="module")
def shared_desks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confidential, "connect", lambda engine: _engine() if engine == "duckdb" else connect(engine))
        yield
