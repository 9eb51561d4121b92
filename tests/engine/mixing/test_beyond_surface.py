"""Mixes with the capacity of more small nodes than may be rented, whose times are predicted too."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from depth import cases
from synthetic import TableModel, catalog_of, model, offer, profile_on
from test_mix_search import every_mix, goal_for, random_law, random_market, searched, single_best

from engine.batch import ClusterBatch
from engine.choosing.recommendation import Goal
from engine.cluster import Workload
from engine.forecast import Forecast
from engine.mixing.beyond_surface import GROWTH
from engine.mixing.market import values_of
from engine.mixing.mix_law import beyond_of
from engine.mixing.node_counts import NodeCounts
from engine.mixing.purchase_options import PurchaseOptions
from engine.optimiser import recommend, surface_of

SPARSE = np.asarray([1, 2, 3, 4, 6, 9, 14])
SMALL = offer("small", 0.10, vcpus=4, memory_gib=16.0)
LARGE = offer("large", 0.88, vcpus=32, memory_gib=128.0)
CATALOG = catalog_of(SMALL, LARGE)


def law_of_time(name: str, nodes: np.ndarray) -> np.ndarray:
    """Serial and divisible work, and some overhead for each core."""
    cores = nodes * (4 if name == "small" else 32)
    return 20.0 + 8000.0 / cores + 0.01 * cores


def test_columns_that_are_no_neighbours_are_exact_for_serial_and_divisible_work() -> None:
    curves = np.stack([7.0 + 90.0 / SPARSE, 3.0 + 5.0 / SPARSE])
    counts = np.asarray([0.5, 1.0, 1.3, 4.0, 4.5, 7.25, 9.0, 13.9, 14.0, 55.0])
    for row, (serial, work) in enumerate([(7.0, 90.0), (3.0, 5.0)]):
        found = NodeCounts(SPARSE).interpolated(curves, np.full(len(counts), row), counts)
        assert found == pytest.approx(serial + work / np.clip(counts, 1.0, 14.0))


def test_a_count_lies_between_the_columns_around_it() -> None:
    around = NodeCounts(SPARSE).neighbours
    assert [around(count) for count in (0.2, 1.0, 3.5, 4.0 + 1e-12, 7.5, 14.0, 20.0)] == [
        {1}, {1}, {3, 4}, {4}, {6, 9}, {14}, {14},
    ]  # fmt: skip


def test_the_columns_inside_a_range_are_those_that_lie_in_it() -> None:
    rng = np.random.default_rng(5)
    low = np.append(rng.uniform(0.0, 20.0, 300), [1.0, 4.0, 5.0, 14.0, 14.5])
    high = low + np.append(rng.uniform(0.0, 6.0, 300), [0.0, 0.0, 0.5, 0.0, 1.0])
    first, last = NodeCounts(SPARSE).columns_between(low, high)
    for place in range(len(low)):
        inside = np.flatnonzero((low[place] <= SPARSE) & (high[place] >= SPARSE))
        assert list(range(first[place], last[place] + 1)) == inside.tolist()


@pytest.mark.parametrize("kind", ["deadline", "budget", "time"])
def test_no_composition_is_better_by_a_law_with_gaps(kind: str) -> None:
    rng, k, m = np.random.default_rng([3, ord(kind[0])]), 4, 4
    for _ in range(cases(16, deep=80)):
        whole = random_law(rng, k, int(SPARSE[-1]))
        law = whole.at(SPARSE)
        market = random_market(rng, law, m)
        goal = goal_for(kind, rng, law, m)
        searched(law, market, goal, m, 2)


def test_small_nodes_are_asked_for_up_to_the_capacity_of_the_largest_mix() -> None:
    surface = surface_of(model(law_of_time), CATALOG, max_nodes=6)
    beyond = beyond_of(surface)
    assert beyond_of(surface) is beyond
    assert beyond.nodes[0] > 6
    assert beyond.nodes[-1] == 48
    assert (beyond.nodes[1:] <= np.ceil(GROWTH * beyond.nodes[:-1])).all()
    large, small = (surface.rows[name] for name in ("large", "small"))
    assert beyond.seconds[small] == pytest.approx(law_of_time("small", beyond.nodes))
    assert (beyond.seconds[large] == law_of_time("large", np.asarray([6.0]))).all()
    alike = surface_of(model(law_of_time), catalog_of(SMALL), max_nodes=6)
    assert beyond_of(alike) is None


def test_what_a_surface_was_off_by_at_its_end_it_is_off_by_beyond() -> None:
    surface = surface_of(model(law_of_time), CATALOG, max_nodes=6)
    beyond = beyond_of(surface)
    later = beyond.corrected_seconds(1.1 * surface.uninterrupted[:, -1])
    assert later == pytest.approx(1.1 * beyond.seconds)


class OneSided(TableModel):
    """Half as wide below the median, by as much more as there are nodes."""

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        plain = super().forecast(batch, workload)
        below = 0.5 * plain.log_scale + 0.01 * batch.nodes
        return Forecast.of(plain.seconds, plain.log_scale, plain.dof, scale_below=below)


def test_what_is_open_below_a_time_is_asked_for_too() -> None:
    unsure = OneSided("table", profile_on(), law=law_of_time, log_scale=0.2)
    surface = surface_of(unsure, CATALOG, max_nodes=6)
    law = PurchaseOptions.of(surface, CATALOG.billing, 6).law(surface)
    small = surface.rows["small"]
    assert law.scale_below[small] == pytest.approx(0.1 + 0.01 * law.nodes)
    assert law.at(SPARSE[:3]).scale_below == pytest.approx(law.scale_below[:, :3])


@dataclass(frozen=True, eq=False)
class Recorded(TableModel):
    """Keeps the largest number of nodes that it was asked for."""

    largest: list[float] = field(default_factory=lambda: [0.0])

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        self.largest[0] = max(self.largest[0], float(batch.nodes.max()))
        return super().forecast(batch, workload)


@pytest.mark.parametrize(("mix", "beyond"), [(1, False), (2, True)])
def test_an_answer_of_one_type_asks_for_nothing_beyond_the_surface(mix: int, beyond: bool) -> None:
    asked = Recorded("table", profile_on(), law=law_of_time, log_scale=0.1)
    answer = recommend(
        asked, catalog=CATALOG, deadline_seconds=900.0, max_nodes=6, mix=mix, with_sensitivity=True
    )
    assert answer.sensitivity is not None
    assert (asked.largest[0] > 6.0) is beyond


@pytest.mark.parametrize("share", [1.02, 1.1, 1.3])
def test_the_best_mix_is_the_best_that_the_model_itself_allows(share: float) -> None:
    """With more nodes in the surface nothing is left to be asked for beyond it."""
    fitted, m = model(law_of_time), 6
    fastest = law_of_time("large", np.arange(1, m + 1)).min()
    found = recommend(
        fitted,
        catalog=CATALOG,
        deadline_seconds=share * fastest,
        max_nodes=m,
        mix=2,
        confidence=0.5,
    )
    wide = surface_of(fitted, CATALOG, max_nodes=64)
    options = PurchaseOptions.of(wide, CATALOG.billing, m)
    goal = Goal(share * fastest, None, 0.5, m)
    rows, counts = every_mix(options.law(wide), options.market, m, 2)
    best = values_of(options.law(wide), options.market, goal, rows, counts).min()
    alone = single_best(options.law(wide), options.market, goal, m)
    assert found.optimal
    assert found.recommended.cost_usd == pytest.approx(min(best, alone), rel=1e-3)
