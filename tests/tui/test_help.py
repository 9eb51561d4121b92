"""What --help says: options by their subject, and examples that hold."""

from __future__ import annotations

import argparse
import re
import shlex
from importlib import import_module

import pytest

import engine
from tui.arguments.examples import EXAMPLES, help_examples
from tui.arguments.parser import OneLineParser
from tui.cli import COMMANDS, main, planner_parser

SECTIONED = ("", "predict", "curve", "recommend", "fleet", "workflow", "export", "experiments")
OF_THE_ANSWER = {"help", "version", "json", "scenario", "resume", "to", "over", "output"}
"""What stands above the sections: what kind of answer is asked for, and in which form."""


def parser_of(command: str) -> argparse.ArgumentParser:
    if not command:
        return planner_parser()
    parser = OneLineParser(prog=f"sparkplan {command}")
    import_module(f"tui.headless.{command.replace('-', '_')}").configure(parser)
    return parser


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_are_commands_that_the_parser_takes(command: str) -> None:
    samples = {sample.name for sample in engine.list_samples()}
    for what, words in EXAMPLES[command].items():
        args = parser_of(command).parse_args(shlex.split(words.partition(" > ")[0]))
        for source in getattr(args, "sources", ()):
            assert source in samples | {"recommend"} or re.search("[./]", source), what


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_can_be_pasted_as_they_are_shown(command: str) -> None:
    said = help_examples(command)
    assert not re.search(r"--[\w-]+ \\\n {8}[^-]", said), "an option is broken from its value"
    commands = [line for line in said.replace("\\\n", "").splitlines() if "    sparkplan" in line]
    for line, words in zip(commands, EXAMPLES[command].values(), strict=True):
        assert shlex.split(line) == ["sparkplan", *command.split(), *shlex.split(words)]


@pytest.mark.parametrize("command", SECTIONED)
def test_options_stand_under_what_they_are_about(command: str) -> None:
    groups = parser_of(command)._action_groups
    above = {each.dest for each in groups[1]._group_actions}
    assert groups[1].title == "options"
    assert above <= OF_THE_ANSWER
    assert len({group.title for group in groups}) == len(groups) > 5


@pytest.mark.parametrize("command", ["predict", "curve", "workflow", "recommend", "export"])
def test_types_are_looked_up_in_the_catalog_of_the_prices(command: str) -> None:
    """Beside --instance it said of prices alone, and a type is refused that it does not hold."""
    options = {each.dest: each.help for each in parser_of(command)._actions}
    assert "of types and their prices (default: that of the machines" in str(options["catalog"])


@pytest.mark.parametrize("command", ["profile", "curve", "export", "measure-host"])
def test_every_command_that_writes_a_file_takes_o(command: str) -> None:
    (output,) = [each for each in parser_of(command)._actions if each.dest == "output"]
    assert output.option_strings == ["-o", "--output"]


def test_the_first_line_names_what_must_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    first = {
        "": "usage: sparkplan [OPTION ...] [SOURCE ...]",
        "export": "usage: sparkplan export [OPTION ...] --to TARGET SOURCE [SOURCE ...]",
        "workflow": "usage: sparkplan workflow [OPTION ...] [recommend] WORKFLOW [WORKFLOW ...]",
        "models": "usage: sparkplan models [OPTION ...]",
        "catalog": "usage: sparkplan catalog [OPTION ...] list|show|validate|refresh ...",
        "catalog show": "usage: sparkplan catalog show [OPTION ...] NAME|FILE",
    }
    for command, line in first.items():
        with pytest.raises(SystemExit) as ended:
            main([*command.split(), "--help"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.splitlines()[0] == line


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_a_terminal_of_80_columns(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that are laid out beforehand were up to 93 wide."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    said = capsys.readouterr().out
    assert "usage: " in said
    assert [line for line in said.splitlines() if len(line) > 80] == []


def test_help_names_the_commands_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    words = " ".join(said.split())
    assert all(f"{name} {what}" in words for name, what in COMMANDS.items())
    assert "Exit codes: 0 done, 1 no cluster" in said
    assert "    sparkplan application_42.zstd --ran-on m5.2xlarge" in said
