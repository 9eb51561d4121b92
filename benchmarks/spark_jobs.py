"""The jobs that `benchmarks/logs.py` runs on real Spark.

    spark-submit benchmarks/spark_jobs.py JOB INPUT OUTPUT

The first two read lines of random numbers. `aggregate` reads, groups by a key, joins the groups
back by another and writes: one scan, two shuffles. `iterate` parses its input once, keeps it in
memory and reads it five times: what does not fit is parsed again each time.

The others read records (`RECORD`) and are the jobs of `held_out.py`: of other kinds than the
bundled samples.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

SCHEMA = "a double, b double, c double, d double"
RECORD = "id long, key int, category int, x double, y double, z double, text string"
ITERATIONS = 5
DIMENSION_ROWS = 40_000


def rows(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.schema(SCHEMA).csv(folder)


def records(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.schema(RECORD).csv(folder)


def write(found: DataFrame, out: str) -> None:
    found.write.mode("overwrite").parquet(out)


def aggregate(spark: SparkSession, folder: str, out: str) -> None:
    """Two shuffles of fixed numbers of partitions."""
    keyed = rows(spark, folder).withColumn("key", sf.expr("int(a * 200000)"))
    sums = keyed.groupBy("key").agg(
        sf.sum("b").alias("b"), sf.stddev("c").alias("c"), sf.percentile_approx("d", 0.9).alias("d")
    )
    write(sums.groupBy(sf.expr("key % 1000")).agg(sf.avg("b"), sf.max("c"), sf.avg("d")), out)


def iterate(spark: SparkSession, folder: str, out: str) -> None:
    """Reads the same rows again and again, from memory where they fit."""
    _read_again(spark, rows(spark, folder).persist(StorageLevel.MEMORY_ONLY), out, "a * {} + b * c")


def skewed_join(spark: SparkSession, folder: str, out: str) -> None:
    """A sort-merge join whose most frequent key holds a tenth of the rows."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    names = spark.range(DIMENSION_ROWS).selectExpr("int(id) key", "sha2(string(id), 256) name")
    joined = records(spark, folder).join(names, "key")
    write(
        joined.groupBy("category", sf.expr("substr(name, 1, 2)")).agg(sf.sum("x"), sf.max("y")), out
    )


def windows(spark: SparkSession, folder: str, out: str) -> None:
    """Ranks and running sums within groups, and a second window over their result."""
    spark.conf.set("spark.sql.shuffle.partitions", "24")
    inner = Window.partitionBy(sf.expr("id % 997")).orderBy("x")
    ranked = records(spark, folder).select(
        "id", "category", "y",
        sf.row_number().over(inner).alias("place"),
        (sf.col("y") - sf.lag("y", 2).over(inner)).alias("step"),
        sf.sum("z").over(inner).alias("running"),
    )  # fmt: skip
    outer = Window.partitionBy("category", sf.expr("place % 50")).orderBy("running")
    again = ranked.withColumn("again", sf.avg("step").over(outer.rowsBetween(-5, 5)))
    write(again.groupBy("category").agg(sf.sum("again"), sf.max("place")), out)


def words(spark: SparkSession, folder: str, out: str) -> None:
    """Texts taken apart, counted in several ways one after the other: many short stages."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "12")
    parts = records(spark, folder).select(
        "id", "category", sf.explode(sf.split("text", " ")).alias("word")
    )
    for way in ("word", "category", "length(word)", "substr(word, 1, 2)"):
        counted = parts.groupBy(sf.expr(way).alias("way")).agg(
            sf.count("*").alias("n"), sf.approx_count_distinct("id").alias("ids")
        )
        write(counted.orderBy(sf.desc("n")), out)


def kmeans(spark: SparkSession, folder: str, out: str) -> None:
    """Clusters by Lloyd's iterations over cached points."""
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler

    points = VectorAssembler(inputCols=["x", "y", "z"], outputCol="features").transform(
        records(spark, folder).repartition(8)
    )
    kept = points.select("features").persist(StorageLevel.MEMORY_AND_DISK)
    model = KMeans(k=12, maxIter=10, tol=0.0, seed=1, initMode="random").fit(kept)
    spark.createDataFrame([(float(c[0]),) for c in model.clusterCenters()], "x double").write.mode(
        "overwrite"
    ).csv(out)


def logistic(spark: SparkSession, folder: str, out: str) -> None:
    """Logistic regression on hashed words: one scan, then steps of gradient descent."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import HashingTF, Tokenizer

    labelled = records(spark, folder).withColumn("label", sf.expr("double(x + z > 1.0)"))
    steps = [
        Tokenizer(inputCol="text", outputCol="words"),
        HashingTF(inputCol="words", outputCol="features", numFeatures=4096),
        LogisticRegression(maxIter=10, regParam=0.01, tol=0.0),
    ]
    fitted = Pipeline(stages=steps).fit(labelled)
    write(fitted.transform(labelled).groupBy("prediction").count(), out)


def range_sort(spark: SparkSession, folder: str, out: str) -> None:
    """Sorts wide rows by ranges into four partitions, which spill when the input is large."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    write(records(spark, folder).withColumn("sha", sf.sha2("text", 512)).orderBy("sha", "x"), out)


