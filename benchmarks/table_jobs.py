"""Jobs over tables that `benchmarks/logs.py --held-out` runs on real Spark, with Spark's own
settings.

    spark-submit benchmarks/table_jobs.py JOB INPUT OUTPUT
    spark-submit benchmarks/table_jobs.py write_files FOLDER FILES

Rows are events of customers: a skewed key, a time within a month, three numbers, a text of eight
words. Each file holds `ROWS` of them, as Parquet (17 MB) and as JSON.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

Job = Callable[[SparkSession, str, str], None]

ROWS = 200_000
FORMATS = ("parquet", "json")
SCHEMA = (
    "id long, key int, customer int, at timestamp, x double, y double, z double, text string, "
    "category int"
)
CUSTOMERS, CATEGORIES = 100_000, 60
EPOCH, MONTH_SECONDS = 1_700_000_000, 30 * 86_400


def write_files(spark: SparkSession, folder: str, files: str) -> None:
    """So many files in each format, in folders of their own."""
    for number in range(int(files)):
        rows = _rows(spark, number).cache()
        for format_name in FORMATS:
            into, written = Path(folder, format_name), Path(folder, "written")
            into.mkdir(parents=True, exist_ok=True)
            rows.write.mode("overwrite").format(format_name).save(written.as_uri())
            next(written.glob("part-*")).replace(into / f"part-{number:04d}.{format_name}")
            shutil.rmtree(written)
        rows.unpersist()


def _rows(spark: SparkSession, number: int) -> DataFrame:
    def seed(place: int) -> int:
        return 100 * place + number

    words = ", ".join(
        f"concat('w', conv(string(int(5000 * pow(rand({seed(10 + place)}), 2)) * 7919), 10, 36))"
        for place in range(8)
    )
    return (
        spark.range(number * ROWS, (number + 1) * ROWS, 1, 1)
        .selectExpr(
            "id",
            f"if(rand({seed(1)}) < 0.1, 0, int(40000 * pow(rand({seed(2)}), 3))) key",
            f"int({CUSTOMERS} * rand({seed(3)})) customer",
            f"timestamp_seconds({EPOCH} + int({MONTH_SECONDS} * rand({seed(4)}))) at",
            *(f"rand({seed(place)}) {name}" for place, name in enumerate("xyz", 5)),
            f"concat_ws(' ', {words}) text",
        )
        .withColumn("category", sf.expr(f"key % {CATEGORIES}"))
    )


def events(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.parquet(f"{folder}/parquet")


def write(found: DataFrame, out: str) -> None:
    found.write.mode("overwrite").parquet(out)


def star_join(spark: SparkSession, folder: str, out: str) -> None:
    """Events joined with two dimensions, rolled up and sorted."""
    customers = spark.range(CUSTOMERS).selectExpr(
        "int(id) customer", "sha2(string(id), 256) name", "int(id % 25) nation",
        "repeat(md5(string(id)), 20) note",
    )  # fmt: skip
    labels = spark.range(CATEGORIES).selectExpr("int(id) category", "concat('c', id) label")
    joined = (
        events(spark, folder).join(customers, "customer").join(sf.broadcast(labels), "category")
    )
    sums = sf.sum("x").alias("x"), sf.countDistinct("customer"), sf.max("note")
    named = joined.where("z > 0.2").rollup("nation", "label").agg(*sums)
    write(named.toDF("nation", "label", "x", "customers", "note").orderBy(sf.desc("x")), out)


def json_clean(spark: SparkSession, folder: str, out: str) -> None:
    """JSON parsed, its duplicates dropped, written by day."""
    found = spark.read.schema(SCHEMA).json(f"{folder}/json").withColumn("day", sf.to_date("at"))
    clean = found.dropDuplicates(["customer", "key", "day"]).repartition("day")
    clean.write.mode("overwrite").partitionBy("day").parquet(out)


def forest(spark: SparkSession, folder: str, out: str) -> None:
    """MLlib's random forest: ten trees of six levels."""
    from pyspark.ml.classification import RandomForestClassifier
    from pyspark.ml.feature import VectorAssembler

    rows = events(spark, folder).selectExpr(
        "double(category % 4) label", "x", "y", "z", "double(key) k", "double(customer) c",
        "double(hour(at)) h",
    )  # fmt: skip
    assembler = VectorAssembler(inputCols=["x", "y", "z", "k", "c", "h"], outputCol="features")
    vectors = assembler.transform(rows).select("label", "features")
    model = RandomForestClassifier(numTrees=10, maxDepth=6, seed=1).fit(vectors)
    write(model.transform(vectors).groupBy("label", "prediction").count(), out)


def lda(spark: SparkSession, folder: str, out: str) -> None:
    """MLlib's topics of a fifth of the texts, by expectation maximisation over a graph."""
    from pyspark.ml.clustering import LDA
    from pyspark.ml.feature import CountVectorizer, Tokenizer

    texts = events(spark, folder).select("text").sample(0.2, seed=1)
    words = Tokenizer(inputCol="text", outputCol="words").transform(texts)
    counts = CountVectorizer(inputCol="words", outputCol="features", vocabSize=2000).fit(words)
    kept = counts.transform(words).select("features").cache()
    model = LDA(k=8, maxIter=6, seed=1, optimizer="em").fit(kept)
    write(model.describeTopics(5), out)


