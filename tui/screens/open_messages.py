"""What the threads of the open dialog and its input line tell its screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.message import Message

from tui.screens.open_rows import Entry


@dataclass(eq=False, repr=False)
class PeekReady(Message):
    """Another file was peeked into; one redraw replaces all that are queued."""

    def can_replace(self, message: Message) -> bool:
        """The results are stored in the screen already."""
        return isinstance(message, PeekReady)


@dataclass(eq=False, repr=False)
class ListingReady(Message):
    """A history server or an object store answered, or failed."""

    address: str
    entries: Sequence[Entry]
    failure: str | None = None


@dataclass(eq=False, repr=False)
class FolderRead(Message):
    """The entries that match the typed text now, and how many more there are."""

    typed: str
    entries: list[Entry]
    hidden: int


@dataclass(eq=False, repr=False)
class SourcesPasted(Message):
    """Several sources were pasted into the input line."""

    sources: list[str]
