"""A share of spot nodes in the planner: which nodes are, and what is on demand beside them."""

from dataclasses import replace

import pytest
from fakes import FakeSession, started
from screen import at_rest, settled, text_of

from tui.charts import chart_files
from tui.state import Limits
from tui.views import frontier
from tui.views.marks import Marks

MARKS = Marks("best", "x", "!")


async def test_the_nodes_that_are_spot_are_said(planner):
    async with at_rest(planner(FakeSession()), (120, 40)) as (app, pilot):
        for line in ("spot on", "max-spot 50%", "deadline 20m"):
            await app.run_command_line(line)
            await settled(pilot)
        spot = app.answer.best.spot
        assert 0 < sum(spot.values()) <= app.answer.best.nodes / 2
        for key in "12":
            await pilot.press(key)
            await settled(pilot)
            assert f"({sum(spot.values())} spot)" in text_of(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_of_what_is_on_demand_beside_a_share_of_spot_nodes_that_is_said(planner, size):
    """Runners-up, curves and the frontier seemed to be at the spot prices of the header."""
    async with at_rest(planner(deadline_seconds=1200.0), size) as (app, pilot):
        for line in ("spot on", "max-spot 50%"):
            assert "others on demand" not in text_of(app)
            await app.run_command_line(line)
            await settled(pilot)
        shown = text_of(app)
        assert "others on demand" in shown
        assert "Time by nodes, on demand, " in shown
        assert ", on demand" in chart_files.content(app, ".svg")
        await pilot.press("2")
        await settled(pilot)
        assert "Compositions, runners-up on demand" in text_of(app)
        await pilot.press("3")
        await settled(pilot)
        shown = text_of(app)
        assert "Cost by time, on demand" in shown
        assert "Frontier of one type on demand: spot nodes may be cheaper" in shown
        await app.run_command_line("max-spot off")
        await settled(pilot)
        assert "on demand" not in text_of(app).partition("Cost by time")[2]


async def test_a_share_of_spot_nodes_on_demand_says_that_it_waits(planner):
    """It was taken, and the same answer stayed without a word."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await app.run_command_line("max-spot 50%")
        await settled(pilot)
        assert app.state.limits.max_spot == 0.5
        assert "max-spot 50% has no effect at prices on demand; :spot on" in text_of(app)
        await app.run_command_line("min-nodes 2")
        await settled(pilot)
        assert "has no effect" not in text_of(app), "said once, not with every other limit"
        await app.run_command_line("spot on")
        await app.run_command_line("max-spot 20%")
        await settled(pilot)
        assert "has no effect" not in text_of(app)
        await app.run_command_line("spot off")
        await settled(pilot)
        assert "max-spot 20% has no effect at prices on demand; :spot on" in text_of(app)
        await pilot.press("s")
        await settled(pilot)
        assert "has no effect" not in text_of(app)
        await app.run_command_line("max-spot off")
        await app.run_command_line("spot off")
        await settled(pilot)
        assert "has no effect" not in text_of(app)


async def test_a_cluster_on_demand_is_not_taken_for_the_recommended_one_with_spot_nodes(planner):
    """It has its types and counts, at another cost: over a budget that the recommended one keeps,
    its row had the mark of the best."""
    app = planner(deadline_seconds=1200.0, spot=True, limits=Limits(max_spot=1.0))
    async with at_rest(app, (120, 40), "3") as (app, pilot):
        best = app.answer.report.recommendation.recommended
        assert dict(best.spot) == dict(best.composition)
        points = app.answer.report.recommendation.frontier
        (twin,) = (choice for choice in points if choice.composition == best.composition)
        assert best.cost_high_usd < twin.cost_usd
        await app.run_command_line(f"budget ${0.5 * (best.cost_high_usd + twin.cost_usd):.2f}")
        await settled(pilot)
        assert app.answer.best.composition == best.composition
        points = app.answer.report.recommendation.frontier
        place = next(i for i, p in enumerate(points) if p.composition == best.composition)
        assert points[place].cost_usd == pytest.approx(twin.cost_usd)
        (row,) = frontier.rows(app.answer, points, MARKS)[place : place + 1]
        assert row[0] == ("x", "bad")
        assert "best" not in {found[0][0] for found in frontier.rows(app.answer, points, MARKS)}
        recommended, at_cursor = frontier.chart(app.state, app.answer, points, place).points
        assert (recommended.label, recommended.y) == ("recommended", app.answer.best.cost_usd)
        assert at_cursor.y == points[place].cost_usd


@pytest.mark.parametrize("mix", [1, 2])
async def test_where_no_spot_node_may_be_rented_none_is_said_to_be_cheaper(planner, mix):
    """The frontier said "spot nodes may be cheaper", and "others on demand" stood above a best on
    demand."""
    app = planner(deadline_seconds=1200.0, spot=True, mix=mix, limits=Limits(max_spot=0.0))
    async with at_rest(app, (80, 24)) as (app, pilot):
        assert not app.answer.best.spot
        assert "all on demand" in text_of(app)
        for key, title in (("2", "Compositions, all on demand"), ("3", "Frontier on demand: none")):
            await pilot.press(key)
            await settled(pilot)
            assert title in text_of(app)
        shown = text_of(app)
        assert "Cost by time, on demand" in shown
        assert "cheaper" in shown
        assert "spot nodes may be" not in shown


def test_a_mix_that_beats_the_frontier_on_demand_is_said_where_no_spot_node_may_be_rented():
    session = FakeSession()
    state = started(deadline_seconds=1200.0, spot=True, limits=Limits(max_spot=0.0))
    answer = session.answer(state, session.build(state, lambda words: None))
    assert frontier.list_title(answer) == frontier.TITLE_NO_SPOT
    found = answer.report.recommendation
    mixed = replace(found, recommended=replace(found.recommended, instance=None))
    answer = replace(answer, report=replace(answer.report, recommendation=mixed))
    assert frontier.list_title(answer) == frontier.TITLE_NO_SPOT_OF_MIX
