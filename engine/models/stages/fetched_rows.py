"""Infers the driver time that goes to fetched rows (`collect`, `toPandas`) and grows with the
input.

Between two jobs the driver plans, commits files, waits, and processes the rows that it fetched. A
log does not say which, but it says how many bytes of rows the tasks sent: after 25 MB of them, ten
seconds without a job are hardly a commit.

In: a run, its graph and the models of its stages. Out: the growing share of each gap between jobs.
Explained in docs/models/sparkplan_rules_replay.md#driver-time-and-speed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.models.stages.application_graph import ApplicationGraph
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.partitions import Growth
from engine.models.stages.pauses import least_pause_seconds
from engine.models.stages.set_up import (
    BYTES_PER_SECOND,
    LOG_SCALE_OF_RATES,
    SHARES,
    posterior_of_shares,
)
from engine.profile import Run

TYPICAL_SECONDS, LOG_SCALE = 0.2, 1.25
"""Log-normal prior of the fixed part, median and scale. It is that of the median gaps of 29 logs of
Spark (0.18 s and 1.27), nearly all of which fetch no rows. The other part has the prior of
`set_up`."""

MAX_FACTOR_ON_PRIOR = math.exp(2.0 * LOG_SCALE_OF_RATES)
"""A gap as long as a pause does not count as one if the rows may take so long: up to this factor on
their prior median (two standard deviations)."""

LEAST_SHARE = 0.05
"""Smaller shares are neglected."""

FIXED_SIZE_RESULTS = (
    "aggregate at ", "fold at ", "reduce at ", "treeAggregate at ", "treeReduce at ",
    "top at ", "takeOrdered at ",
)  # fmt: skip
"""Prefixes of the names of stages whose tasks send one value each, or the first few rows, whatever
their data: a gradient of MLlib has as many numbers for a hundred times the rows."""

TAKE_ORDERED = "TakeOrderedAndProject"
"""Plan node whose tasks each send their first rows (`orderBy`, then `limit`)."""


@dataclass(frozen=True, slots=True)
class FetchedRowsShare:
    """Share of the driver time before a job that went to fetched rows: its posterior mean, and the
    ends of its 90 % interval."""

    mean: float
    low: float
    high: float


def fetched_rows_shares(
    run: Run, graph: ApplicationGraph, models: Sequence[StageModel]
) -> Mapping[int, FetchedRowsShare]:
    """By index of a node of the run's graph, the share of the driver time before it that goes to
    rows fetched of its predecessors. Nodes of a negligible share are left out."""
    fetched_by_node, stage_nodes, shares = fetched_before(graph, models), set(graph.stage_nodes), {}
    for index, stages in fetched_by_node.items():
        node, sent_bytes = graph.nodes[index], sum(size for _, size in stages)
        data_seconds = sent_bytes / BYTES_PER_SECOND
        longest = max(least_pause_seconds(run), MAX_FACTOR_ON_PRIOR * data_seconds)
        if not 0.0 < node.delay_seconds < longest or index in stage_nodes:
            continue
        density = posterior_of_shares(
            node.delay_seconds, data_seconds, typical_seconds=TYPICAL_SECONDS, log_scale=LOG_SCALE
        )
        mean = float(density @ SHARES)
        if mean >= LEAST_SHARE:
            low, high = np.interp((0.05, 0.95), np.cumsum(density), SHARES)
            shares[index] = FetchedRowsShare(mean, float(low), float(high))
    return shares


def growing_share(rows_share: float, *, mean_rows_share: float, excess: float) -> float:
    """Share of a gap between jobs that grows with the input, corrected by what several logs show.

    If the growing share is larger, the remainders of all gaps grow by the same share; if it is
    smaller, the shares of rows are all reduced by the same factor.

    Args:
        rows_share: share of this gap that goes to rows.
        mean_rows_share: the same of all gaps together.
        excess: growing share of all gaps less `mean_rows_share`.
    """
    if excess < 0.0:
        return rows_share * max(0.0, 1.0 + excess / mean_rows_share)
    return rows_share + (1.0 - rows_share) * min(1.0, excess / (1.0 - mean_rows_share))


FetchedRows = Sequence[tuple[StageModel, float]]
"""Stages that sent rows to the program, and the bytes of each."""


def fetched_before(
    graph: ApplicationGraph, models: Sequence[StageModel]
) -> Mapping[int, FetchedRows]:
    """By index of a node of the graph, its predecessors that sent rows to the program and send more
    with more data (`result_grows`). Tables that are broadcast do not count."""
    broadcast = {maker for model in models for maker in model.stage.joined_broadcasts}
    sent_by_node = {
        node: (model, model.stage.fetched_bytes)
        for node, model in zip(graph.stage_nodes, models, strict=True)
        if model.stage.fetched_bytes
        and result_grows(model)
        and model.stage.stage_id not in broadcast
        and not any(name.startswith("BroadcastExchange") for name in model.stage.operations)
    }
    fetched = {
        index: [sent_by_node[before] for before in node.after if before in sent_by_node]
        for index, node in enumerate(graph.nodes)
    }
    return {index: stages for index, stages in fetched.items() if stages}


def fetched_bytes_growth(fetched: FetchedRows, ratio: float) -> float:
    """Growth of the bytes that stages send to the program, at `ratio` times the input: in
    proportion to what each reads."""
    sent_bytes = sum(size for _, size in fetched)
    return sum(size * model.data_growth(ratio) for model, size in fetched) / sent_bytes


def result_grows(model: StageModel) -> bool:
    """Whether what a stage sends to the driver grows with the input. Rows that the program makes,
    the first few rows, and values that tasks have aggregated do not."""
    stage = model.stage
    if model.growth is Growth.NONE or stage.in_part or TAKE_ORDERED in stage.operations:
        return False
    return not stage.name.startswith(FIXED_SIZE_RESULTS)
