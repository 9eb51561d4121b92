"""The heap that a job needs, where a model says it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AssuredMemory:
    """Heap that a job needs (SimCost 4.2.1).

    Args:
        total_gib: of all executors together; None where each task slot needs `per_slot_gib`, beside
            `reserved_gib` of each executor.
        try_gib: executor memory in all with which sample runs would tell more; empty where the
            answer stands.
        how: where the number comes from, in words.
    """

    total_gib: float | None = None
    per_slot_gib: float = 0.0
    reserved_gib: float = 0.0
    try_gib: tuple[float, ...] = ()
    how: str = ""

    def executor_gib(self, *, executors: int, executor_cores: int) -> float:
        """Heap of each executor in whole GiB, at least one."""
        if self.total_gib is not None:
            return float(max(1, math.ceil(self.total_gib / executors - ROUNDING)))
        return float(max(1, math.ceil(self.reserved_gib + executor_cores * self.per_slot_gib)))


ROUNDING = 1e-9
"""GiB above a whole number that are only an error of arithmetic."""
