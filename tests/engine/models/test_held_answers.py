"""Answers held along the way to an input: more input is never less time, whatever memory does."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from depth import DEEP, cases
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.cluster import Cluster, Workload
from engine.forecast import FloatArray
from engine.models.base import FittedModel
from engine.models.replay.log_forecasts import LogForecast, LogForecasts
from engine.models.replay.monotone_times import (
    MEMORY_SUBDIVISIONS,
    MeanTimes,
    monotone_log_time,
    monotone_mean,
    monotone_with_memory,
)
from engine.models.replay.times import input_path

SAMPLES = Path(__file__).parents[3] / "sample_logs"
JOBS = ("sales-report", "sort", "word-count", "movie-als", "pagerank")
KINDS: dict[str, tuple[str, ...]] = {
    "small": ("-small.zstd",),
    "large": ("-large.zstd",),
    "pair": ("-small.zstd", "-large.zstd"),
}
FITTED: dict[tuple[str, str], FittedModel] = {}


def fitted(job: str, kind: str) -> FittedModel:
    if (job, kind) not in FITTED:
        logs = [SAMPLES / (job + end) for end in KINDS[kind]]
        FITTED[job, kind] = engine.fit(engine.read(*logs))
    return FITTED[job, kind]


def seconds(model: FittedModel, cluster: Cluster, scale: float) -> float:
    return model.predict(cluster=cluster, workload=model.profile.workload_at(scale)).seconds


Law = Callable[[float], float]


def one_log(logs: Law, memory: Law) -> Callable[[float], MeanTimes]:
    """The answers of one log for two clusters, of which memory changes the second's."""

    def answer(size: float) -> MeanTimes:
        time, zero = np.full(2, logs(size)), np.zeros(2)
        far = np.full((2, 2), math.log2(size))
        forecast = LogForecast(
            log_seconds=time,
            memory=np.asarray([0.0, memory(size)]),
            doublings=far,
            error_share=zero,
            log_scale=zero,
            least_scale=zero,
        )
        return LogForecasts.of([forecast], np.ones(1, dtype=int)).times

    return answer


def held(answer: Callable[[float], MeanTimes], size: float) -> FloatArray:
    path, share = input_path([1.0], size)
    return monotone_with_memory(answer, path, share)


def test_what_memory_saves_does_not_make_more_input_faster() -> None:
    """A replay that grows with the root of its input, of which memory saves ever more."""
    answer = one_log(lambda x: 0.5 * math.log(x), lambda x: -0.7 * abs(math.log(x)))
    sizes = np.geomspace(1 / 50, 50, 83)
    times = np.asarray([held(answer, float(size)) for size in sizes])
    assert (np.diff(times, axis=0) >= -1e-12).all()
    assert times[:, 0] == pytest.approx(0.5 * np.log(sizes))


def test_memory_that_suffices_until_late_is_not_told_of_early() -> None:
    """A cliff at 1.6 times the input shows from the part of the way on in which it lies."""
    answer = one_log(math.log, lambda x: 0.5 if x >= 1.6 else 0.0)
    before = 2.0 ** (int(math.log2(1.6) * MEMORY_SUBDIVISIONS) / MEMORY_SUBDIVISIONS)
    assert held(answer, 0.999 * before)[1] == pytest.approx(math.log(0.999 * before))
    assert held(answer, 1.9)[1] == pytest.approx(math.log(1.9) + 0.5)
    assert held(answer, 2.0) == pytest.approx([math.log(2.0), math.log(2.0) + 0.5])


@given(
    job=st.sampled_from(JOBS),
    kind=st.sampled_from(sorted(KINDS)),
    executors=st.sampled_from([1, 2, 8, 40]),
    cores=st.sampled_from([1, 2, 4]),
    heap=st.sampled_from([0.5, 0.7, 1.0, 2.0, 8.0]),
    exponents=st.lists(st.floats(-6.0, 6.0), min_size=2, max_size=5),
)
@settings(max_examples=cases(8, deep=60), deadline=None, derandomize=True)
def test_more_input_of_a_bundled_log_is_never_less_time(
    job: str, kind: str, executors: int, cores: int, heap: float, exponents: list[float]
) -> None:
    model = fitted(job, kind)
    cluster = Cluster.of_executors(
        executors=executors, executor_cores=cores, executor_memory_gib=heap
    )
    times = [seconds(model, cluster, 2.0**exponent) for exponent in sorted(exponents)]
    assert all(less <= more * (1.0 + 1e-9) for less, more in pairwise(times))


