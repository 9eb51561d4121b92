"""List scheduling: the tasks of one stage on slots that fall free at different times.

Two forms with the same arguments and results: `list_schedule` schedules one task after the other
from a heap; `list_schedule_fast` skips the bulk of many tasks (`_after_bulk`) or schedules batches
(`_place_batches`), within 1 %.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from engine.forecast import FloatArray

FEW_TASKS = 300
"""Stages of up to so many tasks are always scheduled one by one."""

HEAP_TASKS = 3000
"""Up to so many tasks a heap is faster than batches."""

BULK_TO_TAIL = 4
"""The bulk is only skipped if it has so many times the tasks of the tail: the error of the tail is
then a small part of the whole."""

TAIL_WAVES = 6
"""Waves at the end of a stage that are always scheduled task by task, or in small batches."""

TAIL_OF_LONGEST = 1.5
"""The tail also lasts so many times the longest task: what ran at its start has ended by then."""

FEWEST_BATCHES = 2
MOST_BATCHES = 16
BATCHED_WAVES = 32
"""Batches per wave times number of waves, within these limits: the error, a share of a task's time,
matters less the more waves there are."""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def list_schedule(
    seconds: FloatArray, free: FloatArray, ready: float, until: float = math.inf
) -> tuple[FloatArray, int, float]:
    """List scheduling of a stage's tasks, in their order, each on the slot that is free first.

    Args:
        seconds: (n,) durations.
        free: (m,) when each slot falls free.
        ready: no task starts before.
        until: no task starts at or after this; the rest is left.

    Returns:
        (m,) new free times in no particular order, how many tasks were placed, and when the last of
        them ends (`ready` when none was placed).
    """
    heap = np.maximum(free, ready).tolist()
    heapq.heapify(heap)
    replace, ends = heapq.heapreplace, []
    for duration in seconds.tolist():
        first = heap[0]
        if first >= until:
            break
        finish = first + duration
        replace(heap, finish)
        ends.append(finish)
    return np.asarray(heap), len(ends), max(ends, default=ready)


def list_schedule_fast(
    seconds: FloatArray, free: FloatArray, ready: float, until: float = math.inf
) -> tuple[FloatArray, int, float]:
    """`list_schedule` for many tasks: the same arguments and results, within 1 % (see the
    module)."""
    open_slots = np.maximum(free, ready)
    if not len(seconds):
        return open_slots, 0, ready
    started = _start_at_once(seconds, open_slots, ready, until)
    if started is not None:
        return started
    if len(seconds) <= FEW_TASKS:
        return list_schedule(seconds, free, ready, until)
    bulk = _bulk_tasks(seconds, open_slots, until)
    if bulk:
        open_slots = _after_bulk(seconds[:bulk], open_slots)
    rest = seconds[bulk:]
    method = list_schedule if len(rest) <= HEAP_TASKS else _place_batches
    open_slots, placed, end = method(rest, open_slots, ready, until)
    return open_slots, bulk + placed, max(end, float(seconds[:bulk].max(initial=0.0)) + ready)


def _start_at_once(
    seconds: FloatArray, open_slots: FloatArray, ready: float, until: float
) -> tuple[FloatArray, int, float] | None:
    """All tasks start when the stage is ready, if so many slots are idle; else None."""
    if len(seconds) > len(open_slots) or ready >= until:
        return None
    idle = np.flatnonzero(open_slots <= ready)
    if len(idle) < len(seconds):
        return None
    open_slots[idle[: len(seconds)]] = ready + seconds
    return open_slots, len(seconds), ready + float(seconds.max())


def _bulk_tasks(seconds: FloatArray, open_slots: FloatArray, until: float) -> int:
    """How many of the first tasks can be skipped: all but a tail (`TAIL_WAVES`, `TAIL_OF_LONGEST`),
    and none that would start near `until`. 0 if that saves little."""
    n, m = len(seconds), len(open_slots)
    mean, longest = float(seconds.mean()), float(seconds.max())
    if mean <= 0.0 or m == 0:
        return 0
    tail = max(TAIL_WAVES, math.ceil(TAIL_OF_LONGEST * longest / mean)) * m
    bulk = n - tail
    if math.isfinite(until):
        room = (until - 2.0 * longest) * m - float(open_slots.sum())
        bulk = min(bulk, int(np.searchsorted(np.cumsum(seconds), room)))
    spread = float(open_slots.max() - open_slots.min()) * m
    return bulk if bulk > BULK_TO_TAIL * tail and bulk * mean > 2.0 * spread else 0


def _after_bulk(seconds: FloatArray, open_slots: FloatArray) -> FloatArray:
    """(m,) free times after a bulk of tasks during which no slot was idle.

    Their mean follows from the work alone. Their spread is that of the residual times of running
    tasks at any moment (the stationary residual life of a renewal process): a task is running with
    probability in proportion to its length, and the share of it that is done is uniform.
    """
    m = len(open_slots)
    ordered = np.sort(seconds)
    share = np.cumsum(ordered)
    running = ordered[
        np.minimum(np.searchsorted(share, share[-1] * (np.arange(m) + 0.5) / m), len(ordered) - 1)
    ]
    left = running * ((np.arange(m) + 1) * _GOLDEN % 1.0)
    level = (float(open_slots.sum()) + float(share[-1])) / m
    return np.asarray(level + left - left.mean())


def _place_batches(
    seconds: FloatArray, free: FloatArray, ready: float, until: float
) -> tuple[FloatArray, int, float]:
    """`list_schedule` in batches of tasks on the slots that fall free first.

    A batch is exact while none of its tasks ends before the last slot of the batch falls free. A
    batch has at least a share of a wave (`BATCHED_WAVES`). No slot idles either way, so a batch
    that is too large only changes which task runs on which slot.
    """
    open_slots = np.sort(np.maximum(free, ready))
    m, n = len(open_slots), len(seconds)
    batches = min(max(FEWEST_BATCHES, BATCHED_WAVES * m // n), MOST_BATCHES)
    end, placed = ready, 0
    while placed < n:
        available = int(np.searchsorted(open_slots, until)) if math.isfinite(until) else m
        size = min(available, n - placed)
        if size == 0:
            break
        finish = open_slots[:size] + seconds[placed : placed + size]
        late = open_slots[1:size] > np.minimum.accumulate(finish)[:-1]
        exact = int(late.argmax()) + 1 if late.any() else size
        size = min(size, max(exact, m // batches, 1))
        finish = np.sort(finish[:size])
        end = max(end, float(finish[-1]))
        # Two sorted runs, which a stable sort merges.
        open_slots = np.sort(np.concatenate((open_slots[size:], finish)), kind="stable")
        placed += size
    return open_slots, placed, end


def makespan(seconds: FloatArray, slots: int) -> float:
    """Makespan of n tasks on idle slots, in seconds (fast form)."""
    n = len(seconds)
    if n == 0:
        return 0.0
    if n <= slots:
        return float(seconds.max())
    if slots == 1:
        return float(seconds.sum())
    return list_schedule_fast(seconds, np.zeros(slots), 0.0)[2]


def makespan_of(seconds: list[float], slots: int) -> float:
    """`makespan` of at most some thousand tasks, one by one; all slots are idle at first."""
    heap, replace = seconds[:slots], heapq.heapreplace
    heapq.heapify(heap)
    for duration in seconds[slots:]:
        replace(heap, heap[0] + duration)
    return max(heap, default=0.0)
