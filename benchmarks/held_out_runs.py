"""The runs that held-out evidence on logs is made of: jobs, their memory, cores and settings, sizes
of input, and the records that they read. `held_out.py` asks them, `logs.py` makes them."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from engine.cluster import Cluster

RECORDS_PER_FILE = 50_000
SIZES = (4, 12, 36)
"""Input files of each job: small, medium, large."""

SLOTS = (1, 2)
"""Executors, of one core each, so that every task has a core of its own."""

SMALL_MIB, LITTLE_MIB, ROOMY_MIB, TABLES_MIB = 512, 768, 1024, 1536
TABLE_JOBS = (
    "star_join", "json_clean", "forest", "lda", "inverted_index", "sessions", "cube", "nearest",
    "upsert", "rules", "interactive",
)  # fmt: skip
LIBRARY_JOBS = (
    "graphx", "boosted", "bayes", "word_vectors", "grouped_frames", "large_orders", "late_alone",
    "small_files", "similar", "principal", "ranks", "running_shares",
)  # fmt: skip
ANALYSIS_JOBS = (
    "pricing_summary", "export_csv", "triangles", "mixture", "elastic_net", "tfidf", "scenarios",
    "vectorised",
)  # fmt: skip
PIPELINE_JOBS = (
    "one_file", "three_at_once", "not_adaptive", "day_by_day", "checkpoints", "percentiles",
    "recommend", "text_files",
)  # fmt: skip
WAREHOUSE_JOBS = (
    "merge_history", "nested_orders", "outgrown_join", "one_parent", "by_curve",
    "range_join", "combine_lines", "python_loop", "bucketed", "wide_pivot", "session_spans",
)  # fmt: skip
PLATFORM_JOBS = (
    "all_pairs", "pruned_parts", "merge_files", "found_schema", "own_partitioner", "small_loop",
    "fair_pools", "turned_join",
)  # fmt: skip
SERVICE_JOBS = (
    "snowflake", "late_suppliers", "folders_of_hours", "fit_in_driver", "fetched_rows",
    "each_tenant", "failing_tasks", "come_and_go", "two_core_tasks", "cogrouped",
)  # fmt: skip
CLASSIC_JOBS = (
    "tera_sort", "neighbours", "singular", "power_run", "set_queries", "gzip_ingest", "one_gzip",
    "stage_level", "skew_split", "basket_pairs",
)  # fmt: skip
RECORD_JOBS = (
    "sketches", "filled_gaps", "reachable", "reconciled", "rebalanced", "histories", "one_order",
)  # fmt: skip
CACHE_JOBS = ("kept_vectors", "kept_pairs", "kept_frame", "kept_graph")
OVER_TABLES = (
    *TABLE_JOBS,
    *LIBRARY_JOBS,
    *ANALYSIS_JOBS,
    *PIPELINE_JOBS,
    *WAREHOUSE_JOBS,
    *PLATFORM_JOBS,
    *SERVICE_JOBS,
    *RECORD_JOBS,
    *CACHE_JOBS,
)
JOBS = {
    "skewed_join": ROOMY_MIB, "windows": ROOMY_MIB, "words": ROOMY_MIB, "kmeans": ROOMY_MIB,
    "logistic": ROOMY_MIB, "range_sort": SMALL_MIB, "python_udf": ROOMY_MIB, "unions": ROOMY_MIB,
    "broadcast_join": ROOMY_MIB, "cross_validation": ROOMY_MIB, "components": ROOMY_MIB,
    "cache_memory": SMALL_MIB, "cache_disk": SMALL_MIB,
    **dict.fromkeys(OVER_TABLES, TABLES_MIB), **dict.fromkeys(SERVICE_JOBS, ROOMY_MIB),
    **dict.fromkeys(CACHE_JOBS, LITTLE_MIB), **dict.fromkeys(CLASSIC_JOBS, ROOMY_MIB),
}  # fmt: skip
"""Memory of each job's executors in MiB: with little of it the large sort spills, and the large
caches do not fit."""

SETTINGS = {"spark.sql.files.maxPartitionBytes": "6m", "spark.sql.files.openCostInBytes": "1m"}
"""Of the jobs over records, whose files are small; all else stays as Spark has it."""

DIMENSIONS = ("date_dim", "item", "customer")
"""Tables of a shop beside its sales: of one file each, whatever the sales."""

KRYO = {"spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
TABLE_SETTINGS = {"spark.driver.memory": "2g"}

SETTINGS_OF = {
    "snowflake": {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "24"},
    "failing_tasks": {"spark.speculation": "true"},
    "come_and_go": {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.timeout": "3s",
        "spark.dynamicAllocation.executorIdleTimeout": "2s",
    },
    "two_core_tasks": {"spark.task.cpus": "2"},
    "tera_sort": KRYO,
    "neighbours": KRYO,
    "set_queries": {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "24"},
    "one_gzip": {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "1",
        "spark.dynamicAllocation.executorIdleTimeout": "3s",
    },
    "skew_split": {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4m",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "4m",
    },
}
"""Of these jobs alone, beside the others."""

CORES_OF = {"two_core_tasks": 2, "stage_level": 2}
"""Cores of each executor where they are not one."""

CACHES = ("cache_memory", "cache_disk")


@dataclass(frozen=True)
class Made:
    """A run to make: job, input files, executors (of one core, mostly), memory of each in MiB."""

    job: str
    files: int
    executors: int
    memory_mib: int

    @property
    def name(self) -> str:
        return f"{self.job}-{self.files}files-{self.executors}x{self.memory_mib}m"

    @property
    def cores(self) -> int:
        """Of each executor."""
        return CORES_OF.get(self.job, 1)

    @property
    def reads_tables(self) -> bool:
        return self.job in OVER_TABLES

    @property
    def reads_store(self) -> bool:
        return self.job in CLASSIC_JOBS

    @property
    def input(self) -> str:
        """Name of the folder that it reads."""
        kind = "tables" if self.reads_tables else "store" if self.reads_store else "input"
        return f"{kind}-{self.files}"

    @property
    def cluster(self) -> Cluster:
        gib = self.memory_mib / 1024.0
        return Cluster.of_executors(
            executors=self.executors, executor_cores=self.cores, executor_memory_gib=gib
        )


def runs(jobs: Collection[str] = tuple(JOBS)) -> list[Made]:
    """Every run, those of a job together: all sizes on two slots, the smaller ones on one."""
    found = [
        Made(job, files, executors, memory)
        for job, memory in JOBS.items()
        if job in jobs
        for executors, sizes in ((SLOTS[0], SIZES[:-1]), (SLOTS[-1], SIZES))
        for files in sizes
    ]
    return found + [Made(job, SIZES[-1], SLOTS[-1], ROOMY_MIB) for job in CACHES if job in jobs]


def half(job: str) -> int:
    """1 for jobs whose misses may be looked into, 2 for those that only confirm."""
    return 1 + hashlib.md5(job.encode(), usedforsecurity=False).digest()[-1] % 2


def write_records(folder: Path, files: int) -> None:
    """CSV files of records: a skewed key, a category, three numbers, a text of eight words. Inputs
    of other sizes share their files."""
    pool = folder.parent / "records"
    pool.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    vocabulary = [f"w{random.Random(n).randrange(36**5):x}" for n in range(5000)]
    for number in range(files):
        source = pool / f"part-{number:04d}.csv"
        if not source.exists():
            _write_file(source, number, vocabulary)
        if not (folder / source.name).exists():
            os.link(source, folder / source.name)


def _write_file(path: Path, number: int, vocabulary: list[str]) -> None:
    draw = random.Random(number)
    with path.open("w") as out:
        for row in range(number * RECORDS_PER_FILE, (number + 1) * RECORDS_PER_FILE):
            key = 0 if draw.random() < 0.1 else int(40_000 * draw.random() ** 3)
            text = " ".join(vocabulary[int(5000 * draw.random() ** 2)] for _ in range(8))
            x, y, z = draw.random(), draw.random(), draw.random()
            out.write(f"{row},{key},{key % 60},{x:.8f},{y:.8f},{z:.8f},{text}\n")
