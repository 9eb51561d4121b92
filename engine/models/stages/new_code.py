"""How much of an observed run its slots lost to new code: classes that were loaded, code that was
interpreted until it was compiled, and the start of the executors.

In: a run and the models of its stages. Out: seconds of its run time. Explained in
docs/models/sparkplan_rules_replay.md#new-code-that-threads-share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.job_phases import driver_seconds
from engine.profile import Run


def new_code_seconds(run: Run, models: Sequence[StageModel]) -> float:
    """Seconds of a run in which its slots did what they would not on warm code: the share of its
    tasks' time beyond what as many later tasks take, of the time in which stages ran."""
    slot_seconds = np.asarray([_slot_seconds(model) for model in models])
    total, lost = slot_seconds.sum(axis=0)
    return float((run.seconds - driver_seconds(run)) * lost / total) if total > 0.0 else 0.0


def _slot_seconds(model: StageModel) -> tuple[float, float]:
    """All time of a stage's tasks, and what of it is lost to new code."""
    first, warm = model.stage.first_wave_seconds, model.mean_seconds * model.stage.tasks
    started = model.cold_excess * (first.count if first is not None else 0)
    late = 1.0 if model.warm_up is None else model.warm_up.late
    return warm + started, (1.0 - late) * warm + started
