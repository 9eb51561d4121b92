"""The moments at which nodes of a dependency graph may start, as those before them end."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence


class Dependencies:
    """The nodes that still wait for others, and `upcoming`: a heap of (seconds, index) of those
    that wait for none, but for their delay.

    Args:
        after: of each node, the indices of those that must have ended.
        delay_seconds: of each node, from the last of these ends to its start.
    """

    def __init__(self, after: Sequence[Sequence[int]], delay_seconds: Sequence[float]) -> None:
        self._delay_seconds = delay_seconds
        self._unended = [len(parents) for parents in after]
        self._last_end = [0.0] * len(after)
        self._children: list[list[int]] = [[] for _ in after]
        for index, parents in enumerate(after):
            for parent in parents:
                self._children[parent].append(index)
        self.upcoming = [
            (delay_seconds[index], index) for index, parents in enumerate(after) if not parents
        ]
        heapq.heapify(self.upcoming)

    @property
    def next_start(self) -> float:
        """When the next node may start, in seconds; inf while all others wait."""
        return self.upcoming[0][0] if self.upcoming else math.inf

    def started_by(self, moment: float) -> Iterator[tuple[float, int]]:
        """Takes the nodes that may start by a moment, with their starts; those too that become
        ready while it is iterated over."""
        while self.upcoming and self.upcoming[0][0] <= moment:
            yield heapq.heappop(self.upcoming)

    def end(self, index: int, moment: float) -> None:
        """Ends a node, which lets others come."""
        for child in self._children[index]:
            self._unended[child] -= 1
            self._last_end[child] = max(self._last_end[child], moment)
            if not self._unended[child]:
                ready = self._last_end[child] + self._delay_seconds[child]
                heapq.heappush(self.upcoming, (ready, child))
