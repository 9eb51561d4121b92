"""Small Spark jobs whose input is divided by rules of its own, for `pitfalls.py`, which hands each
the folder where it keeps its files."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr


def divided(context: SparkContext, folder: Path) -> None:
    """Files, blocks of a file, a small file, buckets, rows that the program makes: what is divided
    by rules of its own, of as many files as `spark.divided.files` says."""
    session = SparkSession(context)
    files = int(context.getConf().get("spark.divided.files", "5"))
    lines, block, one = (folder / name for name in ("lines", "block", "one"))
    for place in (lines, block, one):
        place.mkdir(exist_ok=True)
    for number in range(files):
        (lines / f"part-{number}").write_text("".join(f"{n} {number}\n" for n in range(2000)))
    (block / "whole").write_text(f"{'x' * 1023}\n" * (files * 16 * 1024))
    (one / "whole").write_text("y\n" * (files * 1000))
    for place in (lines, block, one):
        context.textFile(str(place)).map(len).sum()
    rows = session.range(0, files * 1000, 1, 3).selectExpr("id", "id % 50 AS k")
    rows.write.bucketBy(5, "k").option("path", str(folder / "table")).saveAsTable("buckets")
    session.table("buckets").groupBy("k").count().collect()
    session.range(100_000).selectExpr("sum(sqrt(id))").collect()
    context.parallelize(range(1000)).map(lambda n: (n % 3, n)).reduceByKey(max).count()
    context.parallelize(range(1000), 20).count()


def paired(context: SparkContext, folder: Path) -> None:
    """All pairs of two inputs, rows of the program beside each other, a number of splits that is
    asked for: of as many files as `spark.divided.files` says."""
    session = SparkSession(context)
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    lines, table = _lines_and_table(session, folder)
    one, other = (session.read.parquet(str(table)).where(f"id % 20 = {rest}") for rest in (0, 1))
    pairs = one.crossJoin(other.withColumnRenamed("id", "other"))
    pairs.selectExpr("sum(id * other)").collect()
    some = context.textFile(str(lines)).filter(lambda line: line.startswith("7"))
    some.cartesian(some).count()
    ranges = [session.range(1000).union(session.range(1000))]
    ranges.append(session.range(0, 1000, 1, 3).union(session.range(0, 1000, 1, 5)))
    for both in ranges:
        both.selectExpr("sum(sqrt(id))").collect()
    context.parallelize(range(1000)).union(context.parallelize(range(1000))).count()
    context.textFile(str(lines), 12).count()


def combined(context: SparkContext, folder: Path) -> None:
    """Scans, shuffles, rows of the program and stored rows beside each other and in pairs, and a
    coalesce that leaves few splits: of as many files as `spark.divided.files` says."""
    session = SparkSession(context)
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    lines, table = _lines_and_table(session, folder)
    scan, few = session.read.parquet(str(table)), session.range(100).withColumnRenamed("id", "o")
    some = scan.where("id % 20 = 0")
    sums = scan.selectExpr("id % 50 k").groupBy("k").sum("k").select("k")
    for rows in (scan.union(session.range(1000)), some.crossJoin(few), scan.coalesce(3)):
        rows.groupBy().sum().collect()
    sums.union(scan).groupBy().sum().collect()
    stored = session.read.parquet(str(table)).selectExpr("id", "id % 7 part").cache()
    stored.count()
    other = stored.where("id % 20 = 1").selectExpr("id o", "part p")
    for rows in (stored.union(stored), stored.where("id % 20 = 0").crossJoin(other)):
        rows.groupBy().sum().collect()
    text = context.textFile(str(lines)).map(len)
    text.union(context.parallelize(range(1000))).count()
    text.cache().count()
    text.union(text).count()


def planned_early(context: SparkContext, folder: Path) -> None:
    """A query is planned before there are executors, and its files are packed for two cores, the
    least that Spark counts; then six executors come for long tasks."""
    lines = folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(12):
        (lines / f"part-{number}").write_text("".join(f"{n},{number}\n" for n in range(20_000)))
    rows = SparkSession(context).read.schema("a int, b int").csv(str(lines))
    rows.groupBy().sum().collect()
    context.parallelize(range(24), 24).foreach(lambda _: time.sleep(5.0))


def columns(context: SparkContext, folder: Path) -> None:
    """One of six columns, read by an RDD that has no plan, then by a query: of as many files as
    `spark.divided.files` says."""
    session = SparkSession(context)
    table = folder / "table"
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        rows = session.range(number * 2000, (number + 1) * 2000, 1, 1)
        wide = [f"sha2(string(id + {place}), 256) c{place}" for place in range(5)]
        rows.selectExpr("id", *wide).write.mode("append").parquet(str(table))
    one = session.read.parquet(str(table)).select("id")
    one.rdd.map(lambda row: row.id % 7).countByValue()
    one.groupBy().sum("id").collect()


def merged(context: SparkContext, folder: Path) -> None:
    """A join whose smaller side was shuffled: broadcast while it runs where that is small enough,
    of as many files as `spark.divided.files` says."""
    session = SparkSession(context)
    facts, table = folder / "facts", folder / "table"
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        for path, rows in ((facts, 5000), (table, 1000)):
            some = session.range(number * rows, (number + 1) * rows, 1, 1)
            some.selectExpr("id % 4000 k", "id v").write.mode("append").parquet(str(path))
    sums = session.read.parquet(str(table)).groupBy("k").sum("v")
    session.read.parquet(str(facts)).join(sums, "k").groupBy().sum().collect()


def planned(context: SparkContext, folder: Path) -> None:
    """A join with a table of as many files as `spark.divided.files` says, which is planned as a
    broadcast where that is small enough, and one with sums, which are broadcast while the query
    runs where these are."""
    session = SparkSession(context)
    facts, table = folder / "facts", folder / "table"
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        for path, rows, name in ((facts, 40_000, "v"), (table, 2000, "t")):
            some = session.range(number * rows, (number + 1) * rows, 1, 1)
            some = some.selectExpr(f"id div {rows // 2000} k", f"hash(id) {name}")
            some.write.mode("append").parquet(str(path))
    rows = session.read.parquet(str(facts))
    sums = rows.groupBy("k").agg({"v": "sum"})
    for other in (session.read.parquet(str(table)), sums):
        rows.join(other, "k").groupBy().max().collect()


def written(context: SparkContext, folder: Path) -> None:
    """Tables that the job writes and reads again: a file for each task, in each folder by each
    task, one in each folder, files of so many rows; of as many files as `spark.divided.files`
    says."""
    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        (lines / f"part-{number}").write_text("".join(f"{n},{n % 9}\n" for n in range(20_000)))
    rows = session.read.schema("id int, k int").csv(str(lines))
    rows = rows.selectExpr("id", "k", "sha2(string(id), 256) c")
    writers = {
        "tasks": rows.write,
        "each": rows.write.partitionBy("k"),
        "folders": rows.repartition("k").write.partitionBy("k"),
        "rows": rows.write.option("maxRecordsPerFile", 1500),
    }
    for name, writer in writers.items():
        writer.parquet(str(folder / name))
        session.read.parquet(str(folder / name)).groupBy().sum("id").collect()
    session.read.parquet(str(folder / "each")).where("k < 3").groupBy().sum("id").collect()


def foldered(context: SparkContext, folder: Path) -> None:
    """A table in 150 folders that the job writes last, of as many files as `spark.divided.files`
    says, after a table of the same rows without folders."""
    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        (lines / f"part-{number}").write_text("".join(f"{n},{n % 150}\n" for n in range(6_000)))
    rows = session.read.schema("id int, k int").csv(str(lines))
    rows.write.parquet(str(folder / "whole"))
    rows.write.partitionBy("k").parquet(str(folder / "folders"))


def rewritten(context: SparkContext, folder: Path) -> None:
    """A table in 10 folders of which the job writes three again before it reads all, and rows that
    it fetches one partition after the other: of as many files as `spark.divided.files` says."""
    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        (lines / f"part-{number}").write_text("".join(f"{n},{n % 10}\n" for n in range(6_000)))
    rows, table = session.read.schema("id int, k int").csv(str(lines)), str(folder / "table")
    rows.write.partitionBy("k").parquet(table)
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    rows.where("k < 3").write.mode("overwrite").partitionBy("k").parquet(table)
    session.read.parquet(table).groupBy().sum("id").collect()
    sum(row.id for row in rows.where("id % 100 = 0").toLocalIterator())


def few_keys(context: SparkContext, folder: Path) -> None:
    """Rows that are brought together by a column of 5 values, each of more than the advisory size,
    and by one of 12, of which four fit into it: of as many files as `spark.divided.files` says."""
    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        text = "".join(f"{number * 4000 + n},{n % 12}\n" for n in range(4000))
        (lines / f"part-{number}").write_text(text)
    rows = session.read.schema("id int, k int").csv(str(lines))
    rows.selectExpr("id", "k % 5 f").repartition("f").groupBy().sum("id").collect()
    session.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "32k")
    ranked = rows.selectExpr("row_number() over (partition by k order by id) r")
    ranked.groupBy().sum("r").collect()


def grouped(context: SparkContext, folder: Path) -> None:
    """Sums by keys that all files have, that each has of its own, and of which more files have more
    but ever fewer new ones; what collects rows, and groups that are written and read: of as many
    files as `spark.divided.files` says."""
    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        draw = random.Random(number).random
        rows = ((n % 50, number * 20_000 + n, int(10.0 * draw() ** -0.8)) for n in range(20_000))
        (lines / f"part-{number}").write_text("".join(f"{d},{o},{w}\n" for d, o, w in rows))
    rows = session.read.schema("day int, own int, word int").csv(str(lines))
    for key in ("day", "own", "word"):
        rows.groupBy(key).count().groupBy().sum("count").collect()
    rows.groupBy("day").agg({"own": "collect_list"}).selectExpr(
        "sum(size(`collect_list(own)`))"
    ).collect()
    rows.groupBy("word").count().write.parquet(str(folder / "words"))
    words = session.read.parquet(str(folder / "words")).repartition(4)
    words.groupBy().sum("count").collect()


def kept_groups(context: SparkContext, folder: Path) -> None:
    """Counts of words are checkpointed and read three times: alone, beside counts of days that are
    shuffled, and their first rows; of as many files as `spark.divided.files` says."""
    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        draw = random.Random(number).random
        rows = ((n % 50, int(10.0 * draw() ** -0.8)) for n in range(20_000))
        (lines / f"part-{number}").write_text("".join(f"{day},{word}\n" for day, word in rows))
    rows = session.read.schema("day int, word int").csv(str(lines))
    words = rows.groupBy("word").count().localCheckpoint()
    words.groupBy().sum("count").collect()
    days = rows.groupBy("day").count()
    days.union(words).repartition(4, "day").groupBy().sum("count").collect()
    words.where("word > 0").take(5)


def ordered(context: SparkContext, folder: Path) -> None:
    """Counts of words and rows of a join that are sorted, for which samples are taken: the counts
    and the join are made twice; distinct words, and distinct numbers of floating point."""
    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(4):
        draw = random.Random(number).random
        words = [int(10.0 * draw() ** -0.8) for _ in range(5_000)]
        (lines / f"part-{number}").write_text("".join(f"{w},{w / 2}\n" for w in words))
    rows = session.read.schema("word int, half double").csv(str(lines))
    rows.groupBy("word").count().sort("count").write.parquet(str(folder / "counts"))
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    names = session.range(1_000, numPartitions=2).selectExpr("id word", "id % 7 name")
    rows.join(names, "word").sort("half").write.parquet(str(folder / "named"))
    for column in ("word", "half"):
        rows.select(column).distinct().groupBy().count().collect()


def graph(context: SparkContext, folder: Path) -> None:
    """GraphX, which lays caches and shuffles side by side and asks whether any messages are left:
    ranks in two steps and components in two, of edges in as many files as `spark.divided.files`
    says."""
    edges, java = folder / "edges", context._jvm
    edges.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "3"))):
        draw = random.Random(number).randrange
        pairs = "".join(f"{draw(2000)} {draw(2000)}\n" for _ in range(4000))
        (edges / f"part-{number}").write_text(pairs)
    graphx = java.org.apache.spark.graphx
    level = java.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()
    whole = graphx.GraphLoader.edgeListFile(
        context._jsc.sc(), edges.as_uri(), False, -1, level, level
    )
    tag = java.scala.reflect.ClassTag.Int()
    graphx.lib.PageRank.run(whole, 2, 0.15, tag, tag).vertices().count()
    graphx.lib.ConnectedComponents.run(whole, 2, tag, tag).vertices().count()


def trees(context: SparkContext, folder: Path) -> None:
    """Steps of logistic regression, each of which aggregates the partitions in a tree, on cached
    rows of as many files as `spark.divided.files` says."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        draw = random.Random(number).random
        rows = ((draw(), draw(), draw()) for _ in range(5_000))
        text = "".join(f"{a},{b},{int(a + b + c > 1.5)}\n" for a, b, c in rows)
        (lines / f"part-{number}").write_text(text)
    rows = session.read.schema("a double, b double, label double").csv(str(lines))
    features = VectorAssembler(inputCols=["a", "b"], outputCol="features").transform(rows)
    LogisticRegression(maxIter=10, tol=0.0).fit(features.select("features", "label").cache())


