"""The log of notices."""

from dataclasses import replace

import pytest
from fakes import FakeSession, profile
from screen import advised, at_rest, compared, drag_to, settled, shows, text_of
from textual._compositor import Compositor
from textual.geometry import Region

import engine
from tui.screens.notices import MAX_NOTICES
from tui.session import EngineSession
from tui.views import cluster_words, sentences


@pytest.mark.parametrize(("size", "glyphs"), [((80, 24), "ascii"), ((120, 40), "unicode")])
async def test_what_was_said_can_be_read_again(planner, size, glyphs):
    async with at_rest(planner(glyphs=glyphs), size, "n") as (app, pilot):
        await pilot.pause()
        assert "No notices yet." in text_of(app)
        await pilot.press("n")
        await app.run_command_line("deadline never")
        await app.run_command_line("spot on")
        await app.run_command_line("undo")
        await app.run_command_line("model [b]x[/b]")
        await pilot.press("escape", "n")
        await pilot.pause()
        rows = text_of(app).splitlines()
        places = [
            next(n for n, row in enumerate(rows) if words in row)
            for words in ("[b]x[/b]", "undone: spot", "never")
        ]
        assert places == sorted(places)
        assert app.marks.missed in rows[places[0]]
        assert app.notice_log[0].at.strftime("%H:%M:%S") in rows[places[-1]]
        assert glyphs != "ascii" or text_of(app).isascii()


async def test_the_log_is_bounded_and_repeats_once(planner):
    async with at_rest(planner(), (80, 24)) as (app, _):
        for _ in range(5):
            app.show_notice("again", "warn")
        assert len(app.notice_log) == 1
        for number in range(2 * MAX_NOTICES):
            app.show_notice(f"notice {number}", "base")
        assert len(app.notice_log) == MAX_NOTICES
        assert app.notice_log[-1].words == f"notice {2 * MAX_NOTICES - 1}"


async def test_what_a_table_says_wrongly_of_a_type_is_said_in_the_planner(planner, tmp_path):
    """Held against the catalog that is looked at; another discount asks nothing again."""
    table = tmp_path / "runs.csv"
    rows = "2,20GB,900\n4,20GB,480\n4,40GB,930\n8,40GB,500\n".splitlines()
    lines = [f"{row},m5.2xlarge,4,16" for row in rows]
    table.write_text("\n".join(["nodes,input_size,seconds,instance_type,vcpus,memory_gib", *lines]))
    app = planner(EngineSession(), sources=(str(table),), instances=("m5.*",), max_nodes=8)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        codes = [notice.code for notice in app.answer.report.recommendation.warnings]
        assert "shape-contradicts-catalog" in codes
        await pilot.press("5")
        await compared(pilot)
        lines = app.query_one("#evidence-about").lines
        said = " ".join(part for line in lines for part, _ in line)
        assert "runs.csv:2 says that m5.2xlarge has 4 vCPUs and 16 GiB" in " ".join(said.split())
        before = app.built.profile
        await app.run_command_line("discount 10%")
        while app.busy or app.built.catalog.billing.discount_fraction == 0.0:
            await pilot.pause(0.05)
        assert app.built.profile is before


async def test_of_several_warnings_their_number_is_not_cut_off(planner):
    """It stood behind the first, whose end is cut at 80 columns."""
    async with at_rest(planner(), (80, 24)) as (app, _):
        several = engine.Notice("one", "a long sentence " * 10, "do this")
        found = replace(app.answer.report.recommendation, warnings=(several,))
        answer = replace(app.answer, report=replace(app.answer.report, recommendation=found))
        line = sentences.brief(app.state, answer, app.marks)[-1]
        many = len(sentences.first_of_each(sentences.notices(answer)))
        assert many > 1
        assert line[1][0].startswith(f"{many} warnings (key 5): A long sentence")


