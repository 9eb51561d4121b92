"""The log of notices."""

import pytest
from screen import settled, text_of

from tui.screens.notices import MOST_NOTICES


@pytest.mark.parametrize(("size", "glyphs"), [((80, 24), "ascii"), ((120, 40), "unicode")])
async def test_what_was_said_can_be_read_again(planner, size, glyphs):
    async with planner(glyphs=glyphs).run_test(size=size) as pilot:
        app = await settled(pilot)
        await pilot.press("n")
        await pilot.pause()
        assert "No notices yet." in text_of(app)
        await pilot.press("n")
        await app.run_line("deadline never")
        await app.run_line("spot on")
        await app.run_line("undo")
        await app.run_line("model [b]x[/b]")
        await pilot.press("escape", "n")
        await pilot.pause()
        rows = text_of(app).splitlines()
        places = [
            next(n for n, row in enumerate(rows) if words in row)
            for words in ("[b]x[/b]", "undone: spot", "never")
        ]
        assert places == sorted(places)
        assert app.marks.missed in rows[places[0]]
        assert app.noticed[0].at.strftime("%H:%M:%S") in rows[places[-1]]
        assert glyphs != "ascii" or text_of(app).isascii()


async def test_the_log_is_bounded_and_repeats_once(planner):
    async with planner().run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        for _ in range(5):
            app.show_notice("again", "warn")
        assert len(app.noticed) == 1
        for number in range(2 * MOST_NOTICES):
            app.show_notice(f"notice {number}", "base")
        assert len(app.noticed) == MOST_NOTICES
        assert app.noticed[-1].words == f"notice {2 * MOST_NOTICES - 1}"
