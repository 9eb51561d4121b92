"""Which runs to make: a design on a grid of node counts and sample sizes, or a paper's own plan.

`designed` is Ernest's experiment design (3.3) turned into whole runs; `two_sizes` is PERIDOT's plan
and `equal_waves` is SimCost's. All answer with an `ExperimentPlan`: runs, what each costs and
teaches, and how good the plan is. The runs are sorted so that those of one cluster stand together,
the largest cluster first (Ernest 4.1 makes them on one cluster of the largest size).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.design import IntArray, a_optimal, criterion, rank, undetermined
from engine.errors import BadInput
from engine.forecast import FloatArray
from engine.models.terms import ERNEST_TERMS, Term, columns
from engine.profile import Notice
from engine.rounding import cheapest_first, efficiency, whole_runs

MOST_CANDIDATES = 20_000
"""More grid points than this are a slip, and no better than a coarser grid."""

MOST_TYPES = 6


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run to make.

    Args:
        fraction: of the whole input; whole partitions are sampled (Ernest 4.2).
        partitions: how many that is, None where the input's partitions are not known.
        cores: task slots of the whole cluster, where the plan is about them.
        iterations: how many to do, None for a job without (6.2: a share of the real number).
        seconds, usd: expected; None where nothing tells.
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
        unit: what the budget counts: "usd", "seconds" or "smallest runs" (the cost of the smallest
            sample on one node).
        criterion: tr((X'X)^-1), the summed variance of the coefficients in units of one run's
            noise, of these runs; `greedy_criterion` that of the cheapest runs for the same money,
            None where those do not tell the coefficients apart.
        efficiency: how near the runs come to what any design in this budget can reach, in [0, 1].
        known_runs: runs made earlier that the design builds on.
    """

    method: str
    runs: tuple[Experiment, ...]
    unit: str | None = None
    budget: float | None = None
    terms: tuple[str, ...] = ()
    candidates: int = 0
    criterion: float | None = None
    greedy_criterion: float | None = None
    greedy_runs: int = 0
    efficiency: float | None = None
    known_runs: int = 0
    notices: tuple[Notice, ...] = ()

    @property
    def cost(self) -> float | None:
        """The sum in the unit of the budget; None where a run has none."""
        return _total([run.cost for run in self.runs])

    @property
    def seconds(self) -> float | None:
        """The expected time of all runs one after the other."""
        return _total([run.seconds for run in self.runs])

    @property
    def usd(self) -> float | None:
        """The expected cost of all runs."""
        return _total([run.usd for run in self.runs])


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, eq=False)
class Grid:
    """The n possible experiments.

    Args:
        instances: names of the types, (None,) where it does not matter.
        machines, fraction: (n,); type_index: (n,) into `instances`.
        partitions: of the whole input; None where not known.
        iterations: what each run does, None for a job without.
    """

    instances: tuple[str | None, ...]
    type_index: IntArray
    machines: FloatArray
    fraction: FloatArray
    partitions: int | None = None
    iterations: float | None = None

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

        Where the input's partitions and a node's cores are known, an experiment is left out that
        has fewer partitions than cores: some would idle, and Ernest's terms know nothing of that.

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
        )

    def __len__(self) -> int:
        return len(self.machines)

    def features(
        self, terms: Sequence[Term], machines: FloatArray, fraction: FloatArray, types: IntArray
    ) -> FloatArray:
        """(r, p k) the terms of runs; each of k types has coefficients of its own (Ernest 6.4)."""
        rows, p = columns(tuple(terms), machines, fraction), len(terms)
        placed = np.zeros((len(machines), p * len(self.instances)))
        for k in range(len(self.instances)):
            mine = types == k
            placed[mine, k * p : (k + 1) * p] = rows[mine]
        return placed


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
    if not 1 <= len(instances) <= MOST_TYPES:
        raise BadInput(
            f"a design is for 1 to {MOST_TYPES} instance types, not {len(instances)}",
            remedy="each type needs runs of its own: name fewer",
        )
    if len(nodes) * len(fractions) * len(instances) > MOST_CANDIDATES:
        raise BadInput(
            f"more than {MOST_CANDIDATES:,} possible experiments", remedy="use a coarser grid"
        )


@dataclass(frozen=True, eq=False)
class Estimates:
    """What n experiments are expected to take: (n,) arrays, NaN where nothing tells."""

    seconds: FloatArray
    low: FloatArray
    high: FloatArray
    usd: FloatArray
    notices: tuple[Notice, ...] = field(default=())


def smallest_runs(grid: Grid) -> FloatArray:
    """(n,) cost of each experiment in units of the smallest sample on one node, if time is
    proportional to the data and shared evenly: the cost function of Ernest's reference."""
    return np.asarray(grid.fraction / grid.fraction.min() / grid.machines)


def nothing_known(grid: Grid) -> Estimates:
    """Estimates where there is no run and no guess."""
    unknown = np.full(len(grid), np.nan)
    return Estimates(unknown, unknown, unknown, unknown)


@dataclass(frozen=True, eq=False)
class Known:
    """Runs that were made already: machines, fraction of the whole input, and type, (r,) each."""

    machines: FloatArray
    fraction: FloatArray
    type_index: IntArray


