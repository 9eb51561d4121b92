"""A mix in its row of the compositions, where there is little room for it."""

import pytest
from screen import at_rest, settled, text_of

from tui.views import compositions
from tui.widgets.columns import fit_columns, natural_widths
from tui.widgets.on_demand import OnDemand
from tui.widgets.table import Table

SINGLE = "1 × m7i.12xlarge"
TWO, THREE = "14 × r5.2xlarge + 12 × m5.2xlarge", "14 × r5.2xlarge + 3 × m5.large + 2 × c5.xlarge"


def test_a_mix_loses_blanks_before_it_is_cut():
    assert compositions.closer(TWO, 30) == "14×r5.2xlarge + 12×m5.2xlarge"
    assert compositions.closer(TWO, 28) == "14×r5.2xlarge+12×m5.2xlarge"
    assert compositions.closer("2 x a.xlarge + 3 x b", 18) == "2xa.xlarge + 3xb"


def listed(table, *mixes):
    """The list shows these mixes in its first rows."""
    first = [
        (row[0], (mix, "plain"), *row[2:]) for row, mix in zip(table.rows, mixes, strict=False)
    ]
    table.show([*first, *table.rows[len(mixes) :]])


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_mix_of_two_types_is_read_in_full_in_its_row(planner, size):
    """Its second type ended in the middle, and which size it is was not to be read."""
    async with at_rest(planner(mix=3), size, "2") as (app, pilot):
        listed(app.query_one("#full", Table), TWO)
        await pilot.pause()
        assert "14×r5.2xlarge + 12×m5.2xlarge " in text_of(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_mix_of_three_types_is_cut_in_the_last_one(planner, size):
    """It has lost its blanks before, and its first two types are read in full."""
    async with at_rest(planner(mix=3), size, "2") as (app, pilot):
        listed(app.query_one("#full", Table), THREE)
        await pilot.pause()
        assert "14×r5.2xlarge+3×m5.large+2×c" in text_of(app)


@pytest.mark.parametrize(("mix", "width"), [(2, 150), (2, 170), (3, 150), (3, 170)])
def test_room_for_a_mix_takes_nothing_from_the_reasons(mix, width):
    """With nothing in it, it left of a reason "misses the…"."""
    rows = (("", SINGLE, "", "", "", "", "", "x" * compositions.REASON),)
    of_list = width - 46  # what is left beside the panels at the left, and its own border

    def cells(types):
        columns = compositions.short_columns(types)
        natural = natural_widths(columns, rows, ascii_only=False)
        return dict(fit_columns(columns, natural, of_list))

    (note,) = (i for i, column in enumerate(compositions.COLUMNS) if column.title == "note")
    with_mix, of_one = cells(mix), cells(1)
    assert with_mix[1] >= compositions.SHORT_MIX
    reserved = compositions.SHORT_MIX - len(SINGLE)
    assert with_mix[note] >= min(compositions.REASON, of_one[note] - reserved)


async def test_below_the_charts_a_mix_has_the_room_that_there_is(planner):
    """It was cut to 22 cells, with the right half of the list empty."""
    async with at_rest(planner(mix=2), (200, 50), "1") as (app, pilot):
        listed(app.query_one("#short", Table), TWO)
        await pilot.pause()
        assert f"{TWO} " in text_of(app)


async def test_at_100_columns_types_of_long_names_are_told_apart(planner, monkeypatch):
    """ "5 × n2d-standard…" stood twice in the list, for nodes of 8 and of 16 vCPUs."""
    names = ["5 × n2d-standard-8 (3 spot)", "5 × n2d-standard-16 (3 spot)", "2 × c5ad.2xlarge"]
    names += ["2 × n2d-standard-8 + 1 × n2d-standard-4", "2 × c5.large (1 spot)"]
    rows = [("", (name, "plain"), ("1 s", "plain")) for name in names]

    class Listed:
        place_of = staticmethod(lambda _: 0)

        def __init__(self, *_):
            self.rows, self.types = rows, OnDemand(len(rows), lambda _: None)

    monkeypatch.setattr(compositions, "short_rows", lambda *_, **__: (rows, [None] * len(rows)))
    monkeypatch.setattr(compositions, "listing", Listed)
    monkeypatch.setattr(compositions, "one_type_cells", lambda *_: (compositions.WHOLE, 0))
    async with at_rest(planner(deadline_seconds=3000.0), (100, 30)) as (app, pilot):
        for key in "12":
            await pilot.press(key)
            await settled(pilot)
            await settled(pilot)  # the list hears of its width once it is drawn
            seen = text_of(app)
            for told in ("5 × n2d-standard-8 ", "5 × n2d-s…ndard-16 ", "2 × c5ad.2xlarge "):
                assert told in seen
            assert "2×n2d-standard-8+… " in seen
            assert "2 × c5.large  " in seen
        await pilot.resize_terminal(120, 40)
        await settled(pilot)
        assert "5 × n2d-standard-16 (3 spot)" in text_of(app)
