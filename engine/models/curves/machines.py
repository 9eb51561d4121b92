"""Runs by machine type, and the unit in which their machines are counted.

Shared by the models that fit run times; clusters in such machines are in `equivalents`.

*Machines* are worker nodes when every run says its nodes and, where it also says its executors, the
type of the node; else they are task slots (executors x cores), which compare better than nodes of
an unknown size, and tell runs apart that used more or less of a node; else nodes again. A type with
runs in at least `MINIMUM_CONFIGURATIONS` configurations is fitted alone; when none has that many,
all runs are pooled as machines of the type with the most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.catalog import Catalog, InstanceType
from engine.cluster import Cluster
from engine.errors import ModelDoesNotFit, TooFewRuns
from engine.forecast import BoolArray, FloatArray, IntArray, take_rows
from engine.machines.transfer import speed_of
from engine.profile import Run
from engine.runs.configurations import size_levels
from engine.units import format_count

MINIMUM_CONFIGURATIONS = 3
"""Distinct (machines, size, iterations) that a fit needs: with two, any two terms fit exactly."""

LAYOUT_TOLERANCE = 1.25
"""Slots per node that differ by a larger factor are another layout: an executor that came late
or went early makes up for less."""


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
    def configurations(self) -> IntArray:
        """(r,) index of the configuration of each run."""
        sizes = size_levels(self.size)
        rows = np.column_stack((self.machines, sizes, np.nan_to_num(self.iterations)))
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def take(self, mask: BoolArray) -> MachineRuns:
        kept = take_rows(self, mask, "machines", "size", "iterations", "seconds")
        return replace(kept, observed=())


def distinct_configurations(runs: MachineRuns) -> int:
    """Number of distinct (machines, size, iterations) that were run."""
    return len(np.unique(runs.configurations)) if len(runs) else 0


def machine_unit(runs: Sequence[Run]) -> str:
    """The unit of machines for these runs (see the module).

    Raises:
        ModelDoesNotFit: when some runs say neither their nodes nor their executors.
    """
    nodes = all(run.cluster.nodes for run in runs)
    slots = all(run.cluster.slots for run in runs)
    typed = all(run.cluster.instance is not None and not run.counts_pods for run in runs)
    if nodes and (not slots or (typed and not _layouts_differ(runs))):
        return "nodes"
    if slots:
        return "slots"
    raise ModelDoesNotFit(
        "some runs say neither how many nodes nor how many executors they had",
        remedy="add a nodes column, or logs with executor events",
    )


def _layouts_differ(runs: Sequence[Run]) -> bool:
    """Whether nodes of one type had clearly more slots in one run than in another: counted as
    nodes these would be one machine."""
    layouts: dict[str | None, list[float]] = {}
    for run in runs:
        layouts.setdefault(run.cluster.instance_name, []).append(_slots(run.cluster))
    return any(max(slots) > LAYOUT_TOLERANCE * min(slots) for slots in layouts.values())


def runs_by_type(runs: Sequence[Run]) -> list[MachineRuns]:
    """The runs as arrays, one entry per instance type, the type with the most runs first.

    Runs without a size are left aside when others have one.

    Raises:
        ModelDoesNotFit: as `machine_unit`; also for clusters of mixed types, for one type in two
            shapes, and without any run.
    """
    if not runs:
        raise ModelDoesNotFit("there is no run to fit", remedy="add event logs or a run table")
    if any(len(run.cluster.groups) > 1 for run in runs):
        raise ModelDoesNotFit("runs on clusters of mixed instance types cannot be fitted")
    if any(run.workload.input_bytes is not None for run in runs):
        runs = [run for run in runs if run.workload.input_bytes is not None]
    unit = machine_unit(runs)
    groups: dict[str | None, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.cluster.instance_name, []).append(run)
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


def fittable_tables(runs: Sequence[Run]) -> list[MachineRuns]:
    """The tables to fit: one for every type that has enough configurations, or one pool of all.

    Raises:
        TooFewRuns: when even the pool has too few configurations.
        ModelDoesNotFit: as `runs_by_type`.
    """
    tables = runs_by_type(runs)
    enough = [table for table in tables if distinct_configurations(table) >= MINIMUM_CONFIGURATIONS]
    if enough:
        return enough
    catalogs = [run.cluster.catalog for run in runs if run.cluster.catalog is not None]
    pool = _pool(tables, catalogs[0] if catalogs else None)
    configurations = distinct_configurations(pool)
    if configurations < MINIMUM_CONFIGURATIONS:
        raise TooFewRuns(
            f"{format_count(configurations, 'configuration')} of machines and size among "
            f"{format_count(len(runs), 'fitting run')}, where at least "
            f"{MINIMUM_CONFIGURATIONS} are needed",
            remedy="add runs with other numbers of nodes or other sizes, or use --model sparkplan",
        )
    return [pool]


def _pool(tables: Sequence[MachineRuns], catalog: Catalog | None) -> MachineRuns:
    """All runs as machines of the first table's type; runs that cannot be converted are dropped."""
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
    """Machines of `base` per machine of `table`, by slots or else by vCPUs."""
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
