"""Readable labels of stages.

Spark names a stage after its call site in the program. If Python called Spark through py4j, or
Spark called itself from a pool thread, the call site is Java's own: every
DataFrame action of a PySpark program is "at NativeMethodAccessorImpl.java:0", every broadcast and
every shuffle of an adaptive plan "$anonfun$withThreadLocalCaptured$1 at FutureTask.java:264". Where
a client of Spark Connect asked, no call site is known at all. Then the label says what the stage
does, by its RDD scopes.
"""

from __future__ import annotations

import re

from engine.stage_run import StageRun

_CALL_SITE = re.compile(r"^(\S+) at (\w+)\.java:\d+$")

_REFLECTION = frozenset(
    ("NativeMethodAccessorImpl", "DirectMethodHandleAccessor", "DelegatingMethodAccessorImpl")
)
"""Java's classes for calls by reflection, up to Java 17 and since: the method is the called one."""

_POOLS = frozenset(
    (
        "FutureTask",
        "CompletableFuture",
        "ThreadPoolExecutor",
        "Executors",
        "ForkJoinTask",
        "Thread",
        "AccessController",
    )
)
"""Java's classes where pool threads and server sessions begin: the method is theirs and says
nothing about the job."""

_CONNECT = "Spark Connect"
"""What stages of its clients are called (`engine.sources.logs.lineage.stage_name`)."""

_PLUMBING = ("WholeStageCodegen", "AdaptiveSparkPlan", "mapPartitionsInternal")
"""Scopes of nearly every SQL stage, left out of labels."""

_READS = (
    "Scan",
    "BatchScan",
    "MicroBatchScan",
    "InMemoryTableScan",
    "LocalTableScan",
    "JDBCRDD",
    "AQEShuffleRead",
    "parallelize",
)
_WRITES = ("BroadcastExchange", "WriteFiles")
_SHUFFLE = "Exchange"
"""The scope of both sides of a shuffle."""

MOST_STEPS = 4


def stage_label(stage: StageRun) -> str:
    """The label of a stage: the name that Spark gave it if that is a call site in the program or if
    no scopes are known; else its operations, such as "parquet: Scan json, Exchange"."""
    if stage.name == _CONNECT:
        return ", ".join(_steps(stage)) or stage.name
    site = _CALL_SITE.match(stage.name)
    if site is None or site[2] not in _REFLECTION | _POOLS:
        return stage.name
    steps = ", ".join(_steps(stage))
    if site[2] in _POOLS:
        return steps or _generated(stage) or stage.name
    return f"{site[1]}: {steps}" if steps else site[1]


def _generated(stage: StageRun) -> str:
    """The name of generated code, such as "WholeStageCodegen (1)" as on Spark's SQL page, for a
    query without other operations (a range of numbers, say), whose call site is one of Spark's own
    closures; else ""."""
    codes = (name for name in stage.operations if name.startswith(f"{_PLUMBING[0]} ("))
    return next(codes, "") if stage.name.startswith("$anonfun") else ""


def asked_in_a_pool(stage: StageRun) -> bool:
    """Whether a stage's call site is the start of a pool thread, whose name and line depend on the
    versions of Spark and Java."""
    site = _CALL_SITE.match(stage.name)
    return site is not None and site[2] in _POOLS


def numbered_label(stage: StageRun) -> str:
    """A label with the stage's id, such as "stage 3 (reduce at rank.py:7)"."""
    return f"stage {stage.stage_id} ({stage_label(stage)})"


def _steps(stage: StageRun) -> list[str]:
    """The operations of a task in the order of its data flow, as far as their names tell: reads
    first, writes last. Beyond `MOST_STEPS` those in the middle are left out."""
    counts = stage.operation_counts or (1,) * len(stage.operations)
    done = [
        name.strip()
        for name, count in zip(stage.operations, counts, strict=True)
        if count and not name.startswith(_PLUMBING)
    ]
    written = stage.shuffle_write_bytes is not None or any(n.startswith(_READS) for n in done)
    first, last = (_READS, (*_WRITES, _SHUFFLE)) if written else ((*_READS, _SHUFFLE), _WRITES)
    done.reverse()
    done.sort(key=lambda name: name.startswith(last) - name.startswith(first))
    if len(done) <= MOST_STEPS:
        return done
    return [*done[: MOST_STEPS - 1], "...", done[-1]]
