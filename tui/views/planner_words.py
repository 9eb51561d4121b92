"""Texts of the engine in the planner's words: typed commands and keys for options and commands."""

from __future__ import annotations

import re


def in_planner(message: str) -> str:
    """A text of the engine with typed commands in place of command-line options: `--model boe`
    becomes `:model boe`. Options without a typed command stay. Commands that list something become
    the keys that do."""
    for pattern, key in _LISTING_COMMANDS:
        message = re.sub(pattern, key, message)
    if "--" not in message:
        return message
    from tui.typed_commands import TYPED_COMMANDS

    known = {verb.name: verb.name for verb in TYPED_COMMANDS} | _COMMAND_NAMES
    return re.sub(
        rf"{_OTHER_COMMAND}|(?<![\w-])--([a-z][a-z-]*)",
        lambda match: f":{known[match[1]]}" if match[1] in known else match[0],
        message,
    )


_OTHER_COMMAND = r"sparkplan [a-z-]+(?: (?:[a-z]+(?= --)|[A-Z]+|--[a-z-]+))*"
"""A shell command, whose options are not typed in the planner."""

_LISTING_COMMANDS = (
    (r"`sparkplan samples` lists samples", "o lists the samples"),
    (r"`sparkplan catalog show NAME` lists the types of a catalog", "w lists the types"),
    (r"`sparkplan catalog show \S+` lists its types", "/ lists its types"),
    (r"name one with --region", "type one behind its name"),
)
"""Regular expressions of commands that list names -> what to press or type instead."""

_COMMAND_NAMES = {"max-nodes": "nodes", "input-size": "size", "fractions": "samples"}
"""Options whose typed command has another name."""
