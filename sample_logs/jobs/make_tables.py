"""Writes the tables of `sales_report.py`: orders as parquet, customers as CSV. Leaves no log."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

CUSTOMERS = 200_000


def main(folder: str, rows: str, files: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    orders = spark.range(0, int(rows), 1, int(files)).selectExpr(
        "id AS order_id",
        # The square of a uniform number: few customers order much, many order little.
        f"int(pow(rand(1), 2) * {CUSTOMERS}) AS customer",
        "date_add(date'2023-01-01', int(rand(2) * 365)) AS day",
        "int(rand(3) * 5000) AS product",
        "1 + int(rand(4) * 5) AS quantity",
        "round(1 + rand(5) * 99, 2) AS price",
        "substring(sha1(cast(id AS string)), 1, 24) AS reference",
    )
    orders.write.mode("overwrite").parquet(f"{folder}/orders")
    customers = spark.range(0, CUSTOMERS, 1, 4).selectExpr(
        "id AS customer",
        "concat('region-', int(rand(6) * 12)) AS region",
        "int(rand(7) * 3) AS tier",
    )
    customers.write.mode("overwrite").csv(f"{folder}/customers", header=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
