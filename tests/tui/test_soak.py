"""A restless user: no exception, no growth, always a state with a meaning, and undo to the start.

300 random steps are part of the ordinary run. `SPARKPLAN_SOAK=10000 pytest tests/tui/test_soak.py`
takes so many, with tracemalloc; `SPARKPLAN_SOAK_SEED=7` (or `1-4`) chooses other seeds.
"""

import os
import random
import tracemalloc

import pytest
from fakes import FakeSession
from soak import at_rest, check, emptied, objects, play, quiet, sequence

from tui.app import PlannerApp
from tui.history import changed_inputs
from tui.session import EngineSession
from tui.start import AppOptions

COUNT = int(os.environ.get("SPARKPLAN_SOAK", "300"))
ASKED = os.environ.get("SPARKPLAN_SOAK_SEED", "1")
FIRST, LAST = (int(n) for n in ASKED.split("-")) if "-" in ASKED else (int(ASKED), int(ASKED))
LONG = COUNT > 1000
WARM_UP = 0.4
MOST_GROWTH_OBJECTS = 4000
MOST_GROWTH_BYTES = 600_000
"""Between two rests: what caches of a fixed size and 200 steps of undo may still gain."""


@pytest.fixture
def stays(monkeypatch, tmp_path):
    """Nothing ends the app; what is saved without a path lands beside the test."""

    async def no_quit(self):
        return None

    monkeypatch.setattr(PlannerApp, "action_quit", no_quit)
    monkeypatch.chdir(tmp_path)


async def soak(pilot, seed, count):
    """Play; every few steps wait, and check what must hold."""
    rng = random.Random(-seed)
    warm = None
    for number, (kind, what) in enumerate(sequence(seed, count), start=1):
        play(pilot.app, kind, what)
        if rng.random() < 0.6:
            await pilot.pause()
        if rng.random() < 0.05:
            check(await quiet(pilot))
        if LONG and number in (int(count * WARM_UP / 2), int(count * WARM_UP)):
            emptied(await at_rest(pilot))
            if not tracemalloc.is_tracing():
                tracemalloc.start()
            warm = objects(), tracemalloc.get_traced_memory()[0]
    app = await at_rest(pilot)
    check(app)
    if warm is not None:
        emptied(app)
        more, grown = objects() - warm[0], tracemalloc.get_traced_memory()[0] - warm[1]
        top = tracemalloc.take_snapshot().statistics("lineno")[:12]
        tracemalloc.stop()
        said = "\n".join([*map(str, more.most_common(20)), *map(str, top)])
        print(f"seed {seed}: {more.total():+,} objects, {grown:+,} bytes")
        assert more.total() <= MOST_GROWTH_OBJECTS, said
        assert grown <= MOST_GROWTH_BYTES, said


async def undo_and_redo(pilot):
    """All the way back, and forward again to the same inputs."""
    app = pilot.app
    last, first = app.state, app.history.past[0]
    steps = len(app.history.past)
    for _ in range(steps):
        app.action_undo()
        await quiet(pilot)
        check(app)
    assert not app.history.past
    assert changed_inputs(app.state, first) == frozenset()
    for _ in range(steps):
        app.action_redo()
        await quiet(pilot)
    assert not app.history.future
    assert changed_inputs(app.state, last) == frozenset()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, LAST + 1))
async def test_a_restless_user(planner, stays, seed):
    app = planner(FakeSession(), mix=2, vi=seed % 2 == 0)
    async with app.run_test(size=(120, 40)) as pilot:
        check(await quiet(pilot))
        await soak(pilot, seed, COUNT)
        await undo_and_redo(pilot)


@pytest.mark.skipif(not LONG, reason="only where many steps are asked for")
@pytest.mark.parametrize("seed", range(FIRST, LAST + 1))
async def test_a_restless_user_of_the_real_engine(stays, seed):
    app = PlannerApp(AppOptions(glyphs="unicode"), session=EngineSession())
    async with app.run_test(size=(80, 24)) as pilot:
        check(await quiet(pilot))
        await soak(pilot, seed, COUNT // 10)
        await undo_and_redo(pilot)
