"""Checks what the terminal can do, and prepares it, before Textual starts."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, MutableMapping
from typing import TextIO

import engine

HEADLESS = "sparkplan recommend SOURCE --deadline 45m"
"""The command that answers the same question without a terminal."""

_RICH_TERMS = ("256color", "direct", "kitty", "alacritty", "ghostty", "wezterm", "foot", "iterm")
_BACKGROUNDS_LIGHT = frozenset({"7", "15"})


def require_interactive(
    environ: Mapping[str, str] | None = None,
    *,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
) -> None:
    """Refuse a terminal on which the planner could only print escape sequences.

    Raises:
        BadInput: without a terminal on both ends, or on one that cannot move its cursor.
    """
    variables = os.environ if environ is None else environ
    if in_browser(variables):
        return
    streams = (
        ("standard input", sys.__stdin__ if stdin is None else stdin),
        ("standard output", sys.__stdout__ if stdout is None else stdout),
    )
    for name, stream in streams:
        if stream is None or stream.closed or not stream.isatty():
            raise engine.BadInput(
                f"the planner needs a terminal, and {name} is none",
                remedy=f"without one use: {HEADLESS}",
            )
    if variables.get("TERM", "").lower() in ("dumb", "unknown"):
        raise engine.BadInput(
            f"the planner cannot draw on TERM={variables['TERM']}", remedy=f"there use: {HEADLESS}"
        )


def in_browser(environ: Mapping[str, str]) -> bool:
    """Whether textual-serve started this process and shows its output in a browser."""
    return environ.get("TEXTUAL_DRIVER", "").startswith("textual.drivers.web_driver:")


def prepare(environ: MutableMapping[str, str] | None = None) -> None:
    """Prepare the process: sizes are queried from the terminal, and text is written as UTF-8."""
    variables = os.environ if environ is None else environ
    for name in ("COLUMNS", "LINES"):
        if not in_browser(variables):
            variables.pop(name, None)
    for stream in (sys.__stdout__, sys.__stderr__):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def speed_up_start() -> None:
    """Speed up the start of a planner that is about to be imported.

    No garbage is collected until `resume_garbage_collection`: before the first frame there is
    hardly any, and looking for it takes a tenth of the start. A change is painted within 1/120 s,
    as several panels change one after another.
    """
    gc.disable()
    os.environ.setdefault("TEXTUAL_FPS", "120")


def resume_garbage_collection() -> None:
    """After the first frame: enable garbage collection again, excluding the objects of the
    start."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def has_few_colors(environ: Mapping[str, str]) -> bool:
    """Whether the terminal announces no more than 16 colours."""
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return False
    return not any(word in environ.get("TERM", "").lower() for word in _RICH_TERMS)


def choose_theme(environ: Mapping[str, str], *, colourless: bool = False) -> str:
    """The theme for a terminal: a light one where it reports a light background (COLORFGBG, as rxvt
    sets it); the terminal's own colours where it has 16, or where none are wanted (NO_COLOR)."""
    family = "ansi" if colourless or has_few_colors(environ) else "textual"
    light = environ.get("COLORFGBG", "").rpartition(";")[2] in _BACKGROUNDS_LIGHT
    return f"{family}-{'light' if light else 'dark'}"
