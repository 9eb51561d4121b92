"""What an estimate by states should be taken with: rates, speeds and distances, as notices."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from engine.machines.transfer import transfer_notice
from engine.models.boe.plan import ScaledPlan, Target, WorkflowPlan
from engine.models.log_notices import FAR, range_notices
from engine.notices import Notice

PRIOR_INTERVAL = Notice(
    "prior-interval",
    "the interval rests on the errors that the method's authors report, not on measurement",
    "compare it with a run of your own",
)


def rate_notices(plan: WorkflowPlan, target: Target) -> Iterator[Notice]:
    """Where the disk and network rates of the nodes come from, when no catalog says."""
    needs = [entry.work for entry in ScaledPlan(plan).activities]
    uses = {
        "disk": any(step.disk_bytes > 0.0 for work in needs for step in work.steps),
        "network": any(step.network_bytes > 0.0 for work in needs for step in work.steps),
    }
    sources = {"disk": target.rates.disk_from, "network": target.rates.network_from}
    for name, source in sources.items():
        if not uses[name]:
            continue
        if source == "learnt":
            yield Notice(
                "rates-learnt",
                f"the {name} rate of the nodes is not known: the fastest that a stage of the "
                "log achieved is taken, a lower bound",
                "name a type of a catalog that gives it, or say where the log ran",
            )
        elif source == "kind of disk":
            yield Notice(
                "rates-assumed",
                f"the throughput of local disks is assumed by their kind "
                f"({(target.rates.disk or 0.0) / 1e6:,.0f} MB/s a node)",
                "measure the disks of such a node",
                subject="the disks",
                severity=-(target.rates.disk or 0.0),
            )
        elif source is None:
            yield Notice(
                "rates-unknown",
                f"the {name} rate of the nodes is not known: it never bounds a task here",
                "give it in the workflow file under cluster, or name a type of a catalog",
            )


def speed_notices(plan: WorkflowPlan, target: Target) -> Iterator[Notice | None]:
    """The speed of cores that were not measured."""
    for part in plan.parts:
        if part.observed is not None or part.job.ran_on is not None:
            yield transfer_notice(part.speed_on(target), target.instance)
    explicit = [p.job.name for p in plan.parts if p.observed is None and p.job.ran_on is None]
    if explicit and target.instance is not None:
        yield Notice(
            "speed-as-given",
            f"job {explicit[0]} gives seconds of a core without a type: every core is taken "
            "to be as fast",
            "add ran_on: TYPE to its stages",
        )


def far_notices(plan: WorkflowPlan, target: Target, scale: float) -> list[Notice | None]:
    """Clusters and inputs far from what was observed: each by the first job that is, or the input
    that is farthest."""
    pairs = [(part.observed.slots, part.ratio * scale) for part in plan.parts if part.observed]
    if not pairs:
        return []
    slots, ratios = np.asarray(pairs, dtype=float).T
    first = (np.abs(np.log2(target.slots / slots)) >= math.log2(FAR)).argmax()
    farthest = np.abs(np.log2(ratios)).argmax()
    return range_notices(np.asarray([target.slots]), slots[[first]], ratios[[farthest]])
