"""Jobs of nightly pipelines that `benchmarks/logs.py --held-out` runs on real Spark, over the
tables of `table_jobs.py`.

    spark-submit benchmarks/pipeline_jobs.py JOB INPUT OUTPUT
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from table_jobs import SCHEMA, events, main, write

DAYS = 6
ROUNDS = 4


def one_file(spark: SparkSession, folder: str, out: str) -> None:
    """An extract that one task filters, projects and writes, since it must be one file."""
    rows = events(spark, folder).where("category < 12")
    found = rows.selectExpr("id", "customer", "upper(text) text", "round(x * y, 4) score")
    found.coalesce(1).write.mode("overwrite").option("compression", "gzip").json(out)


def three_at_once(spark: SparkSession, folder: str, out: str) -> None:
    """Three reports of the same table, submitted by threads of their own."""
    rows = events(spark, folder)
    reports = {
        "customers": rows.groupBy("customer").agg(sf.sum("x"), sf.max("at")),
        "words": rows.selectExpr("explode(split(text, ' ')) word").groupBy("word").count(),
        "hours": rows.groupBy(sf.hour("at"), "category").agg(sf.avg("y"), sf.stddev("z")),
    }
    with ThreadPoolExecutor(len(reports)) as threads:
        done = [
            threads.submit(write, report.toDF(*"abcd"[: len(report.columns)]), f"{out}/{name}")
            for name, report in reports.items()
        ]
    for one in done:
        one.result()


def not_adaptive(spark: SparkSession, folder: str, out: str) -> None:
    """Two joins by sort and merge, and sums, with adaptive execution and broadcasts off."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    rows = events(spark, folder)
    first = rows.groupBy("customer").agg(sf.min("at").alias("first"), sf.sum("x").alias("spent"))
    keys = rows.groupBy("key").agg(sf.avg("y").alias("usual"))
    joined = rows.join(first, "customer").join(keys, "key").where("y > usual and at > first")
    write(joined.groupBy("category").agg(sf.sum("spent"), sf.count("*")).toDF(*"abc"), out)


def day_by_day(spark: SparkSession, folder: str, out: str) -> None:
    """A job for each of six days in turn, each appending what it filters and sums."""
    rows = events(spark, folder)
    first = rows.agg(sf.to_date(sf.min("at"))).collect()[0][0]
    for day in range(DAYS):
        own = rows.where(sf.datediff("at", sf.lit(first)) == day)
        sums = own.groupBy("customer", "category").agg(sf.sum("x"), sf.collect_set("key"))
        sums.toDF(*"abcd").write.mode("append").parquet(f"{out}/day={day}")


def checkpoints(spark: SparkSession, folder: str, out: str) -> None:
    """Rows joined with sums of themselves four times, each round cut off by a checkpoint."""
    spark.sparkContext.setCheckpointDir(f"{out}/checkpoints")
    rows = events(spark, folder).select("id", "key", "customer", "x")
    for number in range(ROUNDS):
        by = "key" if number % 2 else "customer"
        sums = rows.groupBy(by).agg(sf.avg("x").alias("mean"))
        rows = rows.join(sums, by).selectExpr("id", "key", "customer", "0.5 * (x + mean) x")
        rows = rows.checkpoint()
    write(rows.groupBy("key").agg(sf.avg("x")).toDF("key", "x"), out + "/found")


def percentiles(spark: SparkSession, folder: str, out: str) -> None:
    """Exact percentiles of three columns in many groups, then in a few, from JSON."""
    rows = spark.read.schema(SCHEMA).json(f"{folder}/json")
    exact = [sf.expr(f"percentile({name}, array(0.1, 0.5, 0.9))") for name in "xyz"]
    for by in ("key", "category"):
        write(rows.groupBy(by).agg(*exact).toDF(*"abcd"), f"{out}/{by}")


def recommend(spark: SparkSession, folder: str, out: str) -> None:
    """MLlib's factors of customers and categories, and the best three for each customer."""
    from pyspark.ml.recommendation import ALS

    seen = events(spark, folder).groupBy("customer", "category").agg(sf.avg("x").alias("rating"))
    als = ALS(rank=8, maxIter=5, seed=1, userCol="customer", itemCol="category", ratingCol="rating")
    write(als.fit(seen).recommendForAllUsers(3), out)


def text_files(spark: SparkSession, folder: str, out: str) -> None:
    """Lines of JSON parsed by Python, reduced by key and joined, as RDDs."""

    def parsed(lines: Iterator[str]) -> Iterator[tuple[int, tuple[float, int]]]:
        for line in lines:
            row = json.loads(line)
            yield row["customer"], (row["x"], 1)

    pairs = spark.sparkContext.textFile(f"{folder}/json").mapPartitions(parsed)
    sums = pairs.reduceByKey(lambda one, other: (one[0] + other[0], one[1] + other[1]))
    most = pairs.mapValues(lambda pair: pair[0]).reduceByKey(max)
    found = sums.join(most).map(lambda one: f"{one[0]},{one[1][0][0] / one[1][0][1]},{one[1][1]}")
    found.saveAsTextFile(out)


JOBS = (
    one_file, three_at_once, not_adaptive, day_by_day, checkpoints, percentiles, recommend,
    text_files,
)  # fmt: skip


if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
