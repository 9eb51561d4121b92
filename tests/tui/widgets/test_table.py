"""The table: fitting, moving, hostile text, and repainting only what changed."""

import pytest
from textual.app import App

from tui.widgets.columns import _longest_texts, natural_widths
from tui.widgets.glyphs import ASCII, UNICODE
from tui.widgets.table import Column, Table, fit_columns

COLUMNS = (
    Column(title="composition", shrink=True, least=10),
    Column(title="time", align="right"),
    Column(title="cost", align="right", priority=1),
    Column(title="note", priority=2),
)
ROWS = tuple(
    ((f"{nodes} × r5.2xlarge", "strong"), f"{nodes + 40}m", f"${nodes}.00", ("a type", "muted"))
    for nodes in range(30)
)


class TableApp(App):
    CSS = "Table { width: 100%; height: 8; }"

    def __init__(self, table):
        super().__init__()
        self.table = table
        self.events = []

    def compose(self):
        yield self.table

    def on_table_cursor_moved(self, message):
        self.events.append(("moved", message.index))

    def on_table_row_chosen(self, message):
        self.events.append(("chosen", message.index))


def text(table, y):
    return table.render_line(y).text


@pytest.fixture
async def driven():
    app = TableApp(Table(COLUMNS, ROWS, glyphs=UNICODE))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        yield app, pilot


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (60, ((0, 20), (1, 5), (2, 6), (3, 10))),
        (45, ((0, 18), (1, 5), (2, 6), (3, 10))),
        (30, ((0, 15), (1, 5), (2, 6))),
        (18, ((0, 11), (1, 5))),
        (10, ((0, 7), (1, 1))),
    ],
)
def test_columns_shrink_then_go_by_priority(width, expected):
    assert fit_columns(COLUMNS, (20, 5, 6, 10), width) == expected


def test_a_column_without_texts_may_be_left_out():
    columns = (Column(title="name"), Column(title="job", filled=True), Column(title="note"))

    def shown(*jobs):
        rows = tuple(("run", job, "") for job in jobs)
        return fit_columns(columns, natural_widths(columns, rows, ascii_only=False), 40)

    assert shown("", "") == ((0, 4), (2, 4))
    assert shown("", "iterations 5") == ((0, 4), (1, 12), (2, 4))


def test_a_column_may_take_what_those_left_out_leave():
    columns = (COLUMNS[0]._replace(width=12, grows=19), *COLUMNS[1:3], Column(title="note"))
    left_out = (*columns[:3], columns[3]._replace(priority=2))
    assert fit_columns(columns, (12, 5, 6, 10), 39) == ((0, 12), (1, 5), (2, 6), (3, 10))
    assert fit_columns(columns, (12, 5, 6, 10), 42) == ((0, 15), (1, 5), (2, 6), (3, 10))
    assert fit_columns(columns, (12, 5, 6, 10), 60) == ((0, 19), (1, 5), (2, 6), (3, 10))
    assert fit_columns(left_out, (12, 5, 6, 10), 34) == ((0, 19), (1, 5), (2, 6))


def test_a_column_asks_for_its_usual_width_where_its_texts_are_shorter():
    """Longer ones come with the next step of a slider, and no column is to move for them."""
    columns = (COLUMNS[0], Column(title="note", usual=12))

    def widths(note):
        return natural_widths(columns, (("run", note),), ascii_only=False)[1]

    assert [widths("late"), widths("misses the deadline")] == [12, 19]


async def test_a_text_spreads_over_the_empty_cells_before_it():
    """Beside a column of dashes, why a row has no figures was cut to a word."""
    *figures, note = COLUMNS
    rows = (
        ("fast", "1m", "$2.00", "a type"),
        ("none", "", "", "needs the logs of two runs"),
        ("soon", "...", "", "fitting"),
    )
    table = Table((*figures, note._replace(spreads=True)), rows, glyphs=UNICODE)
    assert natural_widths(table.columns, rows, ascii_only=False)[3] == len("a type")
    async with TableApp(table).run_test(size=(30, 10)) as pilot:
        await pilot.pause()
        assert [text(table, y).rstrip() for y in range(4)] == [
            "  composition  time   cost",
            "▸ fast           1m  $2.00",
            "  none         needs the logs…",
            "  soon          ...  fitting",
        ]


