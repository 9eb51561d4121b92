"""A recommendation for a workflow, whose curves are several per cent off, says where it is not
proven."""

from pathlib import Path

import numpy as np
import pytest

import engine
from engine.choosing.recommendation import Goal, Recommendation
from engine.choosing.selection import select, select_exact
from engine.choosing.surface import Surface
from engine.models.base import SURFACE_TOLERANCE
from engine.optimiser import surface_of

NODES = 12
TYPES = ["m5.xlarge", "c5.xlarge", "c5.4xlarge", "c5.18xlarge"]
WORKFLOW = """\
format: sparkplan-workflow/1
name: three jobs
jobs:
- name: load
  stages:
  - {name: read, tasks: 100, load: 200ms, steps: [{cpu: 6s, disk: 200MB}]}
  - {name: write, tasks: 16, steps: [{network: 64MB}, {cpu: 4s}]}
- name: join
  stages:
  - {name: sort, tasks: 150, load: 200ms, steps: [{cpu: 9s, network: 64MB}]}
- name: report
  after: [load]
  stages:
  - {name: sum, tasks: 64, load: 200ms, steps: [{cpu: 12s, disk: 16MB}]}
"""


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Surface, Surface]:
    """A surface of a workflow, and the same with every point evaluated exactly."""
    path: Path = tmp_path_factory.mktemp("workflow") / "three.yaml"
    path.write_text(WORKFLOW, encoding="utf-8")
    fitted = engine.fit_workflow(engine.read_workflow(str(path)))
    catalog = engine.load_catalog("aws")
    surface = surface_of(fitted, catalog, instances=TYPES, max_nodes=NODES)
    return surface, surface.refined(range(len(TYPES) * NODES))


@pytest.mark.parametrize("rounds", [1, 16])
def test_what_is_called_optimal_is_the_best_of_all_points(
    surfaces: tuple[Surface, Surface], monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """Answers were called optimal though cheaper and faster clusters than theirs exist."""
    surface, exact = surfaces
    off = np.log(exact.forecast.seconds / surface.forecast.seconds)
    assert np.ptp(off) > 2.0 * SURFACE_TOLERANCE, "the curves are not exact enough for a proof"
    monkeypatch.setattr("engine.choosing.selection._REFINEMENTS", rounds)
    deadlines = np.geomspace(1.05 * exact.seconds.min(), exact.seconds.max(), 12)
    budgets = np.quantile(exact.costs(exact.candidates.catalog.billing), [0.1, 0.4, 0.7, 1.0])
    goals = [Goal(float(deadline), None, 0.5, NODES) for deadline in deadlines]
    goals += [Goal(None, float(budget), 0.5, NODES) for budget in budgets]
    proven = []
    for goal in goals:
        found, best = select_exact(surface, goal), select(exact, goal)
        proven.append(found.optimal)
        assert best.optimal
        if found.optimal:
            assert value(found) == pytest.approx(value(best), rel=1e-6)
    assert set(proven) == ({True} if rounds > 1 else {True, False})


def value(answer: Recommendation) -> float | None:
    """What the goal of an answer minimises."""
    best = answer.recommended
    assert best is not None
    return best.seconds if answer.goal.by_time else best.cost_usd


def test_models_that_are_exact_enough_keep_their_proof(
    surfaces: tuple[Surface, Surface], monkeypatch: pytest.MonkeyPatch
) -> None:
    surface, _ = surfaces
    goal = Goal(None, 100.0, 0.5, NODES)
    monkeypatch.setattr(type(surface.fitted), "surface_tolerance", SURFACE_TOLERANCE)
    assert select(surface, goal).optimal
