"""Converts a choice to a `Handover`, the values that exports write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.catalog import Catalog
from engine.choosing.recommendation import Choice, Recommendation
from engine.choosing.statements import notices_of, statement
from engine.cluster import Layout, Workload
from engine.errors import BadInput
from engine.exports.base import Handover
from engine.machines.beside_heap import CODE
from engine.machines.node_memory import yarn_memory_gib
from engine.machines.platforms import diskless, nearest_supported, platform_of
from engine.memory import beside_heap_gib
from engine.notices import Notice
from engine.profile import TASK_CPUS, Profile
from engine.runs.carried_settings import FEWER_TASK_CPUS, carried_settings
from engine.runs.executor_resources import scaled_resources

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
"""Where it is set, adaptive execution takes it instead of `SHUFFLE_PARTITIONS`."""


def handover_of(
    choice: Choice,
    recommendation: Recommendation,
    profile: Profile,
    catalog: Catalog | None,
    workload: Workload | None,
    *,
    spot: bool = False,
) -> Handover:
    """What exports need to know about a choice.

    Raises:
        BadInput: if the executor layout is unknown.
    """
    layout = choice.layout
    if layout is None or choice.executors is None:
        raise BadInput(
            "the executor layout on these nodes is not known, so there is nothing to set",
            remedy="use a catalog that gives vCPUs and memory",
        )
    settings, setting_notes = _settings(profile, layout, workload)
    asked = workload or profile.reference_workload
    summary = statement(choice, recommendation, asked, profile.input_unit, catalog)
    handover = Handover(
        application=profile.name,
        composition=choice.composition,
        executors=choice.executors,
        layout=layout,
        statement=(*summary, *_assumed_beside(layout, profile)),
        notices=_handed_over_notices(choice, recommendation),
        settings=settings,
        setting_notes=tuple(setting_notes),
        spot=bool(choice.spot) if choice.composition else spot,
        part_spot=choice.spot,
        report=recommendation,
        choice=choice,
        dynamic_allocation=recommendation.dynamic_allocation,
        owned=choice.cost.owned if choice.cost else {},
        spark_version=profile.largest_run.spark_version if profile.largest_run else None,
    )
    return handover if catalog is None else _on_nodes_of(catalog, handover, choice, layout)


def _handed_over_notices(choice: Choice, recommendation: Recommendation) -> tuple[Notice, ...]:
    """The notices of a choice without the one about fewer cores per task: what is set has room for
    a task, and the statement says so."""
    notices = notices_of(choice, recommendation)
    return tuple(notice for notice in notices if notice.code != FEWER_TASK_CPUS)


def _settings(
    profile: Profile, layout: Layout, workload: Workload | None
) -> tuple[dict[str, str], list[str]]:
    """The Spark settings of the job on executors of this layout, and notes on what was changed."""
    carried = carried_settings(profile)
    cpus = _task_cpus(carried, layout.executor_cores)
    resources = scaled_resources(carried, profile, layout.executor_cores)
    settings = carried | cpus | {each.key: str(each.amount) for each in resources}
    if workload is not None and workload.shuffle_partitions is not None:
        asked = str(workload.shuffle_partitions)
        settings |= {SHUFFLE_PARTITIONS: asked}
        settings |= dict.fromkeys({INITIAL_PARTITIONS} & settings.keys(), asked)
    notes = [each.note for each in resources]
    return settings, [*_fewer_cpus(carried, cpus), *notes]


def _on_nodes_of(catalog: Catalog, handover: Handover, choice: Choice, layout: Layout) -> Handover:
    """The handover with what the catalog knows of the provider and the nodes."""
    memories = _yarn_memories(choice, layout, catalog)
    name = choice.instance
    offer = catalog.offers.get(name) if name else None
    master = catalog.offers.get(catalog.billing.master or "")
    return replace(
        handover,
        provider=catalog.provider,
        region=catalog.region,
        master=catalog.billing.master,
        master_memory_gib=master.instance.memory_gib if master is not None else None,
        platform=platform_of(catalog),
        node_memory_gib=memories.get(name) if name else None,
        memories_gib=memories,
        node_vcpus=offer.instance.vcpus if offer is not None else None,
        mixed_nodes=() if name else _nodes_of_mix(choice, layout, catalog),
        unsupported={
            each: nearest_supported(catalog, each)
            for each in choice.composition
            if catalog.offer(each).instance.emr_supported is False
        },
        diskless=diskless(catalog, choice.composition),
    )


def _yarn_memories(choice: Choice, layout: Layout, catalog: Catalog) -> dict[str, float]:
    """Type -> GiB that YARN may allocate on its nodes. In a mix the executors are those of the
    smallest type; without this limit nodes with more memory would hold more of them than they have
    cores for."""
    memories_gib = {}
    for name in choice.composition:
        if name in catalog.offers:
            count = choice.executors_per_node.get(name, layout.executors_per_node)
            own = replace(layout, executors_per_node=count)
            memories_gib[name] = yarn_memory_gib(
                catalog.offers[name].instance, catalog.memory_rule, own
            )
    return memories_gib


def _nodes_of_mix(
    choice: Choice, layout: Layout, catalog: Catalog
) -> tuple[tuple[float, int], ...]:
    """Of each type of a mix, (vCPUs, executors) of a node."""
    return tuple(
        (
            catalog.offers[name].instance.vcpus,
            choice.executors_per_node.get(name, layout.executors_per_node),
        )
        for name in choice.composition
        if name in catalog.offers
    )


def _task_cpus(settings: Mapping[str, str], executor_cores: int) -> dict[str, str]:
    """Fewer cores for a task, if tasks of the logs held more than an executor has, with which Spark
    refuses to start; else nothing."""
    cores = settings.get(TASK_CPUS, "")
    fits = not cores.isdecimal() or int(cores) <= executor_cores
    return {} if fits else {TASK_CPUS: str(executor_cores)}


def _fewer_cpus(carried: Mapping[str, str], cpus: Mapping[str, str]) -> list[str]:
    """The line that a task gets fewer cores than in the logs."""
    return [
        f"note: tasks of the logs held {carried[key]} cores each ({key}), executors here have "
        f"{cores}: a task gets all of them [{FEWER_TASK_CPUS}]"
        for key, cores in cpus.items()
    ]


def _assumed_beside(layout: Layout, profile: Profile) -> list[str]:
    """The line about memory beside the heap if it is more than Spark's default, and its origin."""
    heap = layout.executor_memory_gib
    if heap is None or not layout.beside:
        return []
    is_given = profile.overhead_per_core_gib is not None
    why = "as --overhead-per-core says" if is_given else f"as executors of the logs had [{CODE}]"
    gib = beside_heap_gib(heap, layout.beside)
    return [f"assumes: {gib:.3g} GiB beside the heap of each executor, {why}"]
