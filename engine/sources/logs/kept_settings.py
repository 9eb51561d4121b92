"""Which settings of a log are kept: those that matter to a prediction, and nothing else of them.

Properties hold secrets, paths and hosts: only the settings listed here are kept, and only with
values that look like settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.runs.carried_settings import CARRIED, OTHER_RESOURCE

KEPT_CONFIG = frozenset(
    {
        *CARRIED,
        "spark.driver.cores",
        "spark.driver.maxResultSize",
        "spark.driver.memory",
        "spark.executor.cores",
        "spark.executor.instances",
        "spark.executor.memory",
        "spark.executor.memoryOverhead",
        "spark.executor.memoryOverheadFactor",
        "spark.executor.pyspark.memory",
        "spark.io.compression.codec",
        "spark.locality.wait",
        "spark.rdd.compress",
        "spark.scheduler.mode",
        "spark.shuffle.compress",
        "spark.shuffle.service.enabled",
        "spark.storage.memoryFraction",
    }
)
KEPT_PREFIXES = (
    "spark.dynamicAllocation.",
    "spark.memory.",
    "spark.speculation",
    "spark.sql.adaptive.",
)
_HARMLESS = re.compile(r"[\w.,*\[\] %+-]{1,64}\Z")


def is_kept(key: str) -> bool:
    """Whether a setting is worth keeping."""
    return key in KEPT_CONFIG or key.startswith(KEPT_PREFIXES) or bool(OTHER_RESOURCE.match(key))


def is_harmless(value: str) -> bool:
    """Whether a value looks like that of a setting."""
    return bool(_HARMLESS.match(value))


def kept_config(properties: Mapping[str, str]) -> dict[str, str]:
    """The settings worth keeping (`KEPT_CONFIG`, GPUs and the like), and the kind of its master."""
    kept = {
        key: value
        for key, value in sorted(properties.items())
        if is_kept(key) and is_harmless(value)
    }
    master = properties.get("spark.master", "").partition("://")[0]
    if is_harmless(master) and "redacted" not in master:
        kept["spark.master"] = master
    return kept
