"""Both posteriors in a release: a bundle that verifies, and a page that says how firmly each guarantee holds."""

from pathlib import Path

import pytest

from support.pseudo import SCHEMA, survey
from support.specifications import head, levels, microdata, number, schema
from tacita import Implicates
from tacita.errors import RefusedError
from tacita.release.run import run
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, verify
from tacita.synthesis.comparison.pseudo import plan as pseudo_plan

TABLES = schema(
    "survey",
    "person",
    region=levels("n", "e", "s", role="public"),
    sex=levels("f", "m", role="public"),
    pay=number(100, 100000),
    w=number(1, 2000),
)

SPEC = head("survey", title="Pay, synthetic", neighbours="replace", unit="person", epsilon="30") + microdata(
    "pay", mechanism="MECHANISM", columns=["pay"], weight="w", by=["region", "sex"], epsilon="EPSILON", sets=2
)


def spec(folder: Path, mechanism: str, epsilon: str = "24", more: str = "") -> Path:
    survey(300)[["region", "sex", "pay", "w"]].to_parquet(folder / "survey.parquet", index=False)
    (folder / "survey.schema.toml").write_text(TABLES)
    (folder / "survey.toml").write_text(SPEC.replace("MECHANISM", mechanism).replace("EPSILON", epsilon) + more)
    return folder / "survey.toml"


@pytest.mark.parametrize("mechanism", ["PseudoPosterior", "CensoredPosterior"])
def test_a_bundle_is_made_verified_and_explained(mechanism: str, tmp_path: Path) -> None:
    bundle = run(Spec.load(spec(tmp_path, mechanism)), tmp_path / "bundle").bundle
    verify(bundle)
    compare_with_ledger(bundle, tmp_path / "survey.ledger")
    files = Implicates.read(bundle / "microdata", SCHEMA)
    assert (files.m, files.kind, files.synthesized) == (2, "partial", ("pay", "w"))
    page = (bundle / "report.html").read_text(encoding="utf-8")
    asymptotic = mechanism == "PseudoPosterior"
    assert ("only in the limit, so that at a given size the loss can be larger" in page) == asymptotic
    assert ("for this file it is not proved" in page) == asymptotic
    assert ("That is a proved bound" in page) != asymptotic
    assert "Means weighted by w" in page
    # Neither knows the file through noise: the model is fitted to the records themselves.
    assert "A model was fitted to the confidential records themselves" in page
    assert "No noise was added" in page
    assert "measured with noise" not in page
    assert "columns region, sex of every record leave as collected" in page
    assert ("nothing is proved for the file at hand" in page) == asymptotic


def test_a_missed_target_leaves_no_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run draws by entropy, so whether a tiny target is missed is chance; here every search misses it."""
    monkeypatch.setattr(pseudo_plan, "_search", lambda *_: None)
    with pytest.raises(RefusedError, match="no weights were found"):
        run(Spec.load(spec(tmp_path, "PseudoPosterior")), tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
