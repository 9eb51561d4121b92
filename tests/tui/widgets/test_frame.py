"""Frames of cells and what changed between two of them."""

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from tui.widgets.frame import Frame

texts = st.text(alphabet="ab 名前é", max_size=12)


def frame_of(*puts, width=10, height=3):
    frame = Frame(width, height, "base")
    for x, y, text, style in puts:
        frame.put(x, y, text, style)
    return frame


def test_put_is_cut_at_the_edges():
    frame = frame_of((-2, 0, "abcdef", "s"), (7, 1, "abcdef", "s"), (0, 9, "abc", "s"))
    assert [frame.text(y) for y in range(3)] == ["cdef      ", "       abc", " " * 10]


def test_half_a_wide_character_becomes_a_blank():
    frame = frame_of((-1, 0, "名x", "s"), (9, 1, "名", "s"))
    assert frame.text(0) == " x        "
    assert frame.text(1) == " " * 10


LOOKS = {
    "base": Style(color="white", bgcolor="black"),
    "s": Style(color="red", bgcolor="black"),
    "line": Style(color="red", bgcolor="black", underline=True),
    "bar": Style(color="red", bgcolor="blue"),
}


def runs_of(frame):
    names = {style: name for name, style in LOOKS.items()}
    return [(run.text, names[run.style]) for run in frame.strip(0, LOOKS.__getitem__)]


def test_a_strip_has_one_styled_segment_per_run():
    frame = frame_of((0, 0, "xx", "base"), (2, 0, "ab", "s"), (4, 0, "yyyyyy", "base"))
    assert runs_of(frame) == [("xx", "base"), ("ab", "s"), ("yyyyyy", "base")]
    assert frame.strip(0, LOOKS.__getitem__).cell_length == 10


def test_blanks_join_their_neighbour_where_nothing_shows():
    assert runs_of(frame_of((2, 0, "ab", "s"))) == [("  ab      ", "s")]
    for name in ("line", "bar"):
        parts = [("  ", "base"), ("a b", name), ("     ", "base")]
        assert runs_of(frame_of((2, 0, "a b", name))) == parts


def test_equal_frames_have_no_changes():
    assert frame_of((1, 1, "abc", "s")).changes(frame_of((1, 1, "abc", "s"))) == []


def test_a_change_of_style_is_a_change():
    assert frame_of((1, 1, "abc", "s")).changes(frame_of((1, 1, "abc", "t"))) == [(1, 1, 3, 1)]


def test_rows_with_the_same_span_form_one_rectangle():
    after = frame_of((2, 0, "abc", "s"), (2, 1, "abc", "s"), (5, 2, "x", "s"))
    assert after.changes(frame_of()) == [(2, 0, 3, 2), (5, 2, 1, 1)]


def test_a_wide_character_is_never_sent_by_halves():
    before, after = frame_of((2, 0, "名", "s")), frame_of((3, 0, "x", "s"))
    assert after.changes(before) == [(2, 0, 2, 1)]


@given(texts, texts, st.integers(-3, 11), st.integers(-3, 11))
def test_changes_hold_every_cell_that_differs(a, b, x, other):
    before, after = frame_of((x, 1, a, "s")), frame_of((other, 1, b, "s"))
    regions = after.changes(before)
    for y in range(3):
        for column in range(10):
            differs = (after.chars[y][column], after.styles[y][column]) != (
                before.chars[y][column],
                before.styles[y][column],
            )
            assert not differs or any(region.contains(column, y) for region in regions)
