"""Settings by what reads them: the Spark that the job ran with, and the master."""

import pytest
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
