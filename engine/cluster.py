"""What a job runs on and what it is given: `Cluster` and `Workload`."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING

from engine.catalog import InstanceType, require_catalog
from engine.errors import BadInput, require_kind
from engine.read_only import ReadOnly
from engine.units import parse_memory_gib

if TYPE_CHECKING:
    from engine.catalog import Catalog


MOST_NODES = 1_000_000
"""Nodes, executors or cores of one cluster: more is a slip."""

LEAST_HEAP_GIB = 450.0 / 1024.0
"""Spark refuses to start an executor with less: 1.5 times the 300 MiB that it reserves, since 1.6
(`UnifiedMemoryManager`, INVALID_EXECUTOR_MEMORY)."""

MOST_HEAP_GIB = 64.0 * 1024.0
"""More than any machine has: a slip of the unit."""


def is_number(value: object) -> bool:
    """Whether it is one; text and True are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_finite(value: float) -> bool:
    """Whether it is a number that a float can hold: Python's whole numbers have no end."""
    return is_number(value) and abs(value) <= sys.float_info.max


def checked_heap_gib(heap_gib: float, *, where: str | None = None, remedy: str) -> float:
    """A heap in GiB that Spark starts an executor with.

    Args:
        remedy: what to do about less, where it was given.

    Raises:
        BadInput: for less, in MiB, as heaps that small are written, and for more than there is.
    """
    if not is_number(heap_gib):
        raise BadInput(f"a heap is a number of GiB, not {heap_gib!r}", where=where, remedy=remedy)
    if heap_gib > MOST_HEAP_GIB:
        raise BadInput(
            f"no machine has a heap of more than {MOST_HEAP_GIB / 1024.0:g} TiB",
            where=where,
            remedy=remedy,
        )
    if not heap_gib >= LEAST_HEAP_GIB:
        raise BadInput(
            f"an executor of {heap_gib * 1024.0:.4g} MiB is refused by Spark, which needs at least "
            f"{LEAST_HEAP_GIB * 1024.0:g} MiB",
            where=where,
            remedy=remedy,
        )
    return heap_gib


def parse_heap_gib(text: str, *, where: str | None = None) -> float:
    """GiB of one executor's heap, as `spark.executor.memory` takes it ("8g", "8192m"); a bare
    number is MiB.

    Raises:
        BadInput: for what is no amount of memory, for less than Spark starts an executor with, and
            for more than any machine has.
    """
    remedy = "write it like 8g, 450m or more; a bare number counts MiB, as in Spark"
    return checked_heap_gib(parse_memory_gib(text, where=where), where=where, remedy=remedy)


@dataclass(frozen=True)
class Workload:
    """How much work a run has.

    Args:
        input_bytes: size of the input in bytes, or in the profile's own unit where that is not
            bytes (rows, a fraction); None where it is not known.
        iterations: number of iterations, None for jobs that have none.
        parameters: numeric parameters of the job by name.
        scale: size as a multiple of the profile's largest run; used where no size is known.
        shuffle_partitions: what-if value of `spark.sql.shuffle.partitions`; None leaves it.
    """

    input_bytes: float | None = None
    iterations: float | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    scale: float | None = None
    shuffle_partitions: int | None = None

    def __post_init__(self) -> None:
        for name in ("input_bytes", "iterations", "scale"):
            value = getattr(self, name)
            if value is not None:
                _more_than_zero(name, value, where="workload")
        for name, value in self.parameters.items():
            if not is_finite(value):
                raise BadInput(f"{name} must be a number, not {value!r}", where="workload")
        object.__setattr__(self, "parameters", ReadOnly(self.parameters))

    @property
    def key(self) -> Hashable:
        """Equal for equal workloads, which cannot be hashed themselves."""
        amounts = (self.input_bytes, self.iterations, self.scale, self.shuffle_partitions)
        return (*amounts, self.sorted_parameters)

    @property
    def sorted_parameters(self) -> tuple[tuple[str, float], ...]:
        """The parameters by name, to be compared and hashed."""
        return tuple(sorted(self.parameters.items()))

    def times(self, factor: float) -> Workload:
        """The same work on `factor` times the input."""
        if self.input_bytes is not None:
            return replace(self, input_bytes=self.input_bytes * factor)
        return replace(self, scale=(self.scale or 1.0) * factor)


