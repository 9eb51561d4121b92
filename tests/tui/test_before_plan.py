"""Before there is a plan: what every view says, and what can be done already."""

from asyncio import to_thread
from dataclasses import replace
from threading import Event

import pytest
from fakes import FakeSession, Gated, profile, started
from screen import at_rest, settled, shows, text_of, waits, words_in
from watched import calls_of

import engine
from tui.answers import Evidence
from tui.changes import OpenSources
from tui.pins import Pin
from tui.session import EngineSession
from tui.state import Limits, PlanState
from tui.views import blank
from tui.views.pages import PAGES, key_of, page
from tui.widgets.chart import Chart


def parts_say(app, waits_or_why, chart):
    """Whether each chart, list and text that is seen says it, the charts in words of their own."""
    blank = [app._panels.widget(name) for name in page(app.state.view).blank]
    seen = [part for part in blank if part.size.height]
    assert seen
    said = [chart if isinstance(part, Chart) else waits_or_why for part in seen]
    return all(words in words_in(part) for words, part in zip(said, seen, strict=True))


async def test_every_view_says_what_it_waits_for_until_there_is_a_plan(planner):
    session, keys = Gated(), [key_of(page.name) for page in PAGES]
    async with planner(session, mix=2).run_test(size=(80, 24)) as pilot:
        for key in keys:
            await pilot.press(key)
            assert await shows(pilot, f"[{key} ")
            assert await shows(pilot, "Reading the evidence and the prices ..."), key
            assert parts_say(pilot.app, "Reading the evidence and the prices", "reading ..."), key
        session.go_on.set()
        app = await settled(pilot)
        assert app.answer is not None
        for key in keys:
            await pilot.press(key)
            assert await shows(pilot, f"[{key} ")
            assert await shows(pilot, "Reading the evidence", gone=True), key


class BehindReading:
    """A session whose runs are read; the plan is built only once it may go on."""

    def __init__(self):
        super().__init__()
        self.go_on = Event()

    def build(self, state, say, show):
        def wait_after(evidence):
            show(evidence)
            assert self.go_on.wait(60.0)

        return super().build(state, say, wait_after)


class Fitting(BehindReading, FakeSession):
    """One with made runs."""


def test_what_was_read_is_named_as_in_the_header():
    """Several applications, the micro-batches of a stream, and a single run."""
    state, one = PlanState(sources=("logs",)), profile(runs=1)
    run = one.runs[0]
    two = (replace(run, seconds=24.0, application="a"), replace(run, seconds=48.0, application="b"))
    batches = engine.Notice("micro-batches", "one batch is predicted", "none")
    said = {
        "nightly-als + 1 other, 2 runs of 24 to 48 s.": replace(one, runs=two),
        "nightly-als, 1 run of 24 s.": replace(one, runs=two[:1]),
        "nightly-als + 1 other, 2 micro-batches of 24 to 48 s.": replace(
            one, runs=two, notices=(batches,)
        ),
    }
    for words, read in said.items():
        line = blank.what_was_read(state, Evidence(read))
        assert "".join(part for part, _ in line) == f"Read: {words}"


async def test_what_is_not_read_yet_is_not_called_unknown(planner):
    session = Gated()
    async with planner(session).run_test(size=(120, 40)) as pilot:
        assert await shows(pilot, "Ran on   –")
        assert "not known" not in text_of(pilot.app)
        session.go_on.set()
        await settled(pilot)
        assert await shows(pilot, "Ran on   m5.2xlarge")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_was_read_is_said_while_its_plan_is_built(planner, size):
    session = Fitting()
    async with planner(session).run_test(size=size) as pilot:
        for each in PAGES:
            await pilot.press(key_of(each.name))
            assert await shows(pilot, f"[{key_of(each.name)} ")
            assert await shows(pilot, "Read: nightly-als"), each.name
            for words in ("3 runs of 40 to 107 min.", "The sliders move already."):
                assert parts_say(pilot.app, words, "predicting ..."), each.name
        assert "nightly-als, 3 runs · mllib · ran on m5.2xlarge" in text_of(pilot.app)
        session.go_on.set()
        assert await shows(pilot, "The sliders move already.", gone=True)
        await settled(pilot)


async def test_sliders_move_once_the_runs_are_read(planner):
    session = Fitting()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert await shows(pilot, "2.1 TB"), "the data size in its unit"
        await pilot.press("right")
        await pilot.pause()
        chosen = app.state.deadline_seconds
        low, high = app.ranges.deadlines
        assert chosen is not None
        assert low < 1000.0 < chosen < 1e5 < high
        await pilot.press("e")
        assert await shows(pilot, "the plan is still being built")
        await pilot.press("tab", "right")
        assert await shows(pilot, "no cost is known yet: press enter and type $5")
        session.go_on.set()
        await settled(pilot)
        assert app.state.deadline_seconds == chosen, "what was chosen stays"
        assert app.answer.report.goal.deadline_seconds == chosen
        await pilot.press("right")
        assert app.state.budget_usd is not None


