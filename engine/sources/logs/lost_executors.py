"""Tells lost executors from released ones, by Spark's removal reason.

An executor that dynamic allocation releases when idle, or that the driver stops, is no failure. One
that crashed, went down with its node, or stopped answering is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from engine.notices import Notice
from engine.sources.logs.entities import Executor
from engine.units import format_count, format_seconds

LONGEST_REASON = 100
"""Characters of Spark's reason that are shown: container diagnostics run to pages."""

_RELEASED = re.compile(r"killed by driver|explicit termination request|scale.?down", re.I)
_DECOMMISSIONED = re.compile(r"decommission", re.I)
_REASONLESS = re.compile(r"executor decommission(?:ed)?\W*", re.I)

_OUT_OF_MEMORY = (
    r"(?:code|status)(?: is)?:? ?(?:137|52)\b|memory limits|memoryOverhead|OutOfMemory|\bOOM"
)
_NODE_LOST = (
    r"decommission|preempt|evict|\bspot\b|lost\W{0,2} node|worker (?:lost|shutting)|deleted by"
)
_UNRESPONSIVE = r"heartbeat timed out|disassociated"

_REMEDIES = (
    (
        re.compile(_OUT_OF_MEMORY, re.I),
        "this is mostly a lack of memory: give executors more (spark.executor.memoryOverhead, "
        "spark.executor.memory) or fewer cores, and log a run without the loss",
    ),
    (
        re.compile(_NODE_LOST, re.I),
        "nodes that were taken away (spot, preempted, decommissioned): plan with --spot for "
        "interruptions, and log a run on nodes that stay",
    ),
    (
        re.compile(_UNRESPONSIVE, re.I),
        "look for long garbage collection, lack of memory or a broken network in the executor's "
        "own log, and log a run without the loss",
    ),
)
_DEFAULT_REMEDY = "look for the cause in the executor's own log, and log a run without the loss"


def scales_with_load(properties: Mapping[str, str]) -> bool:
    """Whether the settings let the number of executors follow the load (dynamic allocation or
    Databricks autoscaling)."""
    return properties.get("spark.dynamicAllocation.enabled", "").lower() == "true" or _autoscales(
        properties
    )


def _autoscales(properties: Mapping[str, str]) -> bool:
    scaling = properties.get("spark.databricks.clusterUsageTags.clusterScalingType", "")
    return scaling.lower() == "autoscaling"


def was_lost(executor: Executor, properties: Mapping[str, str]) -> bool:
    """Whether a removed executor was lost rather than released.

    Without a removal reason the settings decide: where nothing scales down, it was lost.
    """
    reason = executor.removed_reason
    if _RELEASED.search(reason):
        return False
    if _autoscales(properties) and _DECOMMISSIONED.search(reason):
        return False
    no_reason = not reason.strip() or _REASONLESS.fullmatch(reason.strip()) is not None
    return not (no_reason and scales_with_load(properties))


def decommissions(properties: Mapping[str, str]) -> bool:
    """Whether decommissioning is enabled: executors then get no more tasks once their node is
    announced to go."""
    return properties.get("spark.decommission.enabled", "").lower() == "true"


def drained_ms(
    executor: Executor, properties: Mapping[str, str], last_end_ms: int | None
) -> int | None:
    """When a decommissioned executor ended its last task, after which it only migrated its blocks.
    None for other executors: one that was released when idle could have run tasks until then.

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
"""How long before the end of a killed application its executors may be removed."""

_TERMINATED = re.compile(r"(?:code|status)(?: is)?:? ?143\b", re.I)


def was_stopped(executor: Executor, end_ms: int) -> bool:
    """Whether an executor was terminated (SIGTERM, exit code 143) along with its application, and
    so is not a cause of anything. YARN kills executors over their memory limit by the same signal,
    but says so in the reason.

    Args:
        end_ms: when the application ended, or its log did.
    """
    reason, went = executor.removed_reason, executor.removed_ms
    if went is None or went < end_ms - STOPPING_MS or re.search(_OUT_OF_MEMORY, reason, re.I):
        return False
    return _TERMINATED.search(reason) is not None


def lost_notice(lost: Sequence[Executor], *, executors: int, started_ms: int) -> Notice | None:
    """The warning that executors were lost: how many, when, and Spark's reason; None for none.

    Args:
        lost: those removed before the last stage ended.
        executors: how many the application ever had.
    """
    if not lost:
        return None
    first = min(lost, key=lambda executor: executor.removed_ms or 0)
    kinds = [_remedy(executor.removed_reason) for executor in lost]
    remedy = Counter(kinds).most_common(1)[0][0]
    reason = next(e.removed_reason for e, kind in zip(lost, kinds, strict=True) if kind == remedy)
    after = format_seconds(max(0, (first.removed_ms or 0) - started_ms) / 1000.0)
    went = "was lost" if len(lost) == 1 else "were lost, the first"
    number = f"{len(lost)} of {format_count(executors, 'executor')}"
    shown = shortened(reason)
    why = f'Spark says "{shown}"' if shown else "the log does not say why"
    return Notice(
        "lost-executors",
        f"{number} {went} {after} after the start ({why}): the run is replayed with the executors "
        "that were there, and predictions are for a fixed number of them",
        remedy,
    )


def _remedy(reason: str) -> str:
    return next((remedy for kind, remedy in _REMEDIES if kind.search(reason)), _DEFAULT_REMEDY)


_PLACES = re.compile(r"(?i:\b(?:hosts?|nodes?|pod|ip)\b:? )\S+|\S*(?:container_|/|@|://)\S*")
_ADDRESS = re.compile(r"(?<![\w.-])(?!spark\.|java\.)[\w-]+(?:\.[\w-]+){2,}(?::\d+)?")


def shortened(reason: str) -> str:
    """Spark's reason, printable, on one line, without host and container names."""
    plain = "".join(char if char.isprintable() else " " for char in reason)
    named = _ADDRESS.sub("…", _PLACES.sub("…", plain))
    text = " ".join(named.replace('"', "'").split())
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1].rstrip() + "…"
