"""A sequence whose items are made when they are looked at: a table of hundreds of rows shows
twenty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class OnDemand(Sequence[T], Generic[T]):
    """So many items, each made once. Two of these are equal only where they are the same one: to
    compare them, all items would have to be made."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._count, self._make = count, make
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        places = range(self._count)[index]
        if isinstance(places, range):
            return tuple(self._item(place) for place in places)
        return self._item(places)

    def _item(self, place: int) -> T:
        if place not in self._made:
            self._made[place] = self._make(place)
        return self._made[place]
