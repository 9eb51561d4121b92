"""Merges the contents of several sources into one `Profile`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from statistics import median

from engine.errors import BadInput
from engine.notices import Notice, present
from engine.profile import Profile, Run, completed_runs, runs_aside, settled
from engine.sources.distilling.engines import mixed_engines_notice
from engine.sources.distilling.idle_time import is_default_name
from engine.sources.source_contents import SourceContents
from engine.sources.type_shapes import unused_shapes, with_consistent_shapes
from engine.units import format_bytes, format_seconds

MIXED = "mixed-applications"


def merged_profile(contents: Sequence[SourceContents]) -> Profile:
    """The profile of the contents of all sources together.

    Raises:
        BadInput: for sources that contradict each other (units of size, shapes of a type).
    """
    notices = [notice for entry in contents for notice in entry.notices]
    unit = _common_unit(contents, notices)
    read_runs = [run for entry in contents for run in _without_copied_times(entry.runs, notices)]
    runs = _without_copied_times(
        _without_duplicates(read_runs, notices), notices
    )  # of a table, and of two of the same
    names = [entry.name for entry in contents if entry.name]
    categories = [entry.category for entry in contents if entry.category]
    deadlines = [entry.deadline_seconds for entry in contents if entry.deadline_seconds]
    runs = _with_same_inputs(runs, unit, notices)
    notices += present(
        (_attempts_notice(runs), _batches_notice(runs), _larger_aside_notice(runs, unit))
    )
    applications = dict.fromkeys(run.application for run in runs if run.application)
    if len(applications) > 1:
        notices.append(_mixed_notice(list(applications), runs))
    notices.extend(_default_name_notices(runs))
    notices += present((mixed_engines_notice(runs), *_data_shape_notices(runs)))
    if len(set(categories)) > 1:
        notices.append(_category_notice(categories, len(applications)))
    runs = with_consistent_shapes(runs, notices)
    return Profile(
        name=names[0] if names else Path(contents[0].source).stem,
        runs=tuple(runs),
        category=categories[0] if categories else None,
        optex=tuple(entry for part in contents for entry in part.optex),
        input_unit=unit,
        deadline_seconds=deadlines[0] if deadlines else None,
        notices=tuple(dict.fromkeys(notices)),
        sources=tuple(dict.fromkeys(name for part in contents for name in part.origins)),
        shapes=unused_shapes(runs, contents),
    )


def _common_unit(contents: Sequence[SourceContents], notices: list[Notice]) -> str:
    """The unit in which all sources count their input.

    Sizes without a unit take the unit of the other sources, with a notice.
    """
    with_sizes = [e for e in contents if any(run.workload.input_bytes for run in e.runs) or e.optex]
    stated = dict.fromkeys(entry.unit for entry in with_sizes if entry.unit is not None)
    unstated = [entry.source for entry in with_sizes if entry.unit is None]
    if len(stated) > 1:
        raise BadInput(
            f"the sources count their input in different units: {' and '.join(stated)}",
            remedy="give sources that use one unit",
        )
    if not stated:
        return "units" if unstated else "bytes"
    unit = next(iter(stated))
    if unstated:
        notices.append(
            Notice(
                "assumed-unit",
                f"{Path(unstated[0]).name} gives input sizes without a unit: taken as {unit}",
                "write them with a unit, such as 48GB",
            )
        )
    return unit


def _without_duplicates(runs: Sequence[Run], notices: list[Notice]) -> list[Run]:
    """The runs without duplicates: same attempt (`_attempt`) and, for micro-batches, same query
    and batch. Of several copies, made while the application ran, the most complete is kept."""
    distinct: dict[object, Run] = {}
    for index, run in enumerate(runs):
        attempt = _attempt(run)
        batch = None if run.batch_id is None else (run.application, run.batch_id)
        key = index if attempt is None else (attempt, batch)
        before = distinct.setdefault(key, run)
        if (run.complete, run.seconds) > (before.complete, before.seconds):
            distinct[key] = run
    if len(distinct) < len(runs):
        notices.append(
            Notice(
                "duplicate-runs",
                f"{len(runs) - len(distinct)} of {len(runs)} runs were given twice and count once",
                "give each log once",
            )
        )
    return list(distinct.values())


def _attempt(run: Run) -> Hashable | None:
    """What tells the attempt of an application from all others: the application's id, the attempt's
    and its start (two may begin at the same moment); None where unknown."""
    if run.app_id is None or run.started_epoch_seconds is None:
        return None
    return run.app_id, run.app_attempt, run.started_epoch_seconds


MIN_COPIED, MIN_DIGITS = 3, 3
"""Run times count as copied only if at least `MIN_COPIED` different times with `MIN_DIGITS` digits
occur: so many repetitions hardly take equal times by chance. One or two may, and so may all runs of
a job of some ten seconds with times in whole seconds."""


def _without_copied_times(runs: Sequence[Run], notices: list[Notice]) -> list[Run]:
    """The runs without copied rows of run tables, which have no start time to identify them.

    If each run time occurs at least twice to the last digit, a table was given or written twice. As
    repetitions such rows would suggest zero variance and make all intervals too narrow.
    """
    times = Counter(_table_key(run) for run in runs if not run.stages)
    precise = {
        _table_key(run) for run in runs if not run.stages and _significant_digits(run) >= MIN_DIGITS
    }
    if len(precise) < MIN_COPIED or min(times.values()) < 2:
        return list(runs)
    distinct = {(index if run.stages else _table_key(run)): run for index, run in enumerate(runs)}
    notices.append(
        Notice(
            "duplicate-runs",
            f"each of {len(times)} run times stands at least twice, with the same time to the last "
            "digit: taken for copies, each counts once",
            "give each run once",
        )
    )
    return list(distinct.values())


def _significant_digits(run: Run) -> int:
    """Number of digits of a run's time: two for 12 and 9.5 s, three for 120 s."""
    return len(f"{run.seconds:.12g}".replace(".", "").lstrip("0"))


