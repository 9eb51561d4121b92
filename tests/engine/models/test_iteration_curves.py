"""Curves over iterations: ernest, ernest-extended, and simcost on run times."""

from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine.cluster import Cluster, Workload
from engine.profile import Profile, Run


def on(nodes: int, kind: str = "core") -> Cluster:
    return Cluster.of_nodes(instance_type=kind, nodes=nodes)


def at_iterations(law: Callable[[float, float], float], *counts: float) -> Profile:
    """Four runs at each number of iterations, of a law of nodes and iterations."""
    runs = [Run(law(n, k), on(n), Workload(1.0, k)) for k in counts for n in (1, 2, 4, 8)]
    return Profile("p", tuple(runs))


@pytest.mark.parametrize("name", ["ernest", "simcost"])
def test_between_and_beyond_iterations_that_were_run_the_time_is_a_straight_line(name: str) -> None:
    """Section 6.2 scales one number of iterations; several say what is done only once. Scaled from
    all runs together, 6 iterations took half as long as 5."""

    def law(nodes: float, iterations: float) -> float:
        return 50.0 + iterations * 8.0 / nodes

    fitted = engine.fit(at_iterations(law, 5.0, 10.0, 20.0), model=name)
    counts = [1.0, 4.0, 5.0, 6.0, 9.0, 10.0, 12.0, 16.0, 20.0, 40.0]
    found = [fitted.predict(cluster=on(2), workload=Workload(1.0, k)) for k in counts]
    for k, answer in zip(counts, found, strict=True):
        assert answer.seconds == pytest.approx(law(2, k), rel=1e-3)
        assert sum((answer.phases or {}).values()) == pytest.approx(answer.seconds)
        beyond = "extrapolating-iterations" in {w.code for w in answer.warnings}
        assert beyond == (not 5.0 <= k <= 20.0)
        assert fitted.runs_used(Workload(1.0, k)) == (4 if k in (5.0, 10.0, 20.0) else 12)
    widths = {k: answer.high / answer.low for k, answer in zip(counts, found, strict=True)}
    assert widths[10.0] < widths[9.0] < widths[16.0]
    assert widths[20.0] < widths[40.0]


def test_a_line_in_iterations_neither_falls_nor_outgrows_proportion() -> None:
    falling = engine.fit(
        at_iterations(lambda n, k: 100.0 + 10.0 / n - k, 5.0, 10.0), model="ernest"
    )
    steep = engine.fit(
        at_iterations(lambda n, k: k**2 * (1.0 + 1.0 / n), 5.0, 10.0), model="ernest"
    )
    for fitted in (falling, steep):
        times = [
            fitted.predict(cluster=on(2), workload=Workload(1.0, k)).seconds
            for k in (1.0, 3.0, 5.0, 7.0, 9.0)
        ]
        assert times == sorted(times)
    more = [
        steep.predict(cluster=on(2), workload=Workload(1.0, k)).seconds for k in (2.5, 5, 10, 20)
    ]
    assert more == pytest.approx([18.75, 37.5, 150.0, 300.0], rel=1e-3)


@pytest.mark.parametrize("model", ["ernest", "ernest-extended", "simcost", "optex"])
@pytest.mark.parametrize("nodes", [2, 5, 10, 20, 40])
def test_more_iterations_are_never_less_time(model: str, nodes: int) -> None:
    """On 10 nodes ernest-extended fell from 78.1 s at 15 iterations to 77.7 s at 16, and on 20
    nodes ernest from 60.4 s at 9 to 58.0 s at 10: where a number was run, its own fit answered."""
    fitted = engine.fit(engine.read("optex-als-table3"), model=model)
    times = [
        fitted.predict(cluster=on(nodes, "m1.large"), workload=Workload(1.0, k)).seconds
        for k in (1, 4, 5, 6, 9, 10, 11, 14, 15, 16, 20, 21, 40)
    ]
    assert (np.diff(times) >= -1e-9 * times[0]).all()


def test_simcost_says_that_it_tells_no_fastest_number_for_iterations_that_were_not_run() -> None:
    """The figures of Lemmas 1 and 3 were missing without a word."""
    fitted = engine.fit(engine.read("optex-als-table3"), model="simcost")
    said = {}
    for count in (5.0, 7.0):
        found = fitted.predict(cluster=on(10, "m1.large"), workload=Workload(1.0, count))
        told = [one.text for one in found.warnings if one.code == "not-modelled"]
        said[count] = (bool(found.job_profile), bool(told))
    assert said == {5.0: (True, False), 7.0: (False, True)}


def test_terms_of_the_iterations_are_as_sure_where_a_number_was_run_as_beside_it() -> None:
    """ernest-extended said 36 to 122 s at 5 iterations, from four runs, and 57 to 76 s at 5.1."""
    fitted = engine.fit(engine.read("optex-als-table3"), model="ernest-extended")
    at, beside = (
        fitted.predict(cluster=on(10, "m1.large"), workload=Workload(1.0, k)) for k in (5.0, 5.1)
    )
    assert at.low == pytest.approx(beside.low, rel=0.02)
    assert at.high == pytest.approx(beside.high, rel=0.02)
    assert fitted.runs_used(Workload(1.0, 5.0)) == 16


def test_iterations_that_no_term_holds_are_told_by_lines_where_these_predict_better() -> None:
    """A job that stops when it has converged: 100 iterations take hardly more than 50."""
    done = {1.0: 1.0, 25.0: 20.0, 50.0: 30.0, 100.0: 31.0}
    profile = at_iterations(lambda n, k: 40.0 + 64.0 * done[k] / n, *done)
    fitted = engine.fit(profile, model="ernest-extended")
    for count in done:
        found = fitted.predict(cluster=on(4), workload=Workload(1.0, count)).seconds
        assert found == pytest.approx(40.0 + 16.0 * done[count], rel=0.01)
    between = fitted.predict(cluster=on(4), workload=Workload(1.0, 75.0)).seconds
    assert between == pytest.approx(40.0 + 16.0 * 30.5, rel=0.01)
