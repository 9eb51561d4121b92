"""What a planner holds in memory whenever it is back where it began, and whether that grows.

Two readings can be compared only where the planner holds what the same few steps made: before
every reading the first inputs are restored, the evidence is read again (with it goes all that was
fitted to it or computed lazily for a plan), every view is visited and what caches of a fixed size
hold is forgotten. What still differs from one reading to the next is noise, which has no direction,
or a leak, which has one: `per_step` is the median of the slopes between all readings (Theil, 1950).

Whatever was there before the planner is frozen (`gc.freeze`): a reading costs the same in a worker
that holds the objects of a hundred other tests.
"""

import gc
import tracemalloc
from collections import Counter
from collections.abc import Sequence
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
from tui.changes import RereadSources
from tui.history import History
from tui.session import EngineSession
from tui.state import PlanState
from tui.views.pages import NAMES
from tui.widgets.frame import FrameWidget

DIALOGS = ("help", "palette", "open", "export", "limits", "notices", "command", "jump", "tour")
"""Actions that open one of each kind, by their names."""


class Reading(NamedTuple):
    """After `step` random steps: how many bytes and how many objects are held."""

    step: int
    held: int
    objects: int


class Growth:
    """Readings of one planner, from its first state on; only `views` are visited before each, and
    only these `dialogs` are opened once before the first. To trace bytes takes five times as long
    as what is done meanwhile: without it only objects are counted."""

    def __init__(
        self,
        app: PlannerApp,
        *,
        views: Sequence[str] = NAMES,
        dialogs: Sequence[str] = DIALOGS,
        traces_bytes: bool = True,
    ) -> None:
        self.first: PlanState = app.state
        self._views, self._dialogs, self._traces_bytes = views, dialogs, traces_bytes
        self.theme = app.theme
        self.readings: list[Reading] = []
        self._first_objects = self._last_objects = Counter[str]()
        # A module that is imported late is no leak.
        for package in (tui, engine):
            for module in walk_packages(package.__path__, f"{package.__name__}."):
                import_module(module.name)
        gc.unfreeze()  # A planner that started in this process has frozen what there was.
        gc.collect()
        self._caches = [found for found in gc.get_objects() if _forgets(found)]
        gc.freeze()

    def end(self) -> None:
        """Count no longer, and let the collector see everything again."""
        tracemalloc.stop()
        gc.unfreeze()

    async def begin(self, pilot: Pilot[None]) -> None:
        """Count from now on. What is held already is not counted, and would look like growth
        when it is made anew: so everything is, before the first reading. The first dialog of each
        kind leaves its style sheet behind."""
        for name in self._dialogs:
            await pilot.app.run_action(name)
            await quiet(pilot)
            await self._alone(pilot)
        if self._traces_bytes:
            tracemalloc.start()
        await self._at_rest(pilot)
        self._empty(pilot.app)

    async def read(self, pilot: Pilot[None], step: int) -> None:
        """Go back to the first state and take a reading."""
        await self._at_rest(pilot)
        self._empty(await quiet(pilot))
        objects = _objects()
        if not self.readings:
            self._first_objects = objects
        self._last_objects = objects
        self.readings.append(Reading(step, tracemalloc.get_traced_memory()[0], objects.total()))

    async def _at_rest(self, pilot: Pilot[None]) -> None:
        """The first inputs with evidence that was read anew, the views looked at, the curves in
        front, and styles parsed once more: they are, whenever a theme is chosen."""
        app = await self._alone(pilot)
        await pilot.resize_terminal(*SIZES[1])
        app.theme, app.pins = self.theme, ()
        app.refresh_css(animate=False)
        app.restore_state(self.first, history=History())
        await quiet(pilot)
        app.dispatch(RereadSources(self.first.sources))
        await quiet(pilot)
        for view in (*self._views, "curves"):
            app.action_view(view)
            await quiet(pilot)
            if view == "evidence":
                await compared(pilot)
            elif view == "experiments":
                await advised(pilot)
        await _closed(pilot)
        app.action_zoom("all")
        app.query_one("#deadline").focus()
        await pilot.press("escape", "escape")
        app.notice_log = ()
        app._mouse_down_widget = None  # Textual keeps the last one, and with it all of its dialog.
        await quiet(pilot)

    async def _alone(self, pilot: Pilot[None]) -> PlannerApp:
        """No dialog, no tour."""
        app = await quiet(pilot)
        while app.guide is not None or len(app.screen_stack) > 1:
            if app.guide is not None:
                app.guide.leave()
            else:
                app.pop_screen()
            await quiet(pilot)
        return app

    def _empty(self, app: App[None]) -> None:
        """Without what is kept on purpose and never grows beyond a limit."""
        assert isinstance(app, PlannerApp)
        session = app._session
        assert isinstance(session, EngineSession)
        assert len(session._mixed_reports) <= 64
        assert len(session._catalogs) <= 8
        session._mixed_reports.clear()
        session._catalogs.clear()
        session._limited._kept = session._explained._kept = None
        for widget in app.screen_stack[0].walk_children(Widget):
            widget._styles_cache.clear()
            widget._render_cache = _RenderCache(Size(0, 0), [])
            if isinstance(widget, FrameWidget):
                widget._forget_styles()
        for cache in (*self._caches, *filter(_forgets, gc.get_objects())):
            if isinstance(cache, _lru_cache_wrapper):
                cache.cache_clear()
            else:
                cache.clear()

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
        traced = tracemalloc.is_tracing()
        top = tracemalloc.take_snapshot().statistics("lineno")[:12] if traced else ()
        rows = [f"step {r.step}: {r.held:,} bytes, {r.objects:,} objects" for r in self.readings]
        return "\n".join([self.rates(), *rows, *map(str, more), *map(str, top)])


def per_step(points: list[tuple[int, int]]) -> float:
    """The median of the slopes between all pairs of (step, amount)."""
    return median((b - a) / (j - i) for (i, a), (j, b) in combinations(points, 2))


def _forgets(found: object) -> bool:
    """Whether it is a cache of a fixed size; one without a limit is never emptied, and counts."""
    if isinstance(found, _lru_cache_wrapper):
        return found.cache_info().maxsize is not None
    return isinstance(found, LRUCache | FIFOCache)


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
