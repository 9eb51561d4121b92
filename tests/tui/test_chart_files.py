"""Charts as files: every number in the CSV, legible and harmless SVG, nothing replaced unasked."""

import csv
import io
import itertools
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from command_line import refused
from screen import at_rest, settled

from tui.charts import chart_csv
from tui.charts.chart_svg import Panel, format_svg
from tui.cli import main
from tui.widgets.chart_data import Axis, ChartData, Point, Series, Threshold

SPACE = "{http://www.w3.org/2000/svg}"
SAMPLE = ("curve", "nightly-features", "--instance", "m5.2xlarge")


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SPACE}text")]


def data(**changes):
    xs = tuple(float(x) for x in range(1, 33))
    ys = tuple(7200.0 / x + 300.0 for x in xs)
    series = Series(
        xs=xs,
        ys=ys,
        label="m5.xlarge",
        lows=[y * 0.8 for y in ys],
        highs=[y * 1.3 for y in ys],
    )
    found = ChartData(
        series=(series, replace(series, slot=2, label="r5.xlarge", pattern="dashed", lows=None)),
        x=Axis(kind="count", log=True, title="nodes"),
        y=Axis(kind="time", log=True),
        thresholds=(Threshold(value=1800.0, label="deadline 30m"),),
        feasible=((5.0, 32.0),),
        feasible_label="meets the goal",
        points=(Point(x=8.0, y=1200.0, label="mix"),),
    )
    return replace(found, **changes)


def test_a_picture_says_everything():
    svg = format_svg([Panel("Time", data())], title="nightly", subtitle="a sentence")
    said = texts(svg)
    for words in ("nightly", "a sentence", "Time", "m5.xlarge", "deadline 30m", "mix", "1h"):
        assert words in said
    root = ElementTree.fromstring(svg)
    dashes = [line.get("stroke-dasharray") for line in root.iter(f"{SPACE}polyline")]
    assert dashes == ["8 5", None]
    assert len(svg) < 20_000


def test_a_name_stands_behind_a_piece_of_its_curve():
    """Where curves end together only the hue of a name told whose it was."""
    two = ElementTree.fromstring(format_svg([Panel("Time", data())], title="t"))
    names = [text for text in two.iter(f"{SPACE}text") if text.text.endswith("xlarge")]
    pieces = [line for line in two.iter(f"{SPACE}line") if line.get("stroke-width")]
    found = {}
    for name, piece in zip(names, pieces, strict=True):
        assert float(piece.get("x2")) < float(name.get("x"))
        assert abs(float(piece.get("y1")) - float(name.get("y"))) < 6.0
        found[name.text] = piece.get("stroke-dasharray")
    assert found == {"m5.xlarge": None, "r5.xlarge": "8 5"}
    one = format_svg([Panel("Time", data(series=data().series[:1]))], title="t")
    assert "stroke-width" not in "".join(line for line in one.splitlines() if "<line" in line)


def test_the_curve_is_where_its_values_are():
    root = ElementTree.fromstring(format_svg([Panel("Time", data())], title="t"))
    lines = list(root.iter(f"{SPACE}polyline"))
    points = [tuple(map(float, pair.split(","))) for pair in lines[-1].get("points").split()]
    assert len(points) == 32
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(points))
    # Logarithmic: 1 to 2 nodes is as wide as 16 to 32.
    assert points[1][0] - points[0][0] == pytest.approx(points[31][0] - points[15][0], abs=0.2)


def test_all_of_the_band_is_in_the_picture():
    wide = data().series[0]
    wide = replace(wide, highs=[y * 20.0 for y in wide.ys])
    root = ElementTree.fromstring(format_svg([Panel("Time", data(series=(wide,)))], title="t"))
    heights = [
        float(pair.split(",")[1])
        for shape in root.iter(f"{SPACE}polygon")
        for pair in shape.get("points").split()
    ]
    assert min(heights) > 34.0


def test_hostile_text_is_only_text():
    hostile = '</text><script>alert("x")</script>\x1b[31m\u202e'
    changed = replace(data().series[0], label=hostile)
    svg = format_svg([Panel(hostile, data(series=(changed,)))], title=hostile, subtitle=hostile)
    root = ElementTree.fromstring(svg)
    assert not list(root.iter(f"{SPACE}script"))
    assert "\x1b" not in svg
    assert "\u202e" not in svg


def test_names_of_curves_do_not_cover_each_other():
    first = data().series[0]
    many = tuple(replace(first, slot=slot, label=f"type-{slot}") for slot in range(1, 7))
    root = ElementTree.fromstring(format_svg([Panel("Time", data(series=many))], title="t"))
    heights = sorted(
        float(text.get("y"))
        for text in root.iter(f"{SPACE}text")
        if (text.text or "").startswith("type-")
    )
    assert len(heights) == 6
    assert all(b - a >= 15 for a, b in itertools.pairwise(heights))


