"""sparkplan on run times: how the time follows the iterations."""

from functools import cache

import numpy as np
import pytest
from depth import DEEP

import engine
from engine.cluster import Cluster, Workload
from engine.models.base import FittedModel
from engine.profile import Profile, Run


def nodes(count: int) -> Cluster:
    return Cluster.of_nodes(instance_type="m1.large", nodes=count, vcpus=2.0, memory_gib=7.5)


@cache
def of_table_3() -> FittedModel:
    return engine.fit(engine.read("optex-als-table3"))


@pytest.mark.parametrize("count", [3, 5, 10, 20, 30] if DEEP else [3, 10, 30])
def test_more_iterations_are_never_less_time(count: int) -> None:
    """OptEx's Table III on 10 nodes: 71.2 s for 5 iterations, which had a fit of their own, and
    69.6 s for 6, which all runs answered for."""
    model = of_table_3()
    asked = [1.0, 4.0, 5.0, 5.1, 6.0, 9.0, 10.0, 11.0, 14.9, 15.0, 15.1, 19.0, 20.0, 21.0, 40.0]
    times = [model.predict(cluster=nodes(count), workload=Workload(1.0, k)).seconds for k in asked]
    assert (np.diff(times) >= 0.0).all()
    assert times[3] == pytest.approx(times[2], rel=0.01)
    assert times[10] == pytest.approx(times[9], rel=0.01)


def test_an_answer_that_falls_with_the_iterations_counts_as_their_mean() -> None:
    """10 iterations were luckier than 5 on every cluster: neither is told to take longer."""

    def at(iterations: float, factor: float) -> list[Run]:
        told = Workload(1.0, iterations)
        return [Run((30.0 + 600.0 / n) * factor, nodes(n), told) for n in (2, 4, 8, 16)]

    runs = (*at(5.0, 1.05), *at(10.0, 1.0), *at(20.0, 1.6))
    model = engine.fit(Profile("job", runs))
    fewer, more, most = (
        model.predict(cluster=nodes(4), workload=Workload(1.0, count)).seconds
        for count in (5.0, 10.0, 20.0)
    )
    assert fewer == pytest.approx(more)
    assert 180.0 < fewer < 180.0 * 1.05
    assert most > 1.3 * more


def test_between_two_numbers_of_iterations_a_time_is_between_theirs() -> None:
    """20 iterations take as long as 1 within a tenth: so do 5, however many doublings
    away: the time never falls with them."""
    told = [
        Run(factor * (30.0 + 600.0 / n), nodes(n), Workload(1.0, k))
        for k, factor in ((1.0, 1.0), (20.0, 1.1))
        for n in (2, 4, 6, 8, 12, 16)
    ]
    model = engine.fit(Profile("job", tuple(told)))
    few, between, many = (
        model.predict(cluster=nodes(8), workload=Workload(1.0, k)) for k in (1.0, 5.0, 20.0)
    )
    assert few.seconds <= between.seconds <= many.seconds
    assert (between.low or 0.0) > 0.88 * few.seconds
    assert (between.high or np.inf) < 1.1 * many.seconds


def test_a_loop_that_ends_at_its_tolerance_takes_no_longer_for_more_iterations() -> None:
    """Runs of 10 and 50 iterations, and of 100 as long as of 50: a fourth number is predicted by
    where the loop ends. Of one that takes all that it is told, twice the most is about twice."""

    def at(told: float, done: float) -> list[Run]:
        took = [20.0 + 4.0 * done * (1.0 + 40.0 / n) for n in (2, 4, 6, 8, 12, 16)]
        asked = Workload(1.0, told)
        return [Run(t, nodes(n), asked) for t, n in zip(took, (2, 4, 6, 8, 12, 16), strict=True)]

    def twice(runs: list[Run]) -> float:
        model = engine.fit(Profile("job", tuple(runs)))
        once, more = (
            model.predict(cluster=nodes(8), workload=Workload(1.0, told)).seconds
            for told in (100.0, 200.0)
        )
        return more / once

    assert twice(at(10.0, 10.0) + at(50.0, 50.0) + at(100.0, 50.0)) < 1.1
    assert twice(at(10.0, 10.0) + at(50.0, 50.0) + at(100.0, 100.0)) > 1.7


@pytest.mark.parametrize(("ends_after", "said"), [(35.0, "stays that of 100"), (1e9, "is scaled")])
def test_a_loop_that_seems_to_have_ended_is_said_to(ends_after: float, said: str) -> None:
    told = [
        Run(
            (20.0 + 400.0 / n) * (0.2 + 0.8 * min(k, ends_after) / 35.0), nodes(n), Workload(1.0, k)
        )
        for k in (5.0, 20.0, 50.0, 100.0)
        for n in (2, 4, 8, 16)
    ]
    model = engine.fit(Profile("job", tuple(told)))
    beyond = model.predict(cluster=nodes(6), workload=Workload(1.0, 300.0))
    (notice,) = (one for one in beyond.warnings if one.code == "extrapolating-iterations")
    assert f"the time {said}" in notice.text