async def test_in_a_small_terminal_a_question_of_two_rows_leaves_the_whole_answer(planner):
    """Of three rows it had one; the line of help stands back, and is there again without it."""
    asking = FakeSession(evidence=profile(ran_on=None, runs=1))
    async with at_rest(planner(asking), (60, 15)) as (app, pilot):
        await pilot.pause()
        rows = text_of(app)
        assert "Where did it run?" in rows
        assert "is assumed: press w" in rows
        best = app.answer.best
        for said in (cluster_words.composition(best), "9 in 10 runs", "within "):
            assert said in rows
        assert not app.query_one("#about").display
        await pilot.press("2")
        await pilot.pause()
        assert sum("4xlarge" in row or "2xlarge" in row for row in text_of(app).splitlines()) > 2
        await pilot.press("escape")
        await pilot.pause()
        assert app.query_one("#about").display


async def test_a_chart_of_one_row_leaves_it_to_the_list(planner):
    async with at_rest(planner(), (60, 15), "3") as (app, pilot):
        await pilot.pause()
        assert not app.query_one("#frontier-chart-panel").display
        await pilot.resize_terminal(60, 24)
        await pilot.pause()
        assert app.query_one("#frontier-chart-panel").display


@pytest.mark.parametrize("loosen", ["typed", "slider"])
async def test_what_was_said_of_a_goal_goes_with_it(planner, loosen):
    """ "There is no recommendation to export; loosen the goal" stood beside one."""
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        await app.run_command_line("deadline 1s")
        await settled(pilot)
        await pilot.press("e")
        assert await shows(pilot, "there is no recommendation to export; loosen the goal")
        if loosen == "typed":
            await app.run_command_line("deadline 10h")
        else:
            await pilot.press("end")
        assert await shows(pilot, "loosen the goal", gone=True)
        await settled(pilot)
        assert app.answer.best is not None
        assert app.notice_log[0].words.startswith("there is no recommendation")


