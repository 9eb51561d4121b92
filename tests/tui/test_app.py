"""The planner driven by keys: what moves, what stays, what is said."""

import threading
from dataclasses import replace

import pytest
from depth import cases, values
from fakes import FakeSession, profile
from screen import at_rest, keyboard_is_seen, settled, text_of, typed, words_in
from textual import events

from tui.views.sentences import selected
from tui.widgets.chart import Chart
from tui.widgets.table import Table

SIZES = [(80, 24), (120, 40)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_screen_answers_the_question(planner, size):
    async with at_rest(planner(), size) as (app, _):
        shown = text_of(app)
        best = app.answer.report.recommendation.recommended
        assert f"{best.nodes} × {best.instance}" in shown
        assert "9 in 10 runs" in shown
        assert "deadline" in shown
        assert "nightly-als, 3 runs" in shown


async def test_both_charts_show_where_there_is_room(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        assert app.query_one("#time", Chart).size.height > 5
        assert app.query_one("#cost", Chart).size.height > 5
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.query_one("#cost", Chart).size.height == 0
        await pilot.press("c")
        await pilot.pause()
        assert app.query_one("#time", Chart).size.height == 0
        assert app.query_one("#cost", Chart).size.height > 4
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert app.query_one("#time", Chart).size.height > 5


async def test_a_terminal_that_grows_shows_what_it_had_no_room_for(planner):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        assert "Compositions" not in text_of(app).splitlines()[1]
        await pilot.resize_terminal(120, 40)
        await settled(pilot)
        assert len(app.query_one("#cost", Chart).data.series) == 1
        assert "2 Compositions  3 Frontier" in text_of(app).splitlines()[1]
        await pilot.press("question_mark")
        await pilot.resize_terminal(80, 24)
        await pilot.press("escape")
        await settled(pilot)
        assert "Compositions" not in text_of(app).splitlines()[1]
        assert app.query_one("#cost", Chart).size.height == 0


async def test_views_that_follow_each_other_at_once_keep_the_keyboard_in_sight(planner):
    """It went to the list of the first one, which nobody saw any more."""
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        for key in ("4", "1"):
            app.simulate_key(key)
        await settled(pilot)
        assert app.state.view == "curves"
        assert app.focused is app.query_one("#deadline")


@pytest.mark.parametrize(
    ("view", "keys"),
    values(("1", ["question_mark"]), ("4", []), deep=[("1", []), ("4", ["question_mark"])]),
)
async def test_a_terminal_that_shrinks_keeps_the_keyboard_somewhere(planner, view, keys):
    """Where the inputs had it, which are not seen then, no arrow key did anything any more."""
    async with at_rest(planner(), (120, 40), view) as (app, pilot):
        app.query_one("#inputs").focus()
        await pilot.press(*keys)
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        await pilot.press(*("escape" for _ in keys))
        assert await keyboard_is_seen(pilot)


async def test_what_is_hidden_late_gives_the_keyboard_to_the_view(planner):
    """The hidden inputs heard of it only after the planner had looked whether they had lost it."""
    async with at_rest(planner(), (120, 40), "4") as (app, pilot):
        await settled(pilot)
        wanted = app.focused
        app.query_one("#inputs").focus()
        await settled(pilot)
        app.screen.set_focus(None)
        await settled(pilot)
        assert app.focused is wanted is not None


async def test_another_window_may_have_the_keyboard(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        had = app.focused
        app.post_message(events.AppBlur())
        await settled(pilot)
        assert app.focused is None
        app.post_message(events.AppFocus())
        await settled(pilot)
        assert app.focused is had is not None


async def test_a_source_that_is_missing_leaves_the_last_good_plan(planner):
    from tui.changes import OpenSources

    async with at_rest(planner(), (120, 40)) as (app, pilot):
        good, answer = app.state, app.answer
        app.dispatch(OpenSources(("missing",)))
        await settled(pilot)
        assert app.state == good
        assert app.answer.best.composition == answer.best.composition
        shown = text_of(app)
        assert "missing: no such file; give a path or the name of a sample" in shown
        assert "nightly-als, 3 runs" in shown


async def test_a_first_source_that_is_missing_says_how_to_go_on(planner):
    async with at_rest(planner(sources=("missing",)), (80, 24)) as (app, _):
        shown = text_of(app)
        assert "no such file" in shown
        assert "press o to open" in shown


async def test_a_defect_in_the_engine_is_a_notice_and_no_traceback(planner):
    class Broken(FakeSession):
        def build(self, state, say, *shown):
            if state.model == "broken":
                raise ZeroDivisionError("division by zero")
            return super().build(state, say, *shown)

    from tui.changes import SetModel

    async with at_rest(planner(Broken()), (120, 40)) as (app, pilot):
        app.dispatch(SetModel("broken"))
        await settled(pilot)
        assert "ZeroDivisionError: division by zero; please report this" in text_of(app)
        assert app.state.model == "sparkplan"


async def test_only_the_newest_of_many_plans_is_built(planner):
    class Slow(FakeSession):
        def __init__(self):
            super().__init__()
            self.gate = threading.Event()
            self.gate.set()
            self.scales = []

        def build(self, state, say, *shown):
            self.gate.wait(10.0)
            self.scales.append(state.scale)
            return super().build(state, say, *shown)

    session = Slow()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        session.gate.clear()
        await pilot.press("tab", "tab", *["right"] * 6)
        await pilot.pause()
        assert app.busy
        assert app.answer is not None
        session.gate.set()
        await settled(pilot)
        assert session.scales[-1] == app.state.scale
        assert len(session.scales) <= 3
        assert app.built.plan.request.workload.input_bytes == pytest.approx(
            2.1e12 * app.state.scale
        )


async def test_logs_of_several_applications_are_not_shown_as_one_job(planner):
    """The line at the top named the first, and the warning stood among others in another view."""
    known = profile()
    other = replace(known.runs[0], application="hourly-report")
    mixed = replace(known, runs=(replace(known.runs[0], application="nightly-als"), other))
    async with at_rest(planner(FakeSession(evidence=mixed)), (120, 40)) as (app, _):
        assert "2 applications are taken as one job: press o" in text_of(app)
        assert f"{known.name} + 1 other, 2 runs" in text_of(app)


async def test_where_it_ran_is_asked_and_named_with_completion(planner):
    session = FakeSession(evidence=profile(ran_on=None))
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        assert "Where did it run?" in text_of(app)
        await pilot.press("w")
        await typed(pilot, "c6i.4")
        await pilot.pause()
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.ran_on == "c6i.4xlarge"
        assert "Where did it run?" not in text_of(app)
        assert "ran on c6i.4xlarge" in text_of(app)


async def test_the_filter_of_types_and_one_that_matches_nothing(planner):
    async with at_rest(planner(), (120, 40), "slash") as (app, pilot):
        await typed(pilot, "m5.*")
        await pilot.pause()
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.instances == ("m5.*",)
        assert app.answer.best.instance.startswith("m5.")
        await pilot.press("slash", *["backspace"] * 4)
        await typed(pilot, "nope")
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.instances == ("m5.*",)
        assert "unknown instance type 'nope'" in text_of(app)


async def test_views_by_number_and_the_curve_of_a_selected_type(planner):
    async with at_rest(planner(), (120, 40), "2", "down") as (app, pilot):
        await pilot.pause()
        assert app.state.view == "compositions"
        second = app.answer.report.recommendation.alternatives[0]
        assert app.state.selected == second.instance
        assert app.answer.compared.instance == second.instance
        best = app.answer.best
        assert f"than {best.nodes} × {best.instance}" in words_in(app.query_one("#why"))
        await pilot.press("1")
        await pilot.pause()
        assert len(app.query_one("#time", Chart).data.series) == 2
        await pilot.press("4")
        await pilot.pause()
        assert "iterate" in text_of(app)
        await pilot.press("5")
        await pilot.pause()
        assert "7.5 %" in text_of(app)


@pytest.mark.parametrize("rows", [30, 33, 34, 35, 36])
async def test_the_sentence_on_the_chosen_row_is_whole_at_every_height(planner, rows):
    """In Why, or below the list where Why has no room for it: never cut in both."""
    async with at_rest(planner(), (120, rows), "2", "down") as (app, pilot):
        await pilot.pause()
        sentence = "".join(part for part, _ in selected(app.state, app.answer, app.marks)[0])
        shown = [app.query_one(name) for name in ("#why", "#chosen")]
        assert any(" ".join(sentence.split()) in words_in(one) for one in shown if one.display), (
            sentence
        )


async def test_why_others_lost_is_in_the_table(planner):
    async with at_rest(planner(deadline_seconds=1200.0, max_nodes=16), (120, 40)) as (app, pilot):
        await pilot.press("2", "end")
        await pilot.pause()
        rejected = app.answer.report.recommendation.rejected
        assert len(rejected) > 0
        assert rejected[-1].reason[:40] in words_in(app.query_one("#why"))


async def test_texts_of_the_log_are_shown_and_never_acted_on(planner):
    evil = "[bold]x[/bold]\x1b[31m\u202e[@click=app.quit]y[/]"
    session = FakeSession(evidence=profile(name=evil))
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        shown = text_of(app)
        assert "[bold]x[/bold]␛[31m" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        await pilot.press("4")
        await pilot.pause()
        assert "fit [b]at[/b]" in text_of(app)
        await pilot.press("e")
        await pilot.pause()
        assert "\x1b" not in text_of(app)


async def test_spot_is_a_goal_and_said(planner):
    session = FakeSession()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        before = app.answer.best.cost_usd
        await pilot.press("s")
        await pilot.pause()
        assert app.answer.best.cost_usd < before
        assert "spot" in text_of(app)
        assert session.builds == 1


async def test_ascii_only_means_ascii_only(planner):
    async with at_rest(planner(glyphs="ascii"), (120, 40)) as (app, pilot):
        for keys in (("1",), ("2",), ("3",), ("4",), ("5",), ("question_mark",)):
            await pilot.press(*keys)
            await pilot.pause()
            assert text_of(app).isascii(), keys
        await pilot.press("escape", "e")
        await pilot.pause()
        assert text_of(app).isascii()
        await pilot.press("escape", "ctrl+p")
        await pilot.pause()
        assert text_of(app).isascii()


async def test_every_screen_draws_without_colours(planner, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        for key in ("right", "2", "3", "4", "5", "1", "c", "o", "escape", "w", "escape", "slash",
                    "escape", "m", "escape", "g", "escape", "e", "escape", "question_mark",
                    "escape", "ctrl+p", "escape"):  # fmt: skip
            await pilot.press(key)
            await pilot.pause()
        assert app.answer is not None


@pytest.mark.parametrize(
    "size", [(1, 1), (20, 5), (100, 20), (200, 60), (40, 10), (80, 50)][: cases(3, deep=6)]
)
async def test_any_size_draws(planner, size):
    async with at_rest(planner(), size) as (app, pilot):
        for key in (
            "2",
            "3",
            "4",
            "5",
            "1",
            "right",
            "o",
            "escape",
            "e",
            "escape",
            "question_mark",
        ):
            await pilot.press(key)
            await pilot.pause()
        assert app.answer is not None


async def test_the_inputs_panel_changes_the_row_under_its_cursor(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.query_one("#inputs", Table).focus()
        await pilot.press("down", "enter")
        await pilot.pause()
        await typed(pilot, "sql")
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.category == "sql"
        assert "· sql" in text_of(app)


async def test_the_palette_runs_an_action_by_name(planner):
    async with at_rest(planner(), (80, 24), "ctrl+p") as (app, pilot):
        await pilot.pause()
        await typed(pilot, "time goes")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.view == "stages"


async def test_no_widget_is_refreshed_when_nothing_changed(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        refreshed = []
        for widget in app.query("*"):
            original = widget.refresh
            widget.refresh = lambda *a, _w=widget, _o=original, **k: (
                refreshed.append(_w.id), _o(*a, **k)
            )[1]  # fmt: skip
        app._panels.show()
        await pilot.pause()
        assert refreshed == []


async def test_an_answer_that_comes_while_the_app_closes_is_not_shown(planner):
    """Some widgets are gone by then: it ended in an error."""
    async with planner().run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        pilot.app._running = False
        await pilot.app.screen_stack[0].remove_children()
        pilot.app._panels.show()
