"""sparkplan on run times alone: terms, job parameters, few runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cluster import Cluster, Workload
from engine.models import MODELS
from engine.models.base import FittedModel
from engine.models.machines import runs_by_type
from engine.models.physical import brought_to, fit_amdahl
from engine.models.sparkplan import Sparkplan
from engine.profile import Notice, Profile, Run

BY_NAME = {model.name: model for model in MODELS}


def fit(*runs: Run) -> FittedModel:
    return Sparkplan().fit(Profile("job", runs), models=BY_NAME)


def nodes(count: int, instance: str = "m") -> Cluster:
    return Cluster.of_nodes(instance_type=instance, nodes=count, vcpus=4.0, memory_gib=16.0)


def run(count: int, size: float = 1.0, *, instance: str = "m", **parameters: float) -> Run:
    """30 s serial, 600 s of work per unit of size shared by the nodes, times k^0.5 and 2^p."""
    factor = parameters.get("k", 1.0) ** 0.5 * 2.0 ** parameters.get("p", 0.0)
    seconds = (30.0 + 600.0 * size / count) * factor
    return Run(seconds, nodes(count, instance), Workload(size, parameters=parameters))


def codes(warnings: tuple[Notice, ...]) -> set[str]:
    return {notice.code for notice in warnings}


GRID = [(count, size) for count in (2, 4, 8, 16) for size in (0.5, 1.0)]


def test_terms_are_recovered_and_the_interval_is_narrow() -> None:
    model = fit(*(run(count, size) for count, size in GRID))
    found = model.predict(cluster=nodes(6), workload=Workload(0.8))
    assert found.seconds == pytest.approx(30.0 + 600.0 * 0.8 / 6, rel=0.03)
    assert found.low is not None
    assert (found.high or 0.0) / found.low < 1.4
    assert model.validation is not None
    assert model.validation.mean_relative_error < 0.05
    assert found.model == "sparkplan"


def test_three_runs_have_the_prior_interval() -> None:
    found = fit(run(2), run(4), run(8)).predict(cluster=nodes(4))
    assert found.low is not None
    assert math.log((found.high or 0.0) / found.low) == pytest.approx(2 * 0.12 * 2.13, rel=0.02)


@pytest.mark.parametrize("count", [1, 2])
def test_few_runs_get_a_prior_and_say_so(count: int) -> None:
    model = fit(*[run(2), run(8)][:count])
    found = model.predict(cluster=nodes(4))
    assert codes(found.warnings) & {"single-run", "few-runs"}
    assert found.low is not None
    assert found.low < 30.0 + 600.0 / 4 < (found.high or 0.0)
    far = model.predict(cluster=nodes(64))
    assert far.low is not None
    assert (far.high or 0.0) / far.low > (found.high or 0.0) / found.low
    assert "extrapolating-nodes" in codes(far.warnings)


def test_two_runs_are_met_and_interpolated() -> None:
    model = fit(run(2), run(8))
    for count in (2, 4, 8):
        truth = 30.0 + 600.0 / count
        assert model.predict(cluster=nodes(count)).seconds == pytest.approx(truth, rel=0.08)


@given(f=st.floats(0.02, 0.9), h=st.floats(0.02, 0.9))
@settings(max_examples=20, deadline=None)
def test_amdahl_shares_come_back_from_many_repetitions(f: float, h: float) -> None:
    """With the runs' noise small against their number, the prior gives way."""
    runs = [
        Run(100.0 * (f + (1 - f) * 2 / m) * (h + (1 - h) * s / 4.0), nodes(m), Workload(s))
        for m in (2, 16)
        for s in (1.0, 4.0)
        for _ in range(200)
    ]
    curve = fit_amdahl(runs_by_type(runs)[0])
    assert curve.serial_share == pytest.approx(f, abs=0.03)
    assert curve.constant_share == pytest.approx(h, abs=0.03)
    assert curve.seconds_at_reference == pytest.approx(100.0, rel=0.02)


def test_parameters_are_transferred_by_their_power() -> None:
    """No run has k = 5: the others are brought there; p may be zero, so it counts linearly."""
    grid = [(c, s, k, p) for c, s in GRID for k in (1.0, 3.0, 9.0) for p in (0.0, 1.0)]
    runs = [run(c, s, k=k, p=p) for c, s, k, p in grid]
    brought = brought_to(runs, Workload(1.0, parameters={"k": 5.0, "p": 1.0}))
    for known, moved in zip(grid, brought, strict=True):
        truth = run(known[0], known[1], k=5.0, p=1.0).seconds
        assert moved.seconds == pytest.approx(truth, rel=0.02)
    found = fit(*runs).predict(
        cluster=nodes(6), workload=Workload(1.0, parameters={"k": 5.0, "p": 1.0})
    )
    assert found.seconds == pytest.approx(run(6, 1.0, k=5.0, p=1.0).seconds, rel=0.04)
    assert "transferred-parameters" in codes(found.warnings)


def test_runs_with_the_wanted_parameters_stay_alone_where_they_are_enough() -> None:
    own = [run(c, s, k=4.0) for c, s in GRID]
    others = [
        Run(
            float(np.random.default_rng(i).uniform(10, 900)),
            nodes(c),
            Workload(s, parameters={"k": 1.0}),
        )
        for i, (c, s) in enumerate(GRID)
    ]
    found = fit(*own, *others).predict(
        cluster=nodes(6), workload=Workload(1.0, parameters={"k": 4.0})
    )
    assert found.seconds == pytest.approx(run(6, 1.0, k=4.0).seconds, rel=0.03)
    assert "transferred-parameters" not in codes(found.warnings)


def test_each_measured_type_has_its_own_terms() -> None:
    slow = [run(c, s) for c, s in GRID]
    fast = [
        Run(other.seconds / 2.0, nodes(other.cluster.nodes or 1, "f"), other.workload)
        for other in slow
    ]
    model = fit(*slow, *fast)
    one, two = (model.predict(cluster=nodes(6, name)).seconds for name in ("m", "f"))
    assert one == pytest.approx(2.0 * two, rel=1e-6)
