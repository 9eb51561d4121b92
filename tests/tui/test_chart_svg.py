"""Where things are in a picture: read back in the numbers that stand at its own grid."""

import itertools
import math
from xml.etree import ElementTree

import pytest

from tui.charts.chart_svg import Panel, format_svg
from tui.widgets.chart_data import Axis, ChartData, Point, Series, Threshold

SPACE = "{http://www.w3.org/2000/svg}"
NAN = math.nan
XS = tuple(float(x) for x in range(11))


class Picture:
    """A chart over x of 0 to 10 and y of 0 to 100, or with `log` of 1 to 100."""

    def __init__(self, log: bool = False, **parts: object) -> None:
        chart = ChartData(
            x=Axis(low=0.0, high=10.0, title="nodes"),
            y=Axis(log=log, low=float(log), high=100.0),
            **parts,
        )
        self.log, self.root = (
            log,
            ElementTree.fromstring(format_svg([Panel("p", chart)], title="t")),
        )
        grid = [line for line in self.all("line") if line.get("stroke") == "#e6e6e6"]
        labels = [text for text in self.all("text") if text.get("fill") == "#444444"]
        marks = [(line, float(text.text)) for line, text in zip(grid, labels, strict=False)]
        self.x = [(float(r.get("x1")), v) for r, v in marks if r.get("x1") == r.get("x2")]
        self.y = [(float(r.get("y1")), v) for r, v in marks if r.get("y1") == r.get("y2")]
        for rule, text in zip(grid, labels, strict=False):
            if rule.get("x1") == rule.get("x2"):
                assert text.get("x") == rule.get("x1"), "below its line"
            else:
                assert abs(float(text.get("y")) - float(rule.get("y1"))) < 8.0, "beside its line"
                assert float(text.get("x")) < float(rule.get("x1"))

    def all(self, tag: str) -> list[ElementTree.Element]:
        return list(self.root.iter(f"{SPACE}{tag}"))

    def text(self, words: str) -> ElementTree.Element:
        (found,) = [text for text in self.all("text") if text.text == words]
        return found

    def value(self, place: float, *, across: bool) -> float:
        """What stands at this pixel, by the first and the last line of the grid."""
        (a, low), *_, (b, high) = self.x if across else self.y
        share = (place - a) / (b - a)
        if self.log and not across:
            return low * (high / low) ** share
        return low + (high - low) * share

    def values(self, points: str) -> list[tuple[float, float]]:
        pairs = [tuple(map(float, pair.split(","))) for pair in points.split()]
        return [(self.value(x, across=True), self.value(y, across=False)) for x, y in pairs]

    def shapes(self, tag: str) -> list[list[tuple[float, float]]]:
        return [self.values(shape.get("points")) for shape in self.all(tag)]


def at(expected: list[tuple[float, float]]) -> list[object]:
    return [pytest.approx(point, rel=0.01, abs=0.2) for point in expected]


@pytest.mark.parametrize("log", [False, True])
def test_curves_and_bands_stand_at_their_values_and_have_gaps_where_there_are_none(
    log: bool,
) -> None:
    """On a logarithmic axis 0 has no place."""
    ys = [5.0, 10.0, NAN, math.inf, 60.0, 80.0, 0.0 if log else NAN, 50.0, 30.0, 20.0, 10.0]
    lows, highs = [y / 2.0 for y in ys], [y * 1.2 for y in ys]
    picture = Picture(log, series=(Series(xs=XS, ys=ys, lows=lows, highs=highs),))
    lines, bands = picture.shapes("polyline"), picture.shapes("polygon")
    for line, band, piece in zip(lines, bands, (range(2), range(4, 6), range(7, 11)), strict=True):
        assert line == at([(XS[i], ys[i]) for i in piece])
        there, back = [(XS[i], highs[i]) for i in piece], [(XS[i], lows[i]) for i in piece]
        assert band == at([*there, *reversed(back)])


