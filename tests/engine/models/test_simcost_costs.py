"""SimCost: its equations one by one and its printed figures; long tasks told from computing."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed, of_type

from engine.cluster import Cluster
from engine.given_profiles import ResourceProfile
from engine.models import MODELS
from engine.models.base import FittedModel
from engine.models.simcost import costs
from engine.models.simcost.model import Simcost
from engine.models.simcost.report import bottleneck
from engine.models.simcost.sampling import estimated_size
from engine.models.stages.set_up import SET_UP_SECONDS
from engine.profile import Profile

MB, GB = 1024.0**2, 1024.0**3


@pytest.mark.parametrize(
    ("seconds", "resource_time", "memory_gib", "tolerance"),
    [
        (224.0, 8065.73, 18.0, 0.0005),
        (106.0, 4453.22, 36.0, 0.0005),
        (159.0, 5716.84, 18.0, 0.002),
        (260.0, 9574.16, 18.0, 0.025),
    ],
    ids=["WC", "Kmeans", "Join", "Sort"],
)
def test_eq_1_gives_the_resource_times_of_table_3(
    seconds: float, resource_time: float, memory_gib: float, tolerance: float
) -> None:
    """30 vcores, the memory of Table 6, theta 1/3; Sort would need 0.379."""
    found = costs.resource_time(seconds=seconds, vcores=30, memory_gib=memory_gib)
    assert found == pytest.approx(resource_time, rel=tolerance)


@pytest.mark.parametrize(
    ("input_gb", "seconds", "mb_per_second"),
    [(9.55, 260.0, 37.6), (91.8, 224.0, 419.0), (11.2, 106.0, 108.1), (17.3, 159.0, 111.9)],
    ids=["Sort", "WC", "Kmeans", "Join"],
)
def test_throughputs_of_table_3(input_gb: float, seconds: float, mb_per_second: float) -> None:
    found = costs.throughput(data_bytes=input_gb * GB, seconds=seconds)
    assert found / MB == pytest.approx(mb_per_second, rel=0.005)


@pytest.mark.parametrize(
    ("sample_mb", "share", "input_gb", "tolerance"),
    [(3.06 * 1024, 30, 91.8, 1e-9), (382.0, 30, 11.2, 0.001), (591.0, 30, 17.3, 0.001),
     (632.0, 15, 9.55, 0.035)],
    ids=["WC", "Kmeans", "Join", "Sort"],
)  # fmt: skip
def test_eq_3_gives_the_inputs_of_table_3(
    sample_mb: float, share: float, input_gb: float, tolerance: float
) -> None:
    """The samples are a thirtieth (Sort: a fifteenth) of the input."""
    found = estimated_size(sample_size=sample_mb / 1024, probability=1.0 / share)
    assert found == pytest.approx(input_gb, rel=tolerance)


def test_eqs_8_to_12_by_hand() -> None:
    computing = costs.computing_seconds(
        data_bytes=100.0,
        compute_seconds_per_byte=0.02,
        read_seconds_per_byte=1 / 50.0,
        write_seconds_per_byte=1 / 25.0,
    )
    assert computing == pytest.approx(100 / 50 + 100 * 0.02 + 100 / 25), "the printed Eq. 11"
    shuffling = costs.shuffling_seconds(
        data_bytes=100.0,
        read_ratio=0.5,
        write_ratio=0.25,
        read_seconds_per_byte=1 / 10.0,
        write_seconds_per_byte=1 / 5.0,
    )
    assert shuffling == pytest.approx(50 / 10 + 25 / 5)
    task = costs.task_seconds(
        overhead_seconds=1.0, computing_seconds=computing, shuffling_seconds=shuffling
    )
    assert task == pytest.approx(19.0)
    stage = costs.stage_seconds(
        overhead_seconds=3.0, partitions=10, vcores=np.asarray([3.0, 5.0, 10.0]), task_seconds=task
    )
    assert stage.tolist() == pytest.approx([3 + 4 * 19.0, 3 + 2 * 19.0, 22.0])
    job = costs.job_seconds(overhead_seconds=7.0, stage_seconds=np.asarray([22.0, 30.0]))
    assert job == pytest.approx(59.0)


def test_compute_is_what_is_left_of_a_task() -> None:
    found = costs.compute_seconds_per_byte(
        task_seconds=8.0, overhead_seconds=1.0, moving_seconds=5.0, data_bytes=100.0
    )
    assert found == pytest.approx(0.02)
    none = costs.compute_seconds_per_byte(
        task_seconds=4.0, overhead_seconds=1.0, moving_seconds=5.0, data_bytes=100.0
    )
    assert none == 0.0


def test_rates_are_the_minimum_of_network_and_disk() -> None:
    rates = costs.Rates.of(ResourceProfile(100.0, 80.0, 120.0, 50.0, 400.0))
    assert 1 / rates.read_input == pytest.approx(50.0)
    assert 1 / rates.write_output == pytest.approx(100.0)
    assert 1 / rates.read_shuffle == pytest.approx(80.0)
    assert 1 / rates.write_shuffle == pytest.approx(100.0)
    without = costs.Rates.of(ResourceProfile(100.0, 80.0, 60.0))
    assert 1 / without.read_input == pytest.approx(80.0), "HDFS as the local disk"
    assert 1 / without.write_output == pytest.approx(60.0)


def test_a_slow_network_bounds_all_four_rates() -> None:
    rates = costs.Rates.of(ResourceProfile(10.0, 80.0, 120.0, 50.0, 400.0))
    found = (rates.read_input, rates.write_output, rates.read_shuffle, rates.write_shuffle)
    assert [1.0 / each for each in found] == pytest.approx([10.0] * 4)


def test_an_error_of_arithmetic_is_no_wave_more() -> None:
    """24 tasks on 8 vcores, the input grown from 0.3 as a sum."""
    assert 80.0 * (0.1 + 0.2) > 24.0
    assert costs.waves(partitions=80.0 * (0.1 + 0.2), vcores=8) == 3.0


def test_tasks_share_their_node() -> None:
    found = costs.tasks_at_once_per_node(
        partitions=np.asarray([64.0, 8.0, 1.0]), vcores=16.0, vcores_per_node=8.0
    )
    assert found.tolist() == [8.0, 4.0, 1.0]


def test_a_stage_takes_a_wave_on_however_many_vcores() -> None:
    found = costs.waves(partitions=4, vcores=np.asarray([1e12, 4.0, 3.0]))
    assert np.asarray(found).tolist() == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ({"compute": 51.0, "shuffle": 49.0}, "cpu"),
        ({"compute": 20.0, "shuffle": 51.0, "read": 29.0}, "shuffle"),
        ({"read": 60.0, "compute": 40.0}, "read"),
        ({"compute": 40.0, "shuffle": 40.0, "read": 20.0}, None),
    ],
)
def test_the_half_decides(found: dict[str, float], word: str | None) -> None:
    assert bottleneck(found) == word


LONG = Stage(np.append(6.0, np.full(39, 1.0)), input_bytes=1e9)
"""40 tasks of 1 s but for the first: on 4 slots 12 s, of which 0.75 s is waiting for it."""

EVEN = Stage(np.full(40, 10.0), input_bytes=1e9)


def taught(*stages: Stage) -> FittedModel:
    """On 4 slots, stages one after the other."""
    chain = [replace(stage, parents=tuple(range(i))) for i, stage in enumerate(stages)]
    profile = Profile("made", (observed(chain, slots=4),))
    return Simcost().fit(profile, models={model.name: model for model in MODELS})


def on(slots: int) -> Cluster:
    return Cluster.of_executors(executors=slots, executor_cores=1)


def test_waiting_for_long_tasks_is_not_taken_for_computing() -> None:
    """Ten waves of 1.125 s, of which 0.2 s is set-up; what is left is the long task's."""
    phases = taught(LONG).predict(cluster=on(4)).phases
    assert phases["compute"] == pytest.approx(10 * (1.125 - SET_UP_SECONDS))
    assert phases["overhead"] == pytest.approx(10 * SET_UP_SECONDS)
    assert phases["stragglers"] == pytest.approx(0.75)


