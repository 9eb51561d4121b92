"""At which rates a run moved its data: measured, of its machines' shape, or seen in its log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.catalog import InstanceType
from engine.cluster import Cluster
from engine.errors import BadInput
from engine.fitting import nnls
from engine.forecast import FloatArray
from engine.given_profiles import ResourceProfile
from engine.models.simcost.costs import Rates
from engine.profile import Run
from engine.stage_run import StageRun, total_of
from engine.units import format_share


def data_of(stage: StageRun) -> float:
    """D of a stage in bytes: input and shuffled data; a byte for each task that reads none."""
    return stage.read_bytes if stage.read_bytes > 0.0 else float(stage.tasks)


def moved_bytes(stages: Sequence[StageRun]) -> FloatArray:
    """(4,) bytes of input from outside, output, shuffle read and shuffle write."""
    rows = [
        (
            stage.outside_bytes,
            total_of(stage.output_bytes),
            total_of(stage.shuffle_read_bytes),
            total_of(stage.shuffle_write_bytes),
        )
        for stage in stages
    ]
    return np.asarray(np.sum(np.asarray(rows), axis=0))


def seconds_per_byte(rates: Rates) -> FloatArray:
    """(4,) in the order of `moved_bytes`."""
    return np.asarray(
        (rates.read_input, rates.write_output, rates.read_shuffle, rates.write_shuffle)
    )


def rates_of(run: Run, resources: ResourceProfile | None) -> Rates:
    """The rates at which a run moved its data: of a resource profile, of its instance type where
    network and disk are known, else as its own log shows them."""
    if resources is not None:
        return Rates.of(resources)
    instance = run.cluster.instance
    shape = None if instance is None else resources_of_shape(instance)
    return Rates.of(shape) if shape is not None else observed_rates(run)


def resources_of_shape(instance: InstanceType) -> ResourceProfile | None:
    """Throughputs of an instance type; None where the catalog does not know its network or its
    disk (block storage; of local disks it knows no speed)."""
    network, disk = instance.network_bytes_per_second, instance.ebs_bytes_per_second
    if not network or not disk or instance.local_disk_gb:
        return None
    return ResourceProfile(network, disk, disk, origin=f"{SHAPE_OF} {instance.name}")


SHAPE_OF = "the catalog's shape of"


def observed_rates(run: Run) -> Rates:
    """What the tasks of a run saw: their waiting time (neither computing nor collecting garbage)
    shared among the bytes that they moved, by non-negative least squares over the stages."""
    stages = [s for s in run.stages if s.cpu_seconds is not None and s.run_seconds is not None]
    if not stages:
        return Rates(0.0, 0.0, 0.0, 0.0, shared=False, origin=NOTHING_SEEN)
    bytes_moved = np.asarray([moved_bytes([stage]) for stage in stages])
    waited = [
        max(0.0, total_of(s.run_seconds) - total_of(s.cpu_seconds) - total_of(s.gc_seconds))
        for s in stages
    ]
    per_byte = nnls(bytes_moved.T @ bytes_moved, bytes_moved.T @ np.asarray(waited))
    read, write, read_shuffle, write_shuffle = (float(x) for x in per_byte)
    return Rates(read, write, read_shuffle, write_shuffle, shared=False, origin=FROM_LOG)


FROM_LOG = "the waiting time of the log's tasks"
NOTHING_SEEN = "nothing: the log has no CPU time, so all of a task's time counts as computing"

STRESS_SHARE = 0.5
"""7: a job is shuffle-intensive when it spends more than half of its time on shuffling."""


def vcores_per_node(cluster: Cluster) -> float:
    """V / N, task slots of a node; of an executor where the nodes are not known."""
    if cluster.nodes:
        return (cluster.slots or 1) / cluster.nodes
    return float(cluster.executor_cores or 1)


def revised(resources: ResourceProfile, run: Run) -> ResourceProfile:
    """4.2.2: the throughput of the local disks revised by a shuffle-intensive run (Sort): what its
    tasks got of it, times as many as shared a node.

    A rate that the run did not use stays as it is. The network is at least as fast as what went
    through it.

    Raises:
        BadInput: for a run without CPU times, or one that does not spend half of its tasks' time on
            shuffling: it says nothing about the limits of the disks.
    """
    seen = observed_rates(run)
    moved = np.sum([moved_bytes([stage]) for stage in run.stages], axis=0)
    spent = moved * seconds_per_byte(seen)
    busy = sum(total_of(stage.run_seconds) for stage in run.stages)
    share = float(spent[2:].sum()) / busy if busy else 0.0
    if share <= STRESS_SHARE:
        raise BadInput(
            f"its tasks spend {format_share(share)} of their time on shuffling, too little to "
            "revise rates",
            where=run.source,
            remedy="give the log of a job that spends more than half of it there, such as a sort",
        )
    at_once = vcores_per_node(run.cluster)

    def measured(seconds: float, before: float) -> float:
        return max(1.0, at_once) / seconds if seconds > 0.0 else before

    read = measured(seen.read_shuffle, resources.local_read_bytes_per_second)
    write = measured(seen.write_shuffle, resources.local_write_bytes_per_second)
    return replace(
        resources,
        local_read_bytes_per_second=read,
        local_write_bytes_per_second=write,
        network_bytes_per_second=max(resources.network_bytes_per_second, read, write),
        origin=f"{resources.origin}, revised by a shuffle-intensive log",
    )
