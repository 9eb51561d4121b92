"""Runs as numbers of machines, and clusters as machines that were measured.

What the models that fit run times share: how machines are counted, which runs belong together, and
what a cluster of a type that nobody measured amounts to in machines of one that somebody did.

*Machines* are worker nodes when every run says its nodes and, where it also says its executors, the
type of the node; else they are task slots (executors x cores), which compare better than nodes of
an unknown size, and tell runs apart that used more or less of a node; else nodes again. A type with
runs in at least `MINIMUM_CONFIGURATIONS` configurations is fitted alone; when none has that many,
all runs are pooled as machines of the type with the most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType
from engine.cluster import Cluster
from engine.configurations import size_levels
from engine.errors import BadInput, ModelDoesNotFit
from engine.forecast import FloatArray
from engine.profile import Notice, Run
from engine.transfer import Speed, notice_of, speed_of

MINIMUM_CONFIGURATIONS = 3
"""Distinct (machines, size, iterations) that a fit needs: with two, any two terms fit exactly."""

UNLIKE_LAYOUTS = 1.25
"""Slots per node that differ by a larger factor are another layout: an executor that came late or
went early makes up for less."""

SAME = 1e-9
"""Relative difference below which two sizes or parameters are the same number."""


@dataclass(frozen=True, eq=False)
class MachineRuns:
    """r runs on one type of machine.

    Args:
        instance: the type; None where it is not known.
        unit: what a machine is: "nodes" or "slots".
        slots_per_machine: task slots of one machine, NaN where not known (1 for slots).
        machines, size, iterations, seconds: (r,); `iterations` is NaN where a run has none, and
            `size` 1 where no run of the profile says its size.
        members: names of the types among them: more than one when they are a pool, converted.
        observed: the runs themselves, in that order; empty for a pool or a part.
    """

    instance: InstanceType | None
    unit: str
    slots_per_machine: float
    machines: FloatArray
    size: FloatArray
    iterations: FloatArray
    seconds: FloatArray
    members: tuple[str, ...] = ()
    observed: tuple[Run, ...] = ()

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def configurations(self) -> NDArray[np.int64]:
        """(r,) which configuration each run is of."""
        sizes = size_levels(self.size)
        rows = np.column_stack((self.machines, sizes, np.nan_to_num(self.iterations)))
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def subset(self, mask: NDArray[np.bool_]) -> MachineRuns:
        """The runs of the mask."""
        return replace(
            self,
            machines=self.machines[mask],
            size=self.size[mask],
            iterations=self.iterations[mask],
            seconds=self.seconds[mask],
            observed=(),
        )


def distinct_configurations(runs: MachineRuns) -> int:
    """How many different (machines, size, iterations) were run."""
    return len(np.unique(runs.configurations)) if len(runs) else 0


def unit_of(runs: Sequence[Run]) -> str:
    """What a machine is for these runs (see the module).

    Raises:
        ModelDoesNotFit: when some runs say neither their nodes nor their executors.
    """
    nodes = all(run.cluster.nodes for run in runs)
    slots = all(run.cluster.slots for run in runs)
    typed = all(run.cluster.instance is not None for run in runs)
    if nodes and (not slots or (typed and not _unlike_layouts(runs))):
        return "nodes"
    if slots:
        return "slots"
    raise ModelDoesNotFit(
        "some runs say neither how many nodes nor how many executors they had",
        remedy="add a nodes column, or logs with executor events",
    )


def _unlike_layouts(runs: Sequence[Run]) -> bool:
    """Whether nodes of one type had clearly more slots in one run than in another: counted as
    nodes these would be one machine."""
    layouts: dict[str | None, list[float]] = {}
    for run in runs:
        instance = run.cluster.instance
        layouts.setdefault(instance.name if instance else None, []).append(_slots(run.cluster))
    return any(max(slots) > UNLIKE_LAYOUTS * min(slots) for slots in layouts.values())


def runs_by_type(runs: Sequence[Run]) -> list[MachineRuns]:
    """The runs as arrays, one entry per instance type, the type with the most runs first.

    Runs without a size are left aside when others have one.

    Raises:
        ModelDoesNotFit: as `unit_of`; also for clusters of mixed types, for one type in two
            shapes, and without any run.
    """
    if not runs:
        raise ModelDoesNotFit("there is no run to fit", remedy="add event logs or a run table")
    if any(len(run.cluster.groups) > 1 for run in runs):
        raise ModelDoesNotFit("runs on clusters of mixed instance types cannot be fitted")
    if any(run.workload.input_bytes is not None for run in runs):
        runs = [run for run in runs if run.workload.input_bytes is not None]
    unit = unit_of(runs)
    groups: dict[str | None, list[Run]] = {}
    for run in runs:
        instance = run.cluster.instance
        groups.setdefault(instance.name if instance else None, []).append(run)
    for name, group in groups.items():
        _check_shape(name, group)
    tables = [_table(group, unit) for group in groups.values()]
    return sorted(tables, key=len, reverse=True)


def _check_shape(name: str | None, runs: Sequence[Run]) -> None:
    """One name stands for one shape, whatever files the runs came from."""
    shapes = {(kind.vcpus, kind.memory_gib) for run in runs if (kind := run.cluster.instance)}
    known = sorted({shape for shape in shapes if not any(math.isnan(size) for size in shape)})
    if len(known) > 1:
        named = " and ".join(f"{vcpus:g} vCPUs with {memory:g} GiB" for vcpus, memory in known[:2])
        raise ModelDoesNotFit(
            f"instance type {name} has two shapes among the runs: {named}",
            remedy="correct vcpus and memory_gib, or give the two machines two names",
        )


def _table(runs: Sequence[Run], unit: str) -> MachineRuns:
    counts = [run.cluster.nodes if unit == "nodes" else run.cluster.slots for run in runs]
    instance = runs[0].cluster.instance
    return MachineRuns(
        instance=instance,
        unit=unit,
        slots_per_machine=1.0 if unit == "slots" else _slots_per_node(runs),
        machines=np.asarray(counts, dtype=float),
        size=_column([run.workload.input_bytes for run in runs], missing=1.0),
        iterations=_column([run.workload.iterations for run in runs], missing=math.nan),
        seconds=np.asarray([run.seconds for run in runs], dtype=float),
        members=(instance.name,) if instance else (),
        observed=tuple(runs),
    )


def _column(values: Sequence[float | None], *, missing: float) -> FloatArray:
    return np.asarray([missing if value is None else value for value in values], dtype=float)


def _slots_per_node(runs: Sequence[Run]) -> float:
    """Median task slots per node of the runs that say both, else NaN."""
    known = [_slots(run.cluster) for run in runs]
    ratios = [ratio for ratio in known if not math.isnan(ratio)]
    return float(np.median(ratios)) if ratios else math.nan


def _slots(cluster: Cluster) -> float:
    if not cluster.slots or not cluster.nodes:
        return math.nan
    return cluster.slots / cluster.nodes


def families(runs: Sequence[Run]) -> list[MachineRuns]:
    """The tables to fit: every type that has enough configurations, or one pool of all.

    Raises:
        ModelDoesNotFit: when even the pool has too few configurations; and as `runs_by_type`.
    """
    tables = runs_by_type(runs)
    enough = [table for table in tables if distinct_configurations(table) >= MINIMUM_CONFIGURATIONS]
    if enough:
        return enough
    catalogs = [run.cluster.catalog for run in runs if run.cluster.catalog is not None]
    pool = _pool(tables, catalogs[0] if catalogs else None)
    found = distinct_configurations(pool)
    if found < MINIMUM_CONFIGURATIONS:
        raise ModelDoesNotFit(
            f"{found} configuration{'s' if found != 1 else ''} of machines and size among "
            f"{len(runs)} fitting run{'s' if len(runs) != 1 else ''}, where at least "
            f"{MINIMUM_CONFIGURATIONS} are needed",
            remedy="add runs with other numbers of nodes or other sizes, or use --model sparkplan",
        )
    return [pool]


def _pool(tables: Sequence[MachineRuns], catalog: Catalog | None) -> MachineRuns:
    """All runs as machines of the first table's type; runs that cannot be converted are left."""
    base = tables[0]
    parts = [base]
    for table in tables[1:]:
        ratio = _machine_ratio(table, base, catalog)
        if math.isnan(ratio):
            continue
        speed = speed_of(table.instance, base.instance, catalog).relative
        parts.append(replace(table, machines=table.machines * ratio * speed))
    return replace(
        base,
        machines=np.concatenate([part.machines for part in parts]),
        size=np.concatenate([part.size for part in parts]),
        iterations=np.concatenate([part.iterations for part in parts]),
        seconds=np.concatenate([part.seconds for part in parts]),
        members=tuple(name for part in parts for name in part.members),
        observed=(),
    )


