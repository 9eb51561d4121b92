"""The driver's time between the jobs of a run, at any input.

In: the dependency graph of the run, and the shares of the driver's time that grow. Out: the nodes
of the graph with their driver time at an input. Explained in
docs/models/sparkplan_rules_replay.md#driver-time-and-speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from engine.models.stages.application_graph import ApplicationGraph
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.fetched_rows import (
    FetchedRows,
    fetched_before,
    fetched_bytes_growth,
    growing_share,
)
from engine.models.stages.pauses import least_pause_seconds
from engine.profile import Run
from engine.scheduling.stages import ScheduledNode


@dataclass(frozen=True, eq=False)
class DriverTime:
    """The driver's time in the gaps between the jobs of a run.

    Args:
        rows_share: index of a graph node -> share of the driver's time before it that grows with
            the input, estimated from the rows that the driver fetched.
        growth: further share of all driver time that grows, fitted to other logs (`growing_share`).
    """

    run: Run
    graph: ApplicationGraph
    models: tuple[StageModel, ...]
    rows_share: Mapping[int, float]
    growth: float

    def nodes(self, ratio: float) -> list[ScheduledNode]:
        """The graph's nodes with the driver's time for `ratio` times the input."""
        nodes = list(self.graph.nodes)
        for index in self.growing_gaps if ratio != 1.0 else ():
            growing = growing_share(
                self.rows_share.get(index, 0.0),
                mean_rows_share=self.mean_rows_share,
                excess=self.growth,
            )
            factor = 1.0 + growing * (self.growth_factor(index, ratio) - 1.0)
            if factor != 1.0:
                delay = nodes[index].delay_seconds * factor
                nodes[index] = replace(nodes[index], delay_seconds=delay)
        return nodes

    def growth_factor(self, index: int, ratio: float) -> float:
        """Growth of the growing part of the time before a node of the graph: that of the rows that
        the driver fetched, or `ratio` where other logs show the part in proportion to it."""
        fetched = () if self.growth else self.fetched_before.get(index, ())
        return fetched_bytes_growth(fetched, ratio) if fetched else ratio

    @cached_property
    def fetched_before(self) -> Mapping[int, FetchedRows]:
        """By index of a node of the graph, the rows that the driver fetched before it."""
        return fetched_before(self.graph, self.models)

    @cached_property
    def growing_gaps(self) -> tuple[int, ...]:
        """Nodes before which the driver may have worked on data: all but the start, the end (unless
        rows were fetched before it) and pauses (`least_pause_seconds`)."""
        limit = least_pause_seconds(self.run)
        others = set(self.graph.stage_nodes) | ({len(self.graph.nodes) - 1} - set(self.rows_share))
        return tuple(
            index
            for index, node in enumerate(self.graph.nodes)
            if node.after
            and index not in others
            and node.delay_seconds > 0.0
            and (node.delay_seconds < limit or index in self.rows_share)
        )

    @property
    def growing_seconds(self) -> float:
        """Driver time in `growing_gaps`, in seconds."""
        return sum(self.graph.nodes[index].delay_seconds for index in self.growing_gaps)

    @cached_property
    def mean_rows_share(self) -> float:
        """Share of `growing_seconds` that went to rows that the driver fetched."""
        delays = {index: self.graph.nodes[index].delay_seconds for index in self.growing_gaps}
        rows_seconds = sum(
            delay * self.rows_share.get(index, 0.0) for index, delay in delays.items()
        )
        return rows_seconds / sum(delays.values()) if rows_seconds else 0.0
