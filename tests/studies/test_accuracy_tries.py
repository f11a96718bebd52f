"""Which files and tries the accuracy suite has: how they are read, named and refused."""

from pathlib import Path

import pandas as pd
import pytest

from support.accuracy_files import SCHEMA, TRIES, made_up
from tacita.errors import SpecError, UsageError
from tacita_studies.accuracy import command
from tacita_studies.accuracy.folder import HERE, TABLES, in_folder
from tacita_studies.accuracy.measure import attempts, read
from tacita_studies.accuracy.prepared import PREPARED
from tacita_studies.accuracy.tries import Tries


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("files"))


def test_codes_are_read_as_they_are_written(folder: Path, tmp_path: Path) -> None:
    levels = SCHEMA.replace('["f", "m", "unknown"]', '["1", "2", "NA", "unknown"]')
    (tmp_path / "people.schema.toml").write_text(levels, encoding="utf-8")
    (tmp_path / "people.accuracy.toml").write_text(TRIES, encoding="utf-8")
    (tmp_path / "people.csv").write_text("sex,pay\n1,5\nNA,NA\n,7\n", encoding="utf-8")
    (file,) = in_folder(tmp_path)
    assert file.read()["sex"].fillna("empty").tolist() == ["1", "NA", "empty"]
    assert file.read()["pay"].fillna(-1).tolist() == [5, -1, 7]
    (tmp_path / "people.csv").unlink()
    pd.DataFrame({"sex": [1.0, 2.0, None], "pay": [5, 6, 7]}).to_parquet(tmp_path / "people.parquet")
    (file,) = in_folder(tmp_path)
    assert read(file)["sex"].tolist() == ["1", "2", "unknown"]


def test_what_is_not_there_is_said_in_words(folder: Path, tmp_path: Path) -> None:
    for told, words in (
        (["--data", str(tmp_path / "nowhere")], "there is no such folder"),
        (["--data", str(tmp_path)], "holds no NAME.accuracy.toml"),
        (["--data", str(folder), "--file", "peple"], "known are people, plants"),
        (["--data", str(folder), "--draws", "0"], "--draws: at least one"),
    ):
        with pytest.raises(UsageError, match=words):
            command.run([*told, "--out", str(tmp_path / "out")])
    (tmp_path / "a.accuracy.toml").write_text('[[try]]\nname = "a"\nepsilonn = "1"\n[try.table]\n', encoding="utf-8")
    with pytest.raises(SpecError, match="epsilonn"):
        Tries.load(tmp_path / "a.accuracy.toml")
    with pytest.raises(UsageError, match=r"neither a.csv.gz nor a.parquet"):
        in_folder(tmp_path)


@pytest.mark.parametrize("name", PREPARED)
def test_every_public_file_has_a_schema_and_tries_that_can_be_read(name: str) -> None:
    folder = next(one for one in (HERE, TABLES) if (one / f"{name}.accuracy.toml").is_file())
    assert Tries.load(folder / f"{name}.accuracy.toml").tried
    assert (folder / f"{name}.schema.toml").is_file()


def test_the_products_of_a_release_are_tried_and_without_comparisons_the_usual_ones_are_made(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("people.csv.gz", "people.schema.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    release = '[cap]\nneighbours = "replace"\nunit = "person"\nepsilon = "9"\n'
    release += '[[table]]\nname = "counts"\nstatistic = "count"\nby = ["sex"]\nepsilon = "1"\n'
    release += (
        '[[microdata]]\nname = "files"\nmechanism = "QuantileSynthesis"\ncolumns = ["sex", "pay"]\nepsilon = "8"\n'
    )
    (tmp_path / "release.toml").write_text(release, encoding="utf-8")
    tries = '[[try]]\nname = "release"\nspecification = "release.toml"\n'
    (tmp_path / "people.accuracy.toml").write_text(tries, encoding="utf-8")
    told = ["--data", str(tmp_path), "--draws", "1", "--workers", "1", "--out", str(tmp_path / "out")]
    rows = command.run(told)["rows"]
    assert {(row["setting"], row["epsilon"]) for row in rows} == {("release, counts", 1.0), ("release, files", 8.0)}
    assert {row["statistic"] for row in rows} == {
        "table: count by sex",
        "mean of pay",
        "quantile of pay",
        "share of sex",
        "distance of two-way tables",
    }
    (tmp_path / "people.accuracy.toml").write_text(tries.replace("release.toml", "none.toml"), encoding="utf-8")
    with pytest.raises(SpecError, match="there is no such file beside the tries"):
        command.run(told)


def test_tries_differ_by_their_names_and_epsilon(folder: Path) -> None:
    people_file, _ = in_folder(folder)
    assert [(one.name, one.stated["epsilon"]) for one in attempts(people_file)] == [
        ("both", "1"),
        ("both", "100"),
        ("table, mean", "100"),
        ("table, median", "100"),
        ("table, variance", "100"),
        ("shares", "100"),
        ("impossible", "1"),
    ]