def _machine_ratio(table: MachineRuns, base: MachineRuns, catalog: Catalog | None) -> float:
    """How many machines of `base` one machine of `table` is, by slots or else by vCPUs."""
    by_slots = table.slots_per_machine / base.slots_per_machine
    if not math.isnan(by_slots):
        return by_slots
    return vcpus_of(table.instance, catalog) / vcpus_of(base.instance, catalog)


def vcpus_of(instance: InstanceType | None, catalog: Catalog | None) -> float:
    """vCPUs of a type, looked up in the catalog when the type came without its shape; NaN else."""
    shaped = shape_of(instance, catalog)
    return shaped.vcpus if shaped is not None else math.nan


def shape_of(instance: InstanceType | None, catalog: Catalog | None) -> InstanceType | None:
    """The type with its shape: its own, or that of the catalog's type of that name."""
    if instance is None or catalog is None or not math.isnan(instance.vcpus):
        return instance
    offer = catalog.offers.get(instance.name)
    return offer.instance if offer else instance


def nearest(target: InstanceType, measured: Sequence[InstanceType | None]) -> int:
    """Which measured type (with its shape, None where it is not known) a type resembles most: the
    same architecture, then the closest memory per vCPU (it decides whether data fits), then the
    closest number of vCPUs."""

    def distance(place: int) -> tuple[float, float, float]:
        shaped = measured[place]
        if shaped is None:
            return (2.0, math.inf, math.inf)
        other = bool(shaped.arch and target.arch and shaped.arch != target.arch)
        per_vcpu = _log_ratio(target.memory_gib / target.vcpus, shaped.memory_gib / shaped.vcpus)
        return (float(other), per_vcpu, _log_ratio(target.vcpus, shaped.vcpus))

    return min(range(len(measured)), key=distance)


