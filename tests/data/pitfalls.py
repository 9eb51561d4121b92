"""Small Spark jobs in which something goes wrong, or executors come and go; `make_logs.py` runs
them with `spark-submit pitfalls.py FOLDER NAME`. In FOLDER they note what has happened already."""

from __future__ import annotations

import gzip
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

from divisions import DIVIDED
from pyspark import SparkContext, StorageLevel
from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

FOLDER = Path(sys.argv[1])
HANGING_SECONDS = 15.0


def plain(context: SparkContext) -> None:
    """A cached RDD, a shuffle, and the shuffle read again by a job that skips its first stage."""
    pairs = context.parallelize(range(4000), 2).map(lambda n: (n % 7, n))
    pairs.persist(StorageLevel.MEMORY_ONLY)
    pairs.count()
    sums = pairs.reduceByKey(lambda a, b: a + b, 2)
    sums.count()
    sums.collect()


def retries(context: SparkContext) -> None:
    """An executor dies with its cached blocks and shuffle files: fetches fail, and a stage is run
    again for what was lost."""
    pairs = context.parallelize(range(4000), 6).map(lambda n: (n % 11, n))
    pairs.persist(StorageLevel.MEMORY_ONLY)
    pairs.count()
    sums = pairs.reduceByKey(lambda a, b: a + b, 6)
    sums.mapPartitionsWithIndex(die_in_last).count()
    pairs.reduceByKey(max, 6).count()


def resubmitted(context: SparkContext) -> None:
    """An executor dies while the stage still runs whose finished map outputs it held."""
    pairs = context.parallelize(range(400), 8).mapPartitionsWithIndex(die_in_last)
    pairs.map(lambda n: (n % 5, n)).reduceByKey(lambda a, b: a + b, 4).count()


