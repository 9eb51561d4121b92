"""The log of this session's notices, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tui.screens.help import HelpScreen
from tui.views.prose import Line, Tone
from tui.widgets.glyphs import Glyphs

MAX_NOTICES = 200
"""Older ones are dropped."""


class NoticeRecord(NamedTuple):
    """A notice, when it was shown, and the mark of its tone ("" for none)."""

    at: datetime
    sign: str
    words: str
    tone: Tone


def lines(notice_log: Sequence[NoticeRecord]) -> list[Line]:
    """One line per notice, newest first."""
    log_lines: list[Line] = [
        [
            (f"{record.at:%H:%M:%S}  ", "muted"),
            (f"{record.sign or ' '} ", record.tone),
            (record.words, "base"),
        ]
        for record in reversed(notice_log)
    ]
    return log_lines or [[("No notices yet.", "muted")]]


class NoticesScreen(HelpScreen):
    """The log; any of esc, ?, q and n leaves."""

    TITLE_TEXT = "Notices of this session"

    def __init__(self, notice_log: Sequence[NoticeRecord], *, glyphs: Glyphs) -> None:
        super().__init__(glyphs=glyphs)
        self._noticed = tuple(notice_log)

    def text(self) -> list[Line]:
        return lines(self._noticed)