def test_a_chart_without_data_says_so():
    assert "no data" in texts(format_svg([Panel("Time", ChartData())], title="t"))


def test_cells_that_a_spreadsheet_would_run_are_text():
    text = chart_csv.format_csv(("a", "b"), [("=cmd()", None), ('x,"y"', float("nan"))])
    rows = list(csv.reader(io.StringIO(text)))
    assert rows == [["a", "b"], ["'=cmd()", ""], ['x,"y"', ""]]


async def test_the_planner_saves_pictures_and_numbers(planner, tmp_path):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        await app.run_command_line("draw m5.xlarge")
        await app.run_command_line(f"chart {tmp_path / 'a.csv'}")
        await app.run_command_line(f"chart {tmp_path / 'a.svg'}")
        rows = list(csv.DictReader((tmp_path / "a.csv").open()))
        curve = app.answer.report.curve
        assert {row["instance"] for row in rows} == {curve.instance, "m5.xlarge"}
        assert len(rows) == 2 * 64
        assert float(rows[6]["seconds"]) == curve.seconds[6]
        assert float(rows[6]["p_deadline"]) == curve.p_deadline[6]
        assert rows[6]["meets_goal"] == ("yes" if curve.feasible[6] else "no")
        said = texts((tmp_path / "a.svg").read_text())
        assert "Time by nodes, shaded: 9 in 10 runs" in said
        assert "Cost by nodes, shaded: 9 in 10 runs" in said
        assert float(rows[6]["cost_low_usd"]) == curve.cost_low_usd[6] < curve.cost_usd[6]
        assert float(rows[6]["cost_high_usd"]) == curve.cost_high_usd[6] > curve.cost_usd[6]
        await pilot.press("3")
        await settled(pilot)
        await app.run_command_line(f"chart {tmp_path / 'f.csv'}")
        rows = list(csv.DictReader((tmp_path / "f.csv").open()))
        frontier = app.answer.report.recommendation.frontier
        assert [float(row["cost_high_usd"]) for row in rows] == [
            choice.cost_high_usd for choice in frontier
        ]
        await app.run_command_line(f"chart {tmp_path / 'f.svg'}")
        assert "Cost by time" in texts((tmp_path / "f.svg").read_text())


async def test_a_goal_that_is_missed_is_copied_and_drawn_with_the_nearest(planner, tmp_path):
    async with at_rest(planner(deadline_seconds=1.0), (120, 40), "y") as (app, _):
        assert app.answer.report.recommendation.recommended is None
        await app.run_command_line(f"chart {tmp_path / 'a.svg'}")
        drawn = " ".join(texts((tmp_path / "a.svg").read_text()))
        for said in (app.clipboard, drawn):
            assert "No cluster of up to 64 nodes" in said
            assert "Nearest: " in said


async def test_a_file_is_replaced_only_when_asked_twice(planner, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("mine")
    async with at_rest(planner(), (80, 24)) as (app, _):
        await app.run_command_line(f"chart {path}")
        assert path.read_text() == "mine"
        await app.run_command_line(f"chart {path}")
        assert path.read_text().startswith("instance,")
        await app.run_command_line(f"chart {tmp_path / 'no' / 'b.svg'}")
        assert "No such file" in app.notice_log[-1].words
        await app.run_command_line("chart picture.png")
        assert ".svg or .csv" in app.notice_log[-1].words
        assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["mine.csv"]


@pytest.mark.parametrize("over", [("nodes",), ("input-size", "--nodes", "4")])
def test_the_command_writes_files(over, tmp_path, capsys):
    command = [*SAMPLE, "--over", *over]
    assert main([*command, "--output", str(tmp_path / "c.csv")]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"wrote {tmp_path / 'c.csv'}\n"), "as of other files"
    assert main([*command, "--json", "--output", str(tmp_path / "c.svg")]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    assert [float(row["seconds"]) for row in rows] == [point["seconds"] for point in points]
    assert [float(row["high"]) for row in rows] == [point["high"] for point in points]
    said = texts((tmp_path / "c.svg").read_text())
    assert "m5.2xlarge" in said
    assert sum("shaded: 9 in 10 runs" in words for words in said) == 2


def test_another_ending_is_refused_before_anything_is_read(capsys):
    err = refused(capsys, "curve no-such-log --over nodes --output c.png")
    assert ".svg or .csv" in err


async def test_the_key_suggests_a_file_that_enter_writes(planner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with at_rest(planner(), (80, 24), "v", "E", "enter") as (_, pilot):
        await settled(pilot)
    assert (tmp_path / "nightly-als-curves.svg").read_text().startswith("<svg")
