"""Opening evidence: bundled samples by name, files and folders by path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from tui import format as text
from tui.screens.picker import Option, Picker
from tui.views.bars import Item, keys
from tui.widgets.glyphs import Glyphs
from tui.widgets.numbers import bytes_text

ROLLING_PREFIX = "eventlog_v2_"
"""Spark's name for the folder of a rolling log, which is one log."""


@dataclass(frozen=True)
class Opened:
    """What to read, and whether beside what is open."""

    source: str
    add: bool


def path_options(typed: str, here: Path) -> list[Option]:
    """Entries of the folder that `typed` leads to, by their beginning; folders first."""
    expanded = Path(typed).expanduser() if typed else Path()
    folder, prefix = (
        (expanded, "")
        if typed.endswith("/") or not typed
        else (
            expanded.parent,
            expanded.name,
        )
    )
    try:
        entries = sorted((here / folder).iterdir(), key=lambda entry: entry.name.lower())
    except OSError:
        return []
    shown = [e for e in entries if e.name.startswith(prefix) and _visible(e.name, prefix)]
    shown.sort(key=lambda entry: not entry.is_dir())
    head = typed[: len(typed) - len(prefix)] if prefix else typed
    return [_path_option(entry, head) for entry in shown]


def _visible(name: str, prefix: str) -> bool:
    """Hidden entries show when a dot is typed."""
    return prefix.startswith(".") or not name.startswith((".", "__pycache__"))


def _path_option(entry: Path, head: str) -> Option:
    if entry.is_dir():
        rolling = entry.name.startswith(ROLLING_PREFIX)
        slash = "" if rolling else "/"
        return Option(f"{head}{entry.name}{slash}", f"{entry.name}/", "rolling log" * rolling)
    try:
        size = bytes_text(float(f"{entry.stat().st_size:.3g}"))
    except OSError:
        size = text.UNKNOWN
    return Option(f"{head}{entry.name}", entry.name, size)


class OpenScreen(Picker):
    """Type a path, or a part of a sample's name; Enter opens, ctrl+a adds to what is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *Picker.BINDINGS,
        Binding("ctrl+a", "add", "Add", show=False, priority=True),
        Binding("ctrl+o", "open_folder", "Open the folder", show=False, priority=True),
    ]

    def __init__(self, samples: Sequence[Option], *, glyphs: Glyphs, here: Path) -> None:
        self._samples = samples
        self._here = here
        super().__init__(
            "Open",
            self._found,
            glyphs=glyphs,
            placeholder="path of an event log, folder, profile or run table, or a sample",
            empty="no such file, folder or sample",
        )
        self._adding = False

    def key_items(self) -> list[Item]:
        """The keys of this screen."""
        return keys(
            [
                ("⏎", "open", ""),
                ("^a", "add to open ones", ""),
                ("tab", "complete", ""),
                ("^o", "whole folder", ""),
            ]
        )

    def _found(self, typed: str) -> list[Option]:
        wanted = typed.lower()
        samples = [] if "/" in typed else [s for s in self._samples if wanted in s.label.lower()]
        return [*samples, *path_options(typed, self._here)]

    def answer(self, typed: str) -> None:
        """Open what is under the cursor; a folder is entered; a path without match is tried."""
        option = self.current
        source = option.value if option else typed.strip()
        if source.endswith("/"):
            line = self.query_one("#typed", Input)
            line.value = source
            line.cursor_position = len(source)
        elif source:
            self._leave_with(source)

    def completed(self, typed: str, option: Option) -> str:
        """The whole path."""
        return option.value

    def action_add(self) -> None:
        """Read what is under the cursor beside what is open."""
        self._adding = True
        option = self.current
        source = option.value if option else self.query_one("#typed", Input).value.strip()
        if source:
            self._leave_with(source)

    def action_open_folder(self) -> None:
        """Read the folder that was typed as a folder of logs."""
        typed = self.query_one("#typed", Input).value.strip()
        self._leave_with(typed.rstrip("/") or ".")

    def _leave_with(self, source: str) -> None:
        expanded = str(Path(source).expanduser()) if source.startswith("~") else source
        self.dismiss(("+" if self._adding else "=") + expanded)


def opened(answer: str) -> Opened:
    """What the screen's answer means."""
    return Opened(answer[1:], add=answer.startswith("+"))
