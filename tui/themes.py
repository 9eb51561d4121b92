"""Themes of high contrast: every text at least 7:1 on what it lies on (WCAG 2.2, 1.4.6 AAA)."""

from __future__ import annotations

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
"""Beside those of Textual."""

NAMES = (*BUILTIN_THEMES, *(theme.name for theme in HIGH_CONTRAST))
"""Every theme that can be chosen."""
