"""Named styles of cells, resolved against the theme.

A style is a few words: "bold $text-accent", "reverse $foreground", "ansi_cyan". Component classes
of a style sheet would do the same, but parsing and matching them takes an eighth of the start-up
time.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style
from textual.color import Color

TEXT: Mapping[str, str] = {
    "base": "$foreground",
    "strong": "bold $foreground",
    "muted": "$foreground-muted",
    "good": "bold $text-success",
    "bad": "bold $text-error",
    "warn": "bold $text-warning",
    "accent": "bold $text-accent",
}
"""Tones of text, named by meaning."""


def resolve(style: str, variables: Mapping[str, str], background: Color) -> Style:
    """The Rich style for `style`: attributes, then a colour.

    Args:
        style: the colour is a variable of the theme ($text-accent) or a name of Textual's.
        variables: colours of the theme by name, also as "auto 60%": what contrasts with the
            background, so opaque.
        background: what the cells lie on; may be transparent.
    """
    *attributes, name = style.split()
    value = variables[name[1:]] if name.startswith("$") else name
    base, _, share = value.partition(" ")
    opacity = float(share.rstrip("%")) / 100.0 if share else 1.0
    if base == "auto":
        colour = background.get_contrast_text(opacity)
    else:
        colour = Color.parse(base).multiply_alpha(opacity)
    shown = (background + colour).rich_color if background.a or colour.a else None
    behind = background.rich_color if background.a else None
    return Style.parse(" ".join(attributes)) + Style.from_color(shown, behind)
