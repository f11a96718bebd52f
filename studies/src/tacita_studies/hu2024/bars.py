"""What the study is held to: the printed tables for FBS and FBP, and the sample itself for the default synthesis."""

from __future__ import annotations

from collections.abc import Iterable

from tacita_studies.harness.bars import Bar
from tacita_studies.hu2024.methods import DEFAULT
from tacita_studies.hu2024.printed import ARMS, STATISTICS, Statistic
from tacita_studies.hu2024.rows import AS_PRINTED, COVERED, LENGTHS, MAXIMUM, MEDIAN, SUMMARY


def _where(statistic: Statistic, epsilon: str = "10.8", **more: object) -> dict[str, object]:
    return {"table": SUMMARY, "case": "informative", "statistic": statistic, "epsilon": epsilon, **more}


def _bars() -> Iterable[Bar]:
    for statistic in STATISTICS:
        main, half = _where(statistic), _where(statistic, "3.6")
        yield Bar(DEFAULT, MEDIAN, most=1.15, where=main)
        yield Bar(DEFAULT, MAXIMUM, most=1.8, where=main)
        yield Bar(DEFAULT, COVERED, least=22, where=main)
        yield Bar(DEFAULT, MEDIAN, most=1.6, where=half)
        yield Bar(DEFAULT, COVERED, least=22, where=half)
    for arm in ARMS:
        for statistic in STATISTICS:
            yield Bar(arm, AS_PRINTED, least=20, where=_where(statistic, sets=3))
            yield Bar(arm, LENGTHS, least=0.85, most=1.15, where=_where(statistic, sets=3))


BARS = tuple(_bars())
