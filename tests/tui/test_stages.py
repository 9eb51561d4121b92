"""The stages view: the measured run above the predicted one, moving with the sliders."""

import subprocess
import sys
from dataclasses import replace

import pytest
from fakes import FakeSession, profile
from screen import at_rest, settled, text_of, words_in

import engine
from tui import format as text
from tui.session import EngineSession
from tui.state import PlanState
from tui.views import stage_gantt, stages
from tui.views.stage_gantt import StageGantt, gantt_data, lanes, runs_of
from tui.views.stages import stage_rows
from tui.widgets.glyphs import ASCII, UNICODE

SIZES = [(80, 24), (120, 40)]


def span(
    number: int,
    start: float,
    end: float,
    *,
    waves: float | None = 1.0,
    busy: float | None = 1.0,
    bottleneck: str = "cpu",
    critical: bool = True,
) -> engine.StageSpan:
    return engine.StageSpan(number, f"s{number}", 8, start, end, waves, busy, bottleneck, critical)


def run(seconds: float, *stages: engine.StageSpan) -> engine.Timeline:
    driver = []
    reached = 0.0
    for stage in stages:
        if stage.start_seconds > reached:
            driver.append((reached, stage.start_seconds))
        reached = max(reached, stage.end_seconds)
    return engine.Timeline(seconds, stages, tuple(driver))


def drawn(measured, predicted, *, deadline=None, cells=50, rows=8, glyphs=UNICODE):
    return gantt_data(
        measured, predicted, deadline_seconds=deadline, cells=cells, rows=rows, glyphs=glyphs
    )


def test_both_runs_have_one_time_scale():
    data = drawn(run(100.0, span(0, 10, 100)), run(50.0, span(0, 5, 50)))
    assert data.end == 100.0
    assert [row.label for row in data.rows] == ["measured", "  idle", "predicted", "  idle"]
    measured, predicted = data.rows[0].spans, data.rows[2].spans
    assert (measured[0].letter, measured[0].start, measured[0].end) == ("d", 0.0, 10)
    assert (predicted[-1].caption, predicted[-1].end) == ("0", 50)


def test_waves_are_marked_where_they_can_be_seen():
    spans = drawn(None, run(100.0, span(7, 0, 100, waves=2.5))).rows[0].spans
    assert [(s.start, s.end) for s in spans] == [(0, 40.0), (40.0, 80.0), (80.0, 100)]
    assert [s.letter for s in spans[1:]] == ["|", "|"]
    assert spans[0].caption == "7"
    many = drawn(None, run(100.0, span(7, 0, 100, waves=400.0))).rows[0].spans
    assert len(many) == 1


def test_skew_and_the_critical_path_are_marked_without_colour():
    slow = span(3, 0, 60, bottleneck="skew")
    beside = span(4, 0, 30, critical=False)
    data = drawn(None, run(60.0, slow, beside))
    skewed, other = data.rows[0].spans[0], data.rows[1].spans[0]
    assert (skewed.caption, skewed.letter, skewed.strong) == ("3!", "!", True)
    assert (other.caption, other.strong) == ("4", False)
    assert {word for _, _, word in data.legend} >= {"critical", "stage", "skew"}
    assert data.rows[1].label == "  beside"


def test_idle_cores_are_digits_and_nothing_where_they_are_not_known():
    data = drawn(None, run(100.0, span(0, 0, 50, busy=1.0), span(1, 50, 100, busy=0.25)), cells=10)
    assert "".join(s.letter for s in data.rows[-1].spans) == ".....77777"
    unknown = drawn(None, run(100.0, span(0, 0, 100, waves=None, busy=None)))
    assert [row.label for row in unknown.rows] == ["predicted"]


def test_a_deadline_is_ruled_where_it_falls_within_the_runs():
    predicted = run(100.0, span(0, 0, 100))
    assert drawn(None, predicted, deadline=60.0).marks == (60.0,)
    assert drawn(None, predicted, deadline=160.0).marks == ()


