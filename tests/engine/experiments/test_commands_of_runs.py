"""Planned runs as commands of spark-submit: templates, plans, layouts and seeds."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.experiments import commands
from engine.experiments.commands import (
    Job,
    command_of,
    experiments_in,
    find_spark_submit,
    template_of,
    training_runs,
)
from engine.experiments.designed_runs import designed
from engine.experiments.plans import Experiment, Grid

PLANNED = (Experiment(1, 0.1), Experiment(2, 0.05))


def job(template: str = "job.py --share {fraction}") -> Job:
    return Job(template_of(template), executors_per_node=2, executor_cores=4)


def test_a_submission_has_its_layout_and_its_sample(tmp_path: Path) -> None:
    (run,) = training_runs(PLANNED[1:], job("--name '{name} x' job.py {percent} {seed}"))
    command = command_of(run, job("--name '{name} x' job.py {percent} {seed}"), tmp_path)
    assert command[0] == "spark-submit"
    for setting in (
        "spark.executor.instances=4",
        "spark.executor.cores=4",
        "spark.cores.max=16",
        "spark.eventLog.enabled=true",
        f"spark.eventLog.dir=file://{tmp_path}",
    ):
        assert setting in command
    assert command[-5:] == ("--name", "nodes2-input5pc-seed1 x", "job.py", "5", "1")


def test_a_run_tells_of_its_cached_blocks_unless_asked_not_to(tmp_path: Path) -> None:
    (run,) = training_runs(PLANNED[1:], job())
    name = "spark.eventLog.logBlockUpdates.enabled"
    assert f"{name}=true" in command_of(run, job(), tmp_path)
    quiet = replace(job(), conf={name: "false"})
    assert f"{name}=false" in command_of(run, quiet, tmp_path)
    assert f"{name}=true" not in command_of(run, quiet, tmp_path)


def test_a_program_gets_every_digit_of_its_iterations() -> None:
    """A million was handed over as 1e+06, and what differs in the seventh digit was one run."""
    many = [Experiment(nodes=1, fraction=1.0, iterations=count) for count in (1e6, 1e6 + 1.0)]
    runs = training_runs(many, job("job.py {iterations}"))
    assert [run.values["iterations"] for run in runs] == ["1000000", "1000001"]
    assert [run.seed for run in runs] == [1, 1]


def test_repetitions_have_seeds_of_their_own() -> None:
    runs = training_runs(PLANNED[:1], job(), repeat=3)
    assert [run.values["seed"] for run in runs] == ["1", "2", "3"]
    assert len({run.name for run in runs}) == 3
    twice = training_runs(PLANNED[:1] * 2, job())
    assert [run.seed for run in twice] == [1, 2]


def test_a_plan_goes_from_experiments_to_collect() -> None:
    plan = designed(Grid.of(nodes=range(1, 9), fractions=(0.01, 0.05, 0.1)), budget=5.0)
    entries = [
        {"nodes": run.nodes, "fraction": run.fraction, "iterations": None, "cores": None}
        for run in plan.runs
    ]
    read = experiments_in(json.dumps({"plan": {"runs": entries}, "next": []}), where="plan")
    assert [(run.nodes, run.fraction) for run in read] == [
        (run.nodes, run.fraction) for run in plan.runs
    ]
    assert len(training_runs(read, job())) == len(plan.runs)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"plan": null}', '{"plan": {"runs": []}}', "1", "[" * 100_000,
        '{"plan": {"runs": [{"fraction": 2.0, "nodes": 1}]}}',
        '{"plan": {"runs": [{"fraction": 0.1}]}}',
        '{"plan": {"runs": [{"fraction": 0.1, "nodes": 0.5}]}}',
        '{"plan": {"runs": [{"fraction": 0.1, "nodes": true}]}}',
        '{"plan": {"runs": [{"fraction": 0.1, "nodes": 1e400}]}}',
        '{"plan": {"runs": [{"fraction": true, "nodes": 1}]}}',
        '{"plan": {"runs": [{"fraction": NaN, "nodes": 1}]}}',
        '{"plan": {"runs": [{"fraction": 0.1, "nodes": 1, "instance": 5}]}}',
        '{"plan": {"runs": [{"fraction": 0.1, "nodes": 1, "iterations": NaN}]}}',
        '{"plan": {"runs": [{"fraction": 0.1, "nodes": 1, "iterations": -3}]}}',
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="plan"):
        experiments_in(text, where="plan.json")


@pytest.mark.parametrize(
    ("template", "said"),
    [("", "empty"), ("a 'b", "cannot be read"), ("job.py {size}", "unknown placeholder {size}")],
)
def test_templates_that_cannot_be_used(template: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        template_of(template)


def test_what_the_plan_does_not_say_cannot_be_asked_for() -> None:
    with pytest.raises(BadInput, match="does not say partitions"):
        training_runs(PLANNED, job("job.py {partitions}"))
    with pytest.raises(BadInput, match="do not divide"):
        training_runs((Experiment(None, 0.1, cores=6),), job())


def test_a_missing_spark_submit_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a command"):
        find_spark_submit(str(tmp_path / "nothing"))


WHOLE = {"nodes": 3, "fraction": 1.0, "instance": "m5.xlarge", "partitions": 8, "iterations": 5.0}


def test_where_no_plan_is_the_next_runs_are_it() -> None:
    text = json.dumps({"plan": None, "next": [WHOLE, {"cores": 12, "fraction": 0.5}]})
    assert experiments_in(text, where="plan") == (
        Experiment(3, 1.0, "m5.xlarge", partitions=8, iterations=5.0),
        Experiment(None, 0.5, cores=12),
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"fraction": 1.01},
        {"fraction": 0.0},
        {"fraction": math.inf},
        {"nodes": 0},
        {"partitions": 0},
        {"iterations": 0.0},
    ],
)
def test_a_run_that_nobody_can_make_is_no_plan(wrong: dict[str, object]) -> None:
    text = json.dumps({"plan": {"runs": [WHOLE, WHOLE | wrong]}})
    with pytest.raises(BadInput, match="is not a plan of runs"):
        experiments_in(text, where="plan")


def test_runs_on_other_clusters_have_other_names() -> None:
    """Of a log that is there already the run is not made again."""
    clusters = [Experiment(2, 0.5), Experiment(2, 0.5, "m5.xlarge"), Experiment(None, 0.5, cores=8)]
    assert [run.name for run in training_runs(clusters, job())] == [
        "nodes2-input50pc-seed1",
        "m5.xlarge-nodes2-input50pc-seed1",
        "cores8-input50pc-seed1",
    ]


def test_cores_are_divided_into_whole_executors() -> None:
    (run,) = training_runs([Experiment(None, 0.5, cores=8)], job())
    assert (run.values["executors"], run.values["total_cores"]) == ("2", "8")
    with pytest.raises(BadInput, match="6 cores do not divide into executors of 4"):
        training_runs([Experiment(None, 0.5, cores=6)], job())


def test_repetitions_count_among_the_most_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "MOST_RUNS", 6)
    assert len(training_runs(PLANNED, job(), repeat=3)) == 6
    with pytest.raises(BadInput, match="more than 6 runs"):
        training_runs(PLANNED, job(), repeat=4)


def test_the_command_that_is_named_comes_before_spark_home_and_that_before_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("named", "home/bin", "path"):
        command = tmp_path / folder / "spark-submit"
        command.parent.mkdir(parents=True)
        command.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert find_spark_submit(None) == str(tmp_path / "path/spark-submit")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "home"))
    assert find_spark_submit(None) == str(tmp_path / "home/bin/spark-submit")
    named = str(tmp_path / "named/spark-submit")
    assert find_spark_submit(named) == named
