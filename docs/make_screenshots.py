"""Draws the pictures of the planner in the README and in docs: python docs/make_screenshots.py
[FOLDER].

The real application on a bundled sample and the machine that it ran on, as README.md opens it,
without a terminal; no clock, so that the pictures change only when the planner, the sample or the
prices do.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from tui.app import PlannerApp
from tui.start import ON_SAMPLE, AppOptions

PICTURES = {
    "planner-120x40.svg": (),
    "frontier-120x40.svg": ("3", "down"),
    "stages-120x40.svg": ("4",),
    "evidence-120x40.svg": ("5",),
    "experiments-120x40.svg": ("8",),
}
"""File -> keys pressed before the picture is taken."""

SIZE = (120, 40)
RAN_ON = "m5.xlarge"

WAIT_SECONDS = 0.05
MAX_REST_SECONDS = 1.0
"""Long enough for the other models to be fitted when the evidence is looked at."""
MOST_WAITS = 1200


async def picture(keys: tuple[str, ...]) -> str:
    """The screen as SVG, once the plan is there."""
    start = replace(ON_SAMPLE, ran_on=RAN_ON)
    app = PlannerApp(AppOptions(start=start, glyphs="unicode", theme="textual-dark"))
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(MOST_WAITS):
            await pilot.pause(WAIT_SECONDS)
            if not app.busy and not app.settling:
                break
        await pilot.press(*keys)
        await pilot.pause(MAX_REST_SECONDS)
        for _ in range(MOST_WAITS):
            if not app.experiments_pending:
                break
            await pilot.pause(WAIT_SECONDS)
        if app.answer is None:
            raise SystemExit("no plan came: is the package installed with its samples?")
        return app.export_screenshot(title="sparkplan")


def main() -> None:
    """Draw all pictures."""
    for name in ("NO_COLOR", "COLORFGBG"):
        os.environ.pop(name, None)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, keys in PICTURES.items():
        svg = asyncio.run(picture(keys))
        (folder / name).write_text(svg, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()
