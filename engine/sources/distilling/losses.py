"""What a broken log no longer tells, in words and numbers.

What can be counted is counted (lines that are no events, parts that are not there, tasks that a
stage is known to have). Where only the share of a file is known that could not be decoded, events
and seconds are estimated from the rest of it and said with "about".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.notices import Notice
from engine.sources.access.codecs import Stream
from engine.sources.access.folders import parts_text
from engine.sources.distilling.holes import missing_jobs
from engine.sources.logs.application import Application
from engine.sources.logs.eventlog import EventLog
from engine.units import format_bytes, format_count, format_seconds

_UNFINISHED_REMEDY = "let the application end, or give the log of a run that did"
_DAMAGED_REMEDY = "fetch the log again, or give that of a run that ended"


@dataclass(slots=True)
class Losses:
    """Follows the reading of the parts of a log and collects what is missing.

    `begin` is called before a part is read and `end` after it.
    """

    texts: list[str] = field(default_factory=list)
    _events_before: int = field(default=0, init=False)
    _last_before_ms: int = field(default=0, init=False)
    _parts: int = field(default=0, init=False)
    _missing_parts: int = field(default=0, init=False)
    _hole_ms: int = field(default=0, init=False)

    def begin(self, log: EventLog) -> None:
        """Notes where the log stands before its next part."""
        self._events_before = log.read_events
        self._last_before_ms = log.application.last_ms
        log.application.part_first_ms = None

    def end(self, log: EventLog, stream: Stream, *, missing_before: int = 0) -> None:
        """Notes what the part that was just read has lost.

        Args:
            missing_before: parts that are not there between this one and the one before it.
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
        """A stream that ended early: by how much, where the size of its file tells."""
        unread = stream.unread_over_read()
        lost = 0 if unread is None else round(events * unread)
        if unread is None or lost < 1:
            return f"{stream.lost} after {format_count(log.read_events, 'event')}"
        first = log.application.part_first_ms
        spent = 0 if first is None else log.application.last_ms - first
        seconds = format_seconds(max(spent, 1) / 1000.0 * unread)
        total = log.read_events + lost
        return f"{stream.lost}: about {lost} of {total} events are lost, the last {seconds}"

    def of_parts(self, named: Sequence[str], events: int) -> list[str]:
        """The texts on missing parts, with about how much each stands for."""
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


def of_events(log: EventLog) -> list[str]:
    """What the lines that were read show to be missing."""
    found = []
    if log.torn_parts:
        found.append(
            f"the last of {format_count(log.read_events + log.torn_parts, 'event')} was torn"
        )
    if log.bad_events:
        found.append(f"{log.bad_events} of {log.read_events} events could not be read")
    if log.too_long:
        found.append(f"{format_count(log.too_long, 'line')} of more than 64 MiB skipped")
    for tasks in log.application.tasks.values():
        tasks.flush()  # those of stages under way wait to be looked at
    invalid = sum(tasks.invalid for tasks in log.application.tasks.values())
    if invalid:
        found.append(f"{format_count(invalid, 'task event')} made no sense")
    if log.other_application and not log.repeated:
        found.append(
            f"another application begins after {format_count(log.read_events, 'event')}: only the "
            "first was read"
        )
    return [
        *_rollovers(log.application), *found, *_beginning(log.application),
        *missing_jobs(log.application),
    ]  # fmt: skip


def repeated_notices(log: EventLog, name: str) -> tuple[Notice, ...]:
    """That a file holds a whole log more than once, as packed files do that were joined."""
    if not log.repeated:
        return ()
    text = f"{name} holds its log again after {format_count(log.read_events, 'event')}"
    return (Notice("duplicate-runs", f"{text}: it was read once", "give each log once"),)


def _rollovers(application: Application) -> list[str]:
    """Parts of a Databricks log that are not there, by the numbers in the parts themselves."""
    seen = application.rollovers
    if not seen:
        return []
    missing = [number + 1 for number in range(max(seen) + 1) if number not in seen]
    return [f"{parts_text(missing, max(seen) + 1)} missing"] if missing else []


def _beginning(application: Application) -> list[str]:
    """A log without its first events: how many jobs came before those that it has. One that a
    history server has compacted tells its start, and of jobs that had ended nothing."""
    started = application.started_ms is not None
    before = application.jobs_before if started else min(application.jobs, default=0)
    if not application.stages or (started and not before):
        return []
    jobs = f", with its first {format_count(before, 'job')}" if before else ""
    return [f"the beginning of the application is missing{jobs}"]


def incomplete_notice(
    lost: Sequence[str],
    seconds: float,
    read: float | None,
    *,
    untold_seconds: float,
    complete: bool,
    damaged: bool,
    of_batch: bool,
) -> Notice:
    """What a log lacks; its `read` bytes are less than the job's input, which a wanted size is. Of
    `untold_seconds` nobody knows what was done in them: they are not counted."""
    whose = "this micro-batch's" if of_batch else "the application's"
    said = ", ".join(lost) if lost else f"{whose} end is missing"
    counted = (
        "every task of this micro-batch is there"
        if complete
        else f"the run counts to its last event, {format_seconds(seconds)} after the start"
    )
    if untold_seconds:
        counted += f", without the {format_seconds(untold_seconds)} of which nothing is told"
    if not complete and read:
        counted += f"; input sizes are held against the {format_bytes(read)} read until then"
    return Notice(
        "incomplete-log",
        f"{said}; {counted}",
        _DAMAGED_REMEDY if damaged else _UNFINISHED_REMEDY,
    )
