"""A plan.json that claims more than the ledger sealed is found, although all that follows from it was made again."""

import json
import re
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.release import PROMISE, sealed_extract, small_release
from tacita.data.schema import Schema
from tacita.errors import VerificationError
from tacita.privacy import Loss
from tacita.release.alike import same_page
from tacita.release.bundle import Budget
from tacita.release.bundle_files import read_json, write_json, write_manifest
from tacita.release.records import write_records
from tacita.release.verify import verify

ARCHIVE = Path(__file__).parents[2] / "archive" / "0.1.0"
Edit = Callable[[dict[str, Any]], object]


def rewrite(bundle: Path, edit: Edit) -> None:
    """Edit plan.json, and make again whatever this code makes from it."""
    plan, manifest = read_json(bundle / "plan.json"), read_json(bundle / "manifest.json")
    edit(plan)
    write_json(bundle / "plan.json", plan)
    if "code" in manifest["made"]:
        write_records(bundle, manifest["made"])
    schema = Schema.from_dict(plan["schema"])
    manifest["schema"] = {"identity": schema.identity, "sha256": schema.hash}
    write_manifest(bundle, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})


def promises(**changes: object) -> Edit:
    """The same change to what the release and each product promise."""

    def edit(plan: dict[str, Any]) -> None:
        for one in (plan, *plan["tables"], *plan.get("microdata", [])):
            one["guarantee"].update(changes)

    return edit


def product(**changes: object) -> Edit:
    return lambda plan: plan["tables"][0].update(changes)


def settings(**changes: object) -> Edit:
    return lambda plan: plan["tables"][0]["settings"].update(changes)


EDITS: dict[str, tuple[Edit, str]] = {
    "holds": (promises(holds="asymptotically"), "the guarantee of employment"),
    "assumes nothing": (promises(assumes=[]), "the guarantee of employment"),
    "assumes other": (promises(assumes=["nothing at all"]), "the guarantee of employment"),
    "odds": (promises(odds="nothing changes for anyone"), "the words of"),
    "proof": (product(proof="noise/gaussian.md"), "the proof of employment"),
    "forecast": (
        lambda plan: plan["tables"][0]["forecast"].update(sentences=["Every count is exact."]),
        "the forecast of employment",
    ),
    "mechanism": (settings(mechanism="SmoothGamma"), "the settings of employment"),
    "epsilon": (settings(epsilon="0.01"), "the settings of employment"),
    "delta": (settings(delta="0.001"), "contradicts itself: delta"),
    "where": (settings(where={"place": ["01"]}), "the settings of employment"),
    "role": (lambda plan: plan["schema"]["variables"]["place"].update(role="worker"), "the schema"),
    "id": (lambda plan: plan["schema"]["variables"].pop("workplace_id"), "the schema"),
    "another id": (
        lambda plan: plan["schema"]["variables"].update(pid={"role": "id", "entity": "worker"}),
        "the schema",
    ),
}


def test_a_bundle_made_again_from_the_same_plan_verifies(bundle: Path) -> None:
    rewrite(bundle, lambda plan: None)
    assert verify(bundle)


def test_a_corrected_label_is_no_other_schema(bundle: Path) -> None:
    rewrite(bundle, lambda plan: plan["schema"]["variables"]["place"].update(label="Place of work"))
    assert verify(bundle)


@pytest.mark.parametrize("name", EDITS)
def test_more_than_the_ledger_sealed_is_refused(bundle: Path, name: str) -> None:
    edit, said = EDITS[name]
    rewrite(bundle, edit)
    with pytest.raises(VerificationError, match=said):
        verify(bundle)


@pytest.mark.parametrize("changes", [{"holds": "always"}, {"assumes": []}], ids=str)
def test_a_bundle_of_an_earlier_version_is_held_to_its_entries_too(tmp_path: Path, changes: dict[str, Any]) -> None:
    with tarfile.open(ARCHIVE / "pseudoposterior.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    bundle = tmp_path / "bundle"
    assert json.loads((bundle / "plan.json").read_bytes())["guarantee"]["holds"] == "asymptotically"
    rewrite(bundle, promises(**changes))
    with pytest.raises(VerificationError, match="the guarantee of pay is not the one that the ledger sealed"):
        verify(bundle)


# ---------------------------------------------------------------- charts of the page


CHARTS = {
    "script": (r"(<svg\b[^>]*>)", r"\1<script>document.title='x'</script>"),
    "empty script": (r"(<svg\b[^>]*>)", r'\1<script href="https://example.org/x.js"/>'),
    "image": (r"(<svg\b[^>]*>)", r'\1<image href="data:image/png;base64,AAAA" width="999" height="999"/>'),
    "style element": (r"(<svg\b[^>]*>)", r"\1<style/>"),
    "foreign object": (r"(<svg\b[^>]*>)", r"\1<foreignObject/>"),
    "link": (r"(<svg\b[^>]*>)", r'\1<a href="https://example.org"/>'),
    "use": (r"(<svg\b[^>]*>)", r'\1<use xlink:href="#x"/>'),
    "comment": (r"(<svg\b[^>]*>)", r"\1<!-- -->"),
    "onload": (r"<svg\b", '<svg onload="alert(1)"'),
    "onload in other quotes": (r"<svg\b", "<svg onload='alert(1)'"),
    "onload without quotes": (r"<svg\b", "<svg onload=alert(1)"),
    "style over the page": (r"<svg\b", '<svg style="position:fixed;inset:0;background:#fff;z-index:9"'),
    "style of a part": (r"<path\b", '<path style="position:fixed"'),
    "fill from elsewhere": (r"<path\b", '<path fill="url(https://example.org/x.svg#y)"'),
    "fill in disguise": (r"<path\b", '<path fill="&#117;rl(https://example.org/x.svg#y)"'),
    "fill escaped": (r"<path\b", r'<path fill="\\75rl(https://example.org/x.svg#y)"'),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_only_what_draws(written: Path, name: str) -> None:
    page = (written / "report.html").read_text(encoding="utf-8")
    changed = re.sub(*CHARTS[name], page, count=1)
    assert changed != page
    assert same_page(page, page)
    assert not same_page(changed, page)


def test_a_ledger_written_by_hand_cannot_promise_less_loss_than_the_plan_has(tmp_path: Path) -> None:
    """The entry and everything after it agree that ε is 0.01; the noise was drawn for ε = 1."""
    claim = replace(PROMISE, loss=Loss("0.01"))
    honest = small_release()
    forged = small_release(
        products=(replace(honest.products[0], guarantee=claim),),
        guarantee=claim,
        budget=Budget(cap=Loss("2"), spent=Loss("0.51"), this_release=Loss("0.01")),
        ledger_extract=sealed_extract(promise=claim),
    )
    with pytest.raises(VerificationError, match="employment promises less loss, or holds more firmly, than its plan"):
        verify(forged.write(tmp_path / "bundle"))