def test_limits_stand_at_their_values_or_are_named_at_the_end_beyond_which_they_lie() -> None:
    limits = {
        "deadline": (60.0, False), "nearly all": (99.0, False), "dear": (400.0, False),
        "below": (-9.0, False), "memory": (3.0, True), "most": (8.0, True), "far": (70.0, True),
    }  # fmt: skip
    picture = Picture(
        series=(Series(xs=XS, ys=XS),),
        thresholds=tuple(
            Threshold(value=value, label=label, vertical=vertical)
            for label, (value, vertical) in limits.items()
        ),
    )
    rules = [rule for rule in picture.all("line") if rule.get("stroke-dasharray") == "6 4"]
    level = [float(rule.get("y1")) for rule in rules if rule.get("y1") == rule.get("y2")]
    upright = [float(rule.get("x1")) for rule in rules if rule.get("x1") == rule.get("x2")]
    assert [picture.value(y, across=False) for y in level] == pytest.approx([60, 99], abs=0.1)
    assert [picture.value(x, across=True) for x in upright] == pytest.approx([3, 8], abs=0.1)
    assert len(rules) == 4
    place = {label: picture.text(label) for label in ("deadline", "nearly all", "memory", "most")}
    assert float(place["deadline"].get("y")) < level[0], "above its line"
    assert float(place["nearly all"].get("y")) > level[1], "below, where above is the heading"
    assert place["memory"].get("text-anchor") == "start"
    assert float(place["memory"].get("x")) > upright[0]
    assert place["most"].get("text-anchor") == "end", "to the left, where the picture ends"
    assert float(place["most"].get("x")) < upright[1]
    middle = picture.value(float(picture.text("↑ dear").get("y")), across=False)
    assert middle > 90.0 > 10.0 > picture.value(
        float(picture.text("↓ below").get("y")), across=False
    )  # fmt: skip
    assert picture.value(float(picture.text("→ far").get("y")), across=False) > 90.0


def test_what_meets_the_goal_is_ruled_on_the_axis_as_far_as_it_is_seen() -> None:
    picture = Picture(
        series=(Series(xs=XS, ys=XS),),
        feasible=((-5.0, 2.0), (4.0, 6.0), (9.0, 30.0), (11.0, 12.0), (-4.0, -3.0)),
        feasible_label="in time",
    )
    bars = [bar for bar in picture.all("rect") if bar.get("fill") == "#137333"]
    ends = [
        (float(bar.get("x")) + 2, float(bar.get("x")) + float(bar.get("width")) - 2) for bar in bars
    ]
    seen = [tuple(picture.value(x, across=True) for x in pair) for pair in ends]
    assert seen == at([(0.0, 2.0), (4.0, 6.0), (9.0, 10.0)])
    heights = [float(bar.get("y")) + 2 for bar in bars]
    assert [picture.value(y, across=False) for y in heights] == pytest.approx([0.0] * 3, abs=0.2)
    assert picture.text("▬ in time") is not None


def test_a_point_is_the_middle_of_its_diamond_and_one_out_of_sight_is_not_drawn() -> None:
    points = (Point(x=7.0, y=30.0, label="mix"), Point(x=7.0, y=130.0), Point(x=12.0, y=30.0))
    (corners,) = Picture(series=(Series(xs=XS, ys=XS),), points=points).shapes("polygon")
    middle = [sum(values) / 4.0 for values in zip(*corners, strict=True)]
    assert middle == pytest.approx([7.0, 30.0], abs=0.1)


def test_a_point_of_zero_is_marked_at_the_foot_of_a_logarithmic_axis() -> None:
    points = (Point(x=7.0, y=0.0, label="owned"),)
    picture = Picture(log=True, series=(Series(xs=XS, ys=[0.0, *XS[1:]]),), points=points)
    (corners,) = picture.shapes("polygon")
    middle = [sum(values) / 4.0 for values in zip(*corners, strict=True)]
    assert middle == pytest.approx([7.0, 1.0], rel=0.02), "the least value of the axis"
    assert picture.text("↓ owned 0") is not None


def test_names_stand_at_the_last_values_that_are_seen() -> None:
    """In the order of the curves' ends, whatever that of the curves; long ones are cut."""
    long = "x" * 31
    series = [
        Series(xs=XS, ys=[20.0] * 11, label="low", slot=2, pattern="dashed"),
        Series(xs=XS, ys=[90.0] * 9 + [70.0, NAN], label="high"),
        Series(xs=(0.0, 5.0, 20.0), ys=(10.0, 45.0, 99.0), label=long, slot=3, pattern="dotted"),
        Series(xs=XS, ys=[NAN] * 11, label="nowhere", slot=4),
    ]
    picture = Picture(series=tuple(series))
    for label, value in (("low", 20.0), ("high", 70.0), ("x" * 29 + "…", 45.0)):
        height = float(picture.text(label).get("y")) - 4
        assert picture.value(height, across=False) == pytest.approx(value, abs=0.2)
    assert not [text for text in picture.all("text") if text.text == "nowhere"]
    assert Picture(series=(Series(xs=XS, ys=XS, label="x" * 30),)).text("x" * 30) is not None


