"""The rasteriser, dot by dot."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.widgets.canvas import Canvas


def shown(canvas):
    rows = [[" "] * canvas.width for _ in range(canvas.height)]
    for x, y, character, _ in canvas.cells():
        rows[y][x] = character
    return ["".join(row) for row in rows]


def styles(canvas):
    return {(x, y): style for x, y, _, style in canvas.cells()}


def test_a_diagonal_in_braille():
    canvas = Canvas(4, 2)
    canvas.curve([0, 1], [0, 1], "a")
    assert shown(canvas) == ["  ⡠⠊", "⡠⠊  "]


def test_horizontal_and_vertical_runs_are_connected():
    canvas = Canvas(3, 2)
    canvas.curve([0, 0, 1], [1, 0, 0], "a")
    assert shown(canvas) == ["⡇  ", "⣇⣀⣀"]


def test_two_close_curves_both_show():
    one, other, both = Canvas(6, 1), Canvas(6, 1), Canvas(6, 1)
    for canvas in (one, both):
        canvas.curve([0, 1], [1, 1], "a")
    for canvas in (other, both):
        canvas.curve([0, 1], [0, 0], "b")
    assert shown(one) == ["⠉" * 6]
    assert shown(other) == ["⣀" * 6]
    assert shown(both) == ["⣉" * 6]
    assert set(styles(both).values()) == {"b"}


def test_a_gap_stays_open():
    canvas = Canvas(5, 1)
    canvas.curve([0, 0.1, 0.5, 0.9, 1], [0, 0, math.nan, 0, 0], "a")
    assert shown(canvas) == ["⣀   ⣀"]


def test_a_single_point_is_a_dot():
    canvas = Canvas(2, 1)
    canvas.curve([1], [1], "a")
    assert shown(canvas) == [" ⠈"]


def test_a_curve_that_leaves_the_canvas_is_cut_not_bent():
    canvas = Canvas(4, 1)
    canvas.curve([0, 1], [0, 5], "a")
    assert shown(canvas) == ["⡜   "]


def test_dashes():
    canvas = Canvas(6, 1)
    canvas.curve([0, 1], [0, 0], "a", dash=(4, 2))
    assert shown(canvas) == ["⣀⣀ ⣀⣀ "]


def test_rules_lie_below_curves():
    canvas = Canvas(3, 1)
    canvas.horizontal(1, "limit")
    canvas.curve([0, 0.6], [0, 0], "a")
    assert shown(canvas) == ["⣉⣉ "]
    assert styles(canvas) == {(0, 0): "a", (1, 0): "a"}


def test_a_vertical_rule():
    canvas = Canvas(1, 2)
    canvas.vertical(0, "limit")
    assert shown(canvas) == ["⠃", "⠃"]


def test_a_band_fills_lightly_and_never_covers_a_curve():
    canvas = Canvas(3, 5)
    canvas.band([0, 1], [0.6, 0.6], [1, 1], "band")
    assert shown(canvas)[:2] == ["⠅⡂⠅", "⠅⡂⠅"]
    canvas.curve([0, 1], [1, 1], "a")
    assert shown(canvas)[0] == "⠉⠉⠉"
    assert {style for (_, y), style in styles(canvas).items() if y == 1} == {"band"}


@pytest.mark.parametrize(("dots", "mark"), [("braille", "⠁"), ("half", "▀"), ("ascii", ":")])
def test_a_band_over_most_of_a_chart_does_not_drown_the_curve(dots, mark):
    """Without colours the dots of the one looked like those of the other."""
    canvas = Canvas(12, 4, dots)
    canvas.band([0, 1], [-1, -1], [2, 2], "band")
    row = f"  {mark}   {mark}   {mark} "
    assert shown(canvas)[1::2] == [row, row]
    assert sum(len(line.replace(" ", "")) for line in shown(canvas)) <= 12


def test_in_ascii_a_band_is_made_of_nothing_that_a_curve_is_made_of():
    canvas = Canvas(8, 6, "ascii")
    canvas.band([0, 1], [0.5, 0.5], [1, 1], "band")
    canvas.curve([0, 1], [0.75, 0.75], "a")
    assert shown(canvas)[:3] == [" : : : :", "--------", " : : : :"]


def test_half_blocks_and_ascii():
    half = Canvas(4, 2, "half")
    half.curve([0, 1], [0, 1], "a")
    assert shown(half) == ["  ▄▀", "▄▀  "]
    simple = Canvas(6, 2, "ascii")
    simple.curve([0, 1], [0, 1], "a")
    assert shown(simple) == ["   .-'", ".-'   "]


@given(st.lists(st.floats(-3, 3) | st.just(math.nan) | st.just(math.inf), min_size=1, max_size=40))
def test_any_curve_stays_inside(ys):
    xs = [index / max(1, len(ys) - 1) for index in range(len(ys))]
    for dots in ("braille", "half", "ascii"):
        canvas = Canvas(7, 3, dots)
        canvas.curve(xs, ys, "a")
        canvas.band(xs, ys, [y + 0.5 for y in ys], "band")
        assert all(0 <= x < 7 and 0 <= y < 3 for x, y, _, _ in canvas.cells())


@pytest.mark.parametrize("y", [-0.5, 1.5])
def test_a_rule_outside_is_not_drawn(y):
    canvas = Canvas(3, 1)
    canvas.horizontal(y, "limit")
    canvas.vertical(y, "limit")
    assert shown(canvas) == ["   "]
