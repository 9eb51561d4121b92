"""From everything that a log told (`Application`) to `Run`s with their stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.catalog import InstanceType
from engine.cluster import Workload
from engine.errors import BadInput
from engine.profile import JobRun, Notice, Run, StageRun, Waste
from engine.sources.application import Application, Stage
from engine.sources.categories import LIBRARY_SHARE, without_paths
from engine.sources.clusters import Observed, Span, busy_spans, clipped, observe
from engine.sources.eventlog import EventLog
from engine.sources.settings import kept_config, other_engine, spark_version, task_cpus
from engine.sources.streaming import Window, batch_windows, trigger_seconds
from engine.sources.tasks import TaskSummary
from engine.units import format_seconds

_UNFINISHED_REMEDY = "let the application end, or give the log of a run that did"


@dataclass(frozen=True, slots=True)
class Distilled:
    """The runs of one log: one, or one per micro-batch."""

    runs: tuple[Run, ...]
    category: str
    deadline_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Executed:
    """A stage that ran, with its times in epoch ms."""

    stage: Stage
    summary: TaskSummary
    start_ms: int
    end_ms: int
    finished: bool


def distil(
    log: EventLog,
    *,
    source: str,
    where: str,
    lost: Sequence[str] = (),
    ran_on: InstanceType | None = None,
) -> Distilled:
    """The runs that a log tells.

    Args:
        source: what to call the log.
        where: what errors call it.
        lost: what else is missing of it (see `EventLog.lost`).
        ran_on: the type of the nodes where the user named it.

    Raises:
        BadInput: when no task finished.
    """
    application = log.application
    executed = _executed(application)
    if not executed:
        _refuse(log, where)
    start = (
        application.started_ms or application.first_ms or min(e.start_ms for e in executed.values())
    )
    end = application.ended_ms or max(application.last_ms, *(e.end_ms for e in executed.values()))
    spans = busy_spans(_attempt_spans(application, end))
    observed = observe(application, spans, end_ms=end, ran_on=ran_on)
    missing = (*lost, *log.lost)
    windows = batch_windows(application)
    whole = Window(
        start, max(end, start + 1), tuple(application.jobs.values()),
        complete=application.ended_ms is not None and not missing,
    )  # fmt: skip
    context = _Context(application, executed, spans, observed, source, missing)
    runs = [context.run(window) for window in windows or [whole]]
    return Distilled(
        tuple(run for run in runs if run.stages or not windows) or (context.run(whole),),
        "streaming" if windows else _category(executed, application),
        trigger_seconds(windows),
    )


def _refuse(log: EventLog, where: str) -> None:
    application = log.application
    told = application.stages or application.jobs or application.version
    if application.started_ms is None and not told:
        raise BadInput(
            "not a Spark event log", where=where,
            remedy="give a file that spark.eventLog.enabled wrote",
        )  # fmt: skip
    raise BadInput(
        "no finished task in this log", where=where,
        remedy="give the log of an application that ran at least one task to its end",
    )  # fmt: skip


def _executed(application: Application) -> dict[int, _Executed]:
    """The stages with at least one finished task, by id."""
    found: dict[int, _Executed] = {}
    for stage_id, stage in application.stages.items():
        summary = stage.tasks.summary()
        if summary is None:
            continue
        starts = [a.submitted_ms for a in stage.attempts.values() if a.submitted_ms is not None]
        ends = [
            a.completed_ms
            for a in stage.attempts.values()
            if a.completed_ms is not None and not a.failed
        ]
        start = min(starts, default=summary.first_launch_ms)
        end = max(start, min(ends, default=summary.last_finish_ms))
        found[stage_id] = _Executed(stage, summary, start, end, bool(ends))
    return found


def _attempt_spans(application: Application, end_ms: int) -> list[Span]:
    """From submission to completion of every stage attempt; one that never ended ran to the end."""
    spans: list[Span] = []
    for stage in application.stages.values():
        for attempt in stage.attempts.values():
            start = attempt.submitted_ms
            if start is None:
                continue
            stop = attempt.completed_ms if attempt.completed_ms is not None else end_ms
            spans.append((start, max(start, stop)))
        if not stage.attempts and stage.tasks.first_launch_ms is not None:
            spans.append((stage.tasks.first_launch_ms, stage.tasks.last_finish_ms))
    return spans


def _category(executed: dict[int, _Executed], application: Application) -> str:
    """The library that holds a tenth of the task time (graphx, mllib, streaming, sql, in this
    order), else core."""
    seconds = dict.fromkeys(("graphx", "mllib", "streaming", "sql"), 0.0)
    total = 0.0
    for stage_id, entry in executed.items():
        spent = entry.summary.measures["task_seconds"]
        own = spent.total if spent else 0.0
        total += own
        if entry.stage.library is not None:
            seconds[entry.stage.library] += own
        elif _sql_execution(application, stage_id) is not None:
            seconds["sql"] += own
    return next((name for name, own in seconds.items() if own > LIBRARY_SHARE * total), "core")


def _sql_execution(application: Application, stage_id: int) -> int | None:
    jobs = application.jobs_of_stage.get(stage_id, ())
    found = (application.jobs[job].sql_execution_id for job in jobs if job in application.jobs)
    return next((execution for execution in found if execution is not None), None)


class _Context:
    """What all runs of one log share."""

    def __init__(
        self,
        application: Application,
        executed: dict[int, _Executed],
        busy: Sequence[Span],
        observed: Observed,
        source: str,
        lost: tuple[str, ...],
    ) -> None:
        self._application = application
        self._executed = executed
        self._busy = busy
        self._observed = observed
        self._source = source
        self._lost = lost
        self._queries = sorted({job.query for job in application.jobs.values() if job.query})
        self._by_final_rdd: dict[int, list[int]] = {}
        for stage_id, entry in sorted(executed.items(), key=lambda item: item[1].start_ms):
            if entry.stage.final_rdd is not None:
                self._by_final_rdd.setdefault(entry.stage.final_rdd, []).append(stage_id)

    def run(self, window: Window) -> Run:
        """The run of one window of time."""
        application, observed = self._application, self._observed
        stages = self._stages(window)
        seconds = (window.end_ms - window.start_ms) / 1000.0
        busy = sum(b - a for a, b in clipped(self._busy, window.start_ms, window.end_ms)) / 1000.0
        lost = (*self._lost, *self._unfinished(stages))
        complete = window.complete and not lost
        notices = list(observed.notices)
        if not complete:
            notices.insert(0, _incomplete(lost, seconds))
        engine = other_engine(application)
        return Run(
            seconds=seconds,
            cluster=observed.cluster,
            workload=Workload(input_bytes=_external_bytes(stages)),
            source=self._source,
            application=self._name(window),
            app_id=application.app_id,
            spark_version=spark_version(application),
            started_epoch_seconds=window.start_ms / 1000.0,
            complete=complete,
            lost=lost,
            stages=stages,
            jobs=self._jobs(window),
            cores=_since(observed.core_steps, window),
            driver_seconds=max(0.0, round(seconds - busy, 3)),
            storage_memory_bytes=observed.storage_memory_bytes,
            cached_bytes=float(application.most_cached_bytes) if application.saw_blocks else None,
            config=kept_config(application.properties),
            batch_id=window.batch_id,
            notices=(*notices, engine) if engine else tuple(notices),
        )

    def _name(self, window: Window) -> str | None:
        name = self._application.name
        if len(self._queries) < 2 or window.query is None:
            return name
        return f"{name or 'query'} #{self._queries.index(window.query) + 1}"

    def _stages(self, window: Window) -> tuple[StageRun, ...]:
        own = set(self._executed)
        if window.batch_id is not None:
            own &= {stage_id for job in window.jobs for stage_id in job.stage_ids}
        ordered = sorted(own, key=lambda stage_id: (self._executed[stage_id].start_ms, stage_id))
        return tuple(self._stage(stage_id, own, window) for stage_id in ordered)

    def _stage(self, stage_id: int, own: set[int], window: Window) -> StageRun:
        entry = self._executed[stage_id]
        stage, summary = entry.stage, entry.summary
        tasks = stage.tasks
        measures = summary.measures
        read = measures["input_bytes"]
        cached = (read.total if stage.reads_cache else summary.cached_input_bytes) if read else None
        failed, killed, wasted = tasks.waste
        assert measures["task_seconds"] is not None
        return StageRun(
            stage_id=stage_id,
            name=without_paths(stage.name),
            tasks=max(tasks.tasks or 0, tasks.finished),
            submitted_seconds=(entry.start_ms - window.start_ms) / 1000.0,
            completed_seconds=(entry.end_ms - window.start_ms) / 1000.0,
            parents=tuple(sorted(self._parents(stage_id) & own)),
            job_ids=tuple(self._application.jobs_of_stage.get(stage_id, ())),
            sql_execution_id=_sql_execution(self._application, stage_id),
            cached_input_bytes=cached,
            memory_spilled_bytes=summary.memory_spilled_bytes,
            disk_spilled_bytes=summary.disk_spilled_bytes,
            task_cpus=task_cpus(self._application, stage),
            resource_profile_id=stage.profile,
            operations=stage.operations,
            cached_rdds=stage.cached_rdds,
            disk_backed_rdds=stage.disk_backed_rdds,
            warm_up=summary.warm_up,
            waste=Waste(failed, killed, max(0, len(stage.attempts) - 1), wasted),
            **measures,  # type: ignore[arg-type]
        )

    def _parents(self, stage_id: int) -> set[int]:
        """The stages that computed what this one reads, skipped ones resolved.

        A skipped stage is another plan of a shuffle that was written before: the stage that
        wrote it computed the same RDD. Where the log has lost that one, its own parents stand
        in.
        """
        found: set[int] = set()
        pending, visited = list(self._executed[stage_id].stage.parents), {stage_id}
        while pending:
            parent = pending.pop()
            if parent in visited:
                continue
            visited.add(parent)
            if parent in self._executed:
                found.add(parent)
                continue
            final, parents = self._application.planned.get(parent, (None, ()))
            twin = self._twin(final, stage_id)
            if twin is not None:
                found.add(twin)
            else:
                pending.extend(parents)
        return found

    def _twin(self, final_rdd: int | None, before: int) -> int | None:
        """The last stage that computed an RDD before the given stage began."""
        if final_rdd is None:
            return None
        limit = self._executed[before].start_ms
        twins = [
            stage_id
            for stage_id in self._by_final_rdd.get(final_rdd, ())
            if stage_id != before and self._executed[stage_id].start_ms <= limit
        ]
        return twins[-1] if twins else None

    def _jobs(self, window: Window) -> tuple[JobRun, ...]:
        return tuple(
            JobRun(
                job.job_id,
                (job.submitted_ms - window.start_ms) / 1000.0,
                None if job.completed_ms is None else (job.completed_ms - window.start_ms) / 1000.0,
                job.stage_ids,
                job.sql_execution_id,
                job.batch_id,
            )
            for job in window.jobs
            if job.submitted_ms is not None
        )

    def _unfinished(self, stages: Sequence[StageRun]) -> tuple[str, ...]:
        """What is missing of stages that the log does not see end."""
        open_stages = [s for s in stages if not self._executed[s.stage_id].finished]
        missing = sum(s.tasks - s.task_seconds.count for s in open_stages)
        if not missing:
            return ()
        tasks = sum(s.tasks for s in open_stages)
        return (f"{missing} of {tasks} tasks of {_count(len(open_stages), 'stage')} are missing",)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _incomplete(lost: Sequence[str], seconds: float) -> Notice:
    said = ", ".join(lost) if lost else "the application's end is missing"
    return Notice(
        "incomplete-log",
        f"{said}; its time is that of its last event, {format_seconds(seconds)} after the start",
        _UNFINISHED_REMEDY,
    )


def _external_bytes(stages: Sequence[StageRun]) -> float | None:
    """Bytes read from outside, re-reads of cached blocks apart; None when nothing was read."""
    total = sum(
        max(0.0, stage.input_bytes.total - (stage.cached_input_bytes or 0.0))
        for stage in stages
        if stage.input_bytes is not None
    )
    return total or None


def _since(steps: Sequence[tuple[int, int]], window: Window) -> tuple[tuple[float, int], ...]:
    """The step function of cores from the window's start on; what was there before is at 0."""
    found: list[tuple[float, int]] = []
    for time, cores in steps:
        at = max(0.0, (time - window.start_ms) / 1000.0)
        if time > window.end_ms:
            break
        if found and found[-1][0] == at:
            found[-1] = (at, cores)
        else:
            found.append((at, cores))
    return tuple(found)
