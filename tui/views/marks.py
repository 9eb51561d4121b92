"""The marks for best, missed and warning, in the character set of the terminal."""

from __future__ import annotations

from typing import NamedTuple

from tui.widgets.glyphs import Glyphs


class Marks(NamedTuple):
    """Best composition, missed goal, warning: distinguished by shape, never by colour alone."""

    best: str
    missed: str
    warning: str


def marks_of(glyphs: Glyphs) -> Marks:
    """The marks that `glyphs` can show; code page 437 has neither a cross nor a warning sign."""
    if glyphs.name == "unicode":
        return Marks(glyphs.marker, "✗", "⚠")
    return Marks(glyphs.marker, "x", "!")
