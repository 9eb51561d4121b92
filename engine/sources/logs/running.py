"""Tasks that were running where a log breaks off: started, and not seen to end.

Starts are not decoded while a log is read, since they say nothing that ends do not; the last ones
are remembered as they stand, and looked at where the application's end is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from engine.sources.logs import events, measures
from engine.sources.logs.application import Application
from engine.sources.logs.task_summary import MS
from engine.stage_run import Measure

REMEMBERED_STARTS = 8192
"""Of so many last starts it is told which have not ended: more than the slots of most clusters. A
task that began before them is not known to run."""

_decode = msgspec.json.Decoder(events.TaskStart).decode


def running_seconds(
    application: Application, starts: Iterable[bytes], *, end_ms: int
) -> Mapping[int, Measure]:
    """How long the tasks of each stage had run at the end of a log that does not tell the end of
    the application; of stages that were going on, by id."""
    if application.ended_ms is not None:
        return {}
    last: dict[tuple[int, int], int] = {}
    for line in starts:
        try:
            event = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        info = event.info
        place = info.partition if info.partition >= 0 else info.index
        last[event.stage, place] = info.launch_ms
    ages: dict[int, list[int]] = {}
    for (stage_id, place), launch_ms in last.items():
        stage = application.stages.get(stage_id)
        if stage is None or any(a.completed_ms is not None for a in stage.attempts.values()):
            continue
        if not stage.tasks.has_ended(place, launch_ms) and 0 < launch_ms <= end_ms:
            ages.setdefault(stage_id, []).append(end_ms - launch_ms)
    return {stage_id: _measure(own) for stage_id, own in ages.items()}


def _measure(ages_ms: list[int]) -> Measure:
    points = (measures.PRIMARY_VALUES,)
    (found,) = measures.of_columns(np.asarray([ages_ms]), units=(MS,), points=points)
    assert found is not None
    return found
