"""Parses typed commands (":"): "deadline 45m", "nodes 1:200", "model ernest".

A typed line becomes an action on the state, or the name of an action of the app.
"""

from __future__ import annotations

from difflib import get_close_matches

import engine
from tui.typed_commands import (
    CHOICE_ACTIONS,
    EXAMPLES,
    TYPED_COMMANDS,
    Command,
    CommandContext,
    CommandEffect,
)


def outcome_of(line: str, names: CommandContext) -> CommandEffect:
    """The outcome of a typed line; a command without its argument opens the choice, if there is
    one.

    Raises:
        BadInput: for an unknown command (close ones are named), or an argument that is missing,
            not wanted or without meaning.
    """
    name, _, rest = line.strip().removeprefix(":").partition(" ")
    command, argument = _command(name), rest.strip()
    if argument and not command.takes:
        raise engine.BadInput(f"{command.name} takes nothing, not {argument!r}")
    if not argument and command.takes and not command.takes.startswith("["):
        if command.name in CHOICE_ACTIONS:
            return CHOICE_ACTIONS[command.name]
        remedy = f"type :{command.name} {EXAMPLES[command.name]}"
        raise engine.BadInput(f"{command.name} needs {command.takes}", remedy=remedy)
    return command.act(argument, names)


def _command(name: str) -> Command:
    """The command of that name, or the only one that begins with it."""
    by_name = {command.name: command for command in TYPED_COMMANDS}
    if name in by_name:
        return by_name[name]
    matching = [command for command in TYPED_COMMANDS if name and command.name.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    similar = [command.name for command in matching] or get_close_matches(name, by_name, n=3)
    hint = (
        f"did you mean {' or '.join(similar)}?" if similar else "press : alone to see all of them"
    )
    raise engine.BadInput(f"there is no command {name!r}", remedy=hint)


def completions(typed: str, names: CommandContext) -> list[tuple[str, str]]:
    """Completions of typed text as (line, what it does), best first."""
    name, space, rest = typed.lstrip().removeprefix(":").partition(" ")
    if not space:
        return [
            (
                f"{command.name} " if command.takes else command.name,
                f"{command.takes}  {command.what}".strip(),
            )
            for command in TYPED_COMMANDS
            if command.name.startswith(name)
        ]
    command = next((command for command in TYPED_COMMANDS if command.name == name), None)
    if command is None:
        return []
    prefix = rest.strip().rpartition(",")[2].strip()
    head = rest[: len(rest) - len(prefix)] if prefix else rest
    values = command.values(names)
    matching = [value for value in values if value.startswith(prefix)]
    if not matching and (not values or (rest.strip() and _is_valid(typed, names))):
        return [(f"{command.name} {rest.strip()}", f"{command.takes}  {command.what}".strip())]
    return [(f"{command.name} {head.lstrip()}{value}", command.what) for value in matching]


def _is_valid(line: str, names: CommandContext) -> bool:
    """Whether a typed line is a valid command."""
    try:
        outcome_of(line, names)
    except engine.EngineError:
        return False
    return True