def test_columns_shrink_for_what_stands_beside_the_last_title():
    """None is left out for it, and none gets narrower than it may."""
    natural = (20, 5, 6, 10)
    assert fit_columns(COLUMNS, natural, 47, room=8) == ((0, 18), (1, 5), (2, 6), (3, 12))
    assert fit_columns(COLUMNS, natural, 38, room=8) == fit_columns(COLUMNS, natural, 38)
    numbers = COLUMNS[:3]
    assert fit_columns(numbers, natural[:3], 60, room=8) == ((0, 20), (1, 5), (2, 6))
    assert fit_columns(numbers, natural[:3], 40, room=8) == ((0, 17), (1, 5), (2, 6))
    assert fit_columns(numbers, natural[:3], 30, room=8) == fit_columns(numbers, natural[:3], 30)
    assert fit_columns(numbers, natural[:3], 30, room=2) == ((0, 13), (1, 5), (2, 6))
    untitled = (COLUMNS[0], Column(title=""))
    assert fit_columns(untitled, (20, 5), 27, room=8) == ((0, 20), (1, 5))
    long = (*COLUMNS[:3], Column(title="note", shrink=True, least=5, priority=1))
    assert fit_columns(long, (20, 5, 6, 60), 47, room=8) == ((0, 18), (1, 5), (2, 6), (3, 12))


@pytest.mark.parametrize("align", ["left", "right"])
async def test_a_count_of_rows_cuts_no_title_where_another_column_can_shrink(align):
    """It took the last title for its own, at the right above numbers always."""
    columns = (Column(title="file", shrink=True, least=10), Column(title="size", align=align))
    app = TableApp(Table(columns, [("x" * 60, "1 MB")] * 40, glyphs=UNICODE))
    async with app.run_test(size=(50, 24)) as pilot:
        await pilot.pause()
        assert text(app.table, 0).split() == ["file", "size", "↓33"]
        rows = text(app.table, 1)
        await pilot.press("pagedown", "pagedown")
        assert text(app.table, 0).split() == ["file", "size", "↓27"]
        assert text(app.table, 1)[2:] == rows[2:]
        app.table.narrow("x 1")
        assert text(app.table, 0).split()[:4] == ["file", "size", "/x", "1"]


async def test_header_rows_and_marks(driven):
    app, _ = driven
    assert text(app.table, 0).split() == ["composition", "time", "cost", "note", "↓23"]
    assert text(app.table, 1).startswith("▸ 0 × r5.2xlarge")
    assert all(len(text(app.table, y)) == 80 for y in range(8))


async def test_a_page_keeps_a_row_of_the_one_before(driven):
    app, pilot = driven
    await pilot.press("pagedown", "pagedown")
    assert app.table.cursor == 12
    assert text(app.table, 1).split()[0] == "6"
    await pilot.press("pageup")
    assert app.table.cursor == 6


async def test_a_click_goes_to_the_row_that_is_seen_there(driven):
    app, pilot = driven
    await pilot.press("pagedown", "pagedown")
    await pilot.click(Table, offset=(6, 2))
    assert app.table.cursor == 7
    app.table.show(ROWS[:3])
    assert text(app.table, 1).split()[0] == "0"
    await pilot.click(Table, offset=(6, 6))
    assert app.table.cursor == 2
    await pilot.click(Table, offset=(6, 1))
    assert app.table.cursor == 0


async def test_only_the_list_with_the_keyboard_marks_its_whole_row(driven):
    """It was drawn before the focus had come or gone, and stayed so until the cursor moved."""
    app, pilot = driven
    assert set(app.table._frame.styles[1]) == {"cursor"}
    app.set_focus(None)
    await pilot.pause()
    assert {"cursor", "strong", "muted"} < set(app.table._frame.styles[1])
    app.set_focus(app.table)
    await pilot.pause()
    assert set(app.table._frame.styles[1]) == {"cursor"}


def test_a_move_stands_for_others_of_the_same_table_alone():
    one, other = Table(COLUMNS), Table(COLUMNS)
    assert Table.CursorMoved(one, 1).can_replace(Table.CursorMoved(one, 2))
    assert not Table.CursorMoved(one, 1).can_replace(Table.CursorMoved(other, 2))


async def test_moving_and_choosing(driven):
    app, pilot = driven
    await pilot.press("down", "j", "k", "enter")
    await pilot.pause()
    assert app.events == [("moved", 1), ("moved", 2), ("moved", 1), ("chosen", 1)]
    await pilot.press("end")
    assert app.table.cursor == 29
    assert text(app.table, 7).startswith("▸ 29")
    assert "↑23" in text(app.table, 0)
    await pilot.press("pageup", "pageup", "home", "up")
    assert app.table.cursor == 0


async def test_click_and_double_click(driven):
    app, pilot = driven
    await pilot.click(Table, offset=(5, 3))
    await pilot.pause()
    assert app.events == [("moved", 2)]
    await pilot.click(Table, offset=(5, 3), times=2)
    await pilot.pause()
    assert app.events[-1] == ("chosen", 2)


async def test_new_rows_repaint_only_changed_cells(driven):
    app, _ = driven
    regions = []
    original = app.table.refresh
    app.table.refresh = lambda *changed, **options: (
        regions.extend(changed),
        original(*changed, **options),
    )[1]
    changed = [*ROWS]
    changed[2] = (*ROWS[2][:2], "$9.00", ROWS[2][3])
    before = text(app.table, 3)
    app.table.show(changed)
    column = before.index("$2.00") + 1
    assert regions == [(column, 3, 1, 1)]


