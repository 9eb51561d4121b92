"""Exports before the parsers of their targets: spark-submit itself, and what Terraform's providers
take by the documentation of their resources."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from handovers_made import handover, words
from real_spark import SHORT_LIVED, spark_home
from test_exports import resources

from engine.exports import render

HOME = spark_home()

CASES = {
    "one type": {},
    "spot": {"spot": True},
    "part spot": {"spot": True, "part_spot": {"r5.2xlarge": 6}},
    "mix": {"composition": {"m5.large": 3, "r5.2xlarge": 14}},
    "mix, part spot": {
        "composition": {"m5.large": 3, "r5.2xlarge": 14},
        "spot": True,
        "part_spot": {"r5.2xlarge": 8},
    },
    "owned": {"statement": ("r5.2xlarge: 3 nodes are owned and cost nothing here",)},
}


def submitted(folder: Path, **changes: Any) -> str:
    """What Spark says of both exports: it parses all options, prints them, and ends as there is no
    such class."""
    command = words(
        render(
            handover(settings={"spark.sql.shuffle.partitions": "400"}, **changes), to="spark-submit"
        )
    )
    defaults = folder / "spark-defaults.conf"
    defaults.write_text(render(handover(**changes), to="spark-defaults"))
    options = [
        *command[1:-1], "--verbose", "--master", "local[1]", "--properties-file", str(defaults),
        "--class", "no.such.Class", "spark-internal",
    ]  # fmt: skip
    ran = subprocess.run(
        [str(HOME / "bin" / "spark-submit"), *options],
        env={**os.environ, **SHORT_LIVED, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said = ran.stdout + ran.stderr
    assert "Failed to load class no.such.Class" in said
    assert "Unrecognized option" not in said
    return said


@pytest.mark.skipif(HOME is None, reason="no Spark on this machine")
def test_spark_submit_reads_what_is_written(tmp_path: Path) -> None:
    said = submitted(tmp_path, **CASES["owned"])
    parsed = dict(
        line.split(maxsplit=1) for line in said.splitlines() if len(line.split(maxsplit=1)) == 2
    )
    assert parsed["numExecutors"] == "28"
    assert parsed["executorCores"] == "4"
    assert parsed["executorMemory"] == "23040m"
    assert "spark.executor.memoryOverhead,2304m" in said
    assert "spark.sql.shuffle.partitions,400" in said


@pytest.mark.parametrize("target", ["spark-submit", "spark-defaults"])
def test_how_nodes_are_rented_is_nothing_to_spark(target: str) -> None:
    """So that what it reads of one case, it reads of all of them."""
    texts = [render(handover(**case), to=target) for case in CASES.values()]
    settings = {"\n".join(line for line in text.splitlines() if line[:1] != "#") for text in texts}
    assert len(settings) == 1


@pytest.mark.skipif(HOME is None, reason="no Spark on this machine")
def test_spark_submit_reads_the_bounds_of_executors(tmp_path: Path) -> None:
    said = submitted(tmp_path, dynamic_allocation=(2, 40))
    for key, value in {
        "enabled": "true", "minExecutors": 2, "initialExecutors": 28, "maxExecutors": 40,
        "shuffleTracking.enabled": "true",
    }.items():  # fmt: skip
        assert f"spark.dynamicAllocation.{key},{value}" in said


FLEET = {
    "target_on_demand_capacity": int,
    "target_spot_capacity": int,
    "instance_type_configs!": {
        "instance_type!": str,
        "weighted_capacity": int,
        "configurations": {"classification": str, "properties": dict},
    },
    "launch_specifications": {
        "spot_specification": {
            "allocation_strategy!": str,
            "timeout_action!": str,
            "timeout_duration_minutes!": int,
        }
    },
}
GROUP = {"instance_type!": str, "instance_count": int}
RENTED = {"availability": str, "first_on_demand": int}
SCHEMA: dict[str, dict[str, Any]] = {
    "aws_emr_cluster": {
        "name!": str,
        "release_label!": str,
        "applications": list,
        "service_role!": str,
        "ec2_attributes": {"instance_profile!": str},
        "configurations_json": str,
        "auto_termination_policy": {"idle_timeout": int},
        "master_instance_group": GROUP,
        "core_instance_group": GROUP,
        "master_instance_fleet": FLEET,
        "core_instance_fleet": FLEET,
    },
    "aws_emr_instance_fleet": {"cluster_id!": str, **FLEET},
    "google_dataproc_cluster": {
        "name!": str,
        "region": str,
        "cluster_config": {
            "master_config": {"num_instances": int, "machine_type": str},
            "worker_config": {"num_instances": int, "machine_type": str},
            "preemptible_worker_config": {"num_instances": int, "preemptibility": str},
            "software_config": {"image_version": str, "override_properties": dict},
            "lifecycle_config": {"idle_delete_ttl": str},
        },
    },
    "databricks_cluster": {
        "cluster_name": str,
        "spark_version!": str,
        "node_type_id": str,
        "driver_node_type_id": str,
        "num_workers": int,
        "autotermination_minutes": int,
        "runtime_engine": str,
        "spark_conf": dict,
        "azure_attributes": RENTED,
    },
}
"""The arguments of the providers' resources that may occur here, written down by hand: no provider
is installed. "!" marks those that must be there, a dict is a nested block. The providers' schemas,
as Terraform's CDK packages them, say the same (@cdktf/provider-aws 21.22.1, -google 16.12.1,
-databricks 15.16.1)."""


def check(block: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    known = {name.removesuffix("!"): kind for name, kind in schema.items()}
    needed = {name.removesuffix("!") for name in schema if name.endswith("!")}
    arguments = {name: value for name, value in block.items() if not name.startswith("__")}
    assert needed <= set(arguments), where
    for name, value in arguments.items():
        assert name in known, f"{where}.{name}"
        kind = known[name]
        if isinstance(kind, dict):
            blocks = value if isinstance(value, list) else [value]
            assert len(blocks) == 1
            check(blocks[0], kind, f"{where}.{name}")
        elif kind is dict:
            plain = value[0] if isinstance(value, list) else value
            assert all(isinstance(text, str) for text in plain.values())
        else:
            assert isinstance(value, kind), f"{where}.{name}"


def formatted(text: str) -> str:
    """The text as `terraform fmt` writes it, which refuses what is no HCL."""
    ran = subprocess.run(
        ["terraform", "fmt", "-no-color", "-"],
        input=text, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.skipif(shutil.which("terraform") is None, reason="no Terraform on this machine")
@pytest.mark.parametrize(
    "name", ["日本語 😀", "C:\\jobs\\", '"${file(1)}" %{if} $${x}', "a'b`id` # }"]
)
@pytest.mark.parametrize("provider", ["aws", "gcp", "azure"])
def test_terraform_reads_any_name(name: str, provider: str) -> None:
    text = render(handover(application=name, provider=provider), to="terraform")
    assert formatted(text) == text


@pytest.mark.skipif(shutil.which("terraform") is None, reason="no Terraform on this machine")
@pytest.mark.parametrize("case", list(CASES))
def test_terraform_is_laid_out_as_terraform_does(case: str) -> None:
    """So that a check of a repository's format has nothing to say."""
    text = render(handover(**CASES[case]), to="terraform")
    assert formatted(text) == text


@pytest.mark.parametrize("case", list(CASES))
def test_terraform_takes_every_argument(case: str) -> None:
    for kind, block in resources(render(handover(**CASES[case]), to="terraform")).items():
        check(block, SCHEMA[kind], kind)
        if kind == "aws_emr_cluster":  # groups and fleets exclude each other
            held = {name.rsplit("_", 1)[1] for name in block if "_instance_" in name}
            assert len(held) == 1
    only = {**CASES[case], "composition": {"r5.2xlarge": 14}}
    part = only.get("part_spot") or ({"r5.2xlarge": 4} if only.get("spot") else None)
    for provider in ("gcp", "azure"):
        said = render(handover(**{**only, "provider": provider, "part_spot": part}), to="terraform")
        for kind, block in resources(said).items():
            check(block, SCHEMA[kind], kind)
