"""Evidence that PERIDOT refuses or reports, and bundled logs."""

import json
from dataclasses import replace
from typing import Any

import pytest
from peridot_runs import codes, executors, fit, references, run_of, slowed, truth

import engine
from engine.cluster import Cluster, Workload
from engine.errors import BadInput, ModelDoesNotFit
from engine.models.peridot.model import PeridotFitted
from engine.notices import Notice
from engine.profile import Profile, Run
from tui.cli import main

# Bad evidence


def refused(*runs: Run) -> str:
    with pytest.raises(ModelDoesNotFit) as error:
        fit(*runs)
    text = str(error.value)
    assert "\n" not in text
    assert error.value.remedy
    return text


def test_one_log() -> None:
    assert "needs two reference runs, and here is one" in refused(run_of(1.0))


def test_run_times_without_stages() -> None:
    runs = [Run(60.0, executors(4), Workload(size)) for size in (1.0, 2.0)]
    assert "needs two event logs" in refused(*runs)


def test_logs_of_different_applications() -> None:
    other = replace(run_of(2.0), application="another")
    assert "different applications (app, another)" in refused(run_of(1.0), other)


def test_references_at_different_core_counts() -> None:
    text = refused(run_of(1.0, cores=4), run_of(2.0, cores=8))
    assert "on different numbers of cores (4, 8)" in text
    assert "add a log of another input size on the cores of one of them" in text


def test_references_on_different_types() -> None:
    def on(run: Run, name: str) -> Run:
        nodes = Cluster.of_nodes(instance_type=name, nodes=5, vcpus=1.0, memory_gib=4.0)
        return replace(run, cluster=replace(nodes, executors=5, executor_cores=1))

    one, other = references()
    assert "on different instance types" in refused(on(one, "a"), on(other, "b"))


def test_references_without_a_size() -> None:
    runs = [replace(run, workload=Workload()) for run in references()]
    assert "no log says how much was read" in refused(*runs)


def test_structures_that_do_not_match() -> None:
    small, large = references()
    named = tuple(replace(stage, name=f"other {stage.stage_id}") for stage in large.stages)
    text = refused(small, replace(large, stages=named))
    assert "the stages of 1 GB on 5 and 2 GB on 5 do not match" in text


def test_other_iterations_and_parameters_are_refused_not_ignored() -> None:
    runs = [
        replace(run, workload=Workload(run.workload.input_bytes, 10, {"k": 3.0}))
        for run in references()
    ]
    fitted = fit(*runs)
    assert fitted.predict(cluster=executors(5), workload=Workload(2.0, 10)).seconds > 0
    with pytest.raises(BadInput, match="nothing of iterations: the references ran 10"):
        fitted.predict(cluster=executors(5), workload=Workload(2.0, 20))
    with pytest.raises(BadInput, match="no reference has k = 4"):
        fitted.predict(cluster=executors(5), workload=Workload(2.0, 10, {"k": 4.0}))


def test_runs_of_other_iterations_are_no_references() -> None:
    def iterating(run: Run, count: float | None) -> Run:
        return replace(run, workload=Workload(run.workload.input_bytes, count))

    for own, other in ((10.0, 20.0), (None, 20.0)):
        runs = [iterating(run, own) for run in references()]
        fitted = fit(*runs, iterating(run_of(1.5), other))
        assert len(fitted.references) == 2
        assert fitted.predict(cluster=executors(5)).seconds == pytest.approx(truth(2.0, 5))
        with pytest.raises(BadInput, match="nothing of iterations"):
            fitted.predict(cluster=executors(5), workload=Workload(2.0, other))


def test_other_models_still_answer() -> None:
    profile = Profile("job", (run_of(1.0),))
    with pytest.raises(ModelDoesNotFit):
        engine.fit(profile, model="peridot")
    assert engine.fit(profile).predict(cluster=executors(5)).seconds > 0


# Real runs

PAIRS = [
    # small, large, groups in both, variable groups
    ("nightly-features-small", "nightly-features", 4, 3),
    ("sales-report-small", "sales-report-large", 7, 5),
    ("movie-als-small", "movie-als-large", 33, 6),
    ("pagerank-small", "pagerank-large", 40, 0),
    ("word-count-small", "word-count-large", 2, 2),
    ("sort-small", "sort-large", 3, 3),
]


@pytest.mark.parametrize(("small", "large", "groups", "variable"), PAIRS)
def test_bundled_pairs_through_the_command(
    small: str,
    large: str,
    groups: int,
    variable: int,
    tmp_path: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The larger run lies in the 90 % interval of a prediction that knows both."""
    profile = engine.read(small, large)
    fitted = engine.fit(profile, model="peridot")
    assert isinstance(fitted, PeridotFitted)
    assert len(fitted.references.groups) == groups
    assert fitted.references.variable.sum() == variable
    stored = str(tmp_path / "profile.yaml")
    engine.write_profile(profile, stored)
    answers = []
    for sources in ([small, large], [stored]):
        assert main(["predict", *sources, "--model", "peridot", "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["seconds"] == pytest.approx(answers[1]["seconds"], rel=1e-9)
    assert answers[0]["low"] < profile.largest_run.seconds < answers[0]["high"]


@pytest.mark.parametrize(
    ("sources", "applications"),
    [
        (["sort-small", "word-count-large"], "sort, word-count"),
        (["sort-small", "sort-large", "movie-als-small"], "sort, movie-als"),
    ],
)
def test_bundled_logs_of_two_applications(
    sources: list[str], applications: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where one of them iterates, whose logs were left aside without a word."""
    assert main(["predict", *sources, "--model", "peridot"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"different applications ({applications})" in said


def test_runs_that_failed_are_no_references_where_others_serve_and_are_counted() -> None:
    failed = Notice("failed-stages", "1 stage failed", "give another log")
    small, large = references(variable=3, fixed=2)
    bad = replace(slowed(large, 0.5), notices=(failed,))
    fitted = fit(small, large, bad)
    assert len(fitted.references) == 2
    (said,) = (notice for notice in fitted.fit_notices if notice.code == "incomplete-runs")
    assert said.text == "1 of 3 logs is left aside: 1 with a stage that failed"
    needed = fit(small, bad)
    assert len(needed.references) == 2
    assert "incomplete-runs" not in codes(needed.fit_notices)