def own_settings(context: SparkContext, folder: Path) -> None:
    """Queries of which each sets for itself how shuffles and files are divided, over files whose
    schema Spark infers: as many as `spark.divided.files` says."""
    session, lines = SparkSession(context), folder / "lines"
    lines.mkdir(exist_ok=True)
    for number in range(int(context.getConf().get("spark.divided.files", "4"))):
        text = "".join(f"{number * 5000 + n},{n % 7}\n" for n in range(5000))
        (lines / f"part-{number}").write_text("id,k\n" + text)
    rows = session.read.csv(str(lines), header=True, inferSchema=True)
    adaptive = "spark.sql.adaptive."
    for settings in (
        {},
        {"spark.sql.shuffle.partitions": "40",
         adaptive + "coalescePartitions.parallelismFirst": "false",
         adaptive + "coalescePartitions.minPartitionSize": "1k",
         adaptive + "advisoryPartitionSizeInBytes": "16k"},
        {"spark.sql.files.openCostInBytes": "1k", "spark.sql.files.maxPartitionBytes": "24k"},
    ):  # fmt: skip
        for key, value in settings.items():
            session.conf.set(key, value)
        rows.groupBy("id").sum("k").write.format("noop").mode("overwrite").save()


def paired_small(context: SparkContext, folder: Path) -> None:
    """Rows of as many files as `spark.divided.files` says, all of them paired with those of one."""
    session = SparkSession(context)
    _, table = _lines_and_table(session, folder)
    session.range(0, 200, 1, 1).withColumnRenamed("id", "o").write.parquet(str(folder / "small"))
    few = session.read.parquet(str(folder / "small")).hint("shuffle_replicate_nl")
    pairs = session.read.parquet(str(table)).join(few, expr("id % 200 > o"))
    pairs.selectExpr("sum(id * o)").collect()