def _log_ratio(a: float, b: float) -> float:
    ratio = a / b
    return abs(math.log(ratio)) if ratio > 0 else math.inf


@dataclass(frozen=True, eq=False)
class Equivalents:
    """n clusters as machines of measured types.

    Args:
        sources: (k,) which measured type stands for each of the batch's types.
        family: (n,) the same for each cluster.
        machines: (n,) how many of its machines, a faster core counting as more; NaN where the
            shapes are not known.
        log_scale: (n,) doubt about the speed of a core, 0 for a measured type.
        notices: what was assumed about each type of the batch, None where nothing was.
    """

    sources: NDArray[np.int64]
    family: NDArray[np.int64]
    machines: FloatArray
    log_scale: FloatArray
    notices: tuple[Notice | None, ...]


def equivalents(batch: ClusterBatch, measured: Sequence[MachineRuns]) -> Equivalents:
    """Each cluster of the batch as machines of the measured type that it is, or resembles.

    Relative speed multiplies the machines, not the time: work that is shared gets faster, fixed
    and communication times stay. It is the cautious reading, and on public run tables closer than
    dividing the whole time.

    Raises:
        BadInput: when no cluster of the batch can be converted.
    """
    alike = _resembled(measured, batch.catalog)
    pairs = [_source_of(target, measured, alike, batch.catalog) for target in batch.types]
    sources = np.asarray([source for source, _ in pairs], dtype=np.int64)
    own = [
        target is not None and target.name in measured[source].members
        for target, source in zip(batch.types, sources, strict=True)
    ]
    relative = np.asarray([moved.relative for _, moved in pairs])
    doubt = np.asarray([moved.log_scale for _, moved in pairs]) * ~np.asarray(own, dtype=bool)
    machines = _machines(batch, [measured[source] for source in sources])
    if len(batch) and np.isnan(machines).all():
        raise BadInput(
            "the size of the measured or of the wanted nodes is not known, so they cannot be "
            "compared",
            remedy=_size_unknown(measured),
        )
    return Equivalents(
        sources=sources,
        family=sources[batch.type_index],
        machines=machines * relative[batch.type_index],
        log_scale=doubt[batch.type_index],
        notices=tuple(
            None if known else notice_of(moved, target)
            for known, target, (_, moved) in zip(own, batch.types, pairs, strict=True)
        ),
    )


