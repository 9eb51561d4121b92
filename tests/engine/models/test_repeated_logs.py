"""Repetitions of a configuration test nothing, and are no further evidence: on bundled logs, each
made twice."""

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from depth import DEEP
from sparkplan_runs import width

import engine
from engine.cluster import Cluster, Workload
from engine.models.base import FittedModel
from engine.models.replay.priors import LOG_NOISE
from engine.models.stages.disturbance import disturbance_spread
from engine.profile import Profile, Run
from engine.runs.configurations import configurations, pairs_between, repetition_spread
from engine.stage_run import Measure

MODELS = ("sparkplan", "simcost", "boe", "peridot")
PAIRS = ("sales-report", "pagerank")
TWICE = (0.97, 1.03)
ASKED = [
    (name, model)
    for row, name in enumerate((*PAIRS, "movie-als"))
    for place, model in enumerate(MODELS)
    if DEEP or (row - place) % 3 == 0  # every model and every job at least once
]


@cache
def pair(name: str) -> Profile:
    return engine.read(f"{name}-small", f"{name}-large")


def again(run: Run, factor: float) -> Run:
    """The same run at another time, when everything took `factor` times as long."""

    def slowed(name: str, value: object) -> object:
        if not name.endswith("seconds"):
            return value
        if isinstance(value, Measure):
            quantiles = tuple(factor * quantile for quantile in value.quantiles)
            return replace(value, total=factor * value.total, quantiles=quantiles)
        return factor * value if isinstance(value, float) else value

    def each(whole: object) -> dict[str, object]:
        return {f.name: slowed(f.name, getattr(whole, f.name)) for f in fields(whole)}

    stages = tuple(replace(stage, **each(stage)) for stage in run.stages)
    jobs = tuple(replace(job, **each(job)) for job in run.jobs)
    cores = tuple((factor * at, count) for at, count in run.cores)
    return replace(
        run,
        seconds=factor * run.seconds,
        driver_seconds=None if run.driver_seconds is None else factor * run.driver_seconds,
        stages=stages,
        jobs=jobs,
        cores=cores,
        app_id=f"{run.app_id}-{factor}",
    )


def repeated(profile: Profile, factors: Sequence[float] = TWICE) -> Profile:
    return replace(profile, runs=tuple(again(run, f) for run in profile.runs for f in factors))


@cache
def fitted_once(name: str, model: str) -> FittedModel:
    return engine.fit(pair(name), model=model)


@cache
def fitted_twice(name: str, model: str) -> FittedModel:
    return engine.fit(repeated(pair(name)), model=model)


def error(fitted: FittedModel) -> float:
    return fitted.validation.mean_relative_error


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("model", MODELS)
def test_made_twice_logs_are_no_better_predicted(model: str, name: str) -> None:
    """By runs left out one by one the error fell to 6 %, that between the repetitions."""
    once, twice = fitted_once(name, model), fitted_twice(name, model)
    assert len(twice.validation.actual_seconds) == 4
    assert error(twice) == pytest.approx(error(once), abs=0.01)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("model", MODELS)
def test_made_twice_logs_make_no_narrower_interval(model: str, name: str) -> None:
    once, twice = fitted_once(name, model), fitted_twice(name, model)
    run = pair(name).runs[0]
    slots = run.cluster.slots or 1
    for cluster in (run.cluster, Cluster.of_executors(executors=4 * slots, executor_cores=1)):
        before, after = (fitted.predict(cluster=cluster) for fitted in (once, twice))
        assert width(after) > 0.98 * width(before)
        limit = 1.1 * before.seconds
        assert after.p_within(limit) == pytest.approx(before.p_within(limit) or 0.0, abs=0.02)


@pytest.mark.parametrize("model", ["sparkplan", "simcost", "boe"])
def test_one_configuration_is_one_log(model: str) -> None:
    """Made four times, it says nothing of other ones."""
    small = engine.read("sales-report-small")
    once, often = (engine.fit(p, model=model) for p in (small, repeated(small, (1.0,) * 4)))
    assert often.validation is None
    assert "single-run" in {notice.code for notice in often.fit_notices}
    assert any("4 runs of one configuration" in notice.text for notice in often.fit_notices)
    workload = small.workload_at(4.0)
    cluster = small.runs[0].cluster
    one, four = (fitted.predict(cluster=cluster, workload=workload) for fitted in (once, often))
    assert four.seconds == pytest.approx(one.seconds, rel=0.01)
    assert width(four) == pytest.approx(width(one), rel=0.01)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("factors", [(0.7, 1.4), (0.7, 0.9, 1.0, 1.1, 1.4)])
