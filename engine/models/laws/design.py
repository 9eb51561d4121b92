"""Runs and questions as numbers: what the laws and the process of the default model see of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.catalog import Catalog
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.machines.families import family_of
from engine.models.curves.machines import MachineRuns, shape_of, vcpus_of
from engine.models.curves.parameter_scales import ParameterScales
from engine.models.laws.residual import Inputs, Moved
from engine.models.laws.terms import Points

LEVEL_SPREAD = 3.0
"""Prior spread of the level of log time about the runs' mean: next to nothing is known of it."""

TYPE_SPREAD, MEMORY_SPREAD = 0.2, 0.2
"""Prior spreads of log time: of a type of machine at equal cores, and per e-fold of memory per
core. Measured types of three families differ by that much."""

FAMILY_SHARE = 0.5
"""How far what is peculiar to one size of a family is peculiar to another, of which no run is: the
correlation of their effects. They have the same processors, and other disks and networks."""

PARAMETER_SPREAD = 1.0
"""Prior spread of the power of a job parameter; of one that may be zero, of the change of log time
from 0 to its largest value."""

LENGTH = 1.5
"""Prior length of the smooth remainder along a coordinate, in standard deviations of the runs."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of machine.

    Args:
        name: None where it is not known.
        cores, memory: of one machine; 1 where not known.
    """

    name: str | None
    cores: float
    memory: float

    @property
    def family(self) -> str | None:
        return family_named(self.name)


@dataclass(frozen=True, eq=False)
class Rows(Points):
    """n runs or questions, in the units of the table.

    Args:
        kind: (n,) place of the type among the measured ones, -1 for another.
        family: (n,) place of its family among theirs, -1 for another.
        parameters: (n, p).
        own_cores: (n,) `cores` in those of the type that it resembles, not in those of the mean of
            the measured ones.
    """

    kind: IntArray
    family: IntArray
    parameters: FloatArray
    own_cores: FloatArray

    @property
    def alone(self) -> Rows:
        """The same as what was fitted to one type alone counts them."""
        return replace(self, cores=self.own_cores)

    def iterated(self, iterations: float) -> Rows:
        """The same with another number of iterations."""
        return replace(self, iterations=np.full(len(self), iterations))

    @property
    def jobs(self) -> FloatArray:
        """(n, p + 1) the parameters and iterations of each row."""
        return np.column_stack((self.parameters, self.iterations))

    @property
    def configurations(self) -> FloatArray:
        """(n, .) all numbers of each row."""
        known = (self.machines, self.cores, self.memory, self.size, self.iterations)
        return np.column_stack((*known, self.kind, self.parameters, self.family, self.own_cores))


def at_least_as_hard(rows: Rows) -> BoolArray:
    """(r, r) whether run j (columns) had no more cores and memory than run i (rows) for no less
    input and the same job."""
    cores, memory = rows.machines * rows.cores, rows.machines * rows.memory
    jobs = np.unique(rows.jobs, axis=0, return_inverse=True)[1].reshape(-1)
    found = (cores[None] <= cores[:, None]) & (memory[None] <= memory[:, None])
    found &= (rows.size[None] >= rows.size[:, None]) & (jobs[None] == jobs[:, None])
    return np.asarray(found & ~np.eye(len(rows), dtype=bool))


def rows_of(
    tables: Sequence[MachineRuns], kinds: Sequence[Kind], names: Sequence[str]
) -> tuple[Rows, FloatArray]:
    """The runs of all types, and (r,) their seconds."""

    def joined(columns: Sequence[FloatArray]) -> FloatArray:
        return np.concatenate(list(columns))

    counts = [len(table) for table in tables]
    parameters = [
        [run.workload.parameters[name] for name in names]
        for table in tables
        for run in table.observed
    ]
    cores = np.repeat([kind.cores for kind in kinds], counts)
    rows = Rows(
        machines=joined([table.machines for table in tables]),
        cores=cores,
        memory=np.repeat([kind.memory for kind in kinds], counts),
        size=joined([table.size for table in tables]),
        iterations=np.nan_to_num(joined([table.iterations for table in tables]), nan=1.0),
        kind=np.repeat(np.arange(len(kinds), dtype=np.int64), counts),
        family=np.repeat(families_among([kind.family for kind in kinds], kinds), counts),
        parameters=np.asarray(parameters, dtype=float).reshape(sum(counts), len(names)),
        own_cores=cores,
    )
    return rows, joined([table.seconds for table in tables])


