import copy

import pandas as pd
import pytest

from engine.batch import ClusterBatch
from engine.catalog import InstanceType
from engine.cluster import Cluster, Layout, Workload, parse_heap_gib
from engine.errors import BadInput, EngineError
from engine.profile import Profile, Run


def run_on(cluster: Cluster, seconds: float = 60.0) -> Run:
    return Run(seconds=seconds, cluster=cluster, workload=Workload(input_bytes=1e9))


def test_a_cluster_of_executors_knows_its_slots_and_has_no_nodes() -> None:
    cluster = Cluster.of_executors(executors=64, executor_cores=2, executor_memory_gib=None)
    assert cluster.slots == 128
    assert cluster.nodes is None
    assert cluster.composition == {}


@pytest.mark.parametrize("heap_gib", [8 / 1024, 449.9 / 1024, 0.0, -1.0, float("nan")])
def test_executors_that_spark_does_not_start_are_refused(heap_gib: float) -> None:
    with pytest.raises(BadInput, match="needs at least 450 MiB; executor_memory_gib counts GiB"):
        Cluster.of_executors(executors=4, executor_cores=2, executor_memory_gib=heap_gib)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8", "8 MiB"), ("300m", "300 MiB"), ("471859199b", "449.9 MiB"), ("1k", "less than 1 MiB")],
)
def test_a_heap_below_what_spark_starts_is_refused(text: str, size: str) -> None:
    with pytest.raises(BadInput, match=r"at least 450 MiB; .* a bare number counts MiB") as refused:
        parse_heap_gib(text)
    assert refused.value.what.startswith(f"an executor of {size} is refused")


def test_the_least_heap_is_that_of_spark_to_the_byte() -> None:
    assert parse_heap_gib("450m") * 1024**3 == 471_859_200  # as INVALID_EXECUTOR_MEMORY says it
    assert parse_heap_gib("8192") == parse_heap_gib("8g") == 8.0


@pytest.mark.parametrize("nodes", [0, -1, 2.5, True])
def test_nodes_are_whole_and_at_least_one(nodes: int) -> None:
    with pytest.raises(BadInput):
        Cluster.of_nodes(instance_type="m5.xlarge", nodes=nodes)


@pytest.mark.parametrize("size", [0.0, -1.0, float("nan"), float("inf")])
def test_a_workload_refuses_sizes_that_mean_nothing(size: float) -> None:
    with pytest.raises(BadInput):
        Workload(input_bytes=size)


def test_a_given_shape_gets_the_default_layout() -> None:
    cluster = Cluster.of_nodes(
        instance_type="x", nodes=8, vcpus=4, memory_gib=16.0, price_usd_per_hour=0.2
    )
    batch = ClusterBatch.of([cluster], Profile("p"))
    assert batch.slots.tolist() == [32.0]
    assert batch.executor_memory_gib[0] > 0


def test_nodes_without_a_type_are_like_those_that_were_measured() -> None:
    measured = Cluster.of_nodes(instance_type=None, nodes=2).with_layout(Layout(3, 5, 8.0))
    profile = Profile("p", runs=(run_on(measured),))
    batch = ClusterBatch.of([Cluster.of_nodes(instance_type=None, nodes=4)], profile)
    assert batch.executors.tolist() == [12.0]
    assert batch.executor_cores.tolist() == [5.0]


def test_a_type_is_looked_up_in_the_profile() -> None:
    measured = Cluster.of_nodes(instance_type="c4.2xlarge", nodes=2, vcpus=8, memory_gib=15.0)
    profile = Profile("p", runs=(run_on(measured),))
    batch = ClusterBatch.of([Cluster.of_nodes(instance_type="c4.2xlarge", nodes=4)], profile)
    assert batch.slots.tolist() == [32.0]
    with pytest.raises(EngineError, match=r"c4\.2xlrge"):
        ClusterBatch.of([Cluster.of_nodes(instance_type="c4.2xlrge", nodes=4)], profile)


def test_many_clusters_share_their_types() -> None:
    def of(nodes: int) -> Cluster:
        return Cluster.of_nodes(instance_type="x", nodes=nodes, vcpus=4, memory_gib=16.0)

    batch = ClusterBatch.of([of(1), of(2), of(3)], Profile("p"))
    assert len(batch) == 3
    assert len(batch.types) == 1
    assert batch.nodes.tolist() == [1.0, 2.0, 3.0]


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("executors", [NAN, INF, "3", None])
def test_executors_that_are_no_number_are_refused_in_a_line(executors: int) -> None:
    with pytest.raises(BadInput, match="executors must be a whole number of at least 1"):
        Cluster.of_executors(executors=executors, executor_cores=2)


def test_a_type_is_named() -> None:
    with pytest.raises(BadInput, match="an instance type is a name, not 5"):
        Cluster.of_nodes(instance_type=5, nodes=4)
    with pytest.raises(BadInput, match="an instance type is a name, not ''"):
        Cluster.of_nodes(instance_type="", nodes=4)


@pytest.mark.parametrize("heap_gib", ["8g", True])
def test_a_heap_is_a_number_of_gib(heap_gib: float) -> None:
    with pytest.raises(BadInput, match=f"a heap is a number of GiB, not {heap_gib!r}"):
        Cluster.of_executors(executors=4, executor_cores=2, executor_memory_gib=heap_gib)


