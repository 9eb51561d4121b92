import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import memory
from engine.catalog import InstanceType, MemoryRule
from engine.cluster import LEAST_HEAP_GIB, BesideHeap

EMR = MemoryRule("emr-yarn")


RULES = [EMR, MemoryRule(), *(MemoryRule(kind) for kind in ("yarn", "kubernetes", "standalone"))]


@pytest.mark.parametrize(
    ("node_gib", "yarn_mb"), [(16.0, 12288), (64.0, 57344), (8.0, 6144), (32.0, 24576)]
)
def test_emrs_published_yarn_memory(node_gib: float, yarn_mb: int) -> None:
    node = InstanceType("m5.x", 4, node_gib, generation=5)
    assert memory.usable_memory_gib(node, EMR) * 1024 == pytest.approx(yarn_mb)


@pytest.mark.parametrize(("name", "generation"), [("r6g.x", 6), ("c5a.x", 5), ("m7i.x", 7)])
def test_emr_counts_with_less_memory_on_newer_types(name: str, generation: int) -> None:
    small = InstanceType(name, 4, 16.0, generation=generation)
    large = InstanceType(name, 64, 512.0, generation=generation)
    assert memory.usable_memory_gib(small, EMR) == pytest.approx(0.75 * 16.0 * 61 / 64)
    assert memory.usable_memory_gib(large, EMR) == pytest.approx(512.0 * 61 / 64 - 8.0)


@pytest.mark.parametrize(
    ("node_gib", "reserved_gib"),
    [(4.0, 1.0), (8.0, 1.8), (16.0, 2.6), (128.0, 9.32), (256.0, 11.88)],
)
def test_kubernetes_reserves_memory_by_the_published_tiers(
    node_gib: float, reserved_gib: float
) -> None:
    assert memory.tiered(node_gib, memory.KUBELET_TIERS) == pytest.approx(reserved_gib)
    left = memory.usable_memory_gib(InstanceType("x", 4, node_gib), MemoryRule("kubernetes"))
    assert left == pytest.approx(node_gib - reserved_gib - 100 / 1024 - 0.25)


@pytest.mark.parametrize(("vcpus", "millis"), [(1, 60), (2, 70), (4, 80), (8, 90), (96, 310)])
def test_kubernetes_reserves_cpus_by_the_published_shares(vcpus: int, millis: float) -> None:
    assert 1000 * memory.tiered(vcpus, memory.KUBELET_CORES) == pytest.approx(millis)