@pytest.mark.parametrize(("executors", "cores", "heap"), [(1, 4, 1.0), (1, 1, 0.5), (8, 4, 1.0)])
def test_a_sixty_fourth_of_the_input_is_no_slower_than_a_quarter(
    executors: int, cores: int, heap: float
) -> None:
    """Two logs whose stages keep fixed seconds: no memory is short with so little data."""
    model = fitted("sales-report", "pair")
    cluster = Cluster.of_executors(
        executors=executors, executor_cores=cores, executor_memory_gib=heap
    )
    times = [seconds(model, cluster, 2.0**exponent) for exponent in (-6, -5, -4, -3, -2)]
    assert times == pytest.approx(sorted(times), rel=1e-12)


def test_one_log_asked_on_more_slots_than_little_input_keeps_busy() -> None:
    model = fitted("sales-report", "small")
    cluster = Cluster.of_executors(executors=40, executor_cores=4, executor_memory_gib=8.0)
    times = [seconds(model, cluster, scale) for scale in (0.2, 0.25, 0.3, 0.35, 0.42, 0.5)]
    assert times == pytest.approx(sorted(times), rel=1e-12)


def spilling(job: str, scale: float) -> list[str]:
    model = fitted(job, "pair")
    found = model.predict(
        cluster=model.profile.runs[0].cluster, workload=model.profile.workload_at(scale)
    )
    return [notice.text for notice in found.warnings if notice.code == "memory-spill"]


def test_spills_follow_bytes_not_seconds() -> None:
    """At 64 times the input a task of stage 14 needs 665 MiB of 414; none of pagerank's needs more
    than 130, though its seconds grow faster than its data."""
    (text,) = spilling("sales-report", 64.0)
    assert text.startswith("stage 14 ")
    assert not spilling("pagerank", 64.0)


@pytest.mark.parametrize("name", ["nightly-features", "sales-report-large"])
def test_with_less_input_the_stages_add_up_to_the_time_that_falls(name: str) -> None:
    """A single stage may take longer with less input (what its first tasks wait for moves there
    from another stage); the whole never does."""
    profile = engine.read(name)
    fitted, own = engine.fit(profile), profile.reference_workload.input_bytes or 0.0
    cluster = Cluster.of_executors(executors=4, executor_cores=1)
    before = math.inf
    for share in (1.0, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01):
        found = fitted.predict(cluster=cluster, workload=Workload(share * own))
        assert found.seconds <= before * (1.0 + 1e-9)
        assert max(stage.end_seconds for stage in found.stages) <= found.seconds * (1.0 + 1e-9)
        assert sum(found.phases.values()) == pytest.approx(found.seconds)
        before = found.seconds


