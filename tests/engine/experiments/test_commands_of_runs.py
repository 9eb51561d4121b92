"""Planned runs as commands of spark-submit: templates, plans, layouts and seeds."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import BadInput
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
