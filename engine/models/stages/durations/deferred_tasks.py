"""Tasks whose times are only computed when one of them is placed.

The closed form of a stage needs the outline of its times alone. On a surface of clusters where
partitions depend on the cores, each stage has new tasks for every cluster.

In: an outline, and functions that compute times. Out: `Tasks`. Explained in
docs/models/sparkplan_rules_replay.md#task-times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from engine.forecast import FloatArray
from engine.scheduling.waves import Tasks


class DeferredTasks(Tasks):
    """n tasks of which the outline is known.

    Args:
        outlined, total: `Tasks.outlined` and `Tasks.total`.
        warm: computes `Tasks.seconds`.
        cold: computes `Tasks.cold_seconds`.
        cold_excess_seconds: `Tasks.cold_excess_seconds`, if known before.
    """

    def __init__(
        self,
        number: int,
        outlined: tuple[FloatArray, FloatArray],
        total: float,
        *,
        warm: Callable[[], FloatArray],
        cold: Callable[[], FloatArray | None],
        longest_first: bool,
        cold_excess_seconds: float | None,
    ) -> None:
        self._number, self._warm, self._cold = number, warm, cold
        self.longest_first = longest_first
        self.__dict__.update(outlined=outlined, total=total, longest=float(outlined[0][-1]))
        if cold_excess_seconds is not None:
            self.__dict__["cold_excess_seconds"] = cold_excess_seconds

    def __len__(self) -> int:
        return self._number

    @cached_property
    def seconds(self) -> FloatArray:
        return self._warm()

    @cached_property
    def cold_seconds(self) -> FloatArray | None:
        return self._cold()
