"""Plans of training runs: the request, and the expected times and prices of the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.batch import ClusterBatch, complete
from engine.catalog import Catalog
from engine.choosing.rented import cost_of
from engine.cluster import Cluster, Workload
from engine.errors import BadInput, UnknownName
from engine.experiments.designed_runs import designed
from engine.experiments.known_runs import known_of
from engine.experiments.paper_plans import (
    equal_waves,
    graded_cores,
    input_partitions,
    two_sizes,
    waves_of_first,
)
from engine.experiments.plans import (
    UNITS,
    Estimates,
    Experiment,
    ExperimentPlan,
    Grid,
    finite_or_none,
    smallest_runs,
)
from engine.forecast import FloatArray
from engine.machines.services import PLATFORM_REMEDY, least_workers, service_of
from engine.models.base import FittedModel
from engine.models.curves.terms import ERNEST_TERMS, SERIAL_DATA, SQUARE_ROOT
from engine.notices import Notice, in_order
from engine.profile import Profile
from engine.runs.barrier_stages import decisive, not_started

_ASSUMED = Notice(
    "assumed-linear-time",
    "expected times assume time proportional to the data and shared evenly among the nodes",
    "give the runs made so far as SOURCE to have them predicted",
)


def estimates_of(
    grid: Grid,
    *,
    fitted: FittedModel | None = None,
    workload: Workload | None = None,
    catalog: Catalog | None = None,
    smallest_seconds: float | None = None,
    confidence: float = 0.9,
) -> Estimates:
    """Expected times and prices of n experiments; unknown without a model or `smallest_seconds`.

    Args:
        fitted: predicts them, at each fraction of `workload` (default: the profile's largest run).
        smallest_seconds: without a model, the time of the smallest sample on one node.
    """
    clusters = [_cluster(grid, place, catalog) for place in range(len(grid))]
    notices: tuple[Notice, ...] = ()
    unknown = np.full(len(grid), np.nan)
    if fitted is not None:
        workloads = _workloads(grid, fitted.profile, workload)
        found = fitted.predict_many(clusters=clusters, workloads=workloads, confidence=confidence)
        seconds, low, high = found.seconds, found.low, found.high
    elif smallest_seconds is not None:
        seconds, low, high = smallest_seconds * smallest_runs(grid), unknown, unknown
        notices = (_ASSUMED,)
    else:
        seconds, low, high = unknown, unknown, unknown
    profile = fitted.profile if fitted is not None else Profile("experiments")
    usd = [
        cost_of(cluster, float(value), profile)
        for cluster, value in zip(clusters, seconds, strict=True)
    ]
    prices = np.asarray([np.nan if value is None else value for value in usd])
    return Estimates(seconds, low, high, prices, notices)


def _cluster(grid: Grid, place: int, catalog: Catalog | None) -> Cluster:
    return Cluster.of_nodes(
        instance_type=grid.instances[grid.type_index[place]],
        nodes=int(grid.machines[place]),
        catalog=catalog,
    )


def _workloads(grid: Grid, profile: Profile, workload: Workload | None) -> list[Workload]:
    whole = workload or profile.reference_workload
    iterations = whole.iterations if grid.iterations is None else grid.iterations
    whole = replace(whole, iterations=iterations)
    sizes = {fraction: whole.times(fraction) for fraction in np.unique(grid.fraction).tolist()}
    return [sizes[fraction] for fraction in grid.fraction.tolist()]


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
) -> ExperimentPlan:
    """The runs to make.

    Args:
        fitted: predicts their times; the design builds on its runs.

    Raises:
        BadInput: for a request that contradicts itself, and as `designed`.
        UnknownName: for unknown terms, an unknown method, unit or type.
    """
    _check(request)
    left_out: tuple[Notice, ...] = ()
    if catalog is not None:
        nodes, left_out = _started(request.nodes, catalog)
        request = replace(request, nodes=nodes)
    plan = _planned(request, fitted, workload, catalog)
    stuck = None if fitted is None else _not_started(plan.runs, fitted, catalog)
    return replace(plan, notices=in_order((*plan.notices, stuck, *left_out)))


def _started(
    nodes: tuple[int, ...], catalog: Catalog
) -> tuple[tuple[int, ...], tuple[Notice, ...]]:
    """The node counts of which the service of a catalog starts clusters, and a note on others."""
    least = least_workers(catalog)
    found = tuple(count for count in nodes if count >= least)
    gone = " or ".join(str(count) for count in nodes if count < least)
    refused = f"{service_of(catalog)} starts no cluster of fewer than {least} workers"
    if nodes and not found:
        raise BadInput(
            refused,
            where="--nodes",
            remedy=f"allow more, or {PLATFORM_REMEDY}",
        )
    told = f"{refused}: no run on {gone} of them is planned"
    return found, (Notice("nodes-left-out", told, PLATFORM_REMEDY),) if gone else ()


def _planned(
    request: TrainingRequest,
    fitted: FittedModel | None,
    workload: Workload | None,
    catalog: Catalog | None,
) -> ExperimentPlan:
    """The plan by the requested method."""
    if request.method != "ernest":
        request = _of_the_runs(request, fitted, workload, catalog)
    if request.method == "simcost":
        return _equal_waves(request, fitted, workload, catalog)
    grid = _grid(request, workload)
    estimates = estimates_of(
        grid,
        fitted=fitted,
        workload=workload,
        catalog=catalog,
        smallest_seconds=request.smallest_seconds,
        confidence=request.confidence,
    )
    if request.method == "peridot":
        if request.node_cores is None:
            raise BadInput("PERIDOT's plan needs the cores of a node", remedy="add --node-cores C")
        return two_sizes(grid, node_cores=request.node_cores, estimates=estimates)
    if request.budget is None:
        raise BadInput("a design needs a budget", remedy="add --budget $5, 2h, or 10")
    return designed(
        grid,
        budget=request.budget,
        unit=request.unit,
        costs=lambda _: _costs(grid, estimates, request.unit),
        estimates=estimates,
        terms=TERMS[request.terms],
        known=None if fitted is None else known_of(fitted.profile, grid, workload),
    )


def _not_started(
    runs: Sequence[Experiment], fitted: FittedModel, catalog: Catalog | None
) -> Notice | None:
    """The warning that some runs have fewer slots than a barrier stage of the evidence had tasks.
    They stay in the plan, for a program that takes as many tasks as there are slots does run."""
    batch = ClusterBatch.of([_cluster_of(run, catalog) for run in runs], fitted.profile)
    offered = zip(batch.executors.tolist(), batch.executor_cores.tolist(), strict=True)
    found = [not_started(fitted.barrier_stages, *executors) for executors in offered]
    stuck = [stage for stage in found if stage is not None]
    if not stuck:
        return None
    few, stage = len(stuck), decisive(stuck)[0]
    have = "1 run has" if few == 1 else f"{few} runs have"
    return Notice(
        "barrier-needs-slots",
        f"{have} too few slots for {stage.label}, which ran its {stage.tasks} tasks all at once "
        "(barrier mode): unless the program takes fewer there, Spark ends the job with an error",
        "plan with more nodes, or have the program take as many tasks as there are slots",
    )


def _cluster_of(run: Experiment, catalog: Catalog | None) -> Cluster:
    """The cluster of a run; executors of one core if the run is given by its cores."""
    if run.nodes is None:
        return Cluster.of_executors(executors=run.cores or 1, executor_cores=1)
    return Cluster.of_nodes(instance_type=run.instance, nodes=run.nodes, catalog=catalog)


def _check(request: TrainingRequest) -> None:
    """Raises BadInput or UnknownName as `plan_experiments`."""
    for kind, name, names in (
        ("unit of a budget", request.unit, UNITS),
        ("set of terms", request.terms, TERMS),
        ("plan", request.method, METHODS),
    ):
        if name not in names:
            raise UnknownName(kind, name, names)
    if request.method != "ernest" and len(request.instances) > 1:
        raise BadInput("this plan is for one instance type", where="instances", remedy="name one")


def _grid(request: TrainingRequest, workload: Workload | None) -> Grid:
    """All runs that could be made."""
    return Grid.of(
        nodes=request.nodes,
        fractions=request.fractions,
        instances=request.instances or (None,),
        partitions=request.partitions,
        node_cores=request.node_cores,
        iterations=_iterations(request, workload),
    )


def _of_the_runs(
    request: TrainingRequest,
    fitted: FittedModel | None,
    workload: Workload | None,
    catalog: Catalog | None,
) -> TrainingRequest:
    """The request with the input's partitions and a node's cores filled in, if the runs tell."""
    if fitted is None:
        return request
    cores = request.node_cores or _node_cores(request, fitted, catalog)
    partitions = request.partitions or input_partitions(fitted.profile, workload)
    return replace(request, node_cores=cores, partitions=partitions)


def _node_cores(
    request: TrainingRequest, fitted: FittedModel, catalog: Catalog | None
) -> int | None:
    """Task slots of a node; None if neither a type nor a run on nodes tells them."""
    known = request.instances or any(run.cluster.nodes for run in fitted.profile.runs)
    return _node(request, fitted, catalog).slots if known else None


def _node(
    request: TrainingRequest, fitted: FittedModel, catalog: Catalog | None, nodes: int = 1
) -> Cluster:
    """Nodes of the first type, with the executors on them if known."""
    instance = request.instances[0] if request.instances else None
    cluster = Cluster.of_nodes(instance_type=instance, nodes=nodes, catalog=catalog)
    return complete(cluster, fitted.profile)


def _equal_waves(
    request: TrainingRequest,
    fitted: FittedModel | None,
    workload: Workload | None,
    catalog: Catalog | None,
) -> ExperimentPlan:
    """SimCost's samples, with expected times and prices where a model tells them."""
    partitions = request.partitions
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
    if fitted is None or not request.node_cores:
        return plan
    clusters = [_part_of_nodes(run.cores or 1, request, fitted, catalog) for run in plan.runs]
    whole = workload or fitted.profile.reference_workload
    shares = [whole.times(run.fraction) for run in plan.runs]
    found = fitted.predict_many(clusters=clusters, workloads=shares, confidence=request.confidence)
    instance = request.instances[0] if request.instances else None
    runs = [
        replace(
            run,
            instance=instance,
            seconds=finite_or_none(found.seconds[place]),
            low=finite_or_none(found.low[place]),
            high=finite_or_none(found.high[place]),
            usd=cost_of(clusters[place], float(found.seconds[place]), fitted.profile),
        )
        for place, run in enumerate(plan.runs)
    ]
    return replace(plan, runs=tuple(runs))


def _part_of_nodes(
    cores: int, request: TrainingRequest, fitted: FittedModel, catalog: Catalog | None
) -> Cluster:
    """The fewest nodes with that many cores that the service starts, on which the job gets exactly
    these: executors of one core, each with its share of the memory."""
    least = 1 if catalog is None else least_workers(catalog)
    nodes = max(least, math.ceil(cores / (request.node_cores or 1)))
    whole = _node(request, fitted, catalog, nodes)
    memory, share = whole.executor_memory_gib, 1.0 / (whole.executor_cores or 1)
    return replace(
        whole,
        executors=cores,
        executor_cores=1,
        executor_memory_gib=None if memory is None else memory * share,
        beside=whole.beside.times(share) if whole.beside else None,
    )


def _iterations(request: TrainingRequest, workload: Workload | None) -> float | None:
    """Iterations of each run: a share of the real number, at least one."""
    real = request.iterations or (workload.iterations if workload else None)
    if request.iteration_share is None:
        return real
    if real is None:
        raise BadInput(
            "a share of the iterations needs their number",
            where="--iteration-share",
            remedy="add --iterations K",
        )
    return float(max(1, round(real * request.iteration_share)))


def _costs(grid: Grid, estimates: Estimates, unit: str) -> FloatArray:
    """(n,) what each experiment costs in the budget's unit."""
    if unit == "smallest runs":
        return smallest_runs(grid)
    costs = estimates.usd if unit == "usd" else estimates.seconds
    if not np.isfinite(costs).all():
        raise BadInput(
            "a budget in money needs a price and an expected time of every run"
            if unit == "usd"
            else "a budget in time needs an expected time of every run",
            where="--budget",
            remedy="give the runs made so far as SOURCE, or --smallest-run T"
            + (" and --instances TYPE" if unit == "usd" else ""),
        )
    return costs