def _size_unknown(measured: Sequence[MachineRuns]) -> str:
    """What helps where nothing says what cores measured nodes have; job profiles have no runs."""
    if any(map(len, measured)):
        named = "--ran-on TYPE where the runs name no type, else vcpus in the run table"
        return f"say what the measured nodes were: {named}"
    names = dict.fromkeys(name for runs in measured for name in runs.members)
    of = f" of {', '.join(names)}" if names else ""
    return (
        f"ask for nodes{of} (predict --nodes; recommend --catalog), or store the job profile "
        "with sparkplan profile -o FILE and say slots_per_node in it"
    )


def _resembled(
    measured: Sequence[MachineRuns], catalog: Catalog | None
) -> Callable[[InstanceType], int]:
    """`nearest` for many types, worked out once for all of one shape: a catalog has a few dozen."""
    shapes = [shape_of(runs.instance, catalog) for runs in measured]
    known: dict[tuple[str | None, float, float], int] = {}

    def place_of(target: InstanceType) -> int:
        shape = (target.arch, target.vcpus, target.memory_gib)
        if shape not in known:
            known[shape] = nearest(target, shapes)
        return known[shape]

    return place_of


def _source_of(
    target: InstanceType | None,
    measured: Sequence[MachineRuns],
    alike: Callable[[InstanceType], int],
    catalog: Catalog | None,
) -> tuple[int, Speed]:
    """The measured type that stands for a target, and its speed relative to it."""
    if target is None:
        return 0, Speed(1.0)
    for place, runs in enumerate(measured):
        if target.name in runs.members:
            return place, speed_of(target, runs.instance, catalog)
    source = alike(target)
    return source, speed_of(target, measured[source].instance, catalog)


def _machines(batch: ClusterBatch, sources: Sequence[MachineRuns]) -> FloatArray:
    """(n,) the clusters in machines of their sources (one for each type), at equal speed.

    The same type: its nodes (or slots) are the machines. Else task slots are compared where the
    source's are known, vCPUs where they are not.
    """

    def by_cluster(values: list[float]) -> FloatArray:
        return np.asarray(values, dtype=float)[batch.type_index]

    per_node = by_cluster([vcpus_of(target, batch.catalog) for target in batch.types])
    source_slots = by_cluster([source.slots_per_machine for source in sources])
    source_vcpus = by_cluster([vcpus_of(source.instance, batch.catalog) for source in sources])
    counted_as_nodes = by_cluster(
        [
            source.unit == "nodes" and _same_type(target, source.instance)
            for target, source in zip(batch.types, sources, strict=True)
        ]
    )
    slots, vcpus = batch.slots, batch.nodes * per_node
    by_vcpus = np.where(np.isnan(vcpus), slots, vcpus) / source_vcpus
    in_slots = by_cluster([source.unit == "slots" for source in sources]) > 0.0
    # Where the layout of a wanted node is not known, each of its vCPUs is taken for a slot.
    by_slots = np.where(np.isnan(slots) & in_slots, vcpus, slots) / source_slots
    compared = np.where(np.isnan(by_slots), by_vcpus, by_slots)
    as_nodes = (counted_as_nodes > 0.0) & ~np.isnan(batch.nodes)
    return np.asarray(np.where(as_nodes, batch.nodes, compared))


def _same_type(target: InstanceType | None, source: InstanceType | None) -> bool:
    """Whether they are the same; unnamed nodes are those that the runs were made on."""
    return target is None or (source is not None and source.name == target.name)
