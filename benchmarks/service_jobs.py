"""Jobs of teams that report, score and keep tables for others, which `benchmarks/logs.py
--held-out` runs on real Spark over the tables of `table_jobs.py` and `warehouse_jobs.py`.

    spark-submit benchmarks/service_jobs.py JOB INPUT OUTPUT

What they have in common is that something beside the input decides how long they take: subqueries
of a query over the same table, the driver's own work, calls of one function on tables of other
sizes, tasks that fail, executors that come and go, tasks that need two cores. The last two need
pandas and pyarrow in Spark's Python; `held_out_runs.SETTINGS_OF` has the settings of each.
"""

import sys  # and no annotations from the future: Spark reads those of pandas functions
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from table_jobs import events, main, write
from warehouse_jobs import people

PARTS, SAMPLE = 24, 4000


def snowflake(spark: SparkSession, folder: str, out: str) -> None:
    """A year's report as decision support asks it: facts, a dimension and two tables of its own,
    a rollup of which each level is ranked, beside what the same customers are used to spend."""
    events(spark, folder).createOrReplaceTempView("facts")
    people(spark, folder).createOrReplaceTempView("people")
    spark.range(25).selectExpr("int(id) nation", "concat('n', id) name", "int(id % 5) region"
                               ).createOrReplaceTempView("nations")  # fmt: skip
    spark.range(5).selectExpr("int(id) region", "concat('r', id) title"
                              ).createOrReplaceTempView("regions")  # fmt: skip
    found = spark.sql("""
        with spent as (
            select customer, category, sum(x) paid, count(*) n from facts group by 1, 2
        ), usual as (select customer, avg(paid) * 1.2 usual from spent group by 1)
        select title, name, category, sum(paid) paid, grouping_id() level,
               rank() over (partition by grouping_id(), title order by sum(paid) desc) place
        from spent join usual using (customer) join people using (customer)
             join nations using (nation) join regions using (region)
        where paid > usual group by rollup (title, name, category)
    """)
    write(found.where("place <= 100"), out)


def late_suppliers(spark: SparkSession, folder: str, out: str) -> None:
    """Rows for which another row of the same table exists and a third does not, and those whose
    customer spent more than most: subqueries that turn into joins of a table with itself."""
    rows = events(spark, folder).selectExpr("id", "customer", "key", "category", "x", "y", "at")
    rows.createOrReplaceTempView("facts")
    found = spark.sql("""
        select key % 400 supplier, count(*) waiting from facts a
        where y > 0.5
          and exists (select 1 from facts b where b.customer = a.customer and b.key <> a.key)
          and not exists (select 1 from facts c where c.customer = a.customer and c.key <> a.key
                          and c.y > 0.5 and c.category = a.category)
          and a.customer in (select customer from facts group by 1 having sum(x) > (
                select 0.9 * avg(paid) from (select sum(x) paid from facts group by customer)))
        group by 1 order by waiting desc, supplier
    """)
    write(found, out)


def folders_of_hours(spark: SparkSession, folder: str, out: str) -> None:
    """A table kept in a folder for each day and hour, each written by every task that has rows of
    it, then compacted a third at a time into one file each."""
    rows = events(spark, folder).drop("text").selectExpr("*", "to_date(at) day", "hour(at) hour")
    rows.write.partitionBy("day", "hour").parquet(f"{out}/raw")
    kept = spark.read.parquet(f"{out}/raw")
    for third in range(3):
        some = kept.where(f"day(day) % 3 = {third}").repartition("day")
        some.sortWithinPartitions("hour", "key").write.partitionBy("day").parquet(
            f"{out}/compact/{third}"
        )


def fit_in_driver(spark: SparkSession, folder: str, out: str) -> None:
    """A sample of one size fitted in the driver, then used on all rows."""
    rows = events(spark, folder)
    sample = [tuple(row) for row in rows.where("id % 37 = 0").select("x", "y", "z").take(SAMPLE)]
    slopes = [0.0, 0.0]
    for _ in range(1500):
        off = [slopes[0] * x + slopes[1] * y - z for x, y, z in sample]
        for place in range(2):
            slopes[place] -= 0.4 * sum(o * s[place] for o, s in zip(off, sample, strict=True)
                                       ) / len(sample)  # fmt: skip
    scored = rows.withColumn("score", slopes[0] * rows.x + slopes[1] * rows.y)
    sums = sf.avg("score").alias("score"), sf.max("text").alias("text")
    write(scored.groupBy("customer").agg(*sums), out)


