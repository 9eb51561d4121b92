"""Text in a panel: what hangs under what, and what is said where it does not all fit."""

from contextlib import asynccontextmanager

import pytest
from textual.app import App

from tui.views.prose import Prose, Verbatim, wrap
from tui.widgets.glyphs import UNICODE


def text(rows):
    return ["".join(part for part, _ in row) for row in rows]


@asynccontextmanager
async def shown(prose, width, height):
    """The pilot of an app that shows a text in so many columns and rows."""

    class Panel(App):
        CSS = f"{type(prose).__name__} {{ width: {width}; height: {height}; }}"

        def compose(self):
            yield prose

    async with Panel().run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        yield pilot


def test_a_first_column_hangs():
    line = [("  mouse   ", "strong"), ("click or drag the track, turn the wheel", "base")]
    assert text(wrap(line, 30)) == [
        "  mouse   click or drag the ",
        "          track, turn the ",
        "          wheel",
    ]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (11, ["takes ", "26.6 s (9 ", "in"]),
        (11, ["takes ", "1m 00s (9 ", "in"]),
        (14, ["type, ", "1 × c5.large, ", "costs"]),
        (14, ["type, ", "1 x c5.large, ", "costs"]),
        (5, ["in 4 ", "stage", "s"]),
        (10, ["or 2 days ", "xs"]),
    ],
)
def test_a_number_keeps_its_unit_and_a_count_its_type(width, lines):
    assert text(wrap([("".join(lines), "base")], width)) == lines


def test_marks_and_leading_spaces_hang():
    assert text(wrap([(" ⚠ not measured at all", "warn")], 16)) == [
        " ⚠ not measured ",
        "   at all",
    ]
    assert text(wrap([("no column here at all", "base")], 12)) == ["no column ", "here at all"]


async def test_no_word_is_cut_by_how_much_there_is_below():
    words = "compositions that were compared with each other in the catalog"
    prose = Prose([[(words, "base")]], focusable=True, glyphs=UNICODE)

    async with shown(prose, 24, 2):
        assert prose.render_line(0).text.rstrip() == "compositions that were"
        assert prose.render_line(1).text.rstrip() == "compared with ↓1 more"


async def test_a_time_is_not_cut_by_what_is_below():
    """ "26 s to 1m …" read as one minute: it was 1m 54s."""
    prose = Prose([[("runs: 26 s to 1m 54s) and more", "base")]], glyphs=UNICODE)

    async with shown(prose, 22, 1):
        assert prose.render_line(0).text.rstrip() == "runs: 26 s to …"


async def test_the_sign_of_a_cut_end_stands_behind_the_last_word():
    """It stood at the right edge, far behind "ran:", where a long setting was the next word."""
    prose = Prose([[("while it ran: spark.sql.shuffle", "base")]], glyphs=UNICODE)

    async with shown(prose, 24, 1):
        assert prose.render_line(0).text.rstrip() == "while it ran: …"


async def test_another_answer_is_read_from_its_first_line():
    """What was scrolled for one answer must not hide the next; its own lines may change below."""
    rest = [[(f"line {number}", "base")] for number in range(9)]
    prose = Prose([[("first", "base")], *rest], focusable=True, glyphs=UNICODE)

    async with shown(prose, 24, 3) as pilot:
        prose.action_scroll_rows(4)
        prose.show([[("first", "base")], *rest, [("and more", "base")]])
        await pilot.pause()
        assert prose.render_line(0).text.startswith("line 3")
        prose.show([[("second", "base")], *rest])
        await pilot.pause()
        assert prose.render_line(0).text.startswith("second")


def test_what_two_times_lie_between_stays_whole():
    """ "to 12 s–1m" stood at the end of a row, and "17s" below it."""
    for span in ("12 s–1m 17s", "1m 02s–2m 17s", "1m 02s–2h 07m).", "9.1–12 s"):
        start = "from 11 s to "
        for width in range(max(len(start), len(span)), len(start + span)):
            assert text(wrap([(start + span, "base")], width)) == [start, span]


def test_what_follows_a_mark_that_is_a_letter_hangs():
    line = [("x ", "muted"), ("ernest", "strong"), (": too few runs", "base")]
    assert text(wrap(line, 14)) == ["x ernest: too ", "  few runs"]


async def test_a_text_to_paste_is_looked_along():
    lines = [[("spark-submit --conf a=b --conf c=d job.py", "base")], [("short", "base")]]
    prose = Verbatim(lines, focusable=True, glyphs=UNICODE)

    async with shown(prose, 20, 3) as pilot:
        assert prose.render_line(0).text.rstrip() == "spark-submit --conf…"
        await pilot.press("right")
        await pilot.pause()
        assert prose.render_line(0).text.rstrip() == "…t --conf a=b --con…"
        assert prose.render_line(1).text.strip() == ""
        await pilot.press("right", "right", "right")
        await pilot.pause()
        assert prose.render_line(0).text.rstrip().endswith("job.py")
        await pilot.press("left", "left", "left")
        await pilot.pause()
        assert prose.render_line(0).text.rstrip() == "spark-submit --conf…"


def test_words_longer_than_a_row_are_cut_by_cells_and_never_within_a_code():
    """Wide characters overflowed the row, and of `\\u4e0a` a part stood on each of two rows."""
    wide = wrap([("of 日次集計バッチ処理", "base")], 10)
    assert text(wide) == ["of ", "日次集計バ", "ッチ処理"]
    codes = wrap([("of \\u65e5\\u6b21\\u96c6", "base")], 14)
    assert text(codes) == ["of ", "\\u65e5\\u6b21", "\\u96c6"]
