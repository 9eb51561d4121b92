"""Sales report in SQL: orders (parquet) joined with customers (CSV), two queries.

The first adds up revenue per region and month; the second ranks the customers of each region.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

REVENUE = """
    SELECT region, tier, trunc(day, 'MM') AS month,
           count(DISTINCT o.customer) AS customers,
           sum(quantity * price) AS revenue,
           max(quantity * price) AS largest_order
    FROM orders o JOIN customers c ON o.customer = c.customer
    GROUP BY region, tier, trunc(day, 'MM')
"""
BEST_CUSTOMERS = """
    SELECT * FROM (
        SELECT region, spent.customer, revenue, orders, last_reference,
               rank() OVER (PARTITION BY region ORDER BY revenue DESC) AS place
        FROM (SELECT customer, sum(quantity * price) AS revenue, count(*) AS orders,
                     max_by(reference, day) AS last_reference
              FROM orders GROUP BY customer) spent
        JOIN customers c ON spent.customer = c.customer)
    WHERE place <= 100
"""


def main(folder: str, out: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    spark.read.parquet(f"{folder}/orders").createOrReplaceTempView("orders")
    spark.read.csv(
        f"{folder}/customers", header=True, schema="customer int, region string, tier int"
    ).createOrReplaceTempView("customers")
    spark.sql(REVENUE).write.mode("overwrite").parquet(f"{out}/revenue")
    spark.sql(BEST_CUSTOMERS).write.mode("overwrite").parquet(f"{out}/best_customers")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
