"""`spark-defaults.conf`: one key and its value per line."""

from __future__ import annotations

from engine.exports.base import Export, Handover, comments, spark_properties


class SparkDefaults(Export):
    name = "spark-defaults"
    summary = "lines for spark-defaults.conf"
    suffix = ".conf"

    def render(self, handover: Handover) -> str:
        properties = spark_properties(handover)
        width = max(map(len, properties))
        lines = [f"{key.ljust(width)} {value}" for key, value in properties.items()]
        return "\n".join([comments(handover), *lines]) + "\n"
