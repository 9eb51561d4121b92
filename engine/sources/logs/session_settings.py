"""Settings changed at run time: `spark.conf.set(...)`, SQL `SET`.

The environment event has the settings at the application's start. Jobs of SQL queries list all
settings of their session at submission, as do those that infer a schema, outside of any query.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from engine.notices import Notice
from engine.sources.logs.kept_settings import is_kept, kept_config, looks_like_setting
from engine.units import format_share

SESSION = b'"spark.sql.'
"""In the properties of a job: it belongs to a SQL query, or infers a schema for one
(`SQLExecution.withSQLConfPropagated`), and lists its session's settings."""

_QUERY = "spark.sql.execution.id"
_SESSION_KEY = re.compile(r"spark\.sql\.(?!execution\.)", re.ASCII)
_KEY = re.compile(r"spark\.sql\.[\w.-]{1,96}\Z", re.ASCII)

MOST_NAMED = 3
NOTICEABLE_SHARE = 0.1
"""A notice names up to `MOST_NAMED` changed settings, if queries with at least `NOTICEABLE_SHARE`
of the task time had another value."""


class JobSettings(Struct, frozen=True, gc=False):
    """`SparkListenerJobStart`, properties only."""

    job: int = msgspec.field(name="Job ID")
    properties: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="Properties")


@dataclass(frozen=True)
class EffectiveSettings:
    """The settings of most of a run, and notices about settings that changed in it.

    Args:
        other_of_job: of each job whose session's settings are known those that differ, by name; an
            empty value stands for Spark's default.
    """

    properties: Mapping[str, str]
    notices: tuple[Notice, ...] = ()
    other_of_job: Mapping[int, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def other_settings(self, jobs: Iterable[int]) -> tuple[tuple[str, str], ...]:
        """`StageRun.query_settings` of a stage of these jobs."""
        return next((self.other_of_job[job] for job in jobs if job in self.other_of_job), ())


class SessionSettings:
    """Collects the session settings of the jobs that list them."""

    def __init__(self) -> None:
        self._of_job: dict[int, dict[str, str]] = {}
        self._distinct: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def job_started(self, event: JobSettings) -> None:
        """Records the settings of a job of SQL; equal ones are stored once. Jobs of RDDs list
        none."""
        properties = event.properties or {}
        if _QUERY not in properties and not any(map(_SESSION_KEY.match, properties)):
            return
        settings: dict[str, str] = {}
        for key, raw in properties.items():
            if _KEY.match(key) and is_kept(key):
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    value = msgspec.json.decode(raw, type=str)
                    settings |= {key: value} if looks_like_setting(value) else {}
        key_values = tuple(sorted(settings.items()))
        self._of_job[event.job] = self._distinct.setdefault(key_values, settings)

    def effective(
        self, properties: Mapping[str, str], task_seconds: Iterable[tuple[Iterable[int], float]]
    ) -> EffectiveSettings:
        """The application's properties, overridden by session settings. Of several values of a
        setting the one with the most task time wins.

        Args:
            properties: those at the application's start. What a session does not list is as there,
                if it is a setting that is kept.
            task_seconds: per stage, its job ids and its task time.
        """
        began = kept_config(properties)
        keys = sorted({key for settings in self._distinct.values() for key in settings})
        spent: dict[str, defaultdict[str | None, float]] = {k: defaultdict(float) for k in keys}
        for jobs, seconds in task_seconds if keys else ():
            settings = next((self._of_job[job] for job in jobs if job in self._of_job), None)
            if settings is not None:
                for key in keys:
                    spent[key][settings.get(key, began.get(key))] += seconds
        effective, changed = dict(properties), dict[str, float]()
        for key, values in spent.items():
            if not values:
                continue
            chosen = max(values, key=lambda value: (values[value], value or ""))
            effective.pop(key, None)
            effective |= {} if chosen is None else {key: chosen}
            total = sum(values.values())
            if total - values[chosen] >= NOTICEABLE_SHARE * total > 0.0:
                changed[key] = 1.0 - values[chosen] / total
        notices = (_changed(changed, effective),) if changed else ()
        usual = kept_config(effective)
        others = {
            id(settings): _others(settings, began, usual, keys)
            for settings in self._distinct.values()
        }
        of_job = {job: others[id(settings)] for job, settings in self._of_job.items()}
        return EffectiveSettings(effective, notices, of_job)


def _others(
    session: Mapping[str, str],
    began: Mapping[str, str],
    usual: Mapping[str, str],
    keys: Iterable[str],
) -> tuple[tuple[str, str], ...]:
    """The settings of a session that differ from the usual ones.

    Args:
        began: what it has where it lists nothing.
        keys: the settings that any session lists.
    """
    values = ((key, session.get(key, began.get(key))) for key in keys)
    return tuple((key, value or "") for key, value in values if value != usual.get(key))


def _changed(others: Mapping[str, float], settings: Mapping[str, str]) -> Notice:
    """The notice about changed settings.

    Args:
        others: setting -> share of task time with other values.
    """
    first = sorted(others, key=lambda key: -others[key])
    texts = [f"{key} = {settings.get(key, 'default')}" for key in first[:MOST_NAMED]]
    more = f" and {len(first) - MOST_NAMED} more" if len(first) > MOST_NAMED else ""
    return Notice(
        "settings-changed",
        f"the program changed settings while it ran: {', '.join(texts)}{more} in most of it, and "
        f"queries of {format_share(others[first[0]])} of the task time had other values. Each is "
        "predicted with its own; exports carry those of most of it",
        "leave the settings in the program, where they override those of an export",
    )