@pytest.mark.parametrize("slots", [1, 8, 12, 20, 39, 100])
def test_a_chain_takes_the_sum_of_its_stages(slots: int) -> None:
    """Stages of as many tasks are computed as one; the longest task of each is waited for in it."""
    alone = sum(taught(stage).predict(cluster=on(slots)).seconds for stage in (LONG, EVEN))
    chain = taught(LONG, EVEN).predict(cluster=on(slots)).seconds
    assert chain == pytest.approx(alone, rel=1e-9)


def test_the_shortest_possible_time_is_that_of_any_number_of_vcores() -> None:
    """Eq. 13: no cluster is faster, and on which it is asked makes no difference."""
    model = taught(LONG, EVEN)
    least = set()
    for slots in (1, 4, 15, 40, 400):
        found = model.predict(cluster=on(slots))
        least.add(round(found.job_profile["fastest_possible_seconds"], 9))
        assert found.seconds >= found.job_profile["fastest_possible_seconds"]
    assert least == {0.75}


def test_the_longest_task_of_a_stage_takes_less_on_faster_cores() -> None:
    run = observed([Stage(np.append(np.full(99, 1.0), 60.0), input_bytes=1e9)], slots=4)
    profile = Profile("made", (replace(run, cluster=of_type("own", 1.0, 4)),))
    model = Simcost().fit(profile, models={model.name: model for model in MODELS})
    found = model.predict(cluster=of_type("other", 2.0, 300)).seconds
    assert 30.0 <= found < 40.0
