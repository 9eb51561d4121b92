"""The widgets of the planner's one screen, and how a state and an answer get onto them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.containers import Container
from textual.widget import Widget

from tui.state import View
from tui.views import bars, compositions, curves, inputs, words
from tui.views.bars import Bar
from tui.views.goal import GoalPanel, Ranges
from tui.views.prose import Line, Prose
from tui.widgets.chart import Chart
from tui.widgets.slider import Slider
from tui.widgets.table import Row, Table

if TYPE_CHECKING:
    from tui.app import PlannerApp
    from tui.session import Answer, Built

NARROW_BELOW, SHORT_BELOW = 100, 30
"""Columns and rows from which there is room for a column of inputs, and for two charts."""

TITLES = {
    "goal": "Goal",
    "inputs": "Inputs",
    "why": "Why",
    "time": "Time by nodes",
    "cost": "Cost by nodes",
    "short": "Compositions",
    "full": "Compositions",
    "phases": "Phases",
    "stage-list": "Stages",
    "evidence-about": "Model and assumptions",
    "runs": "Measured runs",
    "pins": "Pinned scenarios, each against the first",
}

FIRST_FOCUS: dict[View, str] = {
    "curves": "deadline",
    "compositions": "full",
    "stages": "stage-list",
    "evidence": "evidence-about",
    "compare": "pins",
}

_SLIDER_KEYS = [
    ("← →", "step", ""),
    ("⇧← →", "big", ""),
    ("⏎", "type", ""),
    ("tab", "next", ""),
]
_TABLE_KEYS = [("↑ ↓", "choose", ""), ("tab", "next", "")]
_APP_KEYS = [
    ("/", "types", "instances"),
    ("o", "open", "open"),
    ("e", "export", "export"),
    ("y", "copy", "copy"),
]
_LAST_KEYS = [("^p", "actions", "palette"), ("^q", "quit", "quit")]


Made = TypeVar("Made", bound=Widget)


class Panels:
    """Makes the widgets and shows on them; only what is seen is drawn."""

    def __init__(self, app: PlannerApp) -> None:
        self._app = app
        self._types: dict[str, list[str | None]] = {"short": [], "full": []}
        self.ranges = Ranges()
        self._made: dict[str, Widget] = {}

    # Making

    def compose(self) -> Iterator[Widget]:
        """The whole screen."""
        glyphs = self._app.glyphs
        table, prose = partial(self._new, Table), partial(self._new, Prose)
        yield self._keep(Bar(glyphs, id="header"))
        yield self._keep(Bar(glyphs, id="tabs"))
        yield prose(id="notice")
        yield Container(
            Container(
                self._panel(GoalPanel(self._app.state, glyphs, id="goal")),
                self._panel(table(inputs.COLUMNS, id="inputs")),
                self._panel(prose(words.WAITING, focusable=True, id="why")),
                id="side",
            ),
            Container(
                Container(
                    self._panel(self._new(Chart, curves.WAITING, id="time")),
                    self._panel(self._new(Chart, curves.WAITING, id="cost")),
                    prose(words.WAITING, id="sentence"),
                    self._panel(table(compositions.COLUMNS, id="short")),
                    id="curves",
                ),
                Container(id="compositions"),
                Container(id="stages"),
                Container(id="evidence"),
                Container(id="compare"),
                id="body",
            ),
            id="main",
        )
        yield self._keep(Bar(glyphs, firm=True, id="keys"))

    def mount(self) -> None:
        """The keyboard on the first slider."""
        self._widget("deadline").focus()

    def mark(self) -> None:
        """The classes of the screen that the style sheet goes by; before there are widgets to
        style, this costs nothing."""
        app, screen = self._app, self._app.screen_stack[0]
        narrow, short = app.size.width < NARROW_BELOW, app.size.height < SHORT_BELOW
        screen.add_class("-narrow" if narrow else "-wide", "-short" if short else "-tall")
        screen.set_class(app.glyphs.ascii_only, "-ascii")
        screen.add_class(f"view-{app.state.view}")

    def _fill(self, view: View) -> None:
        """Make the widgets of a view when it is first looked at."""
        container = self._widget(view)
        if container.children:
            return
        table, prose = partial(self._new, Table), partial(self._new, Prose)
        widgets: list[Widget] = []
        if view == "compositions":
            full = table(compositions.COLUMNS, id="full")
            widgets = [self._panel(full), prose(id="chosen")]
        elif view == "stages":
            from tui.views import stages

            widgets = [
                prose(id="stages-about"),
                self._panel(table(stages.PHASE_COLUMNS, id="phases")),
                self._panel(table(stages.STAGE_COLUMNS, id="stage-list")),
            ]
        elif view == "evidence":
            from tui.views import evidence

            widgets = [
                self._panel(prose(focusable=True, id="evidence-about")),
                self._panel(table(evidence.RUN_COLUMNS, id="runs")),
            ]
        elif view == "compare":
            from tui.views import compare

            made = table(compare.COLUMNS, message=compare.EMPTY, id="pins")
            widgets = [self._panel(made), prose(id="compared")]
        container.mount(*widgets)

    # Showing

    def show(self) -> None:
        """Everything that can be seen, from the state and the answer of the app."""
        app = self._app
        self._fill(app.state.view)
        screen = app.screen_stack[0]
        wanted = {f"view-{view}": view == app.state.view for view, _ in bars.VIEWS}
        wanted["chart-cost"] = app.state.chart == "cost"
        if any(screen.has_class(name) != on for name, on in wanted.items()):
            screen.update_classes(wanted)
        self.show_header()
        self.show_keys()
        self._goal.show(app.state, self.ranges)
        self._bar("types").show(
            [
                bars.Item("  Types      ", "base", "instances"),
                bars.Item(
                    inputs.candidates(app.state, app.answer), "strong", "instances", whole=False
                ),
            ],
            [bars.Item("/ ", "muted", "instances")],
        )
        self._refill("inputs", inputs.rows(app.state, app.built, app.answer, app.marks))
        if app.answer is not None:
            self._prose("why").show(words.why(app.state, app.answer, app.marks))
            getattr(self, f"_show_{app.state.view}")(app.answer)
        elif not app.busy:
            self._show_nothing()

    def show_header(self) -> None:
        """The two lines at the top."""
        app = self._app
        self._bar("header").show(*bars.header(app.state, app.built, app.busy))
        left, right = bars.tabs(app.state)
        if app.answer is not None:
            count = compositions.count(app.answer.report.recommendation)
            counted = [bars.Item(f"{count}   ", "base", "view('compositions')"), *right]
            self._bar("tabs").show(left, counted, right)
        else:
            self._bar("tabs").show(left, right)

    def show_keys(self) -> None:
        """The keys that matter where the focus is."""
        focused = self._app.focused
        here = []
        if isinstance(focused, Slider):
            here = list(_SLIDER_KEYS)
            if focused.id in ("deadline", "budget"):
                here.insert(3, ("del", "off", ""))
        elif isinstance(focused, Table):
            enter = [("⏎", "change", "")] if focused.id == "inputs" else []
            here = [*enter, *_TABLE_KEYS]
        elif isinstance(focused, Prose):
            here = [("↑ ↓", "scroll", ""), ("tab", "next", "")]
        self._bar("keys").show(bars.keys([*here, *_APP_KEYS]), bars.keys(_LAST_KEYS))

    def notice(self, line: Line) -> None:
        """A line above the panels, or none."""
        prose = self._prose("notice")
        prose.set_class(bool(line), "-shown")
        width = max(20, self._app.size.width - 2)
        prose.show([line] if line else [])
        prose.styles.height = min(3, max(1, len(prose.rows(width))))

    def measure(self, built: Built, answer: Answer | None) -> None:
        """Let the sliders reach what new evidence makes sensible."""
        run = built.profile.largest_run
        best = answer.best if answer else None
        self.ranges = Ranges(
            seconds=run.seconds if run else (best.seconds if best else Ranges.seconds),
            usd=best.cost_usd if best and best.cost_usd else Ranges.usd,
            input_size=run.workload.input_bytes if run else None,
            unit=built.profile.input_unit,
        )

    def type_at(self, table: str, place: int) -> str | None:
        """The instance type of a row of compositions; None for the recommended one."""
        types = self._types[table]
        return types[place] if place < len(types) else None

    def focus_view(self, view: View) -> None:
        """Put the keyboard where a view is used."""
        target = self._widget(FIRST_FOCUS[view])
        if not isinstance(self._app.focused, Slider) or view != "curves":
            if target.is_mounted:
                target.focus()
            else:
                self._app.call_after_refresh(target.focus)

    def _show_nothing(self) -> None:
        """There is no plan at all: say so where one would be."""
        none = [[("No plan yet: press o to open an event log or a sample.", "muted")]]
        self._prose("why").show(none)  # type: ignore[arg-type]
        self._prose("sentence").show(none)  # type: ignore[arg-type]
        for name in ("time", "cost"):
            self._chart(name).show(curves.NOTHING)

    def _show_curves(self, answer: Answer) -> None:
        app = self._app
        short = app.screen.has_class("-short")
        if not short or app.state.chart == "time":
            self._chart("time").show(curves.time_chart(app.state, answer))
        if not short or app.state.chart == "cost":
            self._chart("cost").show(curves.cost_chart(app.state, answer))
        self._prose("sentence").show(words.brief(app.state, answer, app.marks))
        table = self._table("short")
        seen = max(3, table.size.height - 1)
        self._show_rows("short", answer, compositions.SHORT_LIST if table.has_focus else seen)

    def _show_compositions(self, answer: Answer) -> None:
        app = self._app
        self._show_rows("full", answer, compositions.FULL_LIST)
        chosen = words.selected(app.state, answer, app.marks)
        self._prose("chosen").show(chosen or words.headline(app.state, answer, app.marks))

    def _show_rows(self, name: str, answer: Answer, most: int) -> None:
        """Rows of compositions; the cursor follows its type when the order changes."""
        rows, types = compositions.rows(answer, self._app.marks, most=most)
        if types == self._types[name]:
            self._refill(name, rows)
            return
        self._types[name] = types
        selected = self._app.state.selected
        self._table(name).show(rows, cursor=types.index(selected) if selected in types else 0)

    def _refill(self, name: str, rows: Sequence[Row]) -> None:
        """Show rows where they differ: drawing is what takes the time."""
        table = self._table(name)
        if tuple(rows) != table.rows:
            table.show(rows)

    def _show_stages(self, answer: Answer) -> None:
        from tui.views import stages

        explained = answer.explained
        self._prose("stages-about").show(stages.about(answer))
        phases = stages.phase_rows(explained, bar=self._bar_character) if explained else []
        listed = stages.stage_rows(explained) if explained else []
        self._table("phases").show(phases, message="this model tells no phases")
        self._widget("phases-panel").styles.height = max(1, len(phases)) + 3
        self._table("stage-list").show(listed, message="this model predicts no single stages")

    def _show_evidence(self, answer: Answer) -> None:
        from tui.views import evidence

        app = self._app
        self._prose("evidence-about").show(evidence.about(app.state, answer, app.marks))
        self._table("runs").show(
            evidence.run_rows(answer.built.profile), message="no runs, only a job profile"
        )

    def _show_compare(self, answer: Answer) -> None:
        from tui import pins
        from tui.views import compare

        app = self._app
        now = pins.pin_of(pins.NOW, app.state, answer)
        shown = compare.listed(app.pins, now)
        self._refill("pins", compare.rows(shown, app.marks))
        self._prose("compared").show(compare.about(shown, self.pin_cursor))

    @property
    def pin_cursor(self) -> int:
        """The row under the cursor of the Compare view."""
        made = self._made.get("pins")
        return made.cursor if isinstance(made, Table) else 0

    # Finding

    def _new(self, kind: Callable[..., Made], *arguments: Any, **options: Any) -> Made:
        """A widget with the glyphs of the app, remembered."""
        return self._keep(kind(*arguments, glyphs=self._app.glyphs, **options))

    @property
    def _bar_character(self) -> str:
        return self._app.glyphs.filled

    @property
    def _goal(self) -> GoalPanel:
        return self._app.screen_stack[0].query_one("#goal", GoalPanel)

    def _panel(self, widget: Widget) -> Container:
        """A widget in a border that is not its own: its changed cells are sent without it."""
        panel = Container(widget, id=f"{widget.id}-panel", classes="panel")
        panel.border_title = TITLES[str(widget.id)]
        return self._keep(panel)

    def _keep(self, widget: Made) -> Made:
        """Remember a widget by its id: one that is being mounted cannot be queried yet."""
        self._made[str(widget.id)] = widget
        return widget

    def _widget(self, name: str) -> Widget:
        return self._made.get(name) or self._app.screen_stack[0].query_one(f"#{name}")

    def _bar(self, name: str) -> Bar:
        return cast(Bar, self._widget(name))

    def _prose(self, name: str) -> Prose:
        return cast(Prose, self._widget(name))

    def _table(self, name: str) -> Table:
        return cast(Table, self._widget(name))

    def _chart(self, name: str) -> Chart:
        return cast(Chart, self._widget(name))
