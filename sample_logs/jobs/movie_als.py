"""Film recommendations: matrix factorisation by alternating least squares (iterative)."""

from __future__ import annotations

import sys

from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.recommendation import ALS
from pyspark.sql import SparkSession


def main(folder: str, out: str, iterations: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    ratings = spark.read.csv(f"{folder}/ratings", schema="user int, film int, rating float")
    training, held_out = ratings.randomSplit([0.9, 0.1], seed=1)
    training = training.cache()
    als = ALS(
        userCol="user",
        itemCol="film",
        ratingCol="rating",
        rank=16,
        maxIter=int(iterations),
        seed=1,
        coldStartStrategy="drop",
    )
    model = als.fit(training)
    evaluator = RegressionEvaluator(labelCol="rating", metricName="rmse")
    print("root mean squared error", evaluator.evaluate(model.transform(held_out)))
    model.itemFactors.write.mode("overwrite").parquet(f"{out}/films")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
