"""How far machine types differ is learnt from the runs."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.cluster import Cluster, Workload
from engine.forecast import FloatArray
from engine.models.laws.type_spread import (
    _NOISE_FACTORS,
    _STANDARD_LOGS,
    TYPE_SD,
    TYPE_SD_LOG_SPREAD,
    posterior_type_sd,
)
from engine.profile import Profile, Run

NOISE = 0.03


def effects_of(types: int, runs_each: int) -> FloatArray:
    """(r, 1 + t) a level and the effects of types, each with as many runs."""
    own = np.repeat(np.eye(types), runs_each, axis=0)
    return np.column_stack((np.full(len(own), 3.0), TYPE_SD * own))


def learnt(types: int, runs_each: int, spread: float, seed: int = 0) -> float:
    random = np.random.default_rng(seed)
    effects = effects_of(types, runs_each)
    offsets = np.repeat(random.normal(0.0, spread, types), runs_each)
    residuals = offsets + random.normal(0.0, NOISE, len(offsets))
    ones = np.ones(len(offsets))
    return posterior_type_sd(effects, slice(1, 1 + types), residuals, NOISE, ones)


@pytest.mark.parametrize("spread", [0.03, 0.1, 0.3])
def test_many_types_show_their_spread(spread: float) -> None:
    found = [learnt(12, 5, spread, seed) for seed in range(5)]

    assert np.exp(np.mean(np.log(found))) == pytest.approx(spread, rel=0.3)


def test_types_that_do_not_differ_have_a_small_spread() -> None:
    assert learnt(8, 5, 0.0) < 0.03


def test_a_single_type_leaves_the_prior() -> None:
    assert learnt(1, 3, 0.0) == pytest.approx(TYPE_SD, rel=0.35)


def test_the_evidence_is_that_of_the_whole_covariance_matrix() -> None:
    random = np.random.default_rng(3)
    effects, residuals = effects_of(3, 4), random.normal(0.0, 0.1, 12)
    weights = random.uniform(0.2, 1.0, 12)

    def log_density(spread: float, noise: float) -> float:
        x = effects * ([1.0] + [spread / TYPE_SD] * 3)
        covariance = x @ x.T + np.diag(noise**2 / weights)
        squares = residuals @ np.linalg.solve(covariance, residuals)
        prior = -4.0 * np.log(noise) - 2.0 * 0.04**2 / noise**2
        return float(-0.5 * squares - 0.5 * np.linalg.slogdet(covariance)[1] + prior)

    spreads = TYPE_SD * np.exp(TYPE_SD_LOG_SPREAD * _STANDARD_LOGS)
    density = np.exp([[log_density(s, 0.05 * f) for f in _NOISE_FACTORS] for s in spreads])
    weight = density.sum(axis=1) * np.exp(-0.5 * _STANDARD_LOGS**2)
    expected = np.exp(weight @ np.log(spreads) / weight.sum())

    assert posterior_type_sd(effects, slice(1, 4), residuals, 0.05, weights) == pytest.approx(
        expected, rel=1e-9
    )


def run_of(name: str, nodes: int, seconds: float) -> Run:
    cluster = Cluster.of_nodes(instance_type=name, nodes=nodes, vcpus=4.0, memory_gib=16.0)
    return Run(seconds, cluster, Workload(input_bytes=1e10))


def predicted(runs: list[Run], name: str) -> float:
    """Seconds of a type on 8 nodes."""
    asked = run_of(name, 8, 1.0)
    fitted = engine.fit(Profile("job", tuple(runs)))
    return fitted.predict(cluster=asked.cluster, workload=asked.workload).seconds


def test_one_run_says_little_of_a_type_where_types_differ_less_than_runs() -> None:
    def followed(seed: int) -> float:
        """How much of what the single run of a type is off by is taken for the type."""
        scatter = np.exp(np.random.default_rng(seed).normal(0.0, 0.08, 20)).tolist()
        places = [(name, nodes) for name in ("a", "b", "c", "e", "f") for nodes in (2, 4, 8, 16)]
        runs = [
            run_of(name, nodes, (30.0 + 2400.0 / nodes) * other)
            for (name, nodes), other in zip(places, scatter, strict=True)
        ]
        slow, fast = (
            predicted([*runs, run_of("d", 2, factor * 1230.0)], "d") for factor in (1.15, 0.87)
        )
        return float(np.log(slow / fast) / np.log(1.15 / 0.87))

    assert np.mean([followed(seed) for seed in range(4)]) < 0.7


def test_types_that_do_differ_are_told_apart_by_one_run_each() -> None:
    speeds = {"a": 1.0, "b": 1.4, "c": 0.7, "d": 1.3, "e": 0.75}
    runs = [
        run_of(name, nodes, speed * (30.0 + 2400.0 / nodes))
        for name, speed in speeds.items()
        for nodes in (2, 4, 16)
    ]
    seconds = predicted([*runs, run_of("f", 2, 1.5 * 1230.0)], "f")

    assert seconds == pytest.approx(1.5 * 330.0, rel=0.12)