@pytest.mark.parametrize(
    ("vcpus", "millis"),
    [(1, 60), (2, 100), (4, 140), (8, 180), (16, 260), (32, 420), (64, 740)],
)
def test_aks_reserves_cpus_by_its_published_table(vcpus: int, millis: float) -> None:
    """And pods that fill a node are placed there too."""
    assert 1000 * memory.tiered(vcpus, memory.AKS_CORES) == pytest.approx(millis)
    pods = max(1, vcpus // 4)
    assert 1000 * pods * memory.requested_cores(vcpus, pods) <= 1000 * vcpus - millis


def test_karpenters_allocatable_memory_is_not_exceeded() -> None:
    """i3.xlarge by a public table of allocatable figures: 3920m, 27896Mi of 4 and 31232 MiB."""
    node = InstanceType("i3.xlarge", 4, 30.5)
    usable = memory.usable_memory_gib(node, MemoryRule("kubernetes"))
    assert 0.9 * 27896 < usable * 1024 <= 27896
    assert memory.requested_cores(4, 1) <= 3.92


def test_pods_of_one_node_are_all_placed() -> None:
    for vcpus, executors in [(4, 1), (8, 2), (96, 24)]:
        asked = executors * memory.requested_cores(vcpus, executors)
        assert asked <= vcpus - memory.tiered(vcpus, memory.KUBELET_CORES)


@pytest.mark.parametrize(
    ("vcpus", "pods", "millis"), [(4, 1, 3660), (8, 2, 3810), (2, 1, 1700), (96, 24, 3947.5)]
)
def test_what_a_pod_may_request(vcpus: int, pods: int, millis: float) -> None:
    """A node's CPUs without the largest published reservation, that of AKS, and 0.2 for the pods of
    every node."""
    assert 1000 * memory.requested_cores(vcpus, pods) == pytest.approx(millis)


def test_the_least_heap_that_spark_takes_is_enough() -> None:
    """450 MiB beside 384 of overhead, on a node of which a standalone worker keeps 1,024."""
    least = InstanceType("least", 1, (450 + 384 + 1024) / 1024)
    layout = memory.layout_of(least, MemoryRule("standalone"))
    assert layout.executor_memory_gib == LEAST_HEAP_GIB


def test_a_node_of_eight_cores_holds_two_executors_of_four() -> None:
    layout = memory.layout_of(InstanceType("m5.2xlarge", 8, 32.0), EMR)
    assert (layout.executors_per_node, layout.executor_cores) == (2, 4)


@pytest.mark.parametrize("cores", [1, 2])
def test_small_nodes_get_an_executor_of_all_their_cores(cores: int) -> None:
    layout = memory.layout_of(InstanceType("small", cores, 4.0 * cores), MemoryRule())
    assert (layout.executors_per_node, layout.executor_cores) == (1, cores)


@pytest.mark.parametrize("shape", [(0.5, 4.0), (2, 0.5)])
def test_a_node_that_holds_no_executor_has_no_layout(shape: tuple[float, float]) -> None:
    assert memory.layout_of(InstanceType("tiny", *shape), MemoryRule()) is None


@given(st.integers(1, 200), st.floats(0.5, 4000.0), st.sampled_from(RULES))
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
    assert used <= memory.usable_memory_gib(InstanceType("x", vcpus, gib), rule) + 1e-9
    assert heap >= LEAST_HEAP_GIB
    assert layout.executors_per_node * layout.executor_cores <= vcpus


@given(st.floats(0.1, 1000.0))
def test_a_heap_and_its_overhead_fill_the_container(heap_gib: float) -> None:
    """Spark asks for the heap and max(10 %, 384 MiB) more."""
    container = heap_gib + max(0.1 * heap_gib, 0.375)
    assert memory.heap_gib(container) == pytest.approx(heap_gib)


@pytest.mark.parametrize("kind", ["yarn", "standalone"])
def test_the_system_keeps_a_gibibyte(kind: str) -> None:
    node = InstanceType("x", 4, 16.0)
    assert memory.usable_memory_gib(node, MemoryRule(kind)) == 15.0


def test_memory_of_blocks_and_execution() -> None:
    """Spark's own account of a 4 GiB heap, 0.6 x (4096 - 300) MiB, and of one below its reserve."""
    found = memory.unified_memory_gib(np.array([4.0, 0.25]), heap_seen=1.0)
    assert found * 1024 == pytest.approx([0.6 * 3796, 0.0])
    assert memory.unified_memory_gib(np.array([4.0]), fraction=0.5) * 1024 == pytest.approx(
        0.5 * (0.95 * 4096 - 300)
    )


def test_yarn_hands_out_whole_gibibytes_beside_its_master() -> None:
    """Of 15 GiB the master's 896 MiB take a whole one."""
    node, yarn = InstanceType("x", 4, 16.0), MemoryRule("yarn")
    assert [memory.container_gib(node, yarn, executors) for executors in (1, 4)] == [14.0, 3.0]


def test_an_overhead_that_was_asked_for_leaves_less_heap() -> None:
    assert memory.heap_gib(10.0, BesideHeap(overhead_gib=2.0)) == 8.0
    small = memory.heap_gib(10.0, BesideHeap(overhead_gib=0.1))
    assert small == memory.heap_gib(10.0), "less than Spark's default is none"
