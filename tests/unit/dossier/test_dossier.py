"""What a dossier says and never says."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.dossier import SECRET, original, request, schema
from tacita.dossier.comparators import coarsened, rounded, suppressed
from tacita.dossier.findings import Findings
from tacita.dossier.record import Change, changes, read_earlier
from tacita.dossier.request import Request
from tacita.dossier.run import estimate, evaluate
from tacita.errors import RefusedError, UsageError
from tacita.evaluation import compare
from tacita.implicates import Implicates
from tacita.pages.render import number
from tacita.release.bundle_files import write_json
from tacita.release.evaluation_spec import EvaluationSpec

Made = tuple[Findings, Path]
VOID = {"meta", "br", "img", "hr", "link", "input"}


class _Text(HTMLParser):
    """Balanced elements, and the words outside style sheets and pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def _read(folder: Path) -> tuple[str, _Text]:
    page = (folder / "dossier.html").read_text(encoding="utf-8")
    parser = _Text()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return page, parser


def test_the_page_is_well_formed_and_stands_alone(made: Made) -> None:
    page, parser = _read(made[1])
    assert not re.search(r"https?:|//[a-z]|<script|<link|@import|url\((?!#)", page)  # a picture may refer to itself
    assert not parser.names & {"href", "src", "srcset", "xlink:href", "action"}


def test_it_says_that_it_is_confidential_on_screen_and_on_every_sheet(made: Made) -> None:
    page, parser = _read(made[1])
    assert page.index('class="banner"') < page.index("<h1>")
    assert " ".join(parser.words).count("onfidential, not for release") >= 3
    assert re.search(r"@page \{[^}]*@top-center \{ content: \"Confidential, not for release\"", page)
    assert json.loads((made[1] / "dossier.json").read_text())["notice"] == "Confidential, not for release"
    assert made[1].stat().st_mode & 0o077 == 0


def test_every_section_is_there(made: Made) -> None:
    _, parser = _read(made[1])
    words = " ".join(parser.words)
    for heading in (
        "All scores",
        "Variables, worst first",
        "Pairs of variables",
        "Domains, worst first",
        "Trends over time",
        "Regressions, term by term",
        "Empirical risk",
        "What rounding, coarsening or suppression would have cost",
        "Every touch of the confidential rows",
        "Not answered",
        "Sign-off",
    ):
        assert heading in words, heading


def test_every_metric_has_a_finite_value_a_direction_and_a_meaning(made: Made) -> None:
    scores = json.loads((made[1] / "dossier.json").read_text())["scores"]
    assert {one["group"] for one in scores} == {"general", "domains", "analyses", "trends", "risk"}
    assert len(scores) > 30
    assert sum("rule" in one["name"] for one in scores) == 4
    for one in scores:
        assert np.isfinite(one["value"]), one["name"]
        assert one["better"] in ("lower", "higher", "closer")
        assert one["meaning"]
    assert all(one["on_holdout"] is not None for one in scores if one["name"].startswith("pMSE"))


def test_no_undefined_number_is_shown(made: Made) -> None:
    page, parser = _read(made[1])
    assert not [word for word in parser.words if re.search(r"\b(nan|inf|None)\b", word, re.IGNORECASE)]
    assert "NaN" not in page
    with pytest.raises(ValueError, match="undefined"):
        number(float("nan"))


def test_worst_variables_come_first_and_a_poor_file_scores_worse(paths: dict[str, Path], tmp_path: Path) -> None:
    poor = evaluate(request(paths, "poor"), tmp_path / "poor")
    listed = poor.variables()
    assert listed[0].name == "place"
    assert [one.variation for one in listed] == sorted((one.variation for one in listed), reverse=True)
    truth = original()["place"].value_counts(normalize=True)
    assert listed[0].variation == pytest.approx(1 - truth["c"])
    assert poor.worst_cells(1)[0][2] > 3


