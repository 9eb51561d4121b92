"""A lazy sequence, and a small cache of recent results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar, overload

import numpy as np

from engine.forecast import IntArray

T = TypeVar("T")


class Lazy(Sequence[T], Generic[T]):
    """A sequence whose items are computed on first access: a screen shows ten of a thousand. A copy
    or pickle of it is a tuple of all items."""

    def __init__(self, keys: Sequence[int] | IntArray, make: Callable[[int], T]) -> None:
        self._keys = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
        self._make = make
        self._made: dict[int, T] = {}

    def __repr__(self) -> str:
        """How many there are, and what they are: the first one alone is made for it."""
        first = f", the first {self[0]!r}" if self else ""
        return f"<{len(self)} in all{first}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self._item(key) for key in self._keys[index])
        return self._item(self._keys[index])

    def _item(self, key: int) -> T:
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]


class LruCache(Generic[T]):
    """A thread-safe least-recently-used cache. A copy or pickle of it is empty.

    Args:
        capacity: what the values that it keeps weigh in sum.
        weight: of a value; None for one each.
    """

    def __init__(self, capacity: int, weight: Callable[[T], int] | None = None) -> None:
        self._capacity, self._weight, self._lock = capacity, weight, Lock()
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._capacity, self._weight)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The cached value, else the one that `make` computes: two threads that ask at once may
        both compute it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        value = make()
        with self._lock:
            self._kept[key] = value
            while self._load > self._capacity:
                self._kept.popitem(last=False)
        return value

    @property
    def _load(self) -> int:
        """What the values weigh in sum."""
        return (
            len(self._kept) if self._weight is None else sum(map(self._weight, self._kept.values()))
        )
