"""Which instance types are considered at all, and how executors sit on each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch, complete, measured_layout
from engine.catalog import Catalog, InstanceType, Offer
from engine.choosing.limits import NO_LIMITS, Limits
from engine.choosing.recommendation import Rejected
from engine.cluster import BesideHeap, Cluster, Layout
from engine.errors import BadInput, require_kind
from engine.forecast import FloatArray
from engine.machines.beside_heap import planned_beside, planned_notices
from engine.machines.hardware_threads import layout_notice
from engine.machines.platforms import NOT_SUPPORTED, SERVICE
from engine.machines.services import least_workers, service_of
from engine.memory import executor_cores_for, holds_none, layout_of
from engine.notices import Notice
from engine.profile import Profile
from engine.runs.barrier_stages import BarrierStage
from engine.runs.carried_settings import held_cores, task_cpus

MINIMUM_MEMORY_GIB = 8.0
"""Types with less are no candidates by default: the system leaves little for executors."""

DEFAULT_ARCH = "x86_64"
"""Assumed if nothing tells what the job was measured on."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The types that are compared.

    Args:
        offers, layouts: (k,) in the order of their names.
        rejected: types that were named (or not hidden) and cannot hold an executor.
        hidden: reason -> number of types left out by default.
        compared: measured types that the managed service does not support: shown for comparison,
            but not rented unless named.
        assumed_arch: the architecture assumed where none is known; None where it is known, or where
            the assumption hides no types.
        told: notices about layouts: memory beside the heap, vCPUs left idle or filled.
        barrier_stages: stages of the job whose tasks start all at once or not at all.
        task_cpus: cores that each task holds.
    """

    catalog: Catalog
    offers: tuple[Offer, ...]
    layouts: tuple[Layout, ...]
    rejected: tuple[Rejected, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    compared: frozenset[str] = frozenset()
    assumed_arch: str | None = None
    told: tuple[Notice, ...] = ()
    barrier_stages: tuple[BarrierStage, ...] = ()
    task_cpus: int = 1

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices about the filter and the layouts."""
        if self.assumed_arch is None:
            return self.told
        return (
            *self.told,
            Notice(
                "assumed-architecture",
                f"which processors it ran on is not known: {self.assumed_arch} is assumed, and "
                "types with others are left out",
                "name where it ran with --ran-on TYPE, or the types with --instances",
            ),
        )

    def barred(self, limits: Limits) -> frozenset[str]:
        """The types that are compared but not rented; owning one counts as naming it."""
        return self.compared - {name for name, _ in limits.owned}

    def within(self, limits: Limits) -> Limits:
        """The limits with the job's own needs, at least as many workers as the service starts, and
        without nodes of types only compared."""
        limits = replace(
            limits,
            barrier_stages=limits.barrier_stages or self.barrier_stages,
            min_nodes=max(limits.min_nodes, least_workers(self.catalog)),
        )
        barred = sorted(self.barred(limits))
        if not barred:
            return limits
        kept = [entry for entry in limits.most if entry[0] not in barred]
        return replace(limits, most=(*kept, *((name, 0) for name in barred)))

    def require_room(self, limits: Limits, max_nodes: int) -> None:
        """Checks that the limits leave room for a cluster (`Limits.leaving_room`).

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
        self.within(limits).leaving_room(
            self.instances, self.layouts, max_nodes,
            needed_by=service if limits.min_nodes < least else "",
        )  # fmt: skip

    def require_spot_price(self, where: str, without: str) -> None:
        """Checks that there are spot nodes to rent.

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