def _table_key(run: Run) -> Hashable:
    """The key of all that a run table states of a run."""
    cluster = run.cluster
    ran_on = tuple(sorted(cluster.composition.items())), cluster.nodes, cluster.slots
    job = run.application, cluster.executor_memory_gib, run.workload.key, run.complete
    return (*ran_on, *job, run.started_epoch_seconds, run.seconds)


def _attempts_notice(runs: Sequence[Run]) -> Notice | None:
    """The notice about applications with several attempts, each of which did the work or a part of
    it anew. Incomplete and failed attempts are excluded by the models, with their own notice."""
    attempts: dict[str, set[Hashable]] = {}
    for run in runs:
        attempt = _attempt(run)
        if run.app_id is not None and attempt is not None and run.batch_id is None:
            attempts.setdefault(run.app_id, set()).add(attempt)
    repeated = {
        name: len(same_start) for name, same_start in attempts.items() if len(same_start) > 1
    }
    if not repeated:
        return None
    name, number = next(iter(repeated.items()))
    more = f", and so for {len(repeated) - 1} more" if len(repeated) > 1 else ""
    return Notice(
        "several-attempts",
        f"{number} attempts of {name} were read{more}: each is a run of its own",
        "give the last attempt alone where the earlier ones failed",
    )


def _batches_notice(runs: Sequence[Run]) -> Notice | None:
    """The notice that times are those of micro-batches, if all runs are micro-batches."""
    if not runs or any(run.batch_id is None for run in runs):
        return None
    logs: dict[object, list[Run]] = {}
    for run in runs:
        logs.setdefault((run.source, run.app_id, run.application), []).append(run)
    total = format_seconds(sum(run.seconds for run in runs))
    count = "1 micro-batch" if len(runs) == 1 else f"{len(runs)} micro-batches"
    files = len({(run.source, run.app_id) for run in runs})
    beside = f"{len(logs)} streaming queries" if len(logs) > 1 else "a streaming query"
    streams = beside if files == 1 else f"streaming queries in {files} logs"
    more = _extra_first_batch_seconds(list(logs.values()))
    first, add = "", ""
    if more is not None:
        first = f" after the first, which took {format_seconds(more)} longer"
        add = ", and add what the first takes longer"
    return Notice(
        "micro-batches",
        f"the runs are {count} of {streams}, {total} together: time, input and cost (with the "
        f"start-up of a cluster, paid once for all) are those of one batch{first}",
        f"for a job that works through all its input and ends, multiply by its batches{add}",
    )


