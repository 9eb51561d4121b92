"""The line after ":"."""

from __future__ import annotations

from tui.screens.picker import Option, Picker


class CommandLine(Picker):
    """A picker whose typed line is the answer; tab completes it as a whole."""

    def completed(self, typed: str, option: Option) -> str:
        """The offered line: it holds what was typed before it."""
        return option.value
