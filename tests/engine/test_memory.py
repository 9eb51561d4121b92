import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import memory
from engine.catalog import InstanceType, MemoryRule

EMR = MemoryRule("emr-yarn")


@pytest.mark.parametrize(
    ("node_gib", "yarn_mb"), [(16.0, 12288), (64.0, 57344), (8.0, 6144), (32.0, 24576)]
)
def test_emrs_published_yarn_memory(node_gib: float, yarn_mb: int) -> None:
    assert memory.usable_memory_gib(node_gib, EMR) * 1024 == pytest.approx(yarn_mb)


def test_a_node_of_eight_cores_holds_two_executors_of_four() -> None:
    layout = memory.layout_of(InstanceType("m5.2xlarge", 8, 32.0), EMR)
    assert layout is not None
    assert (layout.executors_per_node, layout.executor_cores) == (2, 4)


def test_small_nodes_get_executors_of_all_their_cores() -> None:
    layout = memory.layout_of(InstanceType("two", 2, 8.0), MemoryRule())
    assert layout is not None
    assert (layout.executors_per_node, layout.executor_cores) == (1, 2)


@pytest.mark.parametrize("shape", [(0.5, 4.0), (2, 0.5)])
def test_a_node_that_holds_no_executor_has_no_layout(shape: tuple[float, float]) -> None:
    assert memory.layout_of(InstanceType("tiny", *shape), MemoryRule()) is None


@given(st.integers(1, 200), st.floats(0.5, 4000.0), st.sampled_from([EMR, MemoryRule()]))
def test_heaps_and_overheads_fit_the_usable_memory(
    vcpus: int, gib: float, rule: MemoryRule
) -> None:
    layout = memory.layout_of(InstanceType("x", vcpus, gib), rule)
    if layout is None:
        return
    assert layout.executor_memory_gib is not None
    heap = layout.executor_memory_gib
    overhead = max(memory.OVERHEAD_FRACTION * heap, memory.OVERHEAD_MINIMUM_GIB)
    used = layout.executors_per_node * (heap + overhead)
    assert used <= memory.usable_memory_gib(gib, rule) + 1e-9
    assert heap >= memory.HEAP_MINIMUM_GIB
    assert layout.executors_per_node * layout.executor_cores <= vcpus
