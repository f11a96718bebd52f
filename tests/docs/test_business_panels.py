"""The page on business panels: its plan is one that the simulated panel can carry."""

import re
from pathlib import Path

from tacita_studies.kinney2007.simulation import schema

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "business-panels.md").read_text(encoding="utf-8")


def test_what_is_printed_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    exec(compile(code, "business-panels.md", "exec"), names)
    plan = names["plan"]
    assert str(plan.guarantee) == "ε = 4 under one establishment's record replaced"  # type: ignore[attr-defined]
    assert "emp1976" in plan.reads(schema())  # type: ignore[attr-defined]
    assert plan.forecast(schema()).sentences  # type: ignore[attr-defined]
