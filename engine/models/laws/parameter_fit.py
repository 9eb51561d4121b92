"""The fits for one set of job parameters, and the encoding of clusters as their rows.

In: clusters and a workload. Out: rows in the units of the table. Explained in
docs/models/sparkplan_rules_run_tables.md#the-rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType
from engine.cluster import Workload
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.machines.transfer import speed_of
from engine.models.curves.equivalents import Equivalents, equivalents
from engine.models.curves.machines import MachineRuns, shape_of, vcpus_of
from engine.models.curves.measured_range import SPREAD_PER_DOUBLING, doublings_outside
from engine.models.curves.parameter_scales import parameter_spread
from engine.models.laws.encoding import (
    MachineType,
    Rows,
    family_effect_share,
    family_indices,
    family_named,
)
from engine.models.laws.run_times import RunTimeFit
from engine.models.laws.weighted_fits import WeightedFit, distinct_rows
from engine.notices import Notice
from engine.runs.run_noise import Noise
from engine.runs.slow_runs import ExcludedRun, SuspectedOutlier


def size_spread(sizes: FloatArray) -> float:
    """Prior standard deviation of log time per doubling beyond the measured sizes (r,).

    Runs of one size say nothing of how the time grows with it, and all laws have work in proportion
    to the input: so it is what a parameter has that no run varied, and falls to
    `SPREAD_PER_DOUBLING` over the first doubling between the smallest and the largest size.
    """
    doublings = math.log2(float(sizes.max() / sizes.min()))
    untold = max(0.0, 1.0 - doublings)
    return untold * float(parameter_spread(1.0)) + (1.0 - untold) * SPREAD_PER_DOUBLING


@dataclass(frozen=True, eq=False)
class EncodedClusters:
    """n clusters as rows of a fit.

    Args:
        rows: (n,) all of them.
        equivalents: (n,) as machines of the measured types.
        known: (k,) indices of those whose machines are known.
        distinct: (d,) these, each once, with their `sources` among the measured types.
        inverse: (k,) index of each among the distinct ones.
    """

    rows: Rows
    equivalents: Equivalents
    known: IntArray
    distinct: Rows
    sources: IntArray
    inverse: IntArray

    @classmethod
    def of(cls, rows: Rows, equivalents: Equivalents) -> EncodedClusters:
        known = np.flatnonzero(~np.isnan(rows.machines))
        distinct = distinct_rows(rows.take(known), equivalents.family[known])
        return cls(rows, equivalents, known, *distinct)

    def at_size_of(self, wanted: Workload) -> EncodedClusters:
        """The same clusters at the size of a workload."""
        size = _size_of(wanted)
        rows, distinct = self.rows.with_size(size), self.distinct.with_size(size)
        return replace(self, rows=rows, distinct=distinct)


@dataclass(frozen=True, eq=False)
class ParameterFit:
    """The fits for one set of job parameters.

    Args:
        tables, machine_types: the measured types.
        names: the parameters that vary among the runs, in order.
        fits: of each type; the fit of all runs first.
        noise: scale of log time among repetitions.
        runs_with_parameters: number of runs with the wanted parameters.
        runs: number of runs in all.
        configuration_index: (n,) configuration of each run in the joint fit, in the tables' order.
        slow, outliers: runs that are left aside, since something went wrong in them: by comparison
            with others of the same configuration, and with all others.
        constant_doublings: distance in doublings of the wanted parameters from those that had one
            value in all runs.
        constant_notices: about those.
    """

    tables: tuple[MachineRuns, ...]
    machine_types: tuple[MachineType, ...]
    names: tuple[str, ...]
    fits: tuple[tuple[WeightedFit, ...], ...]
    noise: Noise
    runs_with_parameters: int
    runs: int
    configuration_index: IntArray
    slow: tuple[ExcludedRun, ...]
    outliers: tuple[SuspectedOutlier, ...]
    constant_doublings: float
    constant_notices: tuple[Notice, ...]

    @property
    def joint(self) -> RunTimeFit:
        """The fit of all runs."""
        return self.fits[0][0].fit

    @property
    def _measured_families(self) -> IntArray:
        """(k,) index of the family of each measured type."""
        names = [machine_type.family for machine_type in self.machine_types]
        return family_indices(names, self.machine_types)

    @property
    def in_gib(self) -> bool:
        """Whether the memory of the measured types is known."""
        return any(machine_type.memory != 1.0 for machine_type in self.machine_types)

    def rows(self, batch: ClusterBatch, wanted: Workload) -> tuple[Rows, Equivalents]:
        """The batch as rows: measured types as they are, others by their own shape where it is
        known, else as machines of the type that they resemble."""
        at = equivalents(batch, self.tables)
        cores = np.asarray([one.cores for one in self.machine_types], dtype=float)[at.family]
        memory = np.asarray([one.memory for one in self.machine_types], dtype=float)[at.family]
        measured_names = {machine_type.name for machine_type in self.machine_types}
        measured = np.asarray(
            [x is None or x.name in measured_names for x in batch.types], dtype=bool
        )
        own_shape = self._in_own_shape(batch, at, measured)
        in_own_shape = own_shape[batch.type_index]
        families = self._family_indices(batch, at, measured, own_shape)
        machines = np.where(in_own_shape, batch.nodes, at.machine_count)
        speeds = self._speeds(batch, families, measured)[batch.type_index]
        if self.in_gib:
            shapes = [target and shape_of(target, batch.catalog) for target in batch.types]
            gib = np.asarray([shape.memory_gib if shape else np.nan for shape in shapes])
            memory[in_own_shape] = gib[batch.type_index[in_own_shape]]
        n = len(batch)
        parameters = np.asarray([wanted.parameters[name] for name in self.names], dtype=float)
        rows = Rows(
            machines=machines,
            cores=cores * _quotients(at.machine_count, machines) * speeds,
            memory=memory,
            size=np.full(n, _size_of(wanted)),
            iterations=np.full(n, wanted.iterations or 1.0),
            type_index=np.where(measured[batch.type_index], at.family, -1),
            family=families[batch.type_index],
            parameters=np.broadcast_to(parameters, (n, len(parameters))),
            own_cores=cores * _quotients(at.machines, machines),
        )
        return rows, at

    def _family_indices(
        self, batch: ClusterBatch, at: Equivalents, measured: BoolArray, in_own_shape: BoolArray
    ) -> IntArray:
        """(t,) family index of the types of a batch, as in `Rows`. Those that are not measured and
        not `in_own_shape` (t,) count as machines of another type: what sizes have in common is by
        core."""
        measured_families = self._measured_families
        names = [None if target is None else family_named(target.name) for target in batch.types]
        others = np.where(in_own_shape, family_indices(names, self.machine_types), -1)
        return np.asarray(np.where(measured, measured_families[at.sources], others))

    def _speeds(self, batch: ClusterBatch, families: IntArray, measured: BoolArray) -> FloatArray:
        """(t,) speed of the cores of each type of a batch relative to the mean of the measured
        ones, whose times the laws know: of those that a CPU score compares it with. 1 where none
        does, and for (t,) `measured` types. Where sizes of its family were measured, only the part
        that these do not predict (`family_effect_share`)."""
        speeds = np.ones(len(measured))
        measured_families = self._measured_families
        untold = 1.0 - family_effect_share((families[:, None] == measured_families).sum(axis=1))
        for index in np.flatnonzero(~measured).tolist():
            target = batch.types[index]
            relative = [speed_of(target, table.instance, batch.catalog) for table in self.tables]
            compared = [speed.relative for speed in relative if speed.code != "no-cpu-score"]
            speeds[index] = np.exp(untold[index] * np.log(compared).mean()) if compared else 1.0
        return speeds

    def as_counted_by(self, fit: RunTimeFit, rows: Rows) -> Rows:
        """Rows in the cores that a fit uses."""
        return rows if fit is self.joint else rows.in_own_cores

    def _in_own_shape(self, batch: ClusterBatch, at: Equivalents, measured: BoolArray) -> BoolArray:
        """(t,) types of a batch that are not `measured` (t,) and are encoded in their own shape."""
        types = zip(measured, batch.types, at.sources, strict=True)
        return np.asarray(
            [
                not known
                and target is not None
                and self._comparable(target, int(source), batch.catalog)
                for known, target, source in types
            ],
            dtype=bool,
        )

    def _comparable(self, target: InstanceType, source: int, catalog: Catalog | None) -> bool:
        """Whether a type that was not measured can be encoded in its own shape: the cores of
        measured ones are vCPUs, and its own are known."""
        shape, measured = shape_of(target, catalog), self.tables[source]
        if measured.unit != "nodes" or shape is None:
            return False
        known = not (math.isnan(shape.vcpus) or math.isnan(shape.memory_gib))
        return known and vcpus_of(measured.instance, catalog) == self.machine_types[source].cores

    def extrapolation_scale(self, rows: Rows, between: FloatArray) -> FloatArray:
        """(n,) prior standard deviation of log time for extrapolation beyond the runs and their
        parameters.

        Args:
            between: (n,) gap between the predictions for the next fewer and more iterations that
                were run; infinite where there is no such pair. The time is monotone in them: it may
                be anywhere in the gap, and nowhere else.
        """
        runs, encoding = self.joint.rows, self.joint.candidates.encoding
        machines = doublings_outside(rows.machines * rows.cores, runs.machines * runs.cores)
        sizes = size_spread(runs.size) * doublings_outside(rows.size, runs.size)
        by_range = np.hypot(SPREAD_PER_DOUBLING * machines, sizes)
        away = np.hypot(encoding.parameter_doublings(rows), self.constant_doublings)
        iterations = parameter_spread(encoding.iteration_doublings(rows))
        iterations = np.minimum(iterations, between / math.sqrt(12.0))
        return np.hypot(np.hypot(by_range, parameter_spread(away)), iterations)

    def ended_scale(self, rows: Rows, grown: FloatArray) -> FloatArray:
        """(n,) what adds to that standard deviation below the predicted times for more iterations
        than any run had.

        A loop may end anywhere from the most that were run on. So the time is as likely anywhere
        from theirs to the predicted one, about which the root mean square is their distance by the
        root of 3.

        Args:
            grown: (n,) log of the predicted time relative to that of the most that were run.
        """
        doubt = parameter_spread(self.joint.candidates.encoding.iteration_doublings(rows))
        return np.sqrt(np.maximum(grown**2 / 3.0 - doubt**2, 0.0))


def _size_of(wanted: Workload) -> float:
    """The size of a workload in the units of the table; 1 where there is none."""
    size = wanted.scale if wanted.input_bytes is None else wanted.input_bytes
    return 1.0 if size is None else size


QUOTIENT_DIGITS = 12
"""Decimals of a quotient of numbers of machines: with those that are rounding, one type on many
nodes would count as several."""


def _quotients(machines: FloatArray, of: FloatArray) -> FloatArray:
    """(n,) how many machines one of others stands for."""
    return np.round(machines / of, QUOTIENT_DIGITS)