def require_workload(workload: object) -> None:
    """Refuses a size or a text in place of a workload.

    Raises:
        BadInput: for anything that is no `Workload`.
    """
    remedy = "make it with engine.Workload(input_bytes), or take profile.workload_at(2.0)"
    require_kind(workload, Workload, "a workload", remedy=remedy)


@dataclass(frozen=True, slots=True)
class BesideHeap:
    """Memory of a container beside the heap, in GiB, of one executor or of one of its cores.

    Args:
        overhead_gib: `spark.executor.memoryOverhead`, None for Spark's default: max(10 %, 384 MiB)
            of the heap.
        pyspark_gib: `spark.executor.pyspark.memory`, None where it is not set.
        off_heap_gib: `spark.memory.offHeap.size`, None where it is not used.
    """

    overhead_gib: float | None = None
    pyspark_gib: float | None = None
    off_heap_gib: float | None = None

    def __bool__(self) -> bool:
        """Whether it is more than Spark's default."""
        return self != BesideHeap()

    @property
    def apart_gib(self) -> float:
        """What is asked for beside heap and overhead."""
        return (self.pyspark_gib or 0.0) + (self.off_heap_gib or 0.0)

    def times(self, factor: float) -> BesideHeap:
        """The same for so many times the cores."""
        values = (self.overhead_gib, self.pyspark_gib, self.off_heap_gib)
        return BesideHeap(*(None if value is None else factor * value for value in values))

    @property
    def properties(self) -> dict[str, str]:
        """The settings of Spark, in whole MiB, rounded down so that the container still fits."""
        found: dict[str, str] = {}
        if self.overhead_gib is not None:
            found["spark.executor.memoryOverhead"] = _mib(self.overhead_gib)
        if self.pyspark_gib is not None:
            found["spark.executor.pyspark.memory"] = _mib(self.pyspark_gib)
        if self.off_heap_gib is not None:
            found["spark.memory.offHeap.enabled"] = "true"
            found["spark.memory.offHeap.size"] = _mib(self.off_heap_gib)
        return found


def _mib(gib: float) -> str:
    return f"{math.floor(gib * 1024.0 * (1.0 + WHOLE))}m"


WHOLE = 1e-12
"""Relative: sums and shares of whole MiB may be this much less than they are."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How executors sit on the nodes; memory is the heap (`spark.executor.memory`) in GiB, and what
    a container holds `beside` it, per executor, None for Spark's default."""

    executors_per_node: int
    executor_cores: int
    executor_memory_gib: float | None = None
    beside: BesideHeap | None = None


def cores_held(executor_cores: int, task_cpus: int) -> int:
    """Cores of one executor that tasks of so many CPUs each can hold: a task gets all of its cores
    on one executor (`spark.task.cpus`), so that what is left of 3 after one of 2 idles. All of them
    where not even one task fits, with which Spark does not start."""
    return executor_cores // task_cpus * task_cpus or executor_cores


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """So many nodes of one type. `instance` is None where the type is not known."""

    nodes: int
    instance: InstanceType | None = None
    price_usd_per_hour: float | None = None


