"""Notices: said above the panels, held while the mouse drags, and kept for the log."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.behaviours.planner_mixin import PlannerPart
from tui.changes import FilterList
from tui.state import evidence_key
from tui.views.prose import Line, Tone
from tui.views.sentences import in_planner
from tui.widgets.table import Table
from tui.widgets.text import plain

if TYPE_CHECKING:
    from tui.screens.notices import Noticed


class NoticeActions(PlannerPart):
    """A part of `PlannerApp`."""

    noticed: tuple[Noticed, ...] = ()
    standing: Line = ()
    """What is said again once another notice is gone."""
    _held: Line | None = None
    """What is said once the mouse lets go."""

    def show_notice(self, words: str, tone: Tone, *, stays: bool = False) -> None:
        """A line above the panels, until another view is looked at or escape is pressed; then one
        that `stays` comes back, until escape is pressed at it or other evidence is read. What was
        merely done is said in the line of help, where there is room: no row moves for it."""
        marks = self.planner.marks
        words = in_planner(words)
        sign = {"bad": marks.missed, "warn": marks.warning}.get(tone, "")
        self._remember(sign, words, tone)
        line: Line = [(f"{sign} " if sign else "", tone), (words, tone)]
        if stays:
            self.standing = line
        if tone in ("good", "base") and not stays:
            self.put_notice(self.standing)
            if self._has_room_below(words):
                self.planner._panels.say_below(line)
                return
        self.put_notice(line)

    def _has_room_below(self, words: str) -> bool:
        """Whether the line of help is seen, also below the notice that was just put, and as wide as
        these words."""
        screen = self.planner.screen_stack[0]
        if screen.has_class("-low", "noticed"):
            return False
        lines = screen.query("#about")
        return any(line.display and cell_len(plain(words)) < line.size.width for line in lines)

    def put_notice(self, line: Line) -> None:
        """This line above the panels, or none, and what was said below them is over. The rows below
        move by it, so while the mouse drags among them it waits."""
        self.planner._panels.say_below([])
        if self.planner.mouse_captured is not None:
            self._held = line
        else:
            self._held = None
            self.planner._panels.notice(line)

    def put_held_notice(self) -> None:
        """The last line that waited for the mouse."""
        if self._held is not None:
            line, self._held = self._held, None
            self.planner._panels.notice(line)

    @property
    def notice_put(self) -> tuple[Line, ...]:
        """The notice that is seen, or will be once the mouse lets go."""
        if self._held is not None:
            return (self._held,) if self._held else ()
        return self.planner._panels.prose("notice").lines

    def action_close_notice(self) -> None:
        """Cancel what is being read, else close the notice."""
        app = self.planner
        if app.busy and evidence_key(app.state) != app._evidence:
            app._stop_reading()
        elif app.state.listed and app.state.view == "compositions":
            app.dispatch(FilterList(""))
        elif isinstance(app.focused, Table) and app.focused.wanted:
            app.focused.narrow("")
        else:
            if self.notice_put == (self.standing,) and not app._panels.said_below:
                self.standing = []
            self.put_notice(self.standing)

    def action_notices(self) -> None:
        """What was said in this session."""
        from tui.screens.notices import NoticesScreen

        app = self.planner
        if len(app.screen_stack) == 1:
            app.push_screen(NoticesScreen(self.noticed, glyphs=app.glyphs))

    def _remember(self, sign: str, words: str, tone: Tone) -> None:
        """Keep a notice for the log; the same one again replaces the last."""
        from tui.screens.notices import MOST_NOTICES, Noticed

        same = self.noticed[-1:] if self.noticed and self.noticed[-1].words == words else ()
        kept = self.noticed[: len(self.noticed) - len(same)]
        self.noticed = (*kept, Noticed(datetime.now(), sign, words, tone))[-MOST_NOTICES:]
