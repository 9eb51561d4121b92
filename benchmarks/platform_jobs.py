"""Jobs of teams that run a platform for others, which `benchmarks/logs.py --held-out` runs on real
Spark, over the tables of `table_jobs.py` and `warehouse_jobs.py`, with Spark's own settings.

    spark-submit benchmarks/platform_jobs.py JOB INPUT OUTPUT

They are of kinds whose stages are divided, planned or submitted otherwise than most: products of
two tables, partitions that are left out while a query runs, tables changed file by file, schemas
found by reading, partitioners of the program, loops of small jobs, pools that share the cluster,
joins that adaptive execution turns.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from table_jobs import events, main, write
from warehouse_jobs import people

LOOPS, REPORTS, PLACES = 40, 6, 6


def all_pairs(spark: SparkSession, folder: str, out: str) -> None:
    """Every pair of some of the events and some of the people, of which few are near."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    rows = events(spark, folder).where("id % 400 = 0").select("x", "y", "category")
    spots = people(spark, folder).where("customer % 8 = 0").selectExpr(
        "customer", "pmod(hash(customer), 1000) / 1000 px", "pmod(hash(note), 1000) / 1000 py"
    )  # fmt: skip
    near = rows.crossJoin(spots).where("pow(x - px, 2) + pow(y - py, 2) < 0.0004")
    write(near.groupBy("customer").agg(sf.count("*").alias("n"), sf.max("category")
                                       .alias("most")), out)  # fmt: skip


def pruned_parts(spark: SparkSession, folder: str, out: str) -> None:
    """A table in folders, of which a query reads those that another table names."""
    placed = events(spark, folder).where("category < 24")
    placed.repartition("category").write.partitionBy("category").parquet(f"{out}/parts")
    parts = spark.read.parquet(f"{out}/parts")
    named = people(spark, folder).where("segment = 's7'").selectExpr("customer % 24 category")
    some = parts.join(named.where("category < 8").distinct(), "category")
    write(some.groupBy("category", "customer").agg(sf.sum("x").alias("x")), f"{out}/sums")


def merge_files(spark: SparkSession, folder: str, out: str) -> None:
    """A table changed file by file: those with matches are found, and written again."""
    whole = events(spark, folder)
    whole.write.parquet(f"{out}/table")
    table = spark.read.parquet(f"{out}/table").withColumn("file", sf.input_file_name())
    changes = people(spark, folder).where("customer % 900 = 7").select("customer", "note")
    touched = table.join(changes, "customer", "left_semi").select("file").distinct()
    paths = sorted(row.file for row in touched.collect())
    old = spark.read.parquet(*paths[: max(1, len(paths) // 2)])
    joined = old.join(changes, "customer", "left")
    write(joined.withColumn("text", sf.coalesce("note", "text")).drop("note"), f"{out}/written")


def found_schema(spark: SparkSession, folder: str, out: str) -> None:
    """CSV whose schema is found by reading it, kept as ORC, and asked two questions there."""
    events(spark, folder).drop("text").write.option("header", "true").csv(f"{out}/csv")
    rows = spark.read.option("header", "true").option("inferSchema", "true").csv(f"{out}/csv")
    rows.write.orc(f"{out}/orc")
    kept = spark.read.orc(f"{out}/orc")
    days = kept.groupBy(sf.to_date("at").alias("day"), "category")
    write(days.agg(sf.avg("x").alias("x"), sf.max("y").alias("y")), f"{out}/days")
    write(kept.where("key < 100").groupBy("key").agg(sf.countDistinct("customer").alias("n")),
          f"{out}/keys")  # fmt: skip


def own_partitioner(spark: SparkSession, folder: str, out: str) -> None:
    """Pairs of Python placed by a partitioner of the program, joined twice, and sorted."""
    rows = events(spark, folder).where("id % 10 = 0").select("customer", "x").rdd.map(tuple)
    sums = rows.aggregateByKey(0.0, lambda s, x: s + x, lambda s, t: s + t, PLACES, _place)
    known = people(spark, folder).select("customer", "segment").rdd.map(tuple)
    placed = known.partitionBy(PLACES, _place).cache()
    both = sums.join(placed, PLACES).mapValues(lambda two: (two[1], round(two[0], 3)))
    again = both.partitionBy(PLACES, _place).leftOuterJoin(placed, PLACES)
    again.sortByKey().map(lambda one: f"{one[0]},{one[1]}").saveAsTextFile(out)


def _place(customer: int) -> int:
    """The partition of a customer: the first ones apart from the others."""
    return 0 if customer < 1000 else 1 + customer % (PLACES - 1)


def small_loop(spark: SparkSession, folder: str, out: str) -> None:
    """Forty questions in a loop, each of a few rows of one column."""
    for number in range(LOOPS):
        some = events(spark, folder).where(f"key = {number}").agg(sf.sum("x"), sf.count("*"))
        some.collect()
    write(events(spark, folder).groupBy("category").count(), out)


def fair_pools(spark: SparkSession, folder: str, out: str) -> None:
    """Reports of one table, submitted by threads in pools of their own that share the cluster."""
    context = spark.sparkContext

    def report(number: int) -> None:
        context.setLocalProperty("spark.scheduler.pool", f"pool{number % 3}")
        sums = sf.sum("x").alias("x"), sf.countDistinct("customer").alias("n")
        found = events(spark, folder).where(f"category % {REPORTS} = {number}")
        write(found.groupBy("key", sf.hour("at").alias("hour")).agg(*sums), f"{out}/{number}")

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(report, range(REPORTS)))


def turned_join(spark: SparkSession, folder: str, out: str) -> None:
    """Facts with sums of some of them: planned with a shuffle, of which adaptive execution makes a
    broadcast while the sums are small."""
    rows = events(spark, folder)
    some = rows.where("pmod(hash(customer), 10) < 4").groupBy("customer", "category").agg(
        sf.count("*").alias("n"), sf.max("text").alias("last")
    )  # fmt: skip
    joined = rows.select("customer", "category", "x").join(some, ["customer", "category"])
    sums = sf.sum("x").alias("x"), sf.max("n").alias("n"), sf.max("last").alias("last")
    write(joined.groupBy("category").agg(*sums), out)


JOBS = (
    all_pairs, pruned_parts, merge_files, found_schema, own_partitioner, small_loop, fair_pools,
    turned_join,
)  # fmt: skip


if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
