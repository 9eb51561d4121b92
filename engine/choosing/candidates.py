"""Candidate instance types of a catalog, and the executor layout on each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType, Offer
from engine.choosing.limits import Limits, barrier_tasks_per_node
from engine.choosing.recommendation import Rejected
from engine.choosing.room import require_room, types_without_room
from engine.cluster import Layout
from engine.errors import BadInput
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.machines.services import least_workers, service_of
from engine.notices import Notice
from engine.runs.barrier_stages import BarrierStage
from engine.stage_run import StageRun


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate types of a recommendation.

    Args:
        offers, layouts: (k,) in the order of the types' names.
        rejected: types that passed the filter but cannot hold an executor.
        hidden: reason -> number of types left out by default or by the limits.
        comparison_only: measured types that the managed service does not support: shown for
            comparison, but not rented unless named.
        assumed_arch: the architecture assumed where none is known; None where it is known, or where
            the assumption hides no types.
        layout_notices: notices about layouts: memory beside the heap, vCPUs left idle or filled.
        barrier_stages: barrier stages of the job, whose tasks start all at once or not at all.
        task_cpus: `spark.task.cpus`, cores that each task holds.
        wide_stage: the stage for whose tasks the program asks for more; None for none.
    """

    catalog: Catalog
    offers: tuple[Offer, ...]
    layouts: tuple[Layout, ...]
    rejected: tuple[Rejected, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    comparison_only: frozenset[str] = frozenset()
    assumed_arch: str | None = None
    layout_notices: tuple[Notice, ...] = ()
    barrier_stages: tuple[BarrierStage, ...] = ()
    task_cpus: int = 1
    wide_stage: StageRun | None = None

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices about the filter and the layouts."""
        if self.assumed_arch is None:
            return self.layout_notices
        return (
            *self.layout_notices,
            Notice(
                "assumed-architecture",
                f"which processors it ran on is not known: {self.assumed_arch} is assumed, and "
                "types with others are left out",
                "name where it ran with --ran-on TYPE, or the types with --instances",
            ),
        )

    def not_rented(self, limits: Limits) -> frozenset[str]:
        """Types that are compared but not rented; owning one counts as naming it."""
        return self.comparison_only - {name for name, _ in limits.owned}

    @cached_property
    def without_room(self) -> frozenset[str]:
        """Types on which the job would wait forever (`types_without_room`)."""
        return types_without_room(self.names, self.layouts, self.wide_stage)

    def not_started(self, limits: Limits, nodes: IntArray) -> BoolArray:
        """(k, m) whether Spark does not start some stage of the job on so many nodes of a type
        alone: a barrier stage for want of slots, or one for whose tasks its executors are too
        small. The job then meets no deadline (`engine.notices.never_ends`)."""
        too_small = [name in self.without_room for name in self.names]
        stuck = np.repeat(np.asarray(too_small, dtype=bool)[:, None], len(nodes), axis=1)
        for stage in self.binding_limits(limits).barrier_stages:
            stuck |= barrier_tasks_per_node(stage, self.layouts)[:, None] * nodes < stage.tasks
        return stuck

    def barred(self, limits: Limits) -> frozenset[str]:
        """Types that get no node: not rented, or without room for a task."""
        return self.not_rented(limits) | self.without_room

    def binding_limits(self, limits: Limits) -> Limits:
        """The limits with those that the candidates add: the job's barrier stages, the fewest
        workers that the service starts, and no nodes of `barred` types."""
        limits = replace(
            limits,
            barrier_stages=limits.barrier_stages or self.barrier_stages,
            min_nodes=max(limits.min_nodes, least_workers(self.catalog)),
        )
        if not (barred := sorted(self.barred(limits))):
            return limits
        kept = [entry for entry in limits.most if entry[0] not in barred]
        return replace(limits, most=(*kept, *((name, 0) for name in barred)))

    def require_feasible(self, limits: Limits, max_nodes: int) -> None:
        """Checks that some cluster keeps the limits (`Limits.require_feasible`).

        Raises:
            BadInput: where they do not.
        """
        least, service = least_workers(self.catalog), service_of(self.catalog)
        if max_nodes < least:
            raise BadInput(
                f"{service} starts no cluster of fewer than {least} workers",
                where="--max-nodes",
                remedy=f"allow {least}, or say with --platform what else runs the executors",
            )
        require_room(self.layouts, self.wide_stage)
        self.binding_limits(limits).require_feasible(
            self.instances, self.layouts, max_nodes,
            needed_by=service if limits.min_nodes < least else "",
        )  # fmt: skip

    def require_spot_price(self, where: str, without: str) -> None:
        """Checks that some candidate has a spot price.

        Args:
            where: the input that asks for them.
            without: how to do without them.

        Raises:
            BadInput: if no candidate has a spot price.
        """
        if all(offer.spot is None for offer in self.offers):
            raise BadInput(
                f"no type that is compared has a spot price in catalog {self.catalog.name}",
                where=where,
                remedy=f"{without}, or name other types",
            )

    @cached_property
    def instances(self) -> tuple[InstanceType, ...]:
        """(k,) the types."""
        return tuple(offer.instance for offer in self.offers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(k,) names of the types."""
        return tuple(instance.name for instance in self.instances)

    def grid(self, nodes: Sequence[int]) -> ClusterBatch:
        """(k * m,) clusters of each type on m numbers of nodes, types outermost."""
        return ClusterBatch.grid(
            self.instances, self.layouts, nodes, self.catalog, task_cpus=self.task_cpus
        )

    @property
    def prices(self) -> tuple[FloatArray, FloatArray]:
        """(k,) on-demand and (k,) spot prices, inf where there is no spot price."""
        listed = [offer.on_demand.usd_per_hour for offer in self.offers]
        spot = [offer.spot.usd_per_hour if offer.spot else np.inf for offer in self.offers]
        return np.asarray(listed), np.asarray(spot)
