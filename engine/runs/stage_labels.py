"""What a stage is called where people read it.

Spark names a stage after the place in the program that asked for it. Where Python called Spark
through py4j, or Spark called itself from a thread of a pool, that place is Java's own: every
DataFrame action of a PySpark program is "at NativeMethodAccessorImpl.java:0", every broadcast and
every shuffle of an adaptive plan "$anonfun$withThreadLocalCaptured$1 at FutureTask.java:264". Where
a client of Spark Connect asked, no place is known at all. What the stage does, by its RDD scopes,
then tells it from the others.
"""

from __future__ import annotations

import re

from engine.stage_run import StageRun

_CALL_SITE = re.compile(r"^(\S+) at (\w+)\.java:\d+$")

_REFLECTION = frozenset(
    ("NativeMethodAccessorImpl", "DirectMethodHandleAccessor", "DelegatingMethodAccessorImpl")
)
"""How Java calls a method by its name, up to Java 17 and since: the method is what was called."""

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
"""Where threads of Java's pools and the sessions of a server begin: the method is theirs, and tells
nothing of the job."""

_CONNECT = "Spark Connect"
"""What stages of its clients are called (`engine.sources.logs.lineage.stage_name`)."""

_PLUMBING = ("WholeStageCodegen", "AdaptiveSparkPlan", "mapPartitionsInternal")
"""Scopes of nearly every stage of a query."""

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
    """ "parquet: Scan json, Exchange" for a stage whose call site is Java's own; the name that
    Spark gave it where that is a place in the program, or where no scopes are known."""
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
    """ "WholeStageCodegen (1)", as the SQL page of Spark names it, where a query has no other step:
    a range of numbers, say. The place is a closure of Spark's own, which nobody knows."""
    codes = (name for name in stage.operations if name.startswith(f"{_PLUMBING[0]} ("))
    return next(codes, "") if stage.name.startswith("$anonfun") else ""


def asked_in_a_pool(stage: StageRun) -> bool:
    """Whether its call site is where a thread of a pool begins, whose name and line are those of
    the version of Spark and Java."""
    site = _CALL_SITE.match(stage.name)
    return site is not None and site[2] in _POOLS


def numbered_label(stage: StageRun) -> str:
    """ "stage 3 (reduce at rank.py:7)": stages of one label are told apart by the number."""
    return f"stage {stage.stage_id} ({stage_label(stage)})"


def _steps(stage: StageRun) -> list[str]:
    """What a task does, in the way of its data as far as the names tell: what reads first, what
    writes last. Of many steps those in the middle are left out."""
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
