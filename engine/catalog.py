"""Instance types, their prices and a provider's billing rules: immutable values, no files.

`engine.catalog_files.reader` reads them from YAML files, in which shapes and prices are separate;
an `Offer` joins them. Unknown values are None, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from datetime import date
from functools import cached_property

from engine.errors import BadInput, UnknownName, UnknownType, require_kind
from engine.read_only import ReadOnly

DEFAULT_CATALOG = "aws"
"""Where types given by name are looked up first."""

UNNAMED_PROVIDER = "other"
"""The provider of a file that names none."""

BYTES_PER_GIGABIT = 1e9 / 8.0


@dataclass(frozen=True, slots=True)
class InstanceType:
    """The shape of one machine type.

    Args:
        arch: "x86_64" or "arm64".
        cpu_score: relative speed of the whole machine by `cpu_benchmark` (for the bundled types
            CoreMark, in iterations per second). Only scores of the same benchmark are compared.
        cpu_score_spread: standard deviation of the score's logarithm, if it was derived instead of
            measured.
        threads_per_core: how many vCPUs share one core.
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
    cpu_score_spread: float | None = None
    threads_per_core: int | None = None
    cpu_benchmark: str | None = None

    def __eq__(self, other: object) -> bool:
        """Whether all values are equal, with unknown ones (NaN) equal to each other: the comparison
        that a dataclass generates denies that, from Python 3.13 on even for the same object."""
        if not isinstance(other, InstanceType):
            return NotImplemented
        return self is other or self._known == other._known

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def _known(self) -> tuple[object, ...]:
        """All values, with None for NaN."""
        return tuple(None if value != value else value for value in astuple(self))

    @classmethod
    def of_shape(cls, vcpus: float, memory_gib: float) -> InstanceType:
        """A type known, and named, only by its shape; memory is NaN if unknown."""
        memory = "" if math.isnan(memory_gib) else f"-{memory_gib:g}-gib"
        return cls(f"{vcpus:g}-vcpu{memory}", vcpus, memory_gib)

    @property
    def is_called_by_shape(self) -> bool:
        """Whether the name only states the shape, as `of_shape` gives it."""
        return self.name == InstanceType.of_shape(self.vcpus, self.memory_gib).name

    @property
    def cpu_score_per_vcpu(self) -> float | None:
        """Relative speed of one vCPU; None if unknown."""
        return None if self.cpu_score is None else self.cpu_score / self.vcpus

    @property
    def network_bytes_per_second(self) -> float | None:
        """Bandwidth of the network; None if unknown."""
        return None if self.network_gbps is None else self.network_gbps * BYTES_PER_GIGABIT

    @property
    def ebs_bytes_per_second(self) -> float | None:
        """Bandwidth to block storage; None if unknown."""
        return None if self.ebs_gbps is None else self.ebs_gbps * BYTES_PER_GIGABIT


MOST_VCPUS, MOST_MEMORY_GIB = 1e6, 1e9
"""Limits for one machine: more is a slip."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one node, valid since `date`, and its source; estimates are shown as such."""

    usd_per_hour: float
    date: date
    source: str
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """An instance type with its prices in one region; `history` is oldest first.

    `dbu_per_hour` is what Databricks meters for one node; None if unknown. `surcharge` is the
    managed service's fee for one node, in place of `Billing.surcharge_fraction`; None for that
    share.
    """

    instance: InstanceType
    on_demand: Price
    spot: Price | None = None
    interruption: str | None = None
    history: tuple[Price, ...] = ()
    dbu_per_hour: float | None = None
    surcharge: Price | None = None


@dataclass(frozen=True, slots=True)
class DbuTier:
    """The price of one DBU in a pricing tier, valid since `date`, and its source."""

    name: str
    usd_per_dbu: float
    date: date
    source: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """The rate by which a file's prices were converted: one unit of `currency` is `usd` USD."""

    currency: str
    usd: float
    date: date
    source: str


