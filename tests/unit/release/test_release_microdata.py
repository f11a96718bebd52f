"""Synthetic files through the whole way: specification, plan, run, bundle, records, page, verification."""

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import tacita as tc
from support.browser_page import look
from support.codebook import NAMESPACE, check_structure
from support.synthetic import MeanSynthesis, install, write_people
from tacita.errors import SpecError, TacitaError, UsageError, VerificationError
from tacita.privacy import AddRemoveOne
from tacita.release.bundle_files import bundle_files, write_manifest
from tacita.release.outlook import show_plan
from tacita.release.plans import prepare
from tacita.release.run import rehearse, run
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, verify

FILES = [
    "codebook.xml",
    "datapackage.json",
    "ledger.json",
    "measurements/people.json",
    "measurements/people.result",
    *(f"microdata/implicate-{number:02d}.{form}" for number in (1, 2, 3) for form in ("csv", "parquet")),
    "plan.json",
    "registry.yaml",
    "report.html",
]


@pytest.fixture(autouse=True)
def _synthesizer(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return write_people(tmp_path)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = write_people(tmp_path_factory.mktemp("people"))
    with pytest.MonkeyPatch.context() as patch:
        install(patch)
        run(Spec.load(spec), spec.parent / "bundle")
    return spec.parent


@pytest.fixture
def synthetic(released: Path, tmp_path: Path) -> Path:
    """The bundle of a release that holds synthetic files and no table; a copy, so that a test may spoil it."""
    return shutil.copytree(released, tmp_path, dirs_exist_ok=True) / "bundle"


def _changed(spec: Path, old: str, new: str) -> Spec:
    text = spec.read_text()
    assert old in text
    spec.write_text(text.replace(old, new))
    return Spec.load(spec)


def _page(bundle: Path) -> str:
    return (bundle / "report.html").read_text(encoding="utf-8")


# ---------------------------------------------------------------- specification and plan


def test_settings_of_the_synthesizer_stand_beside_the_common_keys(spec: Path) -> None:
    (product,) = prepare(Spec.load(spec)).microdata
    assert product.plan == MeanSynthesis("1", AddRemoveOne("person"), sets=3, drawn=("age", "pay"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sets = 3", "sits = 3", r'sits of microdata "people": MeanSynthesis has no such setting; did you mean sets\?'),
        ("MeanSynthesis", "MeanSynthesys", r'microdata "people": there is no MeanSynthesys; did you mean MeanSynthesi'),
        ("MeanSynthesis", "SmoothStaircase", r"there is no SmoothStaircase; .*Known mechanisms: .*MeanSynthesis"),
        ('epsilon = "1"', "epsilon = 1.0", r'epsilon of microdata "people": put quotes'),
        ('["age", "pay"]', '["age", "income"]', r'microdata "people": income: no such variable'),
        ('mechanism = "MeanSynthesis"', "", r'drawn of microdata "people": FileSynthesis has no such setting'),
        ('name = "people"', 'name = "People"', "becomes a file name"),
        ("[[microdata]]", "[microdata]", r"microdata: write it as one \[\[microdata\]\] section"),
    ],
)
def test_a_mistake_names_the_key_and_the_fix(spec: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(TacitaError, match=message):
        prepare(_changed(spec, old, new))


def test_a_wrong_setting_is_the_synthesizers_own_error(spec: Path) -> None:
    with pytest.raises(UsageError, match=r'microdata "people": sets: must be at least 1'):
        prepare(_changed(spec, "sets = 3", "sets = 0"))


def test_a_bundle_holds_one_synthesizers_files(spec: Path) -> None:
    text = spec.read_text()
    second = text[text.index("[[microdata]]") :].replace('"people"', '"more"', 1)
    with pytest.raises(SpecError, match="second release"):
        _changed(spec, text, text + second)


def test_plan_shows_cost_and_forecast(spec: Path) -> None:
    shown = io.StringIO()
    show_plan(Console(width=120, file=shown), prepare(Spec.load(spec)))
    said = " ".join(shown.getvalue().split())
    assert "people MeanSynthesis ε = 1" in said
    assert "Region, age and pay (people), synthetic files The mean of pay is right to within 900." in said
    assert "It fits" in said


# ---------------------------------------------------------------- bundle


def test_the_bundle_has_the_published_layout_and_verifies(synthetic: Path, spec: Path) -> None:
    assert bundle_files(synthetic) == FILES
    said = verify(synthetic)
    assert said[-2] == "the measurements are those the ledger sealed, and the synthetic files follow from them"
    compare_with_ledger(synthetic, spec.parent / "people.ledger")


def test_both_formats_hold_the_same_files_in_an_order_of_their_own(synthetic: Path) -> None:
    schema = tc.Schema.load(synthetic.parent / "people.schema.toml")
    files = tc.Implicates.read(synthetic / "microdata", schema)
    assert (files.m, files.kind, files.synthesized) == (3, "one-measurement", ("age", "pay"))
    for number, frame in enumerate(files, start=1):
        copy = pd.read_csv(synthetic / f"microdata/implicate-{number:02d}.csv", dtype={"region": str})
        pd.testing.assert_frame_equal(copy, frame, check_dtype=False)
        assert frame.sort_values(["region", "age", "pay"]).index.equals(frame.index)


def test_the_same_release_again_is_the_same_and_free(synthetic: Path, spec: Path) -> None:
    again = run(Spec.load(spec), spec.parent / "again")
    assert again.spent_before == again.spent_after
    for name in FILES:
        if name.startswith(("microdata", "measurements")):
            assert (synthetic / name).read_bytes() == (again.bundle / name).read_bytes()


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_one_changed_byte_is_found(synthetic: Path, name: str) -> None:
    path = synthetic / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x01
    path.write_bytes(content)
    with pytest.raises(VerificationError):
        verify(synthetic)


def _forge_value(folder: Path) -> None:
    """One value changed, in both formats alike."""
    path = folder / "microdata/implicate-02.parquet"
    table = pq.read_table(path)
    ages = [table["age"][0].as_py() + 1, *table["age"].to_pylist()[1:]]
    table = table.set_column(1, table.schema.field("age"), pa.array(ages, table["age"].type))
    pq.write_table(table, path)
    pa_csv.write_csv(table, path.with_suffix(".csv"))


def _forge_kind(folder: Path) -> None:
    """Another rule would give other intervals."""
    for path in (folder / "microdata").glob("*.parquet"):
        table = pq.read_table(path)
        note = table.schema.metadata[b"tacita-implicate"].replace(b"one-measurement", b"partial")
        pq.write_table(table.replace_schema_metadata({b"tacita-implicate": note}), path)


def _edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return edit


def _drop_last(folder: Path) -> None:
    for path in (folder / "microdata").glob("implicate-03.*"):
        path.unlink()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_forge_value, r"microdata/implicate-02\.parquet does not follow"),
        (_forge_kind, "does not say truly how its files were made"),
        (_drop_last, "does not hold the files that plan.json lists"),
        (lambda folder: shutil.rmtree(folder / "microdata"), "does not hold the files that plan.json lists"),
        (_edit("microdata/implicate-01.csv", '"01"', '"02"'), "do not hold the same values"),
        (_edit("measurements/people.json", '"pay": ', '"pay": 1'), "does not hold the parameters"),
        (_edit("measurements/people.result", '"pay": ', '"pay": 1'), "is not what the ledger stored"),
        (_edit("plan.json", '"sets": 3', '"sets": 2'), "no finished entry pays for people"),
        (_edit("plan.json", '"kind": "one-measurement",\n      "rows"', '"kind": "full",\n      "rows"'), "say truly"),
    ],
)
def test_a_repinned_forgery_contradicts_itself(synthetic: Path, edit: Callable[[Path], None], message: str) -> None:
    edit(synthetic)
    manifest = json.loads((synthetic / "manifest.json").read_text())
    write_manifest(synthetic, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})
    with pytest.raises(VerificationError, match=message):
        verify(synthetic)


