"""Jobs of teams that keep a warehouse, which `benchmarks/logs.py --held-out` runs on real Spark,
over the tables of `table_jobs.py` and three more, with Spark's own settings.

    spark-submit benchmarks/warehouse_jobs.py JOB INPUT OUTPUT
    spark-submit benchmarks/warehouse_jobs.py write_sources FOLDER FILES

Beside each file of events lie one of nested orders (JSON), one of lines of a server (gzip, which
cannot be cut), and one of people, a dimension that grows with the facts.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from table_jobs import CUSTOMERS, EPOCH, MONTH_SECONDS, SCHEMA, events, main, write

ORDERS, LINES, PEOPLE = 25_000, 150_000, 2_800
"""Rows of each file: people of 4 and 12 files (2 and 7 MB) are broadcast, of 36 (21 MB) not."""

FORMATS = {"orders": "json", "lines": "text", "people": "parquet"}
BUCKETS, RANGES = 8, 12


def write_sources(spark: SparkSession, folder: str, files: str) -> None:
    """So many files of orders, lines and people, in folders of their own."""
    makers = {"orders": _orders, "lines": _lines, "people": _people}
    for number in range(int(files)):
        for name, maker in makers.items():
            into, written = Path(folder, name), Path(folder, "written")
            into.mkdir(parents=True, exist_ok=True)
            writer = maker(spark, number).write.mode("overwrite").format(FORMATS[name])
            packed = writer.option("compression", "gzip") if name == "lines" else writer
            packed.save(written.as_uri())
            ending = "gz" if name == "lines" else FORMATS[name]
            next(written.glob("part-*")).replace(into / f"part-{number:04d}.{ending}")
            shutil.rmtree(written)


def _orders(spark: SparkSession, number: int) -> DataFrame:
    item = (
        "named_struct('sku', int(20000 * pow(rand({0}), 2)), "
        "'quantity', int(1 + 5 * rand({0} + 1)), 'price', round(100 * rand({0} + 2), 2), 'tags', "
        "array(concat('t', int(40 * rand({0} + 3))), concat('u', int(9 * rand({0} + 4)))))"
    )
    items = ", ".join(item.format(10_000 + 100 * number + 10 * place) for place in range(6))
    return spark.range(number * ORDERS, (number + 1) * ORDERS, 1, 1).selectExpr(
        "id order",
        f"named_struct('id', int({CUSTOMERS} * rand({number})), "
        f"'tier', int(4 * rand({number} + 7)), 'address', "
        "named_struct('city', concat('c', id % 300), 'zip', string(id % 9000))) customer",
        f"string(timestamp_seconds({EPOCH} + int({MONTH_SECONDS} * rand({number} + 9)))) at",
        f"slice(array({items}), 1, int(1 + 6 * rand({number} + 8))) items",
    )


def _lines(spark: SparkSession, number: int) -> DataFrame:
    seed = 500 + 10 * number
    return spark.range(number * LINES, (number + 1) * LINES, 1, 1).selectExpr(
        f"concat_ws(' ', concat('10.', int(200 * rand({seed})), '.', int(200 * rand({seed} + 1))),"
        f"{EPOCH} + int({MONTH_SECONDS} * rand({seed} + 2)), 'GET',"
        f"concat('/p/', int(30000 * pow(rand({seed} + 3), 3)), '?s=', md5(string(id))),"
        "element_at(array('200', '200', '200', '304', '404', '500'), "
        f"int(1 + 6 * rand({seed} + 4))),"
        f"int(90000 * pow(rand({seed} + 5), 4))) value"
    )  # fmt: skip


def _people(spark: SparkSession, number: int) -> DataFrame:
    return spark.range(number * PEOPLE, (number + 1) * PEOPLE, 1, 1).selectExpr(
        "int(id) customer", "concat('s', id % 40) segment", "int(id % 25) nation",
        "concat(sha2(string(id), 512), sha2(string(id + 1), 512), sha2(string(id + 2), 512),"
        "sha2(string(id + 3), 256)) note",
    )  # fmt: skip


def people(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.parquet(f"{folder}/people")


def merge_history(spark: SparkSession, folder: str, out: str) -> None:
    """A dimension whose versions are kept (SCD 2): changed rows are closed and opened again."""
    known = people(spark, folder).selectExpr("*", "true current", "date'2023-01-01' since")
    latest = Window.partitionBy("customer").orderBy(sf.desc("at"), "id")
    changes = (
        events(spark, folder).withColumn("place", sf.row_number().over(latest))
        .where("place = 1").selectExpr("customer", "concat('s', key % 40) found", "date(at) day")
    )  # fmt: skip
    both = known.join(changes, "customer", "full_outer")
    moved = "segment is not null and found is not null and found <> segment"
    closed = both.where("segment is not null").selectExpr(
        "customer", "segment", "note", f"not ({moved}) current", "since"
    )
    opened = both.where(f"found is not null and (segment is null or {moved})").selectExpr(
        "customer", "found segment", "note", "true current", "day since"
    )
    found = closed.unionByName(opened)
    found.write.mode("overwrite").partitionBy("current").parquet(out)


def nested_orders(spark: SparkSession, folder: str, out: str) -> None:
    """Nested JSON whose schema Spark finds by reading it, flattened and grouped twice."""
    orders = spark.read.json(f"{folder}/orders")
    flat = orders.selectExpr("order", "customer.id customer", "customer.address.city city",
                             "to_date(at) day", "explode(items) item")  # fmt: skip
    sold = flat.selectExpr("*", "item.quantity * item.price paid", "item.sku sku")
    write(sold.groupBy("sku", "day").agg(sf.sum("paid").alias("paid"), sf.count("*")
                                         .alias("lines")), f"{out}/skus")  # fmt: skip
    tags = sold.selectExpr("city", "order", "paid", "explode(item.tags) tag")
    sums = sf.countDistinct("order").alias("orders"), sf.sum("paid").alias("paid")
    write(tags.groupBy("city", "tag").agg(*sums), f"{out}/tags")


def outgrown_join(spark: SparkSession, folder: str, out: str) -> None:
    """Facts with a dimension that is broadcast while it is small."""
    joined = events(spark, folder).join(people(spark, folder), "customer")
    sums = (sf.sum("x").alias("x"), sf.countDistinct("customer").alias("customers"),
            sf.max("note").alias("note"))  # fmt: skip
    write(joined.groupBy("segment", "nation", "category").agg(*sums), out)


def one_parent(spark: SparkSession, folder: str, out: str) -> None:
    """JSON parsed once into a cache, of which four outputs are made."""
    rows = spark.read.schema(SCHEMA).json(f"{folder}/json").withColumn("day", sf.to_date("at"))
    clean = rows.where("x < 0.95").selectExpr("*", "upper(text) loud").cache()
    write(clean.groupBy("day", "category").agg(sf.sum("x").alias("x")), f"{out}/days")
    seen = sf.max("at").alias("at"), sf.sum("y").alias("y"), sf.collect_set("category").alias("c")
    write(clean.groupBy("customer").agg(*seen), f"{out}/who")
    some = clean.where("category < 20").select("id", "day", "loud")
    some.write.mode("overwrite").partitionBy("day").parquet(f"{out}/some")
    clean.orderBy(sf.desc("z")).limit(1000).write.mode("overwrite").csv(f"{out}/top")


def by_curve(spark: SparkSession, folder: str, out: str) -> None:
    """Rows laid out along a curve through two columns: bits interleaved, ranges, sorted files."""
    bits = " + ".join(
        f"shiftleft(shiftright(int(x * 1024), {b}) & 1, {2 * b})"
        f" + shiftleft(shiftright(int(y * 1024), {b}) & 1, {2 * b + 1})"
        for b in range(10)
    )
    placed = events(spark, folder).withColumn("curve", sf.expr(bits))
    laid = placed.repartitionByRange(RANGES, "curve").sortWithinPartitions("curve")
    write(laid.drop("curve"), out)


def range_join(spark: SparkSession, folder: str, out: str) -> None:
    """Events within windows of time: both sides in bins of hours, joined by these and filtered."""
    hour = 3600
    opened = spark.range(3000).selectExpr(
        "int(id) promo", f"{EPOCH} + int({MONTH_SECONDS} * pmod(hash(id), 100000) / 100000) first",
        "int(id % 50) part",
    ).selectExpr("*", f"first + {hour} * (2 + promo % 7) last")  # fmt: skip
    bins = opened.selectExpr("*", f"explode(sequence(int(first / {hour}), int(last / {hour}))) bin")
    rows = events(spark, folder).selectExpr("id", "unix_timestamp(at) t", "x", "category")
    binned = rows.where("id % 4 = 0").selectExpr("*", f"int(t / {hour}) bin")
    pairs = binned.join(bins.hint("merge"), "bin").where("t between first and last")
    sums = sf.count("*").alias("n"), sf.sum("x").alias("x"), sf.max("t").alias("t")
    write(pairs.groupBy("promo", "category").agg(*sums), out)


def combine_lines(spark: SparkSession, folder: str, out: str) -> None:
    """Lines of a server, in files that cannot be cut, combined by page in Python, sorted."""

    def parsed(line: str) -> tuple[str, tuple[int, int]]:
        host, _, _, path, status, size = line.split(" ")
        return path.partition("?")[0], (int(size), int(status != "200") + len(host) % 2)

    pairs = spark.sparkContext.textFile(f"{folder}/lines").map(parsed)
    sums = pairs.combineByKey(
        lambda one: (1, *one),
        lambda seen, one: (seen[0] + 1, seen[1] + one[0], seen[2] + one[1]),
        lambda seen, more: (seen[0] + more[0], seen[1] + more[1], seen[2] + more[2]),
    )
    sums.sortBy(lambda one: -one[1][0]).map(lambda one: f"{one[0]} {one[1]}").saveAsTextFile(out)


def python_loop(spark: SparkSession, folder: str, out: str) -> None:
    """A long loop of Python over each of a few rows: options priced step by step."""

    def priced(rows: Iterator[tuple[float, float, int]]) -> Iterator[tuple[int, float]]:
        for x, y, category in rows:
            value = [max(math.exp(0.1 * (step - 20)) * (0.5 + x) - 1.0, 0.0) for step in range(41)]
            for size in range(40, 0, -1):
                value = [0.5 * (value[i] + value[i + 1]) * (1 - 0.001 * y) for i in range(size)]
            yield category, value[0]

    rows = events(spark, folder).where("id % 40 = 0").select("x", "y", "category").rdd
    found = rows.map(tuple).mapPartitions(priced).reduceByKey(lambda one, other: one + other)
    found.map(lambda one: f"{one[0]},{one[1]}").saveAsTextFile(out)


def bucketed(spark: SparkSession, folder: str, out: str) -> None:
    """Facts and a dimension written in buckets, then joined by these without a shuffle, twice."""
    facts = events(spark, folder).select("id", "customer", "x", "y", "category")
    for name, rows in {"facts": facts, "dim": people(spark, folder)}.items():
        rows.write.mode("overwrite").bucketBy(BUCKETS, "customer").sortBy("customer").option(
            "path", f"{out}/{name}"
        ).saveAsTable(name)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    joined = spark.table("facts").join(spark.table("dim"), "customer")
    write(joined.groupBy("segment").agg(sf.avg("x").alias("x"), sf.max("note").alias("note")),
          f"{out}/segments")  # fmt: skip
    own = joined.groupBy("customer", "segment").agg(sf.sum("y").alias("y"))
    write(own.groupBy("segment").agg(sf.max("y").alias("y")), f"{out}/most")


def wide_pivot(spark: SparkSession, folder: str, out: str) -> None:
    """Sixty columns of two sums each, whose names a first job finds, and what each column holds."""
    rows = events(spark, folder).selectExpr("customer % 20000 part", "category", "x", "y")
    wide = (
        rows.groupBy("part").pivot("category").agg(sf.sum("x").alias("x"), sf.max("y").alias("y"))
    )
    wide.write.mode("overwrite").parquet(f"{out}/wide")
    kept = spark.read.parquet(f"{out}/wide")
    write(kept.select(kept.columns[1:41]).summary("count", "mean", "stddev", "max"), f"{out}/held")


def session_spans(spark: SparkSession, folder: str, out: str) -> None:
    """Sessions of Spark's own windows, for customers and for keys of which some have many rows."""
    for by, gap in (("customer", "8 hours"), ("key", "20 minutes")):
        held = events(spark, folder).groupBy(by, sf.session_window("at", gap).alias("span")).agg(
            sf.count("*").alias("n"), sf.sum("x").alias("x")
        )  # fmt: skip
        sums = sf.percentile_approx("x", 0.5).alias("x"), sf.count("*").alias("spans")
        write(held.groupBy("n").agg(*sums), f"{out}/{by}")


JOBS = (
    write_sources, merge_history, nested_orders, outgrown_join, one_parent, by_curve,
    range_join, combine_lines, python_loop, bucketed, wide_pivot, session_spans,
)  # fmt: skip


if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