async def test_no_row_moves_under_a_mouse_that_drags(planner):
    """The notice of a refusal pushed the slider away from under it."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        slider = app.query_one("#deadline")
        before = slider.region.y
        await pilot.mouse_down(slider, offset=(20, 0))
        app.show_refusal("this cannot be")
        await settled(pilot)
        assert slider.region.y == before
        assert "this cannot be" not in text_of(app)
        await pilot.mouse_up(slider, offset=(20, 0))
        assert await shows(pilot, "this cannot be")
        assert slider.region.y == before + 1
        app.show_notice("said since", "warn")
        await pilot.mouse_down(slider, offset=(20, 0))
        await pilot.mouse_up(slider, offset=(20, 0))
        await settled(pilot)
        assert "this cannot be" not in text_of(app)  # it waited for one drag, not for each


async def test_a_refusal_that_is_over_before_the_mouse_lets_go_is_not_said(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        slider = app.query_one("#deadline")
        await pilot.mouse_down(slider, offset=(20, 0))
        app.show_refusal("this cannot be")
        await drag_to(pilot, slider, (24, 0))
        await settled(pilot)
        await pilot.mouse_up(slider, offset=(24, 0))
        await settled(pilot)
        assert "this cannot be" not in text_of(app)


async def test_a_view_that_comes_while_a_chart_is_dragged_has_the_mouse_and_its_notices(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        chart = app.query_one("#time")
        await pilot.mouse_down(chart, offset=(chart.size.width // 2, chart.size.height // 2))
        assert app.mouse_captured is chart
        await pilot.press("5")
        await pilot.pause()
        assert app.mouse_captured is None
        app.show_notice("said meanwhile", "warn")
        assert await shows(pilot, "said meanwhile")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_row_moves_for_what_was_merely_done(planner, size):
    """It is said in the line of help: above the panels it moved every row, twice."""
    async with at_rest(planner(), size) as (app, pilot):
        asked = "a question that stays"
        app.show_notice(asked, "warn", stays=True)
        await settled(pilot)
        before = text_of(app).splitlines()
        await pilot.press("p")
        await settled(pilot)
        after = text_of(app).splitlines()
        assert "pinned as A" in after[-2]
        assert after[:-2] == before[:-2]
        await pilot.press("escape")
        await settled(pilot)
        assert text_of(app).splitlines() == before  # the question is still asked
        await pilot.press("right")
        await pilot.press("u")
        await settled(pilot)
        assert "undone: deadline" in text_of(app).splitlines()[-2]
        await pilot.press("right")
        await settled(pilot)
        assert "undone" not in text_of(app)  # other inputs than it spoke of
        await pilot.press("escape")
        await settled(pilot)
        assert asked not in text_of(app)
        await pilot.press("2", "p")
        await settled(pilot)
        assert "pinned as B" in text_of(app)
        await pilot.press("down")
        await settled(pilot)
        assert "pinned" not in text_of(app)  # the line of help is that of another row


async def test_what_is_too_long_for_the_line_of_help_stands_above(planner):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        app.show_notice("saved as " + "/a/long/path" * 8, "good")
        await settled(pilot)
        assert "saved as" in text_of(app).splitlines()[2]
        await pilot.press("escape")
        await settled(pilot)
        assert "saved as" not in text_of(app)


async def test_help_on_what_the_keyboard_goes_to_is_not_hidden_by_what_was_done(planner):
    """Every slider was explained as "pinned as A" until escape was pressed."""
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        said = "pinned as A"
        for keys, control in (("tab", "Budget"), ("shift+tab", "Deadline"), ("f s", "Budget")):
            await pilot.press("p")
            await settled(pilot)
            assert said in text_of(app).splitlines()[-2]
            said = "it is pinned already, as A"
            await pilot.press(*keys.split())
            await settled(pilot)
            assert text_of(app).splitlines()[-2].startswith(f" {control}:")


@pytest.mark.parametrize("view", ["frontier", "evidence", "compare", "experiments"])
async def test_help_on_the_next_row_is_not_hidden_by_what_was_done(planner, view):
    """Of the rows of these lists it was, and a model is explained nowhere else."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await pilot.press("p")
        app.action_view(view)
        await (advised if view == "experiments" else settled)(pilot)  # else there is no next row
        await pilot.press("p")
        await settled(pilot)
        assert "pinned already, as A" in text_of(app)
        await pilot.press("home" if view == "frontier" else "down")
        await settled(pilot)
        assert "pinned already" not in text_of(app)


async def test_what_was_done_is_seen_where_a_question_takes_the_line_of_help(planner):
    """The second pin was said in a line that the question, back above the panels, had hidden."""
    async with at_rest(planner(), (60, 15)) as (app, pilot):
        app.show_notice("a question of two lines that stays " * 3, "warn", stays=True)
        await settled(pilot)
        for said in ("pinned as A", "it is pinned already, as A"):
            await pilot.press("p")
            await settled(pilot)
            assert said in text_of(app)


async def test_what_a_notice_moves_is_painted(planner, monkeypatch):
    """Textual paints what differs from the layout before. A paint of other widgets between has it
    look at the new one already: half of the rows stayed where they were."""
    painted = list[Region]()
    update = Compositor.render_update

    def render_update(self: Compositor, *arguments: object, **options: object) -> object:
        painted.extend(self._dirty_regions)
        return update(self, *arguments, **options)

    monkeypatch.setattr(Compositor, "render_update", render_update)
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        for act in (lambda: app.show_notice("words " * 30, "bad"), app.action_close_notice):
            painted.clear()
            act()
            compositor = app.screen._compositor
            compositor.update_widgets({app.query_one("#notice")})
            assert compositor.full_map  # as a paint does
            await settled(pilot)
            assert app.screen.region in painted


async def test_what_was_done_takes_the_place_of_what_went_wrong_before(planner):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        await pilot.press("u")
        await settled(pilot)
        assert "nothing to undo" in text_of(app)
        await pilot.press("p")
        await settled(pilot)
        assert "nothing to undo" not in text_of(app)
