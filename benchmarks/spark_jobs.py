"""The jobs that `benchmarks/logs.py` runs on real Spark.

    spark-submit benchmarks/spark_jobs.py (aggregate | iterate) INPUT OUTPUT

`aggregate` reads, groups by a key, joins the groups back by another and writes: one scan, two
shuffles. `iterate` parses its input once, keeps it in memory and reads it five times: what does not
fit is parsed again each time.
"""

from __future__ import annotations

import sys

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

SCHEMA = "a double, b double, c double, d double"
ITERATIONS = 5


def rows(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.schema(SCHEMA).csv(folder)


def aggregate(spark: SparkSession, folder: str, out: str) -> None:
    """Two shuffles of fixed numbers of partitions."""
    keyed = rows(spark, folder).withColumn("key", sf.expr("int(a * 200000)"))
    sums = keyed.groupBy("key").agg(
        sf.sum("b").alias("b"), sf.stddev("c").alias("c"), sf.percentile_approx("d", 0.9).alias("d")
    )
    sums.groupBy(sf.expr("key % 1000")).agg(sf.avg("b"), sf.max("c"), sf.avg("d")).write.mode(
        "overwrite"
    ).parquet(out)


def iterate(spark: SparkSession, folder: str, out: str) -> None:
    """Reads the same rows again and again, from memory where they fit."""
    kept = rows(spark, folder).persist(StorageLevel.MEMORY_ONLY)
    weight = 1.0
    for _ in range(ITERATIONS):
        found = kept.selectExpr(f"avg(a * {weight} + b * c)", "avg(sqrt(d) + a)").first()
        weight = 1.0 + (found[0] if found else 0.0) / 10.0
    spark.createDataFrame([(weight,)], "weight double").write.mode("overwrite").csv(out)


JOBS = {"aggregate": aggregate, "iterate": iterate}


def main(job: str, folder: str, out: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    JOBS[job](spark, folder, out)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
