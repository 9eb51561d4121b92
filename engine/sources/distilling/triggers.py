"""The triggers of streaming queries as these reported them, and the trigger in which a job began.

The properties of a job name a batch, but not always its own. Spark sets them once a batch is
planned, so that jobs that list files for it still have those of the batch before. Threads of a pool
keep the properties of the batch in which they were started, and those of Python have none. A query
that failed in a batch repeats it when it is started again. What tells is when a job ran.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from engine.sources.distilling.idle_time import is_session
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Job

BatchKey = tuple[str, int]
"""A streaming query and the number of its batch."""

CLOCK_MS = 20
"""Tolerance for rounding of clocks: how long before its trigger a batch may begin, and how long
after it a job of its own may end."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger that a query reported, from its start to its end in epoch ms.

    Up to Spark 3.3 an idle query reports triggers without data under the number of the batch to
    come: no job began in them, and the report of the batch itself replaces them.
    """

    query: str
    batch: int
    start_ms: int
    end_ms: int

    @property
    def key(self) -> BatchKey:
        """Its query and batch."""
        return self.query, self.batch

    def covers(self, moment_ms: int, *, early_ms: int = 0) -> bool:
        """Whether a moment lies in it, or at most `early_ms` before."""
        return self.start_ms - early_ms <= moment_ms <= self.end_ms

    def is_over_by(self, moment_ms: int | None) -> bool:
        """Whether it had ended at a moment, whatever the rounding; not so for an unknown one."""
        return moment_ms is not None and moment_ms > self.end_ms + CLOCK_MS


@dataclass(frozen=True)
class Triggers:
    """The triggers of an application that have a start and a duration.

    Args:
        by_batch: of each batch.
        of_query: query -> its triggers by start.
        own_all_jobs: whether jobs that name no query are of one: in an interactive session somebody
            may ask for them beside a stream.
    """

    by_batch: Mapping[BatchKey, Trigger]
    of_query: Mapping[str, Sequence[Trigger]]
    own_all_jobs: bool = True

    @classmethod
    def of(cls, application: Application) -> Triggers:
        """Those that the queries of an application reported."""
        by_batch = dict[BatchKey, Trigger]()
        of_query: defaultdict[str, list[Trigger]] = defaultdict(list)
        for (query, batch), report in application.batches.items():
            start_ms = epoch_ms(report.started)
            if start_ms is not None and report.duration_ms:
                trigger = Trigger(query, batch, start_ms, start_ms + report.duration_ms)
                by_batch[query, batch] = trigger
                of_query[query].append(trigger)
        for triggers in of_query.values():
            triggers.sort(key=lambda trigger: trigger.start_ms)
        return cls(by_batch, of_query, own_all_jobs=not is_session(application))

    def of_job(self, job: Job) -> Trigger | None:
        """The trigger in which a job began: that of the batch which it names, else one of its
        query. One that names no query is of that which was then at work alone. None where it began
        in none, or may be of several."""
        if job.submitted_ms is None:
            return None
        if job.query is None and job.batch_id is None:
            return self._alone_at(job.submitted_ms)
        named = self.named_by(job)
        if named is not None and named.covers(job.submitted_ms, early_ms=CLOCK_MS):
            return named
        return self._at(job.query or "", job.submitted_ms)

    def named_by(self, job: Job) -> Trigger | None:
        """The trigger of the batch that a job names; None where it names none, or an unreported."""
        return None if job.batch_id is None else self.by_batch.get((job.query or "", job.batch_id))

    def is_over(self, key: BatchKey) -> bool:
        """Whether a query reported a batch and a later one. Its last report may be of an idle
        trigger, and its batch still to come."""
        query, batch = key
        return key in self.by_batch and batch < self._last_batch[query]

    @cached_property
    def _last_batch(self) -> Mapping[str, int]:
        """Query -> the last batch that it reported."""
        return {
            query: max(trigger.batch for trigger in triggers)
            for query, triggers in self.of_query.items()
        }

    def is_failed_attempt(self, job: Job) -> bool:
        """Whether a job began before the trigger of the batch that it names: what a query reports
        of a batch is its last attempt."""
        named = self.named_by(job)
        if named is None or job.submitted_ms is None:
            return False
        return job.submitted_ms < named.start_ms - CLOCK_MS

    def _alone_at(self, moment_ms: int) -> Trigger | None:
        """The only trigger at a moment; None where there are none or several."""
        queries = self.of_query if self.own_all_jobs else ()
        found = [one for query in queries if (one := self._at(query, moment_ms)) is not None]
        return found[0] if len(found) == 1 else None

    def _at(self, query: str, moment_ms: int) -> Trigger | None:
        triggers = self.of_query.get(query, ())
        index = bisect_right(triggers, moment_ms, key=lambda trigger: trigger.start_ms)
        last = triggers[index - 1] if index else None
        return last if last is not None and last.covers(moment_ms) else None


def epoch_ms(text: str) -> int | None:
    """Epoch milliseconds of an ISO 8601 time in UTC; None where it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000.0)
