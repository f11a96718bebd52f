"""Every mechanism and every sampler has its proof beside it, in the same form, and the links hold."""

import inspect
import re
from importlib.resources import files
from pathlib import Path

import pytest

import tacita
import tacita_studies
from tacita.mechanisms import eree

PACKAGE = Path(str(files(tacita)))
STUDIES = Path(str(files(tacita_studies)))
PROOFS = sorted((PACKAGE / "mechanisms").rglob("*.md")) + sorted((PACKAGE / "noise").glob("*.md"))
PROOFS += sorted((STUDIES / "kng").glob("*.md"))
HEADINGS = ["Precondition", "Algorithm", "Claim", "Proof", "Assumes"]
# Lemmas that several mechanisms share: no algorithm of their own to claim something about.
LEMMAS = {"calibration.md"}


def example(name: str) -> object:
    plan = getattr(eree, name)
    needed = {"alpha": "0.1", "epsilon": "4", "theta": 10}
    return plan(**{key: value for key, value in needed.items() if key in inspect.signature(plan).parameters})


PLANS = [name for name in eree.__all__ if inspect.isclass(one := getattr(eree, name)) and hasattr(one, "proof")]


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_names_its_own_proof(name: str) -> None:
    proof = PACKAGE / example(name).proof  # type: ignore[attr-defined]
    assert proof.is_file()
    assert name in proof.read_text(encoding="utf-8").splitlines()[0]


def test_no_two_plans_share_a_proof() -> None:
    assert len({example(name).proof for name in PLANS}) == len(PLANS) >= 8  # type: ignore[attr-defined]


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_a_proof_has_its_five_parts_in_order(proof: Path) -> None:
    found = re.findall(r"^## (\w+)", proof.read_text(encoding="utf-8"), flags=re.MULTILINE)
    wanted = [heading for heading in HEADINGS if proof.name not in LEMMAS or heading not in ("Claim", "Proof")]
    assert [heading for heading in found if heading in HEADINGS] == wanted


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_what_a_proof_refers_to_exists(proof: Path) -> None:
    text = proof.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:noise/)?[a-z_]+\.(?:md|py))`", text):
        places = [proof.parent / name, PACKAGE / name, STUDIES / "kng" / name]
        assert any(place.is_file() for place in places), f"{proof.name} refers to {name}"


@pytest.mark.parametrize("sampler", ["discrete", "rounding", "plateau", "power"])
def test_every_sampler_has_its_proof(sampler: str) -> None:
    assert (PACKAGE / "noise" / f"{sampler}.md").is_file()
    assert f"{sampler}.md" in (PACKAGE / "noise" / f"{sampler}.py").read_text(encoding="utf-8")
