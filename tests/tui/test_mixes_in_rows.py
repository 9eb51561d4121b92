"""A mix in its row of the compositions, where there is little room for it."""

import pytest
from screen import at_rest, text_of

from tui.views import compositions
from tui.widgets.table import Table

TWO, THREE = "14 × r5.2xlarge + 12 × m5.2xlarge", "14 × r5.2xlarge + 3 × m5.large + 2 × c5.xlarge"


def test_a_mix_loses_blanks_before_it_is_cut():
    assert compositions.closer(TWO, 30) == "14×r5.2xlarge + 12×m5.2xlarge"
    assert compositions.closer(TWO, 28) == "14×r5.2xlarge+12×m5.2xlarge"
    assert compositions.closer("2 x a.xlarge + 3 x b", 18) == "2xa.xlarge + 3xb"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_mix_is_read_in_full_in_its_row(planner, size):
    """Its second type ended in the middle, and which size it is was not to be read."""
    async with at_rest(planner(mix=3), size, "2") as (app, pilot):
        table = app.query_one("#full", Table)
        mixes = [(row[0], (name, "plain"), *row[2:]) for row, name in zip(
            table.rows, (TWO, THREE), strict=False)]  # fmt: skip
        table.show([*mixes, *table.rows[2:]])
        await pilot.pause()
        assert "14×r5.2xlarge + 12×m5.2xlarge " in text_of(app)
        assert "14×r5.2xlarge+3×m5.large+2×c" in text_of(app)


async def test_below_the_charts_a_mix_has_the_room_that_there_is(planner):
    """It was cut to 22 cells, with the right half of the list empty."""
    async with at_rest(planner(mix=2), (200, 50), "1") as (app, pilot):
        table = app.query_one("#short", Table)
        mark, _, *others = table.rows[0]
        table.show([(mark, (TWO, "plain"), *others), *table.rows[1:]])
        await pilot.pause()
        assert f"{TWO} " in text_of(app)
