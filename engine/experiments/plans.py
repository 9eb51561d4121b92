"""Values of experiment planning: the grid of candidate experiments, their costs, and plans of runs.

A plan comes from Ernest's design (`designed_runs`) or from PERIDOT's and SimCost's own rules
(`paper_plans`). Runs on one cluster stand together, the largest cluster first (Ernest 4.1 makes
them on one cluster of the largest size).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.cluster import is_finite
from engine.errors import BadInput
from engine.forecast import FloatArray, IntArray
from engine.models.curves.terms import Term, columns
from engine.notices import Notice
from engine.units import format_count, format_share

MOST_CANDIDATES = 20_000
"""A larger grid is a mistake, and no better than a coarser one."""

MAX_TYPES_PER_DESIGN = 6

OWN_UNITS = "own units"

UNITS = ("usd", "seconds", "smallest runs", OWN_UNITS)
"""What a budget may count: "smallest runs" are the cost of the smallest sample on one node,
`OWN_UNITS` those of a cost function that is given."""

CostOfRun = Callable[["Experiment"], float]
"""What a run costs, in the unit of the budget (Ernest 3.3: any function of scale and machines)."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run to make.

    Args:
        fraction: of the whole input; whole partitions are sampled (Ernest 4.2).
        partitions: the same in partitions; None if the input's are unknown.
        cores: task slots of the whole cluster, in a plan over cores.
        iterations: how many to do, a share of the real number (Ernest 6.2); None for a job without.
        seconds, low, high, usd: expected; None if unknown.
        cost: in the unit of the plan's budget; None for a plan without one.
        teaches: what it is for, in words.
    """

    nodes: int | None
    fraction: float
    instance: str | None = None
    partitions: int | None = None
    cores: int | None = None
    iterations: float | None = None
    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    usd: float | None = None
    cost: float | None = None
    teaches: str = ""


@dataclass(frozen=True)
class ExperimentPlan:
    """Runs to make, and how good they are.

    Args:
        method: "ernest", "peridot" or "simcost".
        unit: what the budget counts, one of `UNITS`.
        candidates: how many experiments were possible.
        criterion: tr((X'X)^-1), the summed variance of the coefficients in units of one run's
            noise.
        optimum: that of the continuous design (weights in [0, 1], Ernest 3.3), to 1e-5; no whole
            runs within the budget have less.
        greedy_criterion: that of the `greedy_runs` cheapest runs for the same money; None if these
            do not identify the coefficients.
        efficiency: lower bound on the criterion of any design within the budget, relative to that
            of these runs, in [0, 1].
        known_runs: earlier runs that the design builds on.
    """

    method: str
    runs: tuple[Experiment, ...]
    unit: str | None = None
    budget: float | None = None
    terms: tuple[str, ...] = ()
    candidates: int = 0
    criterion: float | None = None
    optimum: float | None = None
    greedy_criterion: float | None = None
    greedy_runs: int = 0
    efficiency: float | None = None
    known_runs: int = 0
    notices: tuple[Notice, ...] = ()

    @property
    def cost(self) -> float | None:
        """The total in the unit of the budget; None if that of any run is unknown."""
        return _sum_or_none([run.cost for run in self.runs])

    @property
    def seconds(self) -> float | None:
        """The expected time of all runs, one after the other; None as `cost`."""
        return _sum_or_none([run.seconds for run in self.runs])

    @property
    def usd(self) -> float | None:
        """The expected cost of all runs in USD; None as `cost`."""
        return _sum_or_none([run.usd for run in self.runs])


def _sum_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, eq=False)
class Grid:
    """The n candidate experiments.

    Args:
        instances: names of the types; (None,) where the type does not matter.
        machines, fraction: (n,); type_index: (n,) into `instances`.
        partitions: of the whole input; None if unknown.
        iterations: of each run; None for a job without.
        left_out: how many candidates were dropped because they have fewer partitions than cores.
    """

    instances: tuple[str | None, ...]
    type_index: IntArray
    machines: FloatArray
    fraction: FloatArray
    partitions: int | None = None
    iterations: float | None = None
    left_out: int = 0

    @classmethod
    def of(
        cls,
        *,
        nodes: Sequence[int],
        fractions: Sequence[float],
        instances: Sequence[str | None] = (None,),
        partitions: int | None = None,
        node_cores: int | None = None,
        iterations: float | None = None,
    ) -> Grid:
        """Every type at every node count with every fraction.

        If the input's partitions and a node's cores are known, experiments with fewer partitions
        than cores are left out: some cores would idle, which Ernest's terms do not express.

        Raises:
            BadInput: for an empty, huge or impossible grid.
        """
        _check_grid(nodes, fractions, instances)
        type_index, machines, fraction = np.meshgrid(
            np.arange(len(instances)), np.asarray(nodes, float), np.asarray(fractions, float),
            indexing="ij",
        )  # fmt: skip
        kept = np.ones(machines.size, dtype=bool)
        if partitions is not None:
            sampled = np.round(fraction.ravel() * partitions)
            kept = sampled >= np.maximum(1.0, (node_cores or 0) * machines.ravel())
        if not kept.any():
            raise BadInput(
                "no experiment has as many partitions as cores",
                remedy="allow larger fractions or fewer nodes",
            )
        return cls(
            tuple(instances),
            type_index.ravel()[kept].astype(np.int64),
            machines.ravel()[kept],
            fraction.ravel()[kept],
            partitions,
            iterations,
            int((~kept).sum()),
        )

    def __len__(self) -> int:
        return len(self.machines)

    def features(
        self, terms: Sequence[Term], machines: FloatArray, fraction: FloatArray, types: IntArray
    ) -> FloatArray:
        """(r, p k) features of runs: p terms, with coefficients of their own for each of k types
        (Ernest 6.4)."""
        rows, p = columns(tuple(terms), machines, fraction), len(terms)
        features = np.zeros((len(machines), p * len(self.instances)))
        for k in range(len(self.instances)):
            of_type = types == k
            features[of_type, k * p : (k + 1) * p] = rows[of_type]
        return features


def _check_grid(
    nodes: Sequence[int], fractions: Sequence[float], instances: Sequence[str | None]
) -> None:
    if not nodes or min(nodes) < 1:
        raise BadInput("experiments need node counts of at least 1", where="--nodes")
    if not fractions or not all(0.0 < fraction <= 1.0 for fraction in fractions):
        raise BadInput(
            "fractions lie above 0 and up to 100 % of the input",
            where="--fractions",
            remedy="write them like 1%:10% or 0.01,0.05,0.1",
        )
    if not 1 <= len(instances) <= MAX_TYPES_PER_DESIGN:
        raise BadInput(
            f"a design is for 1 to {MAX_TYPES_PER_DESIGN} instance types, not {len(instances)}",
            remedy="each type needs runs of its own: name fewer",
        )
    if len(nodes) * len(fractions) * len(instances) > MOST_CANDIDATES:
        raise BadInput(
            f"more than {MOST_CANDIDATES:,} possible experiments", remedy="use a coarser grid"
        )


@dataclass(frozen=True, eq=False)
class Estimates:
    """Expected times and prices of n experiments: (n,) arrays, NaN where unknown."""

    seconds: FloatArray
    low: FloatArray
    high: FloatArray
    usd: FloatArray
    notices: tuple[Notice, ...] = field(default=())


def smallest_runs(grid: Grid) -> FloatArray:
    """(n,) cost of each experiment in units of the smallest sample on one node, for a time
    proportional to the data and shared evenly: the cost function of Ernest's reference code."""
    return np.asarray(grid.fraction / grid.fraction.min() / grid.machines)


def unknown_estimates(grid: Grid) -> Estimates:
    """Estimates where nothing is known: all NaN."""
    unknown = np.full(len(grid), np.nan)
    return Estimates(unknown, unknown, unknown, unknown)


@dataclass(frozen=True, eq=False)
class KnownRuns:
    """The r runs made so far: (r,) machines, fractions of the whole input, types and seconds."""

    machines: FloatArray
    fraction: FloatArray
    type_index: IntArray
    seconds: FloatArray


def experiment_at(
    grid: Grid, index: int, estimates: Estimates, cost: float | None, teaches: str
) -> Experiment:
    """One experiment of a grid as a run to make.

    Args:
        cost: in the unit of the plan's budget; teaches: what the run teaches.
    """
    fraction = float(grid.fraction[index])
    return Experiment(
        nodes=int(grid.machines[index]),
        fraction=fraction,
        instance=grid.instances[grid.type_index[index]],
        partitions=None if grid.partitions is None else round(fraction * grid.partitions),
        iterations=grid.iterations,
        seconds=finite_or_none(estimates.seconds[index]),
        low=finite_or_none(estimates.low[index]),
        high=finite_or_none(estimates.high[index]),
        usd=finite_or_none(estimates.usd[index]),
        cost=cost,
        teaches=teaches,
    )


def finite_or_none(value: float) -> float | None:
    """None for NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def grouped_by_cluster(runs: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Runs grouped by cluster, the largest cluster first."""
    return tuple(
        sorted(runs, key=lambda run: (run.instance or "", -(run.nodes or 0), run.fraction))
    )


def run_costs(
    grid: Grid,
    estimates: Estimates,
    unit: str,
    cost_of_run: CostOfRun | None,
    measured: Sequence[str] | None,
) -> FloatArray:
    """(n,) what each experiment costs in the budget's unit.

    Args:
        measured: types of the runs made so far of which prices are known; None without such runs.
    """
    if cost_of_run is not None:
        runs = (experiment_at(grid, index, estimates, None, "") for index in range(len(grid)))
        return np.asarray([_checked(run, cost_of_run(run)) for run in runs])
    if unit == "smallest runs":
        return smallest_runs(grid)
    costs = estimates.usd if unit == "usd" else estimates.seconds
    if not np.isfinite(costs).all():
        raise BadInput(
            "a budget in money needs a price and an expected time of every run"
            if unit == "usd"
            else "a budget in time needs an expected time of every run",
            where="--budget",
            remedy=_priced_by(unit, measured),
        )
    return costs


def _priced_by(unit: str, measured: Sequence[str] | None) -> str:
    """What to add so that runs have a time, and in money a price."""
    if measured is not None and unit == "usd":
        return "name their type: --instances " + (" or ".join(measured) or "TYPE")
    timed = "give the runs made so far as SOURCE, or --smallest-run T"
    return f"{timed} and --instances TYPE" if unit == "usd" else timed


def _checked(run: Experiment, cost: float) -> float:
    """The cost of a run by a given function.

    Raises:
        BadInput: for a cost that is no finite number of more than zero.
    """
    if not (is_finite(cost) and cost > 0.0):
        raise BadInput(
            f"the cost of {format_share(run.fraction)} of the input on "
            f"{format_count(run.nodes or 0, 'node')} must be a "
            f"number of more than zero, not {cost!r}",
            where="costs",
        )
    return float(cost)
