"""What a job runs on and what it is given: `Cluster` and `Workload`."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING

from engine.catalog import MOST_MEMORY_GIB, MOST_VCPUS, InstanceType, require_catalog
from engine.errors import BadInput, require_kind
from engine.read_only import ReadOnly
from engine.text.quantities import parse_memory_gib

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
    """Whether a value is a number; neither text nor True is one."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_finite(value: float) -> bool:
    """Whether a value is a number within the range of a float (Python's integers have none)."""
    return is_number(value) and abs(value) <= sys.float_info.max


def checked_heap_gib(heap_gib: float, *, where: str | None = None, remedy: str) -> float:
    """`heap_gib`, if Spark would start an executor with it.

    Args:
        where, remedy: for the error, as in `BadInput`.

    Raises:
        BadInput: for less than Spark accepts, or more than any machine has.
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
        tenths = heap_gib * 10_240.0  # of a MiB, rounded down: one byte less than needed is less
        size = f"{tenths // 1.0 / 10.0:g} MiB" if tenths >= 10.0 else "less than 1 MiB"
        raise BadInput(
            f"an executor of {size} is refused by Spark, which needs at least "
            f"{LEAST_HEAP_GIB * 1024.0:g} MiB",
            where=where,
            remedy=remedy,
        )
    return heap_gib


def parse_heap_gib(text: str, *, where: str | None = None) -> float:
    """GiB of one executor's heap, as `spark.executor.memory` takes it ("8g", "8192m"); a bare
    number is MiB.

    Raises:
        BadInput: for text that is no amount of memory, and as `checked_heap_gib`.
    """
    remedy = "write it like 8g, 450m or more; a bare number counts MiB, as in Spark"
    return checked_heap_gib(parse_memory_gib(text, where=where), where=where, remedy=remedy)


@dataclass(frozen=True)
class Workload:
    """How much work a run has.

    Args:
        input_bytes: size of the input in bytes, or in the profile's own unit (rows, a fraction);
            None if unknown.
        iterations: number of iterations; None for jobs that do not iterate.
        parameters: numeric parameters of the job by name.
        scale: size as a multiple of the profile's largest run, for profiles without sizes.
        shuffle_partitions: what-if value of `spark.sql.shuffle.partitions`; None keeps the runs'.

    Raises:
        BadInput: for a size, iterations or scale not above zero, or a parameter that is no number.
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
        if not callable(getattr(self.parameters, "items", None)):  # a row of a table has them too
            remedy = 'like {"k": 10.0}'
            require_kind(self.parameters, Mapping, "a mapping of parameters", remedy=remedy)
        for name, value in self.parameters.items():
            if not isinstance(name, str):
                raise BadInput(f"a parameter is named by a text, not {name!r}", where="workload")
            if not is_finite(value):
                raise BadInput(f"{name} must be a number, not {value!r}", where="workload")
        object.__setattr__(self, "parameters", ReadOnly(self.parameters))

    @property
    def key(self) -> Hashable:
        """A hashable stand-in: equal for equal workloads, which are not hashable themselves."""
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
    """Memory of a container beside the heap, in GiB, per executor or per core.

    Args:
        overhead_gib: `spark.executor.memoryOverhead`; None for Spark's default, the larger of 10 %
            of the heap and 384 MiB.
        pyspark_gib: `spark.executor.pyspark.memory`; None if not set.
        off_heap_gib: `spark.memory.offHeap.size`; None if not used.
    """

    overhead_gib: float | None = None
    pyspark_gib: float | None = None
    off_heap_gib: float | None = None

    def __bool__(self) -> bool:
        """Whether anything differs from Spark's default."""
        return self != BesideHeap()

    @property
    def apart_gib(self) -> float:
        """GiB beyond heap and overhead."""
        return (self.pyspark_gib or 0.0) + (self.off_heap_gib or 0.0)

    def times(self, factor: float) -> BesideHeap:
        """The same for `factor` times the cores."""
        values = (self.overhead_gib, self.pyspark_gib, self.off_heap_gib)
        return BesideHeap(*(None if value is None else factor * value for value in values))

    @property
    def properties(self) -> dict[str, str]:
        """The Spark settings, in whole MiB, rounded down so that the container still fits."""
        settings: dict[str, str] = {}
        if self.overhead_gib is not None:
            settings["spark.executor.memoryOverhead"] = _mib(self.overhead_gib)
        if self.pyspark_gib is not None:
            settings["spark.executor.pyspark.memory"] = _mib(self.pyspark_gib)
        if self.off_heap_gib is not None:
            settings["spark.memory.offHeap.enabled"] = "true"
            settings["spark.memory.offHeap.size"] = _mib(self.off_heap_gib)
        return settings


