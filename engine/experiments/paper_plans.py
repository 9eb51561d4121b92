"""The training runs of two papers: PERIDOT's two sizes and SimCost's samples of equal waves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.cluster import Workload
from engine.errors import BadInput
from engine.experiments.plans import (
    Estimates,
    Experiment,
    ExperimentPlan,
    Grid,
    experiment_at,
    unknown_estimates,
)
from engine.models.replay.priors import size_ratio
from engine.models.simcost.search import GRADING_DEGREE
from engine.models.stages.stage_models import stage_models
from engine.models.workloads import with_defaults
from engine.profile import Profile
from engine.units import format_count


def two_sizes(grid: Grid, *, node_cores: int, estimates: Estimates | None = None) -> ExperimentPlan:
    """PERIDOT's reference executions (IV-A, V): two small inputs on the same cores, the second
    twice the first where the grid has that.

    The node count is the smallest. The first size is the smallest that fills every core once, so
    that a wave time can be read off it (Eq. 2).

    Raises:
        BadInput: when the grid has no two sizes at one node count.
    """
    nodes = grid.machines.min()
    indices = np.flatnonzero((grid.machines == nodes) & (grid.type_index == grid.type_index[0]))
    indices = indices[np.argsort(grid.fraction[indices])]
    if grid.partitions is not None:
        tasks = np.round(grid.fraction[indices] * grid.partitions)
        fills = tasks >= nodes * node_cores
        # Whole partitions are sampled: sizes of as many are one size.
        _, first_of_each = np.unique(tasks[fills], return_index=True)
        indices = indices[fills][first_of_each]
    if len(indices) < 2:
        raise BadInput(
            "PERIDOT's plan needs two sizes that fill the same cores",
            remedy="allow more or larger fractions",
        )
    first = int(indices[0])
    ratio = np.log(grid.fraction[indices[1:]] / grid.fraction[first])
    second = int(indices[1:][np.argmin(np.abs(ratio - math.log(2.0)))])
    shown_estimates = estimates or unknown_estimates(grid)
    lessons = (
        "wave time and tasks of every stage group",
        "which groups grow with the input, and which are fixed",
    )
    runs = [
        replace(
            experiment_at(grid, index, shown_estimates, None, lesson),
            cores=round(float(nodes) * node_cores),
        )
        for index, lesson in zip((first, second), lessons, strict=True)
    ]
    return ExperimentPlan(
        "peridot", tuple(runs), candidates=len(grid), notices=shown_estimates.notices
    )


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
        matching = [v for v in range(1, sample_partitions + 1)
                   if math.ceil(sample_partitions / v) == waves]  # fmt: skip
        if matching:
            sampled = int(matching[np.argmin(np.abs(np.asarray(matching) - nearest))])
            runs.append(
                Experiment(
                    nodes=None,
                    fraction=sample_partitions / target_partitions,
                    partitions=sample_partitions,
                    cores=sampled,
                    teaches=f"{format_count(waves, 'wave')}, as the whole on {cores} cores",
                )
            )
    if not runs:
        raise BadInput(
            f"{format_count(sample_partitions, 'partition')} cannot have as many waves as "
            f"{target_partitions} on any of these cores",
            where="--sample-partitions",
            remedy="sample more partitions",
        )
    return ExperimentPlan("simcost", tuple(runs), candidates=len(target_cores))


def graded_cores(domain: int) -> tuple[int, ...]:
    """SimCost's first round (4.3, 5.3): up to `domain` cores in so many equal steps, (30, 60, 90,
    120, 150) of 150. A sample of `waves_of_first` partitions then has the waves of each of them on
    1, 2, ... cores: ceil(ceil(x) / i) = ceil(x / i)."""
    step = max(1, domain // GRADING_DEGREE)
    return tuple(range(step, min(domain, step * GRADING_DEGREE) + 1, step))


def waves_of_first(partitions: int, target_cores: Sequence[int]) -> int:
    """The smallest sample, in partitions, with the waves of the smallest target on one core."""
    return math.ceil(partitions / min(target_cores))


def input_partitions(profile: Profile, workload: Workload | None = None) -> int | None:
    """Partitions of a workload's input: tasks of the stage that reads most from outside, as they
    grow with the input. None if no log has any."""
    run = profile.largest_run
    if run is None or not run.cluster.slots:
        return None
    most_bytes, index = max(
        ((s.outside_bytes, p) for p, s in enumerate(run.stages)), default=(0.0, 0)
    )
    if most_bytes <= 0.0:
        return None
    stage_model = stage_models(run, run.cluster.slots)[index]
    ratio = 1.0 if workload is None else size_ratio(with_defaults(workload, profile), run)
    return max(1, stage_model.scaled(ratio, None).tasks)
