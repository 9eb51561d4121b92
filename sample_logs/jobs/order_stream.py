"""Order statistics as a stream: new files of orders every few seconds, one micro-batch each."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

SCHEMA = "ts timestamp, customer string, product int, price double, note string"


def main(folder: str, out: str, files_per_batch: str, trigger: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    orders = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", files_per_batch)
        .json(f"{folder}/orders")
    )
    statistics = (
        orders.withWatermark("ts", "2 minutes")
        .withColumn("urgent", sf.col("note").rlike(r"(?i)\b(urgent|today|express)\b"))
        .groupBy(sf.window("ts", "1 minute"), sf.expr("product % 200").alias("shelf"), "urgent")
        .agg(
            sf.count("*").alias("orders"),
            sf.sum("price").alias("revenue"),
            sf.approx_count_distinct("customer").alias("customers"),
        )
    )
    query = (
        statistics.writeStream.queryName("order statistics")
        .trigger(processingTime=trigger)
        .option("checkpointLocation", f"{out}/checkpoint")
        .outputMode("append")
        .format("parquet")
        .start(f"{out}/statistics")
    )
    query.processAllAvailable()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