@dataclass(frozen=True, slots=True)
class Billing:
    """How running time becomes money (see `engine.cost`). Price files give the defaults.

    Args:
        granularity_seconds: billed time is rounded up to a multiple of this (1, 60, 3600); 0 bills
            the exact time.
        minimum_seconds: the least billed time of each node.
        startup_seconds: billed time from the request to the first task.
        startup_note: what the start-up time is based on.
        master: instance type of the master node billed beside the workers; None for none.
        master_note: what that type is based on.
        master_owned: whether there is a master that costs nothing, beside owned workers.
        surcharge_fraction: the managed service's price as a share of the on-demand price, of types
            without a fee of their own (`Offer.surcharge`); 0 where no such service is paid for.
        surcharge_usd_per_vcpu_hour: its price per vCPU of every node, including the master.
        surcharge_assumed: whether the surcharge is an assumption, not from a price list.
        surcharge_note: date and source of the surcharge, or what it is based on.
        usd_per_dbu: price of one DBU; None where no DBUs are metered.
        dbu_note: tier, date and source of that price and of the DBUs per hour.
        dbu_date: since when that price holds; None for a price of your own.
        discount_fraction: taken off the instance price, not off surcharge or DBUs.
        spot: whether workers are rented at spot prices.
        platform_note: what the price leaves out on a platform other than the catalog's own.
    """

    granularity_seconds: float = 1.0
    minimum_seconds: float = 0.0
    startup_seconds: float = 0.0
    startup_note: str | None = None
    master: str | None = None
    master_note: str | None = None
    master_owned: bool = False
    surcharge_fraction: float = 0.0
    surcharge_usd_per_vcpu_hour: float = 0.0
    surcharge_assumed: bool = False
    surcharge_note: str | None = None
    usd_per_dbu: float | None = None
    dbu_note: str | None = None
    dbu_date: date | None = None
    discount_fraction: float = 0.0
    spot: bool = False
    platform_note: str | None = None


PARTS = (".", "-", "_")
"""Separators in the names of types: m5.xlarge, n2-standard-4, Standard_D4s_v5."""

MEMORY_RULES = ("emr-yarn", "yarn", "kubernetes", "standalone", "databricks", "share")


@dataclass(frozen=True, slots=True)
class MemoryRule:
    """How much of a node's memory executors may use (applied by `engine.memory`).

    Args:
        kind: one of `MEMORY_RULES`; "share" means `share` of the node's memory.
        note: what the rule is based on.
        yarn: whether YARN runs the executors and puts an application master on one of the nodes.
    """

    kind: str = "share"
    share: float = 0.8
    note: str | None = None
    yarn: bool = False

    @property
    def on_yarn(self) -> bool:
        """Whether YARN allocates the memory."""
        return self.yarn or self.kind in ("emr-yarn", "yarn")


