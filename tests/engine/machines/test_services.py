"""Clusters that a managed service does not start: too few workers, of several types, all spot."""

from dataclasses import replace

import pytest

import engine
from engine.catalog_files.reader import load_catalog
from engine.machines.platforms import on_platform
from engine.machines.services import most_worker_types, service_refusals, spot_nodes

CODE = "cluster-not-started"


@pytest.fixture(scope="module")
def fitted() -> engine.FittedModel:
    return engine.fit(engine.read("sort-small"))


def told(warnings) -> list[str]:
    return [notice.text for notice in warnings if notice.code == CODE]


def test_services_of_one_worker_type_start_no_mix() -> None:
    mix = {"a": 2, "b": 1}
    for name, service in (("gcp", "Dataproc"), ("azure", "Databricks")):
        catalog = load_catalog(name)
        assert most_worker_types(catalog) == 1
        (notice,) = service_refusals(catalog, mix)
        said = f"{service} runs workers of one type: it starts no mix of 2 types"
        assert notice.text == said + (" without flexible VMs" if name == "gcp" else "")
        assert "--platform" in notice.remedy
        assert not list(service_refusals(catalog, {"a": 3}))
        anywhere = on_platform(catalog, "kubernetes")
        assert most_worker_types(anywhere) is None
        assert not list(service_refusals(anywhere, mix))
    aws = load_catalog("aws")
    assert most_worker_types(aws) is None
    assert not list(service_refusals(aws, {"a": 1}))


def test_dataproc_starts_two_workers_on_demand_and_spot_nodes_beside_them() -> None:
    gcp = load_catalog("gcp")
    for workers, spot in ((1, 0), (2, 0), (3, 1), (9, 7)):
        assert spot_nodes(gcp, workers) == spot
        refused = told(service_refusals(gcp, {"a": workers}))
        assert refused == ["Dataproc starts no cluster of fewer than 2 workers"] * (workers < 2)
    for other in (on_platform(gcp, "kubernetes"), load_catalog("azure"), load_catalog("aws")):
        assert spot_nodes(other, 3) == 3


def test_a_named_cluster_that_the_service_does_not_start_says_so(fitted) -> None:
    """`predict` of one worker on gcp said nothing of Dataproc; only the export refused it."""

    def warned(catalog: engine.Catalog, composition: dict[str, int], **asked) -> list[str]:
        composed = engine.predict_composition(
            fitted, composition=composition, catalog=catalog, **asked
        )
        return told(composed.prediction.warnings)

    gcp = load_catalog("gcp")
    assert warned(gcp, {"n2-standard-4": 1}) == [
        "Dataproc starts no cluster of fewer than 2 workers"
    ]
    assert warned(gcp, {"n2-standard-4": 2}) == []
    mix = {"n2-standard-4": 1, "n2-standard-8": 1}
    assert len(warned(gcp, mix)) == 1
    assert warned(on_platform(gcp, "kubernetes"), mix) == []
    assert warned(gcp, {"n2d-standard-4": 3}, spot=True) == []


def test_a_fitted_model_that_is_asked_says_so_as_well(fitted) -> None:
    """In Python, and of all models, one worker on gcp was answered without a word."""

    def warned(catalog: engine.Catalog, nodes: int) -> list[str]:
        cluster = engine.Cluster.of_nodes(
            instance_type="n2-standard-4", nodes=nodes, catalog=catalog
        )
        return told(fitted.predict(cluster=cluster).warnings)

    gcp = load_catalog("gcp")
    assert warned(gcp, 1) == ["Dataproc starts no cluster of fewer than 2 workers"]
    assert warned(gcp, 2) == []
    assert warned(on_platform(gcp, "kubernetes"), 1) == []


def test_a_mix_is_explained_without_what_is_only_true_of_nodes_like_it(fitted) -> None:
    """The explanation of two unlike nodes is that of one large node, which Dataproc refuses."""
    request = engine.PlanRequest(
        fitted.profile, load_catalog("gcp"), instances=["n2-standard-4", "n2-standard-32"],
        max_nodes=4,
    )  # fmt: skip
    plan = engine.prepare_fitted(fitted, request)
    some = plan.report(engine.Goal(deadline_seconds=600.0, max_nodes=4)).recommendation.recommended
    mix = {"n2-standard-32": 1, "n2-standard-4": 1}
    choice = replace(some, composition=mix, instance=None, nodes=None)
    assert plan.alike(choice) == {"n2-standard-32": 1}
    assert told(plan.explain(choice).warnings) == []


def test_a_mix_that_was_asked_for_is_recommended_and_warned_of() -> None:
    """The user's word holds; what it leads to is said."""
    gcp, names = load_catalog("gcp"), ["n2-standard-4", "n2-standard-32"]
    runs = tuple(
        engine.Run(
            60.0 + 10_000.0 * scale / nodes,
            engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=gcp),
            engine.Workload(1e9),
        )
        for name, scale in zip(names, (1.0, 0.11), strict=True)
        for nodes in (2, 3, 4, 6, 8)
    )
    table = engine.fit(engine.Profile("table", runs))
    mixes = {1: 0, 2: 0}
    for most in mixes:
        for deadline in range(300, 900, 40):
            best = engine.recommend(
                table, catalog=gcp, deadline_seconds=float(deadline), mix=most,
                instances=names, max_nodes=40, confidence=0.5,
            ).recommended  # fmt: skip
            assert best is not None
            mixes[most] += len(best.composition) > 1
            assert bool(told(best.warnings)) == (len(best.composition) > 1)
    assert mixes[1] == 0
    assert mixes[2] > 0
