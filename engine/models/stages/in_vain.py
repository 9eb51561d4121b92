"""Work done in vain for which a stage had to wait: its own, and what was written again for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray
from engine.stage_run import StageRun


def seconds_in_vain(stages: Sequence[StageRun]) -> FloatArray:
    """(s,) task time in vain that may have lengthened each stage.

    Where an executor is lost with its output, the stage that reads it is tried again, and waits for
    the tasks that write that output a second time: these count as in vain for the stage of which
    they are, which had ended before.
    """
    by_id = {stage.stage_id: stage for stage in stages}
    found = []
    for stage in stages:
        again = (by_id[parent].waste for parent in stage.parents if parent in by_id)
        repeated = sum(waste.seconds for waste in again if waste.retried_stages)
        found.append(stage.waste.seconds + (repeated if stage.waste.retried_stages else 0.0))
    return np.asarray(found)
