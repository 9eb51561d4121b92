"""Custom task resources besides cores and memory: GPUs and others (`spark.task.resource`).

Since 3.0 Spark runs at most as many tasks of an executor at once as its GPUs allow, whatever its
number of cores.
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
    """Cores that a task occupies: its own CPUs or, where the executor's GPUs allow fewer tasks than
    its cores, an equal share of the cores, rounded up."""
    cpus = task_cpus(application, stage)
    if executor_cores is None:
        return cpus
    served = _tasks_served(application, stage.profile)
    return cpus if served is None else max(cpus, -(-executor_cores // served))


def other_resources_notice(application: Application, stages: Iterable[Stage]) -> Notice | None:
    """The notice that tasks need resources that no type of a bundled catalog lists."""
    profiles = sorted({stage.profile for stage in stages})
    names = sorted({name for each in profiles for name in _task_amounts(application, each)})
    if not names:
        return None
    return Notice(
        "needs-other-resources",
        f"tasks need {' and '.join(names)} (spark.task.resource): no type in the bundled "
        "catalogs has any, so the job will not start on what they recommend; a cluster is "
        f"taken to have as much for each core as the log's, {_export_text(application, names)}",
        "plan executors alone (sparkplan recommend --executor-cores C --max-executors N), or "
        "with types that have such (sparkplan recommend --catalog FILE), and set "
        "spark.executor.resource.NAME.discoveryScript where the nodes need one",
    )


def _export_text(application: Application, names: Iterable[str]) -> str:
    """The clause on what exports request: settings of the log are carried over (the default
    resource profile), while other profiles are requested by the program itself."""
    if all(f"spark.task.resource.{name}.amount" in application.properties for name in names):
        return "and exports ask for as much for each core and task as the log's settings did"
    if not _task_amounts(application, DEFAULT_PROFILE):
        return "and the program asks for it itself (RDD.withResources), so that exports do not"
    return "and exports do not ask for all of it, since the log's settings did not"


DEFAULT_PROFILE = 0
"""The id of the resource profile defined by the settings."""


def _tasks_served(application: Application, profile: int) -> int | None:
    """How many tasks at once an executor's custom resources allow; None where tasks need none, or
    the executor's amount is not logged."""
    offered = _executor_amounts(application, profile)
    served = [
        _tasks_per_amount(offered[name], amount)
        for name, amount in _task_amounts(application, profile).items()
        if name in offered
    ]
    return max(1, min(served)) if served else None


def _tasks_per_amount(offered: float, amount: float) -> int:
    """How many tasks `offered` units serve. A task takes whole units, or a fraction of one: each
    unit is then divided into as many equal parts as fit."""
    return int(offered) * int(1.0 / amount + 1e-9) if amount < 1.0 else int(offered / amount)


def _task_amounts(application: Application, profile: int) -> dict[str, float]:
    """Custom resources of a task: name -> amount."""
    requests = application.resource_profiles.get(profile)
    if requests is not None:
        amounts = {
            name: request.amount for name, request in requests.task.items() if name != _CORES
        }
    else:
        matches = ((_SETTING.match(key), text) for key, text in application.properties.items())
        amounts = {match[1]: _amount(text) for match, text in matches if match}
    return _plausible(amounts)


def _executor_amounts(application: Application, profile: int) -> dict[str, float]:
    """Custom resources of an executor that its tasks need: name -> amount."""
    requests = application.resource_profiles.get(profile)
    names = _task_amounts(application, profile)
    if requests is not None:
        amounts = {name: request.amount for name, request in requests.executor.items()}
    else:
        key = "spark.executor.resource.{}.amount".format
        amounts = {name: _amount(application.properties.get(key(name), "")) for name in names}
    return {name: amount for name, amount in _plausible(amounts).items() if name in names}


def _amount(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _plausible(amounts: Mapping[str, float]) -> dict[str, float]:
    return {
        name: amount
        for name, amount in amounts.items()
        if _NAME.match(name) and isfinite(amount) and 1e-4 <= amount <= 1e4
    }