def test_stages_that_overlap_get_lanes_and_what_has_no_room_is_counted():
    stages = [span(i, i, 50 + i, critical=False) for i in range(5)]
    assert len(lanes(stages, 100.0)) == 5
    assert len(lanes([span(0, 0, 5), span(1, 5, 9), span(2, 4, 9)], 10.0)) == 2
    data = drawn(None, run(100.0, span(9, 0, 100), *stages), rows=4)
    assert [row.label for row in data.rows] == ["predicted", "  beside", "  +3 more", "  idle"]


def test_short_driver_time_is_not_drawn_longer_than_it_is():
    data = drawn(None, run(100.0, span(0, 0.5, 50), span(1, 50.1, 100)), cells=50)
    assert [s.kind for s in data.rows[0].spans] == [stage_gantt.STAGE] * 2


def test_nothing_to_show_is_said():
    assert drawn(None, None).rows == ()
    assert "stages" in drawn(None, None).message


@pytest.mark.parametrize("sample", ["nightly-features", "movie-als-large", "pagerank-large"])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_real_logs_at_any_width(sample, glyphs):
    found = engine.read(sample)
    prediction = engine.fit(found).predict(
        cluster=engine.Cluster.of_executors(executors=4, executor_cores=4)
    )
    measured, predicted = runs_of(found, prediction)
    for cells in (1, 20, 67, 190):
        data = drawn(measured, predicted, cells=cells, glyphs=glyphs)
        for row in data.rows:
            ends = [0.0, *(span.end for span in row.spans)]
            for before, span_ in zip(ends[:-1], row.spans, strict=True):
                assert span_.start >= before - 2e-3 - 1e-6 * data.end
            assert row.label.isascii()
        if glyphs is ASCII:
            assert all(letter.isascii() for letter, _, _ in data.legend)


@pytest.mark.parametrize("size", SIZES)
async def test_measured_above_predicted(planner, size):
    async with at_rest(planner(), size, "4") as (app, pilot):
        await pilot.pause()
        shown = text_of(app)
        assert shown.index("measured  │d") < shown.index("predicted │d")
        assert "1!" in shown.split("predicted │")[0]
        assert "Measured 1h 47m" in shown
        assert "idle" in shown
        assert "critical" in shown


@pytest.mark.parametrize("stream", ["order-stream-small", "order-stream-large"])
def test_stages_of_a_stream_stand_beside_those_of_the_largest_batch(stream):
    """Each batch numbers its stages on, and tells their steps in another order: the column of what
    was measured was empty."""
    session, state = EngineSession(), PlanState(sources=(stream,), deadline_seconds=60.0)
    built = session.build(state, lambda _: None)
    measured, predicted = runs_of(built.profile, session.answer(state, built).explained)
    rows = stage_rows(predicted, measured, mark="x")
    ids = [{stage.stage_id for stage in run.stages} for run in (measured, predicted)]
    assert not ids[0] & ids[1]
    assert [row[7][0] for row in rows] == [
        text.seconds(stage.seconds)
        for stage in sorted(measured.stages, key=lambda stage: stage.stage_id)
    ]


def test_phases_with_what_interruptions_take_are_shares_of_the_whole():
    """They were shares of the time without: together more than all of it."""
    forecast = engine.fit(profile()).predict(cluster=profile().runs[0].cluster)
    phases = {"driver": 25.0, "read": 75.0}
    explained = replace(forecast, seconds=100.0, phases={**phases, "interruptions": 25.0})
    rows = stages.phase_rows(explained, bar="=")
    assert [row[2] for row in rows] == ["20 %", "60 %", "20 %"]
    assert sum(len(row[3][0]) for row in rows) == stages.BAR_CELLS
    without = stages.phase_rows(replace(explained, phases={"driver": 25.0}), bar="=")
    assert [row[2] for row in without] == ["25 %"], "a model may not tell all of its time"


