"""The moments at which nodes of a dependency graph may start, as those before them end."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Protocol


class Node(Protocol):
    """A stage, or a moment such as the submission of a job."""

    @property
    def after(self) -> Sequence[int]:
        """Indices of the nodes that must have ended."""

    @property
    def delay_seconds(self) -> float:
        """From the last of those ends to the start."""


class Dependencies:
    """The nodes that still wait for others, and `upcoming`: a heap of (seconds, index) of those
    that wait for none, but for their delay."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._unended = [len(node.after) for node in nodes]
        self._last_end = [0.0] * len(nodes)
        self._children: list[list[int]] = [[] for _ in nodes]
        for index, node in enumerate(nodes):
            for parent in node.after:
                self._children[parent].append(index)
        self.upcoming = [
            (node.delay_seconds, index) for index, node in enumerate(nodes) if not node.after
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
                ready = self._last_end[child] + self._nodes[child].delay_seconds
                heapq.heappush(self.upcoming, (ready, child))
