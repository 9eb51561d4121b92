"""Notices: shown above the panels or in the help line, held while the mouse drags, and logged."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import FilterList
from tui.state import evidence_key
from tui.views.planner_words import in_planner
from tui.views.prose import Line, Tone
from tui.widgets.table import Table
from tui.widgets.text import plain

if TYPE_CHECKING:
    from tui.screens.notices import NoticeRecord


class NoticeActions(PlannerMixin):
    """Mixin of `PlannerApp`."""

    notice_log: tuple[NoticeRecord, ...] = ()
    sticky_notice: Line = ()
    """The notice that is shown again once another one is closed."""
    _held_notice: Line | None = None
    """The notice that is shown once the mouse button is released."""

    def show_notice(self, text: str, tone: Tone, *, stays: bool = False) -> None:
        """Show a notice above the panels, until another view is shown or Escape is pressed.

        One that `stays` is shown again after others, until Escape closes it or other evidence is
        read. Confirmations ("good", "base") go to the help line where they fit: no row moves for
        them.
        """
        marks = self.planner.marks
        text = in_planner(text)
        sign = {"bad": marks.missed, "warn": marks.warning}.get(tone, "")
        self._remember(sign, text, tone)
        line: Line = [(f"{sign} " if sign else "", tone), (text, tone)]
        if stays:
            self.sticky_notice = line
        if tone in ("good", "base") and not stays:
            self.set_notice(self.sticky_notice)
            if self._has_room_below(text):
                self.planner._panels.show_status(line)
                return
        self.set_notice(line)

    def _has_room_below(self, text: str) -> bool:
        """Whether the help line is visible, also below the notice just set, and wide enough for
        these words."""
        screen = self.planner.screen_stack[0]
        if screen.has_class("-low", "noticed"):
            return False
        lines = screen.query("#about")
        return any(line.display and cell_len(plain(text)) < line.size.width for line in lines)

    def set_notice(self, line: Line) -> None:
        """Show this line above the panels (or none), and clear the help line's confirmation. The
        rows below move by it, so while the mouse drags among them it is held."""
        self.planner._panels.show_status([])
        if self.planner.mouse_captured is not None:
            self._held_notice = line
        else:
            self._held_notice = None
            self.planner._panels.notice(line)

    def show_held_notice(self) -> None:
        """Show the notice that was held for the mouse."""
        if self._held_notice is not None:
            line, self._held_notice = self._held_notice, None
            self.planner._panels.notice(line)

    @property
    def current_notice(self) -> tuple[Line, ...]:
        """The notice that is visible, or will be once the mouse button is released."""
        if self._held_notice is not None:
            return (self._held_notice,) if self._held_notice else ()
        return self.planner._panels.prose("notice").lines

    def say_unused(self, key: str) -> None:
        """Say in the help line, where there is one, that a key has no meaning here; what is noticed
        above stays."""
        app = self.planner
        explains, quits = app.key_shown("help", "?"), app.key_shown("quit", "^q")
        words = f"{key} does nothing here; {explains} explains the keys, {quits} quits"
        if self._has_room_below(words):
            app._panels.show_status([(words, "base")])

    def action_close_notice(self) -> None:
        """Cancel the current read, else clear a filter, else close the notice."""
        app = self.planner
        if app.busy and evidence_key(app.state) != app._evidence:
            app._stop_reading()
        elif app.state.listed and app.state.view == "compositions":
            app.dispatch(FilterList(""))
        elif isinstance(app.focused, Table) and app.focused.wanted:
            app.focused.narrow("")
        else:
            if self.current_notice == (self.sticky_notice,) and not app._panels.status_line:
                self.sticky_notice = []
            self.set_notice(self.sticky_notice)

    def action_notices(self) -> None:
        """Open the log of this session's notices."""
        from tui.screens.notices import NoticesScreen

        app = self.planner
        if len(app.screen_stack) == 1:
            app.push_screen(NoticesScreen(self.notice_log, glyphs=app.glyphs))

    def _remember(self, sign: str, text: str, tone: Tone) -> None:
        """Append a notice to the log; a repetition replaces the last entry."""
        from tui.screens.notices import MAX_NOTICES, NoticeRecord

        same = self.notice_log[-1:] if self.notice_log and self.notice_log[-1].words == text else ()
        kept = self.notice_log[: len(self.notice_log) - len(same)]
        self.notice_log = (*kept, NoticeRecord(datetime.now(), sign, text, tone))[-MAX_NOTICES:]
