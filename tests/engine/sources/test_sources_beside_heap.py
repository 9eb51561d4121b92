"""What executors had beside their heap, held against what a recommendation leaves for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pitfall_logs import DATA, PUBLIC, codes, notice, one

from engine.sources.application import Application
from engine.sources.beside_heap import beside_heap_gib, more_beside_heap

sys.path.insert(0, str(Path(__file__).parents[2]))
from shared import needs_shared

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


@needs_shared
def test_a_public_log() -> None:
    run = one(PUBLIC / "spark-rapids-tools/rp_nosql_eventlog")
    assert "had 8 GiB beside its heap of 6 GiB" in notice(run, CODE)


def test_executors_with_the_default_are_not_pointed_out() -> None:
    assert CODE not in codes(one(DATA / "plain.zstd"))


@pytest.mark.parametrize(
    ("version", "settings", "gib"),
    [
        ("3.5.1", {}, 1.0),
        ("3.5.1", {"executor_memoryOverhead": "3g"}, 3.0),
        ("3.5.1", {"executor_memoryOverhead": "512"}, 0.5),
        ("2.2.0", {"yarn_executor_memoryOverhead": "2048"}, 2.0),
        ("3.2.0", {"kubernetes_memoryOverheadFactor": "0.4"}, 4.0),
        ("3.5.1", {"executor_memoryOverheadFactor": "0.2"}, 2.0),
        ("3.5.1", {"executor_memoryOverheadFactor": "nan"}, 1.0),
        ("3.5.1", {"executor_memoryOverhead": "much"}, 1.0),
        ("3.5.1", {"executor_pyspark_memory": "2g"}, 3.0),
        ("3.5.1", {"memory_offHeap_enabled": "true", "memory_offHeap_size": "2g"}, 3.0),
        ("3.5.1", {"memory_offHeap_enabled": "true", "memory_offHeap_size": "1073741824"}, 2.0),
        ("3.5.1", {"memory_offHeap_size": "2g"}, 1.0),
        ("2.4.8", {"memory_offHeap_enabled": "true", "memory_offHeap_size": "2g"}, 1.0),
    ],
)
def test_what_settings_say(version: str, settings: dict[str, str], gib: float) -> None:
    assert beside_heap_gib(application(version, **settings), 10.0) == pytest.approx(gib)


def test_no_notice_where_there_is_no_container() -> None:
    wanted = {"executor_memoryOverhead": "9g"}
    assert more_beside_heap(application(**wanted), 1.0)
    assert not more_beside_heap(application(**wanted), None)
    assert not more_beside_heap(application(master="local[2]", **wanted), 1.0)
    assert not more_beside_heap(application(executor_memoryOverheadFactor="0.1875"), 10.0)