def test_a_rehearsal_is_stamped_in_every_file_and_refused(spec: Path) -> None:
    out = spec.parent / "rehearsal"
    rehearse(Spec.load(spec), out, seed=5)
    with pytest.raises(VerificationError, match="rehearsal, not a release"):
        verify(out)
    assert b"REHEARSAL" in pq.read_schema(out / "microdata/implicate-01.parquet").metadata
    assert (out / "microdata/implicate-01.REHEARSAL.csv").is_file()
    assert not (spec.parent / "people.ledger").exists()
    assert "microdata/implicate-%02d.REHEARSAL.csv" in _page(out)
    assert tc.Implicates.read(out / "microdata", tc.Schema.load(spec.parent / "people.schema.toml")).m == 3
    rehearse(Spec.load(spec), spec.parent / "again", seed=5)
    name = "microdata/implicate-03.parquet"
    assert (out / name).read_bytes() == (spec.parent / "again" / name).read_bytes()


# ---------------------------------------------------------------- records


def test_the_codebook_describes_the_columns_once_for_all_files(synthetic: Path) -> None:
    root = ElementTree.parse(synthetic / "codebook.xml").getroot()
    check_structure(root)
    variables = {one.attrib["name"]: one for one in root.iter(f"{NAMESPACE}var")}
    assert list(variables) == ["region", "age", "pay"]
    assert {one.attrib["files"] for one in variables.values()} == {"F1 F2 F3"}
    assert [one.text for one in root.iter(f"{NAMESPACE}fileName")] == [
        f"microdata/implicate-0{number}.csv" for number in (1, 2, 3)
    ]
    assert variables["pay"].findtext(f"{NAMESPACE}labl") == "Pay in a year"
    assert "drawn" in (variables["pay"].findtext(f"{NAMESPACE}imputation") or "")
    assert variables["region"].find(f"{NAMESPACE}imputation") is None
    (bounds,) = variables["age"].iter(f"{NAMESPACE}range")
    assert bounds.attrib == {"min": "0", "max": "120"}
    assert root.findtext(f".//{NAMESPACE}dataKind") == "synthetic microdata"


