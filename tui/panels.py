"""The widgets of the planner's screen, and how a state and an answer are shown on them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.containers import Container
from textual.widget import Widget

from tui.input_text import limit_text
from tui.screens.dialog import Dialog
from tui.slider_ranges import SliderRanges
from tui.state import View
from tui.views import bars, blank, compositions, inputs, key_line, sentences
from tui.views.bars import Bar
from tui.views.goal import GoalPanel
from tui.views.pages import NAMES, page
from tui.views.prose import Line, Prose
from tui.widgets.chart import Chart
from tui.widgets.slider import Slider
from tui.widgets.table import Column, Row, Table
from tui.widgets.text import fit, plain

if TYPE_CHECKING:
    from tui.answers import Answer
    from tui.app import PlannerApp

NARROW_BELOW, TIGHT_BELOW, SHORT_BELOW, LOW_BELOW, SCANT_BELOW = 100, 34, 30, 22, 18
"""Columns (NARROW) and rows (the others) below which `app.tcss` leaves out panels: the side column,
the list of inputs, the second of two charts, timelines, the chart of the frontier."""

HIGH_FROM = 36
"""Rows from which Why, below all inputs, has room for the sentence on the chosen composition."""

SIDE_CELLS, TITLE_EDGES, CAPTION_ROWS = 40, 6, 4
"""Cells of the side column, cells of a border beside its title, rows of the tour's caption."""

SELECTED_IN = frozenset({"short", "full"})
"""Lists of one selection: in another view it may have moved, and a list that is seen again puts its
cursor there."""


def _module(view: View) -> Any:
    """The module of a view, imported on first use."""
    return import_module(f"tui.views.{view}")


Made = TypeVar("Made", bound=Widget)


