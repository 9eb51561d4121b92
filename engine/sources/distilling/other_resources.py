"""What tasks hold beside cores and memory: GPUs and whatever else a cluster hands out by number.

Spark runs no more tasks of an executor at once than its GPUs serve (since 3.0), whatever its cores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite

from engine.notices import Notice
from engine.sources.distilling.settings import task_cpus
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Stage

_CORES = "cpus"
_NAME = re.compile(r"[\w.-]{1,32}\Z", re.ASCII)
_SETTING = re.compile(r"spark\.task\.resource\.([\w.-]{1,32})\.amount\Z", re.ASCII)


def cores_of_task(application: Application, stage: Stage, executor_cores: int | None) -> int:
    """Cores that a task keeps others from: what it holds itself, or where an executor has GPUs for
    fewer tasks than its cores would run, an even share of these, rounded up."""
    held = task_cpus(application, stage)
    if executor_cores is None:
        return held
    served = _tasks_served(application, stage.profile)
    return held if served is None else max(held, -(-executor_cores // served))


def other_resource_notices(application: Application, stages: Iterable[Stage]) -> list[Notice]:
    """That tasks need what no type of a catalog is known to have."""
    profiles = sorted({stage.profile for stage in stages})
    names = sorted({name for each in profiles for name in _of_tasks(application, each)})
    if not names:
        return []
    return [
        Notice(
            "needs-other-resources",
            f"tasks hold {' and '.join(names)} (spark.task.resource): the bundled catalogs list no "
            "type with any, so that the job does not start on what they recommend; a cluster is "
            f"taken to have as much for each core as the log's, {_handed_over(application, names)}",
            "plan executors alone (sparkplan recommend --executor-cores C --max-executors N), or "
            "with types that have such (sparkplan recommend --catalog FILE), and set "
            "spark.executor.resource.NAME.discoveryScript where the nodes need one",
        )
    ]


def _handed_over(application: Application, names: Iterable[str]) -> str:
    """What exports ask for of it, as settings of the log are carried over, and what they need not:
    the default profile is that of the settings, others are the program's own."""
    if all(f"spark.task.resource.{name}.amount" in application.properties for name in names):
        return "and exports ask for as much for each core and task as the log's settings did"
    if not _of_tasks(application, DEFAULT_PROFILE):
        return "and the program asks for it itself (RDD.withResources), so that exports do not"
    return "and exports do not ask for all of it, since the log's settings did not"


DEFAULT_PROFILE = 0
"""The id of the resource profile that settings make."""


def _tasks_served(application: Application, profile: int) -> int | None:
    """How many tasks at once what an executor has beside its cores is enough for; None where it
    binds none, or the log does not say how much it has."""
    offered = _of_executors(application, profile)
    served = [
        _tasks_of(offered[name], amount)
        for name, amount in _of_tasks(application, profile).items()
        if name in offered
    ]
    return max(1, min(served)) if served else None


def _tasks_of(offered: float, amount: float) -> int:
    """A task takes whole pieces, or a part of one: each is cut into as many parts as fit in it."""
    return int(offered) * int(1.0 / amount + 1e-9) if amount < 1.0 else int(offered / amount)


def _of_tasks(application: Application, profile: int) -> dict[str, float]:
    """What a task holds beside cores: name -> amount."""
    requests = application.profiles.get(profile)
    if requests is not None:
        told = {name: request.amount for name, request in requests.task.items() if name != _CORES}
    else:
        found = ((_SETTING.match(key), text) for key, text in application.properties.items())
        told = {match[1]: _amount(text) for match, text in found if match}
    return _sensible(told)


def _of_executors(application: Application, profile: int) -> dict[str, float]:
    """What an executor has of what tasks hold: name -> amount."""
    requests, names = application.profiles.get(profile), _of_tasks(application, profile)
    if requests is not None:
        told = {name: request.amount for name, request in requests.executor.items()}
    else:
        key = "spark.executor.resource.{}.amount".format
        told = {name: _amount(application.properties.get(key(name), "")) for name in names}
    return {name: amount for name, amount in _sensible(told).items() if name in names}


def _amount(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _sensible(amounts: Mapping[str, float]) -> dict[str, float]:
    return {
        name: amount
        for name, amount in amounts.items()
        if _NAME.match(name) and isfinite(amount) and 1e-4 <= amount <= 1e4
    }
