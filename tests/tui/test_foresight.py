"""The next step of the data size, computed while the planner rests."""

import threading
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from screen import at_rest, settled, waits
from watched import calls_of

import engine
from engine.models.laws.encoding import Rows
from engine.models.laws.run_times import KEPT_ROWS, RunTimeFit
from engine.models.replay.replayed_run import Replay
from tui.answers import BuiltPlan
from tui.behaviours import foresight
from tui.behaviours.foresight import compute_next_steps, keeps_next_steps
from tui.changes import SetScale
from tui.session import EngineSession
from tui.state import JobInputs, PlanState
from tui.workers import Cancelled

LOG = PlanState(sources=("sort-large",), ran_on="m5.xlarge", instances=("m5.*",), max_nodes=64)


def quiet(words: str = "") -> None:
    pass


def step(built: BuiltPlan, times: float) -> engine.Plan:
    plan = built.plan
    assert plan.surface.workload.input_bytes is not None
    at = replace(plan.surface.workload, input_bytes=times * plan.surface.workload.input_bytes)
    return engine.prepare_fitted(plan.fitted, replace(plan.request, workload=at))


def test_a_foreseen_step_replays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    built = EngineSession().build(LOG, quiet)
    compute_next_steps(built, quiet)
    replays = calls_of(monkeypatch, Replay, "replayed")
    step(built, 1.2)
    step(built, 0.9)
    assert not replays
    step(built, 2.5)
    assert replays


def test_what_is_given_up_is_gone_on_with_and_changes_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built = EngineSession().build(LOG, quiet)
    replays = calls_of(monkeypatch, Replay, "replayed")

    def check() -> None:
        if len(replays) >= 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        compute_next_steps(built, check)
    assert len(replays) == 5
    found = step(built, 1.2).surface.forecast
    fresh = step(EngineSession().build(LOG, quiet), 1.2).surface.forecast
    np.testing.assert_array_equal(found.seconds, fresh.seconds)
    np.testing.assert_array_equal(found.log_scale, fresh.log_scale)


def test_a_step_of_what_is_given_up_is_not_begun() -> None:
    built = EngineSession().build(LOG, quiet)
    compute_next_steps(built, quiet)

    def check() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        compute_next_steps(built, check)


def test_other_models_keep_nothing_and_foresee_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in ("simcost", "boe"):
        built = EngineSession().build(replace(LOG, model=model), quiet)
        forecasts = calls_of(monkeypatch, type(built.plan.fitted), "forecast")
        compute_next_steps(built, quiet)
        assert not forecasts


def table_of_iterations(folder: Path) -> PlanState:
    """Run times at two sizes and three numbers of iterations, and a state of them."""
    rows = [
        f"{nodes},{size} GB,{iterations},{(1.1 if (nodes + iterations) % 3 else 0.95) * seconds}"
        for nodes in (2, 4, 8, 16)
        for size in (1, 2)
        for iterations in (5, 10, 20)
        for seconds in [20.0 + size * iterations * 40.0 / nodes]
    ]
    table = folder / "iterations.csv"
    table.write_text("\n".join(["nodes,input_size,iterations,seconds", *rows]))
    types = ("m5.*", "c5.*", "r5.*")
    return replace(LOG, sources=(str(table),), instances=types, deadline_seconds=60.0)


def test_of_run_times_what_the_next_steps_need_is_computed_once(tmp_path: Path) -> None:
    for state, kept in ((table_of_iterations(tmp_path), True), (LOG, False)):
        session = EngineSession()
        built = session.build(state, quiet)
        assert not keeps_next_steps(None, built)
        assert keeps_next_steps(built, built)
        assert keeps_next_steps(built, session.build(replace(state, scale=2.0), quiet)) is kept
        assert not keeps_next_steps(built, session.build(replace(state, max_nodes=128), quiet))
        if kept:
            other = replace(state, job=JobInputs(iterations=7.0))
            assert not keeps_next_steps(built, session.build(other, quiet))


def test_means_at_the_measured_sizes_are_kept_through_the_search_for_mixes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, session, computed = table_of_iterations(tmp_path), EngineSession(), []
    at_each = RunTimeFit._at_each

    def counting(fit: RunTimeFit, rows: Rows, *args: object) -> object:
        if len(rows) in KEPT_ROWS:
            computed.append(len(rows))
        return at_each(fit, rows, *args)

    monkeypatch.setattr(RunTimeFit, "_at_each", counting)
    for scale in (1.25, 1.5, 1.75):
        at = replace(state, scale=scale)
        session.mixed(at, session.answer(at, session.build(at, quiet)))
        assert bool(computed) is (scale == 1.25)
        computed.clear()


async def test_a_planner_at_rest_foresees_once_and_gives_way_to_a_question(planner, monkeypatch):
    begun, given_up, plans = threading.Event(), threading.Event(), []

    def until_cancelled(built, check):
        plans.append(built)
        begun.set()
        while len(plans) == 1:
            try:
                check()
            except Cancelled:
                given_up.set()
                raise

    monkeypatch.setattr(foresight, "REST_SECONDS", 0.01)
    monkeypatch.setattr(foresight, "compute_next_steps", until_cancelled)
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        async for _ in waits():
            if begun.is_set():
                break
        assert plans == [app.built]
        app.dispatch(SetScale(2.0))
        await settled(pilot)
        assert given_up.is_set()
        assert app.built is not plans[0]
        async for _ in waits():
            if len(plans) == 2 and app._foreseen is app.built:
                break
        assert plans[1] is app.built


async def test_what_fails_is_not_begun_again_and_goes_with_its_model(planner, monkeypatch):
    begun = []

    def failing(built, check):
        begun.append(built)
        raise ValueError

    monkeypatch.setattr(foresight, "REST_SECONDS", 0.01)
    monkeypatch.setattr(foresight, "compute_next_steps", failing)
    async with at_rest(planner(), (120, 40)) as (app, _):
        async for _ in waits():
            if app._foreseen is not None:
                break
        assert begun == [app.built]
        app._foresee()
        assert app._foreseen is begun[0]
        plan, timers = app.built.plan, []
        with monkeypatch.context() as patched:
            patched.setattr(app, "set_timer", lambda *_: timers.append(Mock()) or timers[-1])
            patched.setattr(
                app, "built", replace(app.built, plan=replace(plan, fitted=replace(plan.fitted)))
            )
            app._foresee()
            assert app._foreseen is None
            app._foresee()
        assert [timer.stop.called for timer in timers] == [True, False]
