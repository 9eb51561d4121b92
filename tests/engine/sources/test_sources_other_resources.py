"""GPUs and the like: how many tasks run at once, and that no catalog has them."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of

from engine.profile import Run

TASK, EXECUTOR = "spark.task.resource.gpu.amount", "spark.executor.resource.gpu.amount"


def profile(task: dict[str, float], executor: dict[str, float]) -> log.Event:
    return {
        "Event": "SparkListenerResourceProfileAdded",
        "Resource Profile Id": 0,
        "Executor Resource Requests": {name: {"Amount": n} for name, n in executor.items()},
        "Task Resource Requests": {name: {"Amount": n} for name, n in task.items()},
    }


def run_on(
    tmp_path: Path, *events: log.Event, cores: int = 8, properties: dict[str, str] | None = None
) -> Run:
    stage = log.info(0, 2)
    tasks = [log.task(0, n, 2.0, 3.0, index=n) for n in range(2)]
    start, environment, *more = log.header(cores=cores)
    environment["Spark Properties"] |= properties or {}
    events = (start, *events, environment, *more, log.job(0, [stage], 1.0))
    ended = log.completed(stage, 2.0, 3.0)
    return run_of(tmp_path, [*events, log.submitted(stage, 2.0), *tasks, ended, log.end(4.0)])


def codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices]


@pytest.mark.parametrize(
    ("amount", "gpus", "cores"),
    [
        (1.0, 1.0, 8),  # one task on an executor
        (1.0, 2.0, 4),
        (0.25, 1.0, 2),
        (0.3, 1.0, 3),  # a GPU is cut into three
        (0.35, 3.0, 2),  # each of three into two: what is left of them makes no seventh
        (0.1, 1.0, 1),  # for more tasks than there are cores
        (2.0, 1.0, 8),  # of which Spark starts none
    ],
)
def test_gpus_bound_the_tasks_at_once(
    tmp_path: Path, amount: float, gpus: float, cores: int
) -> None:
    told = profile({"cpus": 1.0, "gpu": amount}, {"memory": 4096.0, "gpu": gpus})
    run = run_on(tmp_path, told)
    assert stage_of(run, 0).task_cpus == cores
    assert codes(run).count("needs-other-resources") == 1
    said = next(x for x in run.notices if x.code == "needs-other-resources")
    assert said.text.startswith("tasks need gpu (spark.task.resource)")


def test_settings_tell_it_where_the_log_has_no_resource_profiles(tmp_path: Path) -> None:
    run = run_on(tmp_path, properties={TASK: "0.5", EXECUTOR: "1"})
    assert stage_of(run, 0).task_cpus == 4
    assert "needs-other-resources" in codes(run)


def test_settings_of_the_log_are_kept_and_what_exports_ask_for_is_said(tmp_path: Path) -> None:
    vendor, script = (
        "spark.executor.resource.gpu.vendor",
        "spark.executor.resource.gpu.discoveryScript",
    )
    asked = {TASK: "0.5", EXECUTOR: "1", vendor: "nvidia.com"}
    run = run_on(tmp_path, properties={**asked, script: "/home/ann/gpus.sh"})
    assert {key: value for key, value in run.config.items() if ".resource." in key} == asked
    assert "exports ask for as much" in run.notices[0].text
    told = profile({"cpus": 1.0, "gpu": 0.5}, {"gpu": 1.0})
    assert "exports do not ask for all of it" in run_on(tmp_path, told).notices[0].text


def test_what_the_program_asks_for_itself_exports_need_not(tmp_path: Path) -> None:
    """A profile beside the default one is made by the program: it asks again when it runs again."""
    default, own = profile({"cpus": 1.0}, {}), profile({"cpus": 1.0, "gpu": 1.0}, {"gpu": 1.0})
    own["Resource Profile Id"] = 1
    stage = log.info(0, 2) | {"Resource Profile Id": 1}
    tasks = [log.task(0, n, 2.0, 3.0, index=n) for n in range(2)]
    events = [*log.header(), default, own, log.job(0, [stage], 1.0), log.submitted(stage, 2.0)]
    run = run_of(tmp_path, [*events, *tasks, log.completed(stage, 2.0, 3.0), log.end(4.0)])
    assert "the program asks for it itself (RDD.withResources)" in run.notices[0].text


def test_cores_count_where_they_bind_more(tmp_path: Path) -> None:
    run = run_on(tmp_path, profile({"cpus": 4.0, "gpu": 0.25}, {"gpu": 1.0}))
    assert stage_of(run, 0).task_cpus == 4


@pytest.mark.parametrize("amount", ["", "none", "0", "nan", "-1", "1e300"])
def test_amounts_that_make_no_sense_bind_nothing(tmp_path: Path, amount: str) -> None:
    run = run_on(tmp_path, properties={TASK: amount, EXECUTOR: amount})
    assert stage_of(run, 0).task_cpus == 1
    assert "needs-other-resources" not in codes(run)


def test_jobs_of_cores_and_memory_are_told_nothing(tmp_path: Path) -> None:
    run = run_on(tmp_path, profile({"cpus": 1.0}, {"memory": 4096.0, "offHeap": 0.0}))
    assert stage_of(run, 0).task_cpus == 1
    assert "needs-other-resources" not in codes(run)