async def test_a_plan_for_inputs_that_have_changed_is_not_built(planner, monkeypatch):
    """Each held key of the data size would otherwise wait for the plan of the one before."""
    session, prepared = Fitting(), calls_of(monkeypatch, engine, "prepare_fitted")
    async with planner(session).run_test(size=(80, 24)) as pilot:
        assert await shows(pilot, "The sliders move already.")
        for size in ("2x", "3x"):
            await pilot.app.run_command_line(f"size {size}")
        session.go_on.set()
        app = await settled(pilot)
        assert app.built.plan.surface.workload.input_bytes == 3 * 2.1e12
    assert [request.workload.input_bytes for _, request in prepared] == [3 * 2.1e12]


async def test_a_plan_that_was_cancelled_does_not_come(planner, monkeypatch):
    """Also where its last step had begun, which nothing interrupts."""
    begun, go_on, made, prepare = Event(), Event(), Event(), engine.prepare_fitted

    def slow(fitted, request):
        begun.set()
        assert go_on.wait(60.0)
        plan = prepare(fitted, request)
        made.set()
        return plan

    monkeypatch.setattr(engine, "prepare_fitted", slow)
    async with planner().run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert await shows(pilot, "The sliders move already.")
        assert await to_thread(begun.wait, 60.0)
        await pilot.press("escape")
        assert await shows(pilot, "the plan was cancelled")
        go_on.set()
        assert await to_thread(made.wait, 60.0)
        await pilot.pause(0.1)
        assert app.built is None
        await app.run_command_line("open other")
        await settled(pilot)
        assert app.answer is not None


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_after_a_plan_was_cancelled_its_runs_are_shown_and_a_slider_builds_it(planner, size):
    session = Fitting()
    async with planner(session).run_test(size=size) as pilot:
        app = pilot.app
        assert await shows(pilot, "Read: nightly-als")
        await pilot.press("escape")
        assert await shows(pilot, "the plan was cancelled")
        session.go_on.set()
        for each in PAGES:
            await pilot.press(key_of(each.name))
            assert await shows(pilot, f"[{key_of(each.name)} ")
            for words in ("Read: nightly-als, 3 runs", "any slider builds it; or press o"):
                assert parts_say(app, words, "no plan yet"), each.name
        header = text_of(app).split("\n")[0]
        assert "nightly-als, 3 runs · " in header
        assert "ran on m5.2xlarge" in header
        await pilot.press("1", "e")
        assert await shows(pilot, "there is no plan yet: its building was cancelled")
        app._panels.focus_first_slider()
        await pilot.press("right")
        await settled(pilot)
        assert app.answer.report.goal.deadline_seconds == app.state.deadline_seconds


class FittingOther(FakeSession):
    """The plan for other sources than the first is built only once it may go on."""

    def __init__(self):
        super().__init__()
        self.go_on, self.read = Event(), Event()

    def build(self, state, say, show):
        def wait_after(evidence):
            show(evidence)
            if state.sources == ("other",):
                self.read.set()
                assert self.go_on.wait(60.0)

        return super().build(state, say, wait_after)


async def test_of_another_source_that_is_read_the_plan_is_cancelled_not_the_reading(planner):
    session = FittingOther()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        answer = app.answer
        app.dispatch(OpenSources(("other",)))
        assert await to_thread(session.read.wait, 60.0)
        await pilot.pause()
        await pilot.press("escape")
        assert await shows(pilot, "the plan was cancelled")
        assert app.answer.best == answer.best
        assert app.state.sources == ("nightly-als",)
        session.go_on.set()


async def test_another_source_is_not_said_to_be_read(planner):
    """What was read before belongs to the other one."""
    session = Fitting()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert await shows(pilot, "The sliders move already.")
        app.dispatch(OpenSources(("other",)))
        assert await shows(pilot, "Reading the evidence and the prices ...")
        session.go_on.set()
        await settled(pilot)
        assert app.answer is not None


