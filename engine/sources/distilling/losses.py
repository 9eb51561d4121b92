"""Describes what a damaged or incomplete log has lost, as texts with numbers.

Losses that can be counted are counted: undecodable lines, missing parts, tasks that a stage is
known to have. Where only the undecodable share of a file is known, lost events and seconds are
extrapolated from the rest of it and marked "about".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.notices import Notice
from engine.sources.access.codecs import Stream
from engine.sources.access.folders import parts_text
from engine.sources.distilling.log_gaps import missing_jobs
from engine.sources.logs.application import Application
from engine.sources.logs.eventlog import EventLog
from engine.units import format_bytes, format_count, format_seconds

_UNFINISHED_REMEDY = "let the application end, or give the log of a run that did"
_DAMAGED_REMEDY = "fetch the log again, or give that of a run that ended"
_DROPPED_REMEDY = (
    "let Spark drop fewer events (spark.scheduler.listenerbus.eventqueue.capacity), or give the "
    "log of another run"
)


@dataclass(slots=True)
class Losses:
    """Collects losses while the parts of a log are read.

    `begin` is called before a part is read and `end` after it.
    """

    texts: list[str] = field(default_factory=list)
    _events_before: int = field(default=0, init=False)
    _last_before_ms: int = field(default=0, init=False)
    _parts: int = field(default=0, init=False)
    _missing_parts: int = field(default=0, init=False)
    _hole_ms: int = field(default=0, init=False)

    def begin(self, log: EventLog) -> None:
        """Records the state of the log before its next part."""
        self._events_before = log.read_events
        self._last_before_ms = log.application.last_ms
        log.application.part_first_ms = None

    def end(self, log: EventLog, stream: Stream, *, missing_before: int = 0) -> None:
        """Records the losses of the part that was just read.

        Args:
            missing_before: number of missing parts between the previous part and this one.
        """
        events = log.read_events - self._events_before
        self._parts += 1
        self._missing_parts += missing_before
        first = log.application.part_first_ms
        if missing_before and self._last_before_ms and first is not None:
            self._hole_ms += max(0, first - self._last_before_ms)
        if stream.damaged_blocks:
            self.texts.append(_damaged_blocks(stream, events))
        if stream.lost is not None:
            self.texts.append(self._broken_off(log, stream, events))
        changed = stream.changed()
        if changed is not None:
            self.texts.append(changed)

    def _broken_off(self, log: EventLog, stream: Stream, events: int) -> str:
        """The text for a stream that ended early, with the lost amount where the file size is
        known."""
        unread = stream.unread_over_read()
        lost = 0 if unread is None else round(events * unread)
        if unread is None or lost < 1:
            return f"{stream.lost} after {format_count(log.read_events, 'event')}"
        first = log.application.part_first_ms
        spent = 0 if first is None else log.application.last_ms - first
        seconds = format_seconds(max(spent, 1) / 1000.0 * unread)
        total = log.read_events + lost
        return f"{stream.lost}: about {lost} of {total} events are lost, the last {seconds}"

    def part_losses(self, named: Sequence[str], events: int) -> list[str]:
        """The texts on missing parts, with an estimate of the events and time they held."""
        if not self._missing_parts or not self._parts or not named:
            return list(named)
        lost = round(events / self._parts * self._missing_parts)
        hole = f", {format_seconds(self._hole_ms / 1000.0)}" if self._hole_ms else ""
        about = f" (about {lost} of {events + lost} events{hole})" if lost else ""
        return [*named[:-1], named[-1] + about]


def _damaged_blocks(stream: Stream, events: int) -> str:
    blocks = format_count(stream.blocks, "compressed block")
    text = f"{stream.damaged_blocks} of {blocks} damaged"
    whole = stream.blocks - stream.damaged_blocks
    lost = round(events / whole * stream.damaged_blocks) if whole else 0
    return f"{text} (about {lost} of {events + lost} events)" if lost else text


def event_losses(log: EventLog) -> list[str]:
    """The losses that show in the lines that were read."""
    texts = []
    if log.torn_parts:
        texts.append(
            f"the last of {format_count(log.read_events + log.torn_parts, 'event')} was torn"
        )
    if log.bad_events:
        texts.append(f"{log.bad_events} of {log.read_events} events could not be read")
    if log.too_long:
        texts.append(f"{format_count(log.too_long, 'line')} of more than 64 MiB skipped")
    for tasks in log.application.tasks.values():
        tasks.flush()  # rows of incomplete stages are still buffered
    invalid = sum(tasks.invalid for tasks in log.application.tasks.values())
    if invalid:
        texts.append(f"{format_count(invalid, 'task event')} made no sense")
    if log.other_application and not log.repeated:
        texts.append(
            f"another application begins after {format_count(log.read_events, 'event')}: only the "
            "first was read"
        )
    return [
        *_missing_rollovers(log.application), *texts, *_missing_beginning(log.application),
        *missing_jobs(log.application),
    ]  # fmt: skip


def repeated_notices(log: EventLog, name: str) -> tuple[Notice, ...]:
    """The notice that a file contains its log twice, as concatenated compressed files do."""
    if not log.repeated:
        return ()
    text = f"{name} holds its log again after {format_count(log.read_events, 'event')}"
    return (Notice("duplicate-runs", f"{text}: it was read once", "give each log once"),)


def _missing_rollovers(application: Application) -> list[str]:
    """The text on missing parts of a Databricks log, by the rollover numbers in its parts."""
    seen = application.rollovers
    if not seen:
        return []
    missing = [number + 1 for number in range(max(seen) + 1) if number not in seen]
    return [f"{parts_text(missing, max(seen) + 1)} missing"] if missing else []


def _missing_beginning(application: Application) -> list[str]:
    """The text on a missing beginning, with the number of jobs before the first one logged. A log
    compacted by the history server has the application's start but none of its finished jobs."""
    started = application.started_ms is not None
    before = application.jobs_before_log if started else min(application.jobs, default=0)
    if not application.stages or (started and not before):
        return []
    jobs = f", with its first {format_count(before, 'job')}" if before else ""
    return [f"the beginning of the application is missing{jobs}"]


def incomplete_notice(
    lost: Sequence[str],
    seconds: float,
    read: float | None,
    *,
    unlogged_seconds: float,
    complete: bool,
    damaged: bool,
    ended: bool,
    of_batch: bool,
) -> Notice:
    """The notice about what a log lacks.

    Args:
        read: input bytes read until the log ends, which is less than the job's input.
        ended: whether the log has the application's end; not asked of a micro-batch.
        unlogged_seconds: time in gaps with unknown activity, which does not count.
    """
    whose = "this micro-batch's" if of_batch else "the application's"
    what = ", ".join(lost) if lost else f"{whose} end is missing"
    counted = (
        "every task of this micro-batch is there"
        if complete
        else f"the run counts to its last event, {format_seconds(seconds)} after the start"
    )
    if unlogged_seconds:
        counted += f", without the {format_seconds(unlogged_seconds)} of which nothing is told"
    if not complete and read:
        counted += f"; input sizes are held against the {format_bytes(read)} read until then"
    return Notice(
        "incomplete-log",
        f"{what}; {counted}",
        _DAMAGED_REMEDY if damaged else _DROPPED_REMEDY if ended else _UNFINISHED_REMEDY,
    )
