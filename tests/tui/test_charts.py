"""The charts of the planner: the crosshair, zoom, axes, more curves, lines that are dragged."""

import math

import pytest
from screen import at_rest, drag_to, settled, shows, text_of
from textual import events

from tui.state import WHOLE, goal_key
from tui.widgets.chart import Chart

SIZES = [(80, 24), (120, 40)]


def chart_of(app, name="time"):
    return app.query_one(f"#{name}", Chart)


def row_of_line(chart, line=0):
    """The cell of a threshold, in the coordinates of the chart."""
    layout, value = chart._layout, chart.data.thresholds[line].value
    return layout.left + 3, layout.row(value)


async def drag(pilot, chart, start, *ends):
    """Press at a cell, move over others, let go at the last one."""
    await pilot.mouse_down(chart, offset=start)
    for end in ends:
        await drag_to(pilot, chart, end)
        await pilot.pause()
    await pilot.mouse_up(chart, offset=ends[-1])
    await pilot.pause()


async def test_the_title_says_where_the_band_is(planner):
    """Also of a chart that is drawn only after its title was set, and at another size."""
    async with at_rest(planner(glyphs="ascii"), (80, 24), "c") as (app, pilot):
        assert await shows(pilot, "Cost by nodes, 9 in 10 runs: within the line")
        await pilot.resize_terminal(80, 90)
        assert await shows(pilot, "Cost by nodes, dots: 9 in 10 runs")
        await pilot.resize_terminal(80, 24)
        assert await shows(pilot, "Cost by nodes, 9 in 10 runs: within the line")
        assert app.state.chart == "cost"


@pytest.mark.parametrize("size", SIZES)
async def test_the_crosshair_reads_time_interval_cost_and_odds(planner, size):
    async with at_rest(planner(), size) as (app, pilot):
        best = app.answer.best
        await pilot.press("v")
        await pilot.pause()
        assert app.state.crosshair == best.nodes
        await pilot.press("right", "right")
        await pilot.pause()
        nodes = int(app.state.crosshair)
        assert nodes == best.nodes + 2
        curve = app.answer.report.curve
        place = nodes - 1
        shown = text_of(app)
        assert f"{nodes} × {best.instance}" in shown
        low, high = curve.cost_low_usd[place], curve.cost_high_usd[place]
        assert f"${curve.cost_usd[place]:.2f}" in shown
        if size[0] >= 100:
            assert f"${curve.cost_usd[place]:.2f} (${low:.2f} to ${high:.2f})" in shown
        assert "9 in 10" in shown
        assert "in time" in shown
        assert curve.p_deadline[best.nodes - 1] == pytest.approx(best.p_deadline)
        await pilot.press("tab")
        await pilot.pause()
        assert app.state.crosshair is None


async def test_the_odds_are_unknown_without_a_deadline(planner):
    async with at_rest(planner(), (120, 40), "delete") as (app, pilot):
        await pilot.pause()
        assert all(math.isnan(p) for p in app.answer.report.curve.p_deadline)
        await pilot.press("v")
        await pilot.pause()
        aside = app.query_one("#why")
        assert not any("in time" in span for line in aside._lines for span, _ in line)


