"""What a restless user does: random keys, text, mouse events and sizes, each run known by its seed.

Events arrive as from a terminal, some of them in bursts that nobody waits for.
"""

import random
from collections.abc import Iterator

from screen import waits
from textual import events
from textual.geometry import Size
from textual.pilot import Pilot

from tui.app import PlannerApp
from tui.state import INPUTS, MAX_NODES, MAX_SCALE, MAX_TYPES, MIN_SCALE
from tui.views.goal import GOALS, GoalPanel
from tui.views.pages import NAMES

MOVES = ("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab", "shift+tab")
WITH_SHIFT = ("shift+left", "shift+right", "ctrl+left", "ctrl+right")
ACTIONS = (*"1234567890tcowbxsmgeyupnhjklGfiaqzv+-=", "slash", "dollar_sign", "question_mark")
OTHERS = (
    *("colon", "ctrl+p", "ctrl+z", "ctrl+y", "ctrl+s", "ctrl+l", "ctrl+q", "f1", "delete"),
    *("left_square_bracket", "right_square_bracket"),
)
EDITING = ("enter", "escape", "backspace", "space", "enter", "escape")
TEXTS = (
    *("45m", "$12.50", "2TB", "3x", "95%", "0", "-1", "1e999", "nan", "", "r5.*", "[b]x[/b]"),
    *(":deadline 20m", ":nodes 1:30", ":spot on", ":mix 3", ":limits own m5.xlarge=3", ":pin x"),
    *(":open tiny", ":open missing", ":unpin all", ":theme ansi-dark", ":size 2x", ":catalog aws"),
    *(":exclude c*", ":model ernest", ":budget $1", ":resume", ":save x", ":load x", ":undo"),
    *("\u202e\u4e2d\u6587", "x" * 200, ":max-vcpus 64", ":min-nodes 9", ":confidence 99.9%"),
    *(":tour", ":view evidence", ":ran-on c6i.4xlarge", ":category sql", ":notices"),
)
SIZES = ((80, 24), (120, 40), (200, 60), (40, 12), (100, 29), (10, 3))
NAMES_OF = {" ": "space", ":": "colon", ".": "full_stop", "$": "dollar_sign", "/": "slash"}


def sequence(seed: int, count: int) -> Iterator[tuple[str, object]]:
    """`count` steps out of ("keys", names), ("mouse", kind), ("size", columns and rows)."""
    rng = random.Random(seed)
    for _ in range(count):
        chance = rng.random()
        if chance < 0.40:
            yield "keys", [rng.choice(MOVES + WITH_SHIFT)] * rng.choice((1, 1, 1, 5, 20))
        elif chance < 0.62:
            yield "keys", [rng.choice(ACTIONS + OTHERS)]
        elif chance < 0.77:
            yield "keys", [rng.choice(EDITING)]
        elif chance < 0.82:
            text = rng.choice(TEXTS)
            yield "keys", [*(NAMES_OF.get(c, c) for c in text), rng.choice(("enter", "escape"))]
        elif chance < 0.99:
            kind = rng.choice(("click", "click", "double", "drag", "wheel", "move", "release"))
            yield "mouse", (kind, rng.random(), rng.random(), rng.random(), rng.random())
        else:
            yield "size", rng.choice(SIZES)


def play(app: PlannerApp, kind: str, what: object) -> None:
    """Send one step, without waiting for anything."""
    if kind == "keys":
        for name in what:
            app.simulate_key(name)
    elif kind == "mouse":
        _mouse(app, *what)
    else:
        app.post_message(_resized(*what))


def _resized(columns: int, rows: int) -> events.Resize:
    size = Size(columns, rows)
    return events.Resize(size, size)


def _mouse(app: PlannerApp, kind: str, *places: float) -> None:
    """A click, a drag, a turn of the wheel or a move, at shares of the width and height."""
    width, height = app.size
    x, y, far_x, far_y = (
        int(share * most) for share, most in zip(places, (width, height) * 2, strict=True)
    )

    def send(event: type[events.MouseEvent], x: int, y: int, button: int = 1) -> None:
        pressed = {"shift": False, "meta": False, "ctrl": False}
        app.post_message(event(None, x, y, 0, 0, button, **pressed, screen_x=x, screen_y=y))

    if kind in ("click", "double"):
        for _ in range(1 if kind == "click" else 2):
            send(events.MouseDown, x, y)
            send(events.MouseUp, x, y)
    elif kind == "drag":
        send(events.MouseDown, x, y)
        for part in range(1, 5):
            send(events.MouseMove, x + (far_x - x) * part // 4, y + (far_y - y) * part // 4)
        send(events.MouseUp, far_x, far_y)
    elif kind == "wheel":
        send(events.MouseScrollDown if places[2] < 0.5 else events.MouseScrollUp, x, y, 0)
    elif kind == "release":
        send(events.MouseUp, x, y)
    else:
        send(events.MouseMove, x, y, 0)


async def quiet(pilot: Pilot[None]) -> PlannerApp:
    """The app once every message was handled, no plan is built and no mix is searched."""
    app = pilot.app
    assert isinstance(app, PlannerApp)
    async for _ in waits():
        if _is_quiet(app):
            await pilot.pause()
            if _is_quiet(app):
                break
    else:
        raise AssertionError(f"never quiet: {app.busy!r}, settling {app.settling}")
    await pilot.pause()
    return app


def _is_quiet(app: PlannerApp) -> bool:
    touring = app.guide is not None and not app.guide.idle
    return not (app.busy or app.settling or touring)


def check(app: PlannerApp) -> None:
    """What holds whenever the planner is quiet."""
    state = app.state
    assert state.view in NAMES
    assert MIN_SCALE <= state.scale <= MAX_SCALE
    assert 1 <= state.max_nodes <= MAX_NODES
    assert 1 <= state.mix <= MAX_TYPES
    assert 0.0 < state.confidence < 1.0
    assert state.deadline_seconds is None or state.deadline_seconds > 0.0
    assert state.budget_usd is None or state.budget_usd > 0.0
    assert len({pin.name for pin in app.pins}) == len(app.pins)
    goal = app.answer.report.goal
    assert (goal.deadline_seconds, goal.budget_usd) == (state.deadline_seconds, state.budget_usd)
    assert (goal.confidence, goal.max_nodes) == (state.confidence, state.max_nodes)
    panel = app.screen_stack[0].query_one(GoalPanel)
    for name in GOALS:
        assert panel.slider(name).value == GOALS[name].value(state), name
    for step in (*app.history.past, *app.history.future):
        assert all(hasattr(step, name) for name in INPUTS)
    focused = app.screen.focused
    assert focused is None or focused.is_attached
