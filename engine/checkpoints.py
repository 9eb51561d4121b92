"""Long computations ask between their parts whether their answer is still wanted.

The surface of a log takes some hundred replays: what is computed ahead of a question must give way
to a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


def _always() -> None:
    """An answer is wanted unless someone says otherwise."""


_check: ContextVar[Callable[[], None]] = ContextVar("check", default=_always)


@contextmanager
def checked_by(check: Callable[[], None]) -> Iterator[None]:
    """A context in which computations of this thread call `check` between their parts, which take
    milliseconds, some of them up to 0.2 s. What it raises ends them; finished replays are kept for
    the next question, blocks of rows are not."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def checkpoint() -> None:
    """Raises if the answer is not wanted any more."""
    _check.get()()
