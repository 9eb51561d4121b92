"""`sparkplan completion`: a script that completes commands, options and names in a shell."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping

import engine
from tui import cli
from tui.headless.completion_scripts import AT_FIRST, LATER, NOTHING, SCRIPTS, Offer, Place
from tui.storage import config

ARCHITECTURES = ("x86_64", "arm64")
SCHEDULERS = ("drf", "max-min", "fifo")

FILES = frozenset({"FILE", "SOURCE", "WORKFLOW", "DIR", "FOLDER", "PATH"})
"""Words for files and folders in the metavars of arguments."""

LIST = ",..."
"""End of the metavars of arguments that take several values."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="bash|zsh|fish", choices=tuple(SCRIPTS), help="the shell")


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(SCRIPTS[args.shell](list(places())))
    return 0


def places() -> Iterator[Place]:
    """The planner, each command, and the commands of these ("catalog show")."""
    names = known_names()
    (planner,) = _places_below(LATER, cli.parser_of(""), names)
    samples = {each.name: each.shows for each in engine.list_samples()}
    first = Offer({**cli.COMMANDS, **samples}, files=True)  # a workflow stands alone
    yield planner._replace(path=AT_FIRST, arguments=first)
    yield planner
    for command in cli.COMMANDS:
        yield from _places_below(command, cli.parser_of(command), names)


def known_names() -> Mapping[str, Mapping[str, str]]:
    """What this installation knows by name: option, or metavar of an argument -> name -> what it
    is, "" where the name says it."""
    catalogs = engine.list_catalogs()
    types = sorted({name for each in catalogs for name in engine.load_catalog(each.path).offers})
    type_names = dict.fromkeys(types, "")
    catalog_names = dict.fromkeys((each.name for each in catalogs), "")
    samples = engine.list_samples()
    evidence = {each.name: each.shows for each in samples if each.kind != "workflow"}
    workflows = {each.name: each.shows for each in samples if each.kind == "workflow"}
    return {
        "--arch": dict.fromkeys(ARCHITECTURES, ""),
        "--catalog": catalog_names,
        "--composition": type_names,
        "--exclude": type_names,
        "--instance": type_names,
        "--instances": type_names,
        "--model": {each.name: each.summary for each in engine.MODELS},
        "--own": type_names,
        "--platform": dict.fromkeys(engine.PLATFORMS, ""),
        "--ran-on": type_names,
        "--scheduler": dict.fromkeys(SCHEDULERS, ""),
        "--to": {each.name: each.summary for each in engine.EXPORTS},
        "KEY": dict.fromkeys(config.READERS, ""),
        "NAME|FILE": catalog_names,
        "SOURCE": evidence,
        "WORKFLOW": {"recommend": "the cheapest cluster for all jobs", **workflows},
    }


def _places_below(
    path: str, parser: argparse.ArgumentParser, names: Mapping[str, Mapping[str, str]]
) -> Iterator[Place]:
    options: dict[str, str] = {}
    values: dict[str, Offer] = {}
    arguments = NOTHING
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        for option in action.option_strings:
            options[option] = _first_clause(action.help)
            if action.nargs != 0:
                values[option] = _offer(action, names.get(option, {}))
        if isinstance(action, argparse._SubParsersAction):
            what = {each.dest: _first_clause(each.help) for each in action._choices_actions}
            arguments = arguments.and_also(Offer(what))
            below += [(f"{path} {name}", each) for name, each in action.choices.items()]
        elif not action.option_strings:
            arguments = arguments.and_also(_offer(action, names.get(str(action.metavar), {})))
    yield Place(path, options, values, arguments)
    for path_below, parser_below in below:
        yield from _places_below(path_below, parser_below, names)


def _offer(action: argparse.Action, names: Mapping[str, str]) -> Offer:
    """What an argument may be: one of its choices, a known name or several, or a file."""
    words = names if action.choices is None else dict.fromkeys(map(str, action.choices), "")
    metavar = str(action.metavar)
    files = not FILES.isdisjoint(re.split(r"\W", metavar))
    return Offer(words, files, listed=bool(words) and metavar.endswith(LIST))


def _first_clause(what: str | None) -> str:
    """The beginning of a help text, up to the first semicolon or bracket."""
    return re.split(r"; | \(", (what or "").replace("%%", "%"))[0]
