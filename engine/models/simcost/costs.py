"""SimCost's cost model: what a job, a stage and a task take, and what that takes from the cluster.

SimCost: "SimCost: cost-effective resource provision prediction and recommendation for Spark
workloads" (4.2.2 and 3). Equations 1 and 8 to 12 are one function each; all broadcast over arrays.
Where the print leaves something out, an argument whose default is the printed form adds it
(docs/models/simcost.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.given_profiles import ResourceProfile

Quantity = float | FloatArray

THETA = 1.0 / 3.0
"""Price of a GiB relative to that of a vcore. Not given in the paper; three of the four rows of its
Table 3 follow it to 0.2 % at 30 vcores and the memory of Table 6."""

ROUNDING = 1e-9
"""Waves above a whole number that are only an error of arithmetic."""


def memory_time(*, seconds: Quantity, memory_gib: Quantity) -> Quantity:
    """3: T_M = M x T, in GiB-seconds."""
    return memory_gib * seconds


def vcore_time(*, seconds: Quantity, vcores: Quantity) -> Quantity:
    """3: T_V = V x T, in vcore-seconds."""
    return vcores * seconds


def resource_time(
    *, seconds: Quantity, vcores: Quantity, memory_gib: Quantity, theta: float = THETA
) -> Quantity:
    """3 Eq. 1: T_R = T_V + theta x T_M, in vcore-seconds."""
    return vcore_time(seconds=seconds, vcores=vcores) + theta * memory_time(
        seconds=seconds, memory_gib=memory_gib
    )


def throughput(*, data_bytes: Quantity, seconds: Quantity) -> Quantity:
    """4.3: C = D / T, in bytes per second."""
    return data_bytes / seconds


def job_seconds(*, overhead_seconds: Quantity, stage_seconds: FloatArray) -> FloatArray:
    """4.2.2 Eq. 8: T_J = O_J + sum of T_S over the last axis, in seconds."""
    return np.asarray(overhead_seconds + np.sum(stage_seconds, axis=-1))


def waves(*, partitions: Quantity, vcores: Quantity) -> Quantity:
    """4.2.2: ceil(P / V), the waves of tasks of a stage, at least 1."""
    return np.maximum(np.ceil(partitions / vcores - ROUNDING), 1.0)


def stage_seconds(
    *, overhead_seconds: Quantity, partitions: Quantity, vcores: Quantity, task_seconds: Quantity
) -> Quantity:
    """4.2.2 Eq. 9: T_S = O_S + ceil(P / V) x T_T, in seconds."""
    return overhead_seconds + waves(partitions=partitions, vcores=vcores) * task_seconds


def task_seconds(
    *, overhead_seconds: Quantity, computing_seconds: Quantity, shuffling_seconds: Quantity
) -> Quantity:
    """4.2.2 Eq. 10: T_T = O_T + T_C + T_SH, in seconds."""
    return overhead_seconds + computing_seconds + shuffling_seconds


def computing_seconds(
    *,
    data_bytes: Quantity,
    compute_seconds_per_byte: Quantity,
    read_seconds_per_byte: Quantity,
    write_seconds_per_byte: Quantity,
    input_ratio: Quantity = 1.0,
    output_ratio: Quantity = 1.0,
) -> Quantity:
    """4.2.2 Eq. 11: T_C = D / C_ri + D x C_compute + D / C_wo, in seconds.

    C_compute multiplies D: it is seconds per byte, though the text calls it a speed. The rates
    enter as their reciprocals, so that 0 stands for a step that takes no time. The print reads and
    writes all of D (both ratios 1); a stage that reads shuffled data or writes little does not.
    """
    return (
        data_bytes * input_ratio * read_seconds_per_byte
        + data_bytes * compute_seconds_per_byte
        + data_bytes * output_ratio * write_seconds_per_byte
    )


def shuffling_seconds(
    *,
    data_bytes: Quantity,
    read_ratio: Quantity,
    write_ratio: Quantity,
    read_seconds_per_byte: Quantity,
    write_seconds_per_byte: Quantity,
) -> Quantity:
    """4.2.2 Eq. 12: T_SH = D r_read / C_rs + D r_write / C_ws, in seconds."""
    return (
        data_bytes * read_ratio * read_seconds_per_byte
        + data_bytes * write_ratio * write_seconds_per_byte
    )


def compute_seconds_per_byte(
    *, task_seconds: Quantity, overhead_seconds: Quantity, moving_seconds: Quantity,
    data_bytes: Quantity,
) -> Quantity:  # fmt: skip
    """4.2.2 Eqs. 10 and 11 solved for C_compute, what a log teaches: what is left of a task's time
    after its overhead and the moving of its data, per byte; at least 0."""
    return np.maximum(task_seconds - overhead_seconds - moving_seconds, 0.0) / data_bytes


def tasks_at_once_per_node(
    *, partitions: Quantity, vcores: Quantity, vcores_per_node: Quantity
) -> Quantity:
    """How many tasks of a stage share a node's network and disks, at least 1.

    Ours: the print gives every task the throughput of a whole node.
    """
    return np.maximum(vcores_per_node * np.minimum(1.0, partitions / vcores), 1.0)


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds that a byte takes, of each of the four ways to move data (0: takes no time).

    `shared`: they are those of a node, which the tasks on it share; otherwise what one task sees.
    `origin` says in words where they come from.
    """

    read_input: float
    write_output: float
    read_shuffle: float
    write_shuffle: float
    shared: bool
    origin: str

    @classmethod
    def of(cls, resources: ResourceProfile) -> Rates:
        """4.2.2: each rate is the minimum of the network and of the disk that it goes to.

        C_ri = min(network, HDFS read), C_wo = min(network, HDFS write), C_ws = min(network, local
        write), C_rs = min(network, local read). Without HDFS rates those of the local disks are
        taken, which bound what a data node gives.
        """
        network = resources.network_bytes_per_second
        local_read = resources.local_read_bytes_per_second
        local_write = resources.local_write_bytes_per_second
        hdfs_read = resources.hdfs_read_bytes_per_second or local_read
        hdfs_write = resources.hdfs_write_bytes_per_second or local_write
        return cls(
            read_input=1.0 / min(network, hdfs_read),
            write_output=1.0 / min(network, hdfs_write),
            read_shuffle=1.0 / min(network, local_read),
            write_shuffle=1.0 / min(network, local_write),
            shared=True,
            origin=resources.origin,
        )