def designed(
    grid: Grid,
    *,
    budget: float,
    unit: str = "smallest runs",
    costs: Callable[[Grid], FloatArray] = smallest_runs,
    estimates: Estimates | None = None,
    terms: Sequence[Term] = ERNEST_TERMS,
    known: Known | None = None,
) -> ExperimentPlan:
    """Ernest's A-optimal design within a budget, as whole runs.

    Args:
        costs: any cost function: (n,) what each experiment of a grid costs, in the budget's unit.
        estimates: expected times and prices to show beside each run; None where nothing tells.

    Raises:
        BadInput: for candidates that cannot tell the terms apart, and for a budget below the
            cheapest run or the cheapest runs that can.
    """
    raw = grid.features(terms, grid.machines, grid.fraction, grid.type_index)
    scale = np.where((means := raw.mean(axis=0)) > 0.0, means, 1.0)
    features, prices = raw / scale, costs(grid)
    earlier = None
    if known is not None and len(known.machines):
        earlier = grid.features(terms, known.machines, known.fraction, known.type_index) / scale
    _check_identified(features, earlier, grid, terms)
    chosen, bound = _whole_design(features, prices, budget, earlier)
    greedy = cheapest_first(prices, float(prices[chosen].sum()))
    greedy_criterion = criterion(features[greedy], earlier)
    words = _lessons(features[chosen], earlier, _names(grid, terms))
    shown = estimates or nothing_known(grid)
    runs = [
        _experiment(grid, int(place), shown, float(prices[place]), lesson)
        for place, lesson in zip(chosen, words, strict=True)
    ]
    return ExperimentPlan(
        method="ernest",
        runs=_in_order(runs),
        unit=unit,
        budget=budget,
        terms=tuple(term.name for term in terms),
        candidates=len(grid),
        criterion=criterion(features[chosen], earlier),
        greedy_criterion=greedy_criterion if math.isfinite(greedy_criterion) else None,
        greedy_runs=len(greedy),
        efficiency=efficiency(features, chosen, bound, known=earlier),
        known_runs=0 if known is None else len(known.machines),
        notices=shown.notices,
    )


LARGEST_SHARES = (0.6, 0.3, 0.15)
"""Most of the budget that one run may take, in the designs that are rounded and compared."""


NEAR_ENOUGH = 0.95
"""Efficiency of the first rounding from which on no other is tried."""


def _whole_design(
    features: FloatArray, prices: FloatArray, budget: float, earlier: FloatArray | None
) -> tuple[IntArray, float]:
    """The runs to make, and a bound that no whole runs within the budget can beat.

    A continuous design may rest on half of a run that costs the whole budget, which rounds badly;
    so designs without the most expensive runs are rounded too, and the best one is taken.
    """
    affordable = np.flatnonzero(prices <= budget)
    weights, bound = _relaxed(features, prices, budget, earlier, affordable)
    found = [whole_runs(features, prices, budget, weights=weights, known=earlier)]
    for share in LARGEST_SHARES:
        if efficiency(features, found[0], bound, known=earlier) >= NEAR_ENOUGH:
            break
        taking_part = np.flatnonzero(prices <= share * budget)
        if len(taking_part) == len(affordable):
            continue
        weights, _ = _relaxed(features, prices, budget, earlier, taking_part)
        if not weights.any():
            break
        found.append(whole_runs(features, prices, budget, weights=weights, known=earlier))
    return min(found, key=lambda chosen: criterion(features[chosen], earlier)), bound


def _relaxed(
    features: FloatArray,
    prices: FloatArray,
    budget: float,
    earlier: FloatArray | None,
    taking_part: IntArray,
) -> tuple[FloatArray, float]:
    """(n,) weights of the continuous design of some experiments, and its bound; all weights 0
    where those do not identify the terms."""
    weights, rows = np.zeros(len(prices)), features[taking_part]
    every = rows if earlier is None else np.concatenate((earlier, rows))
    if rank(every) < features.shape[1]:
        return weights, 0.0
    optimum = a_optimal(rows, prices[taking_part], budget, known=earlier)
    weights[taking_part] = optimum.weights
    return weights, optimum.bound


def _names(grid: Grid, terms: Sequence[Term]) -> list[str]:
    """(p k,) what each coefficient is of."""
    several = len(grid.instances) > 1
    return [
        f"{term.name} ({instance})" if several else term.name
        for instance in grid.instances
        for term in terms
    ]


def _check_identified(
    features: FloatArray, earlier: FloatArray | None, grid: Grid, terms: Sequence[Term]
) -> None:
    every = features if earlier is None else np.concatenate((earlier, features))
    unknown = undetermined(every)
    if not len(unknown):
        return
    names = _names(grid, terms)
    counts, sizes = len(np.unique(grid.machines)), len(np.unique(grid.fraction))
    raise BadInput(
        f"{counts} node count{'' if counts == 1 else 's'} and {sizes} fraction"
        f"{'' if sizes == 1 else 's'} cannot tell these terms apart: "
        + ", ".join(names[place] for place in unknown),
        remedy="add node counts or fractions (--nodes, --fractions)",
    )