@pytest.mark.parametrize("heap_gib", [INF, 65_536.1])
def test_a_heap_is_one_that_a_machine_can_have(heap_gib: float) -> None:
    assert Cluster.of_executors(executors=4, executor_cores=2, executor_memory_gib=65_536.0)
    with pytest.raises(BadInput, match="no machine has a heap of more than 64 TiB"):
        Cluster.of_executors(executors=4, executor_cores=2, executor_memory_gib=heap_gib)


@pytest.mark.parametrize("value", [NAN, INF, -1.0, 0.0, "4"])
@pytest.mark.parametrize("name", ["vcpus", "memory_gib", "price_usd_per_hour"])
def test_a_shape_that_is_given_is_more_than_zero(name: str, value: float) -> None:
    shape = {"vcpus": 4, "memory_gib": 16.0, "price_usd_per_hour": 0.2, name: value}
    said = f"{name} must be (a number )?more than zero, .*; leave it out"
    with pytest.raises(BadInput, match=said):
        Cluster.of_nodes(instance_type="x", nodes=8, **shape)


@pytest.mark.parametrize(("name", "most"), [("vcpus", 10**6), ("memory_gib", 10**9)])
def test_a_shape_that_is_given_is_one_that_a_machine_can_have(name: str, most: int) -> None:
    """A layout is searched from as many executors down as the vCPUs hold: a billion take long."""
    shape = {"vcpus": 4, "memory_gib": 16.0}
    assert Cluster.of_nodes(instance_type="x", nodes=8, **{**shape, name: most})
    with pytest.raises(BadInput, match=f"{name} must be at most {most:,}, not {most + 1}"):
        Cluster.of_nodes(instance_type="x", nodes=8, **{**shape, name: most + 1})


def test_the_name_of_a_catalog_is_no_catalog() -> None:
    with pytest.raises(BadInput, match="a catalog is needed, not 'aws'; load it with"):
        Cluster.of_nodes(instance_type="m5.xlarge", nodes=8, catalog="aws")


@pytest.mark.parametrize("value", [NAN, INF, -1])
def test_an_input_is_a_number_of_bytes(value: float) -> None:
    with pytest.raises(BadInput, match="workload: input_bytes must be more than zero"):
        Workload(input_bytes=value)


def test_an_input_as_text_is_told_to_be_a_number() -> None:
    """That 48 GB must be more than zero told nobody what to write."""
    with pytest.raises(BadInput, match="input_bytes must be a number more than zero, not '48GB'"):
        Workload(input_bytes="48GB")


@pytest.mark.parametrize("value", ["5", NAN, None])
def test_a_parameter_is_a_number(value: float) -> None:
    with pytest.raises(BadInput, match="workload: k must be a number"):
        Workload(input_bytes=1e9, parameters={"k": value})


def test_a_row_of_a_table_is_a_mapping_of_parameters() -> None:
    assert Workload(parameters=pd.Series({"k": 10.0})).parameters == {"k": 10.0}


def test_parameters_are_numbers_by_name() -> None:
    with pytest.raises(BadInput, match="a mapping of parameters is needed, not list; like"):
        Workload(input_bytes=1e9, parameters=[1])
    with pytest.raises(BadInput, match="workload: a parameter is named by a text, not 3"):
        Workload(input_bytes=1e9, parameters={3: 1.0})


ENDLESS = 10**400
"""More than any float holds."""


@pytest.mark.parametrize("count", [1_000_001, 10**18, pytest.param(ENDLESS, id="endless")])
@pytest.mark.parametrize("name", ["executors", "executor_cores"])
def test_no_cluster_has_more_than_a_million_executors_or_cores(name: str, count: int) -> None:
    with pytest.raises(BadInput, match=f"{name} must be at most 1,000,000, not 10"):
        Cluster.of_executors(**{"executors": 4, "executor_cores": 2, name: count})
    with pytest.raises(BadInput, match="nodes must be at most 1,000,000"):
        Cluster.of_nodes(instance_type="m5.xlarge", nodes=count)


def test_whole_numbers_without_end_are_refused_in_a_line() -> None:
    with pytest.raises(BadInput, match="input_bytes must be more than zero, not 1000"):
        Workload(ENDLESS)
    with pytest.raises(BadInput, match="rows must be a number, not 1000"):
        Workload(1e9, parameters={"rows": ENDLESS})
    with pytest.raises(BadInput, match="memory_gib must be more than zero, not 1000"):
        Cluster.of_nodes(instance_type="x", nodes=8, vcpus=4, memory_gib=ENDLESS)
    with pytest.raises(BadInput, match="no machine has a heap of more than 64 TiB"):
        Cluster.of_executors(executors=4, executor_cores=2, executor_memory_gib=ENDLESS)


def test_types_whose_shape_is_not_known_equal_themselves_and_others_alike() -> None:
    """Nodes that a run names without their shape are one type, whichever nan stands for it."""
    one, same = (InstanceType("m", 4.0, float("nan")) for _ in range(2))
    assert one == same
    assert len({one, same, copy.deepcopy(one)}) == 1
    assert one != InstanceType("m", 4.0, 16.0)
    assert one != InstanceType("n", 4.0, float("nan"))
    assert one != "m"


def test_the_same_work_on_more_input() -> None:
    """By its size where that is known, else by the multiple of the largest run that it stands
    for."""
    sized = Workload(2e9, iterations=5.0, parameters={"k": 3.0}, shuffle_partitions=64)
    assert sized.times(1.5) == Workload(
        3e9, iterations=5.0, parameters={"k": 3.0}, shuffle_partitions=64
    )
    assert Workload().times(2.0).times(1.5).scale == 3.0
