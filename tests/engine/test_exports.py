import json
import shlex

import pytest

from engine.catalog import InstanceType, MemoryRule
from engine.cluster import Layout
from engine.errors import BadInput, UnknownName
from engine.exports import EXPORTS, render
from engine.exports.base import Handover, heap_mib, overhead_mib
from engine.memory import layout_of, usable_memory_gib


def handover(**changes: object) -> Handover:
    given: dict[str, object] = {
        "application": "nightly",
        "composition": {"r5.2xlarge": 14},
        "executors": 28,
        "layout": Layout(2, 4, 22.5),
        "statement": ("14 x r5.2xlarge", "predicted time 41m"),
        "provider": "aws",
        "region": "us-east-1",
        "master": "m5.xlarge",
        "node_memory_gib": 56.0,
    }
    return Handover(**{**given, **changes})  # type: ignore[arg-type]


def words(text: str) -> list[str]:
    """The command of an export as a shell splits it, comments left out."""
    return shlex.split(text.replace("\\\n", " "), comments=True)


@pytest.mark.parametrize("target", EXPORTS, ids=lambda target: target.name)
def test_every_export_says_what_was_predicted(target: object) -> None:
    text = target.render(handover())  # type: ignore[attr-defined]
    assert "# 14 x r5.2xlarge" in text
    assert text.endswith("\n")


@pytest.mark.parametrize("target", EXPORTS, ids=lambda target: target.name)
def test_text_from_a_log_cannot_leave_its_comment(target: object) -> None:
    text = target.render(  # type: ignore[attr-defined]
        handover(application="x'; rm -rf /\n", statement=("a\nrm -rf /", "b\x1b[31m"))
    )
    assert "\x1b" not in text
    assert not any(line.startswith("rm") for line in text.splitlines())
    assert "rm" not in words(text)


def test_spark_submit_takes_the_layout_apart() -> None:
    said = words(render(handover(), to="spark-submit"))
    assert said[0] == "spark-submit"
    options = dict(zip(said[1::2], said[2::2], strict=False))
    assert options["--num-executors"] == "28"
    assert options["--executor-cores"] == "4"
    assert options["--executor-memory"] == "23040m"
    assert "spark.executor.memoryOverhead=2304m" in said


def test_spark_defaults_is_one_setting_per_line() -> None:
    lines = render(handover(shuffle_partitions=400), to="spark-defaults").splitlines()
    settings = dict(line.split(maxsplit=1) for line in lines if not line.startswith("#"))
    assert settings["spark.executor.instances"] == "28"
    assert settings["spark.sql.shuffle.partitions"] == "400"
    assert settings["spark.dynamicAllocation.enabled"] == "false"


def test_emr_groups_and_configurations_are_what_emr_reads() -> None:
    said = words(render(handover(), to="emr"))
    assert said[:3] == ["aws", "emr", "create-cluster"]
    assert "InstanceGroupType=MASTER,InstanceCount=1,InstanceType=m5.xlarge" in said
    assert "InstanceGroupType=CORE,InstanceCount=14,InstanceType=r5.2xlarge" in said
    configured = json.loads(said[said.index("--configurations") + 1])
    by_name = {entry["Classification"]: entry["Properties"] for entry in configured}
    assert by_name["yarn-site"]["yarn.nodemanager.resource.memory-mb"] == str(56 * 1024)
    assert by_name["spark-defaults"]["spark.executor.memory"] == "23040m"


def test_a_target_that_cannot_express_a_recommendation_says_so() -> None:
    with pytest.raises(BadInput, match="unlike nodes"):
        render(handover(composition={"a": 1, "b": 2}), to="emr")
    with pytest.raises(BadInput, match="runs on AWS"):
        render(handover(provider="azure"), to="emr")
    with pytest.raises(BadInput, match="no provider"):
        render(handover(composition={}, provider=None, region=None), to="emr")


def test_an_unknown_target_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="spark-submit"):
        render(handover(), to="spark-submitt")


def test_unknown_memory_is_left_to_the_user_and_said() -> None:
    text = render(handover(layout=Layout(2, 4)), to="spark-submit")
    assert "--executor-memory" not in text
    assert "executor memory: not known" in text


@pytest.mark.parametrize("gib", [8.0, 16.0, 31.0, 64.0, 256.0])
def test_what_is_written_fits_the_node_beside_the_application_master(gib: float) -> None:
    rule = MemoryRule("emr-yarn")
    layout = layout_of(InstanceType("x", 8, gib), rule)
    assert layout is not None
    heap = heap_mib(layout)
    assert heap is not None
    used = layout.executors_per_node * (heap + overhead_mib(heap))
    assert used + 896 <= usable_memory_gib(gib, rule) * 1024 + layout.executors_per_node
