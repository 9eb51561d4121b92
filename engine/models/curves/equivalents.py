"""Clusters as machines of the measured types: the measured type that stands for each, the
equivalent number of its machines, and their relative speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType
from engine.errors import BadInput
from engine.forecast import FloatArray, IntArray
from engine.machines.transfer import Speed, family_of, same_family, speed_of, transfer_notice
from engine.models.curves.machines import MachineRuns, shape_of, vcpus_of
from engine.notices import Notice

SAME_MEMORY = 0.1
"""Log ratio of memory per vCPU below which two types have as much: providers round it, and 3.75
GiB a vCPU is no other class of machine than 4."""

OTHER_LAYOUT = 1.5
"""Slots of a node, wanted to measured, from which on it is another machine. Three executors on two
nodes are planned as two on each: so much less is rounding."""


def nearest_measured_type(target: InstanceType, measured: Sequence[InstanceType | None]) -> int:
    """Index of the measured type (with its shape, None where it is not known) that a type
    resembles most: the same architecture, then the closest memory per vCPU (it decides whether
    data fits) in steps of `SAME_MEMORY`, then a size of the same family, then the closest memory
    per vCPU and number of vCPUs, then the closest CPU score. Of two as close, one half and one
    twice as large, the smaller, whatever their order."""

    def distance(index: int) -> tuple[float, float, bool, float, float, float, float, str]:
        candidate = measured[index]
        if candidate is None:
            return (2.0, math.inf, True, math.inf, math.inf, math.inf, math.inf, "")
        other_arch = bool(candidate.arch and target.arch and candidate.arch != target.arch)
        per_vcpu = _log_ratio(
            target.memory_gib / target.vcpus, candidate.memory_gib / candidate.vcpus
        )
        other_family = not same_family(target.name, candidate.name)
        steps = per_vcpu if math.isinf(per_vcpu) else per_vcpu // SAME_MEMORY
        vcpus, score = _log_ratio(target.vcpus, candidate.vcpus), _score_distance(target, candidate)
        return (
            float(other_arch),
            steps,
            other_family,
            per_vcpu,
            vcpus,
            score,
            candidate.vcpus,
            candidate.name,
        )

    return min(range(len(measured)), key=distance)


def _score_distance(one: InstanceType, other: InstanceType) -> float:
    """Absolute log ratio of the CPU scores for each vCPU; infinite where they do not compare."""
    scores = one.cpu_score, other.cpu_score
    if one.cpu_benchmark != other.cpu_benchmark or not all(scores):
        return math.inf
    return _log_ratio((scores[0] or 0.0) / one.vcpus, (scores[1] or 0.0) / other.vcpus)


def _log_ratio(a: float, b: float) -> float:
    ratio = a / b
    return abs(math.log(ratio)) if ratio > 0 else math.inf


@dataclass(frozen=True, eq=False)
class Equivalents:
    """n clusters as machines of measured types.

    Args:
        sources: (k,) index of the measured type that stands for each of the batch's types.
        family: (n,) the same for each cluster.
        machines: (n,) number of its machines, a faster core counting as more; NaN where the shapes
            are not known.
        speed: (n,) speed of a core relative to that type; 1 for a measured type.
        log_scale: (n,) uncertainty of that speed, 0 for a measured type.
        notices: what was assumed about each type of the batch, None where nothing was.
    """

    sources: IntArray
    family: IntArray
    machines: FloatArray
    speed: FloatArray
    log_scale: FloatArray
    notices: tuple[Notice | None, ...]

    @property
    def machine_count(self) -> FloatArray:
        """(n,) number of machines regardless of the speed of their cores, for what does not
        depend on it."""
        return self.machines / self.speed


def equivalents(batch: ClusterBatch, measured: Sequence[MachineRuns]) -> Equivalents:
    """Each cluster of the batch as machines of the measured type that it is, or resembles.

    Relative speed multiplies the machines, not the time: work that is shared gets faster, fixed
    times stay. It is the cautious reading, and on public run tables closer than dividing the whole
    time. What grows with the machines does not grow with their speed: who asks sees to that.

    Raises:
        BadInput: when no cluster of the batch can be converted.
    """
    nearest = _nearest_by_shape(measured, batch.catalog)
    pairs = [_source_and_speed(target, measured, nearest, batch.catalog) for target in batch.types]
    sources = np.asarray([source for source, _ in pairs], dtype=np.int64)
    is_member = np.asarray(
        [
            target is not None and target.name in measured[source].members
            for target, source in zip(batch.types, sources, strict=True)
        ],
        dtype=bool,
    )
    relative = np.asarray([speed.relative for _, speed in pairs])
    log_scale = np.asarray([speed.log_scale for _, speed in pairs]) * ~is_member
    machines = _machines(batch, [measured[source] for source in sources])
    if len(batch) and np.isnan(machines).all():
        raise BadInput(
            "the size of the measured or of the wanted nodes is not known, so they cannot be "
            "compared",
            remedy=_unknown_size_remedy(measured),
        )
    return Equivalents(
        sources=sources,
        family=sources[batch.type_index],
        machines=machines * relative[batch.type_index],
        # Types of a pool were fitted as so many machines of its type, whatever their speed.
        speed=np.where(is_member, 1.0, relative)[batch.type_index],
        log_scale=log_scale[batch.type_index],
        notices=tuple(
            None if known else transfer_notice(speed, target)
            for known, target, (_, speed) in zip(is_member, batch.types, pairs, strict=True)
        ),
    )


def _unknown_size_remedy(measured: Sequence[MachineRuns]) -> str:
    """The remedy where nothing says how many cores the measured nodes have; job profiles have no
    runs."""
    if any(map(len, measured)):
        named = "--ran-on TYPE where the runs name no type, else vcpus in the run table"
        return f"say what the measured nodes were: {named}"
    names = dict.fromkeys(name for runs in measured for name in runs.members)
    of = f" of {', '.join(names)}" if names else ""
    return (
        f"ask for nodes{of} (sparkplan predict --nodes; sparkplan recommend --catalog), or store "
        "the job profile with sparkplan profile -o FILE and say slots_per_node in it"
    )


def _nearest_by_shape(
    measured: Sequence[MachineRuns], catalog: Catalog | None
) -> Callable[[InstanceType], int]:
    """`nearest` for many types, computed once for all of one shape: a catalog has a few dozen."""
    shapes = [shape_of(runs.instance, catalog) for runs in measured]
    families = {family_of(shape.name) for shape in shapes if shape is not None}
    by_shape: dict[tuple[str | None, float, float, str | None], int] = {}

    def index_of(target: InstanceType) -> int:
        family = family_of(target.name)
        known_family = family if family in families else None
        shape = (target.arch, target.vcpus, target.memory_gib, known_family)
        if shape not in by_shape:
            by_shape[shape] = nearest_measured_type(target, shapes)
        return by_shape[shape]

    return index_of


def _source_and_speed(
    target: InstanceType | None,
    measured: Sequence[MachineRuns],
    nearest: Callable[[InstanceType], int],
    catalog: Catalog | None,
) -> tuple[int, Speed]:
    """Index of the measured type that stands for a target, and the target's speed relative to
    it."""
    if target is None:
        return 0, Speed(1.0)
    for index, runs in enumerate(measured):
        if target.name in runs.members:
            return index, speed_of(target, runs.instance, catalog)
    source = nearest(target)
    return source, speed_of(target, measured[source].instance, catalog)


def _machines(batch: ClusterBatch, sources: Sequence[MachineRuns]) -> FloatArray:
    """(n,) the clusters in machines of their sources (one for each type), at equal speed.

    The same type in the layout that it ran with: its nodes (or slots) are the machines. Else task
    slots are compared where the source's are known, vCPUs where they are not.
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
    laid_out = slots / (batch.nodes * source_slots)
    as_nodes &= ~((laid_out > OTHER_LAYOUT) | (laid_out < 1.0 / OTHER_LAYOUT))
    return np.asarray(np.where(as_nodes, batch.nodes, compared))


def _same_type(target: InstanceType | None, source: InstanceType | None) -> bool:
    """Whether they are the same; unnamed nodes are those that the runs were made on."""
    return target is None or (source is not None and source.name == target.name)
