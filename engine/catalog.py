"""Instance types, their prices and a provider's billing rules: immutable values, no files.

`engine.catalog_file` reads them from YAML. Shapes and prices are separate there and joined once
here, in an `Offer`. A value that is not known is None, never 0.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from types import MappingProxyType

from engine.errors import UnknownName


@dataclass(frozen=True, slots=True)
class InstanceType:
    """The shape of one machine type.

    `cpu_score` is the relative speed of the whole machine (CoreMark iterations per second); only
    ratios of it are used. `arch` is "x86_64" or "arm64".
    """

    name: str
    vcpus: float
    memory_gib: float
    family: str | None = None
    arch: str | None = None
    generation: int | None = None
    network_gbps: float | None = None
    local_disk_gb: float | None = None
    local_disk_kind: str | None = None
    ebs_gbps: float | None = None
    cpu_score: float | None = None
    emr_supported: bool | None = None

    @property
    def cpu_score_per_vcpu(self) -> float | None:
        """Relative speed of one vCPU; None where the machine was never measured."""
        return None if self.cpu_score is None else self.cpu_score / self.vcpus


@dataclass(frozen=True, slots=True)
class Price:
    """What one node costs per hour, since when, and who says so; `estimated` is shown with it."""

    usd_per_hour: float
    date: date
    source: str
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """An instance type with its prices in one region; `history` is oldest first."""

    instance: InstanceType
    on_demand: Price
    spot: Price | None = None
    interruption: str | None = None
    history: tuple[Price, ...] = ()


@dataclass(frozen=True, slots=True)
class Billing:
    """How running time becomes money (see `engine.cost`); the defaults stand in the price file.

    Args:
        granularity_seconds: billed time is rounded up to a multiple of this (1, 60, 3600);
            0 bills exactly what ran.
        minimum_seconds: at least this long is billed for each node.
        startup_seconds: time from the request to the first task, billed though nothing runs.
        startup_note: what the start-up time rests on, shown with it.
        master: instance type of the master node that is billed beside the workers, or None.
        surcharge_fraction: the managed service's price as a share of the on-demand price.
        surcharge_assumed: the surcharge is a labelled assumption, not a price list's figure.
        discount_fraction: taken off the instance price (not off the surcharge).
    """

    granularity_seconds: float = 1.0
    minimum_seconds: float = 0.0
    startup_seconds: float = 0.0
    startup_note: str | None = None
    master: str | None = None
    surcharge_fraction: float = 0.0
    surcharge_assumed: bool = False
    surcharge_note: str | None = None
    discount_fraction: float = 0.0
    spot: bool = False


@dataclass(frozen=True, slots=True)
class MemoryRule:
    """What of a node's memory the executors may use (`engine.memory` applies it).

    `kind` is "emr-yarn" (max(0.75 m, m - 8192 MB)), or "share": `share` of the node's memory.
    """

    kind: str = "share"
    share: float = 0.8


@dataclass(frozen=True)
class Catalog:
    """All offers of one provider in one region at one date, with its billing defaults.

    `managed_only`: by default only types that the managed service supports are candidates
    (`InstanceType.emr_supported`). `historic`: the prices are old on purpose.
    """

    name: str
    provider: str
    region: str
    currency: str
    date: date
    offers: Mapping[str, Offer]
    billing: Billing = field(default_factory=Billing)
    memory_rule: MemoryRule = field(default_factory=MemoryRule)
    managed_only: bool = False
    filtered_by_default: bool = True
    historic: bool = False
    note: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "offers", MappingProxyType(dict(self.offers)))

    def offer(self, name: str) -> Offer:
        """The offer of one type.

        Raises:
            UnknownName: with close matches, when the catalog has no such type.
        """
        try:
            return self.offers[name]
        except KeyError:
            raise UnknownName(
                "instance type",
                name,
                self.offers,
                where=f"catalog {self.name}",
                remedy=f"`sparkplan catalog show {self.name}` lists its types",
            ) from None

    @cached_property
    def median_cpu_score_per_vcpu(self) -> float | None:
        """The median over all scored types: what stands in for a source type nobody named."""
        scores = [
            score
            for offer in self.offers.values()
            if (score := offer.instance.cpu_score_per_vcpu) is not None
        ]
        return statistics.median(scores) if scores else None
