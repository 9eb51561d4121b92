"""The input line of the open dialog, and pasted text that names evidence."""

from __future__ import annotations

from textual.events import Paste

import engine
from tui.screens.dialog import TypedLine
from tui.screens.open_messages import SourcesPasted
from tui.storage.user_folders import current_folder, expand_home, path_exists


def pasted_sources(text: str) -> list[str]:
    """The sources that a pasted text names, one a line, without the quotes that terminals and file
    managers put around a path."""
    return [source for line in text.splitlines() if (source := _unquoted(line.strip()))]


def _unquoted(name: str) -> str:
    quoted = len(name) > 1 and name[0] == name[-1] and name[0] in "'\""
    return name[1:-1] if quoted else name


def names_evidence(text: str) -> bool:
    """Whether a pasted text looks like evidence: its first line is a path, an address, a sample, or
    a file or folder that there is."""
    first = next(iter(pasted_sources(text)), "")
    if "/" in first or first.startswith("~"):
        return True
    samples = {sample.name for sample in engine.list_samples()}
    return first in samples or path_exists(current_folder() / expand_home(first))


class SourceLine(TypedLine):
    """The input line; the space bar belongs to the screen."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a key is text: a space marks an entry."""
        return key != "space" and super().check_consume_key(key, character)

    def on_paste(self, event: Paste) -> None:
        """A source is typed; several are marked by the screen."""
        event.stop()
        event.prevent_default()
        sources = pasted_sources(event.text)
        if len(sources) > 1:
            self.post_message(SourcesPasted(sources))
        elif sources:
            self.replace(sources[0], *self.selection)
