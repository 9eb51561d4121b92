"""What planned runs are expected to do to an interval, against a plain calculation."""

import math
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.experiments.belief import belief_at, forecast_at
from engine.experiments.narrowing import MISFIT, narrowed
from engine.experiments.plans import Experiment
from engine.experiments.points import Points
from engine.runs.run_noise import run_noise
from engine.text.quantities import parse_seconds

TERMS_OF = [
    lambda machines, fraction: 1.0,
    lambda machines, fraction: fraction / machines,
    lambda machines, fraction: math.log(machines),
    lambda machines, fraction: machines,
]
PLANNED = [(1, 0.05), (2, 0.05), (4, 0.1), (8, 0.1), (8, 0.02)]


def runs(places=PLANNED):
    return [
        Experiment(nodes, share, "m5.xlarge", seconds=20.0 + 300.0 * share / nodes)
        for nodes, share in places
    ]


@pytest.fixture(scope="module")
def fitted():
    return engine.fit(
        engine.read("nightly-features", ran_on=engine.find_type("m4.xlarge", first="aws")[1])
    )


def cluster(nodes=4):
    return engine.Cluster.of_nodes(
        instance_type="m5.xlarge", nodes=nodes, catalog=engine.load_catalog("aws")
    )


def test_precisions_of_the_fit_and_of_the_belief_add(fitted):
    found = narrowed(fitted, cluster=cluster(), runs=runs())
    middle = math.sqrt(found.low * found.high)
    rows = np.array([[term(n, f) for term in TERMS_OF] for n, f in PLANNED])
    belief = belief_at(
        fitted, Points.of([cluster()], [fitted.profile.reference_workload], fitted.profile)
    )
    noise = belief.noise[0]
    noisy = rows / (noise * np.array([run.seconds for run in runs()]))[:, None]
    at = np.array([term(4, 1.0) for term in TERMS_OF])
    variance = at @ np.linalg.inv(noisy.T @ noisy) @ at / middle**2 + MISFIT**2
    narrower = math.log(found.then_high / found.then_low) / math.log(found.high / found.low)
    then = (narrower * belief.deviation[0]) ** 2 - noise**2
    assert 1.0 / then == pytest.approx(1.0 / belief.covariance[0, 0] + 1.0 / variance, rel=1e-6)
    assert math.sqrt(found.then_low * found.then_high) == pytest.approx(middle)


def test_no_run_makes_it_less_sure_and_some_cannot_be_left_out(fitted):
    found = narrowed(fitted, cluster=cluster(), runs=runs())
    assert found.low < found.then_low < found.then_high < found.high
    assert all(wider is None or wider >= 0.0 for wider in found.without)
    for place, wider in enumerate(found.without):
        left = narrowed(
            fitted, cluster=cluster(), runs=runs(PLANNED[:place] + PLANNED[place + 1 :])
        )
        widths = [math.log(one.then_high / one.then_low) for one in (left, found)]
        assert wider == pytest.approx(widths[0] / widths[1] - 1.0)
    least = narrowed(fitted, cluster=cluster(), runs=runs(PLANNED[:4]))
    assert least.without == (None,) * 4


@pytest.mark.parametrize(
    "planned",
    [[], [Experiment(None, 0.1, cores=4)], [Experiment(2, 0.1, "m5.xlarge")], runs(PLANNED[:2])],
)
def test_runs_that_say_too_little_are_refused(fitted, planned):
    with pytest.raises(engine.BadInput):
        narrowed(fitted, cluster=cluster(), runs=planned)


def test_the_interval_now_is_the_one_that_is_predicted(fitted):
    found = narrowed(fitted, cluster=cluster(), runs=runs())
    predicted = fitted.predict(cluster=cluster())
    assert (found.low, found.high) == pytest.approx((predicted.low, predicted.high))


def test_an_interval_wider_than_a_belief_is_told_as_it_is(fitted, monkeypatch):
    """It was cut to a belief's greatest spread, beside the interval of the same cluster."""
    forecast = type(fitted).forecast

    def vague(self, batch, workload):
        return forecast(self, batch, workload).rescaled(lambda scale: np.full_like(scale, 1.3))

    monkeypatch.setattr(type(fitted), "forecast", vague)
    found = narrowed(fitted, cluster=cluster(), runs=runs())
    points = Points.of([cluster()], [fitted.profile.reference_workload], fitted.profile)
    low, high = forecast_at(fitted, points).interval(0.9)
    assert (found.low, found.high) == pytest.approx((low[0], high[0]))
    assert found.low < found.then_low < found.then_high < found.high


def test_a_run_leaves_the_choice_no_less_sure(fitted):
    advice = engine.advise(
        fitted,
        catalog=engine.load_catalog("aws"),
        instances=["m5.*", "c5.*"],
        deadline_seconds=parse_seconds("10m"),
    )
    assert advice.next_runs
    for run in advice.next_runs:
        assert advice.low <= run.then_low * (1 + 1e-9)
        assert run.then_high <= advice.high * (1 + 1e-9)
    own = [r for r in advice.next_runs if (r.instance, r.nodes) == (advice.instance, advice.nodes)]
    noise = run_noise(fitted.profile, np.array([0.0]))
    for run in own:
        # Running the choice itself leaves only the scatter of repetitions.
        assert math.log(run.then_high / run.then_low) < math.log(advice.high / advice.low)
        assert math.log(run.then_high / run.then_low) > 2.0 * 1.645 * noise.scale


def test_unknown_memory_is_taken_as_that_of_the_others_per_core(fitted):
    """It was taken as 1 GiB in all: a 64th of what four m5.xlarge have."""
    known = [cluster(4), cluster(8)]
    (group,) = known[0].groups
    untold = replace(group, instance=replace(group.instance, memory_gib=math.nan))
    workload = fitted.profile.reference_workload
    unknown = replace(known[0], groups=(untold,))
    points = Points.of([*known, unknown], [workload] * 3, fitted.profile)
    assert math.isnan(points.coordinates[2, 1])
    covariance = points.residual_covariance(0.6, 0.7)
    assert covariance[2] == pytest.approx(covariance[0, [0, 1, 0]])
    assert points.same_point()[0].tolist() == [1.0, 0.0, 1.0]
    alone = Points.of([unknown], [workload], fitted.profile).residual_covariance(0.6, 0.7)
    assert alone[0, 0] == pytest.approx(1.58 * 0.6**2)
