"""Sequences whose items are made when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

import numpy as np

from engine.forecast import IntArray

T = TypeVar("T")


class Lazy(Sequence[T], Generic[T]):
    """A sequence whose items are made when they are looked at: a screen shows ten of a thousand."""

    def __init__(self, keys: Sequence[int] | IntArray, make: Callable[[int], T]) -> None:
        self._keys = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
        self._make = make
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        if isinstance(place, slice):
            return tuple(self._item(key) for key in self._keys[place])
        return self._item(self._keys[place])

    def _item(self, key: int) -> T:
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]
