"""Jobs of Spark's libraries, and queries of decision support, that `benchmarks/logs.py --held-out`
runs on real Spark, over the tables of `table_jobs.py` and with Spark's own settings.

    spark-submit benchmarks/library_jobs.py JOB INPUT OUTPUT
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as sf
from table_jobs import events, main, write

ITERATIONS = 4


def graph_of(spark: SparkSession, folder: str, out: str, level: str) -> Any:
    """A graph of keys and customers in GraphX, kept at a storage level."""
    context = spark.sparkContext
    edges = events(spark, folder).selectExpr("concat(key, ' ', 100000 + customer) edge")
    edges.distinct().write.mode("overwrite").text(f"{out}/edges")
    java = context._jvm
    kept = getattr(java.org.apache.spark.storage.StorageLevel, level)()
    return java.org.apache.spark.graphx.GraphLoader.edgeListFile(
        context._jsc.sc(), f"{out}/edges", False, -1, kept, kept
    )


def graphx(spark: SparkSession, folder: str, out: str) -> None:
    """GraphX: ranks of a graph of keys and customers by a fixed number of steps, its components."""
    graph = graph_of(spark, folder, out, "MEMORY_AND_DISK")
    java = spark.sparkContext._jvm
    tag = java.scala.reflect.ClassTag.Int()
    library = java.org.apache.spark.graphx.lib
    ranks = library.PageRank.run(graph, ITERATIONS, 0.15, tag, tag)
    ranks.vertices().saveAsTextFile(f"{out}/ranks")
    found = library.ConnectedComponents.run(graph, ITERATIONS, tag, tag)
    found.vertices().saveAsTextFile(f"{out}/components")


def boosted(spark: SparkSession, folder: str, out: str) -> None:
    """MLlib's boosted trees, eight of four levels, each from the errors of those before."""
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import GBTRegressor

    rows = events(spark, folder).selectExpr(
        "x * y + sin(6 * z) label", "x", "y", "z", "double(category) c", "double(hour(at)) h"
    )
    assembler = VectorAssembler(inputCols=["x", "y", "z", "c", "h"], outputCol="features")
    vectors = assembler.transform(rows).select("label", "features")
    model = GBTRegressor(maxIter=8, maxDepth=4, seed=1).fit(vectors)
    write(model.transform(vectors).selectExpr("round(label, 1) at", "prediction").groupBy("at").agg(
        sf.avg("prediction"), sf.stddev("prediction")
    ), out)  # fmt: skip


def bayes(spark: SparkSession, folder: str, out: str) -> None:
    """A pipeline of words, weights by how rare they are, and naive Bayes; then its accuracy."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import IDF, HashingTF, Tokenizer

    labelled = events(spark, folder).selectExpr("double(category % 8) label", "text")
    train, test = labelled.randomSplit([0.8, 0.2], seed=1)
    steps = [
        Tokenizer(inputCol="text", outputCol="words"),
        HashingTF(inputCol="words", outputCol="counts", numFeatures=8192),
        IDF(inputCol="counts", outputCol="features", minDocFreq=2),
        NaiveBayes(),
    ]
    told = Pipeline(stages=steps).fit(train).transform(test)
    accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(told)
    write(spark.createDataFrame([(accuracy,)], "accuracy double"), out)


def word_vectors(spark: SparkSession, folder: str, out: str) -> None:
    """MLlib's Word2Vec on a tenth of the texts, in two partitions, and the nearest words."""
    from pyspark.ml.feature import Tokenizer, Word2Vec

    texts = events(spark, folder).where("id % 10 = 0")
    words = Tokenizer(inputCol="text", outputCol="words").transform(texts)
    model = Word2Vec(
        inputCol="words", outputCol="vector", vectorSize=16, numPartitions=2, maxIter=2, seed=1
    ).fit(words)
    write(model.getVectors(), out)


def grouped_frames(spark: SparkSession, folder: str, out: str) -> None:
    """A function of pandas on each of 400 groups: a line through each."""
    import pandas as pd

    def line(group: pd.DataFrame) -> pd.DataFrame:
        group = group.sort_values("at")
        smooth = group["x"].rolling(20, min_periods=1).mean()
        slope = smooth.cov(group["y"]) / max(group["y"].var(), 1e-9)
        return pd.DataFrame({"part": [group["part"].iloc[0]], "slope": [slope]})

    rows = events(spark, folder).selectExpr("customer % 400 part", "at", "x", "y")
    write(rows.groupBy("part").applyInPandas(line, "part int, slope double"), out)


