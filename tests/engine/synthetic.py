"""Small made-up catalogs, profiles and models for the tests of prices and choices.

A surface of made times, for the tests of the optimiser.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Billing, Catalog, InstanceType, MemoryRule, Offer, Price
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.surface import Surface
from engine.cluster import Cluster, Workload
from engine.forecast import Forecast
from engine.models.base import FittedModel
from engine.notices import Notice
from engine.profile import Profile, Run

DAY = date(2026, 7, 1)
PLAIN = Billing()


def offer(
    name: str,
    usd: float,
    *,
    vcpus: float = 4,
    memory_gib: float = 16.0,
    spot: float | None = None,
    **shape: object,
) -> Offer:
    """An offer; spot prices are estimates."""
    instance = InstanceType(name, vcpus, memory_gib, **shape)
    price = Price(usd, DAY, "made up")
    return Offer(instance, price, None if spot is None else Price(spot, DAY, "guess", True))


def catalog_of(*offers: Offer, billing: Billing = PLAIN, **fields: object) -> Catalog:
    """A catalog of these offers."""
    return Catalog(
        "test",
        "other",
        "here",
        "USD",
        DAY,
        {entry.instance.name: entry for entry in offers},
        billing,
        MemoryRule("share", 0.8),
        **fields,
    )


def profile_on(instance: InstanceType | None = None, seconds: float = 600.0) -> Profile:
    """A profile of one run, on four nodes of a type or on unnamed executors."""
    if instance is None:
        cluster = Cluster.of_executors(executors=4, executor_cores=2, executor_memory_gib=4.0)
    else:
        cluster = Cluster.of_nodes(
            instance_type=instance.name,
            nodes=4,
            vcpus=instance.vcpus,
            memory_gib=instance.memory_gib,
        )
    return Profile("job", (Run(seconds, cluster, Workload(1e9)),))


Law = Callable[[str, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class TableModel(FittedModel):
    """A model that answers with a law of (type name, node counts) and a spread per type."""

    law: Law = field(kw_only=True)
    log_scales: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    log_scale: float = field(default=np.nan, kw_only=True)
    dof: float = field(default=np.inf, kw_only=True)
    warned: tuple[Notice, ...] = field(default=(), kw_only=True)

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        seconds, scale = np.empty(len(batch)), np.empty(len(batch))
        for row, instance in enumerate(batch.types):
            name = instance.name if instance else ""
            chosen = batch.type_index == row
            count = batch.nodes if instance else batch.executors
            seconds[chosen] = self.law(name, count[chosen])
            scale[chosen] = self.log_scales.get(name, self.log_scale)
        return Forecast.of(seconds, scale, self.dof)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        return self.warned


def model(law: Law, profile: Profile | None = None, **fields: object) -> TableModel:
    """A model with this law."""
    return TableModel("table", profile or profile_on(), law=law, **fields)


def surface_of(fitted: TableModel, catalog: Catalog, max_nodes: int) -> Surface:
    candidates = select_candidates(catalog, profile=fitted.profile, instances=["*"])
    return Surface.build(fitted, candidates, max_nodes=max_nodes)


SLOW = offer("slow", 0.1)
FAST = offer("fast", 0.5)
TWO = catalog_of(SLOW, FAST)


def two_law(name: str, nodes: np.ndarray) -> np.ndarray:
    return 3600.0 / nodes ** (0.9 if name == "slow" else 1.0) / (4.0 if name == "fast" else 1.0)
