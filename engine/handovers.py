"""Converts a choice to a `Handover`, the values that exports write."""

from __future__ import annotations

from dataclasses import replace

from engine.catalog import Catalog
from engine.choosing.recommendation import Choice, Recommendation
from engine.choosing.statements import notices_of, statement
from engine.cluster import Layout, Workload
from engine.errors import BadInput
from engine.exports.base import Handover
from engine.machines.beside_heap import CODE
from engine.machines.node_capacity import yarn_memory_gib
from engine.machines.platforms import diskless, nearest_supported, platform_of
from engine.memory import beside_heap_gib
from engine.profile import TASK_CPUS, Profile
from engine.runs.carried_settings import FEWER_TASK_CPUS, carried_settings, ran_in_cluster_mode
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
    spot: bool,
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
    notices = notices_of(choice, recommendation)
    summary = statement(choice, recommendation, asked, profile.input_unit, catalog)
    handover = Handover(
        application=profile.name,
        composition=choice.composition,
        executors=choice.executors,
        layout=layout,
        statement=(*summary, *_shared_executors(profile), *_assumed_beside(layout, profile)),
        # What is set has room for a task, and the statement says so.
        notices=tuple(one for one in notices if one.code != FEWER_TASK_CPUS),
        settings=settings,
        setting_notes=tuple(setting_notes),
        spot=bool(choice.spot) if choice.composition else spot,
        part_spot=choice.spot,
        report=recommendation,
        choice=choice,
        dynamic_allocation=recommendation.dynamic_allocation,
        owned=choice.cost.owned if choice.cost else {},
        spark_version=profile.largest_run.spark_version if profile.largest_run else None,
        cluster_mode=ran_in_cluster_mode(profile),
    )
    return handover if catalog is None else _on_nodes_of(catalog, handover, choice, layout)


def _settings(
    profile: Profile, layout: Layout, workload: Workload | None
) -> tuple[dict[str, str], list[str]]:
    """The Spark settings of the job on executors of this layout, and notes on what was changed."""
    carried = carried_settings(profile)
    cores, held = layout.executor_cores, carried.get(TASK_CPUS, "")
    resources = scaled_resources(carried, profile, cores)
    settings = carried | {each.key: str(each.amount) for each in resources}
    notes = [each.note for each in resources]
    # With more cores for a task than an executor has Spark refuses to start.
    if held.isdecimal() and int(held) > cores:
        settings[TASK_CPUS] = str(cores)
        note = f"note: tasks of the logs held {held} cores each ({TASK_CPUS}), executors here have "
        notes.insert(0, f"{note}{cores}: a task gets all of them [{FEWER_TASK_CPUS}]")
    if workload is not None and workload.shuffle_partitions is not None:
        asked = str(workload.shuffle_partitions)
        settings |= {SHUFFLE_PARTITIONS: asked}
        settings |= dict.fromkeys({INITIAL_PARTITIONS} & settings.keys(), asked)
    return settings, notes


def _on_nodes_of(catalog: Catalog, handover: Handover, choice: Choice, layout: Layout) -> Handover:
    """The handover with what the catalog knows of the provider and the nodes."""
    name = choice.instance
    shapes = {each: catalog.offer(each).instance for each in choice.composition}
    own = {each: choice.executors_per_node.get(each, layout.executors_per_node) for each in shapes}
    # In a mix the executors are those of the smallest type: without a limit of its own a node with
    # more memory would hold more of them than it has cores for.
    memories = {
        each: yarn_memory_gib(
            shape, catalog.memory_rule, replace(layout, executors_per_node=own[each])
        )
        for each, shape in shapes.items()
    }
    master = catalog.offers.get(catalog.billing.master or "")
    kinds = (*shapes.values(), *([] if master is None else [master.instance]))
    return replace(
        handover,
        provider=catalog.provider,
        region=catalog.region,
        master=catalog.billing.master,
        master_memory_gib=master.instance.memory_gib if master is not None else None,
        platform=platform_of(catalog),
        node_memory_gib=memories.get(name) if name else None,
        memories_gib=memories,
        node_vcpus=shapes[name].vcpus if name else None,
        mixed_nodes=() if name else tuple((shapes[each].vcpus, own[each]) for each in shapes),
        unsupported={
            each: nearest_supported(catalog, each)
            for each, shape in shapes.items()
            if shape.emr_supported is False
        },
        diskless=diskless(catalog, choice.composition),
        architectures={kind.name: kind.arch for kind in kinds if kind.arch is not None},
    )


def _shared_executors(profile: Profile) -> list[str]:
    """The line that the jobs of a workflow share the executors; separate applications, each of
    which asks for all of them, would not."""
    if len(profile.jobs) < 2:
        return []
    return [
        f"for the {len(profile.jobs)} jobs of a workflow, which share the executors as those of "
        "one application do: applications of their own with these settings would wait for one "
        "another"
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
