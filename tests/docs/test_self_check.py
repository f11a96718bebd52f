"""The page on self-checks: its code runs, its specification is understood, and its table of limits is the real one."""

import re
import tomllib
from pathlib import Path
from typing import Any

from tacita.pages.render import percent
from tacita.release.spec import MicrodataSpec
from tacita.synthesis import FileSynthesis
from tacita.synthesis.selfcheck import SelfCheck
from tacita.synthesis.selfcheck.report import LIMITS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "self-check.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (code,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    return str(code)


def test_its_python_runs() -> None:
    names: dict[str, Any] = {"print": lambda one: None}
    exec(block("python"), names)
    assert isinstance(names["plan"], SelfCheck)
    assert names["plan"].guarantee == names["files"].guarantee


def test_its_specification_makes_the_plan_that_it_speaks_of() -> None:
    (asked,) = tomllib.loads(block("toml"))["microdata"]
    files = MicrodataSpec.model_validate(asked)
    assert files.check is not None
    plan = SelfCheck(FileSynthesis(asked["columns"], asked["epsilon"], delta=asked["delta"]), **files.check.settings)
    (said,) = re.findall(r"\(ε = ([\d.]+) here", PAGE)
    assert f"{float(plan.inner.epsilon):.3f}" == said


def test_its_limits_are_the_defaults() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+%) \|", PAGE, flags=re.MULTILINE))
    assert listed == {name: f"{percent(float(limit)).replace('.0%', '%')}" for name, limit in LIMITS.items()}
