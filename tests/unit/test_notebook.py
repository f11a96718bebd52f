"""Tacita from a notebook: bundles made from Python, and objects that show what they are and do not pickle."""

import copy
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from support.command_line import Call
from tacita.errors import RefusedError, SpecError
from tacita.ledger import Ledger


def test_a_bundle_from_python_is_the_one_of_the_command_line(folder: Path, tacita: Call) -> None:
    release = tc.Release.run(folder / "release.toml", folder / "bundle")
    assert len(repr(release)) < 300, "the last line of a cell, not a page of its own"
    assert tacita("verify", folder / "bundle").code == 0
    assert not release.rehearsal
    # Asked again from its keys, with paths as seen from the folder: what is paid for is not paid again.
    spent = Ledger.open(folder / "jobs.ledger", read_only=True).accounts()
    keys = tomllib.loads((folder / "release.toml").read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tc.Release.run(keys, "again")
    assert tacita("verify", folder / "again").code == 0
    assert Ledger.open(folder / "jobs.ledger", read_only=True).accounts() == spent
    assert (folder / "again/tables").is_dir()


def test_a_rehearsal_from_python_needs_no_ledger(folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    keys = tomllib.loads((folder / "release.toml").read_text())
    assert tc.Release.rehearse(keys, "rehearsal", seed=1).rehearsal
    assert not (folder / "jobs.ledger").exists()
    assert (folder / "rehearsal/explore.html").is_file()
    assert tacita("verify", folder / "rehearsal").code == 4


def test_a_wrong_key_of_a_mapping_is_named() -> None:
    with pytest.raises(SpecError, match=r"^specification: .*titel"):
        tc.Release.run({"titel": "x"}, "nowhere")


def test_a_ledger_shows_its_balance_and_does_not_pickle(ledger: Ledger) -> None:
    page = ledger._repr_html_()
    assert page.startswith("<table><caption>Ledger ")
    assert "<th>spent</th>" in page
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(RefusedError, match="cannot be pickled or copied"):
            attempt(ledger)


def test_a_model_and_its_files_show_what_they_are() -> None:
    schema = tc.Schema.from_dict(
        {
            "dataset": {"identity": "people", "unit": "person"},
            "variables": {"<b>": {"role": "confidential", "type": "categorical", "levels": ["x", "<y>"]}},
        }
    )
    frame = pd.DataFrame({"<b>": np.where(np.arange(60) % 2, "x", "<y>")})
    model = tc.PairwiseSynthesis(["<b>"], "4").rehearse(frame, schema, seed=1)
    assert "REHEARSAL, no guarantee" in model._repr_html_()
    assert "<b>" not in model._repr_html_() + model.sample(m=2)._repr_html_()
    assert "2 synthetic files of 60, 60 rows" in model.sample(m=2)._repr_html_()
    assert model.plan.restore(model.to_bytes()).implicates.rows == model.implicates.rows
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(RefusedError, match=r"cannot be pickled or copied: .* model\.to_bytes\(\)"):
            attempt(model)
