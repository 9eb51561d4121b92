"""Clusters that cannot run a job's tasks, and why: no executor, no room in it for one task, or too
few slots for a barrier stage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog
from engine.cluster import BesideHeap, Cluster, Layout
from engine.errors import BadInput
from engine.forecast import BoolArray
from engine.models.base import FittedModel
from engine.runs.barrier_stages import not_started
from engine.runs.carried_settings import wide_stage
from engine.runs.stage_labels import numbered_label
from engine.stage_run import StageRun
from engine.units import format_count


def types_without_room(
    names: Sequence[str], layouts: Sequence[Layout], stage: StageRun | None
) -> frozenset[str]:
    """The types whose executors have fewer cores than the program asks for each task of `stage`
    (`engine.runs.carried_settings.wide_stage`): Spark launches none of them and waits forever."""
    if stage is None:
        return frozenset()
    laid_out = zip(names, layouts, strict=True)
    return frozenset(name for name, layout in laid_out if layout.executor_cores < stage.task_cpus)


def no_room_reason(stage: StageRun, layout: Layout) -> str:
    """The reason why a type of `types_without_room` is one."""
    return (
        f"{numbered_label(stage)} asks for {stage.task_cpus} cores for each task, and its "
        f"executors have {layout.executor_cores}"
    )


def require_room(layouts: Sequence[Layout], stage: StageRun | None) -> None:
    """Checks that the executors of some type have room for a task of `stage`.

    Raises:
        BadInput: where those of none do.
    """
    most = max((layout.executor_cores for layout in layouts), default=0)
    if stage is not None and most < stage.task_cpus:
        raise no_room_error(
            stage, most, remedy=f"name types of {format_count(stage.task_cpus, 'vCPU')} or more"
        )


def require_startable(fitted: FittedModel, max_executors: int, executor_cores: int) -> None:
    """Checks that so many executors of one's own, of these cores, start every stage of a job.

    Raises:
        BadInput: if they have too few slots for a barrier stage, or too few cores for a task.
    """
    wide = wide_stage(fitted.profile)
    if wide is not None and executor_cores < wide.task_cpus:
        raise no_room_error(wide, executor_cores, remedy="raise --executor-cores")
    stage = not_started(fitted.barrier_stages, max_executors, executor_cores)
    if stage is not None:
        tasks = stage.room(max_executors, executor_cores)
        raise BadInput(
            f"{stage.label} starts its {stage.tasks} tasks all at once (barrier mode), and there "
            f"is room for {tasks:.0f} on {format_count(max_executors, 'executor')} of "
            f"{format_count(executor_cores, 'core')}",
            remedy="raise --max-executors or --executor-cores",
        )


def starts(fitted: FittedModel, clusters: Sequence[Cluster]) -> BoolArray:
    """(n,) whether Spark starts every stage of a job on n clusters; true too where the number or
    the cores of their executors are not known. Where it does not, predictions warn
    (`engine.notices.never_ends`), and their time is that of no run.

    Raises:
        BadInput: for a type that is neither in a catalog nor in the profile.
    """
    batch, wide = ClusterBatch.of(clusters, fitted.profile), wide_stage(fitted.profile)
    stuck = [
        (wide is not None and cores < wide.task_cpus)
        or not_started(fitted.barrier_stages, executors, cores) is not None
        for executors, cores in zip(batch.executors, batch.executor_cores, strict=True)
    ]
    return ~np.asarray(stuck, dtype=bool)


def no_room_error(stage: StageRun, cores: int, *, remedy: str) -> BadInput:
    """The error that executors of so many cores at most have no room for a task of `stage`."""
    return BadInput(
        f"{numbered_label(stage)} asks for {stage.task_cpus} cores for each task "
        f"(RDD.withResources), and executors here have {cores} at most: Spark would launch none of "
        "them and wait forever",
        remedy=remedy,
    )


def no_types_error(catalog: Catalog, *, no_executor: bool, beside: BesideHeap | None) -> BadInput:
    """The error that no candidate type is left.

    Args:
        no_executor: whether types were left, of which none holds an executor.
        beside: what is planned beside the heap for each core.
    """
    return BadInput(
        f"none of the instance types can hold an executor{beside_heap_text(beside)}"
        if no_executor
        else "no instance type is left by the default filter",
        where=f"catalog {catalog.name}",
        remedy=f"name {'types with more memory' if beside else 'other types'}, or '*' for all of "
        "them",
    )


def beside_heap_text(beside: BesideHeap | None) -> str:
    """Text about the memory beside the heap, which may be why no executor fits."""
    if beside is None:
        return ""
    return f", {(beside.overhead_gib or 0.0) + beside.apart_gib:.3g} GiB per core beside the heap"
