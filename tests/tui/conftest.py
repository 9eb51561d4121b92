"""The planner under test: fixed data, a fixed terminal, no clock."""

import inspect
import sys
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

sys.path.insert(0, str(Path(__file__).parent))

from fakes import FakeSession, started
from kept_fits import KeptFits

import engine
from tui import cli
from tui.app import AppOptions, PlannerApp
from tui.state import INPUTS


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same colours and characters whatever terminal the tests run in; a home of its own."""
    for kind in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home" / kind.lower()))
    for name in ("NO_COLOR", "COLORFGBG", "LC_ALL", "LC_CTYPE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("LANG", "C.UTF-8")


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


@pytest.fixture(scope="session")
def kept_fits() -> KeptFits:
    """The fits of all command lines that tests run in this process."""
    return KeptFits()


@pytest.fixture(autouse=True)
def _commands_share_fits(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kept_fits: KeptFits
) -> None:
    """Not those of planners, which ask from several threads, each of which has a fit of its own;
    and what a test has put in the place of something is in no fit but its own."""
    replaces = "monkeypatch" in inspect.signature(request.function).parameters
    fits, run = KeptFits() if replaces else kept_fits, cli.run

    def run_with_fits(arguments: list[str]) -> int:
        if arguments[:1] and arguments[0] in cli.COMMANDS:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(engine, "fit", fits.fit)
                return run(arguments)
        return run(arguments)

    monkeypatch.setattr(cli, "run", run_with_fits)


@pytest.fixture
def planner() -> Callable[..., PlannerApp]:
    """Makes a planner on the fake session, with inputs of its first state or `AppOptions`."""

    def make(session: FakeSession | None = None, **options: Any) -> PlannerApp:
        inputs = {name: options.pop(name) for name in INPUTS if name in options}
        options.setdefault("start", started(**{"mix": 1, **inputs}))
        return PlannerApp(AppOptions(**options), session=session or FakeSession())

    return make
