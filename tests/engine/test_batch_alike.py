"""Clusters that an application cannot tell apart are worked out once."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from depth import DEEP
from watched import calls_of

import engine
from engine.batch import ClusterBatch
from engine.models.base import FittedModel
from engine.models.replay.model import ReplayModel
from engine.planner import PlanRequest, prepare_fitted


def grid(*, slots_per_node: int, nodes: int) -> ClusterBatch:
    layout = engine.Layout(1, slots_per_node, 4.0)
    types = [engine.InstanceType(name, float(slots_per_node), 16.0) for name in ("a", "b")]
    return ClusterBatch.grid(types, [layout, layout], range(1, nodes + 1), None)


def test_rows_with_slots_to_spare_are_alike() -> None:
    own, like = grid(slots_per_node=4, nodes=6).alike(10.0)
    assert own.tolist() == [0, 1, 2, 6, 7, 8]
    assert like.tolist() == [0, 1, 2, 2, 2, 2, 3, 4, 5, 5, 5, 5]


def test_another_layout_or_memory_is_not_alike() -> None:
    batch = grid(slots_per_node=4, nodes=3)
    memory = np.asarray([4.0, 4.0, 8.0, np.nan, np.nan, np.nan])
    own, _ = replace(batch, executor_memory_gib=memory).alike(1.0)
    assert own.tolist() == [0, 2, 3]
    cores = np.asarray([4.0, 2.0, 2.0, 4.0, 4.0, 4.0])
    own, _ = replace(batch, executor_cores=cores).alike(1.0)
    assert own.tolist() == [0, 1, 3]


def test_nodes_with_more_executors_are_not_alike() -> None:
    batch = grid(slots_per_node=4, nodes=3)
    executors = batch.nodes * np.asarray([1.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    own, _ = replace(batch, executors=executors).alike(1.0)
    assert own.tolist() == [0, 1, 3]


def test_unknown_slots_stand_for_themselves() -> None:
    batch = replace(grid(slots_per_node=4, nodes=2), executors=np.full(4, np.nan))
    assert batch.alike(1.0)[0].tolist() == [0, 1, 2, 3]


def test_without_room_for_what_is_kept_more_nodes_count() -> None:
    batch = grid(slots_per_node=4, nodes=3)
    memory_saturated = np.asarray([False, True, True, False, False, True])
    assert batch.alike(1.0, memory_saturated)[0].tolist() == [0, 1, 3, 4, 5]


def test_no_rows() -> None:
    none = grid(slots_per_node=4, nodes=2).take(np.arange(0))
    own, like = none.alike(1.0)
    assert own.size == like.size == 0


SOURCES = (
    ("sort-large",),
    ("sales-report-large",),
    ("nightly-features", "nightly-features-small"),
    ("movie-als-large",),
    ("movie-als-small", "movie-als-large"),
)
MOST = 200 if DEEP else 60
ASKED = (
    (0.2, "m5.*,c6i.*", MOST),
    (1.0, "m5.*,c6i.*", MOST),
    (2.6, "m5.*,c6i.*", MOST),
    (3000.0, "m5.2xlarge,c6i.2xlarge", 8),  # no two are alike
)


@cache
def fitted_to(sources: tuple[str, ...]) -> FittedModel:
    return engine.fit(engine.read(*sources))


@pytest.mark.parametrize(
    ("sources", "scale", "instances", "most"),
    [
        (sources, *asked)
        for row, sources in enumerate(SOURCES)
        for place, asked in enumerate(ASKED)
        if DEEP or (row - place) % len(ASKED) == 0  # every source and every size once
    ],
)
def test_answers_are_those_of_every_cluster_worked_out(
    sources: tuple[str, ...],
    scale: float,
    instances: str,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted = fitted_to(sources)
    profile = fitted.profile
    request = PlanRequest(
        profile=profile,
        catalog=engine.load_catalog("aws"),
        instances=tuple(instances.split(",")),
        max_nodes=most,
        workload=profile.workload_at(scale),
    )
    every = ReplayModel._forecast
    asked = calls_of(monkeypatch, ReplayModel, "_forecast")
    surface = prepare_fitted(fitted, request).surface
    batch = ClusterBatch.grid(
        [offer.instance for offer in surface.candidates.offers],
        surface.candidates.layouts,
        range(1, most + 1),
        surface.candidates.catalog,
    )
    assert len(asked[0][1]) < len(batch) or scale > 100.0
    each = every(fitted, batch, surface.workload)
    np.testing.assert_array_equal(surface.forecast.seconds, each.seconds)
    np.testing.assert_array_equal(surface.forecast.log_scale, each.log_scale)
