"""The points at which run time is known or wanted, and the terms of the laws there.

In: points. Out: (n, 11) terms. Explained in docs/models/sparkplan_rules_run_tables.md#laws.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray

PHASES = (
    "serial",
    "parallel",
    "aggregation",
    "per machine",
    "two-level aggregation",
    "serial data",
    "memory pressure",
    "disk and network",
    "exchange",
    "remote shuffle",
    "remote blocks",
)


@dataclass(frozen=True, eq=False)
class Points:
    """n points at which time is known or wanted; all (n,).

    Args:
        machines: how many.
        cores: of one machine, a faster core counting as more; 1 where they are not known.
        memory: of one machine, relative to any constant; 1 where it is not known.
        size, iterations: the workload; `iterations` 1 where there are none.
    """

    machines: FloatArray
    cores: FloatArray
    memory: FloatArray
    size: FloatArray
    iterations: FloatArray

    def __len__(self) -> int:
        return len(self.machines)

    def take(self, indices: IntArray | BoolArray | slice) -> Self:
        return type(self)(*(getattr(self, entry.name)[indices] for entry in fields(self)))

    def with_machines_times(self, factor: float) -> Points:
        """The same points on so many times the machines."""
        return replace(self, machines=factor * self.machines)

    def with_size(self, size: float) -> Self:
        """The same points at another size."""
        return replace(self, size=np.full(len(self), size))

    @property
    def memory_per_input(self) -> FloatArray:
        """(n,) log memory per input, which decides whether cached data fits."""
        return np.asarray(np.log(self.machines * self.memory / self.size))


def terms(at: Points) -> FloatArray:
    """(n, 11) the terms of a law, a column each:

    - the terms of Ernest (Eq. 1) and of `ernest-extended` (`curves/terms`), shared work counted by
      cores and communication by machines;
    - z / m, shared work that waits for the disks or the network of each machine;
    - z / sqrt(p), work that grows with the square root of the cores that share it, as exchanges
      between blocks of rows and columns do. Without it, no law lies between z / p and z;
    - z / p (1 - c / m) for each c of `COPIES`, shared work on data that lies on another machine.
      Without these, the time falls more steeply with more machines only beyond a memory cliff.
    """
    m, p, z = at.machines, at.machines * at.cores, at.size
    tree = np.log(np.maximum(m, 1.0))
    communication, by_size = (tree, m, np.sqrt(m)), (z, z / p**2, z / m, z / np.sqrt(p))
    remote = (z / p * np.maximum(1.0 - copies / m, 0.0) for copies in COPIES)
    return np.stack((np.ones_like(m), z / p, *communication, *by_size, *remote), axis=-1)


COPIES = (1.0, 3.0)
"""Copies of data that is spread over the machines: a shuffle has one, a block of HDFS three. A task
finds its data on another machine as often as no copy lies on its own."""


def reference_terms(at: Points) -> FloatArray:
    """(11,) mean of each term over some points; 1 for a term that is 0 there. For work on remote
    data it is the mean as if all data were remote, so that its share does not depend on the number
    of machines."""
    means = terms(at).mean(axis=0)
    means[REMOTE] = means[BY_CORES]
    return np.asarray(np.where(means > 0.0, means, 1.0))


GROWING = np.asarray([False, True, False, False, False, True, True, True, True, True, True])
"""Which terms are in proportion to the size; the others do not depend on it."""

BY_CORES, BY_CORES_SQUARED, BY_MACHINES = 1, 6, 7
"""Column indices of the shared work that cores bound (z / p, z / p^2) and that machines bound (z /
m)."""

REMOTE = [9, 10]
"""Column indices of the shared work on data that lies on another machine."""

DONE_AGAIN = [BY_CORES, BY_CORES_SQUARED, BY_MACHINES]
"""Column indices of the terms that are done again where data does not fit."""