@dataclass(frozen=True, eq=False)
class Encoding:
    """How rows become points, effects and coordinates; made from the runs.

    Args:
        runs: the runs.
        largest: the scale of the sizes.
        parameters: how the job parameters count.
    """

    runs: Rows
    largest: float
    parameters: ParameterScales

    @classmethod
    def of(cls, runs: Rows) -> Encoding:
        return cls(runs, float(runs.size.max()), ParameterScales.of(runs.parameters))

    def points(self, rows: Rows) -> Points:
        memory = rows.memory / self._memory
        return Points(rows.machines, rows.cores, memory, rows.size / self.largest, rows.iterations)

    @cached_property
    def _memory(self) -> float:
        """Of a machine of the runs."""
        return float(np.median(self.runs.memory))

    def inputs(self, rows: Rows) -> Inputs:
        """What the process sees: effects, and the coordinates that vary among the runs."""
        effects = [np.full((len(rows), 1), LEVEL_SPREAD)]
        if len(np.unique(self.runs.kind)) > 1:
            effects.append(TYPE_SPREAD * self._kinds(rows))
        if np.ptp(_per_core(self.runs)) > 0.0:
            centred = _per_core(rows) - _per_core(self.runs).mean()
            effects.append(MEMORY_SPREAD * centred[:, None])
        scales = self.parameters
        own = scales.coordinates(self.runs.parameters)
        centred_parameters = scales.coordinates(rows.parameters) - own.mean(axis=0)
        effects.append(PARAMETER_SPREAD * centred_parameters)
        varying = self._varying
        return Inputs(
            effects=np.concatenate(effects, axis=1),
            coordinates=self._coordinates(rows)[:, varying],
            cores=np.log(rows.machines * rows.cores),
            sizes=np.log(rows.size),
        )

    def _kinds(self, rows: Rows) -> FloatArray:
        """(n, k) how much of each measured type's effect a row has: all of its own; of another size
        of their family what is to be expected after theirs, the best linear prediction."""
        kinds, place = np.unique(self.runs.kind, return_index=True)
        alike = rows.family[:, None] == self.runs.family[place]
        known = alike.sum(axis=1, keepdims=True)
        expected = alike * known_of_family(known) / np.maximum(1, known)
        own = rows.kind[:, None] == kinds
        return np.asarray(np.where(rows.kind[:, None] < 0, expected, own))

    def parameter_doublings(self, rows: Rows) -> FloatArray:
        """(n,) distance from the nearest observed value, over all parameters."""
        doublings = self.parameters.doublings
        columns = zip(doublings(rows.parameters).T, doublings(self.runs.parameters).T, strict=True)
        squares = np.zeros(len(rows))
        for asked, known in columns:
            squares += _from_nearest(asked, known) ** 2
        return np.asarray(np.sqrt(squares))

    def iteration_doublings(self, rows: Rows) -> FloatArray:
        """(n,) distance from the nearest number of iterations that was run."""
        return _from_nearest(np.log2(rows.iterations), np.log2(self.runs.iterations))

    @property
    def lengths(self) -> FloatArray:
        """(c,) prior lengths of the coordinates."""
        return np.asarray(LENGTH * self._coordinates(self.runs)[:, self._varying].std(axis=0))

    def moved(self, sizes: FloatArray, iterations: FloatArray | None) -> Moved:
        """Points as they are with each of k numbers of iterations and s sizes in place of their own
        (k s of them; the iterations are left alone for None), as far as these varied among the
        runs."""
        counts = 1 if iterations is None else len(iterations)
        values = {SIZE: np.tile(np.log(sizes), counts)}
        if iterations is not None:
            values[ITERATIONS] = np.repeat(np.log(iterations), len(sizes))
        varied = [place for place in values if self._varying[place]]
        columns = np.asarray([self._varying[:place].sum() for place in varied], dtype=np.int64)
        found = np.empty((counts * len(sizes), len(varied)))
        for column, place in enumerate(varied):
            found[:, column] = values[place]
        return Moved(columns, found, values[SIZE])

    @cached_property
    def _varying(self) -> BoolArray:
        return np.asarray(np.ptp(self._coordinates(self.runs), axis=0) > 1e-9)

    def _coordinates(self, rows: Rows) -> FloatArray:
        logs = np.log((rows.machines, rows.size, rows.iterations, rows.cores))
        parameters = self.parameters.coordinates(rows.parameters)
        return np.column_stack((logs.T, _per_core(rows), parameters))


SIZE, ITERATIONS = 1, 2
"""Their places among the coordinates, before those are left out that do not vary."""


def _per_core(rows: Rows) -> FloatArray:
    return np.asarray(np.log(rows.memory / rows.cores))


def family_named(name: str | None) -> str | None:
    """The family of a type; one of its own where its name follows no provider's rule."""
    return name and (family_of(name) or name)


def families_among(names: Sequence[str | None], kinds: Sequence[Kind]) -> IntArray:
    """(n,) places of n families among those of the measured types, -1 for others."""
    known = list(dict.fromkeys(kind.family for kind in kinds))
    return np.asarray([known.index(x) if x in known else -1 for x in names], dtype=np.int64)


def known_of_family(sizes: IntArray) -> FloatArray:
    """Share of what is peculiar to a type that so many measured sizes of its family tell, where
    they agree."""
    return np.asarray(FAMILY_SHARE * sizes / (1.0 + FAMILY_SHARE * (sizes - 1.0)))


def kinds_of(tables: Sequence[MachineRuns], catalog: Catalog | None) -> list[Kind]:
    """The measured types; cores are vCPUs where all are known, else task slots, else all alike."""
    names = [table.instance.name if table.instance else None for table in tables]
    ones = [1.0] * len(tables)
    if tables[0].unit == "slots":
        return [Kind(name, 1.0, 1.0) for name in names]
    vcpus = [vcpus_of(table.instance, catalog) for table in tables]
    slots = [table.slots_per_machine for table in tables]
    known = (values for values in (vcpus, slots, ones) if not np.isnan(values).any())
    shapes = [shape_of(table.instance, catalog) for table in tables]
    memory = [shape.memory_gib if shape else math.nan for shape in shapes]
    return [
        Kind(name, cores, gib)
        for name, cores, gib in zip(
            names, next(known), ones if np.isnan(memory).any() else memory, strict=True
        )
    ]


def _from_nearest(asked: FloatArray, known: FloatArray) -> FloatArray:
    """(n,) distance of values (n,) from the nearest of (r,) known ones."""
    return np.asarray(np.abs(asked[:, None] - np.unique(known)).min(axis=1))
