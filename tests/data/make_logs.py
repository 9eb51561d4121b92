"""Runs small real Spark jobs in which something goes wrong, and stores their event logs here.

    python tests/data/make_logs.py [NAME ...]

Needs what `sample_logs/make_samples.py` needs, on Linux; `wide_run_time` Spark 4.0 or newer,
`vectored`, `scans`, `taken_table`, `clients`, `python_source` and `python_workers` 4.1, the last
three also pyarrow and pandas, `clients` grpcio-status and googleapis-common-protos.
Each log is scrubbed as the samples are. The log of the job `plain` is then written again by Spark's
own writer of event logs with each of its codecs, flushed where Spark flushes: to the end, and as an
application leaves it that is killed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sample_logs.make_samples import BLOCKS, CLUSTER, COMMON, Sample, Spark, spark_home
from sample_logs.scrub import Machine, Scrubber, leaks

HERE = Path(__file__).resolve().parent
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.dynamicAllocation.maxExecutors": "2",
}
TWO_HOSTS = "spark://127.0.0.1:17077"
"""A speculative copy never runs on the host of the first attempt, and all executors of
`local-cluster` are on one."""

SECOND_HOST = "127.0.0.2"
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
    "spark.driver.host": "127.0.0.1",
}
ONE_FILE = {"spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}
"""As Spark 3 writes logs unless told otherwise."""

BESIDE_HEAP = {
    "spark.executor.memoryOverhead": "2g",
    "spark.executor.pyspark.memory": "512m",
    "spark.memory.offHeap.enabled": "true",
    "spark.memory.offHeap.size": "64m",
}
LITTLE_MEMORY = {
    "spark.eventLog.logBlockUpdates.enabled": "true",
    "spark.memory.fraction": "0.1",
    "spark.sql.files.maxPartitionBytes": "12m",
}
CHEAP_FILES = {"spark.sql.files.openCostInBytes": "32k"}
DEAR_FILES = {"spark.sql.files.openCostInBytes": "128m"}
"""Each file is a split of its own."""

SMALL_SPLITS = {"spark.sql.files.maxPartitionBytes": "8m"}
"""Two files at most, of which each counts for 4 MiB more than it has."""

SMALL_TARGETS = {
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1k",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "2k",
}
"""Of a few kB, shuffles are coalesced to several partitions on any cluster."""

LITTLE_BROADCAST = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "64k",
}
SMALL_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "64k"}
SKEWED = {
    **DEAR_FILES,
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "24",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "48k",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "16k",
}
LIBRARY = "library.jar"
TAGS = "spark.databricks.clusterUsageTags."
LIGHTNING = {
    "spark.dataproc.executor.compute.tier": "premium",
    "spark.dataproc.lightningEngine.runtime": "native",
}
COMET_OFF = {
    "spark.sql.extensions": "org.apache.comet.CometSparkSessionExtensions",
    "spark.comet.enabled": "false",
}

CODECS = ("lz4", "lzf", "snappy", "zstd")


@dataclass(frozen=True)
class Recipe:
    """A job of `pitfalls.py` (of its own name, or `job`) with its settings; `killed` where Spark is
    not to end by itself."""

    name: str
    job: str | None = None
    master: str = CLUSTER
    conf: Mapping[str, str] = field(default_factory=dict)
    killed: bool = False


def also(name: str, job: str, files: int, *, slots: int = 8, **conf: str) -> Recipe:
    """A job once more, on another number of files and of slots."""
    settings = {**ONE_FILE, **conf, "spark.divided.files": str(files)}
    return Recipe(name, job, master=f"local[{slots}]", conf=settings)


RECIPES = (
    Recipe("plain", conf=BLOCKS),
    Recipe("retries", conf=BLOCKS),
    Recipe("resubmitted"),
    Recipe("failing", master="local[2,4]"),
    Recipe("dynamic", conf={**DYNAMIC, "spark.dynamicAllocation.minExecutors": "0"}),
    Recipe(
        "profiles", master="local-cluster[2,2,1024]", conf={**DYNAMIC, "spark.executor.cores": "1"}
    ),
    Recipe("wide_tasks", master="local-cluster[2,2,1024]"),
    Recipe("wide_run_time", "wide_tasks", master="local-cluster[2,2,1024]", conf=ONE_FILE),
    Recipe("idle_cores", master="local-cluster[2,3,1024]", conf={"spark.task.cpus": "2"}),
    Recipe("killed", killed=True),
    Recipe("speculative", master=TWO_HOSTS, conf=SPECULATION),
    Recipe("vectored", conf=ONE_FILE),
    Recipe("libraries", "works_alone", conf={"spark.jars": LIBRARY}),
    Recipe("job-cluster", "works_alone", conf={f"{TAGS}clusterName": "job-12-run-3-etl"}),
    Recipe("overhead", "small", conf=BESIDE_HEAP),
    Recipe("glue", "small", conf={"spark.glue.GLUE_VERSION": "4.0"}),
    Recipe("emr-serverless", "small", conf={"spark.emr-serverless.executor.disk": "20g"}),
    Recipe("lightning", "small", conf=LIGHTNING),
    Recipe("dataproc", "small", conf={"spark.dataproc.sql.joinConditionReorder.enabled": "true"}),
    Recipe(
        "fabric", "small", conf={"spark.cluster.type": "trident", "spark.native.enabled": "true"}
    ),
    Recipe("comet-off", "small", conf=COMET_OFF),
    Recipe("comet-ran", "operators", conf=COMET_OFF),
    Recipe("scans", master="local[2]", conf=ONE_FILE),
    Recipe("divided", master="local[2]", conf=ONE_FILE),
    also("divided_more", "divided", 15),
    Recipe("paired", master="local[2]", conf=ONE_FILE),
    also("paired_more", "paired", 15),
    Recipe("paired_small", master="local[2]", conf={**ONE_FILE, **CHEAP_FILES}),
    also("paired_small_more", "paired_small", 15, slots=2, **CHEAP_FILES),
    also("planned_again", "planned_again", 4, slots=2),
    also("planned_again_more", "planned_again", 12, slots=6),
    also("two_facts", "two_facts", 4, slots=2, **CHEAP_FILES),
    also("two_facts_more", "two_facts", 12, slots=6, **CHEAP_FILES),
    also("united", "united", 5, slots=2, **CHEAP_FILES),
    also("united_more", "united", 15, slots=6, **CHEAP_FILES),
    Recipe("combined", master="local[2]", conf=ONE_FILE),
    also("combined_more", "combined", 15),
    Recipe(
        "planned_early",
        master="local-cluster[6,1,1024]",
        conf={
            **ONE_FILE,
            **DYNAMIC,
            "spark.dynamicAllocation.minExecutors": "0",
            "spark.dynamicAllocation.maxExecutors": "6",
        },
    ),
    Recipe("columns", master="local[2]", conf={**ONE_FILE, **CHEAP_FILES}),
    also("columns_more", "columns", 12, **CHEAP_FILES),
    Recipe("merged", master="local[2]", conf={**ONE_FILE, **LITTLE_BROADCAST}),
    also("merged_less", "merged", 1, slots=2, **LITTLE_BROADCAST),
    also("planned", "planned", 4, slots=2, **SMALL_BROADCAST),
    also("planned_less", "planned", 1, slots=2, **SMALL_BROADCAST),
    Recipe("fetched", master="local[2]", conf=ONE_FILE),
    also("fetched_more", "fetched", 15, slots=2),
    Recipe("written", master="local[2]", conf={**ONE_FILE, **SMALL_SPLITS}),
    also("written_more", "written", 8, **SMALL_SPLITS),
    also("foldered", "foldered", 4, slots=2),
    also("foldered_more", "foldered", 12, slots=2),
    also("rewritten", "rewritten", 4, slots=2),
    also("rewritten_more", "rewritten", 12, slots=4),
    also("few_keys", "few_keys", 4, slots=2, **SMALL_TARGETS),
    also("few_keys_more", "few_keys", 12, slots=2, **SMALL_TARGETS),
    Recipe("grouped", master="local[2]", conf=ONE_FILE),
    also("grouped_more", "grouped", 12, slots=2),
    also("grouped_wide", "grouped", 12, slots=6),
    Recipe("kept_groups", master="local[2]", conf={**ONE_FILE, **SMALL_TARGETS}),
    also("kept_groups_more", "kept_groups", 12, slots=2, **SMALL_TARGETS),
    Recipe("ordered", master="local[2]", conf=ONE_FILE),
    also("graph", "graph", 3, slots=2),
    also("graph_more", "graph", 9, slots=2),
    also("trees", "trees", 4, slots=2, **DEAR_FILES),
    also("trees_more", "trees", 12, slots=2, **DEAR_FILES),
    Recipe("own_settings", master="local[2]", conf=ONE_FILE),
    also("own_settings_more", "own_settings", 12, slots=6),
    Recipe("clients", master="local[2]", conf=ONE_FILE),
    Recipe("python_source", master="local[2]", conf=ONE_FILE),
    Recipe("python_workers", conf=ONE_FILE),
    Recipe("evicted", conf={"spark.eventLog.logBlockUpdates.enabled": "true"}),
    Recipe("copies", conf={"spark.eventLog.logBlockUpdates.enabled": "true"}),
    Recipe("taken", conf=LITTLE_MEMORY),
    Recipe(
        "taken_table",
        master="local[2]",
        conf={**ONE_FILE, "spark.sql.files.maxPartitionBytes": "500k"},
    ),
    Recipe("read_beside", conf={**ONE_FILE, **LITTLE_MEMORY, **SMALL_SPLITS}),
    Recipe("database", master="local[2]"),
    Recipe("one_gzip", master="local[2]"),
    also("skewed", "skewed", 4, slots=2, **SKEWED),
    also("skewed_more", "skewed", 24, slots=4, **SKEWED),
)


def run(recipe: Recipe, home: Path, work: Path) -> Path:
    """Runs a job; returns its event log."""
    logs, notes = work / "logs" / recipe.name, work / "notes" / recipe.name
    for folder in (logs, notes):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    (work / "jobs").mkdir(exist_ok=True)
    for job in ("pitfalls.py", "divisions.py"):
        shutil.copy(HERE / job, work / "jobs")
    zipfile.ZipFile(work / LIBRARY, "w").close()
    spark = Spark(home, work, Sample(recipe.name, "pitfalls.py", master=recipe.master))
    spark.console.unlink(missing_ok=True)
    conf = {**COMMON, "spark.executor.memory": "512m", **recipe.conf,
            "spark.eventLog.dir": logs.as_uri()}  # fmt: skip
    with (
        two_hosts(home, work) if recipe.master == TWO_HOSTS else nullcontext(),
        suppress(*([SystemExit] if recipe.killed else [])),
    ):
        spark.run("pitfalls.py", (str(notes), recipe.job or recipe.name), conf)
    (log,) = (path for path in logs.iterdir() if path.suffix != ".crc")
    shutil.rmtree(home / "work" / log.stem, ignore_errors=True)
    return log


@contextmanager
def two_hosts(home: Path, work: Path) -> Iterator[None]:
    """A standalone cluster of two workers of one core, each with an address of its own."""
    master, worker = (
        "org.apache.spark.deploy.master.Master",
        "org.apache.spark.deploy.worker.Worker",
    )
    port = TWO_HOSTS.rpartition(":")[2]
    commands = [[master, "-h", "127.0.0.1", "-p", port, "--webui-port", "17078"]]
    commands += [
        [worker, "-h", host, "-c", "1", "-m", "1g", "-d", str(work / "workers"), TWO_HOSTS]
        for host in ("127.0.0.1", SECOND_HOST)
    ]
    started = []
    with (work / "cluster.console").open("w") as out:
        try:
            for command in commands:
                program = [str(home / "bin" / "spark-class"), *command]
                environment = {**os.environ, "SPARK_HOME": str(home)}
                started.append(subprocess.Popen(program, env=environment, stdout=out, stderr=out))
                time.sleep(4)
            yield
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


def scrubbed(log: Path, machine: Machine) -> str:
    """The events of a log without what tells of the machine; a torn last line is left out."""
    scrubber = Scrubber(machine)
    text = log.read_text(encoding="utf-8").replace(SECOND_HOST, "worker-2")
    text = text.replace("root {", "plan {")  # of plans of Spark Connect, where root is no user
    lines = text.splitlines()
    if not _is_event(lines[-1]):
        del lines[-1]
    text = "".join(scrubber.line(line) + "\n" for line in lines)
    left = leaks(text, machine)
    if left:
        raise SystemExit(f"{log}: still tells of this machine: {left[:5]}")
    return text


def _is_event(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def write_again(text: Path, home: Path, work: Path) -> None:
    """`text` through Spark's writer of event logs with every codec, whole and killed."""
    target = work / "codecs"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    shutil.copy(HERE / "rewrite.py", work / "jobs")
    spark = Spark(home, work, Sample("codecs", "rewrite.py", master="local[1]"))
    spark.console.unlink(missing_ok=True)
    with suppress(SystemExit):  # the last thing that the job does is to kill its own JVM
        spark.run("rewrite.py", (str(text), str(target), *CODECS), {"spark.ui.enabled": "false"})
    for codec in CODECS:
        shutil.copyfile(target / f"whole.{codec}", HERE / f"plain.{codec}")
        shutil.copyfile(target / f"killed.{codec}.inprogress", HERE / f"plain.{codec}.inprogress")


def main() -> None:
    """Makes the logs named on the command line, or all."""
    home = spark_home().resolve()
    work = (Path(tempfile.gettempdir()) / "sparkplan-logs").resolve()
    work.mkdir(exist_ok=True)
    machine = Machine.this_one(work, home)
    for recipe in RECIPES:
        if sys.argv[1:] and recipe.name not in sys.argv[1:]:
            continue
        text = scrubbed(run(recipe, home, work), machine)
        if recipe.name == "plain":
            source = work / "plain.json"
            source.write_text(text, encoding="utf-8")
            write_again(source, home, work)
            continue
        packed = zstandard.ZstdCompressor(level=19).compress(text.encode())
        suffix = ".zstd.inprogress" if recipe.killed else ".zstd"
        (HERE / f"{recipe.name}{suffix}").write_bytes(packed)
        print(f"{recipe.name}: {len(packed)} bytes, {text.count(chr(10))} events", flush=True)


if __name__ == "__main__":
    main()
