"""Iterations of run times: by curves and by laws, done once or with each; loops that converge."""

import gc
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from depth import DEEP
from law_fits import changed, fitted, grid, mean_of, one_law, points, prior_laws

import engine
from engine.batch import FEWEST_CLUSTERS, ClusterBatch
from engine.cluster import Cluster, Workload
from engine.forecast import FloatArray
from engine.models.base import FittedModel
from engine.models.laws.laws import CONVERGENCE_QUANTILE
from engine.models.laws.parameter_fit import EncodedClusters
from engine.models.laws.prior_laws import MOST_PRIOR_DRAWS
from engine.models.laws.reference_frame import MOST_ITERATION_COLUMNS, ReferenceFrame
from engine.models.laws.terms import Points
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
    for model in (falling, steep):
        times = [
            model.predict(cluster=on(2), workload=Workload(1.0, k)).seconds
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


OFTEN = np.asarray([5.0, 10.0, 20.0])


def iterated(at: Points, *counts: float) -> Points:
    """The points with each of the numbers in turn."""
    return replace(at, iterations=np.resize(counts, len(at)))


def test_half_of_one_law_is_done_once_whatever_the_iterations() -> None:
    """A logit of 0: half is done once, half as often as there are iterations."""
    law = one_law(ReferenceFrame.of(iterated(grid(), 10.0)))
    expected = np.log([0.5 + 0.25, 1.0, 0.5 + 1.0])
    at = replace(points(np.full(3, 4.0)), iterations=OFTEN)
    times = law.log_times(at)[:, 0]
    assert times - times[1] == pytest.approx(expected)


def test_what_does_not_grow_with_the_size_is_done_once_to_a_share_of_its_own() -> None:
    """1 + z / p: all of the first is done once, all of the second with each of 20 iterations."""
    frame = ReferenceFrame.of(iterated(grid(), 1.0, 5.0, 20.0))
    law = changed(one_law(frame), logit_once_fixed=40.0, logit_once=-40.0)
    parallel = float(grid().size.mean() / grid().machines.min())
    at = iterated(points(np.asarray([2.0, 4.0, 64.0])), *OFTEN)
    expected = np.log(1.0 + OFTEN / 20.0 / at.machines / parallel)
    assert law.log_times(at)[:, 0] == pytest.approx(expected)


def test_runs_of_one_number_of_iterations_have_one_share_for_both() -> None:
    """Nothing tells them apart: what is done once of the time that does not grow with the size does
    not count."""
    law = one_law(ReferenceFrame.of(iterated(grid(), 10.0)))
    at = replace(points(np.full(3, 4.0)), iterations=OFTEN)
    other = changed(law, logit_once_fixed=3.0)
    assert np.array_equal(law.log_times(at), other.log_times(at))


def test_the_phases_at_few_iterations_are_mostly_what_is_done_once() -> None:
    frame = ReferenceFrame.of(iterated(grid(), 1.0, 20.0))
    law = changed(one_law(frame), logit_once_fixed=40.0, logit_once=-40.0)
    at = points(np.asarray([2.0]))
    few, many = (law.phases(iterated(at, count))[0] for count in (1.0, 20.0))
    assert few[1] / few[0] == pytest.approx(many[1] / many[0] / 20.0)
    assert few.sum() == pytest.approx(1.0)


def test_many_iterations_at_once_are_the_mean_of_each_law_s_own_time() -> None:
    """Of laws with and without cliffs, for numbers that all points share and for their own."""
    frame = ReferenceFrame.of(iterated(grid(), 1.0, 5.0, 20.0))
    laws, at = prior_laws(frame, 400, seed=3), points(np.asarray([1.0, 2.0, 5.0, 32.0]))
    laws = changed(laws, cliff=np.where(laws.cliff < 0.95, 0.0, laws.cliff))
    counts, sizes = np.asarray([1.0, 3.0, 20.0, 50.0]), np.asarray([0.1, 1.0, 4.0])
    effects = np.zeros((len(at), len(laws)))
    shared = laws.mean_log_times(
        laws.frame.features(at.with_size(1.0)), effects, sizes, counts[:, None]
    )
    (own,) = laws.mean_log_times(
        laws.frame.features(at.with_size(1.0)), effects, sizes, counts[None]
    )
    for place, size in enumerate(sizes):
        for number, count in enumerate(counts):
            expected = laws.log_times(iterated(at.with_size(float(size)), count)).mean(axis=1)
            assert shared[number, place] == pytest.approx(expected, abs=1e-9)
            assert own[place, number] == pytest.approx(expected[number], abs=1e-9)


def test_many_numbers_of_iterations_have_the_times_of_few() -> None:
    """Each on its own, and more of them at once than have columns of their own."""
    counts = np.arange(1.0, 16.0)
    at = replace(grid(), iterations=counts)
    frame = ReferenceFrame.of(at)
    assert len(counts) > MOST_ITERATION_COLUMNS
    laws = prior_laws(frame, 50, seed=2)
    alone = [laws.log_times(at.take(slice(place, place + 1)))[0] for place in range(len(at))]
    assert laws.log_times(at) == pytest.approx(np.stack(alone), abs=1e-9)


def test_a_start_that_no_iteration_repeats_is_recovered() -> None:
    """20 s once and 0.5 + 60 / machines with each iteration: predicted within 4 % of log time, for
    numbers that were run and for others; with one share for both terms up to 29 % off."""
    at = iterated(points(np.repeat([2.0, 4.0, 8.0, 16.0], 3)), 1.0, 5.0, 20.0)

    def took(where: Points) -> FloatArray:
        return 20.0 + where.iterations * (0.5 + 60.0 / where.machines)

    found = fitted(at, took(at))
    level = np.log(took(at)).mean() + found.residuals.mean()
    for counts in ((1.0, 5.0, 20.0), (2.0, 10.0, 30.0)):
        asked = iterated(points(np.repeat([3.0, 6.0, 16.0], 3)), *counts)
        off = mean_of(found, asked) + level - np.log(took(asked))
        assert np.abs(off).max() < 0.04


def test_a_loop_that_has_converged_does_no_more_iterations() -> None:
    """Half is done once, half with each iteration: of 64 as most of the runs had, the loop does 8,
    three quarters of the range 4 to 64 below; a law whose loop does not converge has no end."""
    law = one_law(ReferenceFrame.of(iterated(grid(), 4.0, 16.0, 64.0)))
    told = np.asarray([4.0, 8.0, 16.0, 64.0, 256.0])
    relative = told[:, None] / 64.0
    convergence = changed(law, stop=np.asarray([-CONVERGENCE_QUANTILE - 0.75]))
    for stopped in convergence.iteration_factors(relative):
        assert stopped[:, 0] == pytest.approx([0.75, 1.0, 1.0, 1.0, 1.0])
    for endless in law.iteration_factors(relative):
        assert endless[:, 0] == pytest.approx(0.5 + 0.5 * told / 64.0)


def test_runs_of_one_number_of_iterations_say_nothing_of_where_a_loop_ends() -> None:
    """So nothing moves it, nor what is done once of the time that does not grow with the size: such
    laws are what they were before."""
    at = grid()
    found = fitted(at, 20.0 + 100.0 * at.size / at.machines).laws
    prior = prior_laws(ReferenceFrame.of(at), MOST_PRIOR_DRAWS, seed=0)
    assert np.isin(found.stop, prior.stop).all()
    assert np.isin(found.logit_once_fixed, prior.logit_once_fixed).all()


def nodes(count: int) -> Cluster:
    return Cluster.of_nodes(instance_type="m1.large", nodes=count, vcpus=2.0, memory_gib=7.5)


@cache
def of_table_3() -> FittedModel:
    return engine.fit(engine.read("optex-als-table3"))


@pytest.mark.parametrize("count", [3, 5, 10, 20, 30] if DEEP else [3, 10, 30])
def test_more_iterations_are_never_less_time_by_laws(count: int) -> None:
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
    assert "transferred-parameters" not in {one.code for one in beyond.warnings}
    (notice,) = (one for one in beyond.warnings if one.code == "extrapolating-iterations")
    assert f"the time {said}" in notice.text


def test_of_all_numbers_of_iterations_the_last_keeps_its_rows() -> None:
    """Each kept those of two grids."""
    fitted = engine.fit(at_iterations(lambda n, k: 20.0 + 9.0 * k / n, 5.0, 10.0, 20.0))
    kind, nodes = engine.InstanceType("core", 1.0, 4.0), range(1, FEWEST_CLUSTERS + 1)
    batch = ClusterBatch.grid([kind], [engine.Layout(1, 1, 2.0)], nodes, None)

    def kept() -> int:
        gc.collect()
        return sum(type(each) is EncodedClusters for each in gc.get_objects())

    before = kept()
    for count in (6.0, 7.0, 8.0, 9.0):
        fitted.forecast(batch, Workload(1.0, count))
    assert kept() == before + 1