@pytest.mark.parametrize(
    ("job", "model"),
    [
        (job, model)
        for job in JOBS
        for model in ("simcost", "boe")
        if DEEP or model == "simcost" or job in ("sales-report", "word-count")
    ],
)
def test_other_models_hold_the_answers_of_several_logs_too(job: str, model: str) -> None:
    """SimCost's logs correct each other per doubling of input: learnt on two slots, that outweighed
    all growth on many, and eight times the input took half as long."""
    profile = engine.read(*(SAMPLES / (job + end) for end in KINDS["pair"]))
    fit = engine.fit(profile, model=model)
    inputs = [run.workload.input_bytes or 0.0 for run in profile.runs]
    sizes = [*np.geomspace(min(inputs), 4.0 * max(inputs), 7)]
    for executors in (2, 8, 64):
        cluster = Cluster.of_executors(executors=executors, executor_cores=2)
        times = [fit.predict(cluster=cluster, workload=Workload(size)).seconds for size in sizes]
        assert all(before <= after * (1.0 + 1e-9) for before, after in pairwise(times))
        least = fit.predict(cluster=cluster, workload=Workload(min(inputs) / 4.0)).seconds
        assert least <= times[0] * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("job", "model"),
    [("pagerank", "simcost"), ("sort", "simcost"), ("sort", "boe"), ("word-count", "boe")],
)
def test_other_models_hold_the_answers_of_several_logs_finely(job: str, model: str) -> None:
    """Within a wave nothing but what the logs learnt of each other moves: with a sixth more input
    it made SimCost up to 3 % faster, beyond the inputs of the logs on both sides."""
    profile = engine.read(*(SAMPLES / (job + end) for end in KINDS["pair"]))
    fit = engine.fit(profile, model=model)
    largest = max(run.workload.input_bytes or 0.0 for run in profile.runs)
    workloads = [Workload(float(size)) for size in largest * np.geomspace(0.05, 20.0, 40)]
    for executors in (1, 3, 8):
        cluster = Cluster.of_executors(executors=executors, executor_cores=2)
        found = fit.predict_many(clusters=[cluster], workloads=workloads).seconds
        assert (np.diff(found) >= -1e-9 * found[1:]).all()


@pytest.mark.parametrize(
    ("times", "wanted", "found"),
    [
        ({1.0: 10.0, 4.0: 40.0, 16.0: 90.0}, 4.0, 40.0),
        ({1.0: 10.0, 4.0: 40.0, 16.0: 90.0}, 2.0, 20.0),
        ({1.0: 10.0, 4.0: 40.0, 16.0: 90.0}, 8.0, 60.0),
        ({1.0: 10.0, 4.0: 40.0, 16.0: 30.0}, 8.0, 40.0),
        ({1.0: 50.0, 4.0: 40.0, 16.0: 90.0}, 4.0, 50.0),
        ({1.0: 10.0}, 1.0, 10.0),
        ({1.0: 10.0, 4.0: 40.0, 8.0: 90.0}, 8.0, 90.0),
        ({1.0: 10.0, 4.0: 40.0, 8.0: 30.0, 16.0: 20.0}, 16.0, 40.0),
        ({1.0: 10.0, 0.5: 20.0, 0.25: 5.0}, 0.25, 5.0),
        ({1.0: 10.0, 0.5: 20.0, 0.25: 15.0}, 0.25, 10.0),
    ],
)
def test_logs_that_hand_over_to_each_other_never_say_less_time_of_more_input(
    times: dict[float, float], wanted: float, found: float
) -> None:
    """Logs of 1 and 4 GB, and of 16 where that is told; between them times lie on a straight line
    of logarithms, beyond them between doublings, and each is held to that before."""
    known = [
        size for size in (16.0, 1.0, 4.0) if size in times and (size < 16.0 or 8.0 not in times)
    ]
    asked = monotone_log_time(lambda size: np.log([times[size]]), known, wanted)
    assert np.exp(asked) == pytest.approx([found])


def test_what_memory_adds_comes_on_top_of_a_time_that_does_not_fall() -> None:
    """Without memory the mean of the logs falls from 10 to 8 where twice the data spills for 3."""
    answer = one_log({1.0: 10.0, 2.0: 8.0}.__getitem__, {1.0: 0.0, 2.0: 3.0}.__getitem__)
    assert held(answer, 2.0) == pytest.approx([10.0, 13.0])


def test_only_logs_of_several_known_inputs_are_held() -> None:
    run = engine.read("word-count-small").largest_run
    sizes: list[float | None] = [1.0, 4.0, None]
    runs = [replace(run, workload=Workload(size)) for size in sizes]

    def of(workload: Workload) -> FloatArray:
        return np.log([{1.0: 50.0, 4.0: 40.0, None: 30.0}[workload.input_bytes]])

    wanted = Workload(4.0)
    assert np.exp(monotone_mean(of, runs[:2], wanted)) == pytest.approx([50.0])
    for few in (runs, runs[1:2], [runs[1], runs[1]]):
        assert np.exp(monotone_mean(of, few, wanted)) == pytest.approx([40.0])
    assert np.exp(monotone_mean(of, runs[:2], Workload())) == pytest.approx([30.0])