def failing(context: SparkContext) -> None:
    """A task fails as often as it may, and with it the job; the application lives on."""
    try:
        context.parallelize(range(4), 4).map(lambda n: 1 // (n - 2)).count()
    except Exception as error:
        print("as meant:", type(error).__name__)
    context.parallelize(range(4), 4).count()


def dynamic(context: SparkContext) -> None:
    """Executors are asked for, go when they are idle, and are asked for again."""
    for _ in range(2):
        context.parallelize(range(4), 4).map(pause).count()
        time.sleep(8)


def profiles(context: SparkContext) -> None:
    """The second job asks for an executor of its own size."""
    numbers = context.parallelize(range(8), 4).map(pause)
    numbers.count()
    large = ExecutorResourceRequests().cores(2).memory("512m")
    tasks = TaskResourceRequests().cpus(2)
    wanted = ResourceProfileBuilder().require(large).require(tasks).build
    numbers.map(lambda n: n + 1).withResources(wanted).count()


def wide_tasks(context: SparkContext) -> None:
    """The second stage asks for two cores for each task, on executors as they are."""
    pairs = context.parallelize(range(8), 4).map(pause).map(lambda n: (n % 4, n))
    two = ResourceProfileBuilder().require(TaskResourceRequests().cpus(2)).build
    pairs.groupByKey(4).mapValues(sum).withResources(two).count()


def idle_cores(context: SparkContext) -> None:
    """Tasks hold two cores each by the settings, on executors of three: one task at a time runs on
    each of them. The second stage has a partition for each core, idle ones too."""
    context.parallelize(range(8), 8).map(pause).count()
    context.parallelize(range(6)).map(pause).count()


def killed(context: SparkContext) -> None:
    """The driver's JVM is killed in the middle of the second job."""
    context.parallelize(range(8), 4).count()
    SparkSession(context)  # of which the server makes those of its clients
    jvm: Any = context._jvm
    Timer(4.0, os.kill, (int(jvm.ProcessHandle.current().pid()), signal.SIGKILL)).start()
    context.parallelize(range(24), 24).map(pause).count()


def speculative(context: SparkContext) -> None:
    """One task hangs: a copy of it is started on the other host and ends first. The hanging one is
    killed, but a sleeping Python does not hear it: it ends long after its stage has."""
    numbers = context.parallelize(range(8), 8).map(pause).mapPartitionsWithIndex(hang_in_last)
    numbers.map(lambda n: (n % 3, n)).reduceByKey(lambda a, b: a + b, 2).count()
    time.sleep(HANGING_SECONDS)


def pause(number: int) -> int:
    time.sleep(0.7)
    return number


def once(what: str) -> bool:
    """Whether nobody has asked this before."""
    try:
        (FOLDER / what).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def die_in_last(partition: int, values: Iterator[Any]) -> Iterator[Any]:
    """The first executor that comes to partition 4 or beyond is killed."""
    time.sleep(0.4)
    if partition >= 4 and once("died"):
        os.kill(parent_of(os.getppid()), signal.SIGKILL)  # worker, its daemon, the executor
    return values


def hang_in_last(partition: int, values: Iterator[Any]) -> Iterator[Any]:
    """The first attempt of partition 7 hangs."""
    if partition == 7 and once("hung"):
        time.sleep(HANGING_SECONDS)
    return values


def vectored(context: SparkContext) -> None:
    """Parquet is read in vectored reads: two columns of all files, none for a count, and one file
    after the other in search of a row."""
    session = SparkSession(context)
    path = str(FOLDER / "table")
    session.range(0, 300_000, 1, 4).selectExpr("id % 97 AS k", "rand(1) AS v").write.parquet(path)
    table = session.read.parquet(path)
    table.groupBy("k").sum("v").collect()
    table.count()
    table.filter("v * v > 2").take(1)


def small(context: SparkContext) -> None:
    """Nothing goes wrong; what matters are the settings."""
    context.parallelize(range(8), 2).count()


def works_alone(context: SparkContext) -> None:
    """The driver works by itself for more than five minutes between two jobs."""
    context.parallelize(range(8), 2).count()
    time.sleep(303.0)
    context.parallelize(range(8), 2).count()


def operators(context: SparkContext) -> None:
    """RDDs are named as those of a native engine's operators are."""
    context.setLocalProperty("spark.rdd.scope", '{"id":"1","name":"CometHashAggregate"}')
    context.setLocalProperty("spark.rdd.scope.noOverride", "true")
    context.parallelize(range(8), 2).count()


def scans(context: SparkContext) -> None:
    """Parquet by two scans in one stage, by the new interface of sources, and without a query."""
    session = SparkSession(context)
    paths = [str(FOLDER / name) for name in ("large", "small")]
    for path, rows in zip(paths, (200_000, 100_000), strict=True):
        session.range(0, rows, 1, 2).selectExpr("id % 97 AS k", "rand(1) AS v").write.parquet(path)
    large, small = (session.read.parquet(path) for path in paths)
    large.union(small).groupBy("k").sum("v").collect()
    session.conf.set("spark.sql.sources.useV1SourceList", "")
    session.read.parquet(paths[1]).groupBy("k").sum("v").collect()
    small.rdd.count()


def fetched(context: SparkContext) -> None:
    """The driver fetches all rows of as many files as `spark.divided.files` says and matches them
    one after another, then the first rows alone, then their sum, which it works on as long."""
    session = SparkSession(context)
    table = FOLDER / "table"
    for number in range(int(context.getConf().get("spark.divided.files", "5"))):
        rows = session.range(number * 40_000, (number + 1) * 40_000, 1, 1)
        rows.selectExpr("id", "id % 977 part", "rand(7) x").write.mode("append").parquet(str(table))
    kept = session.read.parquet(str(table))
    best: dict[int, float] = {}
    for row in kept.collect():
        best[row.part] = max(best.get(row.part, 0.0), row.x)
    for some in (kept.limit(100).collect(), kept.selectExpr("sum(x)").collect()):
        sum(math.sqrt(number) for number in range(4_000_000 * bool(some)))
    session.createDataFrame(sorted(best.items()), "part long, x double").count()


def python_source(context: SparkContext) -> None:
    """A data source written in Python: a scan like others by its name."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    class Reader(DataSourceReader):
        def partitions(self) -> list[InputPartition]:
            return [InputPartition(0), InputPartition(1)]

        def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
            return ((partition.value + n,) for n in range(1000))

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers"

        def schema(self) -> str:
            return "n long"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader()

    session = SparkSession(context)
    session.dataSource.register(Numbers)
    session.read.format("numbers").load().groupBy().sum("n").collect()


def python_workers(context: SparkContext) -> None:
    """Functions of pandas on four groups, then one on rows: workers start and load pandas."""
    import pandas as pd
    from pyspark.sql.functions import pandas_udf

    def mean(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": [group["k"].iloc[0]], "mean": [group["id"].mean()]})

    rows = SparkSession(context).range(0, 40_000, 1, 2).selectExpr("id", "id % 4 k")
    rows.groupBy("k").applyInPandas(mean, "k long, mean double").collect()
    twice = pandas_udf(lambda numbers: numbers * 2, "long")
    rows.select(twice("id").alias("n")).groupBy().sum("n").collect()


def evicted(context: SparkContext) -> None:
    """Of two RDDs that memory does not hold together, the second drives out the first, which the
    next job needs again: to nowhere, then to disk."""
    for level in (StorageLevel.MEMORY_ONLY, StorageLevel.MEMORY_AND_DISK):
        pair = [
            context.parallelize(range(2), 2).map(lambda _: os.urandom(70 << 20)).persist(level)
            for _ in range(2)
        ]
        for rdd in (*pair, pair[0]):
            rdd.count()
        for rdd in pair:
            rdd.unpersist(blocking=True)


def copies(context: SparkContext) -> None:
    """Blocks on two executors each, with room for all and then not, and blocks on disk alone."""
    for level, megabytes in (
        (StorageLevel.MEMORY_ONLY_2, 5),
        (StorageLevel.MEMORY_ONLY_2, 50),
        (StorageLevel.DISK_ONLY, 50),
    ):
        size = megabytes << 20
        rdd = context.parallelize(range(4), 4).map(lambda _, size=size: os.urandom(size))
        rdd.persist(level)
        rdd.count()
        rdd.count()
        rdd.unpersist(blocking=True)


def taken(context: SparkContext) -> None:
    """The first row of cached data is asked for, before all rows are: of a text that fits, of which
    that reads one partition, and of a table that does not, of which it reads in part what finds no
    room."""
    session = SparkSession(context)
    paths = [str(FOLDER / name) for name in ("small", "large")]
    for path, rows in zip(paths, (100_000, 800_000), strict=True):
        session.range(0, rows, 1, 4).selectExpr("sha2(string(id), 256) AS line").write.text(path)
    small = context.textFile(paths[0], 4).persist(StorageLevel.MEMORY_ONLY)
    large = session.read.text(paths[1]).persist(StorageLevel.MEMORY_ONLY)
    small.first()
    for _ in range(2):
        small.count()
    small.unpersist(blocking=True)
    large.take(1)
    for _ in range(2):
        large.selectExpr("max(value)").collect()


def read_beside(context: SparkContext) -> None:
    """A cached table that fits is read twice; then its readers aggregate, and take the memory of
    blocks that they come to later."""
    session = SparkSession(context)
    table = FOLDER / "table"
    rows = session.range(0, 576_000, 1, 12).selectExpr("id % 90000 k", "sha2(string(id), 256) c")
    rows.write.parquet(str(table))
    kept = session.read.parquet(str(table)).persist(StorageLevel.MEMORY_ONLY)
    for _ in range(2):
        kept.selectExpr("sum(k)", "max(c)").collect()
    kept.groupBy("c").agg({"k": "sum"}).groupBy().count().collect()


def taken_table(context: SparkContext) -> None:
    """The same of a table of Parquet that fits, of four files."""
    session = SparkSession(context)
    path = str(FOLDER / "table")
    session.range(0, 200_000, 1, 4).selectExpr("rand(1) AS v").write.parquet(path)
    table = session.read.parquet(path).cache()
    table.take(1)
    table.groupBy().sum("v").collect()


CLIENT = """
from pyspark.sql import SparkSession, functions as F
session = SparkSession.builder.remote("sc://localhost:15002").create()
table = session.range(60_000).select((F.col("id") % 97).alias("k"))
print(table.groupBy("k").count().collect()[:1])
session.stop()
"""


def clients(context: SparkContext) -> None:
    """Two clients of a Spark Connect server, one after the other."""
    SparkSession(context)  # of which the server makes those of its clients
    jvm: Any = context._jvm
    service = jvm.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(context._jsc.sc())
    own = {key: value for key, value in os.environ.items() if not re.search("SPARK|MASTER", key)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", CLIENT], env=own, check=True)
    nothing = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    service.stop(nothing, nothing)  # its threads would keep the driver alive


def database(context: SparkContext) -> None:
    """Rows of a database, of which Spark counts no bytes, are written to files and read there."""
    session = SparkSession(context)
    url, driver = "jdbc:derby:memory:shop;create=true", "org.apache.derby.jdbc.EmbeddedDriver"
    session.range(2000).write.jdbc(url, "numbers", properties={"driver": driver})
    with tempfile.TemporaryDirectory() as folder:
        rows = session.read.jdbc(url, "numbers", properties={"driver": driver})
        rows.write.parquet(f"{folder}/numbers")
        session.read.parquet(f"{folder}/numbers").selectExpr("sum(id)").collect()


def one_gzip(context: SparkContext) -> None:
    """A text of 6 MB that gzip has compressed, which no split divides."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.csv.gz")
        with gzip.open(path, "wt", compresslevel=1) as out:
            out.writelines(f"{n},{os.urandom(32).hex()}\n" for n in range(150_000))
        rows = SparkSession(context).read.schema("n int, text string").csv(str(path))
        rows.selectExpr("max(text)", "sum(n)").collect()


