"""Typed commands (":"): "deadline 45m", "nodes 1:200", "model ernest".

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
    Outcome,
)


def outcome_of(line: str, names: CommandContext) -> Outcome:
    """What a typed line asks for; a command that lacks what can be chosen opens the choice.

    Raises:
        BadInput: for an unknown command (close ones are named), or an argument that is missing,
            not wanted or without meaning.
    """
    verb_name, _, rest = line.strip().removeprefix(":").partition(" ")
    verb, argument = _verb(verb_name), rest.strip()
    if argument and not verb.takes:
        raise engine.BadInput(f"{verb.name} takes nothing, not {argument!r}")
    if not argument and verb.takes and not verb.takes.startswith("["):
        if verb.name in CHOICE_ACTIONS:
            return CHOICE_ACTIONS[verb.name]
        remedy = f"type :{verb.name} {EXAMPLES[verb.name]}"
        raise engine.BadInput(f"{verb.name} needs {verb.takes}", remedy=remedy)
    return verb.act(argument, names)


def _verb(name: str) -> Command:
    """The command of that name, or the only one that begins so."""
    by_name = {verb.name: verb for verb in TYPED_COMMANDS}
    if name in by_name:
        return by_name[name]
    begun = [verb for verb in TYPED_COMMANDS if name and verb.name.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    close = [verb.name for verb in begun] or get_close_matches(name, by_name, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "press : alone to see all of them"
    raise engine.BadInput(f"there is no command {name!r}", remedy=hint)


def offered(typed: str, names: CommandContext) -> list[tuple[str, str]]:
    """(line, what it does) of the commands that typed text may become, best first."""
    verb_name, space, rest = typed.lstrip().removeprefix(":").partition(" ")
    if not space:
        return [
            (f"{verb.name} " if verb.takes else verb.name, f"{verb.takes}  {verb.what}".strip())
            for verb in TYPED_COMMANDS
            if verb.name.startswith(verb_name)
        ]
    verb = next((verb for verb in TYPED_COMMANDS if verb.name == verb_name), None)
    if verb is None:
        return []
    begun = rest.strip().rpartition(",")[2].strip()
    head = rest[: len(rest) - len(begun)] if begun else rest
    values = verb.values(names)
    found = [value for value in values if value.startswith(begun)]
    if not found and (not values or (rest.strip() and _acts(typed, names))):
        return [(f"{verb.name} {rest.strip()}", f"{verb.takes}  {verb.what}".strip())]
    return [(f"{verb.name} {head.lstrip()}{value}", verb.what) for value in found]


def _acts(line: str, names: CommandContext) -> bool:
    """Whether a typed line asks for something."""
    try:
        outcome_of(line, names)
    except engine.EngineError:
        return False
    return True