def select_candidates(
    catalog: Catalog,
    *,
    profile: Profile,
    ran_on: Sequence[InstanceType] = (),
    barrier_stages: tuple[BarrierStage, ...] = (),
    instances: Sequence[str] | None = None,
    limits: Limits = NO_LIMITS,
) -> Candidates:
    """The candidate types of a catalog.

    By default these are the types of the measured architecture with at least 8 GiB that the managed
    service supports. Naming types (globs such as "m5.*", or "*") lifts this filter. Measured and
    owned types always stay, though measured ones that the service does not support only for
    comparison. Types that the limits exclude never stay.

    Args:
        ran_on: types that tell the architecture, in addition to the profile's.
        barrier_stages: stages of the job whose tasks start all at once or not at all.

    Raises:
        UnknownName: for a name or glob that matches no type.
        BadInput: when no type is left.
    """
    if instances is not None:
        chosen = _Chosen(match_names(catalog, instances), {}, frozenset(), assumed=False)
    else:
        known = limits.arch or _measured_arch(catalog, profile, ran_on)
        chosen = _by_default(catalog, frozenset(profile.instance_types), known)
    kept = _within(limits, catalog, chosen.kept)
    found = _laid_out(catalog, sorted(kept), profile, chosen.hidden)
    if not found.offers:
        raise _none_left(found, planned_beside(profile))
    found = replace(
        found,
        compared=chosen.compared & set(found.names),
        assumed_arch=DEFAULT_ARCH if chosen.assumed else None,
        told=(*planned_notices(profile), *_layout_notices(found, profile)),
        barrier_stages=barrier_stages,
    )
    if found.barred(limits) == set(found.names):
        raise BadInput(
            f"{SERVICE} supports none of the types that are left: {', '.join(found.names)}",
            where=f"catalog {catalog.name}",
            remedy="name types with --instances, or say what else runs the executors with "
            "--platform",
        )
    return found


def _layout_notices(found: Candidates, profile: Profile) -> Iterator[Notice]:
    """Notices about the layout of executors on measured types."""
    for instance in found.instances:
        if instance.name in profile.instance_types:
            notice = layout_notice(profile, instance, measured_layout(profile, instance.name))
            if notice is not None:
                yield notice


class _Chosen(NamedTuple):
    """Types before the limits.

    Args:
        hidden: how many were left out, by the reason.
        compared: measured types that the service does not support.
        assumed: whether types of another architecture were left out though none was measured.
    """

    kept: list[str]
    hidden: Mapping[str, int]
    compared: frozenset[str]
    assumed: bool


def _by_default(catalog: Catalog, measured: frozenset[str], known: str | None) -> _Chosen:
    """What the default filter leaves; `known` is the architecture to keep, None if unknown."""
    arch, kept = known or DEFAULT_ARCH, []
    hidden: Counter[str] = Counter()
    for name, offer in catalog.offers.items():
        reason = None if name in measured else _hidden_reason(offer.instance, catalog, arch)
        if reason is None:
            kept.append(name)
        else:
            hidden[reason] += 1
    compared = (name for name in measured & set(kept) if not catalog.supports(name))
    return _Chosen(
        kept,
        dict(hidden.most_common()),
        frozenset(compared) if catalog.filtered_by_default else frozenset(),
        assumed=known is None and _other(arch) in hidden,
    )


def _within(limits: Limits, catalog: Catalog, names: Sequence[str]) -> list[str]:
    """The named and the owned types, without those that an exclusion or the architecture bars."""

    def is_rentable(name: str) -> bool:
        arch = catalog.offers[name].instance.arch
        return not limits.excludes(name) and (limits.arch is None or arch in (None, limits.arch))

    named = dict.fromkeys([*names, *(name for name, _ in limits.owned)])
    kept = [name for name in named if is_rentable(name)]
    if not kept:
        raise BadInput(
            "the limits leave no instance type", where="limits", remedy="loosen exclude or arch"
        )
    return kept


def match_names(catalog: Catalog, patterns: Sequence[str]) -> list[str]:
    """The catalog's types that any of the names or globs match.

    Raises:
        UnknownName: for a name or glob that matches no type, with close matches.
        BadInput: when no pattern is given, or what is none.
    """
    if isinstance(patterns, str) or not isinstance(patterns, Iterable):
        meant = patterns if isinstance(patterns, str) else "m5.*"
        raise BadInput(
            f"a list of instance types is needed, not {patterns!r}", remedy=f"write [{meant!r}]"
        )
    if not patterns:
        raise BadInput("no instance types named", remedy="name some, such as m5.*, or '*' for all")
    matched: dict[str, None] = {}
    for pattern in patterns:
        require_kind(pattern, str, "the name or glob of an instance type")
        found = [name for name in catalog.offers if fnmatchcase(name, pattern)]
        if not found:
            raise catalog.unknown_glob(pattern)
        matched.update(dict.fromkeys(found))
    return list(matched)