class Panels:
    """Creates the widgets and shows answers on them; only what is visible is drawn."""

    def __init__(self, app: PlannerApp) -> None:
        self.app = app
        self._keys: dict[str, Hashable] = {}
        self.slider_ranges = SliderRanges()
        self._made: dict[str, Widget] = {}
        self.status_line: Line = ()

    # Creating

    def compose(self) -> Iterator[Widget]:
        app, glyphs = self.app, self.app.glyphs
        table, prose = partial(self.new, Table), partial(self.new, Prose)
        yield self._register(Bar(glyphs, firm=True, id="header"))
        yield self._register(Bar(glyphs, id="tabs"))
        yield prose(id="notice")
        yield Container(
            Container(
                self.panel(self._register(GoalPanel(app.state, glyphs, id="goal")), "Goal"),
                self.panel(table(inputs.COLUMNS, headed=False, id="inputs"), "Inputs"),
                self.panel(prose(sentences.WAITING, focusable=True, id="why"), "Why"),
                id="side",
            ),
            self._register(Container(self._page(app.state.view), id="body")),
            id="main",
        )
        yield self._register(Bar(glyphs, firm=True, id="keys"))

    def focus_first_slider(self) -> None:
        self.widget("deadline").focus()

    def mount_help_line(self) -> None:
        """Mount what the first frame does without: the help line."""
        about = self._register(Bar(self.app.glyphs, id="about"))
        self.app.screen_stack[0].mount(about, before=self.widget("keys"))

    def set_size_classes(self) -> None:
        """Set the classes of the screen that the style sheet uses for its size; before widgets are
        mounted this costs no styling."""
        app, screen = self.app, self.app.screen_stack[0]
        rows, narrow = app.size.height, app.size.width < NARROW_BELOW
        short = rows < SHORT_BELOW
        shown = {"-narrow": narrow, "-wide": not narrow, "-short": short, "-tall": not short}
        shown |= {"-low": rows < LOW_BELOW, "-scant": rows < SCANT_BELOW}
        shown["-tight"], shown["-high"] = rows < TIGHT_BELOW, rows >= HIGH_FROM
        screen.update_classes(shown, animate=False)
        screen.set_class(app.glyphs.ascii_only, "-ascii")

    def _page(self, view: View) -> Container:
        """The container of a view with its widgets; created when the view is first shown."""
        return self._register(Container(*_module(view).fill(self), id=view, classes="page"))

    def _show_page(self, view: View) -> None:
        """Show the page of a view, and hide the others; by a class all of it were styled anew."""
        if view not in self._made:
            self.widget("body").mount(self._page(view))
        elif self.widget(view).display:
            return
        for name in SELECTED_IN & self._made.keys():
            if self.instance_at(name, self.table(name).cursor) != self.app.state.selected:
                self._keys.pop(name, None)
        for name in self._made.keys() & NAMES:
            self._made[name].display = name == view

    # Showing

    def show(self) -> None:
        """Show everything that is visible, from the app's state and answer."""
        app = self.app
        if not (app.is_running and app.screen_stack):
            return  # the app is closing: a worker's answer came too late
        self._show_page(app.state.view)
        self.show_inputs()
        if app.answer is not None:
            self._show_why(app.answer)
            _module(app.state.view).show(self, app.answer)
        else:
            blank.show(self, app.state.view)

    def show_inputs(self) -> None:
        """Show the inputs and the progress of the answer; the last answer stays as it is drawn."""
        app, screen = self.app, self.app.screen_stack[0]
        screen.set_class(app.state.chart == "cost", "chart-cost")
        update = screen.has_class("touring")  # no other style depends on "beyond-curves"
        screen.set_class(app.state.view != "curves", "beyond-curves", update=update)
        self.show_header()
        self.show_keys()
        self._goal.show(app.state, app.ranges)
        bound = limit_text.line_of(app.state.limits)
        self._bar("types").show(
            [
                bars.Item("  Types      ", "base", "instances"),
                bars.Item(
                    inputs.candidates(app.state, app.answer), "strong", "instances", whole=False
                ),
                *([bars.Item(f"; {bound}", "base", "limits", whole=False)] if bound else []),
            ],
            [bars.Item("/ ", "muted", "instances")],
        )
        listed = inputs.rows(
            app.state, app.built, app.answer, app.marks, read=app.evidence_before_plan
        )
        self.widget("inputs-panel").set_class(len(listed) == len(inputs.ROWS), "-job")
        self.table("inputs").show(listed)

    def look(self) -> None:
        """Redraw what a crosshair or a zoom changes, and no more: it follows the mouse."""
        app = self.app
        module = _module(app.state.view)
        if app.answer is not None and hasattr(module, "look"):
            self._show_why(app.answer)
            module.look(self, app.answer)

    def _show_why(self, answer: Answer) -> None:
        """Show the reasons, or the values at the crosshair while a chart has one."""
        module, state = _module(self.app.state.view), self.app.state
        crosshair_lines = module.aside(self, answer) if hasattr(module, "aside") else None
        self.set_title("why", "Why" if crosshair_lines is None else "At the crosshair")
        if crosshair_lines is None:  # the text of Evidence has the warnings itself
            warned = state.view != "evidence"
            crosshair_lines = sentences.why(state, answer, self.app.marks, warned=warned)
        self.prose("why").show(crosshair_lines)

    def show_header(self) -> None:
        app = self.app
        unsettled = app.answer is not None and app.answer.provisional and app.settling
        due = "settling the plan" if app.pending or unsettled else ""
        due += f", then {app.pending[0].then}" if app.pending else ""
        shown = bars.header(
            app.state,
            app.built,
            app.busy or due,
            width=app.size.width,
            read=app.evidence_before_plan,
            ascii_only=app.glyphs.ascii_only,
        )
        self._bar("header").show(*shown)
        left = bars.tabs(app.state, app.built, width=app.size.width)
        if app.answer is not None:
            count = compositions.count(app.answer.report.recommendation)
            counted = [bars.Item(f"{count}   ", "base", "view('compositions')"), *bars.HELP[0]]
            self._bar("tabs").show(left, counted, *bars.HELP)
        else:
            self._bar("tabs").show(left, *bars.HELP)

    def show_focused(self) -> None:
        """Show what depends on the focus: the keys, and the runs that `y` would copy."""
        self.show_keys()
        if self.app.state.view == "experiments" and self.app.answer is not None:
            _module("experiments").show(self, self.app.answer)

    def show_keys(self) -> None:
        """Show the keys for the focused widget; a dialog shows its own."""
        app = self.app
        if isinstance(app.screen, Dialog):
            self._bar("keys").show([], self._named([key_line.QUIT]))
        else:
            narrow = app.size.width < NARROW_BELOW
            left, right = key_line.keys(app.focused, app.state.view, narrow=narrow)
            self._bar("keys").show(self._named(left), self._named(right))
        if not self.status_line:
            self.explain()

    def _named(self, keys: Sequence[key_line.Key]) -> list[bars.Item]:
        """Keys as bar items, each with the key of the user's settings."""
        key_shown = self.app.key_shown
        return bars.keys([key._replace(key=key_shown(key.action, key.key)) for key in keys])

    def explain(self, over: Widget | None = None) -> None:
        """Explain in the help line the widget `over` that is pointed at, else the focused one. It
        replaces the last confirmation; the first frame has no help line."""
        app, self.status_line = self.app, ()
        if app.answer is None or "about" not in self._made:
            return
        from tui.views import terms

        text = ""
        if not isinstance(app.screen, Dialog):
            text = terms.help_line(app.state, over or app.focused, over=app.hovered_threshold)
        self._bar("about").show([bars.Item(f" {text}", "muted", "help", whole=False)])

    def show_status(self, line: Line) -> None:
        """Show a confirmation in place of the help line; an empty one restores the help."""
        if line:
            self.status_line = line
            spans = [bars.Item(text, tone, "notices", whole=False) for text, tone in line]
            self._bar("about").show([bars.Item(" "), *spans])
        elif self.status_line:
            self.explain()

    def notice(self, line: Line) -> None:
        """Show a line above the panels, or none."""
        prose = self.prose("notice")
        was = prose.has_class("-shown"), prose.styles.height
        prose.set_class(bool(line), "-shown")
        prose.show([line] if line else [])
        self.fit_notice()
        if was != (bool(line), prose.styles.height):
            # Textual paints what it finds moved since the layout before. Where something else is
            # painted meanwhile it has asked for the new layout already, and finds nothing moved.
            self.app.screen_stack[0].refresh()
        if self.app.answer is None and not self.app.busy:
            blank.show(self, self.app.state.view)  # it says why where no notice does

    def fit_notice(self) -> None:
        """Set the height of the notice to the rows that it needs at this width."""
        prose = self.prose("notice")
        width = max(20, self.app.size.width - 2)
        rows = min(3, max(1, len(prose.rows(width))))
        prose.styles.height = rows
        self.app.screen_stack[0].set_class(rows > 1 and bool(prose.lines), "noticed")

    def instance_at(self, table: str, index: int) -> str | None:
        """The instance type of a row of compositions; None for the recommended one."""
        keys = self._keys.get(table)
        types = keys[0] if isinstance(keys, tuple) else ()
        return types[index] if index < len(types) else None

    def focus_view(self, view: View) -> None:
        """Focus the main widget of a view."""
        target = self.widget(page(view).focus)
        if not isinstance(self.app.focused, Slider) or view != "curves":
            if target.is_mounted:
                target.focus()
            else:
                self.app.call_after_refresh(self._focus_if_shown, view, target)

    def _focus_if_shown(self, view: View, target: Widget) -> None:
        """Focus a widget that has just been mounted, unless another view is shown by now."""
        if view == self.app.state.view:
            target.focus()

    def show_list(
        self,
        name: str,
        rows: Sequence[Row],
        *,
        keys: Hashable,
        cursor: int,
        columns: Sequence[Column] | None,
        message: str | None = None,
    ) -> None:
        """Show rows that `keys` identify; the cursor moves only where the keys have changed."""
        if keys == self._keys.get(name):
            self.table(name).show(rows)
            return
        self._keys[name] = keys
        self.table(name).show(rows, cursor=cursor, columns=columns, message=message)

    @property
    def pin_cursor(self) -> int:
        """The row under the cursor of the Compare view."""
        made = self._made.get("pins")
        return made.cursor if isinstance(made, Table) else 0

    # Widgets by name

    def new(self, kind: Callable[..., Made], *arguments: Any, **options: Any) -> Made:
        """Create a widget with the glyphs of the app, and register it."""
        return self._register(kind(*arguments, glyphs=self.app.glyphs, **options))

    @property
    def frame_rows(self) -> int:
        """Rows of a panel's border: with few columns it has only a line above."""
        return 1 if self.app.size.width < NARROW_BELOW else 2

    @property
    def width(self) -> int:
        return self.app.size.width

    @property
    def body_width(self) -> int:
        """Cells beside the column of inputs."""
        return self.width - (0 if self.width < NARROW_BELOW else SIDE_CELLS)

    @property
    def height(self) -> int:
        """Rows of the terminal without those of a tour's caption."""
        touring = self.app.screen_stack[0].has_class("touring")
        return self.app.size.height - (CAPTION_ROWS if touring else 0)

    @property
    def is_short(self) -> bool:
        """Whether there is room for one chart only."""
        return self.app.screen_stack[0].has_class("-short")

    @property
    def _goal(self) -> GoalPanel:
        return cast(GoalPanel, self.widget("goal"))

    def slider(self, name: str) -> Slider:
        return self._goal.slider(name)

    def set_title(self, name: str, title: str) -> None:
        """Set the title of a widget's panel; one that is too long is cut with an ellipsis."""
        panel, glyphs = self.widget(f"{name}-panel"), self.app.glyphs
        max_width = self.body_width - TITLE_EDGES
        safe = plain(title, ascii_only=glyphs.ascii_only)
        cut = fit(safe, max(1, max_width), ellipsis=glyphs.ellipsis).rstrip()
        if panel.border_title != cut:
            panel.border_title = cut

    def panel(self, widget: Widget, title: str) -> Container:
        """A widget in a border that is not its own: its changed cells are sent without the
        border."""
        panel = Container(widget, id=f"{widget.id}-panel", classes="panel")
        panel.border_title = title
        return self._register(panel)

    def _register(self, widget: Made) -> Made:
        """Register a widget by its id: one that is being mounted cannot be queried yet."""
        self._made[str(widget.id)] = widget
        return widget

    def widget(self, name: str) -> Widget:
        return self._made.get(name) or self.app.screen_stack[0].query_one(f"#{name}")

    def _bar(self, name: str) -> Bar:
        return cast(Bar, self.widget(name))

    def prose(self, name: str) -> Prose:
        return cast(Prose, self.widget(name))

    def table(self, name: str) -> Table:
        return cast(Table, self.widget(name))

    def chart(self, name: str) -> Chart:
        return cast(Chart, self.widget(name))