def _lessons(rows: FloatArray, earlier: FloatArray | None, names: Sequence[str]) -> list[str]:
    """What each run teaches: the coefficient whose variance rises most without it."""
    prior = np.zeros((rows.shape[1],) * 2) if earlier is None else earlier.T @ earlier
    inverse = np.linalg.inv(prior + rows.T @ rows)
    variance, words = np.diag(inverse), []
    for row in rows:
        direction, left = inverse @ row, 1.0 - float(row @ inverse @ row)
        if left < 1e-9:
            place = int(np.argmax(np.square(direction) / variance))
            words.append(f"{names[place]}: nothing else tells it")
            continue
        rise = np.square(direction) / left / variance
        place = int(np.argmax(rise))
        words.append(f"{names[place]}: variance {_percent(rise[place])} higher without it")
    return words


def _percent(share: float) -> str:
    return f"{share:.0%}" if share < 10.0 else f"{share + 1.0:.0f} times as"


def _experiment(
    grid: Grid, place: int, shown: Estimates, cost: float | None, lesson: str
) -> Experiment:
    fraction = float(grid.fraction[place])
    return Experiment(
        nodes=int(grid.machines[place]),
        fraction=fraction,
        instance=grid.instances[grid.type_index[place]],
        partitions=None if grid.partitions is None else round(fraction * grid.partitions),
        iterations=grid.iterations,
        seconds=_known(shown.seconds[place]),
        low=_known(shown.low[place]),
        high=_known(shown.high[place]),
        usd=_known(shown.usd[place]),
        cost=cost,
        teaches=lesson,
    )


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _in_order(runs: Sequence[Experiment]) -> tuple[Experiment, ...]:
    return tuple(
        sorted(runs, key=lambda run: (run.instance or "", -(run.nodes or 0), run.fraction))
    )


def two_sizes(grid: Grid, *, node_cores: int, estimates: Estimates | None = None) -> ExperimentPlan:
    """PERIDOT's reference executions (IV-A, V): two small inputs on the same cores, the second
    twice the first where the grid has that.

    The node count is the smallest. The first size is the smallest that fills every core once, so
    that a wave time can be read off it (Eq. 2).

    Raises:
        BadInput: when the grid has no two sizes at one node count.
    """
    nodes = grid.machines.min()
    places = np.flatnonzero((grid.machines == nodes) & (grid.type_index == grid.type_index[0]))
    places = places[np.argsort(grid.fraction[places])]
    if grid.partitions is not None:
        tasks = np.round(grid.fraction[places] * grid.partitions)
        places = places[tasks >= nodes * node_cores]
    if len(places) < 2:
        raise BadInput(
            "PERIDOT's plan needs two sizes that fill the same cores",
            remedy="allow more or larger fractions",
        )
    first = int(places[0])
    ratio = np.log(grid.fraction[places[1:]] / grid.fraction[first])
    second = int(places[1:][np.argmin(np.abs(ratio - math.log(2.0)))])
    shown = estimates or nothing_known(grid)
    words = (
        "wave time and tasks of every stage group",
        "which groups grow with the input, and which are fixed",
    )
    runs = [
        replace(
            _experiment(grid, place, shown, None, lesson), cores=round(float(nodes) * node_cores)
        )
        for place, lesson in zip((first, second), words, strict=True)
    ]
    return ExperimentPlan("peridot", tuple(runs), candidates=len(grid), notices=shown.notices)


def equal_waves(
    *, target_partitions: int, target_cores: Sequence[int], sample_partitions: int
) -> ExperimentPlan:
    """SimCost's samples (4.3, Algorithm 1, Example 2): partitions and cores scaled together, so
    that each sample runs in as many waves as the real job on the cores that it stands for.

    Raises:
        BadInput: for a sample too small to have the waves of any of the targets.
    """
    if not 1 <= sample_partitions <= target_partitions:
        raise BadInput(
            f"a sample has 1 to {target_partitions} partitions, not {sample_partitions}",
            where="--sample-partitions",
        )
    runs = []
    for cores in target_cores:
        waves = math.ceil(target_partitions / cores)
        nearest = cores * sample_partitions / target_partitions
        fitting = [v for v in range(1, sample_partitions + 1)
                   if math.ceil(sample_partitions / v) == waves]  # fmt: skip
        if fitting:
            sampled = int(fitting[np.argmin(np.abs(np.asarray(fitting) - nearest))])
            runs.append(
                Experiment(
                    nodes=None,
                    fraction=sample_partitions / target_partitions,
                    partitions=sample_partitions,
                    cores=sampled,
                    teaches=f"{waves} wave{'' if waves == 1 else 's'}, as the whole on {cores} "
                    "cores",
                )
            )
    if not runs:
        raise BadInput(
            f"{sample_partitions} partitions cannot have as many waves as {target_partitions} on "
            "any of these cores",
            where="--sample-partitions",
            remedy="sample more partitions",
        )
    return ExperimentPlan("simcost", tuple(runs), candidates=len(target_cores))
