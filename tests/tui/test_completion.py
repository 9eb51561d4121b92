"""`sparkplan completion`: what a shell offers is what the commands take."""

import argparse
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from command_line import refused, run

import engine
from engine.choosing import limits
from engine.scheduling import drf
from tui.cli import COMMANDS, parser_of
from tui.headless.completion import places
from tui.headless.completion_scripts import LATER, SCRIPTS

BASH = shutil.which("bash") or ""


@pytest.fixture(scope="module", name="scripts")
def made() -> dict[str, str]:
    found = list(places())
    return {shell: script(found) for shell, script in SCRIPTS.items()}


def offered(script: str, folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of some words."""
    asked = (
        f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _sparkplan\n"
        'for each in "${COMPREPLY[@]}"; do printf "%s\\n" "$each"; done\n'
    )
    told = subprocess.run(
        [BASH, "--norc"],
        input=script + asked,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stderr == ""
    return told.stdout.splitlines()


def named(values: Iterable[Any]) -> list[str]:
    return [each.name for each in values]


@pytest.mark.skipif(not BASH, reason="no bash")
def test_bash_offers_what_may_stand_there(scripts: dict[str, str], tmp_path: Path) -> None:
    def asked(*words: str) -> list[str]:
        return offered(scripts["bash"], tmp_path, "sparkplan", *words)

    assert asked("pre") == ["predict"]
    assert set(asked("")) >= {*COMMANDS, *named(engine.list_samples())}
    assert asked("log.zstd", "pre") == [], "a command stands first"
    assert asked("predict", "log.zstd", "--mod") == ["--model"]
    assert asked("log.zstd", "--sp") == ["--spot"]
    assert asked("predict", "x", "--model", "") == named(engine.MODELS)
    assert asked("predict", "x", "--model", "=") == named(engine.MODELS)
    assert asked("predict", "x", "--model", "=", "pe") == ["peridot"]
    assert asked("export", "x", "--to", "") == named(engine.EXPORTS)
    assert asked("curve", "x", "--over", "n") == ["nodes"]
    assert asked("x", "--ran-on", "m5.2") == ["m5.24xlarge", "m5.2xlarge"]
    assert asked("recommend", "x", "--deadline", "") == []
    assert asked("catalog", "s") == ["show"]
    assert asked("config", "set", "th") == ["theme"]
    assert asked("catalog", "show", "azure-") == ["azure-databricks"]
    assert "recommend" in asked("workflow", "")
    assert asked("workflow", "x", "--scheduler", "") == list(drf.SCHEDULERS)
    assert sorted(asked("recommend", "x", "--arch", "")) == sorted(limits.ARCHITECTURES)
    assert "nightly-pipeline" not in asked("predict", "night"), "it is no evidence of a job"


@pytest.mark.skipif(not BASH, reason="no bash")
def test_each_name_of_a_list_is_offered(scripts: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "r5.xyz,c5.4").touch()  # a file that the typed pattern would match

    def asked(*words: str) -> list[str]:
        return offered(scripts["bash"], tmp_path, "sparkplan", *words)

    assert asked("recommend", "x", "--instances", "r5.*,c5.4") == ["r5.*,c5.4xlarge"]
    assert asked("recommend", "x", "--exclude", "=", "m5.xlarge,c5.4") == ["m5.xlarge,c5.4xlarge"]
    assert "m5.xlarge,c5.4xlarge" in asked("catalog", "show", "aws", "--instances", "m5.xlarge,")
    assert asked("recommend", "x", "--own", "c5.4") == ["c5.4xlarge"]
    # Bash takes each "=" for a word of its own.
    types = ("predict", "x", "--composition")
    assert asked(*types, "m5.2xlarge", "=") == [], "a number is typed there"
    assert asked(*types, "m5.2xlarge", "=", "2") == []
    assert asked(*types, "m5.2xlarge", "=", "2,c5.4") == ["2,c5.4xlarge"]
    assert asked(*types, "=", "m5.2xlarge", "=", "2,r5.xlarge", "=", "3,c5.4") == ["3,c5.4xlarge"]
    assert asked("x", "--ran-on", "m5.2xlarge,c5.4") == [], "one type alone"


@pytest.mark.skipif(not BASH, reason="no bash")
def test_files_stand_beside_samples_under_their_own_names(
    scripts: dict[str, str], tmp_path: Path
) -> None:
    for name in ("night run.zstd", "night*.csv", "other.zstd"):
        (tmp_path / name).touch()
    (tmp_path / "nights").mkdir()
    found = offered(scripts["bash"], tmp_path, "sparkplan", "predict", "night")
    assert set(found) == {
        "nightly-features", "nightly-features-small", "night run.zstd", "night*.csv", "nights"
    }  # fmt: skip
    assert offered(scripts["bash"], tmp_path, "sparkplan", "export", "x", "-o", "oth") == [
        "other.zstd"
    ]


def test_every_option_of_every_command_is_offered(scripts: dict[str, str]) -> None:
    by_path = {place.path: place for place in places()}
    for command in ("", *COMMANDS):
        parser = parser_of(command)
        options = {name: each.nargs for each in parser._actions for name in each.option_strings}
        place = by_path[command or LATER]
        assert set(place.options) == set(options)
        assert set(place.values) == {name for name, nargs in options.items() if nargs != 0}
        for name in options:
            assert name in scripts["bash"]
            assert name in scripts["zsh"]
            assert (
                f"'{place.path}\\'' -{'l ' if name[:2] == '--' else 's '}{name.lstrip('-')}"
                in (scripts["fish"])
            )
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                assert set(action.choices) == set(place.arguments.words)
                assert {f"{command} {name}" for name in action.choices} <= set(by_path)


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_printed_and_the_shell_can_read_it(
    shell: str, scripts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = run(capsys, f"completion {shell}")
    assert out == scripts[shell]
    assert err == ""
    if installed := shutil.which(shell):
        read = subprocess.run([installed, "-n"], input=out, capture_output=True, text=True)
        assert (read.returncode, read.stderr) == (0, "")


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'tcsh'" in refused(capsys, "completion tcsh")
