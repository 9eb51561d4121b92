"""Clusters of several types in the planner: searched after the slider rests, shown once."""

import threading
from dataclasses import replace

import pytest
from fakes import FakeSession, started, without_stages
from screen import at_rest, compared, settled, text_of

import engine
from tui.answers import Answer, BuiltPlan
from tui.behaviours.settling import MAX_REST_SECONDS, MIN_REST_SECONDS
from tui.changes import SetDeadline, SetMix, SetScale
from tui.messages import MixReady
from tui.mixing import max_types
from tui.session import EngineSession
from tui.state import Limits, PlanState, Terms
from tui.views import curves
from tui.widgets.chart import Chart
from tui.widgets.table import Table

MIXED_SECONDS = 1200.0
"""A deadline that a mix meets for less than any cluster of one type (see the first test)."""


def one_type_and_mix(session: FakeSession, deadline: float):
    state = started(deadline_seconds=deadline)
    built = session.build(state, lambda words: None)
    single = session.answer(state, built)
    return state, built, single, session.mixed(state, single)


def test_two_types_are_the_default_and_a_mix_is_found_by_a_plain_search():
    session = FakeSession(evidence=without_stages())
    state, built, single, mixed = one_type_and_mix(session, MIXED_SECONDS)
    assert max_types(state, built.catalog) == 2
    direct = engine.recommend(
        built.plan.fitted,
        catalog=built.catalog,
        workload=built.plan.surface.workload,
        deadline_seconds=MIXED_SECONDS,
        mix=2,
    )
    assert len(mixed.best.composition) == 2
    assert mixed.best.composition == direct.recommended.composition
    assert mixed.best.cost_usd < single.best.cost_usd
    assert mixed.report.recommendation.alternatives[0].composition == single.best.composition
    assert mixed.compared.instance == list(mixed.best.composition)[1]
    assert list(mixed.equivalent) == list(mixed.best.composition)[:1]


async def test_a_service_of_one_worker_type_is_searched_with_one_unless_more_are_asked_for(planner):
    """The planner on gcp opened with a mix that Dataproc does not start."""
    options = {"sources": ("sort-small",), "catalog": "gcp", "instances": ("n2-*",), "mix": None}
    async with at_rest(planner(EngineSession(), **options), (120, 40)) as (app, pilot):
        assert "one type" in text_of(app)
        assert "up to 2 types" not in text_of(app)
        await pilot.press("x")
        await settled(pilot)
        assert app.state.mix == 2
        assert "up to 2 types" in text_of(app)
    kubernetes = replace(app.state, mix=None, terms=Terms(platform="kubernetes"))
    on_kubernetes = EngineSession().build(kubernetes, lambda words: None).catalog
    assert max_types(kubernetes, on_kubernetes) == 2


def test_the_same_question_is_searched_once():
    session = FakeSession(evidence=without_stages())
    state, built, _, mixed = one_type_and_mix(session, MIXED_SECONDS)
    again = session.answer(state, built)
    assert again.report is mixed.report
    assert session.mixed(state, again) is again


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_mix_is_shown_everywhere_once_the_slider_rests(planner, size):
    session = FakeSession(evidence=without_stages())
    async with at_rest(planner(session, mix=2, deadline_seconds=MIXED_SECONDS), size) as (
        app,
        pilot,
    ):
        best = app.answer.best
        assert best.instance is None
        names = [f"{count} × {name}" for name, count in best.composition.items()]
        assert " + ".join(names) in " ".join(text_of(app).split())
        point = app.query_one("#time", Chart).data.points[0]
        assert (point.x, point.label) == (sum(best.composition.values()), "mix")
        if size == (120, 40):
            assert "The cheapest of one type" in " ".join(text_of(app).split())
        await pilot.press("2")
        await settled(pilot)
        assert " + ".join(names) in text_of(app)
        for view in ("stages", "evidence"):
            app.action_view(view)
            await settled(pilot)
        await pilot.press("y")
        await pilot.pause()
        assert " + ".join(names) in app.clipboard
        await pilot.press("e")
        await pilot.pause()
        assert "spark-submit" in text_of(app)
        assert "nothing to set" not in text_of(app)
        assert session.builds == 1


async def test_one_type_answers_at_once_and_only_the_last_question_is_searched(planner):
    class Slow(FakeSession):
        def __init__(self):
            super().__init__(evidence=without_stages())
            self.gate, self.asked = threading.Event(), []

        def mixed(self, state, answer):
            self.asked.append(state.deadline_seconds)
            assert self.gate.wait(10.0)
            return super().mixed(state, answer)

    session = Slow()
    async with planner(session, mix=2).run_test(size=(120, 40)) as pilot:
        app = pilot.app
        while app.answer is None or not session.asked:
            await pilot.pause(0.01)
        for deadline in (1150.0, 1300.0, MIXED_SECONDS):
            app.dispatch(SetDeadline(deadline))
            assert app.answer.best.instance is not None
        session.gate.set()
        await settled(pilot)
        assert app.answer.best.instance is None
        assert session.asked[1:] == [MIXED_SECONDS]


