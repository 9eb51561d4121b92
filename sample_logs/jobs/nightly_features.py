"""Nightly feature computation: ten days of hourly click logs to features per market segment.

One task per hourly file parses, pseudonymises and enriches the clicks; a shuffle by person cuts
them into sessions and joins the customers; a last aggregation writes one row per segment.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

SCHEMA = (
    "ts timestamp, user string, event string, url string, query string, agent string, price double"
)
HASH_ROUNDS = 48
SESSION_GAP_SECONDS = 1800


def pseudonym(column: str) -> str:
    """SQL of a stretched hash: repeated, so that trying all user names becomes expensive."""
    return (
        f"aggregate(sequence(1, {HASH_ROUNDS}), concat('salt-', {column}),"
        " (digest, i) -> sha2(concat(digest, i), 256))"
    )


def read_clicks(spark: SparkSession, folder: str) -> DataFrame:
    """The clicks of all hourly files with what can be told from one click alone."""
    return (
        spark.read.schema(SCHEMA)
        .json(f"{folder}/clicks")
        .withColumn("person", sf.expr(pseudonym("user")))
        .withColumn("product", sf.regexp_extract("url", r"/p/(\d+)", 1).cast("int"))
        .withColumn("source", sf.regexp_extract("url", r"utm_source=([a-z]+)", 1))
        .withColumn("mobile", sf.col("agent").rlike(r"(?i)iphone|android.*mobile"))
        .withColumn("engine", sf.regexp_extract("agent", r"(Chrome|Firefox|Safari)/([\d.]+)", 1))
        .drop("url", "agent", "user")
    )


def sessions(clicks: DataFrame) -> DataFrame:
    """One row per session: a person's clicks with no pause above the gap."""
    history = Window.partitionBy("person").orderBy("ts")
    pause = sf.col("ts").cast("long") - sf.lag(sf.col("ts").cast("long")).over(history)
    opens = sf.when(pause.isNull() | (pause > SESSION_GAP_SECONDS), 1).otherwise(0)
    return (
        clicks.withColumn("opens", opens)
        .withColumn("session", sf.sum("opens").over(history))
        .withColumn("relevance", sf.expr("levenshtein(query, title)"))
        .groupBy("person", "session", "source", "mobile")
        .agg(
            sf.count("*").alias("clicks"),
            sf.sum(sf.when(sf.col("event") == "buy", sf.col("price"))).alias("revenue"),
            sf.avg("relevance").alias("relevance"),
            sf.countDistinct("category").alias("breadth"),
            (sf.max("ts").cast("long") - sf.min("ts").cast("long")).alias("seconds"),
        )
    )


def segments(spark: SparkSession, folder: str) -> DataFrame:
    """Features per country, source and device."""
    products = spark.read.csv(
        f"{folder}/products.csv", header=True, schema="product int, category string, title string"
    )
    people = spark.read.csv(
        f"{folder}/users", header=True, schema="user string, country string, signup_day int"
    ).selectExpr(f"{pseudonym('user')} AS person", "country", "signup_day")
    clicks = read_clicks(spark, folder).join(sf.broadcast(products), "product")
    return (
        sessions(clicks)
        .join(people.hint("merge"), "person")  # in real life too many customers to broadcast
        .groupBy("country", "source", "mobile")
        .agg(
            sf.count("*").alias("sessions"),
            sf.sum("revenue").alias("revenue"),
            sf.avg("relevance").alias("relevance"),
            sf.percentile_approx("seconds", [0.5, 0.9, 0.99]).alias("session_seconds"),
            sf.avg("breadth").alias("breadth"),
            sf.avg("signup_day").alias("signup_day"),
        )
    )


def main(folder: str, out: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    segments(spark, folder).write.mode("overwrite").parquet(out)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
