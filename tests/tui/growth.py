"""What a planner holds in memory whenever it is back where it began, and whether that grows.

Two readings can be compared only where the planner shows the same: every reading is taken after
the first inputs were restored, every view was visited and what caches of a fixed size hold was
forgotten. What still differs from one reading to the next is noise, which has no direction, or a
leak, which has one: `per_step` is the median of the slopes between all readings (Theil, 1950).
"""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from functools import _lru_cache_wrapper
from importlib import import_module
from itertools import combinations
from pkgutil import walk_packages
from statistics import median
from typing import NamedTuple

from screen import advised, compared
from soak import SIZES, quiet
from textual.app import App
from textual.cache import FIFOCache, LRUCache
from textual.geometry import Size
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget, _RenderCache

import engine
import tui
from tui.app import PlannerApp
from tui.history import History
from tui.session import EngineSession
from tui.state import PlanState
from tui.views.pages import NAMES
from tui.widgets.frame import FrameWidget


class Reading(NamedTuple):
    """After `step` random steps: how many bytes and how many objects are held."""

    step: int
    held: int
    objects: int


class Growth:
    """Readings of one planner, from its first state on."""

    def __init__(self, app: PlannerApp) -> None:
        self.first: PlanState = app.state
        self.theme = app.theme
        self.readings: list[Reading] = []
        self._first_objects = self._last_objects = Counter[str]()
        # A module that is imported late is no leak.
        for package in (tui, engine):
            for module in walk_packages(package.__path__, f"{package.__name__}."):
                import_module(module.name)

    async def begin(self, pilot: Pilot[None]) -> None:
        """Count bytes from now on. What is held already is not counted, and would look like growth
        when it is made anew: so everything is, before the first reading."""
        tracemalloc.start()
        await self._at_rest(pilot)
        emptied(pilot.app)

    async def read(self, pilot: Pilot[None], step: int) -> None:
        """Go back to the first state and take a reading."""
        await self._at_rest(pilot)
        emptied(await quiet(pilot))
        objects = _objects()
        if not self.readings:
            self._first_objects = objects
        self._last_objects = objects
        self.readings.append(Reading(step, tracemalloc.get_traced_memory()[0], objects.total()))

    async def _at_rest(self, pilot: Pilot[None]) -> None:
        """No dialog, no tour, the first inputs, every view looked at, the curves in front."""
        app = await quiet(pilot)
        while app.guide is not None or len(app.screen_stack) > 1:
            if app.guide is not None:
                app.guide.leave()
            else:
                app.pop_screen()
            await quiet(pilot)
        await pilot.resize_terminal(*SIZES[1])
        app.theme, app.pins = self.theme, ()
        app.travel_to(self.first, history=History())
        await quiet(pilot)
        for view in (*NAMES, "curves"):
            app.action_view(view)
            await quiet(pilot)
            if view == "evidence":
                await compared(pilot)
            elif view == "experiments":
                await advised(pilot)
        await _closed(pilot)
        app.action_zoom_all()
        app.query_one("#deadline").focus()
        await pilot.press("escape", "escape")
        app.noticed = ()
        await quiet(pilot)

    @property
    def bytes_per_step(self) -> float:
        """The slope of the bytes that are held."""
        return per_step([(reading.step, reading.held) for reading in self.readings])

    @property
    def objects_per_step(self) -> float:
        """The slope of the number of objects."""
        return per_step([(reading.step, reading.objects) for reading in self.readings])

    def rates(self) -> str:
        """Both slopes, in a line."""
        return f"{self.bytes_per_step:+.0f} bytes, {self.objects_per_step:+.2f} objects per step"

    def told(self) -> str:
        """The readings, what there was more of at the last than at the first, and where most of
        what is held comes from: for a failure."""
        more = (self._last_objects - self._first_objects).most_common(12)
        top = tracemalloc.take_snapshot().statistics("lineno")[:12]
        rows = [f"step {r.step}: {r.held:,} bytes, {r.objects:,} objects" for r in self.readings]
        return "\n".join([self.rates(), *rows, *map(str, more), *map(str, top)])


def per_step(points: list[tuple[int, int]]) -> float:
    """The median of the slopes between all pairs of (step, amount)."""
    return median((b - a) / (j - i) for (i, a), (j, b) in combinations(points, 2))


def emptied(app: App[None]) -> None:
    """Without what is kept on purpose and never grows beyond a limit; a cache without a limit is
    not emptied, and counts."""
    assert isinstance(app, PlannerApp)
    session = app._session
    assert isinstance(session, EngineSession)
    assert len(session._mixed) <= 64
    session._mixed.clear()
    session._limited = session._explained = None
    for widget in app.screen_stack[0].walk_children(Widget):
        widget._styles_cache.clear()
        widget._render_cache = _RenderCache(Size(0, 0), [])
        if isinstance(widget, FrameWidget):
            widget._forget_styles()
    for found in gc.get_objects():
        if isinstance(found, _lru_cache_wrapper) and found.cache_info().maxsize is not None:
            found.cache_clear()
        elif isinstance(found, LRUCache | FIFOCache):
            found.clear()


async def _closed(pilot: Pilot[None]) -> None:
    """Once screens that were left are gone: a dialog holds all it lists, and goes when it can."""
    for _ in range(200):
        screens = [node for node in pilot.app._registry if isinstance(node, Screen)]
        if len(screens) == 1:
            return
        await pilot.pause(0.05)
    raise AssertionError(f"screens that never close: {screens}")


def _objects() -> Counter[str]:
    """Everything that the collector knows by type, once what nobody holds is gone."""
    for _ in range(3):
        gc.collect()
    return Counter(type(found).__qualname__ for found in gc.get_objects())
