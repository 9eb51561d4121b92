"""The planner under test: fixed data, a fixed terminal, no clock."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fakes import FakeSession, started

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


@pytest.fixture
def planner() -> Callable[..., PlannerApp]:
    """Makes a planner on the fake session, with inputs of its first state or `AppOptions`."""

    def make(session: FakeSession | None = None, **options: Any) -> PlannerApp:
        inputs = {name: options.pop(name) for name in INPUTS if name in options}
        options.setdefault("start", started(**{"mix": 1, **inputs}))
        return PlannerApp(AppOptions(**options), session=session or FakeSession())

    return make
