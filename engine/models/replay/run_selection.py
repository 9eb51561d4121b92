"""Selection of the runs of a profile that are replayed.

In: the runs of a profile. Out: the representative ones. Explained in
docs/models/sparkplan_rules_logs.md#several-logs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.profile import Run, completed_runs, settled

MOST_REPLAYS = 8
"""Maximum number of logs that are replayed; of more (micro-batches) representatives are taken,
spread over slots and sizes."""

PER_REPLAY = 3
"""Minimum number of runs per representative: their median leaves out a first, cold micro-batch."""


def replayable_runs(logs: Sequence[Run]) -> list[Run]:
    """The usable ones of logs with the same job parameters: complete ones if there are any, then
    those with a known input size if there are any; first micro-batches only if there are no others.
    """
    runs = completed_runs(logs)
    sized = [run for run in runs if run.workload.input_bytes] or runs
    return sized if len(sized) > MOST_REPLAYS else settled(sized)


def representative_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs to replay: all up to `MOST_REPLAYS`; of more, ordered by slots and size and divided
    into groups, the one of median time from each group."""
    if len(runs) <= MOST_REPLAYS:
        return list(runs)
    return spread_runs(runs, min(MOST_REPLAYS, len(runs) // PER_REPLAY))


def spread_runs(runs: Sequence[Run], count: int) -> list[Run]:
    """`count` of the runs, spread over slots and sizes: the one of median time from each group of
    neighbours."""
    ordered = sorted(
        runs, key=lambda r: (r.cluster.slots or 0, r.workload.input_bytes or 0.0, r.seconds)
    )
    parts = np.array_split(np.arange(len(ordered)), count)
    return [
        sorted((ordered[i] for i in part), key=lambda run: run.seconds)[len(part) // 2]
        for part in parts
    ]
