"""What executors had beside their heap, held against what a recommendation leaves for it."""

import pytest
from pitfall_logs import DATA, PUBLIC, codes, notice, one
from shared import needs_shared

from engine.cluster import BesideHeap
from engine.sources.distilling.beside_heap import requested_beside_heap
from engine.sources.logs.application import Application

CODE = "more-beside-heap"


def application(version: str = "3.5.1", **settings: str) -> Application:
    found = Application()
    found.version = version
    found.properties = {f"spark.{key.replace('_', '.')}": value for key, value in settings.items()}
    return found


def test_overhead_python_and_off_heap_of_real_executors() -> None:
    """2 GiB, 512 MiB and 64 MiB."""
    text = notice(one(DATA / "overhead.zstd"), CODE)
    assert text.startswith("each executor had 2.56 GiB beside its heap of 0.5 GiB")
    assert "(overhead, Python, off-heap): inferred from that, at least 2.56 GiB per core" in text


@needs_shared
def test_a_public_log() -> None:
    run = one(PUBLIC / "spark-rapids-tools/rp_nosql_eventlog")
    assert "had 8 GiB beside its heap of 6 GiB" in notice(run, CODE)


def test_executors_with_the_default_are_not_pointed_out() -> None:
    assert CODE not in codes(one(DATA / "plain.zstd"))


@pytest.mark.parametrize(
    ("version", "settings", "found"),
    [
        ("3.5.1", {}, None),
        ("3.5.1", {"executor_memoryOverhead": "3g"}, BesideHeap(3.0)),
        ("3.5.1", {"executor_memoryOverhead": "512"}, None),
        ("3.5.1", {"executor_memoryOverhead": "1024m"}, None),
        ("3.5.1", {"executor_memoryOverhead": "1025m"}, BesideHeap(1025 / 1024)),
        ("2.2.0", {"yarn_executor_memoryOverhead": "2048"}, BesideHeap(2.0)),
        ("3.2.0", {"kubernetes_memoryOverheadFactor": "0.4"}, BesideHeap(4.0)),
        ("3.5.1", {"executor_memoryOverheadFactor": "0.1875"}, None),
        ("3.5.1", {"executor_memoryOverheadFactor": "nan"}, None),
        ("3.5.1", {"executor_memoryOverhead": "much"}, None),
        ("3.5.1", {"executor_pyspark_memory": "2g"}, BesideHeap(None, 2.0)),
        (
            "3.5.1",
            {"memory_offHeap_enabled": "true", "memory_offHeap_size": "2g"},
            BesideHeap(off_heap_gib=2.0),
        ),
        (
            "3.5.1",
            {"memory_offHeap_enabled": "true", "memory_offHeap_size": "1073741824"},
            BesideHeap(off_heap_gib=1.0),
        ),
        ("3.5.1", {"memory_offHeap_size": "2g"}, None),
        ("2.4.8", {"memory_offHeap_enabled": "true", "memory_offHeap_size": "2g"}, None),
    ],
)
def test_what_settings_say(
    version: str, settings: dict[str, str], found: BesideHeap | None
) -> None:
    assert requested_beside_heap(application(version, **settings), 10.0) == found


def test_nothing_is_said_where_there_is_no_container() -> None:
    wanted = {"executor_memoryOverhead": "9g"}
    assert requested_beside_heap(application(**wanted), 1.0)
    assert requested_beside_heap(application(**wanted), None) is None
    assert requested_beside_heap(application(master="local[2]", **wanted), 1.0) is None