@dataclass(frozen=True)
class Cluster:
    """A composition (node groups) and, where it is known, the executor layout.

    Made by `of_nodes` or `of_executors`. A cluster of nodes without a layout gets one from
    `engine.memory.layout_of`; a cluster of executors has no nodes that anyone could price.
    `catalog` says where the types came from, so that their speed can be compared. `beside` is what
    each executor has beside its heap, None for Spark's default or where that is not known.
    `task_cpus` are the cores that each task of the application holds (`spark.task.cpus`).
    """

    groups: tuple[NodeGroup, ...] = ()
    executors: int | None = None
    executor_cores: int | None = None
    executor_memory_gib: float | None = None
    beside: BesideHeap | None = None
    catalog: Catalog | None = field(default=None, compare=False, repr=False)
    task_cpus: int = 1

    @classmethod
    def of_executors(
        cls, *, executors: int, executor_cores: int, executor_memory_gib: float | None = None
    ) -> Cluster:
        """A cluster that one owns: so many executors of so many cores and so much heap.

        Raises:
            BadInput: for numbers below one, and for less heap than Spark starts an executor with.
        """
        _at_least_one("executors", executors)
        _at_least_one("executor_cores", executor_cores)
        if executor_memory_gib is not None:
            checked_heap_gib(executor_memory_gib, remedy="executor_memory_gib counts GiB")
        return cls(
            executors=executors,
            executor_cores=executor_cores,
            executor_memory_gib=executor_memory_gib,
        )

    @classmethod
    def of_nodes(
        cls,
        *,
        instance_type: str | None,
        nodes: int,
        catalog: Catalog | None = None,
        vcpus: float | None = None,
        memory_gib: float | None = None,
        price_usd_per_hour: float | None = None,
        layout: Layout | None = None,
    ) -> Cluster:
        """So many nodes of one type, its shape given, from the catalog, or from the profile.

        Without a catalog and without a shape the type is looked up in the profile when a model
        predicts. `instance_type` None means nodes like those that the profile ran on.

        Raises:
            BadInput: for numbers below one or beyond any cluster, and a shape or a price that is
                not more than zero.
            UnknownName: when the catalog does not hold the type and no shape is given.
        """
        _at_least_one("nodes", nodes)
        shape = {"vcpus": vcpus, "memory_gib": memory_gib, "price_usd_per_hour": price_usd_per_hour}
        for name, value in shape.items():
            if value is not None:
                _more_than_zero(name, value, remedy="leave it out where it is not known")
        if instance_type is not None and not isinstance(instance_type, str):
            raise BadInput(f"an instance type is a name, not {instance_type!r}")
        if catalog is not None:
            require_catalog(catalog)
        instance = None
        if catalog is not None and instance_type is not None and vcpus is None:
            offer = catalog.offer(instance_type)
            instance = offer.instance
            if price_usd_per_hour is None:
                price_usd_per_hour = offer.on_demand.usd_per_hour
        elif instance_type is not None:
            instance = _of_given_shape(instance_type, vcpus=vcpus, memory_gib=memory_gib)
        cluster = cls(groups=(NodeGroup(nodes, instance, price_usd_per_hour),), catalog=catalog)
        return cluster.with_layout(layout) if layout else cluster

    @property
    def nodes(self) -> int | None:
        """Number of worker nodes, None for a cluster of executors."""
        return sum(group.nodes for group in self.groups) if self.groups else None

    @property
    def instance(self) -> InstanceType | None:
        """The one type of the cluster; None where it is unknown or mixed."""
        return self.groups[0].instance if len(self.groups) == 1 else None

    @property
    def instance_name(self) -> str | None:
        """The name of its one type; None as `instance`."""
        return self.instance.name if self.instance else None

    @property
    def composition(self) -> Mapping[str, int]:
        """Instance type -> node count, for the types that are known."""
        return {group.instance.name: group.nodes for group in self.groups if group.instance}

    @property
    def slots(self) -> int | None:
        """Cores that tasks hold at once (executors x `cores_held`), None until the layout is known:
        as many tasks where each holds one."""
        if self.executors is None or self.executor_cores is None:
            return None
        return self.executors * cores_held(self.executor_cores, self.task_cpus)

    @property
    def vcores(self) -> int | None:
        """Cores of all executors, idle ones too: what resource time counts. None as `slots`."""
        if self.executors is None or self.executor_cores is None:
            return None
        return self.executors * self.executor_cores

    def with_layout(self, layout: Layout) -> Cluster:
        """The same nodes with this many executors on each."""
        if self.nodes is None:
            raise BadInput("a cluster of executors has no nodes to lay executors on")
        return replace(
            self,
            executors=layout.executors_per_node * self.nodes,
            executor_cores=layout.executor_cores,
            executor_memory_gib=layout.executor_memory_gib,
            beside=layout.beside,
        )


def _of_given_shape(name: str, *, vcpus: float | None, memory_gib: float | None) -> InstanceType:
    """A type of which no more is known than is given; nan for what is not."""
    return InstanceType(
        name,
        vcpus=math.nan if vcpus is None else vcpus,
        memory_gib=math.nan if memory_gib is None else memory_gib,
    )


def _more_than_zero(
    name: str, value: float, *, where: str | None = None, remedy: str | None = None
) -> None:
    if not (is_finite(value) and value > 0):
        bound, shown = ("", value) if is_number(value) else ("a number ", repr(value))
        said = f"{name} must be {bound}more than zero, not {shown}"
        raise BadInput(said, where=where, remedy=remedy)


def _at_least_one(name: str, value: int) -> None:
    if not is_number(value) or value < 1 or value % 1 != 0:
        raise BadInput(f"{name} must be a whole number of at least 1, not {value!r}")
    if value > MOST_NODES:
        raise BadInput(f"{name} must be at most {MOST_NODES:,}, not {value!r}")