def _mib(gib: float) -> str:
    return f"{math.floor(gib * 1024.0 * (1.0 + WHOLE))}m"


WHOLE = 1e-12
"""Relative: rounding may leave sums and shares of whole MiB short by this much."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How executors sit on the nodes: the heap of each (`spark.executor.memory`) in GiB, and the
    memory `beside` it, None for Spark's default."""

    executors_per_node: int
    executor_cores: int
    executor_memory_gib: float | None = None
    beside: BesideHeap | None = None


def cores_held(executor_cores: int, task_cpus: int) -> int:
    """Cores of one executor that tasks of `task_cpus` cores each (`spark.task.cpus`) can hold. A
    task has all its cores on one executor: of 3 cores a task of 2 leaves one idle. Where not even
    one task fits, which Spark refuses, all cores count."""
    return executor_cores // task_cpus * task_cpus or executor_cores


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """A number of nodes of one type; `instance` is None where the type is unknown."""

    nodes: int
    instance: InstanceType | None = None
    price_usd_per_hour: float | None = None


@dataclass(frozen=True)
class Cluster:
    """Groups of nodes and, if known, the executors on them. Made by `of_nodes` or `of_executors`.

    A cluster of nodes without a layout gets one from `engine.memory.layout_of`. A cluster of
    executors has no nodes, and therefore no price.

    Args:
        beside: memory beside the heap of each executor; None for Spark's default, or if unknown.
        catalog: where the types come from, so that their speeds can be compared.
        task_cpus: cores that each task holds (`spark.task.cpus`).
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
        """A cluster given by its executors, as one that you own.

        Raises:
            BadInput: for counts below one, and as `checked_heap_gib`.
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
        """A number of nodes of one type, its shape given or taken from the catalog.

        With neither, a model looks the type up in the profile when it predicts. `instance_type`
        None means nodes like those that the profile ran on.

        Raises:
            BadInput: for counts below one or beyond any cluster, and for a shape or a price not
                above zero.
            UnknownName: for a type that is not in the catalog and has no shape.
        """
        _at_least_one("nodes", nodes)
        shape = (
            ("vcpus", vcpus, MOST_VCPUS),
            ("memory_gib", memory_gib, MOST_MEMORY_GIB),
            ("price_usd_per_hour", price_usd_per_hour, math.inf),
        )
        for name, value, most in shape:
            if value is not None:
                _more_than_zero(name, value, remedy="leave it out where it is not known")
                _at_most(most, name, value, remedy="check the unit")
        if not (instance_type is None or (isinstance(instance_type, str) and instance_type)):
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
        """Cores that tasks can hold at once: executors x `cores_held`. None until the layout is
        known."""
        if self.executors is None or self.executor_cores is None:
            return None
        return self.executors * cores_held(self.executor_cores, self.task_cpus)

    @property
    def vcores(self) -> int | None:
        """Cores of all executors, including idle ones, as resource time counts them; None as
        `slots`."""
        if self.executors is None or self.executor_cores is None:
            return None
        return self.executors * self.executor_cores

    def with_layout(self, layout: Layout) -> Cluster:
        """The same nodes with these executors on each.

        Raises:
            BadInput: for a cluster of executors.
        """
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
    """A type of which only the given shape is known; the rest is NaN."""
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
        problem = f"{name} must be {bound}more than zero, not {shown}"
        raise BadInput(problem, where=where, remedy=remedy)


def _at_least_one(name: str, value: int) -> None:
    if not is_number(value) or value < 1 or value % 1 != 0:
        raise BadInput(f"{name} must be a whole number of at least 1, not {value!r}")
    _at_most(MOST_NODES, name, value)


def _at_most(most: float, name: str, value: float, *, remedy: str | None = None) -> None:
    if value > most:
        raise BadInput(f"{name} must be at most {most:,.0f}, not {value!r}", remedy=remedy)