def python_udf(spark: SparkSession, folder: str, out: str) -> None:
    """A Python function on each row, then a group by its result."""

    def mark(text: str) -> int:
        return sum(zlib.crc32(part.encode()) % 97 for part in text.split(" "))

    marked = records(spark, folder).withColumn("mark", sf.udf(mark, "int")("text"))
    write(marked.groupBy("mark").agg(sf.avg("x"), sf.stddev("y"), sf.count("*")), out)


def unions(spark: SparkSession, folder: str, out: str) -> None:
    """Every file is an input of its own; their union loses its duplicates and is grouped, in
    shuffles whose partitions adaptive execution merges."""
    context = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(context._jsc.hadoopConfiguration()).listStatus(path)
    parts = [records(spark, status.getPath().toString()) for status in files]
    every = (
        reduce(DataFrame.union, parts).selectExpr("key", "category", "int(x * 100) x").distinct()
    )
    counted = every.groupBy("key").agg(sf.count("*").alias("n"), sf.max("x").alias("x"))
    write(counted.groupBy("n").agg(sf.count("*"), sf.avg("x")), out)


def broadcast_join(spark: SparkSession, folder: str, out: str) -> None:
    """A broadcast join, then distinct counts in merged shuffles."""
    names = spark.range(DIMENSION_ROWS).selectExpr("int(id) key", "string(id % 300) name")
    joined = records(spark, folder).join(sf.broadcast(names), "key")
    write(
        joined.groupBy("name").agg(
            sf.countDistinct("id"), sf.percentile_approx("x", 0.5), sf.countDistinct("text")
        ),
        out,
    )


def cross_validation(spark: SparkSession, folder: str, out: str) -> None:
    """Trees of several depths judged on folds: the same stages again and again on parts of the
    data, two fits at a time."""
    from pyspark.ml.classification import DecisionTreeClassifier
    from pyspark.ml.evaluation import BinaryClassificationEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    points = VectorAssembler(inputCols=["x", "y", "z", "category"], outputCol="features").transform(
        records(spark, folder).withColumn("label", sf.expr("double(x * y + z > 0.8)"))
    )
    kept = points.select("features", "label").persist(StorageLevel.MEMORY_AND_DISK)
    tree = DecisionTreeClassifier(seed=1)
    grid = ParamGridBuilder().addGrid(tree.maxDepth, [3, 6]).build()
    search = CrossValidator(
        estimator=tree, estimatorParamMaps=grid, evaluator=BinaryClassificationEvaluator(),
        numFolds=3, parallelism=2, seed=1,
    )  # fmt: skip
    found = search.fit(kept)
    spark.createDataFrame([(float(m),) for m in found.avgMetrics], "metric double").write.mode(
        "overwrite"
    ).csv(out)


def components(spark: SparkSession, folder: str, out: str) -> None:
    """Every vertex takes the least label among its neighbours, again and again: joins whose lineage
    grows, each result kept and the one before let go."""
    spark.conf.set("spark.sql.shuffle.partitions", "16")
    edges = records(spark, folder).selectExpr(f"int(id % {DIMENSION_ROWS}) source", "key target")
    edges = edges.filter("source <> target").repartition("source").persist()
    labels = edges.selectExpr("source vertex").distinct().withColumn("label", sf.col("vertex"))
    labels = labels.persist()
    for _ in range(ITERATIONS):
        told = edges.join(labels, edges["source"] == labels["vertex"]).selectExpr(
            "target vertex", "label"
        )
        least = told.unionByName(labels).groupBy("vertex").agg(sf.min("label").alias("label"))
        before, labels = labels, least.persist()
        labels.count()
        before.unpersist()
    write(labels.groupBy("label").count(), out)


def cache_memory(spark: SparkSession, folder: str, out: str) -> None:
    """Reads cached records again and again; what does not fit is parsed again."""
    _read_again(spark, _wide(spark, folder).persist(StorageLevel.MEMORY_ONLY), out, "x * {} + y")


def cache_disk(spark: SparkSession, folder: str, out: str) -> None:
    """The same, with what does not fit on disk."""
    kept = _wide(spark, folder).persist(StorageLevel.MEMORY_AND_DISK)
    _read_again(spark, kept, out, "x * {} + y")


def _wide(spark: SparkSession, folder: str) -> DataFrame:
    """Records with columns that do not compress."""
    return records(spark, folder).selectExpr("*", "md5(text) md5", "sha2(text, 512) sha")


def _read_again(spark: SparkSession, kept: DataFrame, out: str, term: str) -> None:
    last = kept.columns[-1]
    weight = 1.0
    for _ in range(ITERATIONS):
        found = kept.selectExpr(
            f"avg({term.format(weight)})", f"avg(crc32(string({last})))"
        ).first()
        weight = 1.0 + (found[0] if found else 0.0) / 10.0
    spark.createDataFrame([(weight,)], "weight double").write.mode("overwrite").csv(out)


Job = Callable[[SparkSession, str, str], None]

OPEN_JOBS: tuple[Job, ...] = (aggregate, iterate)
HELD_OUT_JOBS: tuple[Job, ...] = (
    skewed_join, windows, words, kmeans, logistic, range_sort, python_udf, unions, broadcast_join,
    cross_validation, components, cache_memory, cache_disk,
)  # fmt: skip
JOBS = {job.__name__: job for job in (*OPEN_JOBS, *HELD_OUT_JOBS)}


def main(job: str, folder: str, out: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    JOBS[job](spark, folder, out)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
