"""The registry record: read by a YAML library and held against the groups a registry asks for."""

from pathlib import Path
from typing import Any

import pytest

from support.release import small_release

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; it comes with the dev extra")
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed; it comes with the dev extra")

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
LIST: dict[str, Any] = {"type": "array", "items": TEXT, "minItems": 1}


def _group(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties), "additionalProperties": False}


RECORD = _group(
    name=TEXT,
    status=TEXT,
    data_curator=TEXT,
    data_product=_group(type=TEXT, description=LIST, publication_date={**TEXT, "pattern": r"^\d{4}-\d\d-\d\d$"}),
    privacy_definition=_group(name=TEXT, neighbours=TEXT, holds=TEXT, not_protected=LIST),
    privacy_unit=_group(unit=TEXT, protected=TEXT),
    privacy_loss={"type": "object", "required": ["cap_over_all_releases"], "additionalProperties": TEXT},
    model=TEXT,
    accounting=_group(composition=TEXT, post_processing=TEXT),
    implementation=_group(software=TEXT, mechanisms=LIST, randomness=TEXT, assumes=LIST),
)


def _record(bundle: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((bundle / "registry.yaml").read_text(encoding="utf-8"))
    return found


def test_the_record_has_every_group(bundle: Path) -> None:
    record = _record(bundle)
    jsonschema.validate(record, RECORD)
    assert record["privacy_loss"]["epsilon"] == "1"
    assert record["data_product"]["publication_date"] == "2026-01-01"
    assert record["privacy_definition"]["name"] == "(α, ε) employer-employee privacy"


def test_words_that_yaml_would_read_otherwise_stay_words(tmp_path: Path) -> None:
    out = small_release(title="no: yes # 1.0", publisher="null").write(tmp_path / "bundle")
    record = _record(out)
    assert record["name"] == "no: yes # 1.0"
    assert record["data_curator"] == "null"


def test_a_rehearsal_is_no_deployment(tmp_path: Path) -> None:
    record = _record(small_release(seed=1).write(tmp_path / "rehearsal"))
    jsonschema.validate(record, RECORD)
    assert "not a deployment" in record["status"]
