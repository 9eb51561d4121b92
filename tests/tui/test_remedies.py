"""What a message tells to do can be done: each option that it names is one of the command's."""

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import engine
from tui import cli

ROOT = Path(engine.__file__).parents[1]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
OTHER_COMMAND = re.compile(
    r"sparkplan ([a-z-]+)((?: (?:recommend|\.\.\.|[A-Z]+|-o FILE|--[a-z-]+))*)"
)

ANSWERING = ("predict", "curve", "recommend", "export", "fleet", "experiments")
"""The commands that fit a model and ask it."""

CHOOSING = ("recommend", "export", "fleet")
"""The commands that choose among a catalog's types within limits."""

REACHED_BY = {
    "engine/choosing/limits.py": CHOOSING,
    "engine/mixing/notices.py": CHOOSING,
    "engine/mixing/mix_step.py": CHOOSING,
    "engine/mixing/relaxation.py": ("recommend",),
    "engine/mixing/relaxed_answer.py": ("recommend",),
    "engine/machines/beside_heap.py": (*ANSWERING, "workflow", "profile"),
    "engine/choosing/candidate_selection.py": (*CHOOSING, "experiments", "workflow"),
    "engine/choosing/candidates.py": (*CHOOSING, "experiments", "workflow"),
    "engine/machines/platforms.py": (*CHOOSING, "predict", "curve", "experiments", "workflow"),
    "engine/catalog_files/index.py": (*ANSWERING, "workflow"),
    "engine/catalog_files/price_list.py": ("catalog",),
    "engine/catalog_files/reader.py": (*ANSWERING, "workflow"),
    "engine/choosing/owned.py": ("recommend", "export"),
    "engine/choosing/room.py": ("recommend", "export"),
    "engine/exports": ("export",),
    "engine/batch.py": ("predict", "curve", "workflow"),
    "engine/experiments/commands.py": ("collect",),
    "engine/machines/host.py": ("measure-host",),
    "engine/machines/host_probes.py": ("measure-host",),
    "engine/refresh.py": ("catalog",),
    "engine/sources": (*ANSWERING, "workflow", "profile"),
    "engine/machines/transfer.py": (*ANSWERING, "workflow"),
    "engine/experiments/advice.py": ("experiments",),
    "engine/experiments/priced_compositions.py": ("experiments",),
    "engine/experiments/training.py": ("experiments",),
    "engine/experiments/plans.py": ("experiments",),
    "engine/experiments/designed_runs.py": ("experiments",),
}
"""Which commands show what a module says; the others are asked by all of `ANSWERING`."""


@cache
def options_of(command: str) -> frozenset[str]:
    """The options of a command, those of the commands below it included."""
    return frozenset(_options(parser_of(command)))


def parser_of(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=command)
    import_module(f"tui.headless.{command.replace('-', '_')}").configure(parser)
    return parser


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _options(below)


