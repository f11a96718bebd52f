"""Files without a guarantee: from a specification to a verified bundle that says so wherever it is opened."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.specifications import head, key, levels, microdata, number, schema
from tacita import cli
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SpecError, VerificationError
from tacita.implicates import Implicates
from tacita.ledger import Ledger
from tacita.privacy import ReplaceOne
from tacita.release.bundle_files import manifest_hash, read_json, write_json, write_manifest
from tacita.release.plans import prepare
from tacita.release.records import write_records
from tacita.release.run import run
from tacita.release.spec import Spec
from tacita.release.verify import verify
from tacita.synthesis.panel import NumberTree, PlainPanelSynthesis

REASON = "The board of 3 May 2026 let these files leave for validation, under contract."
SCHEMA = schema(
    "firms",
    "firm",
    firm=key("firm"),
    county=levels("01", "02", role="public"),
    jobs2000=number(0, 900, kind="integer"),
    jobs2001=number(0, 900, kind="integer"),
)
SPEC = head("firms", title="Firms", neighbours="replace", unit="firm", epsilon="5") + microdata(
    "panel",
    title="Firms and their jobs",
    mechanism="PlainPanelSynthesis",
    columns={"jobs": "jobs{year}"},
    keep=["county"],
    years=[2000, 2001],
    models={"jobs": {"model": "NumberTree", "given": ["jobs before"]}},
    sets=2,
)
FORMAL = re.sub(r"models = .*\n", 'epsilon = "4"\n', SPEC.replace("PlainPanelSynthesis", "PanelSynthesis"))
NONE = f'guarantee = "none"\nreason = "{REASON}"\n'


def write(folder: Path, spec: str) -> Path:
    random = np.random.default_rng(1)
    jobs = random.integers(1, 200, 150)
    frame = pd.DataFrame({"firm": np.arange(150), "county": random.choice(["01", "02"], 150), "jobs2000": jobs})
    frame.assign(jobs2001=jobs + random.integers(0, 9, 150)).to_parquet(folder / "firms.parquet", index=False)
    (folder / "firms.schema.toml").write_text(SCHEMA)
    (folder / "firms.toml").write_text(spec)
    return folder / "firms.toml"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return write(tmp_path, SPEC + NONE)


def tacita(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    capfd.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main([str(one) for one in arguments])
    out, err = capfd.readouterr()
    assert stop.value.code in (0, None), err
    return re.sub(r"\s+", " ", out)


def test_from_a_specification_to_a_verified_bundle(
    spec: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    folder = spec.parent
    planned = tacita(capfd, "plan", spec)
    assert "NO FORMAL GUARANTEE" in planned
    assert REASON in planned
    assert "as a disclosure without a guarantee" in planned
    assert "NO FORMAL GUARANTEE" in tacita(capfd, "run", spec, "--out", folder / "bundle")
    checked = tacita(capfd, "verify", folder / "bundle", "--ledger", folder / "firms.ledger")
    assert "NO FORMAL GUARANTEE: the bundle says so itself" in checked
    shown = tacita(capfd, "ledger", "show", folder / "firms.ledger")
    assert f"disclose Firms: panel not bounded (no guarantee) disclosed, NO GUARANTEE: {REASON}" in shown
    assert "The sum bounds nothing" in shown
    files = Implicates.read(folder / "bundle" / "microdata", Schema.load(folder / "firms.schema.toml"))
    assert (files.m, files.kind) == (2, "partial")
    tacita(capfd, "run", spec, "--out", folder / "again")
    entries = Ledger.open(folder / "firms.ledger").entries()
    assert [entry.kind for entry in entries] == ["open", "cap", "disclose", "commit"]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = write(tmp_path_factory.mktemp("firms"), SPEC + NONE)
    run(Spec.load(spec), spec.parent / "bundle")
    return spec.parent


@pytest.fixture
def bundle(released: Path, tmp_path: Path) -> Path:
    return shutil.copytree(released, tmp_path, dirs_exist_ok=True) / "bundle"


def test_every_document_of_the_bundle_says_so(bundle: Path) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in bundle.glob("*.*")}
    for name in ("manifest.json", "codebook.xml", "datapackage.json", "report.html"):
        assert "NO FORMAL GUARANTEE" in texts[name], name
    for name in ("codebook.xml", "datapackage.json", "report.html", "registry.yaml", "plan.json", "ledger.json"):
        assert REASON in texts[name], name
    assert 'holds: "never"' in texts["registry.yaml"]
    assert 'name: "none: no formal guarantee"' in texts["registry.yaml"]
    assert 'epsilon: "not bounded"' in texts["registry.yaml"]
    extract = json.loads(texts["ledger.json"])["extract"]
    assert [line["entry"]["kind"] for line in extract["entries"]] == ["open", "cap", "disclose", "commit"]
    assert {one["holds"] for one in extract["accounts"]} == {"never"}


def test_the_first_paragraph_of_the_page_says_so_and_nothing_on_it_promises_more(bundle: Path) -> None:
    page = unescape((bundle / "report.html").read_text(encoding="utf-8"))
    page = re.sub(r"\s+", " ", page.replace("\u00a0", " "))
    first = re.findall(r"<p.*?</p>", page[page.index("</header>") :])[0]
    assert "NO FORMAL GUARANTEE. Nothing bounds what this release shows about one firm" in first
    assert REASON in first
    assert re.search(r"This release.{0,40}not bounded \(no guarantee\)", page)
    for promised in (ReplaceOne("firm").meaning, "A privacy loss of", "proved bound", "proofs rest"):
        assert promised not in page, promised


def test_a_later_release_with_a_guarantee_tells_of_it(bundle: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = bundle.parent
    (folder / "formal.toml").write_text(FORMAL)
    tacita(capfd, "run", folder / "formal.toml", "--out", folder / "formal")
    tacita(capfd, "verify", folder / "formal", "--ledger", folder / "firms.ledger")
    page = re.sub(r"\s+", " ", (folder / "formal" / "report.html").read_text(encoding="utf-8"))
    assert "disclosed from this file without a guarantee, so the sum of all losses bounds nothing" in page
    assert "NO FORMAL GUARANTEE" not in page


def test_the_plan_is_the_one_that_was_written(spec: Path) -> None:
    spec.write_text((SPEC + NONE).replace('"replace"', '"add-remove"'))  # whatever the cap is about
    (product,) = prepare(Spec.load(spec)).microdata
    assert isinstance(product.plan, PlainPanelSynthesis)
    assert product.plan.models == (("jobs", NumberTree(("jobs before",))),)
    assert (product.plan.unit, product.plan.sets) == ("firm", 2)


def test_the_id_column_of_the_units_stands_for_the_unit(spec: Path) -> None:
    """Ids are seldom called what their units are."""
    schema = spec.parent / "firms.schema.toml"
    schema.write_text(SCHEMA.replace("firm = {", "idnr = {").replace("variables.firm]", "variables.idnr]"))
    assert "idnr" in Schema.load(schema).names
    data = spec.parent / "firms.parquet"
    pd.read_parquet(data).rename(columns={"firm": "idnr"}).to_parquet(data, index=False)
    spec.write_text(FORMAL + 'unit = "idnr"\n')
    (product,) = prepare(Spec.load(spec)).microdata
    assert product.plan.neighbours == ReplaceOne("firm")


TABLE = """
[[table]]
name = "counties"
by = ["county"]
mechanism = "EdgeLaplace"
epsilon = "1"
"""


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (SPEC, RefusedError, 'has no guarantee, so it cannot be released.*guarantee = "none"'),
        (SPEC + 'guarantee = "none"\n', SpecError, 'guarantee = "none" needs the key reason'),
        (SPEC + 'guarantee = "none"\nreason = " "\n', SpecError, 'guarantee = "none" needs the key reason'),
        (SPEC + 'reason = "why"\n', SpecError, 'reason: goes with guarantee = "none"'),
        (SPEC + 'guarantee = "formal"\n', SpecError, "guarantee"),
        (FORMAL + NONE, SpecError, 'guarantee = "none" is for files that have none, and PanelSynthesis promises ε = 4'),
        (SPEC + NONE + TABLE, SpecError, "would take the promise from the tables"),
        (SPEC.replace('epsilon = "5"', 'epsilon = "5"\nholds = "always"') + NONE, RefusedError, "always hold"),
        (SPEC + NONE + 'epsilon = "1"\n', SpecError, "PlainPanelSynthesis has no such setting"),
        (FORMAL.replace('epsilon = "4"\n', ""), SpecError, "epsilon of microdata .panel. is missing"),
        (FORMAL + "models = { jobs = 1 }\n", SpecError, "PanelSynthesis has no such setting"),
    ],
)
def test_what_is_refused_before_any_file_is_opened(tmp_path: Path, text: str, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        prepare(Spec.load(write(tmp_path, text)))


@pytest.mark.parametrize(
    ("document", "key", "value", "said"),
    [
        ("manifest.json", "guarantee", None, "does not say so"),
        ("plan.json", "reason", "Another reason.", "no finished entry"),
        ("plan.json", "guarantee", None, "does not say so"),
    ],
)
def test_a_bundle_that_hides_it_does_not_verify(
    bundle: Path, document: str, key: str, value: str | None, said: str
) -> None:
    content = read_json(bundle / document)
    (content if document == "manifest.json" else content["microdata"][0]["settings"])[key] = value
    write_json(bundle / document, content)
    manifest = read_json(bundle / "manifest.json")
    if document != "manifest.json":
        from tacita.release.bundle_files import fingerprint

        digest, size = fingerprint(bundle / document)
        manifest["files"][document] |= {"sha256": digest, "size": size}
    manifest["manifest_sha256"] = manifest_hash(manifest)
    write_json(bundle / "manifest.json", manifest)
    with pytest.raises(VerificationError, match=said):
        verify(bundle)


@pytest.mark.parametrize(
    "assumes",
    [[], ["a harmless file"], ["released without a guarantee, for this reason: None was needed."]],
    ids=["none", "another sentence", "another reason"],
)
def test_the_sealed_reason_stands_in_the_guarantee(bundle: Path, assumes: list[str]) -> None:
    plan, manifest = read_json(bundle / "plan.json"), read_json(bundle / "manifest.json")
    for one in (plan, *plan["microdata"]):
        one["guarantee"]["assumes"] = [*assumes, *one["guarantee"]["assumes"][1:]]
    write_json(bundle / "plan.json", plan)
    write_records(bundle, manifest["made"])
    write_manifest(bundle, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})
    with pytest.raises(VerificationError, match="the guarantee of panel is not the one that the ledger sealed"):
        verify(bundle)
