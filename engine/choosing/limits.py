"""Limits beside the goal: owned nodes, quotas, families, the least number of nodes.

Every limit is a linear constraint on the node counts of a composition, so one check serves clusters
of one type and mixes. No limit is ever dropped to find an answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from engine.catalog import Billing, Catalog, InstanceType
from engine.cluster import Layout, is_finite, is_number
from engine.errors import BadInput, UnknownName
from engine.forecast import FloatArray, IntArray
from engine.runs.barrier_stages import BarrierStage
from engine.units import format_count

ARCHITECTURES = ("x86_64", "arm64")


def _is_count(value: object, least: int) -> bool:
    """Whether a value is a whole number of at least `least`."""
    return isinstance(value, int | float) and is_finite(value) and least <= value == int(value)


def _floor_of_least(*bounds: float) -> int:
    """The largest whole number within all of several upper bounds."""
    return math.floor(min(bounds) * (1.0 + 1e-12))


def _as_pairs(what: str, entries: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    try:
        return [(name, nodes) for name, nodes in entries]
    except (TypeError, ValueError):
        raise BadInput(
            f"{what} must be pairs of a type and its nodes, not {entries!r}",
            remedy='write them like (("m5.xlarge", 3),)',
        ) from None


def _check_list(globs: Sequence[str]) -> None:
    """Raises BadInput for a single glob: its letters would be taken for globs."""
    if isinstance(globs, str):
        raise BadInput(
            f"a list of types to exclude is needed, not {globs!r}", remedy=f"write [{globs!r}]"
        )


def _check_range(fewest: int, most: int) -> None:
    """Raises BadInput for bounds of executors that are no range."""
    if not (_is_count(fewest, 0) and _is_count(most, 1) and fewest <= most):
        raise BadInput(
            f"{fewest} to {most} executors is no range",
            where="dynamic-allocation",
            remedy="write it like 2:40: the most is at least 1 and at least the fewest",
        )


@dataclass(frozen=True)
class Limits:
    """What may be rented.

    Args:
        owned: (type, nodes): up to that many nodes cost nothing; not all need be used.
        owned_master: whether owned nodes are of a cluster that runs, which rented workers join: its
            master costs nothing. Otherwise one is billed beside any workers, as catalogs have it.
        most: (glob, nodes): the most nodes of all matching types together.
        max_vcpus: quota of vCPUs over all workers; None for none.
        min_nodes: the fewest workers.
        arch: "x86_64" or "arm64"; None for that of the measured types.
        exclude: globs of types that are not rented.
        max_spot: the largest share of nodes rented at spot prices, under spot billing; the rest
            is rented on demand. None for no limit.
        executors: bounds of dynamic allocation, (fewest, most) executors; None if off.
        barrier_stages: stages of the job whose tasks start all at once or not at all.

    Raises:
        BadInput: for values out of range or of the wrong kind.
        UnknownName: for an unknown architecture.
    """

    owned: tuple[tuple[str, int], ...] = ()
    most: tuple[tuple[str, int], ...] = ()
    max_vcpus: float | None = None
    min_nodes: int = 1
    arch: str | None = None
    exclude: tuple[str, ...] = ()
    max_spot: float | None = None
    executors: tuple[int, int] | None = None
    barrier_stages: tuple[BarrierStage, ...] = ()
    owned_master: bool = False

    def __post_init__(self) -> None:
        for what, entries, least in (("owned", self.owned, 1), ("limit", self.most, 0)):
            pairs = _as_pairs(what, entries)
            for name, nodes in pairs:
                if not _is_count(nodes, least):
                    raise BadInput(
                        f"{what} {name}={nodes} is not a number of nodes",
                        remedy=f"give a whole number of at least {least}",
                    )
            names = [name for name, _ in pairs]
            if len(set(names)) < len(names):
                raise BadInput(f"{what}: a type is named twice", remedy="name each type once")
        _check_list(self.exclude)
        if not isinstance(self.owned_master, bool):
            raise BadInput(f"owned_master must be True or False, not {self.owned_master!r}")
        if self.max_vcpus is not None and not (is_number(self.max_vcpus) and self.max_vcpus > 0):
            raise BadInput(f"the quota of vCPUs must be more than zero, not {self.max_vcpus}")
        if not _is_count(self.min_nodes, 1):
            raise BadInput(
                f"min_nodes must be a whole number of at least 1, not {self.min_nodes!r}"
            )
        self._check_share()
        if self.arch is not None and self.arch not in ARCHITECTURES:
            raise UnknownName("architecture", str(self.arch), ARCHITECTURES)
        if self.executors is not None:
            _check_range(*self.executors)

    def _check_share(self) -> None:
        if self.max_spot is None:
            return
        if not is_number(self.max_spot) or not 0.0 <= self.max_spot <= 1.0:
            shown = f"{100 * self.max_spot:g} %" if is_number(self.max_spot) else self.max_spot
            raise BadInput(
                f"the share of spot nodes lies between 0 and 100 %, not {shown}", where="max-spot"
            )

    def validated(self, catalog: Catalog, max_nodes: int) -> Limits:
        """These limits, if the catalog holds all of their names.

        Raises:
            UnknownName: for an owned type or a glob that matches no type of the catalog.
            BadInput: for limits that contradict each other.
        """
        for name, _ in self.owned:
            if name not in catalog.offers:
                raise catalog.unknown_type(name, kind="owned instance type")
            excluded = [glob for glob in self.exclude if fnmatchcase(name, glob)]
            if excluded:
                raise BadInput(
                    f"{name} is owned and excluded by {excluded[0]!r}",
                    remedy="leave out one of the two",
                )
            arch = catalog.offers[name].instance.arch
            if self.arch is not None and arch not in (None, self.arch):
                raise BadInput(
                    f"{name} is owned and {arch}, not {self.arch}",
                    remedy="leave out one of the two",
                )
        for glob in (*(glob for glob, _ in self.most), *self.exclude):
            if not any(fnmatchcase(name, glob) for name in catalog.offers):
                error = catalog.unknown_glob(glob)
                if glob in self.exclude:
                    error.elsewhere = None  # what another catalog has is left out here anyway
                raise error
        if self.min_nodes > max_nodes:
            raise BadInput(
                f"at least {self.min_nodes} nodes and at most {max_nodes} contradict each other",
                remedy="raise --max-nodes or lower --min-nodes",
            )
        return self

    def require_feasible(
        self,
        instances: Sequence[InstanceType],
        layouts: Sequence[Layout],
        max_nodes: int,
        *,
        needed_by: str = "",
    ) -> Limits:
        """These limits, if some cluster of any of k types keeps them.

        Args:
            needed_by: the service that starts no fewer than `min_nodes`; empty where the user set
                it.

        Raises:
            BadInput: for a quota below one node or below `min_nodes`, and where no cluster starts
                the job's barrier stages.
        """
        constraints = self.constraints(instances, layouts)
        most = constraints.most(max_nodes)
        most_nodes = _floor_of_least(
            float(most.sum()), constraints.most_of(np.ones(len(instances)))
        )
        if most_nodes < self.min_nodes:
            room = format_count(most_nodes, "node") if most_nodes else "no node"
            need = f", at least {self.min_nodes} are needed" if most_nodes else ""
            need += f" ({needed_by} starts no fewer)" if need and needed_by else ""
            raise BadInput(
                f"the limits leave room for {room}{need}",
                remedy=self._loosening_advice(),
            )
        if self.executors is not None:
            self._check_executors(layouts, constraints, max_nodes)
        for stage in self.barrier_stages:
            self._check_barrier_stage(stage, layouts, constraints, max_nodes)
        return self

    def _loosening_advice(self) -> str:
        """Advice on which of these limits to raise."""
        given = {
            "--max-vcpus": self.max_vcpus is not None,
            "--limit": bool(self.most),
            "--dynamic-allocation": self.executors is not None,
            "--max-nodes": True,
        }
        named = [option for option, is_given in given.items() if is_given]
        return f"raise {' or '.join(named[:-1] or named)}"

    def _check_executors(
        self, layouts: Sequence[Layout], constraints: Constraints, max_nodes: int
    ) -> None:
        """Raises BadInput if no cluster within the limits holds the fewest executors."""
        per_node = np.asarray([layout.executors_per_node for layout in layouts], dtype=float)
        most_executors = constraints.most_together(per_node, max_nodes)
        fewest = self.executors[0] if self.executors else 0
        if most_executors < fewest:
            raise BadInput(
                f"no cluster that the limits allow holds {fewest} executors: at most "
                f"{most_executors}",
                where="dynamic-allocation",
                remedy="lower the fewest, or raise --max-nodes or the limits",
            )

    def _check_barrier_stage(
        self,
        stage: BarrierStage,
        layouts: Sequence[Layout],
        constraints: Constraints,
        max_nodes: int,
    ) -> None:
        """Raises BadInput if no cluster within the limits starts a barrier stage."""
        if self.executors is not None:
            raise BadInput(
                f"{stage.label} starts all of its tasks at once (barrier mode): Spark refuses such "
                "stages with dynamic allocation",
                where="dynamic-allocation",
                remedy="leave it out",
            )
        most_tasks = constraints.most_together(barrier_tasks_per_node(stage, layouts), max_nodes)
        if most_tasks < stage.tasks:
            raise BadInput(
                f"{stage.label} starts its {stage.tasks} tasks all at once (barrier mode), and no "
                f"cluster that the limits allow has room for more than {most_tasks}",
                remedy=self._loosening_advice(),
            )

    def excludes(self, name: str) -> bool:
        """Whether a type is not to be rented."""
        return any(fnmatchcase(name, glob) for glob in self.exclude)

    def billed(self, billing: Billing) -> Billing:
        """The rules by which clusters are billed: no master where it is owned."""
        if not self.owned_master or not self.owned or billing.master is None:
            return billing
        return replace(billing, master=None, master_note=None, master_owned=True)

    def owned_of(self, instances: Sequence[InstanceType]) -> IntArray:
        """(k,) owned nodes of each type."""
        owned: Mapping[str, int] = dict(self.owned)
        return np.asarray([owned.get(shape.name, 0) for shape in instances], dtype=np.int64)

    def constraints(
        self, instances: Sequence[InstanceType], layouts: Sequence[Layout]
    ) -> Constraints:
        """The limits as linear constraints over k types; lower bounds have negative weights and
        caps."""
        rows = [[float(fnmatchcase(x.name, glob)) for x in instances] for glob, _ in self.most]
        caps = [float(nodes) for _, nodes in self.most]
        if self.max_vcpus is not None:
            rows.append([x.vcpus for x in instances])
            caps.append(self.max_vcpus)
        if self.executors is not None:
            each = [float(layout.executors_per_node) for layout in layouts]
            rows += [each, [-value for value in each]]
            caps += [float(self.executors[1]), -float(self.executors[0])]
        for stage in self.barrier_stages:
            rows.append([-value for value in barrier_tasks_per_node(stage, layouts)])
            caps.append(-float(stage.tasks))
        weights = np.asarray(rows, dtype=float).reshape(len(caps), len(instances))
        return Constraints(weights, np.asarray(caps), self.min_nodes)


def barrier_tasks_per_node(stage: BarrierStage, layouts: Sequence[Layout]) -> FloatArray:
    """(k,) tasks of a barrier stage that a node of each type runs at once."""
    return np.asarray([stage.room(x.executors_per_node, x.executor_cores) for x in layouts])


@dataclass(frozen=True, eq=False)
class Constraints:
    """sum_t weights[c, t] n_t <= caps[c] for every constraint c, and at least `min_nodes` nodes."""

    weights: FloatArray
    caps: FloatArray
    min_nodes: int

    def allowed(self, rows: IntArray, counts: IntArray) -> np.ndarray:
        """(n,) whether compositions, given by their (n, q) types and counts, keep all limits."""
        satisfied = np.asarray(counts.sum(axis=1) >= self.min_nodes)
        for weights, cap in zip(self.weights, self.caps, strict=True):
            satisfied &= (counts * weights[rows]).sum(axis=1) <= cap + 1e-12 * abs(cap)
        return satisfied

    def most(self, max_nodes: int) -> IntArray:
        """(k,) the most nodes of each type alone; 0 for a type that may not be rented."""
        most = np.full(self.weights.shape[1], float(max_nodes))
        for weights, cap in zip(self.weights, self.caps, strict=True):
            binds = weights > 0.0
            fits = np.floor(cap * (1.0 + 1e-12) / np.where(binds, weights, 1.0))
            most = np.where(binds, np.minimum(most, fits), most)
        return np.asarray(most, dtype=np.int64)

    def fewest(self) -> IntArray:
        """(k,) the fewest nodes of each type alone; above `most` where no number will do."""
        fewest = np.full(self.weights.shape[1], float(self.min_nodes))
        for weights, cap in zip(self.weights, self.caps, strict=True):
            binds = weights < 0.0
            needs = np.ceil(cap * (1.0 - 1e-12) / np.where(binds, weights, -1.0))
            fewest = np.where(binds, np.maximum(fewest, needs), fewest)
        return np.asarray(fewest, dtype=np.int64)

    def most_of(self, values: FloatArray) -> float:
        """Upper bound on the sum of (k,) values over the nodes of a composition; inf where no limit
        binds all types."""
        bounds = [
            float((values / weights).max() * cap)
            for weights, cap in zip(self.weights, self.caps, strict=True)
            if (weights > 0.0).all()
        ]
        return min(bounds, default=np.inf)

    def most_together(self, per_node: FloatArray, max_nodes: int) -> int:
        """Upper bound on the sum over a cluster of (k,) values `per_node`."""
        most = self.most(max_nodes)
        return _floor_of_least(
            float((per_node * most).sum()),
            max_nodes * float(per_node[most > 0].max()),
            self.most_of(per_node),
        )

    def take(self, rows: IntArray) -> Constraints:
        """The constraints over a subset of types, repeated or reordered."""
        return Constraints(self.weights[:, rows], self.caps, self.min_nodes)


NO_LIMITS = Limits()
