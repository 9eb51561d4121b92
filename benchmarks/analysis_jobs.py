"""Jobs of analysts and data scientists that `benchmarks/logs.py --held-out` runs on real Spark,
over the tables of `table_jobs.py` and with Spark's own settings.

    spark-submit benchmarks/analysis_jobs.py JOB INPUT OUTPUT
"""

import sys  # and no annotations from the future: Spark reads those of pandas functions

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as sf
from table_jobs import SCHEMA, events, main, write


def pricing_summary(spark: SparkSession, folder: str, out: str) -> None:
    """Sums over a few groups of nearly all rows (as TPC-H's query 1)."""
    rows = events(spark, folder).where("at < timestamp'2023-12-10'")
    sums = ("sum(x)", "sum(y)", "sum(x * (1 - y))", "sum(x * (1 - y) * (1 + z))", "avg(x)",
            "avg(y)", "avg(length(text))", "count(*)")  # fmt: skip
    found = rows.groupBy("category").agg(*map(sf.expr, sums))
    write(found.toDF("category", *"abcdefgh").orderBy("category"), out)


def export_csv(spark: SparkSession, folder: str, out: str) -> None:
    """JSON sorted by range, written as compressed CSV."""
    found = spark.read.schema(SCHEMA).json(f"{folder}/json").orderBy("key", "at")
    found.write.mode("overwrite").option("compression", "gzip").csv(out)


def triangles(spark: SparkSession, folder: str, out: str) -> None:
    """Triangles of a graph, by two joins of its edges with themselves."""
    pairs = events(spark, folder).where("id % 8 = 0").selectExpr(
        "least(key, customer % 40000) a", "greatest(key, customer % 40000) b"
    )  # fmt: skip
    edges = pairs.where("a <> b and a > 20").distinct().cache()
    paths = edges.join(edges.selectExpr("a b", "b c"), "b")
    write(paths.join(edges.selectExpr("a", "b c"), ["a", "c"]).groupBy("a").count(), out)


def mixture(spark: SparkSession, folder: str, out: str) -> None:
    """MLlib's mixture of four normal laws, eight iterations."""
    from pyspark.ml.clustering import GaussianMixture
    from pyspark.ml.feature import VectorAssembler

    rows = events(spark, folder).selectExpr("x", "x * y y", "sqrt(z) z", "double(hour(at)) h")
    assembler = VectorAssembler(inputCols=["x", "y", "z", "h"], outputCol="features")
    vectors = assembler.transform(rows).select("features")
    model = GaussianMixture(k=4, maxIter=8, tol=1e-9, seed=1).fit(vectors)
    write(model.transform(vectors).groupBy("prediction").count(), out)


def elastic_net(spark: SparkSession, folder: str, out: str) -> None:
    """Polynomials of five columns, cached beyond memory, and a regression with both penalties."""
    from pyspark.ml.feature import PolynomialExpansion, StandardScaler, VectorAssembler
    from pyspark.ml.regression import LinearRegression

    rows = events(spark, folder).selectExpr(
        "x * y + z * z label", "x", "y", "z", "double(category) c", "double(hour(at)) h"
    )
    raw = VectorAssembler(inputCols=["x", "y", "z", "c", "h"], outputCol="raw").transform(rows)
    expansion = PolynomialExpansion(degree=3, inputCol="raw", outputCol="wide")
    wide = expansion.transform(raw).select("label", "wide")
    scaler = StandardScaler(inputCol="wide", outputCol="features").fit(wide)
    scaled = scaler.transform(wide).select("label", "features").cache()
    regression = LinearRegression(
        maxIter=15, regParam=0.01, elasticNetParam=0.5, solver="l-bfgs"
    ).fit(scaled)
    found = [(float(value),) for value in regression.coefficients]
    write(spark.createDataFrame(found, "coefficient double"), out)


def tfidf(spark: SparkSession, folder: str, out: str) -> None:
    """The two words of each text that are rarest for how often they occur, in SQL."""
    words = events(spark, folder).where("id % 3 = 0").selectExpr(
        "id", "explode(split(text, ' ')) word"
    )  # fmt: skip
    often = words.groupBy("id", "word").count()
    spread = words.groupBy("word").agg(sf.countDistinct("id").alias("texts"))
    scored = often.join(spread, "word").withColumn("score", sf.expr("count * log(1e7 / texts)"))
    place = sf.row_number().over(Window.partitionBy("id").orderBy(sf.desc("score")))
    first = scored.withColumn("place", place).where("place <= 2")
    write(first.select("id", "word", "score"), out)


def scenarios(spark: SparkSession, folder: str, out: str) -> None:
    """Every second row under forty drawn scenarios, and quantiles of their sums."""
    rows = events(spark, folder).where("id % 2 = 0").selectExpr(
        "category", "x", "y", "z", "id", "explode(sequence(1, 40)) scenario"
    )  # fmt: skip
    shock = "exp(0.2 * (double(abs(hash(id, scenario)) % 1000) / 500 - 1))"
    value = f"x * {shock} * pow(y + 0.5, z) + ln(1 + x * scenario) value"
    sums = rows.selectExpr("category", "scenario", value)
    sums = sums.groupBy("category", "scenario").agg(sf.sum("value").alias("value"))
    risk = ("percentile_approx(value, 0.05)", "percentile_approx(value, 0.5)", "stddev(value)")
    write(sums.groupBy("category").agg(*map(sf.expr, risk)).toDF("category", *"abc"), out)


def vectorised(spark: SparkSession, folder: str, out: str) -> None:
    """Two functions of pandas on columns, and sums of what they give."""
    import numpy as np
    import pandas as pd

    @sf.pandas_udf("double")
    def score(x: pd.Series, y: pd.Series, text: pd.Series) -> pd.Series:
        return np.exp(-x) * y + text.str.count("w1") * 0.1 + text.str.len() * 0.01

    @sf.pandas_udf("string")
    def first(text: pd.Series) -> pd.Series:
        return text.str.split(" ").str[0].str.upper()

    rows = events(spark, folder).select(
        "customer", score("x", "y", "text").alias("score"), first("text").alias("first")
    )
    found = rows.groupBy("first").agg(sf.avg("score"), sf.countDistinct("customer"))
    write(found.toDF("first", "score", "customers").orderBy("first"), out)


JOBS = (pricing_summary, export_csv, triangles, mixture, elastic_net, tfidf, scenarios, vectorised)


if __name__ == "__main__":
    main(JOBS, *sys.argv[1:])
