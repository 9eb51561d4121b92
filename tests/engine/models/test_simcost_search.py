"""Lemmas 1 to 4, Theorem 1 and Algorithm 1 of SimCost; its transformed model on run times."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.given_profiles import ResourceProfile
from engine.models import MODELS
from engine.models.base import FittedModel
from engine.models.simcost.model import Simcost
from engine.models.simcost.search import (
    Coefficients,
    fastest_vcores,
    least_resource_time,
    least_seconds,
    least_seconds_of_nodes,
    most_rounds,
    most_throughput,
    optima,
    range_search,
    resource_time_at,
    seconds_at,
    subrange,
    thriftiest_vcores,
)
from engine.profile import Profile, Run

KMEANS = Coefficients(1184.7, 0.1, 63.5)
"""A law through Table 3's 106 s at 30 vcores, whose resource time with 36 GiB is least at 14.5."""

GAMMA_3 = 36.0 / 3.0

laws = st.builds(
    Coefficients, st.floats(1.0, 1e5), st.floats(1e-3, 50.0), st.floats(0.0, 500.0),
    st.sampled_from([1.0, 4.0, 16.0]),
)  # fmt: skip


def test_the_walk_of_5_3() -> None:
    rounds = range_search(lambda v: float(resource_time_at(v, KMEANS, gamma_3=GAMMA_3)), domain=150)
    assert [(each.low, each.high, each.candidates, each.chosen) for each in rounds] == [
        (0, 150, (30, 60, 90, 120, 150), 30),
        (0, 60, (12, 24, 36, 48, 60), 12),
        (0, 24, (5, 10, 15, 20, 25), 15),
    ]


def test_theorem_1_through_eq_19() -> None:
    """Printed 3.742; the formula gives 3.739, and both are 4 rounds."""
    found = most_rounds(domain=150, grading_degree=5, epsilon=5)
    assert found == pytest.approx(3.742, rel=0.001)
    assert found == pytest.approx(3.739, abs=5e-4)
    assert math.ceil(found) == 4


@given(law=laws, domain=st.integers(1, 2000), epsilon=st.integers(1, 40), degree=st.integers(4, 12))
@settings(max_examples=150, deadline=None)
def test_within_epsilon_of_the_best(
    law: Coefficients, domain: int, epsilon: int, degree: int
) -> None:
    """Brute force over all vcores: the best one lies within the last step of the answer."""

    def cost(vcores: int) -> float:
        return float(resource_time_at(vcores, law, gamma_3=20.0))

    rounds = range_search(cost, domain=domain, epsilon=epsilon, grading_degree=degree)
    every = [cost(v) for v in range(1, domain + 1)]
    best = int(np.argmin(every)) + 1
    assert abs(rounds[-1].chosen - best) <= epsilon
    assert all(1 <= v <= domain for each in rounds for v in each.candidates)
    if domain > epsilon:
        bound = most_rounds(domain=domain, grading_degree=degree, epsilon=epsilon)
        assert len(rounds) <= max(1, math.ceil(bound)), "a first round is always made"


@pytest.mark.parametrize("degree", [4, 5, 8, 12])
def test_the_worst_search_keeps_theorem_1(degree: int) -> None:
    """Of two steps, rounded up, each round keeps all: its rounds without any cost."""
    for epsilon in (1, 2, 5, 17, 40):
        for domain in range(epsilon + 1, 1500, 7):
            width, rounds = domain, 1
            while (step := math.ceil(width / degree)) > epsilon:
                width, rounds = 2 * step, rounds + 1
            bound = most_rounds(domain=domain, grading_degree=degree, epsilon=epsilon)
            assert rounds <= max(1, math.ceil(bound))


def test_lemma_4() -> None:
    candidates = (10, 20, 30)
    assert subrange(candidates, 0, low=0) == (0, 20)
    assert subrange(candidates, 1, low=0) == (10, 30)
    assert subrange(candidates, 2, low=0) == (20, 30)


@pytest.mark.parametrize(
    "options", [{"domain": 0}, {"domain": 9, "epsilon": 0}, {"domain": 9, "grading_degree": 3}]
)
def test_what_cannot_be_searched(options: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="no range search"):
        range_search(float, **options)


def test_eq_13() -> None:
    nodes = 7.0
    far = KMEANS.gamma_0 / 1e12 + KMEANS.gamma_1 * nodes + KMEANS.gamma_2
    assert least_seconds_of_nodes(nodes, KMEANS) == pytest.approx(far)


