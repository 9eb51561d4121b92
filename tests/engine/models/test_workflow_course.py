"""Containers on nodes: how many fit, each whole on one, and what is said of one too large."""

import math

import pytest

from engine.errors import BadInput
from engine.models.boe.task_time import Rates, TaskWork
from engine.models.boe.workflow_course import Activity, Machines, containers_on, refuse
from engine.scheduling.drf import Pool


def task(cores: float, memory_gib: float) -> Activity:
    return Activity(0, "map", 8, TaskWork(10.0), cores=cores, memory_gib=memory_gib)


@pytest.mark.parametrize(
    ("cores", "memory_gib", "fit"),
    [
        (1.0, 0.0, 60),
        (1.0, 0.5, 60),
        (1.0, 3.0, 12),
        (12.0, 0.5, 3),
        (3.0, 2.0, 18),
        (21.0, 0.5, 0),
        (1.0, 13.0, 0),
        (20 / 3, 12 / 7, 9),
        (1.0, 1.2, 30),
    ],
)
def test_a_node_holds_what_its_cores_and_its_memory_both_hold(
    cores: float, memory_gib: float, fit: int
) -> None:
    """Three nodes of 20 slots and 12 GiB; what fits exactly fits, whatever rounding makes of it."""
    entry = task(cores, memory_gib)
    assert containers_on(entry, nodes=3.0, slots=60.0, memory_gib=36.0) == fit
    assert Machines(3.0, Rates(4.0), Pool(60.0, 36.0), alike=True).most_containers(entry) == fit
    assert Machines(3.0, Rates(4.0), Pool(60.0, 36.0)).most_containers(entry) == math.inf


@pytest.mark.parametrize(
    ("entry", "memory_gib", "alike", "said"),
    [
        (task(5.0, 0.0), math.inf, True, "map needs 5 cores, a node offers 4 cores"),
        (task(1.0, 0.5), 0.75, True, "map needs 0.5 GiB, a node offers 4 cores and 0.25 GiB"),
        (task(1.5, 9.0), 24.0, True,
         "map needs 1.5 cores and 9 GiB, a node offers 4 cores and 8 GiB"),
        (task(1.0, 25.0), 24.0, False,
         "map needs 25 GiB, the whole cluster offers 12 cores and 24 GiB"),
        (task(1.0, 0.0), math.inf, False, "map needs a core, the whole cluster offers 12 cores"),
    ],
)  # fmt: skip
def test_what_is_too_large_is_held_against_a_node_or_the_whole_cluster(
    entry: Activity, memory_gib: float, alike: bool, said: str
) -> None:
    with pytest.raises(BadInput) as error:
        refuse(entry, Machines(3.0, Rates(4.0), Pool(12.0, memory_gib), alike))
    assert error.value.what == f"a task of {said}"