async def test_fewer_rows_hold_the_cursor_inside(driven):
    app, pilot = driven
    await pilot.press("end")
    app.table.show(ROWS[:3])
    assert app.table.cursor == 2
    app.table.show((), message="nothing satisfies the goal")
    assert "nothing satisfies the goal" in text(app.table, 1)
    await pilot.press("enter", "down")
    assert app.events[-2:] == [("moved", 29), ("chosen", None)]


async def test_hostile_text_and_no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = TableApp(Table(COLUMNS, (("[red]\x1b[2J", "名前"),), glyphs=UNICODE))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "[red]␛[2J" in text(app.table, 1)
        for y in range(8):
            assert all(segment.style is not None for segment in app.table.render_line(y))
    app = TableApp(Table(COLUMNS, (("[red]\x1b[2J", "名前"),), glyphs=ASCII))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert all(text(app.table, y).isascii() for y in range(8))


async def test_a_filter_keeps_the_index_of_every_row(driven):
    app, pilot = driven
    table = app.table
    table.narrow("R5 2.00")
    await pilot.pause()
    assert table.matching("r5 2.00") == (2, 12, 22)
    assert app.events == [("moved", 2)]
    assert table.cursor == 2
    assert text(table, 0).split()[-2:] == ["/r5", "2.00"]
    assert [text(table, y).split()[0] for y in (2, 3)] == ["12", "22"]
    assert text(table, 4).strip() == ""
    await pilot.press("end", "enter")
    await pilot.pause()
    assert app.events[-2:] == [("moved", 22), ("chosen", 22)]
    await pilot.click(Table, offset=(6, 2))
    assert table.cursor == 12
    table.narrow("nowhere")
    assert text(table, 1).split() == ["no", "row", "has", "nowhere;", "esc", "shows", "all"]
    table.action_choose()
    await pilot.pause()
    assert app.events[-1] != ("chosen", 12)
    table.narrow("")
    assert table.cursor == 12
    assert "/" not in text(table, 0)


@pytest.mark.parametrize(("width", "title"), [(23, ["bou…"]), (20, [])])
async def test_a_title_gives_way_to_how_many_rows_there_are(width, title):
    columns = (Column(title="composition", width=11), Column(title="bound by", width=8))
    app = TableApp(Table(columns, [("x", "cpu")] * 40, glyphs=UNICODE))
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.styles.width = width
        await pilot.pause()
        assert text(app.table, 0).split() == ["composition", *title, "↓33"]


async def test_how_many_rows_there_are_stands_before_the_first_title_where_there_is_room():
    """The percentages at the right of the compositions had no name at 80 x 24."""
    columns = (
        Column(title="", width=1),
        Column(title="composition", width=11),
        Column(title="in time", width=7, align="right"),
    )
    app = TableApp(Table(columns, [("◆", "x", "90 %")] * 40, glyphs=UNICODE))
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.styles.width = 26
        await pilot.pause()
        assert text(app.table, 0).split() == ["↓33", "composition", "in", "time"]
        app.table.styles.width = 40
        await pilot.pause()
        assert text(app.table, 0).split() == ["composition", "in", "time", "↓33"]


async def test_a_message_that_is_longer_than_a_row_goes_on_below():
    """It was cut."""
    app = TableApp(
        Table(COLUMNS, message="press p to pin this plan, then change it", glyphs=UNICODE)
    )
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.styles.width = 30
        await pilot.pause()
        said = [text(app.table, y).strip() for y in (1, 2)]
        assert said == ["press p to pin this plan,", "then change it"]


async def test_names_that_begin_alike_are_told_apart_by_how_they_end():
    names = ["application_1700000000000_0042", "application_1700000000000_0043", "nightly_features"]
    columns = (
        Column(title="run", shrink=True, least=14, names=True),
        Column(title="time", width=40),
    )
    app = TableApp(Table(columns, [(name, "1m") for name in names], glyphs=UNICODE))
    async with app.run_test(size=(60, 24)) as pilot:
        await pilot.pause()
        shown = [text(app.table, y).split()[-2] for y in (1, 2, 3)]
        assert [name[-5:] for name in shown[:2]] == ["_0042", "_0043"]
        assert shown[2] == "nightly_features"


async def test_rows_that_stay_are_measured_once(driven):
    app, pilot = driven
    measured = _longest_texts.cache_info().misses
    for rows in (ROWS, [list(row) for row in ROWS]):
        app.table.show(rows)
        await pilot.pause()
    assert _longest_texts.cache_info().misses == measured
    app.table.show([("one more", "1m", "$1.00", ""), *ROWS])
    await pilot.pause()
    assert _longest_texts.cache_info().misses == measured + 1
