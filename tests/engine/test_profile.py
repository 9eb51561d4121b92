"""Which runs of a profile count, and which of them it is planned by."""

from dataclasses import replace

import pytest

from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.notices import Notice
from engine.profile import (
    LEAST_AMOUNT,
    MOST_AMOUNT,
    MOST_SECONDS,
    Profile,
    Run,
    completed_runs,
    runs_aside,
    settled,
)
from engine.stage_run import Measure, StageRun

ONE_SECOND = Measure(1, 1.0, (1.0,))
COLD = StageRun(0, "s", 1, 0.0, 1.0, ONE_SECOND, first_wave_seconds=ONE_SECOND)
FAILED = (Notice("failed-stages", "a stage was given up", "look why"),)


def run(size: float, seconds: float = 60.0, **fields: object) -> Run:
    cluster = Cluster.of_executors(executors=4, executor_cores=2)
    return Run(seconds, cluster, Workload(size), **fields)


def test_runs_that_did_all_their_work_count_where_there_are_any() -> None:
    whole, failed, cut = run(1e9), run(1e9, notices=FAILED), run(1e9, complete=False)
    assert completed_runs([whole, failed, cut]) == [whole]
    assert completed_runs([failed, cut]) == [failed]
    assert completed_runs([cut]) == [cut]
    assert runs_aside([whole, failed, cut]) == [failed, cut]
    assert runs_aside([whole, run(1e9, complete=False, batch_id=3)]) == []


def test_a_first_batch_is_left_out_where_another_is_large_enough_to_stand_for_it() -> None:
    first, later = run(1e9, batch_id=0, stages=(COLD,)), run(0.5e9, batch_id=1)
    small = replace(later, workload=Workload(0.45e9))
    assert settled([first, later]) == [later]
    assert settled([first, small]) == [first, small]
    assert settled([first]) == [first]
    assert settled([first, replace(later, app_id="another")])[0] == first
    alone = replace(first, batch_id=None)
    assert settled([alone, later]) == [alone, later], "no batch: every run starts executors"


def test_the_plan_is_for_the_largest_input_then_iterations_then_time() -> None:
    runs = (run(2e9, 50.0), run(2e9, 70.0), run(1e9, 90.0), run(3e9, 80.0, complete=False))
    assert Profile("job", runs).largest_run is runs[1]
    assert Profile("job", runs).workload_at(2.0) == Workload(4e9)
    more = replace(runs[0], workload=Workload(2e9, iterations=5.0))
    assert Profile("job", (*runs, more)).largest_run is more
    assert Profile("job").reference_workload == Workload()


ITERATED = replace(run(2e9), workload=Workload(2e9, iterations=5.0, parameters={"k": 3.0}))


@pytest.mark.parametrize(
    ("text", "unit", "size"),
    [("3x", "bytes", 6e9), ("3GB", "bytes", 3e9), ("4e9", "bytes", 4e9), ("3e9", "rows", 3e9)],
)
def test_a_size_in_words_is_a_multiple_or_counted_as_the_runs_count(
    text: str, unit: str, size: float
) -> None:
    """What else the job is given is that of the largest run."""
    found = Profile("job", (ITERATED,), input_unit=unit).workload_sized(text)
    assert found == Workload(size, iterations=5.0, parameters={"k": 3.0})


@pytest.mark.parametrize(
    ("text", "profile", "said"),
    [
        ("3GB", Profile("job", (ITERATED,), input_unit="rows"), "counts its input in rows, not"),
        ("3GB", Profile("job", (replace(ITERATED, workload=Workload()),)), "do not say how large"),
        ("3e15", Profile("job", (ITERATED,)), "is more than 1,000,000 times the largest run"),
        ("2e7x", Profile("job", (ITERATED,)), "is more than 1,000,000 times the largest run"),
        ("much", Profile("job", (ITERATED,)), "'much' is not a size; .* 300MB, or 3x"),
        (
            "much",
            Profile("job", (ITERATED,), input_unit="rows"),
            "a plain number, as the runs count it, or 3x",
        ),
    ],
)
def test_a_size_that_means_nothing_is_refused(text: str, profile: Profile, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        profile.workload_sized(text)


def test_without_runs_any_size_may_be_meant() -> None:
    """Published profiles have none."""
    assert Profile("job").workload_sized("3GB") == Workload(3e9)


@pytest.mark.parametrize("seconds", [0.0, -1.0, 2.0 * MOST_SECONDS, float("nan")])
def test_no_run_lasts_so_long(seconds: float) -> None:
    with pytest.raises(BadInput, match=r"no run lasts .* s"):
        run(1e9, seconds)


@pytest.mark.parametrize("size", [0.1 * LEAST_AMOUNT, 2.0 * MOST_AMOUNT])
def test_no_run_has_such_an_input(size: float) -> None:
    with pytest.raises(BadInput, match="no run has an input"):
        run(size)