async def test_while_another_size_is_planned_nothing_old_is_searched_or_drawn(planner, monkeypatch):
    class Slow(FakeSession):
        def __init__(self):
            super().__init__(evidence=without_stages())
            self.gate, self.searched = threading.Event(), []
            self.gate.set()

        def build(self, state, say, *shown):
            assert self.gate.wait(10.0)
            return super().build(state, say, *shown)

        def mixed(self, state, answer):
            self.searched.append(answer.built.plan.request.workload.input_bytes)
            return super().mixed(state, answer)

    drawn, show = [], curves.show
    monkeypatch.setattr(curves, "show", lambda panels, answer: drawn.append(show(panels, answer)))
    session = Slow()
    async with at_rest(planner(session, mix=2), (120, 40)) as (app, pilot):
        before = app.answer.built.plan.request.workload.input_bytes
        app.dispatch(SetDeadline(MIXED_SECONDS))  # what is not yet searched when the size changes
        session.gate.clear()
        session.searched.clear()
        drawn.clear()
        app.dispatch(SetScale(2.0))
        await pilot.pause(2 * MAX_REST_SECONDS)
        assert app.busy
        assert "computing" in text_of(app)
        assert app.settling  # what is exported waits for the new answer
        assert (session.searched, drawn) == ([], [])
        session.gate.set()
        await settled(pilot)
        assert session.searched == [2.0 * before]
        assert drawn


async def test_a_search_that_was_put_off_for_a_plan_that_cannot_be_asked_is_made(planner):
    class Refusing(FakeSession):
        def answer(self, state, built):
            if state.scale == 2.0:
                raise engine.BadInput("not this size")
            return super().answer(state, built)

    async with planner(Refusing(evidence=without_stages()), mix=2).run_test() as pilot:
        app = await settled(pilot)
        app.dispatch(SetDeadline(MIXED_SECONDS))
        app.dispatch(SetScale(2.0))
        await settled(pilot)
        assert app.answer.best.instance is None


async def test_the_next_search_waits_as_long_as_the_last_one_took(planner):
    app = planner(FakeSession(evidence=without_stages()), mix=2)
    async with at_rest(app, (120, 40)):
        for took, rest in ((0.001, MIN_REST_SECONDS), (0.1, 0.1), (2.0, MAX_REST_SECONDS)):
            app.on_mix_ready(MixReady(app.answer, app.answer, took))
            app.dispatch(SetDeadline(1000.0 + took))
            assert app._settling._interval == rest


async def test_a_search_that_fails_leaves_the_answer_of_one_type(planner):
    class Broken(FakeSession):
        def mixed(self, state, answer):
            raise engine.BadInput("no mix today")

    async with at_rest(planner(Broken(), mix=2), (120, 40)) as (app, _):
        assert app.answer.best is not None
        assert "no mix today" in text_of(app)


async def test_one_type_can_be_asked_for(planner):
    async with at_rest(
        planner(FakeSession(evidence=without_stages()), mix=2, deadline_seconds=MIXED_SECONDS),
        (120, 40),
    ) as (app, pilot):
        app.dispatch(SetMix(1))
        await settled(pilot)
        assert app.answer.best.instance is not None
        await pilot.press("u")
        await settled(pilot)
        assert app.answer.best.instance is None


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_first_screen_says_how_many_types_a_composition_may_have(planner, size):
    """At 80x24 only the help did."""
    for types, title in ((2, "up to 2 types"), (1, "composition")):
        async with at_rest(planner(mix=types), size) as (app, _):
            assert app.query_one("#short", Table).columns[1].title == title


async def test_the_title_of_the_list_follows_how_many_types_there_may_be(planner):
    """It said "up to 2 types" after `:mix 1`, as the rows had stayed the same."""
    async with at_rest(planner(mix=2), (120, 40)) as (app, pilot):
        assert "up to 2 types  " in text_of(app)
        app.dispatch(SetMix(3))
        await settled(pilot)
        assert "up to 3 types  " in text_of(app)
        app.dispatch(SetMix(1))
        await settled(pilot)
        assert "composition  " in text_of(app)
        assert "up to " not in text_of(app)


async def test_spot_prices_are_said_where_the_inputs_have_no_room(planner):
    async with at_rest(planner(spot=True), (80, 24)) as (app, _):
        assert "at spot prices" in " ".join(text_of(app).split())