def fetched_rows(spark: SparkSession, folder: str, out: str) -> None:
    """Rows fetched to the driver, which matches them one after another, and sent back."""
    rows = events(spark, folder).where("id % 8 = 0").select("customer", "key", "x", "at")
    best: dict[int, tuple[float, int]] = {}
    for row in rows.collect():
        known = best.get(row.customer, (0.0, 0))
        best[row.customer] = max(known, (round(row.x, 6), row.key + row.at.minute))
    matched = [(customer, *found) for customer, found in best.items()]
    sent = spark.createDataFrame(matched, "customer int, x double, k int")
    write(sent.groupBy("k").agg(sf.avg("x").alias("x"), sf.count("*").alias("n")), out)


def each_tenant(spark: SparkSession, folder: str, out: str) -> None:
    """One function called for a small, a middle and a large tenant, whose tables it reads."""
    files = sorted(Path(urlparse(f"{folder}/parquet").path).glob("part-*"))
    for name, share in (("small", 0.1), ("middle", 0.4), ("large", 1.0)):
        own = [path.as_uri() for path in files[: max(1, round(share * len(files)))]]
        _report(spark.read.parquet(*own), f"{out}/{name}")


def _report(rows: DataFrame, out: str) -> None:
    per_day = rows.groupBy("customer", sf.to_date("at").alias("day")).agg(sf.sum("x").alias("x"))
    write(per_day.groupBy("day").agg(sf.expr("percentile(x, 0.9)").alias("x")), f"{out}/days")
    write(rows.groupBy("key").agg(sf.max("text").alias("text")), f"{out}/keys")


def failing_tasks(spark: SparkSession, folder: str, out: str) -> None:
    """Calls of a service that fails some tasks at their first attempt, and is slow for one."""

    def called(rows: Iterator[tuple[int, float]]) -> Iterator[tuple[int, float]]:
        context = TaskContext.get()
        assert context is not None
        for number, (customer, x) in enumerate(rows):
            if number == 20_000 and not context.attemptNumber() and context.partitionId() % 6 == 1:
                raise ConnectionError("the service hung up")
            if number % 5000 == 0 and context.partitionId() == 3:
                time.sleep(0.2)
            yield customer % 5000, x * (1.0 - x)

    rows = events(spark, folder).select("customer", "x").rdd.map(tuple)
    found = rows.mapPartitions(called).reduceByKey(lambda one, other: one + other, PARTS)
    found.map(lambda one: f"{one[0]},{one[1]}").saveAsTextFile(out)


def come_and_go(spark: SparkSession, folder: str, out: str) -> None:
    """Reports with the driver's own pauses between, while which idle executors are given back."""
    rows = events(spark, folder)
    for number in range(3):
        found = rows.where(f"category % 3 = {number}").groupBy("customer", "key")
        write(found.agg(sf.sum("x").alias("x"), sf.max("text").alias("text")), f"{out}/{number}")
        time.sleep(5)


def two_core_tasks(spark: SparkSession, folder: str, out: str) -> None:
    """Tasks that each hold two cores: matrices multiplied per row group, then sums of them."""
    import numpy as np
    import pandas as pd

    def products(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            square = frame[["x", "y", "z"]].to_numpy()
            turned = square
            for _ in range(40):
                turned = np.tanh(turned @ (np.eye(3) + 0.01 * (square.T @ square) / len(square)))
            frame["score"] = turned.sum(axis=1)
            yield frame[["customer", "category", "score"]]

    rows = events(spark, folder).select("customer", "category", "x", "y", "z")
    scored = rows.mapInPandas(products, "customer int, category int, score double")
    write(scored.groupBy("customer").agg(sf.sum("score").alias("s"), sf.count("*").alias("n")), out)


def cogrouped(spark: SparkSession, folder: str, out: str) -> None:
    """Each customer group's rows matched with its people in pandas, to the nearest before."""
    import pandas as pd

    def matched(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        both = pd.merge_asof(left.sort_values("customer"), right.sort_values("customer"),
                             on="customer")  # fmt: skip
        both["place"] = both.groupby("category")["x"].rank()
        return both.groupby("category", as_index=False)["place"].max().assign(part=len(both))

    rows = events(spark, folder).selectExpr("customer % 64 part", "customer", "category", "x")
    known = people(spark, folder).selectExpr("customer % 64 part", "customer", "segment")
    grouped = rows.groupBy("part").cogroup(known.groupBy("part"))
    write(grouped.applyInPandas(matched, "category int, place double, part long"), out)


JOBS = (
    snowflake, late_suppliers, folders_of_hours, fit_in_driver, fetched_rows, each_tenant,
    failing_tasks, come_and_go, two_core_tasks, cogrouped,
)  # fmt: skip


if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