def test_frictionless_reads_the_files_as_declared(synthetic: Path) -> None:
    frictionless = pytest.importorskip("frictionless", reason="frictionless comes with the dev extra")
    report = frictionless.validate(str(synthetic / "datapackage.json"))
    assert report.valid, report.flatten(["type", "message"])
    resources = frictionless.Package(str(synthetic / "datapackage.json")).resources
    assert [one.path for one in resources] == [f"microdata/implicate-0{number}.csv" for number in (1, 2, 3)]
    row = resources[0].read_rows()[0]
    assert (row["region"], type(row["age"])) == ("01", int)
    path = synthetic / "microdata/implicate-01.csv"
    path.write_text(path.read_text().replace('"01",', '"99",', 1))
    assert not frictionless.validate(str(synthetic / "datapackage.json")).valid


def test_the_registry_record_says_what_kind_of_product_it_is(synthetic: Path) -> None:
    lines = (synthetic / "registry.yaml").read_text().splitlines()
    assert '  type: "synthetic microdata"' in lines
    assert '    - "people: MeanSynthesis"' in lines


# ---------------------------------------------------------------- page


def _code(page: str, language: str) -> str:
    found = re.search(rf"<figcaption>{language}</figcaption><pre><code>(.*?)</code></pre>", page, re.DOTALL)
    assert found, language
    return unescape(found[1])


def test_the_page_says_what_the_files_are_and_gives_first_answers(synthetic: Path) -> None:
    page = _page(synthetic).replace("\u00a0", " ")
    for words in (
        "publishes 3 synthetic files made from a confidential file",
        "<h2>The synthetic files</h2>",
        "3 files of 40 rows · ε = 1 under one person added or removed",
        "Pay in a year",
        "as collected",
        "mechanisms/mean.md",
        "the rule is called <code>one-measurement</code>",
        "(1 + 1/m) times the variance between files",
    ):
        assert words in page, words
    assert "margin of error" not in page
    assert "How to analyse the tables" not in page


