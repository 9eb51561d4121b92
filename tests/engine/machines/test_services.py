"""Managed services: clusters that they do not start, and prices of another one than the runs'."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_where_it_ran import DATABRICKS, ran

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


DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize(
    ("version", "catalog", "ran_on", "priced"),
    [
        (DATABRICKS, "aws", "Databricks", "those of EMR, the service of catalog aws"),
        (DATABRICKS, "gcp", "Databricks", "those of Dataproc, the service of catalog gcp"),
        (DATABRICKS, "azure", None, None),
        (DATABRICKS, "azure-databricks", None, None),
        ("3.5.9 (Dataproc)", "aws", "Dataproc", "those of EMR, the service of catalog aws"),
        ("3.5.9 (Dataproc)", "azure-databricks", "Dataproc", "those of Databricks, the service"),
        ("3.5.9 (Dataproc)", "gcp", None, None),
        ("3.5.9 (Dataproc Serverless)", "gcp", "Dataproc Serverless", "those of Dataproc, the"),
        ("3.5.0-amzn-1", "gcp", "EMR", "those of Dataproc, the service of catalog gcp"),
        ("3.5.0-amzn-1", "papers", None, None),
        ("3.5.0-amzn-1", "aws", None, None),
        ("3.5.1-amzn-0 (EMR Serverless)", "aws", "EMR Serverless", "those of EMR, the service"),
        ("3.3.0-amzn-1 (AWS Glue)", "aws", "AWS Glue", "those of EMR, the service of catalog aws"),
        ("3.4.1 (Azure Synapse)", "azure", "Azure Synapse", "the machines of catalog azure alone"),
        (DATABRICKS, "papers", "Databricks", "the machines of catalog papers alone"),
        ("3.5.1", "aws", None, None),
        (None, "aws", None, None),
    ],
)
def test_prices_of_another_service_are_said(
    version: str | None, catalog: str, ran_on: str | None, priced: str | None
) -> None:
    """EMR was planned for a log of Databricks, without a word, where --catalog aws was given."""
    notice = engine.another_service_notice(engine.load_catalog(catalog), ran(None, version=version))
    if ran_on is None or priced is None:
        assert notice is None
        return
    assert notice.code == "prices-of-another-service"
    assert notice.text.startswith(f"the runs were on {ran_on}; prices ")
    assert priced in notice.text


@pytest.mark.parametrize(
    ("log", "catalog", "service"),
    [
        ("dataproc", "aws", "Dataproc"),
        ("lightning", "gcp", "Dataproc Serverless"),
        ("fabric", "azure", "Microsoft Fabric"),
        ("glue", "aws", "AWS Glue"),
        ("emr-serverless", "aws", "EMR Serverless"),
    ],
)
def test_logs_of_the_services(log: str, catalog: str, service: str) -> None:
    profile = engine.read(str(DATA / f"{log}.zstd"))
    notice = engine.another_service_notice(engine.load_catalog(catalog), profile)
    assert f"the runs were on {service};" in notice.text


def test_the_remedy_names_what_has_the_prices_and_how_to_mean_it() -> None:
    def remedy(version: str, catalog: str) -> str:
        prices = engine.load_catalog(catalog)
        return engine.another_service_notice(prices, ran(None, version=version)).remedy

    assert "--platform databricks" in remedy(DATABRICKS, "aws")
    assert remedy(DATABRICKS, "aws").endswith("--platform emr says that EMR is meant")
    assert remedy("3.5.9 (Dataproc)", "aws").startswith("--catalog gcp has its prices")
    assert remedy("3.5.0-amzn-1", "gcp").startswith("--catalog aws has its prices")
    assert "compare with what it billed" in remedy("3.3.0 (AWS Glue)", "aws")


def test_that_costs_are_to_be_compared_is_said_once() -> None:
    """A log of Glue had the same advice twice: of its machines, and of the prices."""
    profile = engine.read(str(DATA / "glue.zstd"))
    notice = engine.another_service_notice(engine.load_catalog("aws"), profile)
    remedies = [other.remedy for other in (*profile.runs[0].notices, notice)]
    assert sum("billed" in remedy for remedy in remedies) == 1
    assert notice.remedy == "--platform emr says that EMR is meant"
    table = replace(profile, runs=(replace(profile.runs[0], notices=()),))
    alone = engine.another_service_notice(engine.load_catalog("aws"), table)
    assert alone.remedy.startswith("no catalog has prices of AWS Glue: compare with what it billed")


@pytest.mark.parametrize("platform", ["yarn", "kubernetes", "standalone"])
def test_a_platform_without_a_service_has_no_service_to_mistake(platform: str) -> None:
    catalog = engine.on_platform(engine.load_catalog("aws"), platform)
    assert engine.another_service_notice(catalog, ran(None, version=DATABRICKS)) is None


def test_a_service_that_some_runs_contradict_is_none() -> None:
    catalog = engine.load_catalog("aws")
    told, plain = ran(None, version=DATABRICKS), ran(None)
    assert engine.another_service_notice(catalog, told, plain) is None
    assert engine.another_service_notice(catalog, told, ran(None, version=None)) is not None
    assert engine.another_service_notice(catalog) is None


def test_a_workflow_ran_where_at_least_half_of_its_jobs_did() -> None:
    catalog = engine.load_catalog("aws")
    unknown = engine.Profile("not observed yet")
    half = engine.Profile("nightly", jobs=(ran(None, version=DATABRICKS), unknown))
    assert engine.another_service_notice(catalog, half).code == "prices-of-another-service"
    assert engine.where_it_ran(half).platform == "databricks"
    third = replace(half, jobs=(*half.jobs, unknown))
    assert engine.another_service_notice(catalog, third) is None
    assert engine.where_it_ran(third).platform is None
    assert engine.another_service_notice(catalog, half, unknown) is None, "one job of three"


def test_a_workflow_knows_the_profile_of_each_of_its_jobs() -> None:
    """One that is not observed yet counts as a job of which nothing is known."""
    workflow = engine.read_workflow("nightly-pipeline")
    jobs = engine.fit_workflow(workflow).profile.jobs
    assert len(jobs) == len(workflow.jobs)
    assert [job.name for job in jobs if not job.runs] == ["publish"]
