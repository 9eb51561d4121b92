"""Whose prices the headless commands take where no catalog is named."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import answer, refused, run

import engine
from tui.session import EngineSession
from tui.state import PlanState

LOG = "nightly-features"
"""Goals are near the two minutes that it takes: how much more input still keeps one is answered
too, and takes the longer the more that is."""

ON_GCP = f"recommend {LOG} --deadline 3m --max-nodes 2 --ran-on n2-standard-4"


@pytest.mark.parametrize(
    ("more", "catalog"),
    [
        ("", "gcp"),
        ("--catalog aws", "aws"),
        ("--instances 'm5.*'", "aws"),
        ("--platform emr", "aws"),
    ],
)
def test_prices_are_of_where_it_ran_unless_others_are_named(
    more: str, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who said that the job ran on Google's machines was told to rent one of EMR's."""
    found = answer(capsys, f"{ON_GCP} {more}")
    assert found["catalog"]["name"] == catalog
    assert set(found["recommended"]["composition"]) <= set(engine.load_catalog(catalog).offers)
    said = [w["code"] for w in found["recommended"]["warnings"] + found["warnings"]]
    assert ("prices-of-where-it-ran" in said) == (catalog == "gcp")
    out, _ = run(capsys, f"{ON_GCP} {more}")
    assert f"by catalog {catalog}" in out.splitlines()[-1]


