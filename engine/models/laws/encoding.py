"""Encoding of runs and wanted configurations as arrays: points of the laws, inputs of the Gaussian
process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.catalog import Catalog
from engine.distinct import distinct_few_rows
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.machines.transfer import family_of
from engine.models.curves.machines import MachineRuns, shape_of, vcpus_of
from engine.models.curves.parameter_scales import ParameterScales
from engine.models.laws.observations import NOISE_DOF
from engine.models.laws.remainder import ProcessInputs, SizeIterationGrid
from engine.models.laws.terms import Points
from engine.models.laws.type_spread import TYPE_SD

LEVEL_SD = 3.0
"""Prior standard deviation of the level of log time about the runs' mean: nearly uninformative."""

MEMORY_SD = 0.2
"""Prior standard deviation of log time per e-fold of memory per core."""

FAMILY_CORRELATION = 0.5
"""Correlation of the effects of two sizes of one family. They have the same processors, and other
disks and networks."""

PARAMETER_SD = 1.0
"""Prior standard deviation of the power of a job parameter; of one that may be zero, of the change
of log time from 0 to its largest value."""

LENGTH = 1.5
"""Prior length-scale of the smooth remainder along a coordinate, in standard deviations of the
runs."""


@dataclass(frozen=True, slots=True)
class MachineType:
    """A machine type.

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
    """n runs or wanted configurations, in the units of the table.

    Args:
        type_index: (n,) index among the measured types, -1 for another.
        family: (n,) index of its family among theirs, -1 for another.
        parameters: (n, p).
        own_cores: (n,) cores as equivalents of the type that each resembles; `cores` are
            equivalents of the mean of the measured types.
    """

    type_index: IntArray
    family: IntArray
    parameters: FloatArray
    own_cores: FloatArray

    @property
    def in_own_cores(self) -> Rows:
        """The same with `own_cores` as cores, for a fit to one type alone."""
        return replace(self, cores=self.own_cores)

    def with_iterations(self, iterations: float) -> Rows:
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
        return np.column_stack(
            (*known, self.type_index, self.parameters, self.family, self.own_cores)
        )


def at_least_as_hard(rows: Rows) -> BoolArray:
    """(r, r) whether run j (columns) had no more cores and memory than run i (rows) for no less
    input and the same job."""
    cores, memory = rows.machines * rows.cores, rows.machines * rows.memory
    jobs = distinct_few_rows(rows.jobs)[1]
    harder = (cores[None] <= cores[:, None]) & (memory[None] <= memory[:, None])
    harder &= (rows.size[None] >= rows.size[:, None]) & (jobs[None] == jobs[:, None])
    return np.asarray(harder & ~np.eye(len(rows), dtype=bool))


def merge_repetitions(
    rows: Rows, log_seconds: FloatArray
) -> tuple[IntArray, FloatArray, IntArray, float]:
    """(c,) the first index of each configuration, its mean log time, its number of repetitions, and
    the variance of a run beyond that of such means. Leaving out only one of several repetitions
    would test nothing. The variance of the means, a k-th of the variance among k repetitions, is in
    their left-out errors already."""
    first, group = distinct_few_rows(rows.configurations)
    count = np.bincount(group)
    mean = np.bincount(group, log_seconds) / count
    repeated = len(log_seconds) - len(first)
    if repeated == 0:
        return first, mean, count, 0.0
    variance = float(((log_seconds - mean[group]) ** 2).sum() / repeated)
    reliability = repeated / (repeated + NOISE_DOF)
    beyond_means = reliability * variance * float(1.0 - (1.0 / count).mean())
    return first, mean, count, beyond_means


def rows_of(
    tables: Sequence[MachineRuns], machine_types: Sequence[MachineType], names: Sequence[str]
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
    cores = np.repeat([machine_type.cores for machine_type in machine_types], counts)
    rows = Rows(
        machines=joined([table.machines for table in tables]),
        cores=cores,
        memory=np.repeat([machine_type.memory for machine_type in machine_types], counts),
        size=joined([table.size for table in tables]),
        iterations=np.nan_to_num(joined([table.iterations for table in tables]), nan=1.0),
        type_index=np.repeat(np.arange(len(machine_types), dtype=np.int64), counts),
        family=np.repeat(
            family_indices([machine_type.family for machine_type in machine_types], machine_types),
            counts,
        ),
        parameters=np.asarray(parameters, dtype=float).reshape(sum(counts), len(names)),
        own_cores=cores,
    )
    return rows, joined([table.seconds for table in tables])


@dataclass(frozen=True, eq=False)
class Encoding:
    """How rows become points of the laws, and effects and coordinates of the process; made from the
    runs.

    Args:
        runs: the runs.
        largest: the size of the largest run, the unit of the sizes.
        parameters: how the job parameters are scaled.
        type_sd: standard deviation of log time among machine types at equal cores.
    """

    runs: Rows
    largest: float
    parameters: ParameterScales
    type_sd: float = TYPE_SD

    @classmethod
    def of(cls, runs: Rows) -> Encoding:
        return cls(runs, float(runs.size.max()), ParameterScales.of(runs.parameters))

    def points(self, rows: Rows) -> Points:
        memory = rows.memory / self._median_memory
        return Points(rows.machines, rows.cores, memory, rows.size / self.largest, rows.iterations)

    @cached_property
    def _median_memory(self) -> float:
        """Median memory of a machine of the runs."""
        return float(np.median(self.runs.memory))

    def inputs(self, rows: Rows) -> ProcessInputs:
        """Inputs of the process: effects, and the coordinates that vary among the runs."""
        effects = [np.full((len(rows), 1), LEVEL_SD)]
        if self.measured_types > 1:
            effects.append(self.type_sd * self._type_effects(rows))
        if np.ptp(_log_memory_per_core(self.runs)) > 0.0:
            centred = _log_memory_per_core(rows) - _log_memory_per_core(self.runs).mean()
            effects.append(MEMORY_SD * centred[:, None])
        scales = self.parameters
        of_runs = scales.coordinates(self.runs.parameters)
        centred_parameters = scales.coordinates(rows.parameters) - of_runs.mean(axis=0)
        effects.append(PARAMETER_SD * centred_parameters)
        varying = self._varying
        return ProcessInputs(
            effects=np.concatenate(effects, axis=1),
            coordinates=self._coordinates(rows)[:, varying],
            cores=np.log(rows.machines * rows.cores),
            sizes=np.log(rows.size),
        )

    @cached_property
    def measured_types(self) -> int:
        """The number of machine types of the runs."""
        return len(np.unique(self.runs.type_index))

    @property
    def type_columns(self) -> slice:
        """Which of the linear effects are those of types: with a single type there are none."""
        return slice(1, 1 + self.measured_types if self.measured_types > 1 else 1)

    def _type_effects(self, rows: Rows) -> FloatArray:
        """(n, k) weight of each measured type's effect in a row: 1 for its own type; for another
        size of their family the best linear prediction from theirs."""
        types, first = np.unique(self.runs.type_index, return_index=True)
        same_family = rows.family[:, None] == self.runs.family[first]
        sizes = same_family.sum(axis=1, keepdims=True)
        expected = same_family * family_effect_share(sizes) / np.maximum(1, sizes)
        own_type = rows.type_index[:, None] == types
        return np.asarray(np.where(rows.type_index[:, None] < 0, expected, own_type))

    def parameter_doublings(self, rows: Rows) -> FloatArray:
        """(n,) distance from the nearest observed value in doublings, over all parameters."""
        doublings = self.parameters.doublings
        columns = zip(doublings(rows.parameters).T, doublings(self.runs.parameters).T, strict=True)
        squares = np.zeros(len(rows))
        for wanted, observed in columns:
            squares += _distance_to_nearest(wanted, observed) ** 2
        return np.asarray(np.sqrt(squares))

    def iteration_doublings(self, rows: Rows) -> FloatArray:
        """(n,) distance from the nearest number of iterations that was run, in doublings."""
        return _distance_to_nearest(np.log2(rows.iterations), np.log2(self.runs.iterations))

    @property
    def lengths(self) -> FloatArray:
        """(c,) prior lengths of the coordinates."""
        return np.asarray(LENGTH * self._coordinates(self.runs)[:, self._varying].std(axis=0))

    def size_iteration_grid(
        self, sizes: FloatArray, iterations: FloatArray | None
    ) -> SizeIterationGrid:
        """All combinations of k numbers of iterations and s sizes (k s of them; the points' own
        iterations for None), as far as these varied among the runs."""
        counts = 1 if iterations is None else len(iterations)
        values = {SIZE: np.tile(np.log(sizes), counts)}
        if iterations is not None:
            values[ITERATIONS] = np.repeat(np.log(iterations), len(sizes))
        varied = [coordinate for coordinate in values if self._varying[coordinate]]
        columns = np.asarray(
            [self._varying[:coordinate].sum() for coordinate in varied], dtype=np.int64
        )
        replaced = np.empty((counts * len(sizes), len(varied)))
        for column, coordinate in enumerate(varied):
            replaced[:, column] = values[coordinate]
        return SizeIterationGrid(columns, replaced, values[SIZE])

    @cached_property
    def _varying(self) -> BoolArray:
        return np.asarray(np.ptp(self._coordinates(self.runs), axis=0) > 1e-9)

    def _coordinates(self, rows: Rows) -> FloatArray:
        logs = np.log((rows.machines, rows.size, rows.iterations, rows.cores))
        parameters = self.parameters.coordinates(rows.parameters)
        return np.column_stack((logs.T, _log_memory_per_core(rows), parameters))


SIZE, ITERATIONS = 1, 2
"""Their column indices among the coordinates, before the ones that do not vary are dropped."""


def _log_memory_per_core(rows: Rows) -> FloatArray:
    return np.asarray(np.log(rows.memory / rows.cores))


def family_named(name: str | None) -> str | None:
    """The family of a type; one of its own where its name follows no provider's rule."""
    return name and (family_of(name) or name)


