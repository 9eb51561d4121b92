"""Linear algebra in one thread, for as long as small matrices are multiplied.

Those of the models have some hundred rows. A library that shares each product among all cores takes
longer to share than to multiply, and where other programs keep the cores busy its threads wait for
each other. The program that calls the engine keeps its own setting for everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which linear algebra uses one thread; `@one_thread()` for all of a function.

    Most libraries have one setting for the whole process. Of several threads that ask at once the
    first one decides, and gives the setting back: a second one would take the first one's setting
    for the program's, and leave it behind.
    """
    if not _DECIDED.acquire(blocking=False):
        yield
        return
    try:
        with libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _DECIDED.release()


_DECIDED = Lock()
"""Held by whoever decides."""


@lru_cache(maxsize=1)
def libraries() -> Any:
    """Those for linear algebra that are loaded: NumPy's, since nothing here multiplies before."""
    import numpy  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
