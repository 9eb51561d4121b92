"""What SimCost says of a prediction: phases, what bounds the job, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.log_notices import single_run_notice
from engine.models.simcost.learning import RunCosts
from engine.models.simcost.rates import FROM_LOG, NOTHING_SEEN
from engine.models.simcost.sampling import CONFIDENCE, EPSILON, Estimate, is_enough, rounds_needed
from engine.models.simcost.stages import Clusters, Stages, predicted_seconds
from engine.models.stages.disturbance import disturbance_notices
from engine.models.stages.pauses import pause_notice
from engine.notices import Notice, in_order
from engine.units import format_share

OVERHEAD, STRAGGLERS = "overhead", "stragglers"
COMPUTE, READ, WRITE, SHUFFLE = "compute", "read", "write", "shuffle"

INTENSIVE = 0.5
"""7: a job is CPU- or shuffle-intensive when that takes more than half of its time."""

BOUNDS = {COMPUTE: "cpu", READ: "read", WRITE: "write", SHUFFLE: "shuffle", OVERHEAD: "overhead",
          STRAGGLERS: "skew"}  # fmt: skip

IDLE = 0.5
"""Slots are reported as too many when so few of them have a task in the largest stage."""


def phases(
    stages: Stages, at: Clusters, overhead_seconds: float, *, seconds: float
) -> Mapping[str, float]:
    """Seconds of each cost on the one cluster, stretched to the predicted `seconds`.

    Stragglers are what the total falls by without long tasks: how long they are waited for depends
    on all that a task does. Of tasks that are alike the cost model is linear in each cost.
    """
    none = np.zeros_like(at.rates)

    def total(left: Stages, rates: FloatArray) -> float:
        at_rates = replace(at, rates=rates)
        return float(predicted_seconds(left, at_rates, overhead_seconds=overhead_seconds)[0])

    zero = np.zeros_like(stages.partitions)
    alike = replace(stages, straggler_seconds=zero, longest_seconds=zero)
    still = replace(alike, compute_seconds_per_byte=zero)
    bare = total(still, none)
    phase_seconds = {OVERHEAD: bare, STRAGGLERS: total(stages, at.rates) - total(alike, at.rates)}
    phase_seconds[COMPUTE] = total(alike, none) - bare
    for name, columns in ((READ, [0]), (WRITE, [1]), (SHUFFLE, [2, 3])):
        rates = none.copy()
        rates[:, columns] = at.rates[:, columns]
        phase_seconds[name] = total(still, rates) - bare
    factor = seconds / sum(phase_seconds.values())
    return {name: value * factor for name, value in phase_seconds.items()}


def bottleneck(phases: Mapping[str, float]) -> str | None:
    """7: what takes more than half of the time; None where nothing does."""
    whole = sum(phases.values())
    name = max(phases, key=phases.__getitem__)
    return BOUNDS[name] if phases[name] > INTENSIVE * whole else None


def fit_notices(learnt: Sequence[RunCosts]) -> tuple[Notice, ...]:
    """What is to be said of the evidence itself."""
    runs = [run.run for run in learnt]
    notices = [*(notice for run in runs for notice in run.notices), single_run_notice(runs)]
    for run in learnt:
        notices += rate_notices(run)
    return in_order([*notices, *disturbance_notices(runs), pause_notice(runs)])


def rate_notices(run: RunCosts) -> Iterator[Notice]:
    """Where the rates of network and disks come from, unless they were measured."""
    origin = run.rates.origin
    measure = "measure them on a node (sparkplan measure-host --resources FILE) and add --resources"
    if origin in (FROM_LOG, NOTHING_SEEN):
        yield Notice(
            "rates-from-log",
            f"the rates of network and disks are taken from {origin}; a small run may not "
            "reach their limits",
            f"{measure} FILE, or name the nodes with --ran-on",
        )
    elif run.rates_from_shape:
        yield Notice(
            "rates-from-catalog",
            f"the rates of network and disks are the nominal ones of {origin}",
            f"{measure} FILE",
        )
    if run.rates.shared and run.faster > FASTER_NOTICE:
        yield Notice(
            "rates-too-low",
            f"stages that take {format_share(run.faster)} of the time moved their data faster "
            f"than {origin} allows: it was in memory already, or the rates are too low",
            "measure the rates again, on the nodes that ran the job",
        )


FASTER_NOTICE = 0.1


def idle_notice(run: RunCosts, slots: float, ratio: float) -> Notice | None:
    """Whether even the stage of most tasks leaves half of the slots idle."""
    stages, _ = run.at(ratio=ratio, shuffle_partitions=None, iterations=None)
    most = float(stages.partitions.max())
    if most >= IDLE * slots:
        return None
    return Notice(
        "too-few-tasks",
        f"no stage has more than {most:.0f} tasks for {slots:.0f} slots",
        "use fewer slots, or more partitions",
        subject="the slots",
        severity=slots,
    )


def samples_notice(samples: Estimate) -> Notice | None:
    """Eq. 6: whether more sample runs are needed before the mean can be trusted."""
    if is_enough(samples, epsilon=EPSILON * samples.mean):
        return None
    severity = samples.half_width / samples.mean
    needed = rounds_needed(samples, epsilon=EPSILON * samples.mean, confidence=CONFIDENCE)
    return Notice(
        "more-samples",
        f"{samples.count} runs agree on the mean only within "
        f"{format_share(severity)} ({format_share(CONFIDENCE)} confidence)",
        f"SimCost's stopping rule asks for {format_share(EPSILON)}: about {needed} runs like these",
        subject="the mean",
        severity=severity,
    )