async def test_a_line_whose_button_was_let_go_unseen_is_dragged_no_longer(planner):
    """It went with the mouse until the next click."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        chart = chart_of(app)
        x, y = row_of_line(chart)
        await pilot.mouse_down(chart, offset=(x, y))
        await drag_to(pilot, chart, (x, y + 2))
        await settled(pilot)
        dragged = app.state.deadline_seconds
        await pilot.hover(chart, offset=(x, y + 4))
        await settled(pilot)
        assert app.mouse_captured is None
        assert app.state.deadline_seconds == dragged


async def test_the_mouse_reads_and_leaves(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        chart = chart_of(app)
        layout = chart._layout
        await pilot.hover(chart, offset=(layout.left + layout.column(16), 3))
        await pilot.pause()
        assert app.state.crosshair == 16
        assert chart_of(app, "cost").data.crosshair == 16
        await pilot.hover("#header")
        await pilot.pause()
        assert app.state.crosshair is None


async def test_moving_the_crosshair_asks_for_nothing_new(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        answer, key, past = app.answer, goal_key(app.state), app.history
        await pilot.press("v", "right", "end", "home", "+", "Y", "a")
        await pilot.pause()
        assert app.answer is answer
        assert goal_key(app.state) == key
        assert app.history is past


@pytest.mark.parametrize("size", SIZES)
async def test_zoom_keeps_the_crosshair_and_a_shows_all(planner, size):
    async with at_rest(planner(), size, "v", "+", "+") as (app, pilot):
        await pilot.pause()
        low, high = app.state.axes.nodes.window
        assert 1 < low < app.state.crosshair < high < 64
        assert "zoomed: a shows all" in text_of(app)
        before = app.state.axes.nodes.window
        await pilot.press(">")
        await pilot.pause()
        assert app.state.axes.nodes.window[0] > before[0]
        await pilot.press("end")
        await pilot.pause()
        assert app.state.axes.nodes.window[1] == pytest.approx(64)
        await pilot.press("a")
        await pilot.pause()
        assert app.state.axes == WHOLE
        assert "zoomed" not in text_of(app)


async def test_the_wheel_zooms_around_the_mouse(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        chart = chart_of(app)
        await wheel(chart, 40, 3)
        await pilot.pause()
        low, high = app.state.axes.nodes.window
        assert 1 < low < high < 64
        assert app.state.axes.time.window is None
        await wheel(chart, 40, 3, ctrl=True)
        await pilot.pause()
        assert app.state.axes.time.window is not None
        for _ in range(4):
            await wheel(chart, 40, 3, down=True)
            await pilot.pause()
        assert app.state.axes.nodes.window is None


async def wheel(chart, x, y, *, ctrl=False, down=False):
    from textual import events

    kind = events.MouseScrollDown if down else events.MouseScrollUp
    region = chart.region
    chart.post_message(
        kind(chart, x, y, 0, 0, 0, False, False, ctrl, region.x + x, region.y + y, None)
    )


async def test_the_plot_is_dragged_when_it_is_zoomed(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await app.run_command_line("zoom 8:32")
        await pilot.pause()
        chart = chart_of(app)
        await drag(pilot, chart, (40, 2), (30, 2), (20, 2))
        low, high = app.state.axes.nodes.window
        assert low > 8
        assert high > 32
        assert app.state.deadline_seconds == app.answer.report.goal.deadline_seconds


async def test_the_axes_are_linear_or_logarithmic(planner):
    async with at_rest(planner(), (120, 40), "v", "X", "Y") as (app, pilot):
        await pilot.pause()
        assert chart_of(app).data.x.log is False
        assert chart_of(app).data.y.log is False
        assert chart_of(app, "cost").data.x.log is False
        assert chart_of(app, "cost").data.y.log is True
        await app.run_command_line("axis y log")
        await pilot.press("X")
        await pilot.pause()
        assert chart_of(app).data.x.log is True
        assert chart_of(app).data.y.log is True


@pytest.mark.parametrize("size", SIZES)
async def test_dragging_the_deadline_moves_its_slider_as_one_step(planner, size):
    async with at_rest(planner(), size) as (app, pilot):
        before, chart = app.state, chart_of(app)
        x, y = row_of_line(chart)
        await drag(pilot, chart, (x, y), (x, y - 1), (x, y - 2), (x, y - 1))
        assert app.state.deadline_seconds > before.deadline_seconds
        slider = app._panels.slider("deadline")
        assert slider.value == app.state.deadline_seconds
        assert slider.snapped(slider.value) == slider.value
        assert len(app.history.past) == 1
        await pilot.press("u")
        await settled(pilot)
        assert app.state.deadline_seconds == before.deadline_seconds


async def test_a_long_drag_is_one_step_however_slow(planner, monkeypatch):
    import tui.app
    import tui.behaviours.chart_actions

    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr(tui.app, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(tui.behaviours.chart_actions, "monotonic", lambda: float(next(clock)))
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        chart = chart_of(app)
        x, y = row_of_line(chart)
        await drag(pilot, chart, (x, y), *((x, y - step) for step in (1, 2, 3, 4)))
        assert len(app.history.past) == 1
        x, y = row_of_line(chart)
        await drag(pilot, chart, (x, y), (x, y + 1))
        assert len(app.history.past) == 2


async def test_dragging_the_budget_in_the_cost_chart(planner):
    async with at_rest(planner(budget_usd=3.0), (120, 40)) as (app, pilot):
        chart = chart_of(app, "cost")
        x, y = row_of_line(chart)
        await drag(pilot, chart, (x, y), (x, y - 1))
        assert app.state.budget_usd > 3.0
        assert app.state.deadline_seconds is None


async def test_the_deadline_of_the_frontier_is_dragged_sideways(planner):
    async with at_rest(planner(), (120, 40), "3") as (app, pilot):
        await settled(pilot)
        before, chart = app.state.deadline_seconds, chart_of(app, "frontier-chart")
        column = chart._layout.left + chart._layout.column(before)
        await drag(pilot, chart, (column, 3), (column - 4, 3))
        assert app.state.deadline_seconds < before


async def test_a_click_in_the_frontier_takes_the_list_there(planner):
    async with at_rest(planner(), (120, 40), "3") as (app, pilot):
        await settled(pilot)
        chart = chart_of(app, "frontier-chart")
        await pilot.click(chart, offset=(chart._layout.left, 4))
        await pilot.pause()
        first = app.answer.report.recommendation.frontier[0]
        assert app.state.point == (first.instance, first.nodes)
        assert app.query_one("#frontier-list").cursor == 0


async def test_types_are_drawn_with_signs_and_patterns(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await app.run_command_line("draw m5.xlarge,r5.2xlarge")
        await pilot.pause()
        series = chart_of(app).data.series
        assert [one.label for one in series][1:] == ["m5.xlarge", "r5.2xlarge"]
        assert len({one.pattern for one in series}) == len({one.slot for one in series}) == 3
        assert "■ m5.xlarge" in text_of(app)
        await app.run_command_line("draw off")
        await pilot.pause()
        assert len(chart_of(app).data.series) == 1
        await app.run_command_line("draw m9.huge")
        await pilot.pause()
        assert "m9.huge" in text_of(app)


async def test_d_draws_the_type_under_the_cursor_and_pins_are_drawn(planner):
    async with at_rest(planner(), (120, 40), "p") as (app, pilot):
        app.query_one("#short").focus()
        await pilot.press("d")
        await pilot.pause()
        assert app.state.drawn == ()
        await pilot.press("down", "d")
        await pilot.pause()
        assert app.state.drawn == (app.state.selected,)
        pinned = app.pins[0].instance
        await app.run_command_line(f"exclude {pinned}")
        await settled(pilot)
        assert pinned not in [one.label for one in chart_of(app).data.series]
        await pilot.press("d")
        await pilot.pause()
        assert app.state.drawn == ()


async def test_a_type_that_is_no_candidate_is_not_said_to_be_drawn(planner):
    async with at_rest(planner(), (120, 40), "p") as (app, pilot):
        pinned = app.pins[0].instance
        await app.run_command_line(f"exclude {pinned}")
        await settled(pilot)
        app.action_draw_types(pinned)
        await settled(pilot)
        said = text_of(app)
        assert f"no other type is drawn; not among the candidate types: {pinned}" in said


@pytest.mark.parametrize(
    ("line", "axis", "window"),
    [
        ("zoom 4:32", "nodes", (4.0, 32.0)),
        ("zoom 10m:1h", "time", (600.0, 3600.0)),
        ("zoom $2:$3.50", "cost", (2.0, 3.5)),
    ],
)
async def test_a_typed_part_of_an_axis(planner, line, axis, window):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        await app.run_command_line(line)
        await pilot.pause()
        assert getattr(app.state.axes, axis).window == window
        assert app.state.chart == ("cost" if axis == "cost" else "time")


@pytest.mark.parametrize(
    "line", ["zoom", "zoom 32:4", "zoom 5", "zoom a:b", "axis z", "axis y odd", "at 0", "at many"]
)
async def test_what_has_no_meaning_is_one_notice(planner, line):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        before = app.state
        await app.run_command_line(line)
        await pilot.pause()
        assert app.state == before
        assert app.notice_log


async def test_keys_of_charts_elsewhere_say_where_there_are_some(planner):
    async with at_rest(planner(), (80, 24), "4", "+") as (app, pilot):
        await pilot.pause()
        assert "no chart" in text_of(app)
        await app.run_command_line("at 12")
        await settled(pilot)
        assert app.state.view == "curves"
        assert app.state.crosshair == 12


async def test_ascii_is_complete(planner):
    async with at_rest(planner(glyphs="ascii"), (80, 24)) as (app, pilot):
        await app.run_command_line("draw m5.xlarge,r5.2xlarge,m5.4xlarge")
        await pilot.press("v", "+")
        await pilot.pause()
        assert text_of(app).isascii()
        assert "# m5.xlarge" in text_of(app)


@pytest.mark.parametrize("deadline", [3600.0, 10 * 86400.0])
async def test_a_line_is_held_by_its_label_too(planner, deadline):
    async with at_rest(planner(deadline_seconds=deadline), (120, 40)) as (app, pilot):
        chart = chart_of(app)
        (label,) = chart._layout.labels
        x, y = chart._layout.left + label.start + 2, label.row
        await drag(pilot, chart, (x, y), (x, y + 2))
        assert app.state.deadline_seconds < deadline


async def test_a_press_points_where_it_is(planner):
    """Some terminals tell where the mouse is only when it is pressed: the crosshair was then put
    where the keyboard's is."""
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        chart = chart_of(app, "time")
        layout, region = chart._layout, chart.content_region
        x, y = region.x + layout.left + layout.column(8), region.y + 3
        app.screen._forward_event(
            events.MouseDown(
                None, x=x, y=y, delta_x=0, delta_y=0, button=1, shift=False, meta=False,
                ctrl=False, screen_x=x, screen_y=y,
            )
        )  # fmt: skip
        await settled(pilot)
        assert app.state.crosshair == 8


@pytest.mark.parametrize(
    "said", ["", "what is said in so many words that two rows of it are needed"]
)
@pytest.mark.parametrize("chart", ["time", "cost"])
async def test_the_axis_has_its_figures_in_a_small_terminal(planner, chart, said):
    """The list below kept its rows, and the chart was cut above the figures of its axis."""
    async with at_rest(planner(), (60, 20)) as (app, pilot):
        await app.run_command_line(f"chart {chart}")
        if said:
            app.show_notice(said, "warn")
        await settled(pilot)
        rows = text_of(app).splitlines()
        axis = next(place for place, row in enumerate(rows) if "└" in row)
        assert {"1", "4", "16", "64", "nodes"} <= set(rows[axis + 1].split())
        assert any(row.startswith(" ▸ ◆  7 × c6i.2xlarge") for row in rows[axis:])