def test_stages_that_do_something_else_have_nothing_measured():
    predicted, measured = run(20.0, span(7, 0, 20)), run(30.0, span(3, 0, 30))
    assert [row[7][0] for row in stage_rows(predicted, measured, mark="x")] == [text.UNKNOWN]
    other = run(30.0, span(7, 0, 20), span(8, 20, 30))
    assert [row[7][0] for row in stage_rows(other, predicted, mark="x")] == ["20 s", text.UNKNOWN]


async def test_a_slider_moves_the_predicted_run_alone_and_sends_little(planner):
    async with at_rest(planner(), (120, 40), "4") as (app, pilot):
        await settled(pilot)
        app.query_one("#deadline").focus()
        gantt = app.query_one("#stage-gantt", StageGantt)
        before = [gantt.render_line(y).text for y in range(gantt.size.height)]
        refreshed = []
        redraw = gantt.redraw
        gantt.redraw = lambda: refreshed.extend(redraw())
        best = app.answer.best
        await pilot.press(*["left"] * 4)
        await settled(pilot)
        assert app.answer.best != best
        after = [gantt.render_line(y).text for y in range(gantt.size.height)]
        assert before[0] == after[0]
        assert before != after
        assert refreshed
        assert sum(region.area for region in refreshed) < gantt.size.area * 4


async def test_a_model_without_stages_keeps_the_measured_run(planner):
    session = FakeSession(evidence=profile(runs=1))
    async with at_rest(planner(session), (80, 24), "4") as (app, pilot):
        await pilot.pause()
        gantt = app.query_one("#stage-gantt", StageGantt)
        measured, _ = runs_of(app.answer.built.profile, None)
        gantt.show_runs(measured, None)
        await pilot.pause()
        assert [row.label for row in gantt.data.rows] == ["measured", "  idle"]


def test_opening_the_planner_loads_neither_view():
    """Start-up pays for nothing that is not looked at."""
    check = (
        "import sys, tui.app; later = {'tui.views.stage_gantt', 'tui.widgets.gantt', "
        "'tui.views.evidence', 'engine.evidence', 'engine.timeline', 'engine.models'}; "
        "print(*sorted(later & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_time_whose_stages_are_shown_has_its_interval(planner, size):
    async with at_rest(planner(), size, "4") as (_, pilot):
        app = await settled(pilot)
        best = app.answer.best
        said = "".join(part for line in app.query_one("#stages-about").lines for part, _ in line)
        assert f" (9 in 10 runs: {text.span(best.low, best.high)})" in said


@pytest.mark.parametrize("size", [(100, 30), (120, 40), (160, 50)])
async def test_rows_that_the_timelines_do_not_need_are_the_stages(planner, size):
    """At 30 rows the predicted run was out of sight, at 40 the chart was half empty."""
    async with at_rest(planner(), size, "4") as (_, pilot):
        app = await settled(pilot)
        gantt = app.query_one("#stage-gantt", StageGantt)
        assert gantt.size.height == gantt.wanted_height
        assert [row.label for row in gantt.data.rows][::2] == ["measured", "predicted"]
        assert "predicted" in text_of(app)
        assert app.query_one("#stage-list").size.height >= 3


@pytest.mark.parametrize("width", [80, 120])
async def test_in_a_low_terminal_the_list_of_stages_comes_before_its_picture(planner, width):
    async with at_rest(planner(), (width, 18), "4") as (_, pilot):
        app = await settled(pilot)
        assert app.query_one("#stage-gantt").size.height == 0
        assert app.query_one("#stage-list").size.height >= 3


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)])
async def test_the_summary_is_seen_whole(planner, size):
    """At 100 columns the measured run was cut off, in a text that does not scroll."""
    async with at_rest(planner(), size, "4") as (app, pilot):
        await settled(pilot)
        summary = app._panels.prose("stages-about")
        assert len(summary.rows(summary.size.width - 4)) <= summary.size.height
        assert "Measured " in words_in(summary)
