"""Other iterations than those of a log: the time of its repeated stages, in proportion.

In: a run and the wanted iterations. Out: a log factor on its time, and a warning. Explained in
docs/models/sparkplan_rules_logs.md#iterations.
"""

from __future__ import annotations

import math
from collections import Counter

from engine.cluster import Workload
from engine.notices import Notice
from engine.profile import Run
from engine.units import format_share


def log_iterations(run: Run, wanted: Workload) -> float:
    """Log of the factor by which other iterations than a log's change its time: the stages that are
    repeated, and the driver's time among them, in proportion."""
    in_log = run.workload.iterations
    if in_log is None or wanted.iterations is None or in_log == wanted.iterations:
        return 0.0
    return math.log(1.0 + repeated_share(run) * (wanted.iterations / in_log - 1.0))


def repeated_share(run: Run) -> float:
    """Share of a run's time from the first to the last stage that is run again in each
    iteration, known by its name; 0 where none is."""
    times = max(2.0, (run.workload.iterations or 1.0) / 2.0)
    names = Counter(stage.name for stage in run.stages)
    repeated = [stage for stage in run.stages if names[stage.name] >= times]
    if not repeated:
        return 0.0
    span = max(s.completed_seconds for s in repeated) - min(s.submitted_seconds for s in repeated)
    return min(1.0, span / run.seconds)


def iteration_notice(run: Run, wanted: Workload) -> Notice | None:
    """That the time is scaled to other iterations than the log's."""
    in_log = run.workload.iterations
    if in_log is None or wanted.iterations is None or in_log == wanted.iterations:
        return None
    share = repeated_share(run)
    text = (
        f"scaled linearly from {in_log:g} to {wanted.iterations:g} iterations: "
        f"{format_share(share)} of the time is repeated"
        if share
        else f"no stages are seen to repeat: {wanted.iterations:g} iterations are given the time "
        f"of {in_log:g}"
    )
    remedy, subject = "add a log with that many iterations", "iterations"
    return Notice("extrapolating-iterations", text, remedy, subject=subject)
