"""Paths as somebody types them: in a home that nobody has, from a folder that is gone."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import refused, run
from screen import at_rest, opened, settled, shows, words_in

from tui import changes
from tui.command_parser import outcome_of
from tui.screens.open import OpenScreen
from tui.storage import user_folders
from tui.storage.user_folders import current_folder, expand_home
from tui.typed_commands import CommandContext

NOBODY = "~nobody-of-that-name"


def test_a_home_that_nobody_has_is_a_name_like_others(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expand_home("~/a.svg") == tmp_path / "a.svg"
    assert expand_home(f"{NOBODY}/a.svg") == Path(f"{NOBODY}/a.svg")


def test_no_shell_expands_a_home_in_a_typed_command(monkeypatch, tmp_path):
    """`:open ~/app.zstd` was "no such file"."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my prices.yaml").touch()
    outcomes = {
        "open ~/app.zstd": changes.OpenSources((f"{tmp_path}/app.zstd",)),
        "add ~/app.zstd": changes.OpenSources((f"{tmp_path}/app.zstd",), add=True),
        "open sort-small": changes.OpenSources(("sort-small",)),
        "catalog ~/my prices.yaml": changes.SetCatalog(f"{tmp_path}/my prices.yaml"),
        "catalog ~/prices eu-west-1": changes.SetCatalog(f"{tmp_path}/prices", "eu-west-1"),
        f"catalog {NOBODY}/a.yaml": changes.SetCatalog(f"{NOBODY}/a.yaml"),
        f"catalog {'x' * 300} y": changes.SetCatalog("x" * 300, "y"),
    }
    for line, outcome in outcomes.items():
        assert outcome_of(line, CommandContext()) == outcome


@pytest.mark.parametrize("line", [f"chart {NOBODY}/a.svg", f"save {NOBODY}/a.yaml"])
async def test_what_cannot_be_written_there_is_said(planner, line):
    """The planner ended: "Could not determine home directory"."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await app.run_command_line(line)
        assert await shows(pilot, "No such file or directory")


async def test_nor_is_an_export_saved_there(planner):
    async with at_rest(planner(), (120, 40)) as (_, pilot):
        dialog = await opened(pilot, "e")
        dialog.query_one("#path").value = f"{NOBODY}/a.sh"
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert "No such file or directory" in words_in(dialog.query_one("#said"))


def test_the_command_says_so_too(capsys):
    said = refused(
        capsys, f"curve sort-small --over nodes --ran-on m5.xlarge --output {NOBODY}/a.svg"
    )
    assert "No such file or directory" in said


@pytest.fixture(name="gone")
def folder_that_is_gone(tmp_path, monkeypatch):
    """The tests go on in a folder that is there again."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()


async def test_a_folder_that_is_gone_holds_nothing(planner, gone):
    """The planner ended with the first `o` or the first file that was to be saved."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        assert current_folder() == Path()
        dialog = await opened(pilot, "o")
        assert isinstance(dialog, OpenScreen)
        assert await shows(pilot, "nightly-features"), "samples are there in any case"
        await pilot.press("escape")
        dialog = await opened(pilot, "e")
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert "No such file or directory" in words_in(dialog.query_one("#said"))
        await pilot.press("escape")
        await app.run_command_line("chart a.svg")
        assert await shows(pilot, "No such file or directory")


def test_an_empty_home_names_no_folder(monkeypatch, tmp_path):
    """Settings and sessions were kept in the root folder, and ~/logs was looked for there."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "")
    account = SimpleNamespace(pw_dir=str(tmp_path))
    monkeypatch.setattr("pwd.getpwuid", lambda uid: account)
    assert user_folders.home("config") == tmp_path / ".config/sparkplan"
    assert user_folders.home("state") == tmp_path / ".local/state/sparkplan"
    assert user_folders.expand_home("~/logs") == tmp_path / "logs"
    assert user_folders.expand_home("~") == tmp_path
    for name in (str(tmp_path), ""):
        monkeypatch.setenv("HOME", name)
        assert user_folders.expand_home("~//etc/passwd") == tmp_path / "etc/passwd"
    assert str(user_folders.expand_home("~nobody-of-that-name/x")) == "~nobody-of-that-name/x"
    assert str(user_folders.expand_home("logs/~")) == "logs/~"


@pytest.mark.parametrize("given", [None, ""])
def test_a_user_without_a_home_has_the_default_settings(given, monkeypatch, capsys):
    """A number that no account has, as containers run as, with no HOME: a traceback."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    if given is not None:
        monkeypatch.setenv("HOME", given)

    def without_account(uid):
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", without_account)
    assert run(capsys, "config path") == ("/.config/sparkplan/config.yaml\n", "")
    assert "sparkplan (default)" in run(capsys, "config show")[0]
