"""Prints what a planner shows that has more views than come with it, for `test_more_views.py`.

    python planner_with_more_views.py FOLDER COLUMNS ROWS KEY...

FOLDER holds the modules of the views and a `pages.py` with their lines; it stands before the
package's own, as if they had been written there. After each KEY the screen is taken down, and all
of them are printed as JSON.
"""

import asyncio
import json
import sys

import tui.views

folder, columns, rows, *keys = sys.argv[1:]
tui.views.__path__.insert(0, folder)

from fakes import FakeSession, started  # noqa: E402 - only now may the views be imported
from screen import at_rest, settled, text_of  # noqa: E402

from tui.app import AppOptions, PlannerApp  # noqa: E402


async def screens() -> list[str]:
    """The screen after each key."""
    app = PlannerApp(AppOptions(start=started(mix=1)), session=FakeSession())
    seen = []
    async with at_rest(app, (int(columns), int(rows))) as (_, pilot):
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
            seen.append(text_of(app))
    return seen


json.dump(asyncio.run(screens()), sys.stdout)