def test_the_difference_from_an_earlier_dossier(paths: dict[str, Path], made: Made, tmp_path: Path) -> None:
    later = evaluate(request(paths, "poor", earlier=made[1]), tmp_path / "later")
    verdicts = {one.name: one.verdict for one in later.changes}
    assert verdicts["total variation, one-way mean"] == "worse"
    assert verdicts["nearer to training than to hold-out"] == "no longer measured"
    page, _ = _read(tmp_path / "later")
    assert "Difference from an earlier dossier" in page
    again = changes(read_earlier(made[1]), made[0].scores())
    assert {one.verdict for one in again} == {"about the same"}


def test_verdicts_follow_the_direction_of_the_score() -> None:
    def one(value: float, better: str, reference: float = 1.0) -> dict[str, object]:
        facts = {"group": "general", "name": "s", "value": value, "standard_error": None, "better": better}
        return {**facts, "reference": reference, "range": [0.0, None]}

    def verdict(before: dict[str, object], now: dict[str, object]) -> Change:
        return changes({"scores": [before]}, [now])[0]

    assert verdict(one(1.0, "lower"), one(2.0, "lower")).verdict == "worse"
    assert verdict(one(1.0, "higher"), one(2.0, "higher")).verdict == "better"
    assert verdict(one(3.0, "closer"), one(0.5, "closer")).verdict == "better"
    assert verdict(one(1.0, "lower"), one(1.01, "lower")).verdict == "about the same"
    noisy = one(2.0, "lower") | {"standard_error": 1.0}
    assert verdict(one(1.0, "lower"), noisy).verdict == "about the same"


def test_it_is_never_written_inside_a_bundle(paths: dict[str, Path], tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    write_json(bundle / "manifest.json", {"tacita_bundle": 1})
    for out in (bundle, bundle / "dossier", bundle / "a" / "b"):
        with pytest.raises(RefusedError, match="inside the bundle"):
            evaluate(request(paths), out, force=True)
    assert [path.name for path in bundle.iterdir()] == ["manifest.json"]


def test_errors_name_the_column_and_never_a_value(paths: dict[str, Path], tmp_path: Path) -> None:
    frame = original().assign(place=SECRET)
    frame.drop(columns=["person", "place", "sex", "year", "pay"]).assign(other=SECRET).to_parquet(
        tmp_path / "o.parquet"
    )
    with pytest.raises(Exception, match="none of the columns") as caught:
        evaluate(request(paths, synthetic=(tmp_path / "o.parquet",)), tmp_path / "out")
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "changed",
    [
        lambda frame: frame.assign(pay=np.nan),
        lambda frame: frame.assign(pay=1.0),
        lambda frame: frame.assign(place="a", sex="F", pay=5.0),
        lambda frame: frame.drop(columns="sex"),
        lambda frame: frame.head(3),
        lambda frame: frame.assign(place=None),
    ],
    ids=["all missing", "one constant", "all constant", "lacks a column", "three rows", "missing category"],
)
def test_awkward_files_get_a_whole_dossier(paths: dict[str, Path], tmp_path: Path, changed: object) -> None:
    assert callable(changed)
    changed(original(seed=7)).to_parquet(tmp_path / "s.parquet", index=False)
    asked = request(paths, synthetic=(tmp_path / "s.parquet",)).asked.model_copy(
        update={"known": ("place",), "targets": ("pay",), "regressions": ()}
    )
    found = evaluate(request(paths, synthetic=(tmp_path / "s.parquet",), asked=asked), tmp_path / "out")
    page, parser = _read(tmp_path / "out")
    assert not [word for word in parser.words if re.search(r"\b(nan|inf)\b", word)]
    assert len(found.answers) > 10
    assert "NaN" not in page


