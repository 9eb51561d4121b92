"""What answers for one set of job parameters: the fits, and clusters as the rows they are asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType
from engine.cluster import Workload
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.machines.transfer import speed_of
from engine.models.curves.equivalents import Equivalents, equivalents
from engine.models.curves.machines import MachineRuns, shape_of, vcpus_of
from engine.models.curves.measured_range import SPREAD_PER_DOUBLING, beyond
from engine.models.curves.parameter_scales import parameter_spread
from engine.models.laws.design import (
    Kind,
    Rows,
    families_among,
    family_named,
    known_of_family,
)
from engine.models.laws.run_times import RunTimes
from engine.models.laws.shares import Share
from engine.notices import Notice
from engine.runs.run_noise import Noise
from engine.runs.slow_runs import SlowRun, UnusualRun


@dataclass(frozen=True, eq=False)
class ParameterFit:
    """What answers for one set of parameters.

    Args:
        tables, kinds: the measured types.
        names: the parameters that vary among the runs, in order.
        shares: of each type; the fit of all runs first.
        noise: what a run differs by from another of the same.
        same: runs with the wanted parameters.
        runs: runs in all.
        places: (n,) which configuration of the joint fit each run is of, in the tables' order.
        slow, aside: runs that are left aside, since something went wrong in them: told by others
            of the same, and by all others.
        beside: what is asked of parameters that had one value in all runs, by how many doublings.
        beside_notices: about those.
    """

    tables: tuple[MachineRuns, ...]
    kinds: tuple[Kind, ...]
    names: tuple[str, ...]
    shares: tuple[tuple[Share, ...], ...]
    noise: Noise
    same: int
    runs: int
    places: IntArray
    slow: tuple[SlowRun, ...]
    aside: tuple[UnusualRun, ...]
    beside: float
    beside_notices: tuple[Notice, ...]

    @property
    def joint(self) -> RunTimes:
        """The fit of all runs."""
        return self.shares[0][0].fit

    @property
    def in_gib(self) -> bool:
        """Whether the memory of the measured types is known."""
        return any(kind.memory != 1.0 for kind in self.kinds)

    def rows(self, batch: ClusterBatch, wanted: Workload) -> tuple[Rows, Equivalents]:
        """The batch as rows: measured types as they are, others by their own shape where it is
        known, else as machines of the type that they resemble."""
        at = equivalents(batch, self.tables)
        cores = np.asarray([kind.cores for kind in self.kinds], dtype=float)[at.family]
        memory = np.asarray([kind.memory for kind in self.kinds], dtype=float)[at.family]
        own_names = {own.name for own in self.kinds}
        measured = np.asarray([x is None or x.name in own_names for x in batch.types], dtype=bool)
        own_shape = self._seen(batch, at, measured)
        seen = own_shape[batch.type_index]
        families = self._families(batch, at, measured, own_shape)
        machines = np.where(seen, batch.nodes, at.slow_machines)
        speeds = self._speeds(batch, families, measured)[batch.type_index]
        if self.in_gib:
            shapes = [target and shape_of(target, batch.catalog) for target in batch.types]
            gib = np.asarray([shape.memory_gib if shape else np.nan for shape in shapes])
            memory[seen] = gib[batch.type_index[seen]]
        size = wanted.scale if wanted.input_bytes is None else wanted.input_bytes
        n = len(batch)
        parameters = np.asarray([wanted.parameters[name] for name in self.names], dtype=float)
        asked = Rows(
            machines=machines,
            cores=cores * (at.slow_machines / machines) * speeds,
            memory=memory,
            size=np.full(n, 1.0 if size is None else size),
            iterations=np.full(n, wanted.iterations or 1.0),
            kind=np.where(measured[batch.type_index], at.family, -1),
            family=families[batch.type_index],
            parameters=np.broadcast_to(parameters, (n, len(parameters))),
            own_cores=cores * (at.machines / machines),
        )
        return asked, at

    def _families(
        self, batch: ClusterBatch, at: Equivalents, measured: BoolArray, seen: BoolArray
    ) -> IntArray:
        """(t,) families of the types of a batch, as in `Rows`. Those of another size, which are not
        `seen` (t,) in their own shape, are machines of another type: what sizes have in common is
        by core."""
        own = families_among([kind.family for kind in self.kinds], self.kinds)
        names = [None if target is None else family_named(target.name) for target in batch.types]
        others = np.where(seen, families_among(names, self.kinds), -1)
        return np.asarray(np.where(measured, own[at.sources], others))

    def _speeds(self, batch: ClusterBatch, families: IntArray, measured: BoolArray) -> FloatArray:
        """(t,) speed of the cores of each type of a batch relative to the mean of the measured
        ones, whose times the laws know: of those that a CPU score compares it with. 1 where none
        does, and for (t,) `measured` types. Where sizes of its family were measured, what these do
        not tell of it (`known_of_family`)."""
        speeds = np.ones(len(measured))
        own = families_among([kind.family for kind in self.kinds], self.kinds)
        left = 1.0 - known_of_family((families[:, None] == own).sum(axis=1))
        for place in np.flatnonzero(~measured).tolist():
            target = batch.types[place]
            found = [speed_of(target, table.instance, batch.catalog) for table in self.tables]
            compared = [speed.relative for speed in found if speed.code != "no-cpu-score"]
            speeds[place] = np.exp(left[place] * np.log(compared).mean()) if compared else 1.0
        return speeds

    def seen_by(self, fit: RunTimes, rows: Rows) -> Rows:
        """Rows as a fit counts their cores."""
        return rows if fit is self.joint else rows.alone

    def _seen(self, batch: ClusterBatch, at: Equivalents, measured: BoolArray) -> BoolArray:
        """(t,) types of a batch that are not `measured` (t,) and seen in their own shape."""
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
        """Whether a type that was not measured can be seen in its own shape: the cores of measured
        ones are vCPUs, and its own are known."""
        shape, measured = shape_of(target, catalog), self.tables[source]
        if measured.unit != "nodes" or shape is None:
            return False
        known = not (math.isnan(shape.vcpus) or math.isnan(shape.memory_gib))
        return known and vcpus_of(measured.instance, catalog) == self.kinds[source].cores

    def spread_beyond(self, rows: Rows, between: FloatArray) -> FloatArray:
        """(n,) prior spread of log time for what lies beyond runs, or beside their parameters.

        Args:
            between: (n,) how far apart the answers for the next fewer and more iterations that were
                run are; infinite where there is no such pair. The time never falls with them: it
                may be anywhere between, and nowhere else.
        """
        runs, encoding = self.joint.rows, self.joint.candidates.encoding
        machines = beyond(rows.machines * rows.cores, runs.machines * runs.cores)
        by_range = SPREAD_PER_DOUBLING * np.hypot(machines, beyond(rows.size, runs.size))
        away = np.hypot(encoding.parameter_doublings(rows), self.beside)
        iterations = parameter_spread(encoding.iteration_doublings(rows))
        iterations = np.minimum(iterations, between / math.sqrt(12.0))
        return np.hypot(np.hypot(by_range, parameter_spread(away)), iterations)
