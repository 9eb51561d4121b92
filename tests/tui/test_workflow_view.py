"""The workflow view: a Gantt by states, opened by a workflow or on a log."""

from dataclasses import replace

import pytest
from fakes import FakeSession, without_stages
from screen import advised, at_rest, compared, settled, text_of, words_in
from test_snapshots import SIZES

import engine
from tui import format as text
from tui.changes import OpenSources, SetModel, SetScale
from tui.session import EngineSession
from tui.state import PlanState
from tui.views import bars, stages
from tui.views.marks import Marks
from tui.views.sentences import brief, why
from tui.views.workflow import about
from tui.workers import Cancelled

MARKS = Marks("*", "x", "!")
FIG_1 = """format: sparkplan-workflow/1
name: site analytics
jobs:
- name: visits
  stages: [{name: map, tasks: 32, steps: [{cpu: 20s}]}]
- name: views
  after: visits
  stages:
  - {name: map, tasks: 56, steps: [{cpu: 20s, disk: 128MB}]}
  - {name: reduce, tasks: 16, steps: [{network: 300MB, cpu: 4s}]}
- name: durations [b]x[/b]
  after: visits
  stages:
  - {name: map, tasks: 32, steps: [{cpu: 10s, disk: 640MB}, {disk: 128MB}]}
  - {name: reduce, tasks: 32, steps: [{network: 1250MB, cpu: 20s}]}
- name: report
  after: [views, durations "[b]x[/b]"]
  stages: [{name: reduce, tasks: 2, load: 1s, steps: [{network: 25MB, cpu: 4s}]}]
""".replace('durations "[b]x[/b]"', '"durations [b]x[/b]"')


class WorkflowSession(EngineSession):
    """Fixed types and prices, so that a catalog may change without changing a snapshot."""

    def _catalog(self, state):
        return engine.load_catalog("papers")