def skewed(context: SparkContext) -> None:
    """Rows of which three in ten have one key are joined with others: of as many files as
    `spark.divided.files` says, first split for skew in any number, then in a large one alone."""
    session, draw = SparkSession(context), random.Random(0).random
    files = int(context.getConf().get("spark.divided.files", "4"))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(files):
            keys = (7 if draw() < 0.3 else int(5000 * draw()) for _ in range(4000))
            text = "".join(f"{key},{draw()}{draw()}\n" for key in keys)
            Path(folder, f"part-{number}").write_text(text)
        rows = session.read.schema("k int, text string").csv(folder)
        names = session.range(1250 * files).selectExpr("int(id) k", "sha2(string(id), 256) name")
        for threshold in ("100k", "300k"):
            skew = "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"
            session.conf.set(skew, threshold)
            rows.join(names, "k").selectExpr("max(text)", "max(name)").collect()


def parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


JOBS: dict[str, Callable[[SparkContext], None]] = {
    job.__name__: job
    for job in (
        plain, retries, resubmitted, failing, dynamic, profiles, wide_tasks, idle_cores, killed,
        speculative, vectored, small, works_alone, operators, scans, fetched, python_source,
        python_workers, evicted, copies, taken, taken_table, read_beside, clients, database,
        one_gzip, skewed,
    )
}  # fmt: skip

if __name__ == "__main__":
    with SparkContext() as spark_context:
        if sys.argv[2] in DIVIDED:
            DIVIDED[sys.argv[2]](spark_context, FOLDER)
        else:
            JOBS[sys.argv[2]](spark_context)
