"""Candidate instance types of a catalog, and the executor layout on each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch, measured_layout, with_shape_and_layout
from engine.catalog import Catalog, InstanceType, Offer
from engine.choosing.limits import NO_LIMITS, Limits
from engine.choosing.recommendation import Rejected
from engine.choosing.room import (
    beside_heap_text,
    no_types_error,
    require_room,
    types_without_room,
)
from engine.cluster import Cluster, Layout
from engine.errors import BadInput, require_kind
from engine.forecast import FloatArray
from engine.machines.beside_heap import planned_beside, planned_beside_notices
from engine.machines.hardware_threads import layout_notice
from engine.machines.platforms import NOT_SUPPORTED, SERVICE
from engine.machines.services import least_workers, service_of
from engine.memory import executor_cores_for, layout_of, no_executor_reason
from engine.notices import Notice
from engine.profile import Profile
from engine.runs.barrier_stages import BarrierStage
from engine.runs.carried_settings import held_cores, task_cpus, wide_stage
from engine.stage_run import StageRun

MINIMUM_MEMORY_GIB = 8.0
"""Types with less are no candidates by default: the operating system leaves little for
executors."""

DEFAULT_ARCH = "x86_64"
"""Assumed if nothing tells what the job was measured on."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate types of a recommendation.

    Args:
        offers, layouts: (k,) in the order of the types' names.
        rejected: types that passed the filter but cannot hold an executor.
        hidden: reason -> number of types left out by default.
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
        ran_on: types from which the architecture is known, in addition to the profile's.
        barrier_stages: stages of the job whose tasks start all at once or not at all.

    Raises:
        UnknownName: for a name or glob that matches no type.
        BadInput: when no type is left.
    """
    if instances is not None:
        selection = _Selection(match_names(catalog, instances), {}, frozenset(), assumed=False)
    else:
        arch = limits.arch or _measured_arch(catalog, profile, ran_on)
        selection = _default_selection(catalog, frozenset(profile.instance_types), arch)
    names = _within_limits(limits, catalog, selection.kept)
    candidates = _with_layouts(catalog, sorted(names), profile, selection.hidden)
    if not candidates.offers:
        raise no_types_error(
            catalog, no_executor=bool(candidates.rejected), beside=planned_beside(profile)
        )
    candidates = replace(
        candidates,
        comparison_only=selection.comparison_only & set(candidates.names),
        assumed_arch=DEFAULT_ARCH if selection.assumed else None,
        layout_notices=(*planned_beside_notices(profile), *_layout_notices(candidates, profile)),
        barrier_stages=barrier_stages,
    )
    if candidates.not_rented(limits) == set(candidates.names):
        raise BadInput(
            f"{SERVICE} supports none of the types that are left: {', '.join(candidates.names)}",
            where=f"catalog {catalog.name}",
            remedy="name types with --instances, or say what else runs the executors with "
            "--platform",
        )
    return candidates


def _layout_notices(candidates: Candidates, profile: Profile) -> Iterator[Notice]:
    """Notices about the layout of executors on measured types."""
    for instance in candidates.instances:
        if instance.name in profile.instance_types:
            measured = measured_layout(profile, instance, candidates.catalog)
            if (notice := layout_notice(profile, instance, measured)) is not None:
                yield notice


class _Selection(NamedTuple):
    """Types selected before the limits apply.

    Args:
        hidden: reason -> number of types left out.
        comparison_only: measured types that the service does not support.
        assumed: whether types of another architecture were left out though none was measured.
    """

    kept: list[str]
    hidden: Mapping[str, int]
    comparison_only: frozenset[str]
    assumed: bool


def _default_selection(
    catalog: Catalog, measured: frozenset[str], known_arch: str | None
) -> _Selection:
    """The types that pass the default filter.

    Args:
        known_arch: the architecture to keep; None if unknown.
    """
    arch, kept = known_arch or DEFAULT_ARCH, []
    hidden: Counter[str] = Counter()
    for name, offer in catalog.offers.items():
        reason = None if name in measured else _hidden_reason(offer.instance, catalog, arch)
        if reason is None:
            kept.append(name)
        else:
            hidden[reason] += 1
    unsupported = (name for name in measured & set(kept) if not catalog.supports(name))
    return _Selection(
        kept,
        dict(hidden.most_common()),
        frozenset(unsupported) if catalog.filtered_by_default else frozenset(),
        assumed=known_arch is None and _other_architecture(arch) in hidden,
    )


def _within_limits(limits: Limits, catalog: Catalog, names: Sequence[str]) -> list[str]:
    """The named and the owned types, without those of excluded globs or another architecture."""

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
        example = patterns if isinstance(patterns, str) else "m5.*"
        raise BadInput(
            f"a list of instance types is needed, not {patterns!r}", remedy=f"write [{example!r}]"
        )
    if not patterns:
        raise BadInput("no instance types named", remedy="name some, such as m5.*, or '*' for all")
    matched: dict[str, None] = {}
    for pattern in patterns:
        require_kind(pattern, str, "the name or glob of an instance type")
        matches = [name for name in catalog.offers if fnmatchcase(name, pattern)]
        if not matches:
            raise catalog.unknown_glob(pattern)
        matched.update(dict.fromkeys(matches))
    return list(matched)


def _measured_arch(
    catalog: Catalog, profile: Profile, ran_on: Sequence[InstanceType]
) -> str | None:
    """The most common architecture of the measured types, by this catalog or else by the catalog
    that they were named from; None if neither tells."""
    groups = [group for run in profile.runs for group in run.cluster.groups]
    known_archs = {group.instance.name: group.instance.arch for group in groups if group.instance}
    known_archs |= {instance.name: instance.arch for instance in ran_on}
    offers = catalog.offers
    archs = [
        offers[name].instance.arch if name in offers else known_archs.get(name)
        for name in dict.fromkeys((*profile.instance_types, *known_archs))
    ]
    counts = Counter(arch for arch in archs if arch is not None)
    return counts.most_common(1)[0][0] if counts else None


def _other_architecture(arch: str) -> str:
    """The reason for hiding types of other architectures."""
    return f"not {arch}"


def _hidden_reason(instance: InstanceType, catalog: Catalog, arch: str) -> str | None:
    """Why a type is no candidate by default; None when it is one."""
    if not catalog.filtered_by_default:
        return None
    if instance.arch is not None and instance.arch != arch:
        return _other_architecture(arch)
    if instance.memory_gib < MINIMUM_MEMORY_GIB:
        return f"less than {MINIMUM_MEMORY_GIB:g} GiB"
    if not catalog.supports(instance.name):
        return NOT_SUPPORTED
    return None


def _with_layouts(
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
            reason = no_executor_reason(offer.instance, beside_heap_text(beside))
            rejected.append(Rejected(name, None, reason, "no-executor"))
        else:
            offers.append(offer)
            layouts.append(layout)
    return Candidates(
        catalog, tuple(offers), tuple(layouts), tuple(rejected), hidden,
        task_cpus=task_cpus(profile), wide_stage=wide_stage(profile),
    )  # fmt: skip


def types_without_executor(
    catalog: Catalog, names: Sequence[str], profile: Profile
) -> tuple[Rejected, ...]:
    """Rejections of the types among `names` whose nodes hold no executor."""
    return _with_layouts(catalog, names, profile, {}).rejected


def _measured_layout(offer: Offer, catalog: Catalog, profile: Profile) -> Layout | None:
    """The layout of a measured type, as of a single prediction: that of its runs or, if unknown, by
    the catalog's rule."""
    single_node = Cluster.of_nodes(instance_type=offer.instance.name, nodes=1, catalog=catalog)
    completed = with_shape_and_layout(single_node, profile)
    if completed.executors is None or completed.executor_cores is None:
        return None
    return Layout(
        completed.executors,
        completed.executor_cores,
        completed.executor_memory_gib,
        completed.beside,
    )