async def test_why_there_is_no_plan_is_said_in_every_view(planner, tmp_path):
    """Until the evidence is another."""
    views = "12345678"
    table = tmp_path / "runs.csv"
    table.write_text("nodes,input_size,seconds\n4,0,100\n8,1e9,60\n")
    app = planner(EngineSession(), sources=(str(table),), instances=("m5.*",), max_nodes=8)
    async with app.run_test(size=(120, 40)) as pilot:
        async for _ in waits():
            if app.notice_log:
                break
        for key in views:
            await pilot.press(key)
            await pilot.pause()
            shown = " ".join(text_of(app).split())
            assert "input_size must be more than zero" in shown
            assert "No plan: see above why" in shown
            assert parts_say(app, "No plan: see above why, and what to do", "no plan yet"), key
        table.write_text("nodes,input_size,seconds\n4,1e9,100\n8,1e9,60\n")
        await app.run_command_line("catalog aws")
        await app.run_command_line("ran-on m5.2xlarge")
        for key in views:
            await pilot.press(key)
            await settled(pilot)
            shown = " ".join(text_of(app).split())
            assert "more than zero" not in shown
            assert "No plan" not in shown, key


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_pinned_plans_are_shown_where_there_is_none_and_enter_goes_back_to_one(planner, size):
    """Of a scenario whose limits are refused, the pins hold their answers."""
    app = planner(limits=Limits(min_nodes=90))
    kept = replace(app.state, limits=Limits(), view="curves")
    app.pins = (
        Pin("A", kept, True, "4 × m5.xlarge", 1000.0, 800.0, 1300.0, 2.0, 0.95),
        Pin("fast", kept, True, "9 × m5.xlarge", 500.0, 400.0, 700.0, 2.5, 0.97),
    )
    async with at_rest(app, size, "7") as (app, pilot):
        assert app.answer is None
        shown = " ".join(text_of(app).split())
        for told in ("4 × m5.xlarge", "9 × m5.xlarge", "$2.50", "No plan: see above why"):
            assert told in shown, told
        await pilot.press("down")
        await pilot.pause()
        assert "fast against A" in " ".join(text_of(app).split())
        await pilot.press("enter")
        await settled(pilot)
        assert app.answer is not None
        assert app.state.limits == Limits()
        await app.run_command_line("unpin all")
        await pilot.press("7")
        await settled(pilot)
        assert "No plan" not in text_of(app)


async def test_the_last_pin_goes_with_its_words_where_there_is_no_plan(planner):
    app = planner(limits=Limits(min_nodes=90))
    app.pins = (Pin("A", app.state, True, "4 × m5.xlarge", 1000.0),)
    async with at_rest(app, (120, 40), "7") as (app, pilot):
        assert "enter brings its inputs back" in " ".join(text_of(app).split())
        await app.run_command_line("unpin all")
        await pilot.pause()
        assert "enter brings its inputs back" not in " ".join(text_of(app).split())
        assert "No plan: see above why" in text_of(app)


@pytest.mark.parametrize("size", [(80, 20), (80, 24), (120, 40)])
async def test_opened_on_pinned_plans_without_one_enter_goes_back_and_the_reason_stays(
    planner, size
):
    """The keyboard was at a slider, and other notices took the place of the reason, of which the
    page said that it is above."""
    app = planner(start=started(limits=Limits(min_nodes=90), view="compare", mix=1))
    kept = replace(app.state, limits=Limits(), view="curves")
    app.pins = (
        Pin("one", kept, True, "4 × m5.xlarge", 1000.0, 800.0, 1300.0, 2.0, 0.95),
        Pin("two", kept, True, "9 × m5.xlarge", 500.0, 400.0, 700.0, 2.5, 0.97),
    )
    reason = "at least 90 nodes"
    async with at_rest(app, size) as (app, pilot):
        assert app.answer is None
        assert app.focused is app.query_one("#pins")
        assert "No plan: see above why" in " ".join(text_of(app).split())
        await pilot.press("p")
        await settled(pilot)
        shown = " ".join(text_of(app).split())
        assert "there is no plan to pin yet" in shown
        assert f"No plan: {reason}" in shown
        assert "see above" not in shown
        await app.run_command_line("unpin two")
        await settled(pilot)
        shown = " ".join(text_of(app).split())
        assert "two is no longer pinned" in shown
        assert reason in shown
        await pilot.press("enter")
        await settled(pilot)
        assert app.answer is not None


class Held(BehindReading, EngineSession):
    """One of the engine's own: nothing is fitted before it may be."""


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("nightly-pipeline", "nightly pipeline, a workflow of 6 jobs."),
        ("optex-als-standalone", "optex-als-standalone, a job profile."),
    ],
)
async def test_evidence_without_runs_is_read_too(planner, source, named):
    """Escape cancelled its reading, though that was over."""
    session = Held()
    app = planner(session, sources=(source,))
    async with app.run_test(size=(120, 40)) as pilot:
        assert await shows(pilot, "predicting ...")
        assert parts_say(app, f"Read: {named}", "predicting ...")
        assert "The sliders move already." not in text_of(app)
        await pilot.press("right")
        assert await shows(pilot, "no time is known yet: press enter and type 45m")
        await pilot.press("escape")
        assert await shows(pilot, "the plan was cancelled")
        session.go_on.set()