@given(law=laws)
@settings(max_examples=60, deadline=None)
def test_lemmas_1_and_3_and_their_bounds(law: Coefficients) -> None:
    best = fastest_vcores(law)
    found = minimize_scalar(
        lambda x: float(seconds_at(math.exp(x), law)),
        bounds=(math.log(best) - 5, math.log(best) + 5),
        method="bounded",
    )
    assert math.exp(found.x) == pytest.approx(best, rel=1e-2)
    assert least_seconds(law) == pytest.approx(found.fun, rel=1e-6)
    assert most_throughput(law, data_bytes=1e9) == pytest.approx(1e9 / found.fun, rel=1e-6)


@given(law=laws, gamma_3=st.floats(0.1, 200.0))
@settings(max_examples=60, deadline=None)
def test_lemma_2_and_its_bound(law: Coefficients, gamma_3: float) -> None:
    best = thriftiest_vcores(law, gamma_3=gamma_3)
    grid = best * np.exp(np.linspace(-3, 3, 2001))
    cost = resource_time_at(grid, law, gamma_3=gamma_3)
    assert least_resource_time(law, gamma_3=gamma_3) <= cost.min() * (1 + 1e-9)
    assert (np.diff(np.sign(np.diff(cost))) != 0).sum() == 1, "unimodal"
    product = seconds_at(grid, law) * (grid + gamma_3)
    assert cost == pytest.approx(product, rel=1e-9), "T_R = T x (V + theta M)"


@given(law=laws, gamma_3=st.floats(0.1, 200.0))
@settings(max_examples=60, deadline=None)
def test_the_figures_of_4_3_are_the_least_of_a_scan(law: Coefficients, gamma_3: float) -> None:
    found = optima(law, gamma_3=gamma_3)
    vcores = np.arange(1.0, 2.0 * thriftiest_vcores(law, gamma_3=gamma_3) + 3.0)[:100_000]
    cost = resource_time_at(vcores, law, gamma_3=gamma_3)
    best = vcores[cost.argmin()]
    assert abs(found["thriftiest_vcores"] - best) <= 1.0
    assert found["thriftiest_vcores"] >= 1.0
    assert found["least_resource_time_vcore_seconds"] <= cost.min() * (1 + 1e-9)
    assert found["fastest_possible_seconds"] == least_seconds_of_nodes(0.0, law)


def test_figures_that_do_not_exist_are_left_out() -> None:
    only_grows = optima(Coefficients(100.0, 0.1, 5.0), gamma_3=0.0)
    assert list(only_grows) == ["fastest_possible_seconds"]


def test_resource_time_that_only_grows() -> None:
    assert thriftiest_vcores(Coefficients(100.0, 0.1, 5.0), gamma_3=0.0) == 0.0
    assert thriftiest_vcores(Coefficients(100.0, 0.0, 5.0), gamma_3=3.0) == pytest.approx(60**0.5)
    assert fastest_vcores(Coefficients(100.0, 0.0, 5.0)) == math.inf


def fitted(*runs: Run, resources: ResourceProfile | None = None) -> FittedModel:
    profile = Profile("made", runs, resources=resources)
    return Simcost().fit(profile, models={model.name: model for model in MODELS})


LAW = (40.0, 900.0, 3.0)


def table(size: float, nodes: int) -> Run:
    serial, work, linear = LAW
    seconds = serial + work * size / nodes + linear * nodes
    return Run(
        seconds,
        Cluster.of_nodes(instance_type="t", nodes=nodes, vcpus=4.0, memory_gib=16.0),
        Workload(size),
    )


def test_run_tables_get_the_transformed_model() -> None:
    """4.3's gammas come out as they went in, and Lemma 1's optimum is warned of."""
    model = fitted(*(table(size, nodes) for size in (0.5, 1.0, 2.0) for nodes in (2, 4, 8, 16)))
    for nodes in (3, 12):
        found = model.predict(cluster=table(1.5, nodes).cluster, workload=Workload(1.5))
        assert found.seconds == pytest.approx(table(1.5, nodes).seconds, rel=1e-6)
        assert "no-stages" in {notice.code for notice in found.warnings}
        assert "beyond-fastest" not in {notice.code for notice in found.warnings}
    many = model.predict(cluster=table(1.0, 30).cluster, workload=Workload(1.0))
    notice = next(notice for notice in many.warnings if notice.code == "beyond-fastest")
    assert "at about 17 nodes" in notice.text, "sqrt(900 / 3) = 17.3"
    assert many.job_profile["fastest_nodes"] == 17.0
    assert many.job_profile["fastest_possible_seconds"] == pytest.approx(
        40.0 + 2 * math.sqrt(900.0 * 3.0)
    )


def test_a_resource_profile_needs_stages() -> None:
    runs = [table(size, nodes) for size in (0.5, 1.0) for nodes in (2, 4, 8)]
    model = fitted(*runs, resources=ResourceProfile(1e9, 1e9, 1e9))
    assert "resources-not-used" in {notice.code for notice in model.fit_notices}
