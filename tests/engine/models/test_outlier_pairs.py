"""Of two runs of one configuration the slower is tested by what the others predict."""

import math
from dataclasses import replace

import pytest

import engine
from engine.cluster import Cluster, Workload
from engine.experiments.belief import belief_at
from engine.experiments.points import Points
from engine.models.base import FittedModel
from engine.profile import Profile, Run

MACHINES = (2, 3, 4, 6, 8, 10, 12, 16)
SCATTER = (1.01, 0.98, 1.02, 1.0, 0.99, 1.015, 0.985, 1.01)
WORKLOAD = Workload(input_bytes=1e10)


def seconds_on(nodes: int) -> float:
    return 40.0 + 900.0 / nodes


def run(nodes: int, seconds: float) -> Run:
    cluster = Cluster.of_nodes(instance_type="m", nodes=nodes, vcpus=4, memory_gib=16.0)
    return Run(seconds, cluster, WORKLOAD)


def table(**again: float) -> list[Run]:
    """Each place once, those at `m6=2.0` once more and so many times as long."""
    runs = [run(n, seconds_on(n) * s) for n, s in zip(MACHINES, SCATTER, strict=True)]
    runs += [run(int(name[1:]), seconds_on(int(name[1:])) * f) for name, f in again.items()]
    return runs


def fit(runs: list[Run]) -> FittedModel:
    return engine.fit(Profile("job", tuple(runs)))


def test_a_run_made_again_that_goes_well_counts_alone() -> None:
    calm, disturbed = fit(table()), fit(table(m6=2.0))
    for nodes in (5, 6, 14):
        cluster = run(nodes, 1.0).cluster
        before = calm.predict(cluster=cluster, workload=WORKLOAD)
        found = disturbed.predict(cluster=cluster, workload=WORKLOAD)
        assert found.seconds == pytest.approx(before.seconds, rel=0.01)
        assert found.high < 1.05 * before.high
        assert [n.text for n in found.warnings if n.code == "unusual-run"] == [
            "the run of 380 s took 2 times as long as the other runs predict, as if something "
            "went wrong: counted for next to nothing"
        ]


def test_configurations_measured_more_often_count_as_their_mean() -> None:
    """Three runs that agree and two that agree, beside the two that do not."""
    again = [run(10, seconds_on(10) * f) for f in (1.02, 0.97)] + [run(3, seconds_on(3) * 1.03)]
    fitted = fit([*table(m6=2.0), *again])
    assert [one.run.seconds for one in fitted.unusual_runs(WORKLOAD)] == [380.0]
    found = fitted.predict(cluster=run(6, 1.0).cluster, workload=WORKLOAD)
    assert found.seconds == pytest.approx(seconds_on(6), rel=0.02)


def test_it_has_no_part_in_the_belief_either() -> None:
    for runs in (table(m6=2.0), table(m6=2.0)[::-1]):
        fitted = fit(runs)
        points = Points.of([run(6, 1.0).cluster], [WORKLOAD], fitted.profile)
        told = math.exp(float(belief_at(fitted, points).mean[0]))
        assert told == pytest.approx(seconds_on(6), rel=0.03)


def test_two_that_agree_count_in_full() -> None:
    assert not fit(table(m6=1.03)).unusual_runs(WORKLOAD)
    both = [replace(one, seconds=2.0 * one.seconds) if one.cluster.nodes == 6 else one
            for one in table(m6=1.0)]  # fmt: skip
    assert not fit(both).unusual_runs(WORKLOAD)


def test_a_job_whose_runs_all_scatter_so_has_none() -> None:
    factors = (0.7, 1.4, 1.35, 0.75, 1.3, 0.72, 0.8, 1.45)
    runs = [run(n, seconds_on(n) * f) for n, f in zip(MACHINES, factors, strict=True)]
    runs += [run(n, seconds_on(n) / f) for n, f in zip(MACHINES, factors, strict=True)]
    assert not fit(runs).unusual_runs(WORKLOAD)


def test_models_by_parameters_name_them_too() -> None:
    """Run times beside a log of another parameter answer for theirs, as alone."""
    asked = Workload(input_bytes=1e10, parameters={"k": 5.0})
    runs = [replace(one, workload=asked) for one in table(m6=2.0)]
    log = engine.read("sort-small").runs[0]
    log = replace(log, workload=replace(log.workload, parameters={"k": 900.0}))
    fitted = engine.fit(Profile("job", (*runs, log)))
    assert [one.run.seconds for one in fitted.unusual_runs(asked)] == [380.0]