@pytest.mark.parametrize(
    "line",
    [
        f"experiments {LOG} --deadline 10m --nodes 1:4",
        f"fleet {LOG} --deadline 10m --max-nodes 4",
        f"export {LOG} --deadline 10m --max-nodes 4 --to spark-submit",
        "workflow recommend nightly-pipeline --deadline 15m --max-nodes 2 --instances 'n2-*'",
    ],
)
def test_every_command_says_that_prices_are_of_where_it_ran(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = run(capsys, f"{line} --ran-on n2-standard-4")
    assert err.count("prices are of gcp") == 1


def test_a_fleet_names_whose_prices_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"fleet {LOG} --deadline 10m --max-nodes 4 --ran-on n2-standard-4"
    assert answer(capsys, line)["catalog"]["name"] == "gcp"
    assert run(capsys, line)[0].splitlines()[-1].startswith("costs are by catalog gcp us-central1")


@pytest.mark.parametrize(("asked", "catalog"), [("n2-highmem-8", "gcp"), ("r5.xlarge", "aws")])
def test_another_type_is_looked_up_where_it_ran(
    asked: str, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"predict {LOG} --ran-on n2-standard-4"
    for cluster in (f"--nodes 2 --instance {asked}", f"--composition {asked}=2"):
        assert answer(capsys, f"{line} {cluster}")["catalog"]["name"] == catalog


@pytest.fixture(scope="module")
def of_databricks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log's profile, as Databricks would have written it: one file, so that commands share what
    they fit to it."""
    path = tmp_path_factory.mktemp("databricks") / "bricks.yaml"
    # Not by the command: the home of a test is not there yet for what a module shares.
    engine.write_profile(engine.read(LOG), path)
    told = path.read_text(encoding="utf-8")
    version = 'spark_version: "3.3.0 (Databricks 11.3.x-scala2.12)"'
    path.write_text(re.sub(r"spark_version: .*", version, told), encoding="utf-8")
    return path


def workflow_of(log: Path) -> Path:
    """A workflow of two jobs beside their log."""
    path = log.with_name("workflow.yaml")
    first, second = (f"{{name: {name}, source: {log.name}}}" for name in ("first", "second"))
    head = "format: sparkplan-workflow/1\nname: two\njobs:\n"
    path.write_text(f"{head}- {first}\n- {second}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("ran_on", "catalog"),
    [("Standard_D8s_v3", "azure-databricks"), ("m5.2xlarge", "aws"), ("m5.2xlarge@aws", "aws")],
)
@pytest.mark.parametrize("command", ["predict --nodes 2", "curve --over nodes --nodes 2:2"])
def test_nodes_that_are_named_cost_what_a_recommendation_says(
    ran_on: str, catalog: str, command: str, of_databricks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of Azure had no DBUs, and those of AWS the surcharge of EMR."""
    name = ran_on.partition("@")[0]
    line = f"{of_databricks} --ran-on {ran_on}"
    found = answer(capsys, f"{command} {line} --instance {name}")
    asked = f"recommend {line} --deadline 4m --instances {name} --min-nodes 2 --max-nodes 2"
    assert found["catalog"]["name"] == catalog
    usd = found["cost_usd"] if "cost_usd" in found else found["points"][0]["cost_usd"]
    assert usd == pytest.approx(answer(capsys, asked)["recommended"]["cost_usd"], rel=1e-6)
    assert "prices-of-where-it-ran" in {warning["code"] for warning in found["warnings"]}


NO_DBUS = "the price of DBUs is not in it: catalog azure-databricks has them"


@pytest.mark.parametrize(
    "where",
    ["--ran-on Standard_D4ds_v5@azure", "--ran-on Standard_D4ds_v5 --catalog azure"],
)
@pytest.mark.parametrize(
    "command",
    [
        "predict --nodes 2 --instance Standard_D4ds_v5", "predict --nodes 2",
        "predict --nodes 2 --instance Standard_D4s_v6", "predict --composition Standard_D4ds_v5=2",
        "curve --over nodes --nodes 2:3 --instance Standard_D4ds_v5",
        "recommend --deadline 4m --instances Standard_D4ds_v5",
        "fleet --deadline 4m --instances Standard_D4ds_v5 --json",
    ],
)  # fmt: skip
def test_what_ran_on_databricks_is_told_that_a_price_has_no_dbus(
    where: str, command: str, of_databricks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only with --platform databricks; else "master $0.00118" stood there as if that were all."""
    name, *rest = command.split(maxsplit=1)
    said, _ = run(capsys, f"{name} {of_databricks} {where} {rest[0]}")
    assert said.count(NO_DBUS) == 1
    on_kubernetes, _ = run(
        capsys, f"{name} {of_databricks} {where} {rest[0]} --platform kubernetes"
    )
    assert NO_DBUS not in on_kubernetes
    elsewhere, _ = run(capsys, f"{name} {LOG} {where} {rest[0]}")
    assert NO_DBUS not in elsewhere


def test_the_planner_tells_too_that_a_price_has_no_dbus(of_databricks: Path) -> None:
    state = PlanState(
        sources=(str(of_databricks),), ran_on="Standard_D4ds_v5", catalog="azure",
        instances=("Standard_D4ds_v5",), max_nodes=2, mix=1,
    )  # fmt: skip
    session = EngineSession()
    built = session.build(state, lambda _: None)
    assert built.catalog.billing.platform_note == NO_DBUS
    assert session.build(state, lambda _: None).catalog is built.catalog
    other = session.build(replace(state, sources=(LOG,)), lambda _: None)
    assert other.catalog.billing.platform_note is None


@pytest.mark.parametrize("where", ["of_databricks", "--ran-on n2-standard-4"])
def test_a_service_that_an_export_is_for_is_planned_for(
    where: str, of_databricks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was refused: the answer was for where the job ran."""
    source = str(of_databricks) if where == "of_databricks" else f"{LOG} {where}"
    line = f"export {source} --deadline 10m --max-nodes 4 --to emr"
    assert answer(capsys, line)["catalog"]["name"] == "aws"
    assert "aws emr create-cluster" in run(capsys, line)[0]


@pytest.fixture
def of_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The log's profile, as two executors on Kubernetes would have written it."""
    path = tmp_path / "pods.yaml"
    told, _ = run(capsys, f"profile {LOG}")
    told = told.replace("local-cluster[2,1,1024]", "k8s").replace("nodes: 1", "nodes: 2")
    path.write_text(told, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("to", "planned"),
    [
        ("spark-submit", True), ("kubernetes", True), ("emr", False), ("terraform", False),
        ("databricks", False),
    ],
)  # fmt: skip
def test_pods_are_planned_as_pods_but_for_a_cluster_of_a_service(
    to: str, planned: bool, of_pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"export {of_pods} --ran-on m5.xlarge --deadline 10m --max-nodes 4 --to {to}"
    found = answer(capsys, line)
    parts = found["recommended"]["cost"]
    assert (parts["surcharge_usd"] == 0.0) == planned
    said = " ".join(parts["assumptions"])
    assert ("on kubernetes: the catalog's managed service is not paid for" in said) == planned


def test_a_catalog_named_with_the_type_outweighs_pods(
    of_pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The price was refused, as of Kubernetes, which nobody had named."""
    asked = f"recommend {of_pods} --deadline 4m --max-nodes 1 --instances Standard_D8s_v3"
    named = f"{asked} --ran-on Standard_D8s_v3@azure-databricks"
    other = f"{asked} --ran-on Standard_D8s_v3 --catalog azure-databricks"
    for price in ("", "--dbu-price premium-jobs"):
        found = [answer(capsys, f"{line} {price}")["recommended"] for line in (named, other)]
        assert found[0]["cost"]["dbu_usd"] == found[1]["cost"]["dbu_usd"] > 0.0
    told = refused(capsys, f"{asked} --ran-on Standard_D8s_v3 --dbu-price premium-jobs")
    assert "catalog azure meters no DBUs" in told
    assert "kubernetes" not in told


def test_pods_as_measured_have_no_cost_until_nodes_are_named(
    of_pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two pods of one core counted as two nodes of sixteen, and cost as much."""
    line = f"predict {of_pods} --ran-on m5.4xlarge"
    measured, named = answer(capsys, line), answer(capsys, f"{line} --nodes 1")
    assert measured["cost_usd"] is None
    assert measured["seconds"] > 0.0
    assert "name nodes (--nodes N --instance TYPE)" in run(capsys, line)[0]
    assert named["cost_usd"] > 0.0
    assert (named["executors"], named["layout"]["executors_per_node"]) == (16, 16)


def test_pods_that_are_told_as_nodes_alone_are_executors(
    of_pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer was that the type of the nodes is not known, which --ran-on named."""
    line = f"predict {of_pods} --ran-on m5.4xlarge"
    measured = answer(capsys, line)
    told = of_pods.read_text(encoding="utf-8")
    without = re.sub(r"(?m)^  executors: .*\n", "", told)
    assert without != told
    of_pods.write_text(without, encoding="utf-8")
    assert answer(capsys, line) == measured
    without = re.sub(r"(?m)^  executor_cores: .*\n", "", without)
    of_pods.write_text(without, encoding="utf-8")
    assert "how many cores the pods had is not known; add --nodes N" in refused(capsys, line)


OTHER_SERVICE = "prices-of-another-service"


@pytest.mark.parametrize(
    "line",
    [
        "predict {} --nodes 2 --instance m5.xlarge",
        "predict {} --composition m5.xlarge=2",
        "curve {} --instance m5.xlarge --over nodes --nodes 1:2",
        "recommend {} --deadline 10m --max-nodes 2 --instances m5.xlarge",
        "fleet {} --deadline 10m --max-nodes 2 --instances m5.xlarge",
        "export {} --deadline 10m --max-nodes 2 --instances m5.xlarge --to spark-submit",
        "experiments {} --deadline 10m --nodes 1:2 --instances m5.xlarge",
        "workflow {workflow} --nodes 2 --instance m5.xlarge",
        "workflow recommend {workflow} --deadline 10m --max-nodes 2 --instances m5.xlarge",
    ],
)
def test_every_command_says_that_another_service_is_priced(
    line: str, of_databricks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The catalog that is named has the prices of EMR, and nothing said so."""
    workflow = workflow_of(of_databricks)
    asked = f"{line.format(of_databricks, workflow=workflow)} --ran-on m5.xlarge"
    _, err = run(capsys, f"{asked} --catalog aws")
    assert err.count("the runs were on Databricks; prices and the memory of executors are") == 1
    for meant in ("--catalog aws --platform databricks", "--catalog aws --platform emr", ""):
        assert "the runs were on Databricks" not in run(capsys, f"{asked} {meant}")[1]


@pytest.mark.parametrize(
    "asked", ["{} --nodes 2 --instance m5.xlarge", "recommend {} --deadline 10m --max-nodes 2"]
)
def test_a_workflow_has_the_prices_of_where_its_jobs_ran(
    asked: str, of_databricks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no runs of its own, and was given EMR's surcharge."""
    line = f"workflow {asked.format(workflow_of(of_databricks))}"
    found, err = run(capsys, line)
    assert err.count("executors are planned for Databricks") == 1
    assert "surcharge" not in found
    assert found.count(NO_DBUS) == 1
    assert "surcharge" in run(capsys, f"{line} --platform emr")[0]


def test_another_service_stands_before_what_is_said_of_most_answers(
    of_databricks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"recommend {of_databricks} --ran-on m5.xlarge --deadline 10m --max-nodes 2"
    found = answer(capsys, f"{line} --catalog aws")
    codes = [warning["code"] for warning in found["recommended"]["warnings"] + found["warnings"]]
    assert codes.count(OTHER_SERVICE) == 1
    assert codes.index(OTHER_SERVICE) < codes.index("single-run")
