"""Groups runs into configurations: runs of one configuration are repetitions of one another.

Cross-validation leaves out whole configurations and counts these, not runs, since predicting a
repetition of a run in the training set tests nothing. Repetitions do measure the noise between
runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.profile import Run

SAME_SIZE = 1.05
"""Inputs within this factor are one size: re-reads and metadata differ as much, and a larger
difference is needed to measure growth with the input."""


def configurations(runs: Sequence[Run]) -> IntArray:
    """(r,) the configuration of each of r runs, numbered from 0: task slots (nodes if these are
    unknown), composition, size of the input, iterations and job parameters.

    Heap is not part of it: data that is neither cached nor spilled takes as long with any.
    """
    sizes = size_levels(np.asarray([run.workload.input_bytes or 0.0 for run in runs]))
    keys = [
        (
            run.cluster.slots,
            # Nodes of an unknown type are in no composition.
            run.cluster.nodes if run.cluster.slots is None else None,
            tuple(sorted(run.cluster.composition.items())),
            size,
            run.workload.scale,
            run.workload.iterations,
            run.workload.sorted_parameters,
        )
        for run, size in zip(runs, sizes.tolist(), strict=True)
    ]
    return _numbered(keys)


def size_levels(sizes: FloatArray) -> IntArray:
    """(r,) the size class of each run, numbered from the smallest, whatever the order of the runs:
    a class reaches up to `SAME_SIZE` times its smallest. Sizes in any unit; 0 if unknown."""
    levels = np.zeros(len(sizes), dtype=np.int64)
    level, smallest = 0, float(min(sizes, default=np.inf))
    for index in np.argsort(sizes, kind="stable").tolist():
        if sizes[index] > SAME_SIZE * smallest:
            level, smallest = level + 1, float(sizes[index])
        levels[index] = level
    return levels


def times_run(groups: IntArray) -> IntArray:
    """(r,) number of runs of each run's configuration, given (r,) `groups`."""
    return np.asarray(np.bincount(groups)[groups])


def pairs_between(groups: IntArray) -> tuple[IntArray, IntArray]:
    """(p,) and (p,) indices of all pairs of runs of different configurations.

    Args:
        groups: (r,) configuration of each run.
    """
    first, second = np.triu_indices(len(groups), 1)
    unlike = groups[first] != groups[second]
    return first[unlike], second[unlike]


def repetitions(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs of each configuration and heap size: with less heap a run may take longer for a
    reason."""
    heaps = [run.cluster.executor_memory_gib for run in runs]
    groups = _numbered(list(zip(configurations(runs).tolist(), heaps, strict=True)))
    members: list[list[Run]] = [[] for _ in range(int(groups.max(initial=-1)) + 1)]
    for run, group in zip(runs, groups.tolist(), strict=True):
        members[group].append(run)
    return members


def scatter(runs: Sequence[Run]) -> tuple[float, int]:
    """Within-group sum of squares of log time over configurations, and its degrees of freedom: the
    number of runs less that of configurations."""
    groups = repetitions(runs)
    logs = [np.log([run.seconds for run in same]) for same in groups if len(same) > 1]
    return float(sum(group.var() * len(group) for group in logs)), len(runs) - len(groups)


def repetition_spread(runs: Sequence[Run]) -> float:
    """Pooled standard deviation of log time within configurations; 0 if none was repeated."""
    squares, repeated = scatter(runs)
    return float(np.sqrt(squares / repeated)) if repeated else 0.0


def _numbered(keys: Sequence[object]) -> IntArray:
    """(r,) equal keys by one number, in the order in which they first come."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.asarray([numbers[key] for key in keys], dtype=np.int64)
