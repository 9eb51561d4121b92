"""Plans executor memory beside the heap (overhead, Python, off-heap) for layouts not measured.

That memory belongs to tasks: each has its own Python worker, native buffers and share of Spark's
off-heap memory, and an executor runs as many tasks at once as it has cores. The measured amount is
therefore taken per core and given to each core of a planned layout. Logs do not state how much of
it the tasks used, only that it was enough.
"""

from __future__ import annotations

from dataclasses import replace

from engine.cluster import LEAST_HEAP_GIB, BesideHeap, Cluster, Layout
from engine.memory import beside_heap_gib, heap_gib, planned_beside_heap
from engine.notices import Notice
from engine.profile import Profile, completed_runs

CODE = "more-beside-heap"
"""Code of the notice that executors had more memory beside the heap than Spark's default."""


def planned_beside(profile: Profile) -> BesideHeap | None:
    """Memory beside the heap per executor core; None for Spark's default.

    The user's value, else the most that executors of any completed run had: a smaller amount in
    another run is not known to be enough.
    """
    if profile.overhead_per_core_gib is not None:
        return BesideHeap(overhead_gib=profile.overhead_per_core_gib or None) or None
    cluster = _largest_beside(profile)
    if cluster is None or cluster.beside is None or not cluster.executor_cores:
        return None
    return cluster.beside.times(1.0 / cluster.executor_cores)


def planned_beside_notices(profile: Profile) -> list[Notice]:
    """The notice that a plan leaves more beside the heap than Spark's default because the executors
    of a run had it; empty where the user set the amount."""
    cluster = _largest_beside(profile) if profile.overhead_per_core_gib is None else None
    notice = None if cluster is None else beside_heap_notice(cluster)
    return [] if notice is None else [notice]


def beside_heap_notice(cluster: Cluster) -> Notice | None:
    """The notice that executors had more beside their heap than Spark's default, and what is
    planned from that."""
    heap, cores, beside = cluster.executor_memory_gib, cluster.executor_cores, cluster.beside
    if not heap or not beside:
        return None
    had = beside_heap_gib(heap, beside)
    planned = (
        f"inferred from that, at least {had / cores:.3g} GiB per core are planned beside heaps"
        if cores
        else "of how many cores is not known, so that Spark's default is planned"
    )
    kinds = ("overhead", "Python", "off-heap")
    amounts = (beside.overhead_gib, beside.pyspark_gib, beside.off_heap_gib)
    parts = [kind for kind, gib in zip(kinds, amounts, strict=True) if gib is not None]
    return Notice(
        CODE,
        f"each executor had {had:.3g} GiB beside its heap of {heap:.3g} GiB "
        f"({', '.join(parts)}): {planned}",
        "where tasks need less, or more, say how much: sparkplan recommend "
        "--overhead-per-core SIZE (0 for Spark's default)",
    )


def _largest_beside(profile: Profile) -> Cluster | None:
    """The cluster of the run whose executors had the most memory per core beside the heap; None
    where all had Spark's default, or where it is unknown."""
    per_core = [
        (beside_heap_gib(heap, cluster.beside) / cores, cluster)
        for cluster in (run.cluster for run in completed_runs(profile.runs))
        if cluster.beside
        and (heap := cluster.executor_memory_gib)
        and (cores := cluster.executor_cores)
    ]
    return max(per_core, key=lambda each: each[0])[1] if per_core else None


def with_overhead_per_core(profile: Profile, gib: float) -> Profile:
    """The profile with the user's memory beside the heap, in GiB per executor core, which replaces
    what its runs had; 0 for Spark's default."""
    runs = tuple(
        replace(run, notices=tuple(notice for notice in run.notices if notice.code != CODE))
        for run in profile.runs
    )
    return replace(profile, runs=runs, overhead_per_core_gib=gib)


def observed_layout(cluster: Cluster | None, profile: Profile) -> Layout | None:
    """The executor layout of measured nodes, with memory beside the heap.

    An amount per core set by the user divides the same container anew. None where the layout is
    unknown, or where no heap would be left.
    """
    if cluster is None or not cluster.executors or not cluster.executor_cores or not cluster.nodes:
        return None
    per_node = max(1, round(cluster.executors / cluster.nodes))
    layout = Layout(
        per_node, cluster.executor_cores, cluster.executor_memory_gib, cluster.beside or None
    )
    heap = layout.executor_memory_gib
    if profile.overhead_per_core_gib is None or heap is None:
        return layout
    planned = planned_beside(profile)
    beside = planned.times(layout.executor_cores) if planned else None
    left = heap_gib(heap + beside_heap_gib(heap, layout.beside), beside)
    if left < LEAST_HEAP_GIB:
        return None
    return replace(layout, executor_memory_gib=left, beside=planned_beside_heap(left, beside))
