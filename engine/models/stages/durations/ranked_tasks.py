"""Lazy forms of `Tasks`: sorted task times, put in launch order only on demand, and task times that
are only computed on demand.

The closed form of a stage needs its times but not their order. On a surface of clusters where
partitions depend on the cores, each stage has new tasks for every cluster.

In: functions that compute times and orders. Out: `Tasks`. Explained in
docs/models/sparkplan_rules_replay.md#task-times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.scheduling.makespans import outline
from engine.scheduling.waves import Tasks


class RankedTasks(Tasks):
    """n tasks given by rank.

    Args:
        ranked: (n,) times by rank.
        cold: returns the (n,) times of first tasks on a slot by rank, or None.
        order: returns the (n,) ranks in launch order.
        longest_first: whether that order is from the longest to the shortest.
    """

    def __init__(
        self,
        ranked: FloatArray,
        cold: Callable[[], FloatArray | None],
        order: Callable[[], IntArray],
        *,
        longest_first: bool,
    ) -> None:
        self._ranked, self._cold, self._order = ranked, cold, order
        self.longest_first = longest_first

    def __len__(self) -> int:
        return len(self._ranked)

    @cached_property
    def _launched(self) -> IntArray:
        return self._order()

    @cached_property
    def _cold_ranked(self) -> FloatArray | None:
        return self._cold()

    @cached_property
    def seconds(self) -> FloatArray:
        return np.asarray(self._ranked[self._launched])

    @cached_property
    def cold_seconds(self) -> FloatArray | None:
        cold = self._cold_ranked
        return None if cold is None else np.asarray(cold[self._launched])

    @cached_property
    def cold_excess_seconds(self) -> float:
        cold = self._cold_ranked
        return 0.0 if cold is None else max(0.0, float(cold.mean() - self._ranked.mean()))

    @cached_property
    def total(self) -> float:
        return float(self._ranked.sum())

    @cached_property
    def longest(self) -> float:
        return float(self._ranked.max(initial=0.0))

    @cached_property
    def outlined(self) -> tuple[FloatArray, FloatArray]:
        return outline(np.sort(self._ranked, kind="stable"))  # one at most out of place


class DeferredTasks(Tasks):
    """n tasks that are computed when first used; only their number is known before.

    Args:
        make: computes them.
        cold_excess_seconds: `Tasks.cold_excess_seconds`, if known before.
    """

    def __init__(
        self,
        number: int,
        make: Callable[[], Tasks],
        *,
        longest_first: bool,
        cold_excess_seconds: float | None = None,
    ) -> None:
        self._number, self._make = number, make
        self.longest_first = longest_first
        if cold_excess_seconds is not None:
            self.__dict__["cold_excess_seconds"] = cold_excess_seconds

    def __len__(self) -> int:
        return self._number

    @cached_property
    def _made(self) -> Tasks:
        return self._make()

    @property
    def seconds(self) -> FloatArray:
        return self._made.seconds

    @property
    def cold_seconds(self) -> FloatArray | None:
        return self._made.cold_seconds

    @cached_property
    def cold_excess_seconds(self) -> float:
        return self._made.cold_excess_seconds

    @cached_property
    def total(self) -> float:
        return self._made.total

    @cached_property
    def longest(self) -> float:
        return self._made.longest

    @property
    def outlined(self) -> tuple[FloatArray, FloatArray]:
        return self._made.outlined
