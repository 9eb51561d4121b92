"""Jobs whose caches fit at first and then no more, which `benchmarks/logs.py --held-out` runs on
real Spark over the tables of `table_jobs.py`.

    spark-submit benchmarks/cache_jobs.py JOB INPUT OUTPUT
"""

from __future__ import annotations

import sys

from library_jobs import graph_of
from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from table_jobs import events, main, write

ITERATIONS = 8


def kept_vectors(spark: SparkSession, folder: str, out: str) -> None:
    """MLlib's k-means over polynomials of five columns, in memory alone."""
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import PolynomialExpansion, VectorAssembler

    rows = events(spark, folder).selectExpr(
        "x", "y", "z", "double(category) / 60 c", "double(hour(at)) / 24 h"
    )
    raw = VectorAssembler(inputCols=["x", "y", "z", "c", "h"], outputCol="raw").transform(rows)
    expansion = PolynomialExpansion(degree=2, inputCol="raw", outputCol="features")
    kept = expansion.transform(raw).select("features").persist(StorageLevel.MEMORY_ONLY)
    model = KMeans(k=6, maxIter=ITERATIONS, tol=0.0, seed=1).fit(kept)
    write(model.transform(kept).groupBy("prediction").count(), out)


def kept_pairs(spark: SparkSession, folder: str, out: str) -> None:
    """Pairs of an RDD of Python, in memory alone, gone over six times."""
    rows = events(spark, folder).select("key", "customer", "x", "text").rdd
    kept = rows.map(lambda row: (row.key % 500, (row.x, len(row.text), row.text[:80])))
    kept.persist(StorageLevel.MEMORY_ONLY)
    found = []
    for part in range(6):
        own = kept.filter(lambda pair, part=part: pair[0] % 6 == part)
        sums = own.mapValues(lambda value, part=part: value[0] * part)
        found.append((sums.reduceByKey(lambda one, other: one + other).count(),))
    write(spark.createDataFrame(found, "keys long"), out)


def kept_frame(spark: SparkSession, folder: str, out: str) -> None:
    """A frame cached as usual, in memory and on disk, asked nine questions."""
    kept = events(spark, folder).selectExpr("*", "sha2(text, 256) s", "md5(string(x)) m").cache()
    by = ("category", "hour(at)", "day(at)", "key % 50", "customer % 40", "substr(s, 1, 1)",
          "substr(m, 1, 1)", "length(text)")  # fmt: skip
    answers = [
        kept.groupBy(sf.expr(f"string({column}) g")).agg(
            sf.avg("x"), sf.max("s"), sf.max("m"), sf.count("*")
        )
        for column in by
    ]
    for answer in answers:
        answer.collect()
    write(kept.groupBy("category").agg(sf.max("s")), out)


def kept_graph(spark: SparkSession, folder: str, out: str) -> None:
    """GraphX's ranks with the graph in memory alone."""
    graph = graph_of(spark, folder, out, "MEMORY_ONLY")
    java = spark.sparkContext._jvm
    tag = java.scala.reflect.ClassTag.Int()
    ranks = java.org.apache.spark.graphx.lib.PageRank.run(graph, 5, 0.15, tag, tag)
    ranks.vertices().saveAsTextFile(f"{out}/ranks")


JOBS = (kept_vectors, kept_pairs, kept_frame, kept_graph)


if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
