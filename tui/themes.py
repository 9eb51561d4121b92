"""Themes of high contrast, with every text at least 7:1 on its background (WCAG 2.2, 1.4.6 AAA),
and a light one, at least 4.5:1 (1.4.3 AA)."""

from __future__ import annotations

from dataclasses import replace

from textual.theme import BUILTIN_THEMES, Theme

_DARK = {
    "foreground-muted": "#d6d6d6",
    "text-disabled": "#b0b0b0",
    "text-primary": "#7cc4ff",
    "text-secondary": "#c9b8ff",
    "text-success": "#6dff8b",
    "text-warning": "#ffd75f",
    "text-error": "#ffa8a8",
    "text-accent": "#ffe34d",
    "edge": "#b0b0b0",
    "border": "#ffe34d",
}
_LIGHT = {
    "foreground-muted": "#333333",
    "text-disabled": "#4d4d4d",
    "text-primary": "#003a91",
    "text-secondary": "#451a85",
    "text-success": "#00521a",
    "text-warning": "#5e3b00",
    "text-error": "#8f0000",
    "text-accent": "#6b2600",
    "edge": "#4d4d4d",
    "border": "#6b2600",
}

HIGH_CONTRAST = (
    Theme(
        name="contrast-dark",
        primary="#7cc4ff",
        accent="#ffe34d",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1c1c1c",
        variables=_DARK,
    ),
    Theme(
        name="contrast-light",
        primary="#003a91",
        accent="#6b2600",
        foreground="#000000",
        background="#ffffff",
        surface="#ffffff",
        panel="#ececec",
        dark=False,
        variables=_LIGHT,
    ),
)
"""Themes in addition to Textual's."""

LIGHT = replace(
    BUILTIN_THEMES["textual-light"],
    background="#f5f5f5",
    surface="#eeeeee",
    panel="#e8e8e8",
    variables={
        **BUILTIN_THEMES["textual-light"].variables,
        "foreground-muted": "#505050",
        "text-accent": "#874b00",
        "text-success": "#006000",
        "text-warning": "#874b00",
    },
)
"""Replaces Textual's theme of this name: its orange was 2.8:1 on the header, its green 3.8:1, muted
text 4:1, and less with 256 colours. These greys keep their contrast when rounded to those."""

DARK_ANSI = replace(
    BUILTIN_THEMES["ansi-dark"],
    variables={
        **BUILTIN_THEMES["ansi-dark"].variables,
        "text-error": "ansi_bright_red",
        "text-primary": "ansi_bright_blue",
    },
)
"""Replaces Textual's theme of this name: on the black of a console its blue was 1.5:1, its red
2.7:1. The bright ones are at least 5:1 there, and 3:1 on a white background."""

NAMES = (*BUILTIN_THEMES, *(theme.name for theme in HIGH_CONTRAST))
"""Every theme that can be chosen."""
