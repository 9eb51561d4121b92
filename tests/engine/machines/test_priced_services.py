"""Whether prices are of the service that the runs were on."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_where_it_ran import DATABRICKS, ran

import engine

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