def test_repetitions_that_differ_widen(model: str, factors: Sequence[float]) -> None:
    """No interval is narrower than what runs of one configuration differ by, also where only the
    median of many is replayed."""
    runs = repeated(pair("sales-report"), factors)
    noise = repetition_spread(runs.runs)
    assert noise == pytest.approx(np.std(np.log(factors), ddof=1))
    found = engine.fit(runs, model=model).predict(cluster=runs.runs[0].cluster)
    assert found.forecast.log_scale[0] >= noise * (1.0 - 1e-9)


def test_repetitions_keep_the_disturbance() -> None:
    """Two sizes made twice on a machine that others use: no surer than one log of it."""
    twice = repeated(pair("pagerank"), (1.0, 1.0))
    spread = disturbance_spread(twice.runs)
    assert spread > LOG_NOISE
    fitted = engine.fit(twice)
    assert "busy-machine" in {notice.code for notice in fitted.fit_notices}
    found = fitted.predict(cluster=twice.runs[0].cluster)
    assert found.forecast.log_scale[0] >= spread


def test_what_is_one_configuration() -> None:
    def run(
        slots: int = 2, size: float | None = 100.0, seconds: float = 1.0, **workload: object
    ) -> Run:
        cluster = Cluster.of_executors(executors=slots, executor_cores=1)
        return Run(seconds, cluster, Workload(size, **workload))

    alike = [run(), run(size=103.0, seconds=2.0), run(size=98.5)]
    assert configurations(alike).tolist() == [0, 0, 0]
    assert configurations(alike[::-1]).tolist() == [0, 0, 0]
    other = [run(slots=4), run(size=110.0), run(iterations=3.0), run(parameters={"k": 1.0})]
    assert configurations([run(), *other, run(size=None)]).tolist() == [0, 1, 2, 3, 4, 5]
    typed = [
        replace(run(), cluster=replace(Cluster.of_nodes(
            instance_type=kind, nodes=nodes, vcpus=2, memory_gib=8
        ), executors=2, executor_cores=1))
        for kind, nodes in (("a", 1), ("b", 1), ("a", 2), ("a", 1))
    ]  # fmt: skip
    assert configurations(typed).tolist() == [0, 1, 2, 0]
    first, second = pairs_between(np.asarray([0, 0, 1]))
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 2), (1, 2)]


def test_the_spread_of_repetitions_is_pooled_and_spares_other_heaps() -> None:
    cluster = Cluster.of_executors(executors=2, executor_cores=1, executor_memory_gib=4.0)
    runs = [Run(s, cluster, Workload(z)) for s, z in ((10.0, 1.0), (11.0, 1.0), (30.0, 4.0))]
    expected = math.log(1.1) / math.sqrt(2.0)
    assert repetition_spread(runs) == pytest.approx(expected)
    more = Run(90.0, replace(cluster, executor_memory_gib=1.0), Workload(4.0))
    assert configurations([*runs, more]).tolist() == [0, 0, 1, 1]
    assert repetition_spread([*runs, more]) == pytest.approx(expected)
    assert repetition_spread(runs[1:]) == 0.0


@pytest.mark.parametrize(("name", "model"), ASKED)
def test_made_twice_logs_answer_as_made_once(name: str, model: str) -> None:
    """And so does a pair of which one was made six times."""
    once = pair(name)
    small, large = once.runs
    often = replace(once, runs=(*(again(small, 1.0 + k / 1e3) for k in range(-3, 3)), large))
    larger = Workload(4.0 * (once.reference_workload.input_bytes or 0.0))
    expected = fitted_once(name, model).predict(cluster=large.cluster, workload=larger).seconds
    for fitted in (fitted_twice(name, model), engine.fit(often, model=model)):
        found = fitted.predict(cluster=large.cluster, workload=larger).seconds
        assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("name", "model"), ASKED)
def test_the_order_of_the_logs_does_not_matter(name: str, model: str) -> None:
    """SimCost's answer from a pair was up to 64 % more the other way round."""
    small, large = pair(name).runs
    larger = Workload(4.0 * (large.workload.input_bytes or 0.0))
    runs = (small, again(small, 1.05), large, again(large, 0.9))
    for logs in (runs[::2], runs):
        one, other = (
            engine.fit(replace(pair(name), runs=order), model=model).predict(
                cluster=large.cluster, workload=larger
            )
            for order in (logs, logs[::-1])
        )
        assert other.seconds == pytest.approx(one.seconds, rel=1e-9)
        assert (other.low, other.high) == pytest.approx((one.low, one.high), rel=1e-9)
