"""Scales GPUs and other custom resources to executors with other cores than those of the logs.

A prediction assumes as many per core as the logs had. Spark's settings give them per executor: left
as they are, executors of half the cores would request twice as many in all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from engine.profile import Profile

_OF_EXECUTOR = re.compile(r"spark\.executor\.resource\.([\w.-]{1,32})\.amount\Z", re.ASCII)

ROUNDING = 1e-9


class ScaledResource(NamedTuple):
    """A resource of executors: its setting in the logs, and the scaled one.

    Args:
        key: the setting.
        name: the resource, such as "gpu".
        log_amount, amount: resources per executor in the logs, and scaled.
        log_cores, cores: cores of an executor in the logs, and here.
    """

    key: str
    name: str
    log_amount: float
    log_cores: int
    amount: int
    cores: int

    @property
    def note(self) -> str:
        """The comment on it in an export."""
        more = self.amount * self.log_cores > self.log_amount * self.cores * (1.0 + ROUNDING)
        beyond = (
            ", more for each core than the prediction counts on: whole ones, and no fewer than a "
            "task holds"
            if more
            else ""
        )
        return (
            f"note: executors of the logs had {self.log_amount:g} {self.name} for "
            f"{self.log_cores} cores, those here {self.amount} for {self.cores}{beyond}"
        )


def scaled_resources(
    carried: Mapping[str, str], profile: Profile, cores: int
) -> list[ScaledResource]:
    """The resources whose amount changes for executors of `cores`: as many per core as in the logs,
    rounded up to a whole number, and at least what one task holds. Empty if the cores of the logs'
    executors are unknown or differ.

    Args:
        carried: the settings of the logs (`carried_settings`).
    """
    distinct = {run.cluster.executor_cores for run in profile.runs if run.stages}
    log_cores = distinct.pop() if len(distinct) == 1 else None
    if not log_cores:
        return []
    resources = []
    for key, text in carried.items():
        match, amount = _OF_EXECUTOR.match(key), _amount(text)
        if match is None or amount <= 0.0:
            continue
        of_task = _amount(carried.get(f"spark.task.resource.{match[1]}.amount", ""))
        wanted = amount * cores / log_cores
        here = max(1, math.ceil(of_task), math.ceil(wanted - ROUNDING))
        if here != amount:
            resources.append(ScaledResource(key, match[1], amount, log_cores, here, cores))
    return resources


def _amount(text: str) -> float:
    """A setting as a number; 0 if it is not a sensible amount."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0.0 < value <= MOST else 0.0


MOST = 1e4
"""Largest sensible amount of a resource per executor."""