@dataclass(frozen=True)
class Catalog:
    """All offers of one provider in one region at one date, with its billing defaults.

    Prices are in USD.

    Args:
        currency: of the file; `exchange` is the rate of conversion, None for USD.
        managed_only: by default only types that the managed service supports are candidates
            (`InstanceType.emr_supported`).
        historic: the prices are old on purpose.
        dbu_tiers: prices of a DBU by tier; empty where no DBUs are metered.
        platform: what runs the executors, if chosen by the user; None for the file's own.
    """

    name: str
    provider: str
    region: str
    currency: str
    date: date
    offers: Mapping[str, Offer] = field(repr=False)
    billing: Billing = field(default_factory=Billing)
    memory_rule: MemoryRule = field(default_factory=MemoryRule)
    managed_only: bool = False
    filtered_by_default: bool = True
    historic: bool = False
    note: str | None = None
    exchange: Exchange | None = None
    dbu_tiers: Mapping[str, DbuTier] = field(default_factory=dict, repr=False)
    platform: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "offers", ReadOnly(self.offers))
        object.__setattr__(self, "dbu_tiers", ReadOnly(self.dbu_tiers))

    def with_terms(
        self, *, discount_fraction: float | None = None, dbu: str | float | None = None
    ) -> Catalog:
        """The same prices on your own terms; None keeps those of the file.

        Args:
            discount_fraction: taken off the instance prices, in [0, 1).
            dbu: a tier of `dbu_tiers`, or USD per DBU.

        Raises:
            UnknownName: for a tier that the catalog does not have.
            BadInput: for a discount or price out of range, and for DBUs where none are metered.
        """
        billing = self.billing
        if discount_fraction is not None:
            if not 0.0 <= discount_fraction < 1.0:
                raise BadInput(f"a discount lies between 0 and 1, not {discount_fraction}")
            billing = replace(billing, discount_fraction=discount_fraction)
        if dbu is not None:
            billing = self._with_dbu(billing, dbu)
        return self if billing is self.billing else replace(self, billing=billing)

    def _with_dbu(self, billing: Billing, dbu: str | float) -> Billing:
        if billing.usd_per_dbu is None:
            raise BadInput(
                f"catalog {self.name} meters no DBUs", remedy="use the catalog azure-databricks"
            )
        if isinstance(dbu, str):
            if dbu not in self.dbu_tiers:
                raise UnknownName("DBU tier", dbu, self.dbu_tiers, where=f"catalog {self.name}")
            tier = self.dbu_tiers[dbu]
            note = f"{tier.name}, {tier.date}: {tier.source}"
            return replace(billing, usd_per_dbu=tier.usd_per_dbu, dbu_note=note, dbu_date=tier.date)
        if not 0.0 < dbu < float("inf"):
            raise BadInput(f"the price of a DBU must be more than zero, not {dbu}")
        return replace(billing, usd_per_dbu=dbu, dbu_note="your own price", dbu_date=None)

    def supports(self, name: str) -> bool:
        """Whether the managed service supports a type, as far as is known; always true for a
        catalog without such a service."""
        return not self.managed_only or self.offers[name].instance.emr_supported is not False

    def offer(self, name: str) -> Offer:
        """The offer of one type.

        Raises:
            UnknownName: with close matches, if the catalog has no such type.
        """
        try:
            return self.offers[name]
        except KeyError:
            raise self.unknown_type(name) from None

    def unknown_type(self, name: str, *, kind: str = "instance type") -> UnknownType:
        """The error for a name that no type has."""
        return UnknownType(name, self.offers, catalog=self.name, kind=kind, remedy=self._listing)

    @property
    def _listing(self) -> str:
        return f"`sparkplan catalog show {self.name}` lists its types"

    def unknown_glob(self, glob: str) -> UnknownType:
        """The error for a glob that no type matches. If names begin with it, it suggests the glob
        that matches these; otherwise similar types."""
        error = self.unknown_type(glob)
        begun = glob.rstrip("".join(PARTS)).casefold()
        begin = [name for name in self.offers if begun and name.casefold().startswith(begun)]
        family = [name for name in begin if name[len(begun) :].startswith(PARTS)]
        if not family and error.close:
            return error
        types = family or begin
        if len(types) < 2:
            meant = " or ".join(types)
        else:
            meant = f"{types[0][: len(begun) + bool(family)] + '*'!r} ({len(types)} types)"
        remedy = f"did you mean {meant}?" if meant else self._listing
        return UnknownType(glob, (), catalog=self.name, remedy=remedy)

    @cached_property
    def median_cpu_scores_per_vcpu(self) -> Mapping[str | None, float]:
        """Benchmark -> median score per vCPU of the types that it scored, which stands in for an
        unknown source type."""
        import statistics  # takes 5 ms, which commands without a catalog need not wait for

        scores: dict[str | None, list[float]] = {}
        for offer in self.offers.values():
            instance = offer.instance
            if instance.cpu_score_per_vcpu is not None:
                scores.setdefault(instance.cpu_benchmark, []).append(instance.cpu_score_per_vcpu)
        return {benchmark: statistics.median(found) for benchmark, found in scores.items()}


def require_catalog(catalog: object) -> None:
    """Checks that a value is a catalog, not the name of one.

    Raises:
        BadInput: for anything that is no `Catalog`.
    """
    remedy = 'load it with engine.load_catalog("aws")'
    require_kind(catalog, Catalog, "a catalog", remedy=remedy)
