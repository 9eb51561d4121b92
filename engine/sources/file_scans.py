"""How much the file scans of SQL queries read, where the task metrics do not count it.

`Bytes Read` of a task is what the file system counted on the task's own thread. Since Parquet 1.16
(Spark 4.1) column data is read in vectored reads, which on S3, Google Cloud Storage and local disks
happen on other threads: of hundreds of megabytes only the footers are counted. The plan of a query
knows the size of the files, which stands in the log as a metric of the driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.profile import Measure, Notice, StageRun
from engine.sources.entities import Stage
from engine.sources.plan_events import Plan
from engine.stage_labels import stage_label
from engine.units import format_bytes

VECTORED_SINCE = (4, 1)
"""The first Spark whose Parquet reads vectored unless told otherwise."""

VECTORED_READS = "spark.hadoop.parquet.hadoop.vectored.io.enabled"

COUNTED_SCHEMES = frozenset({"hdfs", "viewfs", "webhdfs", "abfs", "abfss"})
"""File systems whose vectored reads are plain reads on the task's thread, which are counted."""

COUNTED_SHARE = 0.25
"""Of the size of the files: a scan that counted more was counted, and left out columns."""

_SIZE, _ROWS = "size of files read", "number of output rows"
_NOTHING_READ = "struct<>"
_SCHEME = re.compile(r"\[([a-zA-Z][a-zA-Z0-9+.-]*):")


def reads_vectored(version: str | None, properties: Mapping[str, str]) -> bool:
    """Whether a Spark of that version with these settings reads Parquet vectored."""
    told = properties.get(VECTORED_READS)
    if told is not None:
        return told.strip().lower() == "true"
    numbers = re.match(r"(\d+)\.(\d+)", version or "")
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= VECTORED_SINCE


@dataclass(frozen=True, slots=True)
class FileScan:
    """A scan of a query's plan.

    Args:
        size: accumulator of the bytes of its files.
        parquet: whether these are Parquet.
        scheme: of its file system; None where the plan does not say.
        columns: whether it reads any, which a mere count of rows does not.
    """

    size: int
    parquet: bool
    scheme: str | None
    columns: bool


class FileScans:
    """Follows the plans, the metrics of the driver and which stages ran which scans, where
    `reads_vectored` is true."""

    def __init__(self) -> None:
        self._scans: dict[int, FileScan] = {}
        self._size_of: set[int] = set()
        self._sizes: dict[int, int] = {}
        self._of_stage: dict[int, set[int]] = {}

    def planned(self, plan: Plan | None) -> None:
        """Notes the scans of a plan by the accumulator of their rows."""
        waiting = [plan] if plan is not None else []
        while waiting:
            node = waiting.pop()
            waiting.extend(node.children)
            metrics = {metric.name: metric.accumulator for metric in node.metrics}
            if _SIZE in metrics and _ROWS in metrics:
                self._scans[metrics[_ROWS]] = _scan(node, metrics[_SIZE])
                self._size_of.add(metrics[_SIZE])

    def updated(self, updates: Iterable[tuple[int, int]]) -> None:
        """Notes metrics of the driver: those of accumulators that hold the size of files."""
        self._sizes.update((key, value) for key, value in updates if key in self._size_of)

    def completed(self, stage_id: int, accumulators: Iterable[int]) -> None:
        """Notes which scans a stage ran."""
        ran = self._scans.keys() & set(accumulators)
        if ran:
            self._of_stage.setdefault(stage_id, set()).update(ran)

    def inferred(
        self, stages: Sequence[StageRun], entries: Mapping[int, Stage]
    ) -> tuple[tuple[StageRun, ...], list[Notice]]:
        """Stages with the size of their files for an input that was not counted, and what to say
        of that.

        Args:
            entries: what the log tells of each stage, by its id.
        """
        found = {one.stage_id: self._uncounted(one, entries[one.stage_id]) for one in stages}
        sizes = {stage_id: size for stage_id, size in found.items() if size is not None}
        changed = tuple(
            _with_input(stage, sizes[stage.stage_id]) if stage.stage_id in sizes else stage
            for stage in stages
        )
        return changed, _notices([stage for stage in stages if stage.stage_id in sizes], sizes)

    def _uncounted(self, stage: StageRun, entry: Stage) -> float | None:
        """Bytes of the files that a stage read, where its tasks did not count them: of all where it
        ran all partitions, which those of a search for the first rows do not."""
        scans = [self._scans[rows] for rows in self._of_stage.get(stage.stage_id, ())]
        if not scans or not all(map(_may_lose, scans)):
            return None
        ran = min(1.0, stage.tasks / entry.partitions) if entry.partitions else 1.0
        size = ran * sum(self._sizes.get(scan.size, 0) for scan in scans)
        return size if _counted(stage) < COUNTED_SHARE * size else None


def _scan(node: Plan, size: int) -> FileScan:
    told = node.metadata
    scheme = _SCHEME.search(told.location or "")
    return FileScan(
        size,
        "parquet" in f"{node.name} {told.format or ''}".lower(),
        scheme[1].lower() if scheme else None,
        told.schema != _NOTHING_READ,
    )


def _may_lose(scan: FileScan) -> bool:
    return scan.parquet and scan.columns and scan.scheme not in COUNTED_SCHEMES


def _counted(stage: StageRun) -> float:
    return stage.input_bytes.total if stage.input_bytes is not None else 0.0


def _with_input(stage: StageRun, size: float) -> StageRun:
    """The stage with `size` bytes of input, over its tasks as what they counted is, or evenly."""
    counted = stage.input_bytes
    if counted is None or not counted.total:
        tasks = stage.task_seconds.count
        return replace(stage, input_bytes=Measure(tasks, size, (size / tasks,)))
    factor = size / counted.total
    quantiles = tuple(value * factor for value in counted.quantiles)
    return replace(stage, input_bytes=Measure(counted.count, size, quantiles))


def _notices(changed: Sequence[StageRun], sizes: Mapping[int, float]) -> list[Notice]:
    """That the input of these stages, here as their tasks counted it, is that of their files."""
    if not changed:
        return []
    counted, size = sum(map(_counted, changed)), sum(sizes.values())
    first = max(changed, key=lambda stage: sizes[stage.stage_id])
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return [
        Notice(
            "input-size-inferred",
            f"stage {first.stage_id} ({stage_label(first)}){more} read Parquet in vectored reads, "
            f"which Spark does not count ({format_bytes(counted)} of {format_bytes(size)}): the "
            "size of the files is taken for the input, columns that were not read included",
            f"log a run with {VECTORED_READS}=false to have it counted",
        )
    ]
