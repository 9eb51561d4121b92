"""The planner under test: fixed data, a fixed terminal, no clock."""

import sys
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from textual import _wait
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

sys.path.insert(0, str(Path(__file__).parent))

from fakes import FakeSession, started

from tui.app import AppOptions, PlannerApp
from tui.state import INPUTS


@pytest.fixture(autouse=True)
def _plain_terminal(tmp_path: Path) -> Iterator[None]:
    """The same colours and characters whatever terminal the tests run in; a home of its own. Not
    with `monkeypatch`, which is there only where a test replaces something."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CONFIG", "DATA", "STATE"):
            patch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home" / kind.lower()))
        for name in ("NO_COLOR", "COLORFGBG", "LC_ALL", "LC_CTYPE", "COLUMNS", "LINES"):
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLORTERM", "truecolor")
        patch.setenv("LANG", "C.UTF-8")
        yield


@pytest.fixture(scope="session", autouse=True)
def _sheets_parsed_once() -> Iterator[None]:
    """Each planner parses the same style sheets anew, a sixth of what it costs to start one: rules
    with the same colours are taken from the first one. The method is a private one of Textual, and
    the cache an `LRUCache` since the test of growth empties those before it counts what is held."""
    parsed: LRUCache[Hashable, Any] = LRUCache(1024)
    parse = Stylesheet._parse_rules

    def parse_once(self: Stylesheet, *given: Any, **named: Any) -> Any:
        key = (given, *sorted(named.items()), frozenset(self._variables.items()))
        if key not in parsed:
            parsed[key] = parse(self, *given, **named)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _idle_is_awaited_once() -> Iterator[None]:
    """The pilot waits behind each key until the process is idle, then for animations, of which most
    keys start none, and then until it is idle again. This second wait is left out where no thread
    has done anything since the first."""
    idle_at: float | None = None
    wait_for_idle = _wait.wait_for_idle

    async def wait_unless_idle(min_sleep: float = _wait.SLEEP_GRANULARITY) -> None:
        nonlocal idle_at
        is_first = idle_at is None
        if is_first or process_time() - idle_at >= _wait.SLEEP_IDLE:
            await wait_for_idle(min_sleep)
        idle_at = process_time() if is_first else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textual.app.wait_for_idle", wait_unless_idle)
        yield


@pytest.fixture(autouse=True)
def _commands_share_fits(commands_share_fits: None) -> None:
    """All tests of the terminal, whichever run commands."""


@pytest.fixture
def planner() -> Callable[..., PlannerApp]:
    """Makes a planner on the fake session, with inputs of its first state or `AppOptions`."""

    def make(session: FakeSession | None = None, **options: Any) -> PlannerApp:
        inputs = {name: options.pop(name) for name in INPUTS if name in options}
        options.setdefault("start", started(**{"mix": 1, **inputs}))
        return PlannerApp(AppOptions(**options), session=session or FakeSession())

    return make
