"""Settings by what reads them: the Spark that the job ran with, and the master."""

import pytest
import yaml
from handovers_made import handover

from engine.cluster import BesideHeap, Layout
from engine.errors import BadInput
from engine.exports import render
from engine.exports.base import comments
from engine.sources.distilling.beside_heap import requested_beside_heap
from engine.sources.logs.application import Application

OLD, NEW = "spark.yarn.executor.memoryOverhead", "spark.executor.memoryOverhead"


def settings(**changes: object) -> dict[str, str]:
    text = render(handover(**changes), to="spark-defaults")
    return dict(line.split() for line in text.splitlines() if not line.startswith("#"))


@pytest.mark.parametrize("version", ["1.6.3", "2.2.1"])
def test_spark_before_2_3_is_told_the_overhead_by_its_old_name(version: str) -> None:
    """It does not know the new one, and a bare number of MiB is what all of them read."""
    layout = Layout(2, 4, 20.0, BesideHeap(overhead_gib=3.0))
    found = settings(layout=layout, spark_version=version)
    assert found[OLD] == "3072"
    assert NEW not in found


@pytest.mark.parametrize("version", ["2.3.0", "2.4.8", "3.5.1", "4.0.0", "10.1", None, "nightly"])
def test_later_and_unknown_ones_by_the_new_name(version: str | None) -> None:
    found = settings(layout=Layout(2, 4, 20.0), spark_version=version)
    assert found[NEW] == "2048m"
    assert OLD not in found


@pytest.mark.parametrize(
    ("version", "service"), [("2.4.8", True), ("1.6.0", True), ("3.0.0", False), (None, False)]
)
def test_dynamic_allocation_before_3_0_needs_the_shuffle_service(
    version: str | None, service: bool
) -> None:
    found = settings(dynamic_allocation=(2, 40), spark_version=version)
    assert (found.get("spark.shuffle.service.enabled") == "true") is service
    assert found["spark.dynamicAllocation.shuffleTracking.enabled"] == "true"
    assert "spark.shuffle.service.enabled" not in settings(spark_version=version)


AUTO = {"spark.sql.shuffle.partitions": "auto", "spark.sql.adaptive.enabled": "true"}


@pytest.mark.parametrize(
    ("to", "read"),
    [("spark-submit", False), ("spark-defaults", False), ("emr", False), ("kubernetes", False),
     ("databricks", True)],
)  # fmt: skip
def test_a_word_that_only_databricks_reads_goes_nowhere_else(to: str, read: bool) -> None:
    """Spark takes no number of partitions but numbers: each query would end with an error."""
    text = render(handover(settings=AUTO), to=to)
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert ("spark.sql.shuffle.partitions" in plain) is read
    assert ("[databricks-setting]" in text) is not read
    assert "spark.sql.adaptive.enabled" in plain
    (assumes,) = [line for line in text.splitlines() if "assumes:" in line]
    assert ("auto" in assumes) is read


@pytest.mark.parametrize("to", ["spark-submit", "spark-defaults"])
def test_a_command_for_any_spark_has_no_word_of_databricks_where_its_prices_are_for_that(
    to: str,
) -> None:
    text = render(handover(settings=AUTO, platform="databricks"), to=to)
    assert "[databricks-setting]" in text


def test_a_report_of_a_plan_for_databricks_has_its_words() -> None:
    for platform in ("databricks", "emr"):
        text = render(handover(settings=AUTO, platform=platform), to="markdown")
        assert ("spark.sql.shuffle.partitions auto" in text) is (platform == "databricks")


def test_the_drivers_memory_has_a_field_on_kubernetes_and_is_databricks_own_matter() -> None:
    asked = {"spark.driver.memory": "6g"}
    spec = yaml.safe_load(render(handover(settings=asked), to="kubernetes"))["spec"]
    assert spec["driver"]["memory"] == "6g"
    assert "sparkConf" not in spec
    assert yaml.safe_load(render(handover(), to="kubernetes"))["spec"]["driver"]["memory"] == "4g"
    assert "spark.driver.memory" not in render(handover(settings=asked), to="databricks")
    assert settings(settings=asked)["spark.driver.memory"] == "6g"


def test_a_standalone_master_is_told_the_cores_of_all_executors() -> None:
    """It reads no number of executors, and would give out all cores of a larger cluster."""
    assert settings(platform="standalone")["spark.cores.max"] == "112"
    owned = {"composition": {}, "provider": None, "region": None}
    assert settings(**owned, executors=3, layout=Layout(1, 5, 8.0))["spark.cores.max"] == "15"
    assert "spark.cores.max" not in settings(platform="yarn")
    bounded = settings(platform="standalone", dynamic_allocation=(2, 40))
    assert "spark.cores.max" not in bounded


@pytest.mark.parametrize(
    ("provider", "target", "instead"),
    [
        ("aws", "databricks", "choose emr"),
        ("azure", "databricks", "choose spark-submit"),
        ("gcp", "dataproc", "choose spark-submit"),
        ("gcp", "terraform", "choose spark-submit"),
    ],
)
def test_what_takes_a_mix_is_named(provider: str, target: str, instead: str) -> None:
    mix = handover(provider=provider, composition={"a": 3, "b": 2})
    with pytest.raises(BadInput, match=f"{instead}.*--mix 1"):
        render(mix, to=target)
    assert render(mix, to=instead.removeprefix("choose "))


@pytest.mark.parametrize(
    ("least", "heap_gib", "overhead_gib"),
    [
        ("2g", 4.0, 2.0),
        ("2048", 4.0, 2.0),
        ("384m", 4.0, None),
        ("2g", 30.0, None),
        ("?", 4.0, None),
    ],
)
def test_the_least_overhead_of_spark_4_is_an_amount(
    least: str, heap_gib: float, overhead_gib: float | None
) -> None:
    application = Application()
    application.properties["spark.executor.minMemoryOverhead"] = least
    beside = requested_beside_heap(application, heap_gib)
    assert (beside.overhead_gib if beside else None) == overhead_gib


def test_what_has_nothing_to_say_of_itself_is_still_written() -> None:
    assert comments(handover(statement=(), notices=())) == ""
    assert comments(handover(statement=("2 x m5.large", "no deadline"), notices=())) == (
        "# sparkplan: 2 x m5.large\n# no deadline"
    )
