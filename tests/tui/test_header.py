"""The line at the top: what is planned at the left, the prices at the right, whatever the width."""

import pytest
from screen import settled, text_of

from tui.changes import SetSpot
from tui.reducer import reduce
from tui.views import bars


@pytest.fixture
async def planned(planner):
    app = planner(ran_on="m5.2xlarge")
    async with app.run_test(size=(80, 24)) as pilot:
        yield await settled(pilot)


def shown(app, width, *, spot=False):
    """The left and the right part as text."""
    state = reduce(app.state, SetSpot(spot))
    left, right = bars.header(state, app.built, "", width=width)
    return tuple("".join(item.text for item in items) for items in (left, right))


@pytest.mark.parametrize("spot", [False, True])
@pytest.mark.parametrize("width", [80, 100, 120, 200])
async def test_the_date_of_the_prices_is_there_and_spot_where_it_is(planned, width, spot):
    """At 80 columns they gave way to where it ran; spot was not said at all."""
    left, right = shown(planned, width, spot=spot)
    assert "2026-07-20" in right
    assert ("spot" in right) == spot
    assert "ran on m5.2xlarge" in left


async def test_the_kind_gives_way_before_where_it_ran_is_cut(planned):
    whole, _ = shown(planned, 200)
    short, right = shown(planned, len(whole) + 13)
    assert " · mllib" in whole
    assert " · mllib" not in short
    assert right == "aws 2026-07-20 "


async def test_where_there_is_room_for_one_part_it_is_what_is_planned(planned):
    assert shown(planned, 50)[1] == ""
    assert "nightly-als" in text_of(planned).splitlines()[0]