def _expected(bundle: Path) -> tuple[float, float]:
    schema = tc.Schema.load(bundle.parent / "people.schema.toml")
    files = tc.Implicates.read(bundle / "microdata", schema)
    answer = tc.combine(files, lambda file: (file["age"].mean(), file["age"].var() / len(file)))
    return float(answer.value), float(answer.variance)


def test_the_python_code_runs_in_the_bundle(synthetic: Path) -> None:
    code = _code(_page(synthetic), "Python")
    done = subprocess.run([sys.executable, "-c", code], cwd=synthetic, capture_output=True, text=True, check=True)
    value, variance = _expected(synthetic)
    said = done.stdout.split()
    assert float(said[0]) == pytest.approx(value)
    assert float(said[1]) == pytest.approx(variance**0.5)


def test_the_r_code_runs_in_the_bundle(synthetic: Path) -> None:
    r = shutil.which("Rscript")
    if r is None:
        pytest.skip("no Rscript here; install it with .ci/debian-packages")
    code = _code(_page(synthetic), "R").replace("combine_synthetic(q =", "answer <- combine_synthetic(q =")
    code += '\ncat(sprintf("%.10f", answer[c("estimate", "variance")]))'
    done = subprocess.run([r, "-e", code], cwd=synthetic, capture_output=True, text=True, check=True)
    assert [float(one) for one in done.stdout.split()] == pytest.approx(_expected(synthetic))


def test_the_stata_code_keeps_its_quotes_and_names_rule_and_files(synthetic: Path) -> None:
    code = _code(_page(synthetic), "Stata")
    assert "combine_synthetic q u, rule(one-measurement)" in code
    assert "microdata/implicate-`number'.csv" in code
    assert "stringcols(1)" in code
    assert "’" not in code


@pytest.mark.browser
def test_the_page_in_a_browser(synthetic: Path, tmp_path: Path) -> None:
    seen = look(_page(synthetic), tmp_path, 1280)
    assert seen.console == []
    assert seen.requests == []
    assert seen.content <= seen.window


# ---------------------------------------------------------------- beside tables


def test_tables_and_synthetic_files_in_one_bundle(spec: Path) -> None:
    schema = spec.parent / "people.schema.toml"
    text = schema.read_text().replace('role = "public"', 'role = "workplace"')
    schema.write_text(text + '[variables.workplace_id]\nrole = "id"\nentity = "workplace"\n')
    frame = pd.read_parquet(spec.parent / "people.parquet")
    frame["workplace_id"] = frame["region"].astype(int)
    frame.to_parquet(spec.parent / "people.parquet", index=False)
    table = '[[table]]\nname = "regions"\nby = ["region"]\nmechanism = "EdgeLaplace"\nepsilon = "1"\n'
    release = _changed(spec, 'unit = "person"', 'unit = "worker"')
    release = _changed(spec, "[[microdata]]", f"{table}[[microdata]]")
    finished = run(release, spec.parent / "bundle")
    assert str(finished.spent_after) == "ε = 2"
    said = verify(finished.bundle)
    assert said[-2].endswith("and the tables and the synthetic files follow from them")
    assert "one table and 3 synthetic files" in _page(finished.bundle)
    assert len(json.loads((finished.bundle / "datapackage.json").read_text())["resources"]) == 4
    root = ElementTree.parse(finished.bundle / "codebook.xml").getroot()
    check_structure(root)
    places = [one.attrib["files"] for one in root.iter(f"{NAMESPACE}var")]
    assert set(places) == {"F1", "F2 F3 F4"}
    assert '  type: "tables and synthetic microdata"' in (finished.bundle / "registry.yaml").read_text()
    assert sorted(path.name for path in (finished.bundle / "sdmx").iterdir()) == ["regions.csv", "structure.xml"]
