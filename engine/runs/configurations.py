"""Which runs repeat one another: the one place that says what a configuration is.

A repetition of something seen tests nothing. Whoever leaves out runs leaves out whole
configurations, and counts these, not runs. What repetitions do tell is the noise between two runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.profile import Run

SAME_SIZE = 1.05
"""Inputs within this factor are one size: re-reads and metadata differ as much, and it takes more
to tell what grows with the input."""


def configurations(runs: Sequence[Run]) -> IntArray:
    """(r,) which configuration each of r runs is of, numbered from 0: task slots (nodes where these
    are not known), composition, size of the input, iterations and job parameters.

    Heap is none of it: data that is neither kept nor spilled takes as long with any.
    """
    sizes = size_levels(np.asarray([run.workload.input_bytes or 0.0 for run in runs]))
    told = [
        (
            run.cluster.slots,
            # Nodes of a type that is not known are in no composition.
            run.cluster.nodes if run.cluster.slots is None else None,
            tuple(sorted(run.cluster.composition.items())),
            size,
            run.workload.scale,
            run.workload.iterations,
            run.workload.sorted_parameters,
        )
        for run, size in zip(runs, sizes.tolist(), strict=True)
    ]
    return _numbered(told)


def size_levels(sizes: FloatArray) -> IntArray:
    """(r,) which size each run has, the smallest 0: a level reaches up to `SAME_SIZE` times its
    smallest, whatever the order of the runs. Sizes in any unit; 0 where one is not known."""
    levels = np.zeros(len(sizes), dtype=np.int64)
    level, smallest = 0, float(min(sizes, default=np.inf))
    for place in np.argsort(sizes, kind="stable").tolist():
        if sizes[place] > SAME_SIZE * smallest:
            level, smallest = level + 1, float(sizes[place])
        levels[place] = level
    return levels


def times_run(groups: IntArray) -> IntArray:
    """(r,) how often the configuration (r,) of each run was run."""
    return np.asarray(np.bincount(groups)[groups])


def pairs_between(groups: IntArray) -> tuple[IntArray, IntArray]:
    """Places (p,) and (p,) of every two runs that are of different configurations.

    Args:
        groups: (r,) configuration of each run.
    """
    first, second = np.triu_indices(len(groups), 1)
    unlike = groups[first] != groups[second]
    return first[unlike], second[unlike]


def repetitions(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs of each configuration; of equal heap too, as less of it may take longer for a
    reason."""
    heaps = [run.cluster.executor_memory_gib for run in runs]
    groups = _numbered(list(zip(configurations(runs).tolist(), heaps, strict=True)))
    found: list[list[Run]] = [[] for _ in range(int(groups.max(initial=-1)) + 1)]
    for run, group in zip(runs, groups.tolist(), strict=True):
        found[group].append(run)
    return found


def scatter(runs: Sequence[Run]) -> tuple[float, int]:
    """Sum of squares of log time about the mean of each configuration, and its degrees of freedom:
    the runs beyond the first of each."""
    logs = [np.log([run.seconds for run in same]) for same in repetitions(runs)]
    return float(sum(own.var() * len(own) for own in logs)), len(runs) - len(logs)


def repetition_spread(runs: Sequence[Run]) -> float:
    """Standard deviation of log time among repetitions, pooled over configurations; 0 where none
    was repeated."""
    squares, repeated = scatter(runs)
    return float(np.sqrt(squares / repeated)) if repeated else 0.0


def _numbered(keys: Sequence[object]) -> IntArray:
    """(r,) equal keys by one number, in the order in which they first come."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.asarray([numbers[key] for key in keys], dtype=np.int64)