def without_help(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The arguments of a command, and of those below it, of which --help says nothing."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from without_help(below)
        elif not action.help:
            yield from action.option_strings or [action.dest]


def texts_of(node: ast.AST) -> str:
    """The text of an expression: literals joined, what is filled in as a gap."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(texts_of(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "GAP"
    return " ".join(texts_of(child) for child in ast.iter_child_nodes(node))


@cache
def remedies_in(path: Path) -> tuple[tuple[int, str], ...]:
    """What the errors and notices that a module makes tell to do, as (line, text); names of its
    constants and functions, and of what these assign, resolved."""
    tree = ast.parse(path.read_text("utf-8"))
    return tuple(_remedies_below(tree, _assigned(tree.body)))


def _assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.AST]]:
    """What is assigned to each name, all values of one that is assigned to several times; of a
    function what it returns."""
    found: dict[str, list[ast.AST]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name, value in _targets(target, node.value):
                    found[name].append(value)
        elif isinstance(node, ast.FunctionDef):
            returns = (inner for inner in ast.walk(node) if isinstance(inner, ast.Return))
            found[node.name] += [each.value for each in returns if each.value is not None]
    return found


def _targets(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        several = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
        values = value.elts if several else [value] * len(target.elts)
        for each, its_value in zip(target.elts, values, strict=True):
            yield from _targets(each, its_value)


def _remedies_below(node: ast.AST, assigned: dict[str, list[ast.AST]]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        assigned = assigned | _assigned(ast.walk(node))
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "remedy":
                yield keyword.value.lineno, _said(keyword.value, assigned)
        if isinstance(node.func, ast.Name) and node.func.id == "Notice" and len(node.args) == 3:
            yield node.args[2].lineno, _said(node.args[2], assigned)
    for child in ast.iter_child_nodes(node):
        yield from _remedies_below(child, assigned)


def _said(node: ast.AST, assigned: dict[str, list[ast.AST]]) -> str:
    names = [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    return " ".join([texts_of(node), *(texts_of(v) for n in names for v in assigned.get(n, ()))])


def missing_from(said: str, commands: tuple[str, ...]) -> set[tuple[str, str]]:
    """(command, option) where a text names an option that a command has not: after `sparkplan X`
    options are those of X, else of each command that shows the text."""
    missing = set()
    for other in OTHER_COMMAND.finditer(said):
        if other[1] in cli.COMMANDS:
            own = OPTION.findall(other[2])
            missing |= {(other[1], name) for name in own if name not in options_of(other[1])}
    for option in OPTION.findall(OTHER_COMMAND.sub("", said)):
        missing |= {(name, option) for name in commands if option not in options_of(name)}
    return missing


def may_name_options(path: Path) -> bool:
    """Whether a module has both an option and a remedy: every worker asks this of all of them when
    it collects the tests, so that none is parsed."""
    text = path.read_text("utf-8")
    return "--" in text and ("remedy=" in text or "Notice(" in text)


MODULES = [path for path in sorted((ROOT / "engine").rglob("*.py")) if may_name_options(path)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_remedy_names_options_of_every_command_that_shows_it(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    commands = REACHED_BY.get(place) or REACHED_BY.get(Path(place).parent.as_posix()) or ANSWERING
    wrong = {
        f"{place}:{line}: {command} has no {option} ({said})"
        for line, said in remedies_in(path)
        for command, option in missing_from(said, commands)
    }
    assert not wrong


def test_every_module_of_which_its_commands_are_told_is_among_those_that_are_checked() -> None:
    """Remedies that became local variables were checked no more, and nothing told."""
    named = [path for path in MODULES if any("--" in said for _, said in remedies_in(path))]
    places = [path.relative_to(ROOT) for path in named]
    checked = {place.as_posix() for path in places for place in (path, path.parent)}
    assert set(REACHED_BY) <= checked
    assert {"engine/machines/transfer.py", "engine/machines/where_it_ran.py"} <= checked


@pytest.mark.parametrize("command", [*cli.COMMANDS])
def test_a_command_names_its_own_options(command: str) -> None:
    path = ROOT / "tui" / "headless" / f"{command.replace('-', '_')}.py"
    for line, said in remedies_in(path):
        assert not missing_from(said, (command,)), f"{path.name}:{line}: {said}"


CHECKED_BY = {
    "goal_checks.py": ("recommend", "export"),
    "options.py": ANSWERING,
    "parser.py": tuple(cli.COMMANDS),
    "target.py": ("predict", "curve", "workflow"),
}
"""Which commands show what a module of `tui/arguments` says."""


def test_checks_of_arguments_name_options_of_the_commands_that_make_them() -> None:
    found = {
        path.name: [said for _, said in remedies_in(path) if "--" in said]
        for path in (ROOT / "tui" / "arguments").glob("*.py")
    }
    assert {name for name, remedies in found.items() if remedies} == set(CHECKED_BY)
    for name, commands in CHECKED_BY.items():
        for said in found[name]:
            assert not missing_from(said, commands), f"{name}: {said}"


@pytest.mark.parametrize("command", [*cli.COMMANDS])
def test_help_says_what_every_argument_is(command):
    assert list(without_help(parser_of(command))) == []
