"""Settings that a program makes while it runs: `spark.conf.set(...)`, SET of SQL.

The environment of a log tells those with which the application began. Jobs of SQL queries tell all
that their session had when they were submitted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from msgspec import Struct, field

from engine.notices import Notice
from engine.sources.logs.kept_settings import is_harmless, is_kept
from engine.units import format_share

SESSION = b'"spark.sql.execution.id":"'
"""Among the properties of a job: it belongs to a query, and tells the settings of its session."""

_KEY = re.compile(r"spark\.sql\.[\w.-]{1,96}\Z", re.ASCII)

NAMED = 3
WORTH_SAYING = 0.1
"""So many changed settings are named, from this share of the task time of queries on that had
another value."""


class JobSettings(Struct, frozen=True, gc=False):
    """`SparkListenerJobStart`, of which this looks at the properties alone."""

    job: int = field(name="Job ID")
    properties: dict[str, msgspec.Raw] | None = field(default=None, name="Properties")


@dataclass(frozen=True)
class InForce:
    """The settings under which a run is taken to have run, and what is to be said of them."""

    properties: Mapping[str, str]
    notices: tuple[Notice, ...] = ()


class SessionSettings:
    """The settings that the sessions of queries had, by job."""

    def __init__(self) -> None:
        self._of_job: dict[int, dict[str, str]] = {}
        self._alike: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def job_started(self, event: JobSettings) -> None:
        """Those of a job of a query; most have the same."""
        told: dict[str, str] = {}
        for key, raw in (event.properties or {}).items():
            if _KEY.match(key) and is_kept(key):
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    value = msgspec.json.decode(raw, type=str)
                    told |= {key: value} if is_harmless(value) else {}
        same = tuple(sorted(told.items()))
        self._of_job[event.job] = self._alike.setdefault(same, told)

    def in_force(
        self, properties: Mapping[str, str], task_seconds: Iterable[tuple[Iterable[int], float]]
    ) -> InForce:
        """The properties of the application, with those of the sessions: of several values of one
        the value with which queries ran longest.

        Args:
            properties: with which it began.
            task_seconds: of each stage, the jobs that it is of and what its tasks took.
        """
        keys = sorted({key for told in self._alike.values() for key in told})
        spent: dict[str, defaultdict[str | None, float]] = {k: defaultdict(float) for k in keys}
        for jobs, seconds in task_seconds if keys else ():
            told = next((self._of_job[job] for job in jobs if job in self._of_job), None)
            if told is not None:
                for key in keys:
                    spent[key][told.get(key, properties.get(key))] += seconds
        found, changed = dict(properties), dict[str, float]()
        for key, values in spent.items():
            if not values:
                continue
            chosen = max(values, key=lambda value: (values[value], value or ""))
            found.pop(key, None)
            found |= {} if chosen is None else {key: chosen}
            total = sum(values.values())
            if total - values[chosen] >= WORTH_SAYING * total > 0.0:
                changed[key] = 1.0 - values[chosen] / total
        return InForce(found, (_changed(changed, found),) if changed else ())


def _changed(others: Mapping[str, float], found: Mapping[str, str]) -> Notice:
    """That settings were changed, by the share of task time in which they had other values."""
    first = sorted(others, key=lambda key: -others[key])
    told = [f"{key} ({found.get(key, 'default')})" for key in first[:NAMED]]
    more = f" and {len(first) - NAMED} more" if len(first) > NAMED else ""
    return Notice(
        "settings-changed",
        f"the program changed settings while it ran, {', '.join(told)}{more}: these values are "
        f"taken for all of it, and queries of {format_share(others[first[0]])} of the task time "
        "had others",
        "for sharper answers give logs of the queries by themselves",
    )
