"""GPUs and the like for executors of other cores than those of the logs.

A prediction counts on as many for each core as the logs had. Settings name them for each executor,
so that executors of half the cores, each with as many, would ask for twice as many nodes' worth.
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
    """What executors hold of one resource: the setting, as the logs had it and as it is here.

    Args:
        log_cores, cores: of their executors, and of those here.
    """

    key: str
    name: str
    log_amount: float
    log_cores: int
    amount: int
    cores: int

    @property
    def note(self) -> str:
        """What of it a handover says."""
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
    """Those of executors of so many cores that are others than in the logs: as many for each core,
    a whole number, and no fewer than one task holds. None where the logs do not say, or differ in,
    how many cores their executors had.

    Args:
        carried: the settings of the logs (`carried_settings`).
    """
    told = {run.cluster.executor_cores for run in profile.runs if run.stages}
    log_cores = told.pop() if len(told) == 1 else None
    if not log_cores:
        return []
    found = []
    for key, text in carried.items():
        match, amount = _OF_EXECUTOR.match(key), _amount(text)
        if match is None or amount <= 0.0:
            continue
        of_task = _amount(carried.get(f"spark.task.resource.{match[1]}.amount", ""))
        wanted = amount * cores / log_cores
        here = max(1, math.ceil(of_task), math.ceil(wanted - ROUNDING))
        if here != amount:
            found.append(ScaledResource(key, match[1], amount, log_cores, here, cores))
    return found


def _amount(text: str) -> float:
    """A sensible amount; 0 for what is none."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0.0 < value <= MOST else 0.0


MOST = 1e4
"""No executor holds more of anything."""
