"""The keys of a profile file and their types (docs/formats.md shows an example)."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

from engine.given_profiles import Operation, OptexProfile
from engine.notices import Notice
from engine.profile import JobRun, PersistedRdd
from engine.stage_run import Measure, StageInput, StageRun, Waste
from engine.text.yaml_values import Schema

FORMAT = "sparkplan-profile/1"

BESIDE_KEYS = (
    "executor_memory_overhead_gib", "executor_pyspark_memory_gib", "executor_off_heap_gib",
)  # fmt: skip
"""Keys of a run for the fields of its cluster's `BesideHeap`, in their order."""


class RunEntry(msgspec.Struct, kw_only=True):
    """A run as in the file, with the keys of its cluster and workload in the run itself."""

    seconds: float
    instance_type: str | None = None
    nodes: int | None = None
    price_usd_per_hour: float | None = None
    groups: tuple[GroupEntry, ...] = ()
    executors: int | None = None
    executor_cores: int | None = None
    executor_memory_gib: float | None = None
    executor_memory_overhead_gib: float | None = None
    executor_pyspark_memory_gib: float | None = None
    executor_off_heap_gib: float | None = None
    input_size: float | None = None
    iterations: float | None = None
    parameters: dict[str, float] = {}
    scale: float | None = None
    source: str = ""
    application: str | None = None
    app_id: str | None = None
    app_attempt: str | None = None
    spark_version: str | None = None
    started_epoch_seconds: float | None = None
    complete: bool = True
    lost: tuple[str, ...] = ()
    driver_seconds: float | None = None
    storage_memory_bytes: float | None = None
    cached_bytes: float | None = None
    persisted_rdds: tuple[PersistedRdd, ...] = ()
    batch_id: int | None = None
    cores: tuple[tuple[float, int], ...] = ()
    config: dict[str, str] = {}
    notices: tuple[Notice, ...] = ()
    jobs: tuple[JobRun, ...] = ()
    stages: tuple[StageRun, ...] = ()


class GroupEntry(msgspec.Struct, kw_only=True):
    """Nodes of one type, for clusters of several types."""

    nodes: int
    instance_type: str | None = None
    price_usd_per_hour: float | None = None


class Document(msgspec.Struct, kw_only=True):
    """The whole file."""

    format: str
    name: str
    category: str | None = None
    input_unit: str = "bytes"
    deadline_seconds: float | None = None
    sources: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    instance_types: dict[str, dict[str, Any]] = {}
    optex: tuple[OptexProfile, ...] = ()
    runs: tuple[RunEntry, ...] = ()


def keys_of(kind: type[Any]) -> frozenset[str]:
    """The allowed keys of a mapping of this kind."""
    if is_dataclass(kind):
        return frozenset(entry.name for entry in fields(kind))
    return frozenset(kind.__struct_fields__)


MEASURES = tuple(f.name for f in fields(StageRun) if "Measure" in str(f.type))
"""Fields of a stage that are measures of its tasks."""

_NOTICE, _MEASURE = frozenset(Notice("", "", "").to_dict()), keys_of(Measure)

SCHEMA: Schema = {
    "": keys_of(Document),
    "notices[]": _NOTICE,
    "optex[]": keys_of(OptexProfile),
    "optex[].operations[]": keys_of(Operation),
    "runs[]": keys_of(RunEntry),
    "runs[].groups[]": keys_of(GroupEntry),
    "runs[].notices[]": _NOTICE,
    "runs[].jobs[]": keys_of(JobRun),
    "runs[].persisted_rdds[]": keys_of(PersistedRdd),
    "runs[].stages[]": keys_of(StageRun),
    "runs[].stages[].inputs[]": keys_of(StageInput),
    "runs[].stages[].waste": keys_of(Waste),
    **{f"runs[].stages[].{name}": _MEASURE for name in MEASURES},
}