def test_names_and_levels_cannot_become_markup(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a<i>'b\"": ["<script>alert(1)</script>", "it's", 'say "x"', "\\"] * 10, "n": range(40)})
    frame.to_parquet(tmp_path / "f.parquet", index=False)
    asked = Request(title="<b>T</b>", original=str(tmp_path / "f.parquet"), synthetic=(tmp_path / "f.parquet",))
    evaluate(asked, tmp_path / "out")
    page, _ = _read(tmp_path / "out")
    assert "<script" not in page
    assert "<i>'" not in page
    assert "<b>" not in page


def test_an_empty_file_is_a_clear_error(paths: dict[str, Path], tmp_path: Path) -> None:
    original().head(0).to_parquet(tmp_path / "s.parquet", index=False)
    with pytest.raises(UsageError, match="no rows"):
        evaluate(request(paths, synthetic=(tmp_path / "s.parquet",)), tmp_path / "out")


def test_only_so_many_rows_are_looked_at(paths: dict[str, Path], tmp_path: Path) -> None:
    found = evaluate(request(paths, "good-1", most_rows=100), tmp_path / "out")
    assert [(one.rows, one.looked_at) for one in found.files] == [(240, 100), (240, 100)]
    page, _ = _read(tmp_path / "out")
    assert "a random 100 looked at" in page


def test_the_estimate_is_said_before_the_work(paths: dict[str, Path], tmp_path: Path, made: Made) -> None:
    assert re.fullmatch(
        r"About \d+ seconds and [\d.]+ GB of memory for 960 rows of 4 columns\.", estimate(made[0].files, 4)
    )


class TestComparators:
    def _file(self) -> pd.DataFrame:
        return pd.DataFrame({"x": [1.0, 12.0, 123.0, 1234.0, np.nan], "c": ["a", "a", "b", "b", "b"]})

    def test_rounding_keeps_two_digits_and_missing_cells(self) -> None:
        (file,) = compare(self._file(), self._file()).synthetic
        assert rounded(file).numbers["x"][:3].tolist() == [1.0, 12.0, 120.0]
        assert np.isnan(rounded(file).numbers["x"][4])

    def test_coarsening_merges_rare_levels_and_keeps_the_count(self) -> None:
        frame = pd.DataFrame({"c": ["a"] * 300 + ["b"] + ["d"] * 2, "x": np.arange(303.0)})
        (file,) = compare(frame, frame).synthetic
        coarse = coarsened(file)
        assert len(np.unique(coarse.codes["c"])) == 2
        assert len(np.unique(coarse.numbers["x"])) == 20
        assert coarse.rows == 303

    def test_suppression_drops_small_groups_only(self) -> None:
        (file,) = compare(self._file(), self._file()).synthetic
        kept = suppressed(file, ["c"])
        assert kept is not None
        assert kept.rows == 3
        assert suppressed(file, ["x"]) is None


def test_files_that_say_how_they_were_made_are_combined_by_their_rule(tmp_path: Path) -> None:
    columns = ["place", "sex", "pay"]
    frames = tuple(original(seed=seed)[columns] for seed in (2, 3))
    original().to_parquet(tmp_path / "original.parquet", index=False)
    found = {}
    for kind in ("partial", "full", "one-measurement"):
        Implicates(frames, schema(), ("pay",), kind).write(tmp_path / kind)
        paths = {"original": tmp_path / "original.parquet"}
        asked = EvaluationSpec(known=("place",), tables=(("place",),))
        given = request(paths, "original", synthetic=(tmp_path / kind,), asked=asked)
        found[kind] = evaluate(given, tmp_path / f"dossier-{kind}")
        assert f"combining rule for “{kind}” files" in (tmp_path / f"dossier-{kind}" / "dossier.html").read_text()
    ratios = {
        kind: {one.name: one.score.value for one in made.answers}["cell error ratio: share by place"]
        for kind, made in found.items()
    }
    assert ratios["partial"] < ratios["one-measurement"]
    for made in found.values():  # the weakness of the combined tests is said where they are shown
        (agreement,) = [one for one in made.answers if one.name.startswith("chi-square")]
        assert "2 files is weak" in agreement.score.note
    page = (tmp_path / "dossier-partial" / "dossier.html").read_text()
    assert '<span class="caution">The combined test of 2 files is weak' in page
