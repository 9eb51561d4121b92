"""The notices of this session, newest first: what was said before it went out of sight."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tui.screens.help import HelpScreen
from tui.views.prose import Line, Tone
from tui.widgets.glyphs import Glyphs

MAX_NOTICES = 200
"""Older ones are forgotten."""


class NoticeRecord(NamedTuple):
    """A notice, when it was shown, and the sign of its tone ("" for none)."""

    at: datetime
    sign: str
    words: str
    tone: Tone


def lines(notice_log: Sequence[NoticeRecord]) -> list[Line]:
    """A notice each, newest first."""
    found: list[Line] = [
        [(f"{one.at:%H:%M:%S}  ", "muted"), (f"{one.sign or ' '} ", one.tone), (one.words, "base")]
        for one in reversed(notice_log)
    ]
    return found or [[("No notices yet.", "muted")]]


class NoticesScreen(HelpScreen):
    """The log; any of esc, n and q leaves."""

    TITLE_TEXT = "Notices of this session"

    def __init__(self, notice_log: Sequence[NoticeRecord], *, glyphs: Glyphs) -> None:
        super().__init__(glyphs=glyphs)
        self._noticed = tuple(notice_log)

    def text(self) -> list[Line]:
        return lines(self._noticed)
