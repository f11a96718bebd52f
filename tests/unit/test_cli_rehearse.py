"""Rehearsals and drafts from public rows: they spend nothing, and refuse the confidential file in any form."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from cli_sample import Call, write_jobs


@pytest.mark.parametrize("source", ["mock", "public"])
def test_a_rehearsal_spends_nothing_and_does_not_verify(folder: Path, tacita: Call, source: str) -> None:
    spec, out = folder / "release.toml", folder / "rehearsal"
    write_jobs(folder / "public.parquet", lambda job: "south" if job % 3 else "north", first_id=1000)
    rows = ["--mock"] if source == "mock" else ["--public-data", folder / "public.parquet"]
    done = tacita("rehearse", spec, *rows, "--seed", 7, "--out", out)
    assert done.code == 0, done.err
    assert "REHEARSAL" in done.out
    assert not (folder / "jobs.ledger").exists()
    refused = tacita("verify", out)
    assert refused.code == 4
    assert "rehearsal, not a release" in refused.err
    tacita("rehearse", spec, *rows, "--seed", 7, "--out", folder / "again")
    table = "tables/places.csv"
    assert (out / table).read_bytes() == (folder / "again" / table).read_bytes()


def test_confidential_rows_are_not_rehearsed_on(folder: Path, tacita: Call) -> None:
    """A rehearsal's seed is printed: on the confidential rows its noise could be taken off again."""
    spec, rows = folder / "release.toml", folder / "jobs.parquet"
    (folder / "link.parquet").symlink_to(rows)
    (folder / "hard.parquet").hardlink_to(rows)
    (folder / "copy.parquet").write_bytes(rows.read_bytes())
    pa_csv.write_csv(pq.read_table(rows).take(list(range(59, -1, -1))), folder / "same.csv")  # the rows, otherwise
    asked = ("rehearse", spec, "--seed", 1, "--out", folder / "out", "--public-data")
    for name in ("jobs.parquet", "link.parquet", "hard.parquet", "copy.parquet", "same.csv"):
        said = tacita(*asked, folder / name)
        assert said.code == 3, name
        assert "confidential file of this specification" in said.err
    assert tacita("run", spec, "--out", folder / "bundle").code == 0
    for name in ("jobs.parquet", "link.parquet", "hard.parquet", "copy.parquet"):
        (folder / name).unlink()
    said = tacita(*asked, folder / "same.csv")  # the file is gone, and the ledger knows its rows
    assert said.code == 3
    assert "paid for in the ledger" in said.err
    assert not (folder / "out").exists()


def test_confidential_values_are_not_drafted_as_public(folder: Path, tacita: Call) -> None:
    (folder / "copy.parquet").write_bytes((folder / "jobs.parquet").read_bytes())
    (folder / "link.parquet").symlink_to(folder / "jobs.parquet")
    for name in ("jobs.parquet", "copy.parquet", "link.parquet"):
        said = tacita("init", folder / "jobs.parquet", "--public-copy", folder / name, "--out", folder / "draft")
        assert said.code == 3
        assert "is the confidential file itself" in said.err
    assert not (folder / "draft").exists()


def test_a_rehearsal_on_the_confidential_file_less_a_row_is_refused(folder: Path, tacita: Call) -> None:
    rows = pq.read_table(folder / "jobs.parquet")
    pq.write_table(rows.slice(0, rows.num_rows - 1), folder / "less.parquet")
    done = tacita(
        "rehearse",
        folder / "release.toml",
        "--public-data",
        folder / "less.parquet",
        "--seed",
        7,
        "--out",
        folder / "r",
    )
    assert done.code == 3
    assert "holds ids of the confidential file" in done.err
