"""A share of spot nodes in the planner: which nodes are, and what is on demand beside them."""

import pytest
from fakes import FakeSession
from screen import at_rest, settled, text_of

from tui.charts import chart_files


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