def _extra_first_batch_seconds(logs: Sequence[Sequence[Run]]) -> float | None:
    """How many seconds longer the first micro-batch of a log took than the median of its others.

    The first one waits for executors and loads code, which a stream does once. The largest value of
    all logs; None where no first batch took longer.
    """
    extra_seconds = []
    for runs in logs:
        first, *others = sorted(runs, key=lambda run: run.batch_id or 0)
        if others and not any(run is first for run in settled(runs)):
            extra_seconds.append(first.seconds - median(run.seconds for run in others))
    return max((extra for extra in extra_seconds if extra > 0.0), default=None)


def _larger_aside_notice(runs: Sequence[Run], unit: str) -> Notice | None:
    """The notice that an incomplete or failed run had more input than the largest successful run,
    whose input is the default of predictions."""
    kept = completed_runs(runs)
    sizes = [run.workload.input_bytes for run in kept if run.workload.input_bytes]
    largest = max(runs_aside(runs), key=lambda run: run.workload.input_bytes or 0.0, default=None)
    read = largest.workload.input_bytes if largest else None
    if largest is None or read is None or not sizes or read <= max(sizes):
        return None
    what = "failed" if largest.complete else "broke off"
    return Notice(
        "largest-run-broke-off",
        f"{largest.source} {what} after {_size(read, unit)} of input: where no input is said, "
        f"{_size(max(sizes), unit)} of the largest run that came to its end are taken",
        "say the input that is meant, or give the log of a whole run",
    )


def _size(value: float, unit: str) -> str:
    return format_bytes(value) if unit == "bytes" else f"{value:g} {unit}"


def _with_same_inputs(runs: list[Run], unit: str, notices: list[Notice]) -> list[Run]:
    """The runs with equal input sizes for equal data. Only for bytes, which logs count; other units
    were stated by the user."""
    if unit != "bytes" or sum(bool(run.stages) for run in runs) < 2:
        return runs
    # imported here: it loads model code that a single log does not need
    from engine.sources.same_data import with_equal_inputs

    return with_equal_inputs(runs, notices)


def _data_shape_notices(runs: Sequence[Run]) -> list[Notice]:
    """Notices that logs have data of another shape than the last one's."""
    if sum(bool(run.stages) for run in runs) < 2:
        return []
    # imported here for the same reason
    from engine.models.stages.data_shape import shape_notices

    return shape_notices(runs)


def _mixed_notice(applications: Sequence[str], runs: Sequence[Run]) -> Notice:
    named = ", ".join(applications[:3]) + (", ..." if len(applications) > 3 else "")
    what, remedy = f"the sources hold {len(applications)} applications", ""
    if len({run.app_id for run in runs}) == 1 and all(run.batch_id is not None for run in runs):
        what = f"the log holds {len(applications)} streaming queries"
        remedy = "sparkplan fleet takes the queries of a log one by one"
    return Notice(
        MIXED,
        f"{what} ({named}): they are taken as one job",
        remedy or "give the logs of one application at a time, or all of them to sparkplan fleet",
    )


def _default_name_notices(runs: Sequence[Run]) -> list[Notice]:
    """Notices that several logs are grouped under the default name of interactive sessions."""
    logs: dict[str, set[str | None]] = {}
    for run in runs:
        if run.application is not None and is_default_name(run.application):
            logs.setdefault(run.application, set()).add(run.app_id or run.source)
    return [
        Notice(
            "session-names",
            f"{len(ids)} logs are named {name}, as sessions are that nobody named: they are taken "
            "as one job",
            "give the logs of one job at a time, and name jobs by spark.app.name",
        )
        for name, ids in logs.items()
        if len(ids) > 1
    ]


def _category_notice(categories: Sequence[str], applications: int) -> Notice:
    apart = ", or all of them to sparkplan fleet" if applications > 1 else ""
    return Notice(
        "mixed-categories",
        f"the sources differ in category ({', '.join(dict.fromkeys(categories))}): "
        f"{categories[0]} is taken",
        f"give the logs of one application at a time{apart}",
    )