def united(context: SparkContext, folder: Path) -> None:
    """One table that a union scans five times, one of folders whose scans choose one each, and each
    file of a folder by itself: of as many files as `spark.divided.files` says."""
    session, table, days = SparkSession(context), folder / "table", folder / "days"
    files = int(context.getConf().get("spark.divided.files", "5"))
    rows = session.range(0, files * 2000, 1, files)
    rows.write.parquet(str(table))
    rows.selectExpr("id", f"id % {files} day").write.partitionBy("day").parquet(str(days))
    one, other = session.read.parquet(str(table)), session.read.parquet(str(days))
    each = [session.read.parquet(str(path)) for path in sorted(table.glob("*.parquet"))]
    for scans in (
        [one.where(f"id % 5 = {rest}") for rest in range(5)],
        [other.where(f"day = {day}") for day in range(files)],
        each,
    ):
        reduce(DataFrame.unionAll, scans).selectExpr("sum(id)").collect()


def two_facts(context: SparkContext, folder: Path) -> None:
    """Sales in as many files as `spark.divided.files` says and returns in a fourth of these, so in
    one of a small run, beside products in one file."""
    session = SparkSession(context)
    files = int(context.getConf().get("spark.divided.files", "4"))
    for name, parts, rows in (
        ("products", 1, 50),
        ("sales", files, 5000),
        ("returns", files // 4, 4000),
    ):
        (folder / name).mkdir(exist_ok=True)
        for number in range(parts):
            lines = (f"{n % 50},{number * rows + n}\n" for n in range(rows))
            (folder / name / f"part-{number}").write_text("".join(lines))
    sales, returns, products = (
        session.read.schema("product int, amount int").csv(str(folder / name))
        for name in ("sales", "returns", "products")
    )
    for facts in (sales, returns):
        named = facts.join(products.selectExpr("product", "amount % 7 category"), "product")
        named.groupBy("category").sum("amount").collect()


def planned_again(context: SparkContext, folder: Path) -> None:
    """The last rows of a table, and an RDD of the same plan: of as many files as
    `spark.divided.files` says."""
    session, table = SparkSession(context), folder / "table"
    files = int(context.getConf().get("spark.divided.files", "4"))
    session.range(0, files * 20_000, 1, files).write.parquet(str(table))
    rows = session.read.parquet(str(table))
    rows.tail(3)
    rows.rdd.map(lambda row: (row.id % 7, 1)).reduceByKey(max).count()


def _lines_and_table(session: SparkSession, folder: Path) -> tuple[Path, Path]:
    """Texts and a table of as many files as `spark.divided.files` says."""
    lines, table = folder / "lines", folder / "table"
    lines.mkdir(exist_ok=True)
    for number in range(int(session.sparkContext.getConf().get("spark.divided.files", "5"))):
        (lines / f"part-{number}").write_text("".join(f"{n} {number}\n" for n in range(500)))
        rows = session.range(number * 1000, (number + 1) * 1000, 1, 1)
        rows.write.mode("append").parquet(str(table))
    return lines, table


DIVIDED: dict[str, Callable[[SparkContext, Path], None]] = {
    job.__name__: job
    for job in (
        divided, paired, combined, planned_early, columns, merged, planned, written, grouped,
        kept_groups, ordered, graph, trees, own_settings, paired_small,
        planned_again, united, two_facts, foldered, few_keys,
        rewritten,
    )
}  # fmt: skip
