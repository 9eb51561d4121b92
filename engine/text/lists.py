"""Formats lists of names in a line of text, abbreviated where long."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMED = 3
"""Maximum number of items in a sentence; of more, all but one are shown and the rest is counted."""

MOST_LISTED = 8
"""The same for a comma-separated list."""


def abbreviated_list(names: Sequence[str]) -> str:
    """A few names, or the first of them and how many more: "a, b and 298 more"."""
    shown = names
    if len(names) > MOST_NAMED:
        shown = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """All of some names, or the first of them and how many more: "a, b, c and 298 more"."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def printable(text: str) -> str:
    """Text from a log, for files and names: line breaks and control characters become "?". (The
    terminal shows them escaped.)"""
    return "".join(char if char.isprintable() else "?" for char in text)
