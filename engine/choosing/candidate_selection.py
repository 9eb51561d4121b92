"""Which types of a catalog are candidates by default, by name and within limits, and the executor
layout on each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from engine.batch import measured_layout, with_shape_and_layout
from engine.catalog import Catalog, InstanceType, Offer
from engine.choosing.candidates import Candidates
from engine.choosing.limits import NO_LIMITS, Limits
from engine.choosing.recommendation import Rejected
from engine.choosing.room import beside_heap_text, no_types_error
from engine.cluster import Cluster, Layout
from engine.errors import BadInput, require_kind
from engine.machines.beside_heap import planned_beside, planned_beside_notices
from engine.machines.hardware_threads import layout_notice
from engine.machines.platforms import NOT_SUPPORTED, SERVICE
from engine.memory import executor_cores_for, layout_of, no_executor_reason
from engine.notices import Notice
from engine.profile import Profile
from engine.runs.barrier_stages import BarrierStage
from engine.runs.carried_settings import held_cores, task_cpus, wide_stage

MINIMUM_MEMORY_GIB = 8.0
"""Types with less are no candidates by default: the operating system leaves little for
executors."""

DEFAULT_ARCH = "x86_64"
"""Assumed if nothing tells what the job was measured on."""


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
        arch, owned = limits.arch or _measured_arch(catalog, profile, ran_on), dict(limits.owned)
        selection = _default_selection(catalog, frozenset(profile.instance_types), owned, arch)
    names, hidden = _within_limits(limits, catalog, selection)
    candidates = _with_layouts(catalog, sorted(names), profile, hidden)
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


EXCLUDED = "excluded"
"""The reason for leaving out types of excluded globs."""


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
    catalog: Catalog, measured: frozenset[str], owned: Mapping[str, int], known_arch: str | None
) -> _Selection:
    """The types that pass the default filter.

    Args:
        known_arch: the architecture to keep; None if unknown.
    """
    arch, kept = known_arch or DEFAULT_ARCH, []
    hidden: Counter[str] = Counter()
    for name, offer in catalog.offers.items():
        stays = name in measured or name in owned
        reason = None if stays else _hidden_reason(offer.instance, catalog, arch)
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


def _within_limits(
    limits: Limits, catalog: Catalog, selection: _Selection
) -> tuple[list[str], dict[str, int]]:
    """The selected and the owned types, without those of excluded globs or another architecture,
    and how many were left out for which reason."""
    hidden, kept = Counter(selection.hidden), list[str]()
    for name in dict.fromkeys([*selection.kept, *(name for name, _ in limits.owned)]):
        if limits.excludes(name):
            hidden[EXCLUDED] += 1
        elif limits.arch and catalog.offers[name].instance.arch not in (None, limits.arch):
            hidden[_other_architecture(limits.arch)] += 1
        else:
            kept.append(name)
    if not kept:
        raise BadInput("the limits leave no instance type", remedy="loosen exclude or arch")
    return kept, dict(hidden.most_common())


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
