"""What several sources hold, as one `Profile`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from statistics import median

from engine.errors import BadInput
from engine.notices import Notice
from engine.profile import Profile, Run, completed_runs, runs_aside, settled
from engine.sources.distilling.engines import mixed_engines
from engine.sources.distilling.idle_time import nobody_named
from engine.sources.found import Found
from engine.sources.type_shapes import shapes_beside, with_one_shape_each
from engine.units import format_bytes, format_seconds

MIXED = "mixed-applications"


def together(found: Sequence[Found]) -> Profile:
    """One profile from what several sources hold.

    Raises:
        BadInput: for sources that contradict each other (units of size, shapes of a type).
    """
    notices = [notice for entry in found for notice in entry.notices]
    unit = _common_unit(found, notices)
    told = [run for entry in found for run in _not_copied(entry.runs, notices)]
    runs = _not_copied(_distinct(told, notices), notices)  # of a table, and of two of the same
    names = [entry.name for entry in found if entry.name]
    categories = [entry.category for entry in found if entry.category]
    deadlines = [entry.deadline_seconds for entry in found if entry.deadline_seconds]
    runs = _of_one_data(runs, unit, notices)
    notices.extend(_attempts(runs))
    notices.extend(_batches(runs))
    notices.extend(_larger(runs, unit))
    applications = dict.fromkeys(run.application for run in runs if run.application)
    if len(applications) > 1:
        notices.append(_mixed(list(applications), runs))
    notices.extend(_unnamed(runs))
    notices.extend(mixed_engines(runs))
    notices.extend(_shapes(runs))
    if len(set(categories)) > 1:
        notices.append(_categories(categories, len(applications)))
    runs = with_one_shape_each(runs, notices)
    return Profile(
        name=names[0] if names else Path(found[0].source).stem,
        runs=tuple(runs),
        category=categories[0] if categories else None,
        optex=tuple(entry for part in found for entry in part.optex),
        input_unit=unit,
        deadline_seconds=deadlines[0] if deadlines else None,
        notices=tuple(dict.fromkeys(notices)),
        sources=tuple(dict.fromkeys(name for part in found for name in part.origins)),
        shapes=shapes_beside(runs, found),
    )


def _common_unit(found: Sequence[Found], notices: list[Notice]) -> str:
    """The unit in which all sources count their input.

    Sizes without a unit are bytes where they stand beside sizes in bytes; that is said.
    """
    with_sizes = [e for e in found if any(run.workload.input_bytes for run in e.runs) or e.optex]
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


def _distinct(runs: Sequence[Run], notices: list[Notice]) -> list[Run]:
    """The runs without those given twice (the same application, attempt and start; of a stream the
    same query too): of one that was copied while it ran, the copy that tells most."""
    kept: dict[object, Run] = {}
    for place, run in enumerate(runs):
        known = run.app_id is not None and run.started_epoch_seconds is not None
        batch = None if run.batch_id is None else (run.application, run.batch_id)
        key = (run.app_id, run.started_epoch_seconds, batch) if known else place
        before = kept.setdefault(key, run)
        if (run.complete, run.seconds) > (before.complete, before.seconds):
            kept[key] = run
    if len(kept) < len(runs):
        notices.append(
            Notice(
                "duplicate-runs",
                f"{len(runs) - len(kept)} of {len(runs)} runs were given twice and count once",
                "give each log once",
            )
        )
    return list(kept.values())


LEAST_COPIED, LEAST_DIGITS = 3, 3
"""Different run times, of so many digits, of which each stands twice: as many repetitions hardly
take the same time by chance. One or two may, and all of a job that takes some ten seconds, told in
whole ones."""


def _not_copied(runs: Sequence[Run], notices: list[Notice]) -> list[Run]:
    """The runs without the copies of run times, of which nothing says when they were made: where
    each of them stands at least twice to the last digit, a table was given or written twice. As
    repetitions they would say that runs do not differ at all, and make every answer too sure."""
    times = Counter(_figures(run) for run in runs if not run.stages)
    telling = {_figures(run) for run in runs if not run.stages and _digits(run) >= LEAST_DIGITS}
    if len(telling) < LEAST_COPIED or min(times.values()) < 2:
        return list(runs)
    kept = {(place if run.stages else _figures(run)): run for place, run in enumerate(runs)}
    notices.append(
        Notice(
            "duplicate-runs",
            f"each of {len(times)} run times stands at least twice, with the same time to the last "
            "digit: taken for copies, each counts once",
            "give each run once",
        )
    )
    return list(kept.values())


def _digits(run: Run) -> int:
    """To how many digits its time is told: 12 and 9.5 s to two, 120 s to three."""
    return len(f"{run.seconds:.12g}".replace(".", "").lstrip("0"))


def _figures(run: Run) -> Hashable:
    """All that a table says of a run."""
    cluster = run.cluster
    ran_on = tuple(sorted(cluster.composition.items())), cluster.nodes, cluster.slots
    told = run.application, cluster.executor_memory_gib, run.workload.key, run.complete
    return (*ran_on, *told, run.started_epoch_seconds, run.seconds)


def _attempts(runs: Sequence[Run]) -> list[Notice]:
    """Applications that were started again: each attempt did the work, or a part of it, anew.
    Attempts that broke off or failed are left aside by the models, which say so."""
    starts: dict[str, set[float]] = {}
    for run in runs:
        if (
            run.app_id is not None
            and run.started_epoch_seconds is not None
            and run.batch_id is None
        ):
            starts.setdefault(run.app_id, set()).add(run.started_epoch_seconds)
    repeated = {name: len(times) for name, times in starts.items() if len(times) > 1}
    if not repeated:
        return []
    name, number = next(iter(repeated.items()))
    more = f", and so for {len(repeated) - 1} more" if len(repeated) > 1 else ""
    return [
        Notice(
            "several-attempts",
            f"{number} attempts of {name} were read{more}: each is a run of its own",
            "give the last attempt alone where the earlier ones failed",
        )
    ]


def _batches(runs: Sequence[Run]) -> list[Notice]:
    """That times are those of micro-batches, where all runs are."""
    if not runs or any(run.batch_id is None for run in runs):
        return []
    logs: dict[object, list[Run]] = {}
    for run in runs:
        logs.setdefault((run.source, run.app_id, run.application), []).append(run)
    total = format_seconds(sum(run.seconds for run in runs))
    count = "1 micro-batch" if len(runs) == 1 else f"{len(runs)} micro-batches"
    files = len({(run.source, run.app_id) for run in runs})
    beside = f"{len(logs)} streaming queries" if len(logs) > 1 else "a streaming query"
    streams = beside if files == 1 else f"streaming queries in {files} logs"
    more = _longer_first(list(logs.values()))
    first, add = "", ""
    if more is not None:
        first = f" after the first, which took {format_seconds(more)} longer"
        add = ", and add what the first takes longer"
    return [
        Notice(
            "micro-batches",
            f"the runs are {count} of {streams}, {total} together: time, input and cost (with the "
            f"start-up of a cluster, paid once for all) are those of one batch{first}",
            f"for a job that works through all its input and ends, multiply by its batches{add}",
        )
    ]


def _longer_first(logs: Sequence[Sequence[Run]]) -> float | None:
    """By how many seconds the first batch of a log took longer than the median of its others: it
    waits for executors and loads code, which a stream does once. The most of all logs; None where
    none has a first batch that did."""
    found = []
    for runs in logs:
        first, *others = sorted(runs, key=lambda run: run.batch_id or 0)
        if others and not any(run is first for run in settled(runs)):
            found.append(first.seconds - median(run.seconds for run in others))
    return max((more for more in found if more > 0.0), default=None)


def _larger(runs: Sequence[Run], unit: str) -> list[Notice]:
    """That a run which broke off or failed had more input than the largest that did not, whose
    input is what is planned for where nobody says another."""
    kept = completed_runs(runs)
    sizes = [run.workload.input_bytes for run in kept if run.workload.input_bytes]
    largest = max(runs_aside(runs), key=lambda run: run.workload.input_bytes or 0.0, default=None)
    read = largest.workload.input_bytes if largest else None
    if largest is None or read is None or not sizes or read <= max(sizes):
        return []
    what = "failed" if largest.complete else "broke off"
    return [
        Notice(
            "largest-run-broke-off",
            f"{largest.source} {what} after {_size(read, unit)} of input: where no input is said, "
            f"{_size(max(sizes), unit)} of the largest run that came to its end are taken",
            "say the input that is meant, or give the log of a whole run",
        )
    ]


def _size(value: float, unit: str) -> str:
    return format_bytes(value) if unit == "bytes" else f"{value:g} {unit}"


def _of_one_data(runs: list[Run], unit: str, notices: list[Notice]) -> list[Run]:
    """The runs with one count of the same data. Logs count bytes: other units somebody stated."""
    if unit != "bytes" or sum(bool(run.stages) for run in runs) < 2:
        return runs
    # Here: it needs what models know of stages, whose loading a single log does without.
    from engine.sources.same_data import with_one_count_each

    return with_one_count_each(runs, notices)


def _shapes(runs: Sequence[Run]) -> list[Notice]:
    """That logs are of data of another shape than the last one's."""
    if sum(bool(run.stages) for run in runs) < 2:
        return []
    # Here: for the same reason.
    from engine.models.stages.data_shape import shape_notices

    return shape_notices(runs)


def _mixed(applications: Sequence[str], runs: Sequence[Run]) -> Notice:
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


def _unnamed(runs: Sequence[Run]) -> list[Notice]:
    """That logs go together by a name which sessions have of Spark, whatever runs in them."""
    logs: dict[str, set[str | None]] = {}
    for run in runs:
        if run.application is not None and nobody_named(run.application):
            logs.setdefault(run.application, set()).add(run.app_id or run.source)
    return [
        Notice(
            "session-names",
            f"{len(own)} logs are named {name}, as sessions are that nobody named: they are taken "
            "as one job",
            "give the logs of one job at a time, and name jobs by spark.app.name",
        )
        for name, own in logs.items()
        if len(own) > 1
    ]


def _categories(categories: Sequence[str], applications: int) -> Notice:
    apart = ", or all of them to sparkplan fleet" if applications > 1 else ""
    return Notice(
        "mixed-categories",
        f"the sources differ in category ({', '.join(dict.fromkeys(categories))}): "
        f"{categories[0]} is taken",
        f"give the logs of one application at a time{apart}",
    )
