"""Mixes for workflows, whose times go in steps: all that the law allows is compared exactly, also
the counts of small nodes beyond those that may be rented, or nothing is called optimal."""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from depth import values
from test_workflow_optimal import WORKFLOW

import engine
from engine.choosing.selection import with_all_exact
from engine.mixing.beyond_surface import is_precise_for_mixes
from engine.mixing.mix_law import beyond_of
from engine.optimiser import surface_of

CATALOG = engine.load_catalog("gcp")
UNLIKE = [
    (("n2-standard-4", "n2-standard-32"), 10),
    (("n2-highcpu-8", "n2-standard-16", "n2-standard-4"), 10),
]
MORE = [(("n2-standard-4", "n2-standard-16"), 12)]
UP_TO = 1.0 + 1e-9


def fitted_to(folder: Path) -> engine.FittedModel:
    path = folder / "three.yaml"
    path.write_text(WORKFLOW, encoding="utf-8")
    return engine.fit_workflow(engine.read_workflow(str(path)))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> engine.FittedModel:
    return fitted_to(tmp_path_factory.mktemp("workflow"))


@dataclass(frozen=True)
class Every:
    """Every cluster of at most two of some types, each evaluated alone."""

    clusters: dict[tuple[tuple[str, int], ...], engine.Choice]

    @classmethod
    def of(cls, fitted: engine.FittedModel, types: tuple[str, ...], most: int) -> "Every":
        counts = [pair for pair in np.ndindex(most + 1, most + 1) if 0 < sum(pair) <= most]
        compositions = {
            tuple(sorted((name, n) for name, n in zip(pair, nodes, strict=True) if n))
            for pair in itertools.combinations(types, 2)
            for nodes in counts
        }
        return cls(
            {
                each: engine.composition_cost(fitted, composition=dict(each), catalog=CATALOG)
                for each in sorted(compositions)
            }
        )

    def least_usd(self, deadline_seconds: float) -> float:
        return min(x.cost_usd for x in self.clusters.values() if x.seconds < deadline_seconds)

    def least_seconds(self, budget_usd: float) -> float:
        return min(x.seconds for x in self.clusters.values() if x.cost_usd <= budget_usd * UP_TO)


@pytest.mark.parametrize(("types", "most"), values(*UNLIKE, deep=MORE))
def test_what_is_called_optimal_is_the_best_of_all_evaluated_alone(
    fitted: engine.FittedModel, types: tuple[str, ...], most: int
) -> None:
    """8 + 2 nodes were called the best for a deadline that they miss when evaluated alone."""
    every = Every.of(fitted, types, most)
    seconds = [x.seconds for x in every.clusters.values()]
    usd = [x.cost_usd for x in every.clusters.values()]
    asked = {"catalog": CATALOG, "instances": list(types), "max_nodes": most, "mix": 2}
    mixed = 0
    for deadline in (30.1, *np.geomspace(1.01 * min(seconds), max(seconds), 8).tolist()):
        found = engine.recommend(fitted, deadline_seconds=deadline, confidence=0.5, **asked)
        best, key = found.recommended, tuple(sorted(found.recommended.composition.items()))
        assert found.optimal
        assert best.seconds == pytest.approx(every.clusters[key].seconds, rel=1e-9), deadline
        assert best.seconds < deadline
        assert best.cost_usd == pytest.approx(every.least_usd(deadline), rel=1e-6), deadline
        mixed += len(key) > 1
    for budget in np.geomspace(1.01 * min(usd), max(usd), 8).tolist():
        found = engine.recommend(fitted, budget_usd=budget, confidence=0.5, **asked)
        assert found.optimal
        fastest = every.least_seconds(budget)
        assert found.recommended.seconds == pytest.approx(fastest, rel=1e-6), budget
        mixed += len(found.recommended.composition) > 1
    assert mixed > 1


def test_beyond_the_surface_every_count_is_evaluated_one_by_one(
    fitted: engine.FittedModel,
) -> None:
    types, most = UNLIKE[0]
    surface = with_all_exact(surface_of(fitted, CATALOG, instances=types, max_nodes=most))
    beyond = beyond_of(surface)
    assert beyond.is_exact
    assert is_precise_for_mixes(surface, beyond)
    assert beyond.nodes[0] == most + 1
    assert beyond.nodes[-1] >= 8 * most, "a core of the large nodes is the faster one"
    assert (np.diff(beyond.nodes) == 1).all()
    for nodes in (11, 13, 31, 57, 80):
        alone = engine.composition_cost(
            fitted, composition={"n2-standard-4": nodes}, catalog=CATALOG
        )
        row, column = surface.rows["n2-standard-4"], nodes - most - 1
        assert beyond.seconds[row, column] == pytest.approx(alone.seconds, rel=1e-9)


def test_where_that_takes_too_long_a_mix_is_not_called_optimal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (types, most), fitted = UNLIKE[0], fitted_to(tmp_path)
    monkeypatch.setattr("engine.models.boe.fitted_states.PROOF_SECONDS", 0.3)
    surface = with_all_exact(surface_of(fitted, CATALOG, instances=types, max_nodes=most))
    assert surface.is_precise
    assert surface.seconds.size < fitted.most_to_prove(surface.workload) < 8 * most
    assert not beyond_of(surface).is_exact
    asked = {"catalog": CATALOG, "instances": list(types), "max_nodes": most, "confidence": 0.5}
    goal = {"deadline_seconds": 60.0, "with_sensitivity": True}
    assert engine.recommend(fitted, **asked, **goal).optimal
    mixed = engine.recommend(fitted, mix=2, **asked, **goal)
    assert not mixed.optimal
    assert not mixed.sensitivity.optimal
    alike = {**asked, "instances": ["n2-standard-4", "n2-highmem-4"]}
    assert engine.recommend(fitted, mix=2, **alike, **goal).optimal, "none is beyond the surface"


def test_counts_that_are_forbidden_of_one_type_are_those_of_mixes_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of four nodes that must be rented may count for no more than one large node."""
    monkeypatch.setattr("engine.models.boe.surface.ALONE_SECONDS", 0.0)
    types, fitted = ["n2-standard-4", "n2-highmem-4"], fitted_to(tmp_path)
    limits = engine.Limits(min_nodes=4)
    coarse = surface_of(fitted, CATALOG, instances=types, max_nodes=10, limits=limits)
    allowed = coarse.refined(np.flatnonzero(np.isfinite(coarse.seconds)).tolist())
    assert allowed.is_precise
    assert not is_precise_for_mixes(allowed, None)
    assert is_precise_for_mixes(with_all_exact(coarse), None)
    asked = {"instances": types, "max_nodes": 10, "limits": limits, "deadline_seconds": 60.0}
    for mix in (1, 2):
        found = engine.recommend(fitted, catalog=CATALOG, confidence=0.5, mix=mix, **asked)
        assert found.optimal, mix
    few = len(np.flatnonzero(np.isfinite(coarse.seconds)))
    monkeypatch.setattr(type(fitted), "most_to_prove", lambda *_: few)
    assert with_all_exact(coarse).exact == allowed.exact, "one type alone is proven all the same"