def inverted_index(spark: SparkSession, folder: str, out: str) -> None:
    """Python functions over an RDD: how often and where last each word of a quarter occurs."""
    rows = events(spark, folder).select("id", "text").where("id % 4 = 0").rdd
    pairs = rows.flatMap(lambda row: [(word, row.id) for word in row.text.split(" ")])
    found = pairs.aggregateByKey(
        (0, 0),
        lambda seen, row: (seen[0] + 1, max(seen[1], row)),
        lambda one, other: (one[0] + other[0], max(one[1], other[1])),
    )
    found.sortByKey().map(lambda one: f"{one[0]}\t{one[1][0]}\t{one[1][1]}").saveAsTextFile(out)


def sessions(spark: SparkSession, folder: str, out: str) -> None:
    """Events of a customer cut where a day passes, and what a session holds."""
    own = Window.partitionBy("customer").orderBy("at")
    gap = sf.unix_timestamp("at") - sf.unix_timestamp(sf.lag("at").over(own))
    found = events(spark, folder).withColumn("new", sf.when(gap > 86_400, 1).otherwise(0))
    numbered = found.withColumn("session", sf.sum("new").over(own))
    seen, total = sf.collect_list("category").alias("seen"), sf.sum("x").alias("x")
    held = numbered.groupBy("customer", "session").agg(sf.min("at"), sf.max("at"), seen, total)
    kinds = held.withColumn("kinds", sf.size(sf.array_distinct("seen")))
    sums = sf.percentile_approx("x", 0.5).alias("x"), sf.count("*").alias("sessions")
    write(kinds.groupBy("kinds").agg(*sums), out)


def cube(spark: SparkSession, folder: str, out: str) -> None:
    """All sums over three columns: eight rows for each of the input."""
    found = events(spark, folder).selectExpr(
        "category", "hour(at) hour", "int(x * 8) part", "y", "customer"
    )
    write(
        found.cube("category", "hour", "part").agg(
            sf.count("*").alias("events"), sf.avg("y").alias("y"),
            sf.approx_count_distinct("customer").alias("customers"),
        ),
        out,
    )  # fmt: skip


def nearest(spark: SparkSession, folder: str, out: str) -> None:
    """The nearest of forty points to each event, by a broadcast product."""
    rows = events(spark, folder).select("id", "x", "y", "z")
    points = rows.where("id < 40").toDF("point", "px", "py", "pz")
    away = sf.expr("sqrt(pow(x - px, 2) + pow(y - py, 2) + pow(z - pz, 2))")
    pairs = rows.crossJoin(sf.broadcast(points)).withColumn("away", away)
    least = pairs.groupBy("id").agg(sf.min(sf.struct("away", "point")).alias("least"))
    sums = sf.count("*").alias("events"), sf.avg("least.away").alias("away")
    write(least.groupBy("least.point").agg(*sums), out)


def upsert(spark: SparkSession, folder: str, out: str) -> None:
    """A fifth of the events replaced: an anti join, a union, a write in sorted partitions."""
    rows = events(spark, folder)
    new = rows.where("id % 5 = 0").withColumn("x", sf.col("x") + 1)
    kept = rows.join(new.select("id"), "id", "left_anti").unionByName(new)
    write(kept.repartition(8, "category").sortWithinPartitions("category", "at"), out)


def rules(spark: SparkSession, folder: str, out: str) -> None:
    """MLlib's frequent sets of the words of a quarter, and rules from them."""
    from pyspark.ml.fpm import FPGrowth

    texts = events(spark, folder).where("id % 4 = 0")
    items = texts.select(sf.array_distinct(sf.split("text", " ")).alias("items"))
    write(FPGrowth(minSupport=0.002, minConfidence=0.1).fit(items).associationRules, out)


def interactive(spark: SparkSession, folder: str, out: str) -> None:
    """Fourteen short questions to a cached table."""
    rows = events(spark, folder).cache()
    for by in ("category", "hour(at)", "customer % 100", "key % 7", "day(at)", "length(text)"):
        sums = sf.avg("x"), sf.max("y"), sf.countDistinct("customer")
        rows.groupBy(sf.expr(by).alias("by")).agg(*sums).orderBy("by").collect()
    for least in range(8):
        some = rows.where(f"z > {least / 10} and category = {least}")
        some.agg(sf.sum("x"), sf.avg("y")).collect()
    write(rows.groupBy("category").count(), out)


JOBS = (
    write_files, star_join, json_clean, forest, lda, inverted_index, sessions, cube, nearest,
    upsert, rules, interactive,
)  # fmt: skip


def main(jobs: Iterable[Job], name: str, first: str, second: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    {job.__name__: job for job in jobs}[name](spark, first, second)
    spark.stop()


if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
