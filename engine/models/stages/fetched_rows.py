"""What the driver does with rows that it fetched: with more data it fetches more of them.

Between two jobs the driver plans, commits files, waits, and works on what `collect` or `toPandas`
brought it. A log does not say which, but how many bytes of rows tasks sent: after 25 MB of them,
ten seconds without a job are hardly a commit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.models.stages.application_graph import ApplicationGraph
from engine.models.stages.cutting.partitions import Growth
from engine.models.stages.durations.task_times import StageShape
from engine.models.stages.pauses import idle_seconds
from engine.models.stages.set_up import (
    BYTES_PER_SECOND,
    LOG_SCALE_OF_RATES,
    SHARES,
    posterior_of_shares,
)
from engine.profile import Run

TYPICAL_SECONDS, LOG_SCALE = 0.2, 1.25
"""Prior of the part that is fixed: a log-normal, as the medians of 29 logs of Spark are (0.18 s and
1.27), nearly all of which fetch no rows. The other part has the prior of `set_up`."""

MOST_OF_PRIOR = math.exp(2.0 * LOG_SCALE_OF_RATES)
"""A gap as long as a pause is none where rows may take so long: up to so many times what their
prior expects (two standard deviations)."""

LEAST_SHARE = 0.05
"""What is less than this leaves nothing to foretell."""

OF_FIXED_SIZE = (
    "aggregate at ", "fold at ", "reduce at ", "treeAggregate at ", "treeReduce at ",
    "top at ", "takeOrdered at ",
)  # fmt: skip
"""How stages are named whose tasks send a value each, or the first few rows, whatever their data:
a gradient of MLlib has as many numbers from a hundred times the rows."""

FIRST_IN_ORDER = "TakeOrderedAndProject"
"""Node of a plan of which each task sends the first rows of its own (`orderBy`, then `limit`)."""


@dataclass(frozen=True, slots=True)
class OnRows:
    """Share of the driver's time before a job that went to rows: its posterior mean, and between
    which two it lies nine times in ten."""

    mean: float
    low: float
    high: float


def time_on_rows(
    run: Run, graph: ApplicationGraph, shapes: Sequence[StageShape]
) -> Mapping[int, OnRows]:
    """By node of a run's graph the share of the driver's time before it that goes to rows which the
    jobs before it fetched (`rows_by_stage`); without those where that is nearly nothing."""
    rows, waits, found = rows_by_stage(shapes), set(graph.stage_nodes), {}
    numbers = dict(zip(graph.stage_nodes, (stage.stage_id for stage in run.stages), strict=True))
    for place, node in enumerate(graph.nodes):
        sent = sum(rows.get(numbers[one], 0.0) for one in node.after if one in numbers)
        on_data = sent / BYTES_PER_SECOND
        longest = max(idle_seconds(run), MOST_OF_PRIOR * on_data)
        if sent <= 0.0 or not 0.0 < node.delay_seconds < longest or place in waits:
            continue
        density = posterior_of_shares(
            node.delay_seconds,
            on_data,
            typical_seconds=TYPICAL_SECONDS,
            log_scale=LOG_SCALE,
        )
        mean = float(density @ SHARES)
        if mean >= LEAST_SHARE:
            low, high = np.interp((0.05, 0.95), np.cumsum(density), SHARES)
            found[place] = OnRows(mean, float(low), float(high))
    return found


def growing_share(on_rows: float, *, of_all: float, more: float) -> float:
    """Share of one gap that grows with the input, where of all gaps together `more` grows than the
    `of_all` that rows tell: what rows do not take grows alike, or what they take alike less."""
    if more < 0.0:
        return on_rows * max(0.0, 1.0 + more / of_all)
    return on_rows + (1.0 - on_rows) * min(1.0, more / (1.0 - of_all))


def rows_by_stage(shapes: Sequence[StageShape]) -> Mapping[int, float]:
    """By number of a stage the bytes of rows that it sent to the program, where more data makes
    them more (`sends_more`). Tables that are broadcast are not the program's."""
    sent_on = {maker for shape in shapes for maker in shape.stage.joined_broadcasts}
    return {
        shape.stage.stage_id: shape.stage.fetched_bytes
        for shape in shapes
        if shape.stage.fetched_bytes
        and sends_more(shape)
        and shape.stage.stage_id not in sent_on
        and not any(name.startswith("BroadcastExchange") for name in shape.stage.operations)
    }


def sends_more(shape: StageShape) -> bool:
    """Whether what a stage sends the driver becomes more with the input: what the program made
    itself, the first few rows and values that tasks have merged stay as many."""
    stage = shape.stage
    if shape.growth is Growth.NONE or stage.in_part or FIRST_IN_ORDER in stage.operations:
        return False
    return not stage.name.startswith(OF_FIXED_SIZE)
