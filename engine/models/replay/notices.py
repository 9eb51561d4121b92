"""Warnings about the logs behind a prediction: wasted work, late executors, inferred sizes.

In: replays of the logs, and for some warnings an input and slots. Out: notices, whose codes are
listed in docs/models/sparkplan.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray
from engine.models.log_notices import self_error_notice, single_run_notice
from engine.models.replay.alternatives import group_growth_uncertain, small_table_uncertain
from engine.models.replay.censored_tasks import partial_stages_notice
from engine.models.replay.memory.memory_report import unstored_notice
from engine.models.replay.replayed_run import Replay
from engine.models.stages.disturbance import disturbance_notices
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.paired_inputs import pairs_power
from engine.models.stages.partitioning.small_tables import SMALL_TABLE_POWER
from engine.models.stages.pauses import pause_notice
from engine.models.stages.slots_over_time import missing_seconds
from engine.notices import Notice, in_order
from engine.profile import Run
from engine.runs.stage_labels import numbered_label
from engine.stage_run import StageRun
from engine.units import format_bytes, format_count, format_number, format_seconds, format_share

NOTICE_WASTE_SHARE = 0.02
"""Least share of wasted attempts in the task time, for a notice."""

NOTICE_SCAN_SHARE = 0.05
"""Least share of a scan of files of unknown size in the task time, for a notice."""

NOTICE_GROUPS_SHARE = 0.1
"""Least share of the task time that depends on how groups or small tables grow, for a notice."""


def waste_spread(replays: Sequence[Replay]) -> float:
    """Standard deviation of log time by wasted attempts: they come by chance, so that their share
    has at least the relative error of a Poisson count of them."""
    wasted_seconds = sum(replay.run.seconds * _wasted_share(replay) for replay in replays)
    attempts = sum(
        stage.waste.failed_tasks
        + stage.waste.killed_tasks
        + stage.waste.retried_stages
        + stage.recomputed
        for replay in replays
        for stage in replay.run.stages
    )
    if not attempts:
        return 0.0
    total = sum(replay.run.seconds for replay in replays)
    return wasted_seconds / total * max(MIN_RELATIVE_SPREAD, 1.0 / math.sqrt(attempts))


MIN_RELATIVE_SPREAD = 0.5
"""Least relative standard deviation of the share of wasted attempts: they are correlated (a node is
lost, a stage is retried)."""


def _wasted_share(replay: Replay) -> float:
    """Wasted work that lengthened stages, or made one of its own, as a share of all task time; as
    far as it is expected again."""
    task_seconds = np.asarray([model.stage.task_seconds.total for model in replay.models])
    is_wasted = np.asarray([model.stage.recomputed for model in replay.models])
    is_wasted[list(replay.recomputed_stages)] = False
    total = float(task_seconds.sum())
    wasted = float(task_seconds @ np.where(is_wasted, 1.0, replay.waste))
    return wasted / total if total > 0.0 else 0.0


def fit_notices(replays: Sequence[Replay], log_errors: FloatArray) -> tuple[Notice, ...]:
    """The warnings about some logs that hold for any prediction.

    Args:
        log_errors: (r,) log of observed over replayed time of each.
    """
    runs = [replay.run for replay in replays]
    notices = [*(notice for run in runs for notice in run.notices), single_run_notice(runs)]
    wasted_share = max(map(_wasted_share, replays))
    if wasted_share > NOTICE_WASTE_SHARE:
        notices.append(_wasted_work_notice(wasted_share, max(replays, key=_wasted_share).run))
    remedy = "add a log of a whole run with a fixed number of executors"
    notices.append(self_error_notice(log_errors, what="the replay of a log is", remedy=remedy))
    notices += map(_slow_start_notice, replays)
    notices += [partial_stages_notice(runs), *disturbance_notices(runs), pause_notice(runs)]
    return in_order([*notices, unstored_notice(runs)])


def _wasted_work_notice(share: float, run: Run) -> Notice:
    """The warning of wasted work. In a run in which attempts were killed and none failed, that is
    the work of slow tasks whose speculative copies ended first."""
    failed = any(
        stage.waste.failed_tasks or stage.waste.retried_stages or stage.recomputed
        for stage in run.stages
    )
    attempts, remedy = (
        ("failed and repeated attempts", "find out why tasks fail")
        if failed
        else (
            "attempts that were killed, as slow tasks are that a copy overtakes,",
            "find out why tasks are slow (more data than others, a slow machine)",
        )
    )
    return Notice(
        "retried-work",
        f"{attempts} took {format_share(share)} of the task time: as much is expected again",
        f"{remedy}, or add the log of a run without such attempts",
    )


NOTICE_SLOW_START_SHARE = 0.05
"""Least mean time for which a slot was missing at the start of a run, as a share of the run, for a
notice."""


def _slow_start_notice(replay: Replay) -> Notice | None:
    added = replay.arrivals
    if added is None:
        return None
    missing = missing_seconds(added, replay.run)
    if missing < NOTICE_SLOW_START_SHARE * replay.run.seconds:
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
    """The warning that the size of scanned files is inferred, for the largest stage whose number of
    tasks depends on it at `ratio` times the input on so many slots."""
    task_seconds = sum(model.stage.task_seconds.total for model in replay.models)
    uncertain = [
        model
        for model in replay.models
        if model.file_sizes_uncertain
        and model.stage.task_seconds.total >= NOTICE_SCAN_SHARE * task_seconds
    ]
    for model in sorted(uncertain, key=lambda model: -model.stage.task_seconds.total):
        files = model.unplanned
        assert files is not None
        expected, fewest, most = (
            replace(model, unplanned=one).scaled(ratio, shuffle_partitions, slots).tasks
            for one in (files, *files.others)
        )
        if fewest != most:
            label = numbered_label(model.stage)
            by_query = "," if files.number is None else ", as those of another query,"
            return Notice(
                "scan-size-inferred",
                f"no plan of the log tells how large the files are that {label} scans: they are "
                f"taken to have {format_bytes(files.total_bytes)} there{by_query} which makes "
                f"{format_count(expected, 'task')} here; it may be "
                f"{format_bytes(files.least_bytes)} to {format_bytes(files.most_bytes)}, "
                f"{fewest:,} to {most:,} tasks, which the interval reaches",
                "add a log of a run with other cores or input to measure it",
                subject=label,
                severity=expected,
            )
    return None


def groups_notice(replay: Replay, ratio: float) -> Notice | None:
    """The warning that the reads of stages are taken to grow out of proportion to the input, for
    the stage with most time that depends on it at `ratio` times the input."""
    uncertain_seconds = {
        model: abs(ratio - model.read_growth(ratio)) * model.stage.task_seconds.total
        for model in replay.models
        if group_growth_uncertain(model) and not model.small_table
    }
    if not _is_notable(sum(uncertain_seconds.values()), replay, ratio):
        return None
    largest = max(uncertain_seconds, key=lambda model: uncertain_seconds[model])
    label, others = numbered_label(largest.stage), _others(len(uncertain_seconds) - 1)
    rows, reason = _rows_and_reason(replay)
    return Notice(
        "groups-inferred",
        f"{label}{others} reads {rows}: at {format_number(ratio)} times the input it is taken to "
        f"read {_growth_text(largest, ratio)} times as much, {reason}; the interval allows for "
        "growth in proportion to the input",
        "add a log of a run with another input to measure it",
        subject=label,
        severity=abs(ratio - largest.read_growth(ratio)),
    )


def _rows_and_reason(replay: Replay) -> tuple[str, str]:
    """Which rows of a run do not grow with its input, and the evidence of their growth, in
    words."""
    grouped_rows = "rows that were grouped"
    by_groups = "judging by the groups that tasks of the log have in common"
    if not any(model.small_table for model in replay.models):
        return grouped_rows, by_groups
    if all(model.stage.groups is None for model in replay.models):
        return "rows of small tables", "as these are taken to grow slower than it"
    return (
        f"{grouped_rows} or of small tables",
        f"{by_groups}, and by how small tables are taken to grow",
    )


def small_tables_notice(replay: Replay, ratio: float) -> Notice | None:
    """The warning that small tables are taken to grow slower than the input, for the largest of
    them, where a notable part of the time at `ratio` times the input depends on it."""
    small = _small_tables(replay, ratio)
    if not _is_notable(sum(one.uncertain_seconds for one in small), replay, ratio):
        return None
    largest = max(small, key=lambda one: one.file_bytes)
    label, others = numbered_label(largest.stage), _others(len(small) - 1)
    return Notice(
        "small-tables",
        f"{label}{others} {largest.read_as} a table in one file "
        f"({format_bytes(largest.file_bytes)}) beside larger ones in several: at "
        f"{format_number(ratio)} times the input it is taken to have "
        f"{format_number(largest.growth, figures=2)} times as much, in one file still; the "
        "interval allows for growth in proportion to the input",
        "add a log of a run with another input to measure it",
        subject=label,
        severity=abs(ratio - largest.growth),
    )


def single_files_notice(replay: Replay, ratio: float) -> Notice | None:
    """The warning that tables in one file may be small ones although they are taken to grow with
    the input, for the largest of them, where a notable part of the time at `ratio` times the input
    depends on it."""
    single = [model for model in replay.models if small_table_uncertain(model)]
    small_growth = math.pow(ratio, SMALL_TABLE_POWER)
    single_seconds = sum(model.stage.task_seconds.total for model in single)
    if not _is_notable(abs(ratio - small_growth) * single_seconds, replay, ratio):
        return None
    largest = max(single, key=lambda model: model.stage.files_bytes or 0.0)
    label, others = numbered_label(largest.stage), _others(len(single) - 1)
    return Notice(
        "small-tables",
        f"{label}{others} scans a table in one file "
        f"({format_bytes(largest.stage.files_bytes or 0.0)}) beside a larger one in several, with "
        f"a notable share of its rows: at {format_number(ratio)} times the input it is taken to "
        "grow in proportion; the interval allows for "
        f"{format_number(small_growth, figures=2)} times as much, as of a small table",
        "add a log of a run with another input to measure it",
        subject=label,
        severity=abs(ratio - small_growth),
    )


def _is_notable(uncertain_seconds: float, replay: Replay, ratio: float) -> bool:
    """Whether so much task time is a notable part of all at `ratio` times the input."""
    grown_seconds = ratio * sum(model.stage.task_seconds.total for model in replay.models)
    return grown_seconds > 0.0 and uncertain_seconds >= NOTICE_GROUPS_SHARE * grown_seconds


class _SmallTable(NamedTuple):
    """A stage that reads a small table, and how it does so in words.

    Args:
        growth: of the table.
        uncertain_seconds: the task time by which growth in proportion to the input differs.
    """

    stage: StageRun
    read_as: str
    file_bytes: float
    growth: float
    uncertain_seconds: float


def _small_tables(replay: Replay, ratio: float) -> list[_SmallTable]:
    """The stages that scan or pair a small table of which no other log shows the growth."""
    found = []
    for model in replay.models:
        stage, seconds = model.stage, model.stage.task_seconds.total
        if model.law.task_power is not None:
            continue
        if model.small_table:
            growth = model.read_growth(ratio)
            uncertain = abs(ratio - growth) * seconds
            found.append(_SmallTable(stage, "scans", stage.files_bytes or 0.0, growth, uncertain))
        elif model.pairs and model.small_inputs:
            size = max(stage.inputs[place].files_bytes or 0.0 for place in model.small_inputs)
            in_proportion = math.pow(ratio, pairs_power(stage))
            uncertain = abs(in_proportion - math.pow(ratio, model.pairs_power)) * seconds
            growth, share = math.pow(ratio, SMALL_TABLE_POWER), model.pairs_share
            found.append(_SmallTable(stage, "pairs rows with", size, growth, share * uncertain))
    return found


def _others(count: int) -> str:
    """So many further stages, in words; empty for none."""
    return f", like {count} more," if count else ""


def _growth_text(model: StageModel, ratio: float) -> str:
    """The growth of what a stage reads at `ratio` times the input, in words."""
    return format_number(model.read_growth(ratio), figures=2)