def family_indices(names: Sequence[str | None], machine_types: Sequence[MachineType]) -> IntArray:
    """(n,) indices of n families among those of the measured types, -1 for others."""
    known = list(dict.fromkeys(machine_type.family for machine_type in machine_types))
    return np.asarray([known.index(x) if x in known else -1 for x in names], dtype=np.int64)


def family_effect_share(sizes: IntArray) -> FloatArray:
    """Share of a type's effect that is predicted by so many measured sizes of its family, where
    they agree."""
    return np.asarray(FAMILY_CORRELATION * sizes / (1.0 + FAMILY_CORRELATION * (sizes - 1.0)))


def machine_types_of(tables: Sequence[MachineRuns], catalog: Catalog | None) -> list[MachineType]:
    """The measured types; cores are vCPUs where all are known, else task slots, else all alike."""
    names = [table.instance.name if table.instance else None for table in tables]
    ones = [1.0] * len(tables)
    if tables[0].unit == "slots":
        return [MachineType(name, 1.0, 1.0) for name in names]
    vcpus = [vcpus_of(table.instance, catalog) for table in tables]
    slots = [table.slots_per_machine for table in tables]
    known = (values for values in (vcpus, slots, ones) if not np.isnan(values).any())
    shapes = [shape_of(table.instance, catalog) for table in tables]
    memory = [shape.memory_gib if shape else math.nan for shape in shapes]
    return [
        MachineType(name, cores, gib)
        for name, cores, gib in zip(
            names, next(known), ones if np.isnan(memory).any() else memory, strict=True
        )
    ]


def _distance_to_nearest(values: FloatArray, observed: FloatArray) -> FloatArray:
    """(n,) distance of values (n,) from the nearest of (r,) observed ones."""
    return np.asarray(np.abs(values[:, None] - np.unique(observed)).min(axis=1))
