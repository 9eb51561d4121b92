"""The allow-list of Spark settings that are kept from a log: those that matter to a prediction.

Spark properties may contain secrets, paths and host names. Only the settings listed here are kept,
and only if their values look like settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.runs.carried_settings import CARRIED, DEPLOY_MODE, OTHER_RESOURCE

KEPT_CONFIG = frozenset(
    {
        *CARRIED,
        DEPLOY_MODE,
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
_SETTING_VALUE = re.compile(r"[\w.,*\[\] %+-]{1,64}\Z")


def is_kept(key: str) -> bool:
    """Whether a setting is on the allow-list."""
    return key in KEPT_CONFIG or key.startswith(KEPT_PREFIXES) or bool(OTHER_RESOURCE.match(key))


def looks_like_setting(value: str) -> bool:
    """Whether a value looks like a plain setting: short, without path or URL characters."""
    return bool(_SETTING_VALUE.match(value))


def kept_config(properties: Mapping[str, str]) -> dict[str, str]:
    """The allowed settings (`KEPT_CONFIG`, GPUs and the like), and the scheme of the master URL."""
    kept = {
        key: value
        for key, value in sorted(properties.items())
        if is_kept(key) and looks_like_setting(value)
    }
    master = properties.get("spark.master", "").partition("://")[0]
    if looks_like_setting(master) and "redacted" not in master:
        kept["spark.master"] = master
    return kept