def test_crowded_names_stay_a_line_apart_and_in_the_picture() -> None:
    """Four curves that end at the bottom, and four at the top."""
    for end in (0.0, 100.0):
        picture = Picture(
            series=tuple(
                Series(xs=XS, ys=[end] * 11, label=f"of {slot}", slot=slot) for slot in range(1, 5)
            )
        )
        heights = [float(picture.text(f"of {slot}").get("y")) - 4 for slot in range(1, 5)]
        assert [b - a for a, b in itertools.pairwise(heights)] == [16.0] * 3
        edge = heights[-1] if end == 0.0 else heights[0]
        assert picture.value(edge, across=False) == pytest.approx(end, abs=0.2)


def box(text: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of a text, by the usual size of its letters."""
    size = float(text.get("font-size"))
    wide = len(text.text or "") * 0.5 * size
    x, y = float(text.get("x")), float(text.get("y"))
    left = x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")]
    return left, left + wide, y - 0.75 * size, y + 0.2 * size


def test_no_text_covers_another_or_the_plot_or_leaves_the_picture() -> None:
    """Two charts below a sentence of several lines."""
    chart = ChartData(
        series=tuple(
            Series(xs=XS, ys=[80.0 / slot] * 11, label="a name of thirty letters or so", slot=slot)
            for slot in (1, 2)
        ),
        x=Axis(kind="count", low=1.0, high=100.0, log=True, title="nodes"),
        y=Axis(low=0.0, high=100.0),
        feasible=((5.0, 100.0),),
        feasible_label="meets the goal",
        thresholds=(Threshold(value=60.0, label="deadline"), Threshold(value=300.0, label="dear")),
    )
    text = format_svg(
        [Panel("Time", chart), Panel("Cost", chart)], title="t", subtitle="word " * 60
    )
    root = ElementTree.fromstring(text)
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    boxes = [box(text) for text in root.iter(f"{SPACE}text")]
    for left, right, top, bottom in boxes:
        assert 0.0 <= left < right <= width
        assert 0.0 <= top < bottom <= height
    for one, other in itertools.combinations(boxes, 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
        assert apart, (one, other)
    plots = [clip.find(f"{SPACE}rect") for clip in root.iter(f"{SPACE}clipPath")]
    frames = [rule for rule in root.iter(f"{SPACE}line") if rule.get("stroke") == "#666666"]
    assert len(plots) == 2
    inside = 0
    for plot, (floor, wall) in zip(plots, zip(frames[::2], frames[1::2], strict=True), strict=True):
        left, top = float(plot.get("x")), float(plot.get("y"))
        right, bottom = left + float(plot.get("width")), top + float(plot.get("height"))
        assert float(floor.get("y1")) == float(floor.get("y2")) == bottom
        assert (float(floor.get("x1")), float(floor.get("x2"))) == (left, right)
        assert (float(wall.get("y1")), float(wall.get("y2"))) == (top, bottom)
        inside += sum(a < right and b > left and c < bottom and d > top for a, b, c, d in boxes)
    assert inside == 4, "the names of two limits in each"
    assert "nodes (logarithmic)" in text
    assert Picture(series=(Series(xs=XS, ys=XS),)).text("nodes") is not None


def test_a_message_stands_in_place_of_a_chart() -> None:
    picture = Picture(series=(Series(xs=XS, ys=XS),), message="reading")
    assert picture.text("reading") is not None
    assert not picture.all("polyline")


def test_half_a_band_and_a_label_of_nothing_are_not_drawn() -> None:
    picture = Picture(series=(Series(xs=XS, ys=XS, lows=XS),), feasible_label="in time")
    assert not picture.all("polygon")
    assert not [text for text in picture.all("text") if "in time" in (text.text or "")]


def test_a_curve_its_name_and_the_piece_before_it_have_one_colour_of_six() -> None:
    series = tuple(Series(xs=XS, ys=[15.0 * n] * 11, label=f"of {n}", slot=n) for n in range(1, 7))
    picture = Picture(series=series)
    curves = [line.get("stroke") for line in picture.all("polyline")]
    assert len(set(curves)) == 6
    names = [picture.text(f"of {n}") for n in range(6, 0, -1)]
    assert [name.get("fill") for name in names] == curves, "the first is drawn last, on top"
    pieces = [line for line in picture.all("line") if line.get("stroke-width") == "2"]
    assert [piece.get("stroke") for piece in pieces] == curves, "names stand from top to bottom"
    (plot,) = [clip.find(f"{SPACE}rect") for clip in picture.all("clipPath")]
    right = float(plot.get("x")) + float(plot.get("width"))
    for name, piece in zip(names, pieces, strict=True):
        assert right < float(piece.get("x1")) < float(piece.get("x2")) < float(name.get("x"))
