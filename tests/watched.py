"""What tests count: how often something is computed, and of what."""

from typing import Any

import pytest


def calls_of(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[tuple[Any, ...]]:
    """The arguments of each call of a function or a method from now on, which does as before; those
    by name are the last."""
    original, calls = getattr(owner, name), list[tuple[Any, ...]]()

    def watched(*given: object, **named: object) -> object:
        calls.append((*given, *named.values()))
        return original(*given, **named)

    monkeypatch.setattr(owner, name, watched)
    return calls