def _measured_arch(
    catalog: Catalog, profile: Profile, ran_on: Sequence[InstanceType]
) -> str | None:
    """The most common architecture of the measured types, by this catalog or else by the catalog
    that they were named from; None if neither tells."""
    groups = [group for run in profile.runs for group in run.cluster.groups]
    own = {group.instance.name: group.instance.arch for group in groups if group.instance}
    own |= {instance.name: instance.arch for instance in ran_on}
    offers = catalog.offers
    archs = [
        offers[name].instance.arch if name in offers else own.get(name)
        for name in dict.fromkeys((*profile.instance_types, *own))
    ]
    named = Counter(arch for arch in archs if arch is not None)
    return named.most_common(1)[0][0] if named else None


def _other(arch: str) -> str:
    """Why types of other architectures are hidden."""
    return f"not {arch}"


def _hidden_reason(instance: InstanceType, catalog: Catalog, arch: str) -> str | None:
    """Why a type is no candidate by default; None when it is one."""
    if not catalog.filtered_by_default:
        return None
    if instance.arch is not None and instance.arch != arch:
        return _other(arch)
    if instance.memory_gib < MINIMUM_MEMORY_GIB:
        return f"less than {MINIMUM_MEMORY_GIB:g} GiB"
    if not catalog.supports(instance.name):
        return NOT_SUPPORTED
    return None


def _laid_out(
    catalog: Catalog, names: Sequence[str], profile: Profile, hidden: Mapping[str, int]
) -> Candidates:
    offers: list[Offer] = []
    layouts: list[Layout] = []
    rejected: list[Rejected] = []
    measured, beside = frozenset(profile.instance_types), planned_beside(profile)
    cores = executor_cores_for(held_cores(profile))
    for name in names:
        offer = catalog.offers[name]
        if name in measured:
            layout = _measured_layout(offer, catalog, profile)
        else:
            layout = layout_of(
                offer.instance, catalog.memory_rule, executor_cores=cores, beside_per_core=beside
            )
        if layout is None:
            reason = holds_none(offer.instance, _because(beside))
            rejected.append(Rejected(name, None, reason, "no-executor"))
        else:
            offers.append(offer)
            layouts.append(layout)
    return Candidates(
        catalog, tuple(offers), tuple(layouts), tuple(rejected), hidden,
        task_cpus=task_cpus(profile),
    )  # fmt: skip


def holding_none(catalog: Catalog, names: Sequence[str], profile: Profile) -> tuple[Rejected, ...]:
    """The types among `names` that hold no executor, and why."""
    return _laid_out(catalog, names, profile, {}).rejected


def _none_left(found: Candidates, beside: BesideHeap | None) -> BadInput:
    """The error where no type is left to compare."""
    return BadInput(
        f"none of the instance types can hold an executor{_because(beside)}"
        if found.rejected
        else "no instance type is left by the default filter",
        where=f"catalog {found.catalog.name}",
        remedy=f"name {'types with more memory' if beside else 'other types'}, or '*' for all of "
        "them",
    )


def _because(beside: BesideHeap | None) -> str:
    """Names the memory beside the heap, which may be why no executor fits."""
    if beside is None:
        return ""
    return f", {(beside.overhead_gib or 0.0) + beside.apart_gib:.3g} GiB per core beside the heap"


def _measured_layout(offer: Offer, catalog: Catalog, profile: Profile) -> Layout | None:
    """Laid out as a single prediction does: like the measured runs on that type or, if these do not
    tell, by the catalog's rule."""
    one = Cluster.of_nodes(instance_type=offer.instance.name, nodes=1, catalog=catalog)
    laid = complete(one, profile)
    if laid.executors is None or laid.executor_cores is None:
        return None
    return Layout(laid.executors, laid.executor_cores, laid.executor_memory_gib, laid.beside)
