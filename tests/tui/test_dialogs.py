"""What all screens over the planner have in common."""

from dataclasses import replace

import pytest
from depth import DEEP, values
from fakes import Gated
from screen import at_rest, opened, settled, text_of, words_in

from tui.screens.dialog import Dialog
from tui.screens.picker import MAX_MATCHES

KEYS = ("o", "w", "slash", "colon", "m", "e", "question_mark", "n", "ctrl+p")


@pytest.mark.parametrize("key", KEYS if DEEP else ("o", "colon", "e", "question_mark"))
async def test_a_click_beside_a_dialog_leaves_it(planner, key):
    app = planner()
    async with app.run_test(size=(120, 40)) as pilot:
        before = (await settled(pilot)).state
        dialog = await opened(pilot, key)
        assert isinstance(dialog, Dialog)
        frame = dialog.query_one("#dialog").region
        await pilot.click(offset=(frame.x + 1, frame.y))
        await pilot.pause()
        assert app.screen is dialog
        await pilot.click(offset=(frame.x - 1, frame.y + 3))
        await pilot.pause()
        assert not isinstance(app.screen, Dialog)
        assert app.state == before


async def test_a_click_before_a_dialog_is_seen_is_not_beside_it(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        dialog = await opened(pilot, "question_mark")
        dialog.stands = False
        await pilot.click(offset=(0, 0))
        assert app.screen is dialog


@pytest.mark.parametrize(
    ("key", "options", "now"),
    [
        ("m", {"model": "boe"}, "boe"),
        ("dollar_sign", {}, ""),
        ("dollar_sign", {"catalog": "gcp"}, "gcp"),
        ("g", {}, ""),
        ("w", {}, ""),
        ("w", {"ran_on": "r5.2xlarge"}, "r5.2xlarge"),
    ],
)
async def test_a_choice_begins_at_what_is_in_use(planner, key, options, now):
    """Enter alone chose the first of all, whatever was in use."""
    app = planner(**options)
    async with app.run_test(size=(120, 40)) as pilot:
        before = (await settled(pilot)).state
        dialog = await opened(pilot, key)
        assert dialog.current.value == now
        assert dialog.current.detail.startswith("in use")
        await pilot.press("enter")
        state = (await settled(pilot)).state
        assert replace(state, pricing=before.pricing) == before


async def test_where_it_ran_can_be_said_of_what_was_refused_for_want_of_it(planner):
    """The way out of the refusal was closed: "the evidence is still being read"."""
    async with at_rest(planner(sources=("missing",)), (120, 40), "e") as (app, pilot):
        assert "there is no plan: esc says why" in text_of(app)
        await pilot.press("escape")
        dialog = await opened(pilot, "w")
        assert isinstance(dialog, Dialog)
        await pilot.press(*"r5.2xlarge", "enter")
        await pilot.pause()
        assert app.state.ran_on == "r5.2xlarge"


async def test_types_can_be_chosen_while_the_evidence_is_read(planner):
    """A long log was to be waited for: "the prices are still being read"."""
    session = Gated()
    async with planner(session).run_test(size=(120, 40)) as pilot:
        app = pilot.app
        dialog = await opened(pilot, "slash")
        offered = [option.value for option in dialog._matches("")]
        assert len(offered) == len(set(offered))
        assert {"m5.xlarge", "n2-standard-4"} <= set(offered), "nobody knows yet where it ran"
        await pilot.press(*"c6i.*", "enter")
        session.go_on.set()
        await settled(pilot)
        assert app.state.instances == ("c6i.*",)
        assert app.answer.best.instance.startswith("c6i.")
        dialog = await opened(pilot, "slash")
        assert "n2-standard-4" not in [option.value for option in dialog._matches("")]


async def test_types_that_were_refused_can_be_corrected(planner):
    """The first plan is refused for a word on the command line."""
    app = planner(catalog="aws", instances=("nope.*",))
    async with at_rest(app, (120, 40)) as (app, pilot):
        assert app.built is None
        dialog = await opened(pilot, "slash")
        assert "n2-standard-4" not in [option.value for option in dialog._matches("")]
        await pilot.press(*["backspace"] * len("nope.*"), *"m5.*", "enter")
        await settled(pilot)
        assert app.answer.best.instance.startswith("m5.")


async def test_what_a_list_leaves_out_is_counted_below_it(planner):
    """It ended after 200 types, as if there were no more."""
    async with at_rest(planner(), (120, 40)) as (_, pilot):
        dialog = await opened(pilot, "w")
        matching = len(dialog._matches(""))
        assert len(dialog.matched.rows) == MAX_MATCHES < matching
        below = dialog.query_one("#whole")
        assert words_in(below) == f"{matching - MAX_MATCHES:,} more: type a part of the name"
        await pilot.press(*"r5.2xlarge")
        await pilot.pause()
        assert 0 < len(dialog.matched.rows) < MAX_MATCHES
        assert not below.size.height


async def test_what_commands_are_for_is_read_whole(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await opened(pilot, "colon")
        shown = text_of(app)
        assert "memory beside the heap for each core of an executor" in shown
        assert "what runs the executors, with what it leaves them of the memory" in shown


@pytest.mark.parametrize("key", values("colon", "m", "b", "w", deep=["ctrl+p"]))
async def test_what_a_row_is_too_short_for_stands_below_the_list(planner, key):
    """In 80 columns all models, 13 of 42 commands and 3 of 8 limits were cut, and said nowhere."""
    async with at_rest(planner(), (80, 24)) as (_, pilot):
        dialog = await opened(pilot, key)
        cut = set(dialog.matched.cut_rows)
        assert bool(cut) == (key != "w")
        heights = set()
        for place in range(len(dialog.matched.rows) if cut else 5):
            option, whole = dialog.current, dialog.query_one("#whole")
            said = " ".join(f"{option.label} {option.detail}".split())
            below = ["".join(part for part, _ in row) for row in whole.rows(whole.size.width)]
            words = " ".join(" ".join(below).split())
            if key == "w":
                assert words.endswith(" more: type a part of the name"), "200 of all types"
            else:
                assert words == (said if place in cut else "")
            assert len(below) <= whole.size.height
            heights.add(whole.size.height)
            await pilot.press("down")
        assert len(heights) == 1