@pytest.fixture
def workflow(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(FIG_1)
    return str(path)


def opened(planner, workflow, **options):
    return planner(WorkflowSession(), sources=(workflow,), deadline_seconds=600.0, **options)


async def ready(pilot):
    await settled(pilot)


@pytest.mark.parametrize("size", SIZES)
def test_a_workflow(snap_compare, planner, workflow, size):
    assert snap_compare(opened(planner, workflow), terminal_size=SIZES[size], run_before=ready)


@pytest.mark.parametrize("size", SIZES)
def test_a_workflow_in_ascii(snap_compare, planner, workflow, size):
    app = opened(planner, workflow, glyphs="ascii", theme="ansi-dark")
    assert snap_compare(app, terminal_size=SIZES[size], run_before=ready)


async def test_a_workflow_opens_on_its_view_and_names_its_jobs(planner, workflow):
    async with at_rest(opened(planner, workflow), (120, 40)) as (app, pilot):
        shown = text_of(app)
        assert "[6 Workflow]" in shown
        assert "a workflow of 4 jobs" in shown
        assert "durations [b]x[/b]" in shown
        assert "model boe" in shown
        await pilot.press("1")
        await settled(pilot)
        assert "[1 Curves]" in text_of(app)


@pytest.mark.parametrize("mix", [1, 2])
async def test_the_answer_is_settled_and_that_of_the_view(planner, workflow, mix):
    """Of one type or a mix: what is recommended takes as long as its states, not as a grid says."""
    async with at_rest(opened(planner, workflow, mix=mix), (120, 40)) as (app, _):
        built, found = app.built, app.answer.report.recommendation.recommended
        asked = engine.recommend(
            built.plan.fitted,
            catalog=built.catalog,
            deadline_seconds=600.0,
            mix=mix,
            instances=["*"],
        )
        assert found.composition == asked.recommended.composition
        assert found.seconds == pytest.approx(asked.recommended.seconds)
        if len(found.composition) == 1:
            course = app._session.workflow_report(app.state, app.answer)
            assert course.seconds == pytest.approx(found.seconds)


async def test_other_models_are_not_told_to_be_used_for_a_workflow(planner, workflow):
    """Each said what runs to add, and to use another one of those that do not plan it either."""
    async with at_rest(opened(planner, workflow), (120, 40), "5") as (app, _):
        others = len(engine.MODELS_BY_NAME) - 1
        assert text_of(app).count("  for one job, not several on one cluster") == others
        assert ":model" not in words_in(app._panels.prose("evidence-about"))
        assert not app.comparing.waiting
        assert "fitting ..." not in text_of(app)


def test_a_cost_of_another_time_is_not_that_of_the_states(workflow):
    """A grid of node counts was 8 % short, and its cost stood beside the time of the states."""
    session, state = WorkflowSession(), PlanState(sources=(workflow,), deadline_seconds=600.0)
    answer = session.answer(state, session.build(state, lambda line: None))
    answer = session.mixed(replace(state, mix=1), answer)
    found = session.workflow_report(state, answer)
    assert "$" in in_words(about(answer, found))
    longer = replace(found.prediction, seconds=1.05 * found.seconds)
    assert "$" not in in_words(about(answer, replace(found, prediction=longer)))


@pytest.mark.parametrize("nodes", [3, 16, 64])
@pytest.mark.parametrize("scale", [1.0, 0.3, 4.0])
def test_an_interpolated_time_is_said_to_be_one_until_it_is_settled(workflow, scale, nodes):
    """The Why panel said 1m 07s, and the states beside it 1m 12s, of the same cluster."""
    session = WorkflowSession()
    state = PlanState(
        sources=(workflow,), deadline_seconds=600.0, scale=scale, max_nodes=nodes, mix=1
    )
    answer = session.answer(state, session.build(state, lambda line: None))
    of_states = text.seconds(session.workflow_report(state, answer).seconds)
    assert answer.provisional
    for lines in (why(state, answer, MARKS), brief(state, answer, MARKS), stages.about(answer)):
        said = in_words(lines)
        assert "Interpolated, not settled yet" in said
        assert f"estimated by itself this cluster takes {of_states}" in said
    after = session.mixed(state, answer)
    assert not session.answer(state, after.built).provisional, "what was settled is kept"
    assert "not settled" not in in_words(why(state, after, MARKS))
    found = session.workflow_report(state, after)
    assert text.seconds(after.best.seconds) == text.seconds(found.seconds)


def test_a_long_name_leaves_room_for_what_is_said(workflow):
    """The sentence has two lines: what bounds the jobs, and which model says so, were cut off."""
    session, state = WorkflowSession(), PlanState(sources=(workflow,), deadline_seconds=600.0)
    answer = session.answer(state, session.build(state, lambda line: None))
    found = session.workflow_report(state, answer)
    said = in_words(about(answer, replace(found, name="nightly " * 20 + "report 日本語")))
    assert said.startswith("nightly nigh")
    assert "日本語, 4 jobs, on" in said
    assert len(said) - len(in_words(about(answer, replace(found, name="")))) <= 24


def in_words(lines):
    return "".join(words for line in lines for words, _ in line)


async def test_a_log_shows_its_jobs_on_key_6(planner):
    async with at_rest(planner(WorkflowSession(), sources=("sort-small",)), (120, 40)) as (
        app,
        pilot,
    ):
        assert " 6 Workflow " in text_of(app)
        while_it_was_read = bars.tabs(app.state, None, width=120)
        assert while_it_was_read == bars.tabs(app.state, app.built, width=120), "a tab has moved"
        await pilot.press("6")
        await settled(pilot)
        shown = text_of(app)
        assert "job 0" in shown
        assert "state by state" in shown
        line = shown[shown.index("ends, state by state") :].partition("Jobs by state")[0]
        assert "$" not in line, "the cost is that of the plan's model, whose time is another"
        await pilot.press("down", "tab", "down", "3", "6")
        await settled(pilot)


async def test_runs_without_stages_say_what_is_missing(planner):
    async with at_rest(planner(FakeSession(evidence=without_stages())), (80, 24)) as (app, pilot):
        assert "6 Workflow" not in text_of(app)
        await pilot.press("6")
        await settled(pilot)
        assert "needs a workflow or an event log" in text_of(app)


def test_a_workflow_that_nobody_waits_for_is_not_kept(workflow):
    """It took the place of what had been opened instead."""

    def say(words):
        if words == "reading prices":
            raise Cancelled

    session = EngineSession()
    with pytest.raises(Cancelled):
        session.build(PlanState(sources=(workflow,)), say)
    assert session._workflow is session._profile is None


async def test_naming_where_it_ran_reads_the_workflow_again(planner):
    few, ran_on = ("m5.xlarge", "c6i.2xlarge"), "m5.xlarge"
    async with at_rest(
        planner(
            EngineSession(),
            sources=("nightly-pipeline",),
            ran_on=ran_on,
            instances=few,
            max_nodes=2,
        ),
        (120, 40),
    ) as (app, _):
        parts = app.built.plan.fitted.plans[0].parts
        assert {p.observed.run.cluster.instance.name for p in parts if p.observed} == {"m5.xlarge"}


async def test_a_broken_workflow_leaves_the_last_good_one_usable(planner, workflow, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text("format: sparkplan-workflow/1\njobs: []\n")
    async with at_rest(opened(planner, workflow), (120, 40)) as (app, pilot):
        app.dispatch(OpenSources((str(broken),)))
        await settled(pilot)
        assert "the workflow has no jobs" in " ".join(text_of(app).split())
        app.dispatch(SetScale(2.0))
        await settled(pilot)
        assert "a workflow of 4 jobs" in text_of(app)
        assert "2x" in text_of(app)


async def test_another_model_is_refused_and_not_ignored(planner, workflow):
    async with at_rest(opened(planner, workflow), (120, 40)) as (app, pilot):
        app.dispatch(SetModel("ernest"))
        await settled(pilot)
        assert "workflows are estimated by boe alone, not by ernest" in text_of(app)
        assert app.state.model == "sparkplan"


async def test_evidence_and_experiments_speak_of_a_workflow_not_of_a_job_profile(planner, workflow):
    async with at_rest(opened(planner, workflow), (80, 24), "5") as (app, pilot):
        await compared(pilot)
        models = app.query_one("#models")
        assert models.rows[models.cursor][1][0] == "boe"
        assert models.rows[models.cursor][7][0] == "used", "nobody chose it"
        shown = " ".join(text_of(app).split())
        assert "Model boe on 4 jobs" in shown
        assert "It was tried on no run of the whole." in shown
        assert "it is put together from its jobs" in shown
        assert "It is the default" not in shown
        assert "job profile" not in shown.partition("Measured runs")[2]
        await pilot.press("8")
        await advised(pilot)
        assert "only a job profile" not in text_of(app)


async def test_the_jobs_of_a_workflow_have_rows_at_24_lines(planner):
    async with at_rest(
        planner(WorkflowSession(), sources=("nightly-pipeline",), instances=("m4.*",), max_nodes=2),
        (80, 24),
    ) as (app, _):
        shown = text_of(app)
        names = ("word counts", "sort orders", "click features", "sales report", "publish")
        assert all(name in shown for name in names)
        assert app.query_one("#states").size.height >= 3


@pytest.mark.parametrize("mix", [1, 2])
def test_the_planner_proves_what_the_command_proves(workflow, mix):
    """Its plan goes beyond the nodes of the goal, and so the same answer was called optimal by
    `workflow recommend` alone. A slider that moves on keeps the exact times."""
    session = WorkflowSession()
    few = ("m1.large", "m2.xlarge", "r3.xlarge")
    state = PlanState(sources=(workflow,), deadline_seconds=600.0, mix=mix, instances=few)
    built = session.build(state, lambda line: None)
    at_once = session.answer(state, built)
    settled_answer = session.mixed(state, at_once)
    found = settled_answer.report.recommendation
    asked = engine.recommend(
        built.plan.fitted, catalog=built.catalog, deadline_seconds=600.0, mix=mix, instances=few
    )
    assert not at_once.report.recommendation.optimal
    assert found.optimal
    assert asked.optimal
    assert found.to_dict() == asked.to_dict()
    best = found.recommended
    curve = settled_answer.curve(next(iter(best.composition)))
    if len(best.composition) == 1:
        assert curve.seconds[best.nodes - 1] == pytest.approx(best.seconds, rel=1e-12)
    moved = replace(state, deadline_seconds=700.0)
    next_answer = session.answer(moved, built)
    assert next_answer.built.plan is settled_answer.built.plan, "they were evaluated once more"
    assert session.mixed(moved, next_answer).built.plan is settled_answer.built.plan
    assert session.answer(moved, built).built.plan is settled_answer.built.plan
