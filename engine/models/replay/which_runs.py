"""Which runs of a profile are replayed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.profile import Run, completed_runs, settled

MOST_REPLAYS = 8
"""Logs that are replayed; of more (micro-batches) a spread over the sizes is taken."""

PER_REPLAY = 3
"""Then each stands for at least so many: the median leaves out a first, cold micro-batch."""


def replayable(logs: Sequence[Run]) -> list[Run]:
    """Of logs with the same job parameters the whole ones, if there are any, and those that say
    their size, where some do; first micro-batches only where no other can stand for them."""
    runs = completed_runs(logs)
    sized = [run for run in runs if run.workload.input_bytes] or runs
    return sized if len(sized) > MOST_REPLAYS else settled(sized)


def representatives(runs: Sequence[Run]) -> list[Run]:
    """The runs to replay: of more than `MOST_REPLAYS` a spread over slots and sizes, from each
    place the one of median time."""
    if len(runs) <= MOST_REPLAYS:
        return list(runs)
    return spread_runs(runs, min(MOST_REPLAYS, len(runs) // PER_REPLAY))


def spread_runs(runs: Sequence[Run], count: int) -> list[Run]:
    """So many of some runs, spread over slots and sizes: of neighbours that of median time."""
    ordered = sorted(
        runs, key=lambda r: (r.cluster.slots or 0, r.workload.input_bytes or 0.0, r.seconds)
    )
    parts = np.array_split(np.arange(len(ordered)), count)
    return [
        sorted((ordered[i] for i in part), key=lambda run: run.seconds)[len(part) // 2]
        for part in parts
    ]
