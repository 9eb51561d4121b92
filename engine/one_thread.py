"""Linear algebra in one thread while small matrices are multiplied.

The models' matrices have about a hundred rows. Sharing each product among all cores takes longer
than multiplying, and on a busy machine the library's threads wait for each other. The calling
program keeps its own setting for everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which linear algebra uses one thread; `@one_thread()` for a whole function.

    Most libraries have one setting for the whole process. If several threads ask at once, the first
    one sets and restores it; a second one would take that setting for the program's own and leave
    it behind.
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
"""Held by the thread that changes the setting."""


@lru_cache(maxsize=1)
def libraries() -> Any:
    """The loaded linear algebra libraries: NumPy's, since nothing here multiplies earlier."""
    import numpy  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
