"""Lists of names in a line of text."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMED = 3
"""Names that a message shows; of more of them it shows all but one, and counts the others."""


def in_a_row(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """A few names, or the first of them and how many more: "a, b and 298 more"."""
    shown = names if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
