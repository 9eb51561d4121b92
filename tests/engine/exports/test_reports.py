"""The reports: what they say, that they are well-formed, and that no name can break out of them."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from two_types import CATALOG, best, fitted

import engine
from engine.exports import svg

EVIL = "<script>alert(1)</script> | `x` \x1b[31m\n# no"


def report(to: str, *, name: str = "job", mix: int = 2) -> str:
    profile = engine.Profile(name=name, runs=fitted().profile.runs)
    return engine.export(best(300.0, mix), to=to, profile=profile, catalog=CATALOG)


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>"))


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.9999, "more than 99 %"), (0.5, "50 %"), (0.001, "less than 1 %"), (None, "not known")],
)
def test_no_runner_up_is_certain_to_be_in_time(p: float | None, said: str) -> None:
    """100 % stood there where every other surface says more than 99 %."""
    found = best(300.0, 2)
    other = replace(found.alternatives[0], p_deadline=p)
    profile = engine.Profile(name="job", runs=fitted().profile.runs)
    told = replace(found, alternatives=(other,))
    text = engine.export(told, to="markdown", profile=profile, catalog=CATALOG)
    assert f"| {said} |" in text.partition("## Runners-up")[2].partition("\n## ")[0]


@pytest.mark.parametrize("to", ["markdown", "html"])
def test_a_report_has_goal_costs_runners_up_and_warnings(to: str) -> None:
    text, found = report(to), best(300.0, 2)
    for title in ("Goal", "Recommendation", "Cost", "Runners-up", "Evidence", "Warnings"):
        assert re.search(rf"(## |<h2>){title}", text)
    for name in found.recommended.composition:
        assert name in text
    assert engine.format_seconds(found.recommended.seconds) in text
    assert engine.format_usd(found.recommended.cost_usd) in text
    assert "mixed-cluster" in text
    assert len(text) < 100_000


def test_html_is_well_formed_self_contained_and_has_charts_with_bands() -> None:
    text = report("html")
    root = parsed(text)
    space = "{http://www.w3.org/2000/svg}"
    charts = list(root.iter(f"{space}svg"))
    assert len(charts) == 2
    for chart in charts:
        assert chart.find(f"{space}polygon") is not None
        assert chart.find(f"{space}circle") is not None
        title = chart.findtext(f"{space}title") or ""
        assert title.endswith(" (shaded: 50 % of runs; dot: this plan)")
    assert not re.search(r"<script|\bsrc=|\bhref=|@import|url\(", text)


def test_charts_of_times_without_intervals_say_nothing_of_a_shade() -> None:
    found = best(300.0, 2)
    unknown = {"low": None, "high": None, "cost_low_usd": None, "cost_high_usd": None}
    bare = replace(found, frontier=tuple(replace(each, **unknown) for each in found.frontier))
    profile = engine.Profile(name="job", runs=fitted().profile.runs)
    root = parsed(engine.export(bare, to="html", profile=profile, catalog=CATALOG))
    space = "{http://www.w3.org/2000/svg}"
    assert next(root.iter(f"{space}polygon"), None) is None
    titles = [chart.findtext(f"{space}title") for chart in root.iter(f"{space}svg")]
    assert titles == [
        "The time that each cost buys (dot: this plan)",
        "What each time costs (dot: this plan)",
    ]


@pytest.mark.parametrize("to", ["markdown", "html"])
def test_a_name_from_a_log_stays_text(to: str) -> None:
    text = report(to, name=EVIL)
    assert "\x1b" not in text
    assert "<script>" not in text.replace("\\<", "")
    assert "\n# no" not in text
    if to == "html":
        assert "<script>alert(1)</script>" in "".join(parsed(text).itertext())


def test_a_chart_places_its_points_in_proportion() -> None:
    axis = svg.Axis("x < y", str)
    points = [svg.Point(1.0, 10.0), svg.Point(2.0, 5.0)]
    root = ElementTree.fromstring(svg.chart("a & b", points, x=axis, y=axis))
    line = root.find("{http://www.w3.org/2000/svg}polyline").get("points")
    (x1, y1), (x2, y2) = (map(float, pair.split(",")) for pair in line.split())
    assert x2 == svg.WIDTH - 16
    assert x1 - 78 == pytest.approx((x2 - 78) / 2, abs=0.1)
    assert y1 == 34
    assert y2 - 34 == pytest.approx((svg.HEIGHT - 46 - 34) / 2, abs=0.1)


def test_a_report_without_the_whole_answer_says_what_was_predicted() -> None:
    from handovers_made import handover

    for target in ("markdown", "html"):
        text = engine.exports.render(handover(), to=target)
        assert "14 x r5.2xlarge" in text
        assert "spark.executor.cores" in text


@pytest.mark.parametrize(
    ("end", "steps", "expected"),
    [
        (0.626, (), [0.0, 0.2, 0.4, 0.6]),
        (0.05, (), [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]),
        (128.0, svg.TIMES, [0.0, 30.0, 60.0, 90.0, 120.0]),
        (3700.0, svg.TIMES, [0.0, 900.0, 1800.0, 2700.0, 3600.0]),
        (2.0, svg.TIMES, [0.0, 0.5, 1.0, 1.5, 2.0]),
        (9 * 86400.0, svg.TIMES, [0.0, *(86400.0 * days for days in (2, 4, 6, 8))]),
    ],
)
def test_numbers_of_an_axis_are_round(
    end: float, steps: tuple[float, ...], expected: list[float]
) -> None:
    assert svg.ticks(end, steps) == pytest.approx(expected)


def test_amounts_on_an_axis_have_as_many_digits() -> None:
    """Three times ten cents is no ten-millionth of a cent more: it read "$0.300"."""
    said = [engine.format_usd(usd) for usd in svg.ticks(0.45)]
    assert said == ["$0.00", "$0.10", "$0.20", "$0.30", "$0.40"]
