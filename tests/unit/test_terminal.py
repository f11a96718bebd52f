"""Any terminal, any account: letters that it lacks, brackets in titles, no home, a limit on memory."""

import io
import os
import sys
from pathlib import Path

import pytest

from support.command_line import Call, replaced
from tacita import account, cli
from tacita.pages import charts
from tacita.terminal import Steps, console, styled


class Terminal(io.TextIOWrapper):
    """A terminal with few letters."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def shown(self) -> str:
        self.flush()
        self.seek(0)
        return " ".join(self.read().split())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_without_greek_letters_spells_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    def call(*arguments: object) -> tuple[int, str]:
        out, err = Terminal(encoding), Terminal(encoding)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as stop:
            cli.main([str(one) for one in arguments])
        return int(stop.value.code or 0), out.shown() + err.shown()

    spec, bundle, ledger = folder / "release.toml", folder / "bundle", folder / "jobs.ledger"
    code, planned = call("plan", spec)
    assert code == 0, planned
    assert "epsilon = 1 under strong alpha = 0.1" in planned
    assert call("run", spec, "--out", bundle)[0] == 0
    assert call("verify", bundle)[0] == 0
    assert call("ledger", "show", ledger)[0] == 0
    code, said = call("plan", folder / "Żółw.toml")
    assert code == 2
    assert "?" in said


def test_a_closed_terminal_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(SystemExit) as stop:
        cli.main(["plan", str(folder / "release.toml")])
    assert not stop.value.code
    sys.stdout.close()
    sys.stderr.close()


@pytest.mark.parametrize("title", ["x [/] y", "x [/foo] y", "[bold]x", ":smile: [red]"])
def test_brackets_in_a_title_are_text(folder: Path, tacita: Call, title: str) -> None:
    replaced("Test tables", title)(folder)
    replaced('identity = "test-jobs"', f'identity = "{title}"')(folder)
    assert title in tacita("plan", folder / "release.toml").out
    assert tacita("run", folder / "release.toml", "--out", folder / "[/]").code == 0
    shown = tacita("ledger", "show", folder / "jobs.ledger")
    assert shown.code == 0, shown.err
    assert title in shown.out
    assert tacita("verify", folder / "[/]").code == 0
    assert tacita("verify", folder / "[/x]").code == 2


def test_long_work_tells_a_file_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar is for terminals; in a file nothing stood until the end."""
    clock = [0.0]
    monkeypatch.setattr("tacita.terminal.time.monotonic", lambda: clock[0])
    with Steps(console(), 1) as steps:
        for done in range(5):
            steps.at("Replicates", done, 5)
            clock[0] += 4
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["Replicates (0 of 5, 0 s)", "Replicates (3 of 5, 12 s)"]
    assert told[2].startswith("Done")


def test_what_is_styled_is_styled(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(styled("ok", "green", " [/]"))
    assert capsys.readouterr().out == "ok [/]\n"


# ---------------------------------------------------------------- wrong usage is never unexpected


@pytest.mark.parametrize(
    "arguments",
    [
        ["rehearse", "release.toml", "--mock", "--seed", "-1", "--out", "x"],
        ["study", "tran2023", "--seed", "-1", "--out", "x"],
        ["run", "release.toml", "--out", "x" * 300],
        ["run", "x" * 300, "--out", "x"],
        ["run", ".", "--out", "x"],
        ["run", "release.toml", "--out", "/proc/x"],
        ["verify", "x" * 300],
        ["report", "x" * 300, "--out", "x"],
        ["init", "x" * 300],
        ["ledger", "show", "."],
        ["[/]"],
    ],
    ids=lambda arguments: " ".join(arguments)[:30],
)
def test_wrong_arguments_exit_with_2(
    folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(Path().iterdir())
    said = tacita(*arguments)
    assert said.code == 2, said.err
    assert "Unexpected" not in said.err
    assert sorted(Path().iterdir()) == before


def test_the_version_is_shown(tacita: Call) -> None:
    said = tacita("--version")
    assert said.code == 0
    assert said.out.startswith("tacita 0")


# ---------------------------------------------------------------- accounts without a home, or with a limit


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An account under a home that is no folder; what is furnished is made below the returned one."""
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(account.atexit, "register", lambda *args, **more: None)
    monkeypatch.setattr(account.sys, "modules", {})
    monkeypatch.setattr(account.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_an_account_that_lacks_nothing_is_left_alone(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "_usual_caches", lambda: [bare / "file" / "x", bare / "cache"])
    (bare / "file").write_text("")
    account.furnish()
    assert os.environ["NUMBA_CACHE_DIR"] == ""
    assert not list(bare.glob("tacita-account-*"))


def test_an_account_that_can_write_nowhere_gets_a_cache_for_the_run(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare / "file").write_text("")
    monkeypatch.setattr(account, "_usual_caches", lambda: [bare / "file" / "x"])
    account.furnish()
    (folder,) = bare.glob("tacita-account-*")
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_an_account_without_a_home_gets_one_for_the_run(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "nobody-wrote-it-down")
    assert [place.name for place in account._usual_caches()] == ["__pycache__"]
    account.furnish()
    (folder,) = bare.glob("tacita-account-*")
    assert Path.home() == folder


def test_a_limit_on_memory_leaves_the_picture_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts.resource, "getrlimit", lambda which: (8 << 30, 8 << 30))
    assert "left out" in charts.budget_bar(1.0, 0.0, 1.0)
    monkeypatch.setattr(charts.resource, "getrlimit", lambda which: (charts.resource.RLIM_INFINITY, 0))
    assert charts.budget_bar(1.0, 0.0, 1.0).startswith("<svg")


def test_a_control_character_does_not_end_the_drawing() -> None:
    assert "<svg" in charts.error_bars(["a\x01b", "c"], [1.0, 2.0], [1.0, 1.0], "95%", floor=0.0)


def test_words_of_a_stranger_do_not_steer_the_terminal() -> None:
    """A bundle may call its unit anything: an escape sequence could clear the line that says it is not verified."""
    shown = styled("ok", "green", " one \x1b[2J\x1b]0;title\x07unit \u202egnp.exe\tand\N{NO-BREAK SPACE}é ε\n").plain
    assert shown == "ok one ?[2J?]0;title?unit ?gnp.exe\tand\N{NO-BREAK SPACE}é ε\n"
