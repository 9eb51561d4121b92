"""Whose prices hold where nobody names a catalog."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engine
from engine import Cluster, Profile, Run, Workload
from engine.catalog import InstanceType
from engine.cluster import NodeGroup


def ran(*types: str | None, version: str | None = "3.5.1") -> Profile:
    """One run on two nodes of each type, as a log names them: without a shape."""
    return Profile(
        name="job",
        runs=tuple(
            Run(
                seconds=60.0,
                cluster=Cluster(
                    groups=(NodeGroup(2, None if name is None else InstanceType(name, 4.0, 16.0)),)
                ),
                workload=Workload(input_bytes=1e9),
                spark_version=version,
            )
            for name in types
        ),
    )


DATA = Path(__file__).parents[2] / "data"
DATABRICKS = "3.3.0 (Databricks 11.3.x-scala2.12)"


@pytest.mark.parametrize(
    ("name", "catalog"),
    [
        ("m5.xlarge", "aws"),
        ("n2-standard-4", "gcp"),
        ("Standard_D4s_v5", "azure"),
        ("m1.medium", "aws"),
        ("our-blade", "aws"),
        (None, "aws"),
    ],
)
def test_the_catalog_that_has_the_type(name: str | None, catalog: str) -> None:
    found = engine.where_it_ran(ran(name))
    assert found.catalog == catalog
    assert found.platform is None
    assert (found.notice is None) == (catalog == "aws")


def test_what_is_inferred_is_said_with_the_type_and_what_to_do() -> None:
    notice = engine.where_it_ran(ran("our-blade", "n2-standard-4")).notice
    assert notice.code == "prices-of-where-it-ran"
    assert "gcp" in notice.text
    assert "n2-standard-4" in notice.text
    assert "--catalog" in notice.remedy


def test_aws_comes_first_where_runs_were_on_several_providers() -> None:
    assert engine.where_it_ran(ran("n2-standard-4", "m5.xlarge")).catalog == "aws"
    assert engine.where_it_ran(ran("n2-standard-4"), ran("m5.xlarge")).catalog == "aws"


def test_types_that_the_prices_do_not_have_are_named() -> None:
    """Only the type that has a price was, and on aws none."""
    several = ran("n2-standard-4", "m5.xlarge", "our-blade", "Standard_D4s_v5", "m5.large")
    found = engine.where_it_ran(several)
    assert found.catalog == "aws"
    assert found.notice.text.endswith(
        "aws, which has the m5.xlarge that it ran on, and not the n2-standard-4 and Standard_D4s_v5"
    )
    other = engine.where_it_ran(ran("n2-standard-4", "Standard_D4s_v5")).notice
    assert "azure, which has the Standard_D4s_v5 that it ran on, and not the n2" in other.text
    assert engine.where_it_ran(ran("m5.xlarge", "our-blade")).notice is None


def test_one_job_of_several_does_not_say_where_the_others_ran() -> None:
    told, silent = ran("Standard_D4s_v5"), ran(None)
    assert engine.where_it_ran(told, silent).catalog == "azure"
    assert engine.where_it_ran(told, silent, silent) == engine.WhereItRan()
    assert engine.where_it_ran(told, silent, silent, ran_on="n2-standard-4").catalog == "gcp"


def test_databricks_on_azure_has_the_prices_of_its_dbus() -> None:
    plain, metered = (
        engine.where_it_ran(ran("Standard_E8s_v3", version=version))
        for version in ("3.3.0", DATABRICKS)
    )
    assert (plain.catalog, plain.platform) == ("azure", None)
    assert (metered.catalog, metered.platform) == ("azure-databricks", None)


def with_master(profile: Profile, master: str) -> Profile:
    runs = (replace(run, config={"spark.master": master}) for run in profile.runs)
    return replace(profile, runs=tuple(runs))


@pytest.mark.parametrize("name", ["m5.xlarge", "n2-standard-4", "Standard_D4s_v5", None])
def test_what_ran_on_kubernetes_is_planned_for_it(name: str | None) -> None:
    """It was planned for EMR, and cost a quarter more."""
    pods = with_master(ran(name, name), "k8s")
    found = engine.where_it_ran(pods)
    assert found.platform == "kubernetes"
    assert "executors are planned for Kubernetes, on which it ran" in found.notice.text
    assert engine.on_platform(engine.load_catalog(found.catalog), "kubernetes").platform
    assert (
        engine.where_it_ran(pods, platform="emr" if name != "n2-standard-4" else "yarn").platform
        is None
    )
    assert engine.where_it_ran(pods, starts_cluster=True).platform is None
    assert engine.where_it_ran(pods, starts_cluster=True).catalog == found.catalog


def test_pods_beside_a_catalog_that_is_named_are_of_its_service() -> None:
    """Naming the catalog in --ran-on dropped the price of its DBUs, and in --catalog did not."""
    pods = with_master(ran("Standard_D8s_v3"), "k8s")
    assert engine.where_it_ran(pods, ran_on="Standard_D8s_v3").platform == "kubernetes"
    named = engine.where_it_ran(pods, ran_on="Standard_D8s_v3@azure-databricks")
    assert (named.catalog, named.platform) == ("azure-databricks", None)
    assert "Kubernetes" not in named.notice.text


@pytest.mark.parametrize(
    ("version", "catalog"),
    [
        ("3.5.9 (Dataproc)", "gcp"),
        ("3.5.9 (Dataproc Serverless)", "gcp"),
        ("3.5.1-amzn-0 (EMR Serverless)", "aws"),
        ("3.5.0-amzn-1", "aws"),
    ],
)
def test_pods_of_a_paid_service_keep_its_fee(version: str, catalog: str) -> None:
    """They were planned for Kubernetes alone, on which nobody pays a service."""
    pods = with_master(ran(None, version=version), "k8s")
    found = engine.where_it_ran(pods)
    assert (found.catalog, found.platform) == (catalog, None)
    assert "Kubernetes" not in (found.notice.text if found.notice else "")
    typed = with_master(ran("m5.xlarge", version=version), "k8s")
    assert engine.where_it_ran(typed).platform is None
    plain = with_master(ran(None, version="3.5.0"), "k8s")
    assert engine.where_it_ran(plain).platform == "kubernetes"
    assert engine.where_it_ran(plain, ran(None, version=version)).platform is None


def test_a_cluster_is_priced_for_what_ran_without_one() -> None:
    """It was said that Dataproc rents the nodes, on a service that rents no nodes."""
    alone, cluster = (
        ran(None, version=f"3.5.9 ({service})") for service in ("Dataproc Serverless", "Dataproc")
    )
    found = engine.where_it_ran(alone)
    assert found.catalog == "gcp"
    assert found.notice.text.endswith("prices are of gcp, where Dataproc Serverless runs")
    priced = engine.another_service_notice(engine.load_catalog("gcp"), alone).text
    assert priced.startswith("the runs were on Dataproc Serverless; prices and the memory of")
    assert priced.endswith("executors are those of Dataproc, the service of catalog gcp")
    for jobs in ([cluster], [alone, cluster]):
        assert "whose nodes Dataproc rents" in engine.where_it_ran(*jobs).notice.text


def test_one_job_on_kubernetes_does_not_say_that_others_were() -> None:
    pods, yarn = (with_master(ran("m5.xlarge"), master) for master in ("k8s", "yarn"))
    table = ran("m5.xlarge", version=None)
    assert engine.where_it_ran(pods, yarn).platform is None
    assert engine.where_it_ran(pods, table).platform == "kubernetes"
    assert engine.where_it_ran(pods, table, table).platform is None
    assert engine.where_it_ran(replace(pods, runs=pods.runs + yarn.runs)).platform is None


@pytest.mark.parametrize("name", ["m5.xlarge", "n2-standard-4", None])
def test_databricks_elsewhere_lays_its_executors_out(name: str | None) -> None:
    found = engine.where_it_ran(ran(name, version=DATABRICKS))
    assert found.platform == "databricks"
    assert "Databricks" in found.notice.text
    catalog = engine.load_catalog(found.catalog)
    assert engine.on_platform(catalog, found.platform).platform == "databricks"


def test_not_all_of_databricks_is_not_of_databricks() -> None:
    mixed = engine.where_it_ran(ran("m5.xlarge", version=DATABRICKS), ran("m5.xlarge"))
    assert (mixed.platform, mixed.notice) == (None, None)


def test_one_log_of_databricks_does_not_say_what_ran_those_of_unknown_versions() -> None:
    told, silent = ran("m5.xlarge", version=DATABRICKS), ran("m5.xlarge", version=None)
    assert engine.where_it_ran(told, silent).platform == "databricks"
    assert engine.where_it_ran(told, silent, silent) == engine.WhereItRan()


@pytest.mark.parametrize(
    ("log", "catalog"),
    [("dataproc", "gcp"), ("lightning", "gcp"), ("fabric", "azure"), ("glue", "aws")],
)
def test_a_service_that_names_no_type_still_tells_its_provider(log: str, catalog: str) -> None:
    """All were priced by AWS; real logs with the settings that the services write."""
    profile = engine.read(str(DATA / f"{log}.zstd"))
    found = engine.where_it_ran(profile)
    assert (found.catalog, found.platform) == (catalog, None)
    assert (found.notice is None) == (catalog == "aws")
    assert engine.where_it_ran(profile, ran_on="m5.xlarge").catalog == "aws"
    assert engine.where_it_ran(profile, candidates=["m5.*"]).catalog == "aws"


def test_a_service_is_that_of_at_least_half_of_the_jobs() -> None:
    told, silent = ran(None, version="3.3.2 (Dataproc)"), ran(None, version=None)
    assert engine.where_it_ran(told, silent).catalog == "gcp"
    assert engine.where_it_ran(told, silent, silent).catalog == "aws"
    assert engine.where_it_ran(told, ran(None)).catalog == "aws"
    notice = engine.where_it_ran(told).notice
    assert notice.text.endswith("prices are of gcp, whose nodes Dataproc rents")


def test_the_catalog_that_the_user_named_beside_the_type() -> None:
    profile = ran("Standard_E8s_v3")
    named = engine.where_it_ran(profile, ran_on="Standard_E8s_v3@azure-databricks")
    assert named.catalog == "azure-databricks"
    assert engine.where_it_ran(ran(None), ran_on="m4.xlarge").catalog == "aws"
    old = engine.where_it_ran(ran(None), ran_on="m4.xlarge@papers")
    assert old.catalog == "papers"
    assert old.notice is not None
    assert old.notice.text.endswith("prices are of papers, historic ones of 2016-11-30")
    assert engine.where_it_ran(ran(None), ran_on="m5.xlarge@aws").notice is None


@pytest.mark.parametrize("question", [{"candidates": ["m5.*"]}, {"platform": "dataproc"}])
def test_a_named_catalog_that_cannot_answer_is_not_meant(question: dict[str, Any]) -> None:
    found = engine.where_it_ran(ran("m4.xlarge"), ran_on="m4.xlarge@papers", **question)
    assert found.catalog == "aws"
    assert engine.where_it_ran(ran(None), ran_on="n2-standard-4").catalog == "gcp"


def test_types_that_the_question_names_decide() -> None:
    profile = ran("n2-standard-4")
    assert engine.where_it_ran(profile, candidates=["n2*", "m5.*"]).catalog == "gcp"
    other = engine.where_it_ran(profile, candidates=["m5.*"])
    assert (other.catalog, other.notice) == ("aws", None)


def test_of_several_providers_the_one_that_the_question_means() -> None:
    profile = ran("m5.xlarge", "Standard_D8s_v3", "n2-standard-4")
    assert engine.where_it_ran(profile, candidates=["n2-*"]).catalog == "gcp"
    assert engine.where_it_ran(profile, platform="dataproc").catalog == "gcp"
    bricks = ran("Standard_D8s_v3", version=DATABRICKS)
    assert engine.where_it_ran(bricks, candidates=["Standard_D4s_v6"]).catalog == "azure"


def test_databricks_lays_out_types_of_another_provider_too() -> None:
    profile = ran("Standard_D8s_v3", version=DATABRICKS)
    found = engine.where_it_ran(profile, candidates=["m5.*"])
    assert (found.catalog, found.platform) == ("aws", "databricks")
    assert "azure" not in found.notice.text


def test_a_type_that_no_catalog_has_changes_no_catalog() -> None:
    """A slip in a name of Google Cloud was looked up, and not found, among the types of AWS."""
    assert engine.where_it_ran(ran("n2-standard-4"), candidates=["N2-standard-4"]).catalog == "gcp"


def test_a_platform_that_is_named_decides() -> None:
    profile = ran("n2-standard-4")
    assert engine.where_it_ran(profile, platform="emr").catalog == "aws"
    assert engine.where_it_ran(profile, platform="kubernetes").catalog == "gcp"
    bricks = engine.where_it_ran(ran("m5.xlarge", version=DATABRICKS), platform="yarn")
    assert (bricks.platform, bricks.notice) == (None, None)


def test_of_an_empty_profile_nothing_is_inferred() -> None:
    empty = replace(ran("n2-standard-4"), runs=())
    assert engine.where_it_ran(empty) == engine.WhereItRan()
    assert engine.where_it_ran() == engine.WhereItRan()
