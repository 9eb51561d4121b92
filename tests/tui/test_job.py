"""The job's own parameters: what is planned for is seen, said, changed, undone and kept."""

import re

import pytest
from command_line import refused
from screen import at_rest, settled, text_of

import engine
from tui import cli
from tui.command_parser import outcome_of
from tui.history import difference
from tui.input_text import job_text
from tui.reducer import reduce
from tui.session import EngineSession
from tui.state import MEASURED_JOB, JobInputs, PlanState
from tui.storage.scenario import format_scenario, read_top, state_of
from tui.typed_commands import CommandContext
from tui.widgets.table import Table

ROWS = [
    (nodes, size, k, round(60 + k * size / 1e6 * (20 + 200 / nodes)))
    for k in (3, 9)
    for nodes, size in ((2, 1e6), (4, 1e6), (8, 1e6), (4, 2e6))
]

NAMES = CommandContext(parameters=("k", "line length"))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "runs.csv"
    lines = [f"m5.xlarge,{n},{size:.0f},{k},{seconds}" for n, size, k, seconds in ROWS]
    path.write_text("instance_type,nodes,input_size,k,seconds\n" + "\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_parameters_that_are_planned_for_are_seen_and_can_be_changed(
    planner, table, size
):
    chosen = planner(EngineSession(), sources=(table,), instances=("m5.*",))
    async with at_rest(chosen, size) as (app, pilot):
        before = app.answer.best.seconds
        assert "8 runs · k 9 · ran on" in text_of(app).splitlines()[0]
        await app.run_command_line("param k=3")
        app = await settled(pilot)
        assert "8 runs · k 3 · ran on" in text_of(app).splitlines()[0]
        asked = app.built.plan.surface.workload
        assert dict(asked.parameters) == {"k": 3.0}
        same = engine.fit(app.built.plan.surface.fitted.profile).predict(
            cluster=app.built.plan.cluster(app.answer.best), workload=asked
        )
        assert app.answer.best.seconds == pytest.approx(same.seconds)
        assert app.answer.best.seconds != before
        await pilot.press("u")
        app = await settled(pilot)
        assert "· k 9 ·" in text_of(app).splitlines()[0]
        await app.run_command_line("param kk=3")
        app = await settled(pilot)
        assert "unknown parameter 'kk'; did you mean k?" in text_of(app)


async def test_the_row_of_the_job_leads_to_its_command(planner, table):
    async with planner(EngineSession(), sources=(table,), instances=("m5.*",)).run_test(
        size=(120, 40)
    ) as pilot:
        app = await settled(pilot)
        row = app.query_one("#inputs", Table).rows[-1]
        assert row == ("Job", "k 9", "J")
        assert "Job      k 9" in text_of(app)
        await pilot.press("J")
        await pilot.pause()
        assert "param k=9" in text_of(app)


async def test_where_the_runs_know_no_parameters_there_is_no_row_and_the_key_says_so(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        assert app.query_one("#inputs", Table).rows[-1][0] == "Model"
        await pilot.press("J")
        await pilot.pause()
        assert "the runs know no parameters of the job and no iterations" in text_of(app)


async def test_measured_runs_say_their_size_and_their_parameters(planner, table):
    async with planner(EngineSession(), sources=(table,), instances=("m5.*",)).run_test(
        size=(200, 50)
    ) as pilot:
        await settled(pilot)
        await pilot.press("5")
        app = await settled(pilot)
        app.query_one("#runs").focus()
        await pilot.pause()
        shown = text_of(app)
        assert "1M units  k 3" in shown
        assert re.search(r"runs\.csv:\d: \d × m5\.xlarge, \dM units, k \d", shown)


@pytest.mark.parametrize(
    ("line", "job"),
    [
        ("param k=3", JobInputs(None, (("k", 3.0),))),
        ("param k=3 line length=80", JobInputs(None, (("k", 3.0), ("line length", 80.0)))),
        ("param k=3, line length=1e3", JobInputs(None, (("k", 3.0), ("line length", 1000.0)))),
        ("param k=off", MEASURED_JOB),
        ("param off", MEASURED_JOB),
        ("iterations 20", JobInputs(20.0)),
        ("iterations off", MEASURED_JOB),
    ],
)
def test_what_is_typed(line, job):
    assert reduce(PlanState(sources=("a",)), outcome_of(line, NAMES)).job == job


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("param k", "'k' is not NAME=NUMBER; type param k=10, or off"),
        ("param k=", "'k=' is not NAME=NUMBER"),
        ("param k=nan", "k: 'nan' is not a number"),
        ("param k=0,5", "'k=0,5' is not NAME=NUMBER"),
        ("param foo=1", "unknown parameter 'foo' (choices: k, line length)"),
        ("param", "param needs NAME=VALUE|off; type :param k=9"),
        ("iterations none at all", "'none at all' is not a number of iterations"),
        ("iterations -1", "'-1' is not a number of iterations"),
    ],
)
def test_what_is_refused(line, says):
    with pytest.raises(engine.BadInput) as caught:
        outcome_of(line, NAMES)
    assert says in str(caught.value)


def test_a_scenario_keeps_both_and_undo_names_them(tmp_path):
    state = PlanState(sources=("a.csv",), job=JobInputs(12.0, (("k", 3.0), ("line length", 0.1))))
    (tmp_path / "a.csv").write_text("nodes,input_size,seconds\n1,1,1\n")
    path = tmp_path / "one.yaml"
    path.write_text(format_scenario(state, folder=tmp_path))
    assert 'param: "k=3 line length=0.1"' in path.read_text()
    assert state_of(read_top(path), folder=tmp_path).job == state.job
    after = PlanState(sources=("a.csv",), job=JobInputs(None, (("k", 9.0),)))
    before = PlanState(sources=("a.csv",), job=JobInputs(None, (("k", 3.0),)))
    assert difference(before, after) == "job parameters k=3 → k=9"


def test_the_command_takes_them(monkeypatch, table):
    opened = []
    monkeypatch.setattr("tui.terminal.require_interactive", lambda: None)
    monkeypatch.setattr("tui.terminal.speed_up_start", lambda: None)
    monkeypatch.setattr("tui.app.run", lambda options: opened.append(options) or 0)
    assert cli.main([table, "--param", "k=3", "--iterations", "7"]) == 0
    assert opened[0].start.job == JobInputs(7.0, (("k", 3.0),))


def test_a_parameter_that_is_no_number_is_refused(capsys, table):
    err = refused(capsys, f"predict {table} --nodes 2 --param k=nan")
    assert "'k=nan' is not NAME=NUMBER" in err


def test_other_evidence_begins_with_its_own(table):
    from tui.changes import OpenSources

    state = PlanState(sources=("a",), job=JobInputs(3.0))
    assert reduce(state, OpenSources((table,))).job == MEASURED_JOB
    assert reduce(state, OpenSources((table,), add=True)).job == JobInputs(3.0)
    assert job_text.line_of(JobInputs(None, (("k", 0.1),))) == "k=0.1"
