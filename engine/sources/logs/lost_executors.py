"""Executors that died, told from those that were given back: by what Spark wrote when they went.

An executor that dynamic allocation sends away when it is idle, or that the driver asks to stop, is
no mishap; one that crashed, that its node took along, or that was never heard of again is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from engine.notices import Notice
from engine.sources.logs.entities import Executor
from engine.units import format_count, format_seconds

LONGEST_REASON = 100
"""Characters of Spark's reason that are shown: diagnostics of containers run to pages."""

_GIVEN_BACK = re.compile(r"killed by driver|explicit termination request|scale.?down", re.I)
_DECOMMISSIONED = re.compile(r"decommission", re.I)
_NO_MORE_SAID = re.compile(r"executor decommission(?:ed)?\W*", re.I)

_OUT_OF_MEMORY = (
    r"(?:code|status)(?: is)?:? ?(?:137|52)\b|memory limits|memoryOverhead|OutOfMemory|\bOOM"
)
_NODE_WENT = (
    r"decommission|preempt|evict|\bspot\b|lost\W{0,2} node|worker (?:lost|shutting)|deleted by"
)
_SILENT = r"heartbeat timed out|disassociated"

_REMEDIES = (
    (
        re.compile(_OUT_OF_MEMORY, re.I),
        "this is mostly a lack of memory: give executors more (spark.executor.memoryOverhead, "
        "spark.executor.memory) or fewer cores, and log a run without the loss",
    ),
    (
        re.compile(_NODE_WENT, re.I),
        "nodes that were taken away (spot, preempted, decommissioned): plan with --spot for "
        "interruptions, and log a run on nodes that stay",
    ),
    (
        re.compile(_SILENT, re.I),
        "look for long garbage collection, lack of memory or a broken network in the executor's "
        "own log, and log a run without the loss",
    ),
)
_OTHERWISE = "look for the cause in the executor's own log, and log a run without the loss"


def on_demand(properties: Mapping[str, str]) -> bool:
    """Whether the number of executors follows the load, by the settings."""
    return properties.get("spark.dynamicAllocation.enabled", "").lower() == "true" or _autoscales(
        properties
    )


def _autoscales(properties: Mapping[str, str]) -> bool:
    scaling = properties.get("spark.databricks.clusterUsageTags.clusterScalingType", "")
    return scaling.lower() == "autoscaling"


def was_lost(executor: Executor, properties: Mapping[str, str]) -> bool:
    """Whether an executor that went was not sent away.

    Where the log gives no reason, the settings decide: one that nobody could have sent was lost.
    """
    reason = executor.removed_reason
    if _GIVEN_BACK.search(reason):
        return False
    if _autoscales(properties) and _DECOMMISSIONED.search(reason):
        return False
    unsaid = not reason.strip() or _NO_MORE_SAID.fullmatch(reason.strip()) is not None
    return not (unsaid and on_demand(properties))


def decommissions(properties: Mapping[str, str]) -> bool:
    """Whether executors get no more tasks from when their node is to go, until it does."""
    return properties.get("spark.decommission.enabled", "").lower() == "true"


def drained_ms(
    executor: Executor, properties: Mapping[str, str], last_end_ms: int | None
) -> int | None:
    """When an executor was done with its tasks that was decommissioned, and only handed on its
    blocks from then on; None for others. One that was sent away because it was idle could have had
    more until then.

    Args:
        last_end_ms: end of its last task.
    """
    if executor.removed_ms is None or last_end_ms is None:
        return None
    decommissioned = _DECOMMISSIONED.search(executor.removed_reason) is not None
    if not (decommissioned and was_lost(executor, properties)):
        return None
    return last_end_ms if (executor.added_ms or 0) < last_end_ms < executor.removed_ms else None


STOPPING_MS = 5_000
"""How long before the end of an application that is stopped from outside its executors may go."""

_TERMINATED = re.compile(r"(?:code|status)(?: is)?:? ?143\b", re.I)


def was_stopped(executor: Executor, end_ms: int) -> bool:
    """Whether an executor was ended (SIGTERM, 143) along with its application: somebody killed the
    application, and the executor is not the reason of anything. YARN ends those that take too much
    memory by the same signal, and says so.

    Args:
        end_ms: when the application ended, or its log did.
    """
    reason, went = executor.removed_reason, executor.removed_ms
    if went is None or went < end_ms - STOPPING_MS or re.search(_OUT_OF_MEMORY, reason, re.I):
        return False
    return _TERMINATED.search(reason) is not None


def lost_notice(lost: Sequence[Executor], *, executors: int, started_ms: int) -> Notice | None:
    """The warning that executors were lost: how many, when, and what Spark says of it.

    Args:
        lost: those that went before the last stage ended.
        executors: how many the application ever had.
    """
    if not lost:
        return None
    first = min(lost, key=lambda executor: executor.removed_ms or 0)
    kinds = [_remedy(executor.removed_reason) for executor in lost]
    remedy = Counter(kinds).most_common(1)[0][0]
    told = next(e.removed_reason for e, kind in zip(lost, kinds, strict=True) if kind == remedy)
    after = format_seconds(max(0, (first.removed_ms or 0) - started_ms) / 1000.0)
    went = "was lost" if len(lost) == 1 else "were lost, the first"
    number = f"{len(lost)} of {format_count(executors, 'executor')}"
    said = shortened(told)
    why = f'Spark says "{said}"' if said else "the log does not say why"
    return Notice(
        "lost-executors",
        f"{number} {went} {after} after the start ({why}): the run is replayed with the executors "
        "that were there, and predictions are for a fixed number of them",
        remedy,
    )


def _remedy(reason: str) -> str:
    return next((remedy for kind, remedy in _REMEDIES if kind.search(reason)), _OTHERWISE)


_PLACES = re.compile(r"(?i:\b(?:hosts?|nodes?|pod|ip)\b:? )\S+|\S*(?:container_|/|@|://)\S*")
_ADDRESS = re.compile(r"(?<![\w.-])(?!spark\.|java\.)[\w-]+(?:\.[\w-]+){2,}(?::\d+)?")


def shortened(reason: str) -> str:
    """What Spark wrote, printable, on one line, without the names of hosts and containers."""
    plain = "".join(char if char.isprintable() else " " for char in reason)
    named = _ADDRESS.sub("…", _PLACES.sub("…", plain))
    text = " ".join(named.replace('"', "'").split())
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1].rstrip() + "…"
