"""A restless user: no exception, no growth, always a state with a meaning, and undo to the start.

200 random steps are part of the ordinary run, which counts the objects that are held; the deep run
and longer ones count bytes too. `SPARKPLAN_SOAK=10000 pytest tests/tui/test_soak.py` takes so many
steps; `SPARKPLAN_SOAK_SEED=7` (or `1-4`) chooses other seeds.
"""

import gc
import os
import random
import tracemalloc
from dataclasses import replace

import pytest
from depth import DEEP
from fakes import FakeSession
from growth import Growth, per_step
from soak import check, play, quiet, sequence

from tui.app import PlannerApp
from tui.history import changed_inputs
from tui.session import EngineSession
from tui.start import AppOptions

COUNT = int(os.environ.get("SPARKPLAN_SOAK", "200"))
ASKED = os.environ.get("SPARKPLAN_SOAK_SEED", "1")
FIRST, LAST = (int(n) for n in ASKED.split("-")) if "-" in ASKED else (int(ASKED), int(ASKED))
LONG = COUNT > 1000
READINGS = 9 if LONG else 4
"""Of what is held, in the second half of the steps: only that one pays for the bytes that are
counted."""

MOST_BYTES_PER_STEP = 150 if LONG else 2_500
MOST_OBJECTS_PER_STEP = 1.0 if LONG else 6.0
"""Over few steps some 50 kB more or less of strips and regions count for much."""

KEPT_STEPS = 10
"""Of the undo history, from one reading to the next."""


@pytest.fixture
def stays(monkeypatch, tmp_path):
    """Nothing ends the app; what is saved without a path lands beside the test; whatever happens
    nothing is counted afterwards."""

    async def no_quit(self):
        return None

    monkeypatch.setattr(PlannerApp, "action_quit", no_quit)
    monkeypatch.chdir(tmp_path)
    yield
    tracemalloc.stop()
    gc.unfreeze()


async def soak(pilot, seed, steps):
    """Play; every few steps wait, and check what must hold. Returns how what is held grew."""
    rng, count = random.Random(-seed), len(steps)
    growth = Growth(pilot.app, traces_bytes=DEEP or LONG)
    begins = count // 2
    readings = {begins + (count - begins) * n // READINGS for n in range(1, READINGS + 1)}
    for number, (kind, what) in enumerate(steps, start=1):
        play(pilot.app, kind, what)
        if rng.random() < 0.6:
            await pilot.pause()
        if rng.random() < 0.05:
            check(await quiet(pilot))
        if number == begins:
            await growth.begin(pilot)
        if number in readings:
            before = pilot.app.state, lately(pilot.app.history)
            await growth.read(pilot, number)
            check(pilot.app)
            pilot.app.restore_state(before[0], history=before[1])
            check(await quiet(pilot))
    return growth


def lately(history):
    """A few steps of it: as many at every reading, where all of them would be up to 200 states."""
    return replace(history, past=history.past[-KEPT_STEPS:], future=history.future[:KEPT_STEPS])


def assert_steady(growth, *, most_bytes=MOST_BYTES_PER_STEP, most_objects=MOST_OBJECTS_PER_STEP):
    """Neither bytes nor objects grow with the steps."""
    print(growth.rates())
    if growth.bytes_per_step > most_bytes or growth.objects_per_step > most_objects:
        raise AssertionError(growth.told())


async def undo_and_redo(pilot):
    """All the way back, and forward again to the same inputs."""
    app = pilot.app
    last, first = app.state, app.history.past[0]
    steps, ahead = len(app.history.past), app.history.future
    for _ in range(steps):
        app.action_undo()
        await quiet(pilot)
        check(app)
    assert not app.history.past
    assert changed_inputs(app.state, first) == frozenset()
    for _ in range(steps):
        app.action_redo()
        await quiet(pilot)
    assert app.history.future == ahead
    assert changed_inputs(app.state, last) == frozenset()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, LAST + 1))
async def test_a_restless_user(planner, stays, seed):
    app = planner(FakeSession(), mix=2, vi=seed % 2 == 0)
    async with app.run_test(size=(120, 40)) as pilot:
        check(await quiet(pilot))
        growth = await soak(pilot, seed, [*sequence(seed, COUNT)])
        assert_steady(growth)
        growth.end()
        await undo_and_redo(pilot)


@pytest.mark.slow
async def test_a_small_leak_is_seen(planner, stays):
    """Readings as far from each other as those of a long run, with and without a leak, of the two
    views that are shown: of a few hundred bytes, and without those of a few objects."""
    app, kept = planner(FakeSession()), []
    traces_bytes = DEEP or LONG
    counted, leak = ("bytes", lambda: bytes(300)) if traces_bytes else ("objects", lambda: [[], []])
    async with app.run_test(size=(120, 40)) as pilot:
        await quiet(pilot)
        views = ("curves", "compositions")
        growth = Growth(app, views=views, dialogs=(), traces_bytes=traces_bytes)
        await growth.begin(pilot)
        number = 0
        for leaks in (False, True):
            # The last reading without the leak is the first one before it.
            del growth.readings[:-1]
            while len(growth.readings) < 3:
                number += 1
                kept.extend(leak() for _ in range(625 if leaks else 0))
                await pilot.press("right", "2", "down", "left", "1")
                await growth.read(pilot, 625 * number)
            if leaks:
                with pytest.raises(AssertionError, match=counted):
                    assert_steady(growth, most_bytes=150, most_objects=1.0)
            else:
                assert_steady(growth, most_bytes=150, most_objects=1.0)


def test_slopes_are_not_taken_in_by_one_reading():
    assert per_step([(0, 50), (10, 50), (20, 9_000), (30, 50), (40, 50)]) == 0.0
    assert per_step([(0, 0), (10, 3_000), (20, 6_010), (30, 9_000)]) == pytest.approx(300, abs=2)


@pytest.mark.skipif(not LONG, reason="only where many steps are asked for")
@pytest.mark.parametrize("seed", range(FIRST, LAST + 1))
async def test_a_restless_user_of_the_real_engine(stays, seed):
    app = PlannerApp(AppOptions(glyphs="unicode"), session=EngineSession())
    async with app.run_test(size=(80, 24)) as pilot:
        check(await quiet(pilot))
        growth = await soak(pilot, seed, [*sequence(seed, COUNT // 10)])
        assert_steady(growth)
        growth.end()
        await undo_and_redo(pilot)