def large_orders(spark: SparkSession, folder: str, out: str) -> None:
    """The customers of whom a sum is large, their events beside it, the first hundred (as TPC-H's
    query 18)."""
    rows = events(spark, folder)
    sums = rows.groupBy("customer").agg(sf.sum("x").alias("total"))
    large = sums.join(sums.agg(sf.avg("total").alias("mean"))).where("total > 1.2 * mean")
    found = rows.join(large.select("customer", "total"), "customer")
    by = found.groupBy("customer", "category", "total").agg(sf.sum("y"), sf.max("at").alias("last"))
    write(by.orderBy(sf.desc("total"), "last").limit(100), out)


def late_alone(spark: SparkSession, folder: str, out: str) -> None:
    """Events whose day and customer others share but none of these others is late (as TPC-H's query
    21): a join with itself that exists and one that does not."""
    rows = events(spark, folder).selectExpr(
        "id", "customer", "int(day(at) / 4) part", "z > 0.7 late", "category"
    )
    late = rows.where("late").alias("a")
    others = rows.select("id", "customer", "part", "late").alias("b")
    same = "a.customer = b.customer and a.part = b.part and a.id <> b.id"
    shared = late.join(others, sf.expr(same), "left_semi").alias("a")
    alone = shared.join(others.where("late"), sf.expr(same), "left_anti")
    write(alone.groupBy("category").count().orderBy(sf.desc("count")), out)


def small_files(spark: SparkSession, folder: str, out: str) -> None:
    """Written by category in many small files, read again, counted and put together."""
    parts = f"{out}/parts"
    rows = events(spark, folder).select("id", "category", "x", "y", "text")
    rows.repartition(8).write.mode("overwrite").partitionBy("category").parquet(parts)
    again = spark.read.parquet(parts)
    again.groupBy("category").agg(sf.avg("x"), sf.countDistinct("text")).collect()
    write(again.where("category < 30").coalesce(4), f"{out}/together")


def similar(spark: SparkSession, folder: str, out: str) -> None:
    """Pairs of similar texts among a fiftieth of them, by hashes that collide where they are."""
    from pyspark.ml.feature import CountVectorizer, MinHashLSH, Tokenizer

    texts = events(spark, folder).where("id % 50 = 0").select("id", "text")
    words = Tokenizer(inputCol="text", outputCol="words").transform(texts)
    counted = CountVectorizer(inputCol="words", outputCol="features", binary=True).fit(words)
    sets = counted.transform(words).select("id", "features").cache()
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=2, seed=1).fit(sets)
    pairs = model.approxSimilarityJoin(sets, sets, 0.6, distCol="away")
    write(pairs.groupBy(sf.expr("round(away, 1) away")).count(), out)


def principal(spark: SparkSession, folder: str, out: str) -> None:
    """Principal components of forty hashed words and the rows along them."""
    from pyspark.ml.feature import PCA, HashingTF, StandardScaler, Tokenizer

    texts = events(spark, folder).select("id", "text")
    words = Tokenizer(inputCol="text", outputCol="words").transform(texts)
    counts = HashingTF(inputCol="words", outputCol="counts", numFeatures=40).transform(words)
    even = StandardScaler(inputCol="counts", outputCol="even").fit(counts).transform(counts)
    model = PCA(k=4, inputCol="even", outputCol="along").fit(even)
    write(model.transform(even).selectExpr("id", "string(along) along"), out)


def ranks(spark: SparkSession, folder: str, out: str) -> None:
    """Ranks of keys by Python functions over cached, partitioned RDDs: join, contributions, sums,
    again and again."""
    pairs = events(spark, folder).where("id % 3 = 0").select("key", "customer").rdd
    links = pairs.map(lambda row: (row.key, row.customer % 4000)).distinct().groupByKey(8).cache()
    weights = links.mapValues(lambda _: 1.0)
    for _ in range(ITERATIONS):
        told = links.join(weights).flatMap(
            lambda one: [(to, one[1][1] / len(one[1][0])) for to in one[1][0]]
        )
        weights = told.reduceByKey(lambda one, other: one + other, 8).mapValues(
            lambda total: 0.15 + 0.85 * total
        )
    weights.map(lambda one: f"{one[0]}\t{one[1]}").saveAsTextFile(out)


def running_shares(spark: SparkSession, folder: str, out: str) -> None:
    """What share of its day each event has, the three largest of each category and day, pivoted."""
    rows = events(spark, folder).selectExpr("id", "category", "day(at) day", "x", "key")
    daily = Window.partitionBy("category", "day")
    shared = rows.withColumn("share", sf.col("x") / sf.sum("x").over(daily))
    place = sf.row_number().over(daily.orderBy(sf.desc("share")))
    first = shared.withColumn("place", place).where("place <= 3")
    write(first.groupBy("category", "day").pivot("place", [1, 2, 3]).agg(sf.max("share")), out)


JOBS = (
    graphx, boosted, bayes, word_vectors, grouped_frames, large_orders, late_alone, small_files,
    similar, principal, ranks, running_shares,
)  # fmt: skip


if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
