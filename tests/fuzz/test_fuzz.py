"""Fuzzed specifications, schemas, runs and data files: a clear message or a result, whatever is thrown in.

Of every case is asked: no exception but Tacita's own, with a documented exit code; no hang; no charge without a result
(a ledger in use is left byte for byte as it was); no value of the file in a message. Seeds are fixed, so that a case
that fails today fails tomorrow; `make fuzz SEED=2` tries others, and FUZZ=full the numbers of a release.
"""

import os

import pytest

from support.fuzzing.watch import ended, summary

SEED = int(os.environ.get("SEED", "1"))
FULL = os.environ.get("FUZZ") == "full"
# How many cases of each kind: in CI, and for a release.
SIZES = {
    "specs": (150, 20_000),  # changed specifications and schemas, planned
    "broken": (18, 1_000),  # the same, run: half of them against a ledger in use
    "runs": (16, 2_000),  # plausible changes, run: half of them against a ledger in use
    "files": (20, 500),  # odd data files
}


@pytest.mark.parametrize("kind", SIZES)
def test_nothing_unexpected(kind: str) -> None:
    found = ended(kind, SEED, SIZES[kind][FULL])
    assert not any("wrong" in one for one in found), summary(found)
    if kind in ("runs", "files"):  # else nothing but the first refusals would be tested
        assert sum(one["end"] == "done" for one in found) > len(found) / 10, summary(found)


@pytest.mark.slow
def test_every_starting_point_is_valid() -> None:
    from support.fuzzing.starting_points import STARTS

    found = ended("valid", SEED, len(STARTS))
    assert [one["start"] for one in found if one["end"] != "done"] == []
