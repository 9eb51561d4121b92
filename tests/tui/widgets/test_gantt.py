"""The Gantt chart: bars where they belong, letters beside colours, hostile labels, scrolling."""

import re

import pytest
from textual.app import App

from tui.widgets.gantt import Gantt, GanttData, GanttRow, Span
from tui.widgets.glyphs import ASCII, UNICODE

LEGEND = (("c", 1, "cpu"), ("n", 3, "network"))
DATA = GanttData(
    rows=(
        GanttRow("first", (Span(0.0, 50.0, 1, "c", "c4"), Span(50.0, 100.0, 3, "N", "N12", True))),
        GanttRow("second [b]job[/b]", (Span(75.0, 100.0, 1, "c", "c2"),)),
    ),
    end=100.0,
    marks=(50.0,),
    legend=LEGEND,
)


class GanttApp(App):
    CSS = "Gantt { width: 100%; height: 100%; }"

    def __init__(self, gantt):
        super().__init__()
        self.gantt = gantt

    def compose(self):
        yield self.gantt


def rows(gantt):
    return [gantt.render_line(y).text for y in range(gantt.size.height)]


async def shown(data, size=(61, 10), glyphs=UNICODE):
    app = GanttApp(Gantt(data, glyphs=glyphs))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        return rows(app.gantt)


async def test_bars_begin_and_end_where_their_time_is():
    lines = await shown(DATA, (59, 8))
    label, bar = lines[0].split("│", 1)
    assert label.strip() == "first"
    assert bar.startswith("c4")
    half = len(bar) // 2
    assert bar.index("N12") == pytest.approx(half, abs=1)
    assert lines[1].split("│", 1)[1].rstrip().index("c2") == pytest.approx(0.75 * len(bar), abs=1)


async def test_markup_in_a_label_is_text():
    lines = await shown(DATA)
    assert lines[1].startswith("second [b]job[/b]")


async def test_escape_sequences_are_made_visible():
    data = GanttData((GanttRow("\x1b[31mred", (Span(0.0, 1.0, 1, "c"),)),), end=1.0)
    assert "\x1b" not in "".join(await shown(data))


@pytest.mark.parametrize(
    ("end", "width", "last"),
    [(60.0, 61, "1m"), (120.4, 78, "2m"), (2.0, 40, "2s"), (3600.0, 90, "1h")],
)
async def test_an_axis_that_ends_at_a_round_time_has_its_figures(end, width, last):
    """The figure of the last tick has no room to the right of it; all the others went with it."""
    data = GanttData(rows=(GanttRow("job", (Span(0.0, end, 1, "c"),)),), end=end)
    _, axis, figures, *_ = await shown(data, (width, 5))
    assert figures.split()[0] == "0s"
    assert figures.rstrip().endswith(last)
    assert axis.count(UNICODE.tick_x) == len(re.split(r"  +", figures.strip())) >= 2


async def test_the_axis_and_the_legend_stand_below():
    lines = await shown(DATA, (80, 10))
    assert lines[2].strip().startswith("└")
    assert "0s" in lines[3]
    assert lines[4].startswith("c cpu   n network")


async def test_ascii_needs_no_other_character():
    assert "".join(await shown(DATA, (80, 10), ASCII)).isascii()


async def test_strong_spans_are_told_apart_by_letter_and_fill():
    lines = await shown(DATA, (80, 10), ASCII)
    assert "c4---" in lines[0]
    assert "N12===" in lines[0]


async def test_a_short_span_keeps_its_letter():
    short = GanttRow("a", (Span(0.0, 0.001, 2, "d", "d9"), Span(0.001, 100.0, 1, "c", "c1")))
    lines = await shown(GanttData((short,), end=100.0), (60, 5))
    assert lines[0].split("│", 1)[1].startswith("dc1")


async def test_rows_that_do_not_fit_are_counted_and_scrolled_to():
    many = tuple(GanttRow(f"job {n}", (Span(0.0, 1.0, 1, "c"),)) for n in range(30))
    app = GanttApp(Gantt(GanttData(many, end=1.0, legend=LEGEND), glyphs=UNICODE))
    async with app.run_test(size=(60, 10)) as pilot:
        app.gantt.focus()
        await pilot.pause()
        assert rows(app.gantt)[0].startswith("job 0")
        assert "↓23" in rows(app.gantt)[7]
        await pilot.press("down", "down")
        await pilot.pause()
        assert rows(app.gantt)[0].startswith("job 2")
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown", "pagedown")
        await pilot.pause()
        assert rows(app.gantt)[6].startswith("job 29")


async def test_the_same_data_repaints_nothing_and_a_change_only_its_cells():
    app = GanttApp(Gantt(DATA, glyphs=UNICODE))
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.pause()
        assert app.gantt.redraw() == []
        moved = GanttRow("second [b]job[/b]", (Span(70.0, 100.0, 1, "c", "c2"),))
        app.gantt._data = GanttData((DATA.rows[0], moved), 100.0, DATA.marks, LEGEND)
        (region,) = app.gantt.redraw()
        assert (region.y, region.height) == (1, 1)


async def test_nothing_to_show_says_why():
    assert (await shown(GanttData(message="no jobs here")))[0].startswith("no jobs here")


@pytest.mark.parametrize("size", [(12, 3), (20, 4), (5, 2)])
async def test_no_size_breaks_it(size):
    await shown(DATA, size)
