"""Jobs of teams that keep, clean and hand on records, which `benchmarks/logs.py --held-out` runs on
real Spark, over the tables of `table_jobs.py`.

    spark-submit benchmarks/record_jobs.py JOB INPUT OUTPUT
"""

from __future__ import annotations

import sys

from pyspark import StorageLevel
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as sf
from table_jobs import SCHEMA, events, main, write


def sketches(spark: SparkSession, folder: str, out: str) -> None:
    """Distinct counts and quantiles by sketches, for each day, then of all days merged."""
    days = events(spark, folder).withColumn("day", sf.to_date("at"))
    kept = days.groupBy("day", "category").agg(
        sf.expr("hll_sketch_agg(customer)").alias("customers"),
        sf.approx_count_distinct("text", 0.02).alias("texts"),
        sf.expr("approx_percentile(x, array(0.5, 0.9, 0.99), 1000)").alias("x"),
    )
    write(kept, f"{out}/days")
    distinct = sf.expr("hll_sketch_estimate(hll_union_agg(customers))").alias("customers")
    write(spark.read.parquet(f"{out}/days").groupBy("category").agg(distinct), f"{out}/all")


def filled_gaps(spark: SparkSession, folder: str, out: str) -> None:
    """Hours in which a key has no event are filled from the last one before."""
    hourly = events(spark, folder).where("key < 2000").withColumn("h", sf.date_trunc("hour", "at"))
    hourly = hourly.groupBy("key", "h").agg(sf.avg("x").alias("x"))
    spans = hourly.groupBy("key").agg(sf.min("h").alias("low"), sf.max("h").alias("high"))
    every = spans.selectExpr("key", "explode(sequence(low, high, interval 1 hour)) h")
    order = Window.partitionBy("key").orderBy("h").rowsBetween(Window.unboundedPreceding, 0)
    filled = every.join(hourly, ["key", "h"], "left")
    filled = filled.withColumn("x", sf.last("x", ignorenulls=True).over(order))
    write(filled.groupBy(sf.to_date("h").alias("day")).agg(sf.avg("x"), sf.count("*")), out)


def reachable(spark: SparkSession, folder: str, out: str) -> None:
    """What one customer reaches through shared keys, step by step until nothing is new."""
    rows = events(spark, folder).where("key > 20000")
    edges = rows.select("key", "customer").distinct().persist(StorageLevel.MEMORY_AND_DISK)
    seen = edges.select("customer").orderBy("customer").limit(1).localCheckpoint()
    for _ in range(6):
        keys = edges.join(seen, "customer").select("key").distinct()
        found = edges.join(keys, "key").select("customer").union(seen).distinct().localCheckpoint()
        if found.count() == seen.count():
            break
        seen = found
    write(seen, out)


def reconciled(spark: SparkSession, folder: str, out: str) -> None:
    """Two copies of a table compared: rows of one alone, changed ones, equal ones."""
    columns = ["id", "customer", "x", "text"]
    left = events(spark, folder).select(columns)
    right = spark.read.schema(SCHEMA).json(f"{folder}/json").select(columns)
    right = right.where("id % 97 > 0").withColumn("x", sf.expr("if(id % 89 = 0, x + 1, x)"))
    whole = left.select("id", sf.xxhash64(*columns[1:]).alias("a")).join(
        right.select("id", sf.xxhash64(*columns[1:]).alias("b")), "id", "full_outer"
    )
    state = sf.expr("case when b is null then 'left' when a = b then 'same' else 'other' end")
    write(whole.groupBy(state.alias("state")).count(), f"{out}/states")
    write(left.exceptAll(right), f"{out}/rows")


def rebalanced(spark: SparkSession, folder: str, out: str) -> None:
    """Rows laid out for their readers: rebalanced by a skewed column, in folders, read again."""
    rows = events(spark, folder).withColumn("week", sf.weekofyear("at"))
    rows.createOrReplaceTempView("events")
    laid = spark.sql("select /*+ rebalance(week, category) */ * from events")
    laid.write.mode("overwrite").partitionBy("week").parquet(f"{out}/weeks")
    again = spark.read.parquet(f"{out}/weeks").where("week >= 47 and x < 0.5")
    write(again.groupBy("customer").agg(sf.sum("y"), sf.max("text")).toDF(*"abc"), f"{out}/sums")


def histories(spark: SparkSession, folder: str, out: str) -> None:
    """All events of a customer as one array, sorted and folded by higher-order functions."""
    each = sf.sort_array(sf.collect_list(sf.struct("at", "x", "category")))
    kept = events(spark, folder).groupBy("customer").agg(each.alias("events"))
    folded = kept.selectExpr(
        "customer", "events",
        "aggregate(events, 0D, (sum, one) -> 0.9 * sum + one.x) decayed",
        "size(array_distinct(transform(events, one -> one.category))) kinds",
    )  # fmt: skip
    write(folded, out)


def one_order(spark: SparkSession, folder: str, out: str) -> None:
    """Running totals over all rows: a window that has no partition, in a single task."""
    order = Window.orderBy("at", "id")
    rows = events(spark, folder).select("id", "at", "x")
    totals = rows.withColumn("total", sf.sum("x").over(order)).withColumn(
        "before", sf.lag("x").over(order)
    )
    write(totals.where("x > 0.9"), out)


JOBS = (sketches, filled_gaps, reachable, reconciled, rebalanced, histories, one_order)

if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
