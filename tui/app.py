"""The planner: one state, one answer, and panels that show them.

A key or a slider becomes an action, `reduce` makes the next state, and what changed decides what is
computed: a plan in a worker thread, or only a report, at once. Everything that takes long to import
is imported by that thread, after the first paint.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import LineFilter, Monochrome, NoColor
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from tui import terminal
from tui.action_list import COMMANDS, ELSEWHERE, FIRST, textual_keys
from tui.behaviours.chart_actions import ChartActions
from tui.behaviours.dialog_actions import DialogActions
from tui.behaviours.experiment_actions import ExperimentActions
from tui.behaviours.foresight import Foresight
from tui.behaviours.growing_logs import GrowingLogs
from tui.behaviours.key_order import KeyOrder
from tui.behaviours.notice_actions import NoticeActions
from tui.behaviours.panel_events import PanelEvents
from tui.behaviours.pin_actions import PinActions
from tui.behaviours.plan_updates import PlanUpdates
from tui.behaviours.session_actions import SessionActions
from tui.behaviours.settling import Settling
from tui.bindings import VI_BINDINGS, KeyActions, with_ids
from tui.changes import (
    Action,
    LoadInputs,
    RereadSources,
    RestoreInputs,
    Select,
    SetLimits,
    SetMix,
    SetSpot,
    ShowChart,
    ShowView,
    SortList,
)
from tui.history import History
from tui.input_text import limit_text
from tui.messages import ModelAnswered, error_text
from tui.mixing import max_types
from tui.panels import NARROW_BELOW, SHORT_BELOW, Panels
from tui.reducer import reduce
from tui.start import AppOptions
from tui.state import MAX_TYPES, ChartKind, Order, PlanState, View, goal_key, plan_key, with_inputs
from tui.themes import DARK_ANSI, HIGH_CONTRAST, LIGHT
from tui.tour.actions import TOUR_BINDINGS, TourActions
from tui.views import bars
from tui.views.marks import marks_of
from tui.widgets.glyphs import choose_glyphs
from tui.widgets.lean_driver import lean_driver
from tui.workers import LatestJobWorker

if TYPE_CHECKING:
    from engine import WorkflowReport
    from tui.answers import Answer, BuiltPlan
    from tui.behaviours.model_comparison import ModelComparison
    from tui.read_tracker import ReadTracker
    from tui.session import EngineSession
    from tui.views.goal import Ranges


_NO_COLOR = NoColor()


def run(options: AppOptions) -> int:
    """Open the planner; returns the exit code of the command."""
    terminal.prepare()
    app = PlannerApp(options)
    try:
        app.run(size=options.tour.size if options.tour else None)
    finally:
        app.keep_session()
    return app.return_code or 0


class PlannerApp(
    PlanUpdates,
    Settling,
    Foresight,
    GrowingLogs,
    PanelEvents,
    ExperimentActions,
    TourActions,
    ChartActions,
    SessionActions,
    NoticeActions,
    PinActions,
    KeyActions,
    KeyOrder,
    DialogActions,
    App[None],
):
    """The planner as a Textual app; its behaviour is in the mixins."""

    TITLE = "sparkplan"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW_BELOW, "-wide")]  # noqa: RUF012 - as Textual has it
    VERTICAL_BREAKPOINTS = [(0, "-short"), (SHORT_BELOW, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = with_ids(
        *(
            Binding(textual_keys(key), action, what, show=False, priority=action in FIRST)
            for action, what, key in COMMANDS
            if key and not action.startswith(ELSEWHERE)
        ),
        Binding("ctrl+p", "palette", "Actions", show=False),
        Binding("escape", "close_notice", "Close notice", show=False),
        *TOUR_BINDINGS,
        *VI_BINDINGS,
    )

    def __init__(
        self, options: AppOptions | None = None, *, session: EngineSession | None = None
    ) -> None:
        options = options or AppOptions()
        self.tour_options = options.tour
        self.vi = options.vi
        self._keys = options.keys
        self.pins = options.pins
        self.glyphs = choose_glyphs(options.glyphs)
        sheets = ("app.tcss", "ascii.tcss") if self.glyphs.ascii_only else ("app.tcss",)
        super().__init__(css_path=[Path(__file__).with_name(name) for name in sheets])
        self.animation_level = "none"
        for theme in (*HIGH_CONTRAST, LIGHT, DARK_ANSI):
            self.register_theme(theme)
        self.theme = options.theme or terminal.choose_theme(os.environ, colourless=self.no_color)
        self.marks = marks_of(self.glyphs)
        self.state = options.start
        self.built: BuiltPlan | None = None
        self.answer: Answer | None = None
        self.busy = "reading"
        self._injected_session = session
        self._latest = LatestJobWorker("planner")
        self._mixes = LatestJobWorker("mixes")
        self._settling: Timer | None = None
        self._searched_seconds = 0.0
        self._last_good: PlanState | None = None
        self._answered_state: PlanState | None = None
        self.history = History()
        self._evidence: Hashable = None
        self._panels = Panels(self)
        self._layout_size = Size(0, 0)

    # Life

    def get_driver_class(self) -> type[Driver]:
        """A driver that sends only the cells that changed."""
        return self.recording_driver() or lean_driver(super().get_driver_class())

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, but with NO_COLOR no colour at all: its Monochrome turns colours grey, and the
        terminal's own ones black on black."""
        filters = super().get_line_filters()
        if not self.no_color:
            return filters
        return [*(each for each in filters if not isinstance(each, Monochrome)), _NO_COLOR]

    @property
    def has_alt_keys(self) -> bool:
        """Whether the settings bind keys with alt, which terminals send as Escape and the key."""
        return any("alt+" in keys for keys in self._keys.values())

    def compose(self) -> ComposeResult:
        """All panels; the style sheet decides which are visible at which size."""
        self._panels.set_size_classes()
        yield from self._panels.compose()

    def on_mount(self) -> None:
        """Paint first, read afterwards."""
        self.install_signal_handlers()
        if self._keys:
            self.set_keymap(dict(self._keys))
        self._panels.focus_first_slider()
        self._panels.show()
        self._layout_size = self.size
        self.screen.screen_layout_refresh_signal.subscribe(self, self._on_screen_layout)
        self.watch(self.screen, "focused", self._on_focus_lost, init=False)
        self.call_after_refresh(self._on_first_paint)

    def _on_first_paint(self) -> None:
        """Begin to read, unless the app has been closed meanwhile."""
        from tui.log_watcher import INTERVAL_SECONDS

        if not self.screen_stack[0].is_attached:
            return
        terminal.resume_garbage_collection()
        self._panels.mount_help_line()
        self._rebuild()
        self.set_interval(INTERVAL_SECONDS, self._poll_growing_logs)
        if self.tour_options is not None:
            self.action_tour()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """`$edge`, the colour of panel borders: visible, but less prominent than the text in
        them."""
        if self.theme.startswith("ansi"):
            return {"edge": "ansi_bright_black"}
        return {"edge": "#4c5560" if self.current_theme.dark else "#a8adb3"}

    # Created on first use, after the first paint

    @cached_property
    def _session(self) -> EngineSession:
        from tui.session import EngineSession

        return self._injected_session or EngineSession()

    @cached_property
    def comparing(self) -> ModelComparison:
        from tui.behaviours.model_comparison import ModelComparison

        return ModelComparison(self._session, self.post_message)

    @cached_property
    def _reading(self) -> ReadTracker:
        from tui.read_tracker import ReadTracker

        return ReadTracker()

    @property
    def ranges(self) -> Ranges:
        return self._panels.slider_ranges.of(self.state)

    def files_read(self) -> Iterator[tuple[str, Path]]:
        """The files that the plan reads, by their kinds; no file that is saved replaces one."""
        from tui.storage.read_files import read_files

        state = self.state
        return read_files(state.sources, catalog=state.catalog, ran_on=state.ran_on)

    # State

    def dispatch(self, action: Action) -> None:
        """Apply an action: compute the next state, start what it needs computed, and show it."""
        before, self.state = self.state, reduce(self.state, action)
        history = self.history
        if not isinstance(action, RestoreInputs | RereadSources):
            self.history = history.recorded(before, self.state, now_seconds=monotonic())
        goal_changed = goal_key(self.state) != goal_key(before)
        # Without a plan, the first one was refused; with other inputs it may be possible.
        plan_was_refused = self.built is None and not self.busy
        if goal_changed:
            self.set_notice(self.sticky_notice)  # the last one was about the previous inputs
        if plan_key(self.state) != plan_key(before) or (goal_changed and plan_was_refused):
            self._remember_unbuilt(before, history, whole=isinstance(action, LoadInputs))
            self._rebuild()
        elif goal_changed and not self._ask():
            # Refused, also where another plan is being built: it would be asked the same question.
            self.state, self.history = with_inputs(self.state, before), history
        if self.busy and self.state == replace(before, scale=self.state.scale):
            # Only the data size changed: the last answer stays until the new plan is built.
            self._panels.show_inputs()
        else:
            self._panels.show()
        if isinstance(action, SetLimits | SetSpot) and (
            self.state.limits.max_spot != before.limits.max_spot or self.state.spot != before.spot
        ):
            self._warn_of_idle_limit()

    def _warn_of_idle_limit(self) -> None:
        """Say so where a limit has no effect, as it was set or prices on demand were asked for."""
        if warning := limit_text.without_effect(self.state.limits, spot=self.state.spot):
            self.show_notice(warning, "warn")

    def on_model_answered(self, message: ModelAnswered) -> None:
        """Show the answer of a model that was compared."""
        if self.comparing.accept(message) and self.state.view == "evidence":
            self._panels.show()

    # Notices

    def capture_mouse(self, widget: Widget | None) -> None:
        """While a widget drags it captures the mouse; a notice held meanwhile is shown
        afterwards."""
        super().capture_mouse(widget)
        if widget is None:
            self.show_held_notice()

    def workflow_report(self, answer: Answer) -> WorkflowReport | None:
        """The states of the answer's best composition; an error is shown in a notice."""
        try:
            return self._session.workflow_report(self.state, answer)
        except Exception as error:
            self.show_notice(error_text(error), "bad")
            return None

    # Panels

    def _on_screen_layout(self, screen: Screen[object]) -> None:
        """After a resize: shorter or longer tabs, another chart. Textual notifies the planner's own
        screen only while no dialog covers it."""
        if screen.size != self._layout_size:
            self._layout_size = screen.size
            self._panels.set_size_classes()
            self._panels.fit_notice()
            self.call_after_refresh(self._panels.show)

    def _on_focus_lost(self, focused: Widget | None) -> None:
        """Focus the view where the focused widget was hidden. Textual removes the focus once the
        hidden widget has been notified, which may be long after the new layout; and while another
        window is active nothing here is focused."""
        if focused is None and self.app_focus and self.is_running:
            self._panels.focus_view(self.state.view)

    def on_descendant_focus(self) -> None:
        """Show the keys of the focused widget."""
        self._panels.show_focused()

    def pop_screen(self) -> AwaitComplete:
        """Show the planner's own keys again."""
        popped = super().pop_screen()
        self._panels.show_focused()
        return popped

    # Actions

    def action_view(self, view: View) -> None:
        """Show another view; the last notice stays in the log."""
        if view != self.state.view and not self.busy:
            self.set_notice(self.sticky_notice)
        self.dispatch(ShowView(view))
        self._panels.focus_view(view)

    def action_previous_view(self) -> None:
        """The previous view in the order of the tabs; before the first comes the last."""
        self._turn(-1)

    def action_next_view(self) -> None:
        """The next view in the order of the tabs."""
        self._turn(1)

    def _turn(self, by: int) -> None:
        names = [page.name for page in bars.visible_pages(self.state, self.built)]
        self.action_view(names[(names.index(self.state.view) + by) % len(names)])

    def action_focus_next(self) -> None:
        """Focus the next control; the help line explains it instead of the last confirmation."""
        super().action_focus_next()
        self._panels.show_status([])

    def action_focus_previous(self) -> None:
        """Focus the previous control."""
        super().action_focus_previous()
        self._panels.show_status([])

    def action_chart(self, chart: ChartKind) -> None:
        self.dispatch(ShowView("curves"))
        self.dispatch(ShowChart(chart))

    def action_spot(self) -> None:
        """Switch between spot and on-demand prices."""
        self.dispatch(SetSpot(not self.state.spot))

    def action_sort(self, order: Order) -> None:
        """Sort the compositions by a column, and go to the top."""
        if self.state.view != "compositions":
            self.action_view("compositions")
        self.dispatch(SortList(order))
        self.dispatch(Select(self._panels.instance_at("full", 0)))

    def action_mix(self) -> None:
        """Switch the types per cluster: one, two, three, one."""
        catalog = self.built.catalog if self.built else None
        self.dispatch(SetMix(max_types(self.state, catalog) % MAX_TYPES + 1))
