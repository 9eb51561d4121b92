"""Profiles as the papers define them: OptEx's job profiles and SimCost's resource throughputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operation:
    """A unit RDD operation of an OptEx profile: mean time on one node and its count (III-C)."""

    name: str
    mean_seconds: float
    count: float = 1.0


@dataclass(frozen=True, slots=True)
class OptexProfile:
    """The job profile of OptEx (Table II) for one application category on one instance type.

    Measured on a single node.

    Args:
        instance_type: None for nodes of unknown type.
        s_baseline: in the unit of `Workload.input_bytes`.
        exponent: the power of n that divides the execution phase: 1 in Eq. 8 as printed, 2 in the
            published Tables IV and VI.
        category: free text; the user decides how applications are divided (III-A).
        slots_per_node: task slots of the node; None if unknown.
    """

    instance_type: str | None
    t_init_seconds: float
    t_prep_seconds: float
    t_vs_baseline_seconds: float = 0.0
    coeff: float = 0.0
    t_commn_baseline_seconds: float = 0.0
    cf_commn: float = 0.0
    s_baseline: float = 1.0
    n_unit_baseline: float = 1.0
    operations: tuple[Operation, ...] = ()
    exponent: float = 1.0
    iterative: bool = False
    category: str | None = None
    application: str | None = None
    source: str | None = None
    slots_per_node: float | None = None


@dataclass(frozen=True, slots=True)
class ResourceProfile:
    """Throughputs of a node in bytes per second (SimCost 4.2.2); those of HDFS are None if not
    measured. `origin` says in words where they come from."""

    network_bytes_per_second: float
    local_read_bytes_per_second: float
    local_write_bytes_per_second: float
    hdfs_read_bytes_per_second: float | None = None
    hdfs_write_bytes_per_second: float | None = None
    origin: str = "a resource profile"
