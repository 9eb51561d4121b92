"""The chart: layout, what it shows, and that it repaints no more than what changed."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App
from textual.geometry import Region

from tui.widgets.chart import Axis, Chart, ChartData, Point, Series, Threshold
from tui.widgets.chart_layout import lay_out, spread
from tui.widgets.chart_paint import paint
from tui.widgets.chart_scales import MAX_ZOOM, chart_scales, panned, visible_part, zoomed
from tui.widgets.frame import Frame
from tui.widgets.glyphs import ASCII, BLOCKS, UNICODE
from tui.widgets.scales import LinearScale, LogScale

NODES = tuple(float(nodes) for nodes in range(1, 65))


def curve(work, *, slot=1, label="", band=False):
    ys = tuple(work / nodes + 600 for nodes in NODES)
    lows, highs = tuple(y * 0.6 for y in ys), tuple(y * 1.6 for y in ys)
    return Series(
        xs=NODES,
        ys=ys,
        slot=slot,
        label=label,
        lows=lows if band else None,
        highs=highs if band else None,
    )


def plan(deadline=2700.0, **changes):
    data = ChartData(
        series=(curve(24000, label="r5.2xlarge"), curve(40000, slot=2, label="m5.2xlarge")),
        x=Axis(kind="count", title="nodes"),
        y=Axis(kind="time", log=True, low=600, high=43200),
        thresholds=(Threshold(value=deadline, label=f"deadline {deadline / 60:.0f}m"),),
        feasible=((14, 64),),
        feasible_label="feasible",
        points=(Point(x=14, y=24000 / 14 + 600, label="14 nodes"),),
    )
    return replace(data, **changes)


def painted(data, width=80, height=20, glyphs=UNICODE):
    frame = Frame(width, height, "base")
    paint(frame, data, glyphs)
    return [frame.text(y) for y in range(height)]


class ChartApp(App):
    CSS = "Chart { width: 100%; height: 100%; }"

    def __init__(self, data, glyphs=UNICODE):
        super().__init__()
        self._chart = Chart(data, glyphs=glyphs, id="chart")
        self.picked = []

    def compose(self):
        yield self._chart

    def on_chart_point_picked(self, message):
        self.picked.append(message.x)


def test_everything_is_there():
    text = "\n".join(painted(plan()))
    for words in ("r5.2xlarge", "m5.2xlarge", "deadline 45m", "14 nodes", "feasible", "nodes", "◆"):
        assert words in text
    assert "1h┤" in text
    assert "━" in text


@pytest.mark.parametrize("glyphs", [ASCII, BLOCKS])
def test_other_glyph_sets(glyphs):
    rows = painted(plan(), glyphs=glyphs)
    assert not any(0x2800 <= ord(character) < 0x2900 for row in rows for character in row)
    assert glyphs.marker in "".join(rows)
    assert glyphs.ruler * 3 in rows[-2]
    if glyphs is ASCII:
        assert all(row.isascii() for row in rows)


def test_labels_are_text_and_nothing_else():
    hostile = "[red]\x1b[31m\x07"
    data = plan(series=(curve(24000, label=hostile),), points=())
    assert any("[red]␛[31m␇" in row for row in painted(data))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (ChartData(), "no data"),
        (ChartData(message="reading the log"), "reading the log"),
        (ChartData(series=(Series(xs=(1, 2), ys=(math.nan, math.nan)),)), "no value is known"),
    ],
)
def test_messages(data, words):
    assert words in "\n".join(painted(data))


def test_too_small_a_space_says_so():
    assert "small" in "".join(painted(plan(), width=18, height=4))


def test_a_far_threshold_is_pointed_at():
    rows = painted(plan(deadline=900000.0))
    assert "↑ deadline 15000m" in rows[0]


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_a_point_of_zero_is_marked_at_the_foot_of_a_logarithmic_axis(glyphs):
    """The recommended cluster of owned nodes, which costs nothing, was nowhere in the chart."""
    xs, ys = (1.0, 2.0, 4.0, 8.0), (0.0, 0.0, 0.5, 2.0)
    data = ChartData(
        series=(Series(xs=xs, ys=ys),),
        x=Axis(kind="count", log=True),
        y=Axis(kind="money", log=True),
        points=(Point(x=2.0, y=0.0, label="2 nodes"), Point(x=8.0, y=2.0)),
    )
    rows = painted(data, glyphs=glyphs)
    foot = rows[-3]
    assert f"{glyphs.marker} {glyphs.below} 2 nodes $0 " in foot
    assert sum(row.count(glyphs.marker) for row in rows) == 2
    linear = "".join(painted(replace(data, y=Axis(kind="money")), glyphs=glyphs))
    assert "2 nodes" in linear
    assert "2 nodes $0" not in linear, "its axis says that"
    unlabelled = replace(data, points=(Point(x=2.0, y=0.0),))
    assert f"{glyphs.marker} {glyphs.below} $0 " in painted(unlabelled, glyphs=glyphs)[-3]
    zoomed_x = replace(data, x=Axis(kind="count", log=True, window=(3.0, 8.0)))
    assert "2 nodes" not in "".join(painted(zoomed_x, glyphs=glyphs))
    for log in (True, False):
        zoomed_y = replace(data, y=Axis(kind="money", log=log, window=(0.7, 2.0)))
        rows = painted(zoomed_y, glyphs=glyphs)
        assert "2 nodes" not in "".join(rows), "its foot is not that of the whole axis"
        assert sum(row.count(glyphs.marker) for row in rows) == 1


def test_a_threshold_nearby_stretches_the_axis():
    axis = Axis(kind="time", log=True)
    layout = lay_out(plan(deadline=50000.0, y=axis), 80, 20)
    assert layout.y.high >= 50000


def test_constant_and_single_values_have_an_axis():
    for xs, ys in (((1.0, 2.0), (5.0, 5.0)), ((1.0, 2.0), (0.0, 0.0)), ((3.0,), (5.0,))):
        layout = lay_out(ChartData(series=(Series(xs=xs, ys=ys),)), 60, 10)
        for axis, values in ((layout.x, xs), (layout.y, ys)):
            assert axis.low < axis.high
            assert axis.low <= min(values) <= max(values) <= axis.high


def test_a_band_is_shaded_beside_the_curve():
    plain_cells = sum(row.count(" ") for row in painted(plan(series=(curve(24000),))))
    with_band = sum(row.count(" ") for row in painted(plan(series=(curve(24000, band=True),))))
    assert with_band < plain_cells - 20


def test_a_band_that_other_curves_hide_is_not_said_to_be_thin():
    """In a few rows of ASCII no cell was left for it, and a title said that it is in the line."""
    wide = curve(24000, band=True)
    beside = [replace(curve(24000), ys=tuple(y * r for y in wide.ys)) for r in (0.8, 0.9, 1.1, 1.2)]
    layout = paint(Frame(80, 7, "base"), plan(series=(wide, *beside)), ASCII)
    assert layout.band_seen


def test_a_band_as_thin_as_its_curve_is_left_out():
    """The few dots that showed beside it looked like bumps of the curve."""
    wide = curve(24000, band=True)
    lows, highs = tuple(y * 0.97 for y in wide.ys), tuple(y * 1.03 for y in wide.ys)
    thin = replace(wide, lows=lows, highs=highs)
    assert painted(plan(series=(thin,))) == painted(plan(series=(curve(24000),)))
    for series, seen in ((wide, True), (thin, False), (curve(24000), False)):
        layout = paint(Frame(80, 20, "base"), plan(series=(series,)), UNICODE)
        assert layout.band_seen is seen


@given(st.lists(st.integers(0, 19), max_size=30), st.integers(1, 20))
def test_end_labels_never_share_a_row(wanted, height):
    wanted = [min(row, height - 1) for row in wanted]
    rows = spread(wanted, height)
    kept = [row for row in rows if row is not None]
    assert len(set(kept)) == len(kept) == min(len(wanted), height)
    assert all(0 <= row < height for row in kept)
    ordered = sorted(
        (want, index, row)
        for index, (want, row) in enumerate(zip(wanted, rows, strict=True))
        if row is not None
    )
    assert all(a[2] < b[2] for a, b in pairwise(ordered))


def test_labels_that_fit_stay_where_their_curves_end():
    assert spread([3, 7, 5], 10) == [3, 7, 5]
    assert spread([9, 9, 9], 10) == [7, 8, 9]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_step_refreshes_only_what_changed(size):
    app = ChartApp(plan())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        chart = app.query_one(Chart)
        refreshed: list[Region] = []
        original = chart.refresh
        chart.refresh = lambda *regions, **options: (
            refreshed.extend(regions),
            original(*regions, **options),
        )[1]
        before = [chart.render_line(y).text for y in range(size[1])]
        regions = chart.show(plan(deadline=3000.0))
        after = [chart.render_line(y).text for y in range(size[1])]
        assert refreshed == regions
        differing = {
            (x, y)
            for y, (old, new) in enumerate(zip(before, after, strict=True))
            for x, (a, b) in enumerate(zip(old, new, strict=True))
            if a != b
        }
        assert differing
        assert all(any(region.contains(x, y) for region in regions) for x, y in differing)
        # Two rows for the line, two for its label, and never the axes or the ends of the curves.
        assert len({y for region in regions for y in region.line_range}) <= 4
        refreshed.clear()
        assert chart.show(plan(deadline=3000.0)) == []
        assert refreshed == []


async def test_a_click_picks_a_value():
    app = ChartApp(plan())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        layout = app.query_one(Chart)._layout
        await pilot.click(Chart, offset=(layout.left + layout.width - 1, 5))
        await pilot.click(Chart, offset=(1, 5))
        await pilot.pause()
        assert app.picked == [pytest.approx(64)]


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light"])
async def test_without_colour_every_segment_still_has_a_style(theme, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = ChartApp(plan())
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = theme
        await pilot.pause()
        chart = app.query_one(Chart)
        for y in range(24):
            assert all(segment.style is not None for segment in chart.render_line(y))
        assert "◆" in app.export_screenshot()


async def test_a_resize_draws_anew():
    app = ChartApp(plan())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        chart = app.query_one(Chart)
        assert [chart.render_line(y).cell_length for y in range(40)] == [120] * 40


@pytest.mark.parametrize("scale", [LinearScale(1.0, 101.0), LogScale(1.0, 100.0)])
@given(st.floats(0.0, 1.0), st.lists(st.sampled_from([0.7, 1 / 0.7]), max_size=30))
def test_a_zoom_stays_inside_the_whole_and_keeps_its_place(scale, place, factors):
    at, window = scale.value(place), None
    for factor in factors:
        seen = visible_part(scale, window)
        window = zoomed(seen, scale, factor=factor, at=at)
        if window is None:
            continue
        low, high = scale.position(window[0]), scale.position(window[1])
        assert -1e-9 <= low < high <= 1 + 1e-9
        assert high - low >= (1 - 1e-6) / MAX_ZOOM
        assert low - 1e-6 <= place <= high + 1e-6


def test_panning_stops_at_the_ends_and_the_whole_stays():
    whole = LogScale(1.0, 64.0)
    assert panned(whole, whole, share=0.5) is None
    window = panned(visible_part(whole, (1.0, 8.0)), whole, share=10.0)
    assert window == (pytest.approx(8.0), pytest.approx(64.0))


def test_a_window_of_nothing_is_the_whole():
    whole = LogScale(1.0, 64.0)
    assert visible_part(whole, (100.0, 200.0)) is whole


def test_y_fits_what_is_seen_of_x():
    data = plan(y=Axis(kind="time", log=True), thresholds=())
    whole = chart_scales(data)
    near = chart_scales(replace(data, x=replace(data.x, window=(32.0, 64.0))))
    assert near.y.high < whole.y.high / 4
    assert near.whole_y == whole.y


def test_the_crosshair_is_on_every_curve():
    rows = painted(plan(crosshair=20.0))
    assert UNICODE.signs[0] in "".join(rows)
    assert UNICODE.signs[1] in "".join(rows)
    assert "30m" in "".join(rows[:-2])
    assert " 20 " in rows[-1]


def test_three_curves_have_signs_at_their_ends():
    series = tuple(curve(24000 * slot, slot=slot, label=f"type{slot}") for slot in (1, 2, 3))
    text = "\n".join(painted(plan(series=series), glyphs=ASCII))
    for sign, slot in zip(ASCII.signs, (1, 2, 3), strict=False):
        assert f"{sign} type{slot}" in text


async def test_keys_tell_where_the_crosshair_is_and_only_once():
    app = ChartApp(plan())
    told = []
    async with app.run_test(size=(80, 24)) as pilot:
        chart = app.query_one(Chart)
        await pilot.pause()
        original = chart.post_message
        chart.post_message = lambda message: (told.append(message), original(message))[1]
        chart.focus()
        await pilot.press("right", "right", "end", "end", "left")
        await pilot.pause()
        nearest_x = [message.x for message in told if isinstance(message, Chart.CrosshairMoved)]
        assert nearest_x == [14.0, 15.0, 64.0, 63.0]


async def test_a_step_of_the_crosshair_changes_few_cells():
    app = ChartApp(plan(crosshair=20.0))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        chart = app.query_one(Chart)
        regions = chart.show(plan(crosshair=21.0))
        assert sum(region.area for region in regions) < 250


def test_the_crosshair_leaves_the_words_on_the_ruler_whole():
    """It put its tick into them: "┬eets the goal"."""
    xs = plan().series[0].xs
    for x in xs:
        ruler = painted(
            plan(crosshair=x, feasible=((xs[0], xs[-1]),), feasible_label="meets the goal")
        )[-2]
        assert " meets the goal " in ruler