async def test_a_log_has_states_where_a_mix_is_best(planner):
    """They were said to be missing, as of a run table."""
    session = EngineSession()
    options = {"sources": ("nightly-features",), "ran_on": "m5.xlarge", "deadline_seconds": 51.0}
    few = Limits(most=(("*", 2),))
    async with at_rest(planner(session, mix=2, limits=few, **options), (120, 40)) as (app, pilot):
        assert len(app.answer.best.composition) == 2
        await pilot.press("6")
        await settled(pilot)
        assert "about the mix's capacity" in " ".join(text_of(app).replace("│", " ").split())
        assert "job 0" in text_of(app)


async def test_views_that_know_no_mix_say_what_they_are_of(planner):
    """The model in use stood in Evidence with another time than the answer, and a frontier without
    the mix said that nothing is both faster and cheaper."""
    session = FakeSession(evidence=without_stages())
    async with at_rest(planner(session, mix=2, deadline_seconds=MIXED_SECONDS), (100, 30)) as (
        app,
        pilot,
    ):
        assert app.answer.best.instance is None
        await pilot.press("3")
        await pilot.pause()
        assert "of one type: none but a mix" in text_of(app)
        await pilot.press("5")
        await compared(pilot)
        (equivalent,) = app.answer.equivalent.items()
        assert f"Every model on {equivalent[1]} × {equivalent[0]}, in place of the mix" in text_of(
            app
        )


async def test_a_title_is_cut_with_a_sign_of_the_glyphs(planner):
    async with at_rest(planner(glyphs="ascii"), (100, 30)) as (app, pilot):
        app._panels.set_title("time", "4 × " + "words of a title " * 9)
        await pilot.pause()
        assert text_of(app).isascii()


class Settling(FakeSession):
    """Finds, when it is settled, that nothing meets the first deadline after all."""

    first: float | None = None

    def mixed(self, state: PlanState, answer: Answer) -> Answer:
        self.first = self.first or state.deadline_seconds
        if state.deadline_seconds != self.first:
            return answer
        return self.answer(replace(state, deadline_seconds=1.0), answer.built)


@pytest.mark.parametrize("chosen", [None, 1200.0])
async def test_a_default_deadline_that_is_not_met_once_settled_moves(planner, chosen) -> None:
    """One that was chosen stays."""
    session = Settling()
    async with at_rest(planner(session, deadline_seconds=chosen), (120, 40)) as (app, _):
        found = app.answer.report.recommendation.recommended
        assert (found is None) is (chosen is not None)
        assert (app.state.deadline_seconds == session.first) is (chosen is not None)


class Tight(FakeSession):
    """Meets the first deadline by a hair on the grid, and not when it is settled."""

    def __init__(self) -> None:
        super().__init__()
        self.default: float | None = None
        self.searched: list[float | None] = []

    def answer(self, state: PlanState, built: BuiltPlan) -> Answer:
        deadline = state.deadline_seconds
        self.default = self.default or deadline
        if deadline is not None and self.default and deadline < 0.99 * self.default:
            return super().answer(replace(state, deadline_seconds=1.0), built)
        return super().answer(state, built)

    def mixed(self, state: PlanState, answer: Answer) -> Answer:
        self.searched.append(state.deadline_seconds)
        if state.deadline_seconds != self.default:
            return answer
        return super().answer(replace(state, deadline_seconds=1.0), answer.built)


async def test_a_default_deadline_that_the_grid_can_just_meet_has_moved_before_it_is_shown(
    planner,
) -> None:
    """It moved by itself once the answer was settled, on a large log after seconds."""
    session = Tight()
    async with at_rest(planner(session), (120, 40)) as (app, _):
        assert app.answer.report.recommendation.recommended is not None
        assert app.state.deadline_seconds > session.default
        assert set(session.searched) == {app.state.deadline_seconds}


class Tighter(Tight):
    """Does not meet the deadline that has moved either, once it is settled."""

    def mixed(self, state: PlanState, answer: Answer) -> Answer:
        self.searched.append(state.deadline_seconds)
        if state.deadline_seconds != self.searched[0]:
            return answer
        none = FakeSession.answer(self, replace(state, deadline_seconds=1.0), answer.built)
        found, later = none.report.recommendation, 2.0 * (state.deadline_seconds or 1.0)
        missed = replace(found.nearest, seconds=later, high=later)
        report = replace(none.report, recommendation=replace(found, nearest=missed))
        return replace(none, report=report)


async def test_a_default_deadline_that_has_moved_moves_again_where_it_was_not_enough(
    planner,
) -> None:
    session = Tighter()
    async with at_rest(planner(session), (120, 40)) as (app, _):
        assert app.answer.report.recommendation.recommended is not None
        assert len(dict.fromkeys(session.searched)) == 2
        assert app.state.deadline_seconds == session.searched[-1]
