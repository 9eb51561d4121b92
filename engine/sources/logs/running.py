"""Tasks that were still running where a log breaks off: started, without an end event.

Task starts are not decoded while a log is read, since task ends repeat their content. The last ones
are kept undecoded and examined if the application's end is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from engine.sources.logs import events, measures
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Stage
from engine.sources.logs.task_summary import MS
from engine.stage_run import Measure

REMEMBERED_STARTS = 8192
"""Number of last task starts that are kept: more than the slots of most clusters. A running task
that started earlier is not found."""

_decode = msgspec.json.Decoder(events.TaskStart).decode


def running_seconds(
    application: Application, starts: Iterable[bytes], *, end_ms: int
) -> Mapping[int, Measure]:
    """Elapsed times of the tasks that were running when the log broke off, by stage id; empty where
    the log has the application's end."""
    if application.ended_ms is not None:
        return {}
    last: dict[tuple[int, int], int] = {}
    for line in starts:
        try:
            event = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        info = event.info
        partition = info.partition if info.partition >= 0 else info.index
        last[event.stage, partition] = info.launch_ms
    ages: dict[int, list[int]] = {}
    for (stage_id, partition), launch_ms in last.items():
        stage = application.stages.get(stage_id)
        if stage is None or _last_attempt_completed(stage):
            continue
        if not stage.tasks.has_ended(partition, launch_ms) and 0 < launch_ms <= end_ms:
            ages.setdefault(stage_id, []).append(end_ms - launch_ms)
    return {stage_id: _measure(stage_ages) for stage_id, stage_ages in ages.items()}


def _last_attempt_completed(stage: Stage) -> bool:
    """Whether a stage is not running; one that was tried again after a failure may be."""
    last = max(stage.attempts, default=None)
    return last is not None and stage.attempts[last].completed_ms is not None


def _measure(ages_ms: list[int]) -> Measure:
    points = (measures.PRIMARY_VALUES,)
    (measure,) = measures.of_columns(np.asarray([ages_ms]), units=(MS,), points=points)
    assert measure is not None
    return measure
