"""What the logs behind a prediction have to be warned of: lost work, late executors, inferred
sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.log_notices import self_error_notice, single_run_notice
from engine.models.replay.alternatives import group_growth_uncertain
from engine.models.replay.censored_tasks import partial_stages_notice
from engine.models.replay.memory.memory_report import unstored_notice
from engine.models.replay.replayed_run import Replay
from engine.models.stages.disturbance import disturbance_notices
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.pauses import pause_notice
from engine.models.stages.slots_over_time import missing_seconds
from engine.notices import Notice, in_order
from engine.profile import Run
from engine.runs.stage_labels import numbered_label
from engine.units import (
    format_bytes,
    format_count,
    format_number,
    format_seconds,
    format_share,
)

NOTICE_WASTE_SHARE = 0.02
"""Share of the task time done in vain from which on it is reported."""

NOTICE_SCAN_SHARE = 0.05
"""Share of the task time that a scan of files of unknown size has, from which on it is said."""

NOTICE_GROUPS_SHARE = 0.1
"""Share of the task time that groups which do not grow with the input make, or save, from which on
it is said."""


def waste_spread(replays: Sequence[Replay]) -> float:
    """Spread of log time that work done in vain brings: it comes by chance, so that its share is no
    surer than the number of lost attempts makes it (Poisson)."""
    lost = sum(replay.run.seconds * _lost_share(replay) for replay in replays)
    events = sum(
        stage.waste.failed_tasks
        + stage.waste.killed_tasks
        + stage.waste.retried_stages
        + stage.recomputed
        for replay in replays
        for stage in replay.run.stages
    )
    total = sum(replay.run.seconds for replay in replays)
    return lost / total * max(LEAST_CHANCE, 1.0 / math.sqrt(events)) if events else 0.0


LEAST_CHANCE = 0.5
"""Lost attempts come in heaps (a node goes, a stage is tried again): their share is at least so
unsure."""


def _lost_share(replay: Replay) -> float:
    """Work in vain that lengthened stages, or made one of its own, as a share of all task time: of
    what is expected again."""
    work = np.asarray([model.stage.task_seconds.total for model in replay.models])
    again = np.asarray([model.stage.recomputed for model in replay.models])
    again[list(replay.recomputed_stages)] = False
    total = float(work.sum())
    return float(work @ np.where(again, 1.0, replay.waste)) / total if total > 0.0 else 0.0


def fit_notices(replays: Sequence[Replay], own: FloatArray) -> tuple[Notice, ...]:
    """What is to be said of some logs, whatever they are asked.

    Args:
        own: (r,) log of observed over replayed time of each.
    """
    runs = [replay.run for replay in replays]
    found = [*(notice for run in runs for notice in run.notices), single_run_notice(runs)]
    lost = max(map(_lost_share, replays))
    if lost > NOTICE_WASTE_SHARE:
        found.append(_lost_work(lost, max(replays, key=_lost_share).run))
    remedy = "add a log of a whole run with a fixed number of executors"
    found.append(self_error_notice(own, what="the replay of a log is", remedy=remedy))
    found += map(_slow_start, replays)
    found += [partial_stages_notice(runs), *disturbance_notices(runs), pause_notice(runs)]
    return in_order([*found, unstored_notice(runs)])


def _lost_work(share: float, run: Run) -> Notice:
    """That work was done in vain: a run in which attempts were killed and none failed lost what
    slow tasks had done when their speculative copies had ended."""
    failed = any(
        stage.waste.failed_tasks or stage.waste.retried_stages or stage.recomputed
        for stage in run.stages
    )
    who, why = (
        ("failed and repeated attempts", "find out why tasks fail")
        if failed
        else (
            "attempts that were killed, as slow tasks are that a copy overtakes,",
            "find out why tasks are slow (more data than others, a slow machine)",
        )
    )
    return Notice(
        "retried-work",
        f"{who} took {format_share(share)} of the task time: as much is expected again",
        f"{why}, or add the log of a run without such attempts",
    )


SLOW_START = 0.05
"""Share of a run for which slots were missing at its start, in the mean, from which on it is
said."""


def _slow_start(replay: Replay) -> Notice | None:
    added = replay.arrivals
    if added is None:
        return None
    missing = missing_seconds(added, replay.run)
    if missing < SLOW_START * replay.run.seconds:
        return None
    last = format_seconds(float(added[-1] - added[0]))
    return Notice(
        "slow-start",
        f"executors came one after the other, the last {last} after the first: "
        f"{format_seconds(missing)} of slots that were missing are expected again, whatever the "
        "input and the cluster",
        "if the next run's executors will start at once, add the log of such a run",
    )


def scan_notice(
    replay: Replay, ratio: float, slots: int, shuffle_partitions: int | None
) -> Notice | None:
    """That the size of scanned files is inferred, of the largest stage whose number of tasks hangs
    on it at `ratio` times the input on so many slots."""
    in_all = sum(model.stage.task_seconds.total for model in replay.models)
    open_ones = [
        model
        for model in replay.models
        if model.file_sizes_uncertain
        and model.stage.task_seconds.total >= NOTICE_SCAN_SHARE * in_all
    ]
    for model in sorted(open_ones, key=lambda model: -model.stage.task_seconds.total):
        files = model.unplanned
        assert files is not None
        held, fewest, most = (
            replace(model, unplanned=one).scaled(ratio, shuffle_partitions, slots).tasks
            for one in (files, *files.others)
        )
        if fewest != most:
            told = "," if files.number is None else ", as those of another query,"
            return Notice(
                "scan-size-inferred",
                f"no plan of the log tells how large the files are that "
                f"{numbered_label(model.stage)} scans: they are taken to "
                f"have {format_bytes(files.total_bytes)} there{told} which makes "
                f"{format_count(held, 'task')} here; it may be {format_bytes(files.least_bytes)} "
                f"to {format_bytes(files.most_bytes)}, {fewest:,} to {most:,} tasks, which the "
                "interval reaches",
                "add a log of a run with other cores or input to measure it",
                subject=numbered_label(model.stage),
                severity=held,
            )
    return None


def groups_notice(replay: Replay, ratio: float) -> Notice | None:
    """That stages are taken to read other than in proportion to the input, of the one of which most
    of the time hangs on that at `ratio` times the input."""
    in_all = ratio * sum(model.stage.task_seconds.total for model in replay.models)
    apart = {
        model: abs(ratio - model.read_growth(ratio)) * model.stage.task_seconds.total
        for model in replay.models
        if group_growth_uncertain(model) and not model.small_table
    }
    if sum(apart.values()) < NOTICE_GROUPS_SHARE * in_all or not in_all:
        return None
    first = max(apart, key=lambda model: apart[model])
    more = f", like {len(apart) - 1} more," if len(apart) > 1 else ""
    rows, why = _grown_apart(replay)
    return Notice(
        "groups-inferred",
        f"{numbered_label(first.stage)}{more} reads {rows}: at {format_number(ratio)} times the "
        f"input it is taken to read {_growth(first, ratio)} times as much, {why}; the interval "
        "allows for growth in proportion to the input",
        "add a log of a run with another input to measure it",
        subject=numbered_label(first.stage),
        severity=abs(ratio - first.read_growth(ratio)),
    )


def _grown_apart(replay: Replay) -> tuple[str, str]:
    """What rows of a run are that do not grow with its input, and what tells how they grow."""
    grouped, by_groups = (
        "rows that were grouped",
        "judging by the groups that tasks of the log have in common",
    )
    if not any(model.small_table for model in replay.models):
        return grouped, by_groups
    if all(model.stage.groups is None for model in replay.models):
        return "rows of small tables", "as these are taken to grow slower than it"
    return (
        f"{grouped} or of small tables",
        f"{by_groups}, and by how small tables are taken to grow",
    )


def small_tables_notice(replay: Replay, ratio: float) -> Notice | None:
    """That small tables are taken to grow slower than the input, of the largest of those, where a
    good part of the time at `ratio` times the input hangs on that."""
    in_all = ratio * sum(model.stage.task_seconds.total for model in replay.models)
    small = [one for one in replay.models if one.small_table and one.law.task_power is None]
    apart = sum(abs(ratio - s.read_growth(ratio)) * s.stage.task_seconds.total for s in small)
    if not in_all or apart < NOTICE_GROUPS_SHARE * in_all:
        return None
    first = max(small, key=lambda model: model.stage.files_bytes or 0.0)
    more = f", like {len(small) - 1} more," if len(small) > 1 else ""
    return Notice(
        "small-tables",
        f"{numbered_label(first.stage)}{more} scans a table in one file "
        f"({format_bytes(first.stage.files_bytes or 0.0)}) beside larger ones in several: at "
        f"{format_number(ratio)} times the input it is taken to have {_growth(first, ratio)} times "
        "as much, in one file still; the interval allows for growth in proportion to the input",
        "add a log of a run with another input to measure it",
        subject=numbered_label(first.stage),
        severity=abs(ratio - first.read_growth(ratio)),
    )


def _growth(model: StageModel, ratio: float) -> str:
    """How many times as much a stage reads at `ratio` times the input."""
    return format_number(model.read_growth(ratio), figures=2)
