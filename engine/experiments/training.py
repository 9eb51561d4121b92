"""Plans of training runs: the request, and the expected times and prices of the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.batch import ClusterBatch, with_shape_and_layout
from engine.catalog import Catalog
from engine.choosing.cluster_costs import cost_of
from engine.cluster import Cluster, Workload
from engine.errors import BadInput, UnknownName
from engine.experiments.designed_runs import designed
from engine.experiments.known_runs import known_runs
from engine.experiments.paper_plans import (
    equal_waves,
    graded_cores,
    input_partitions,
    two_sizes,
    waves_of_first,
)
from engine.experiments.plans import (
    OWN_UNITS,
    UNITS,
    CostOfRun,
    Estimates,
    Experiment,
    ExperimentPlan,
    Grid,
    finite_or_none,
    run_costs,
    smallest_runs,
)
from engine.machines.services import PLATFORM_REMEDY, least_workers, service_of
from engine.models.base import FittedModel
from engine.models.curves.terms import ERNEST_TERMS, SERIAL_DATA, SQUARE_ROOT
from engine.notices import Notice, in_order
from engine.profile import Profile
from engine.runs.barrier_stages import decisive, not_started

_ASSUMED_LINEAR_TIME = Notice(
    "assumed-linear-time",
    "expected times assume time proportional to the data and shared evenly among the nodes",
    "give the runs made so far as SOURCE to have them predicted",
)


@dataclass(frozen=True)
class TrainingRequest:
    """Which experiments are wanted.

    Args:
        nodes, fractions: node counts and shares of the input to choose from.
        budget: in `unit`, one of `UNITS`.
        method: "ernest", "peridot" (two sizes on equal cores), "simcost" (samples of equal waves).
        terms: "ernest", or "extended" to add the further terms of `ernest-extended`.
        partitions: of the whole input; None for what the fitted model's runs tell.
        node_cores: task slots of one node; None as `partitions`.
        target_cores: for SimCost: cores that the job may get; () for five steps up to the most
            nodes.
        sample_partitions: for SimCost; None for the fewest that have the waves of all targets.
        iterations: of the real job; each run does `iteration_share` of them (Ernest 6.2).
        smallest_seconds: time of the smallest sample on one node, if no run tells.
    """

    nodes: tuple[int, ...]
    fractions: tuple[float, ...]
    budget: float | None = None
    unit: str = "smallest runs"
    method: str = "ernest"
    terms: str = "ernest"
    instances: tuple[str, ...] = ()
    partitions: int | None = None
    node_cores: int | None = None
    iterations: float | None = None
    iteration_share: float | None = None
    smallest_seconds: float | None = None
    confidence: float = 0.9
    target_cores: tuple[int, ...] = ()
    sample_partitions: int | None = None


METHODS = ("ernest", "peridot", "simcost")

TERMS = {"ernest": ERNEST_TERMS, "extended": (*ERNEST_TERMS, SQUARE_ROOT, SERIAL_DATA)}
"""Sets of terms by name; "extended" has the default terms of `ernest-extended`."""


def plan_experiments(
    request: TrainingRequest,
    *,
    fitted: FittedModel | None = None,
    workload: Workload | None = None,
    catalog: Catalog | None = None,
    costs: CostOfRun | None = None,
) -> ExperimentPlan:
    """The runs to make.

    Args:
        fitted: predicts their times; the design builds on its runs.
        costs: the cost function of the design (Ernest 3.3): a candidate run, with its expected time
            and price where these are known, -> what it costs in the unit of the budget. None for
            that of the unit.

    Raises:
        BadInput: for a request that contradicts itself, and as `designed`.
        UnknownName: for unknown terms, an unknown method, unit or type.
    """
    _check(request, costs)
    left_out: tuple[Notice, ...] = ()
    if catalog is not None:
        nodes, left_out = _startable_nodes(request.nodes, catalog)
        request = replace(request, nodes=nodes)
    plan = _Planning(request, fitted, workload, catalog, costs).plan()
    barrier = None if fitted is None else _barrier_notice(plan.runs, fitted, catalog)
    return replace(plan, notices=in_order((*plan.notices, barrier, *left_out)))


def _startable_nodes(
    nodes: tuple[int, ...], catalog: Catalog
) -> tuple[tuple[int, ...], tuple[Notice, ...]]:
    """The node counts with which the managed service starts clusters, and a notice about the
    others."""
    least = least_workers(catalog)
    allowed = tuple(count for count in nodes if count >= least)
    removed = " or ".join(str(count) for count in nodes if count < least)
    refused = f"{service_of(catalog)} starts no cluster of fewer than {least} workers"
    if nodes and not allowed:
        raise BadInput(
            refused,
            where="--nodes",
            remedy=f"allow more, or {PLATFORM_REMEDY}",
        )
    text = f"{refused}: no run on {removed} of them is planned"
    return allowed, (Notice("nodes-left-out", text, PLATFORM_REMEDY),) if removed else ()


def _barrier_notice(
    runs: Sequence[Experiment], fitted: FittedModel, catalog: Catalog | None
) -> Notice | None:
    """The warning that some runs have fewer slots than a barrier stage of the evidence had tasks.
    They stay in the plan, for a program that takes as many tasks as there are slots does run."""
    clusters = [_cluster_of(run.instance, run.nodes, catalog, cores=run.cores) for run in runs]
    batch = ClusterBatch.of(clusters, fitted.profile)
    offered = zip(batch.executors.tolist(), batch.executor_cores.tolist(), strict=True)
    stages = [not_started(fitted.barrier_stages, *executors) for executors in offered]
    blocked = [stage for stage in stages if stage is not None]
    if not blocked:
        return None
    count, stage = len(blocked), decisive(blocked)[0]
    subject = "1 run has" if count == 1 else f"{count} runs have"
    return Notice(
        "barrier-needs-slots",
        f"{subject} too few slots for {stage.label}, which ran its {stage.tasks} tasks all at once "
        "(barrier mode): unless the program takes fewer there, Spark ends the job with an error",
        "plan with more nodes, or have the program take as many tasks as there are slots",
    )


def _cluster_of(
    instance: str | None, nodes: int | None, catalog: Catalog | None, *, cores: int | None = None
) -> Cluster:
    """The cluster of a run: its nodes; executors of one core if the run is given by its cores."""
    if nodes is None:
        return Cluster.of_executors(executors=cores or 1, executor_cores=1)
    return Cluster.of_nodes(instance_type=instance, nodes=nodes, catalog=catalog)


def _check(request: TrainingRequest, costs: CostOfRun | None) -> None:
    """Raises BadInput or UnknownName as `plan_experiments`."""
    for kind, name, names in (
        ("unit of a budget", request.unit, UNITS),
        ("set of terms", request.terms, TERMS),
        ("plan", request.method, METHODS),
    ):
        if name not in names:
            raise UnknownName(kind, name, names)
    if costs is None and request.unit == OWN_UNITS:
        raise BadInput(
            f"a budget in {OWN_UNITS} needs a cost function", where="unit", remedy="give costs"
        )
    if costs is not None and request.method != "ernest":
        raise BadInput("only Ernest's design has costs", where="costs", remedy="leave them out")
    if request.method != "ernest" and len(request.instances) > 1:
        raise BadInput("this plan is for one instance type", where="instances", remedy="name one")


@dataclass(frozen=True, eq=False)
class _Planning:
    """A request, and what is known beside it: a model fitted to runs, the workload (None for that
    of the largest run), prices."""

    request: TrainingRequest
    fitted: FittedModel | None
    workload: Workload | None
    catalog: Catalog | None
    costs: CostOfRun | None

    def plan(self) -> ExperimentPlan:
        """The plan by the requested method."""
        request = self.request
        if request.method != "ernest":
            return self._with_measured_shape()._paper_plan()
        if request.budget is None:
            raise BadInput("a design needs a budget", remedy="add --budget $5, 2h, or 10")
        grid = self._grid()
        estimates = self._estimates(grid)
        return designed(
            grid,
            budget=request.budget,
            unit=request.unit,
            costs=lambda _: run_costs(grid, estimates, request.unit, self.costs, self._measured),
            estimates=estimates,
            terms=TERMS[request.terms],
            known=known_runs(self.fitted.profile, grid, self.workload) if self.fitted else None,
        )

    @property
    def _measured(self) -> Sequence[str] | None:
        """The types of the runs made so far, of those that the catalog has; None without runs."""
        if self.fitted is None:
            return None
        types = self.fitted.profile.instance_types
        return [each for each in types if self.catalog is None or each in self.catalog.offers]

    def _paper_plan(self) -> ExperimentPlan:
        """PERIDOT's or SimCost's own runs."""
        if self.request.method == "simcost":
            return self._equal_waves()
        grid = self._grid()
        if self.request.node_cores is None:
            raise BadInput("PERIDOT's plan needs the cores of a node", remedy="add --node-cores C")
        estimates = self._estimates(grid)
        return two_sizes(grid, node_cores=self.request.node_cores, estimates=estimates)

    def _grid(self) -> Grid:
        """All candidate runs."""
        request = self.request
        return Grid.of(
            nodes=request.nodes,
            fractions=request.fractions,
            instances=request.instances or (None,),
            partitions=request.partitions,
            node_cores=request.node_cores,
            iterations=self._iterations(),
        )

    def _iterations(self) -> float | None:
        """Iterations of each run: a share of the real number, at least one."""
        real = self.request.iterations or (self.workload.iterations if self.workload else None)
        if self.request.iteration_share is None:
            return real
        if real is None:
            raise BadInput(
                "a share of the iterations needs their number",
                where="--iteration-share",
                remedy="add --iterations K",
            )
        return float(max(1, round(real * self.request.iteration_share)))

    def _estimates(self, grid: Grid) -> Estimates:
        """Expected times and prices of the n experiments; without a model by the time of the
        smallest sample on one node, where the request gives it, else unknown."""
        nodes = zip(grid.type_index, grid.machines, strict=True)
        clusters = [
            _cluster_of(grid.instances[index], int(count), self.catalog) for index, count in nodes
        ]
        notices: tuple[Notice, ...] = ()
        seconds = low = high = np.full(len(grid), np.nan)
        if self.fitted is not None:
            predictions = self.fitted.predict_many(
                clusters=clusters,
                workloads=_workloads(grid, self.fitted.profile, self.workload),
                confidence=self.request.confidence,
            )
            seconds, low, high = predictions.seconds, predictions.low, predictions.high
        elif self.request.smallest_seconds is not None:
            seconds = self.request.smallest_seconds * smallest_runs(grid)
            notices = (_ASSUMED_LINEAR_TIME,)
        profile = self.fitted.profile if self.fitted is not None else Profile("experiments")
        times = zip(clusters, seconds.tolist(), strict=True)
        costs = [cost_of(cluster, value, profile) for cluster, value in times]
        prices = np.asarray([np.nan if value is None else value for value in costs])
        return Estimates(seconds, low, high, prices, notices)

    def _with_measured_shape(self) -> _Planning:
        """The planning with the input's partitions and a node's cores taken from the runs, where
        they are not given and the runs have them."""
        if self.fitted is None:
            return self
        request, profile = self.request, self.fitted.profile
        cores = request.node_cores
        if not cores and (request.instances or any(run.cluster.nodes for run in profile.runs)):
            cores = self._cluster_with_layout(1, profile).slots
        partitions = request.partitions or input_partitions(profile, self.workload)
        return replace(self, request=replace(request, node_cores=cores, partitions=partitions))

    @property
    def _instance(self) -> str | None:
        """The one type that a paper's plan is for."""
        return self.request.instances[0] if self.request.instances else None

    def _cluster_with_layout(self, nodes: int, profile: Profile) -> Cluster:
        """Nodes of that type with their executors, if the layout is known."""
        return with_shape_and_layout(_cluster_of(self._instance, nodes, self.catalog), profile)

    def _equal_waves(self) -> ExperimentPlan:
        """SimCost's samples, with expected times and prices where a model predicts them."""
        request, partitions = self.request, self.request.partitions
        if partitions is None:
            raise BadInput(
                "SimCost's plan needs the partitions of the input, which no run tells",
                remedy="add --partitions P, or an event log",
            )
        domain = partitions
        if request.node_cores is not None:
            domain = min(domain, max(request.nodes) * request.node_cores)
        target_cores = request.target_cores or graded_cores(domain)
        sample = request.sample_partitions or waves_of_first(partitions, target_cores)
        plan = equal_waves(
            target_partitions=partitions, target_cores=target_cores, sample_partitions=sample
        )
        if self.fitted is None or not request.node_cores:
            return plan
        return self._with_predictions(plan, self.fitted, request.node_cores)

    def _with_predictions(
        self, plan: ExperimentPlan, fitted: FittedModel, node_cores: int
    ) -> ExperimentPlan:
        """A plan of runs by cores, with what the model expects of each."""
        profile = fitted.profile
        clusters = [
            self._cluster_of_cores(run.cores or 1, node_cores, profile) for run in plan.runs
        ]
        planned = self.workload or profile.reference_workload
        predictions = fitted.predict_many(
            clusters=clusters,
            workloads=[planned.times(run.fraction) for run in plan.runs],
            confidence=self.request.confidence,
        )
        runs = [
            replace(
                run,
                instance=self._instance,
                seconds=finite_or_none(predictions.seconds[index]),
                low=finite_or_none(predictions.low[index]),
                high=finite_or_none(predictions.high[index]),
                usd=cost_of(clusters[index], float(predictions.seconds[index]), profile),
            )
            for index, run in enumerate(plan.runs)
        ]
        return replace(plan, runs=tuple(runs))

    def _cluster_of_cores(self, cores: int, node_cores: int, profile: Profile) -> Cluster:
        """The fewest nodes with that many cores that the service starts, on which the job gets
        exactly these: executors of one core, each with its share of the memory."""
        least = 1 if self.catalog is None else least_workers(self.catalog)
        whole = self._cluster_with_layout(max(least, math.ceil(cores / node_cores)), profile)
        memory, share = whole.executor_memory_gib, 1.0 / (whole.executor_cores or 1)
        return replace(
            whole,
            executors=cores,
            executor_cores=1,
            executor_memory_gib=None if memory is None else memory * share,
            beside=whole.beside.times(share) if whole.beside else None,
        )


def _workloads(grid: Grid, profile: Profile, workload: Workload | None) -> list[Workload]:
    """(n,) the workload of each experiment: its fraction of the whole."""
    planned = workload or profile.reference_workload
    iterations = planned.iterations if grid.iterations is None else grid.iterations
    planned = replace(planned, iterations=iterations)
    sizes = {fraction: planned.times(fraction) for fraction in np.unique(grid.fraction).tolist()}
    return [sizes[fraction] for fraction in grid.fraction.tolist()]
