"""Logs of the same data that count it differently, and logs of different data."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from made_runs import BLOCK, Stage, observed

import engine
from engine.notices import Notice
from engine.profile import Run
from engine.sources.merge import merged_profile
from engine.sources.same_data import CODE, with_equal_inputs
from engine.sources.source_contents import SourceContents
from engine.stage_run import Measure

TASKS = 64


def run_of(
    slots: int, *, counted: float = 1.0, size: float = 1.0, records: float | None = 1e6
) -> Run:
    """A scan and what follows it, of `size` times the data, of which `counted` is in the log."""
    tasks = round(TASKS * size)
    scan = Stage(
        np.full(tasks, 6.0),
        input_bytes=TASKS * size * counted * BLOCK,
        more={"input_records": None if records is None else records * size},
    )
    return observed([scan, Stage(np.full(16, 4.0 * size), (0,), shuffle_bytes=1e9)], slots=slots)


def sizes(*runs: Run) -> tuple[list[float], list[Notice]]:
    """In blocks, as the runs have them then, and what is said."""
    notices: list[Notice] = []
    found = with_equal_inputs(runs, notices)
    return [(run.workload.input_bytes or 0.0) / BLOCK for run in found], notices


def test_the_same_data_has_one_size_which_is_said() -> None:
    found, (notice,) = sizes(run_of(8, counted=0.85), run_of(4), run_of(16, counted=0.9))
    assert found == [TASKS] * 3
    assert notice.code == CODE
    assert notice.text.startswith("3 logs count 7.3 GB to 8.59 GB of input for the same data")


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_the_logs_decides_nothing(order: tuple[int, ...]) -> None:
    """The one between is near enough to either of the others, which are too far apart."""
    runs = [run_of(4), run_of(8, counted=0.83), run_of(16, counted=0.7)]
    found, _ = sizes(*(runs[place] for place in order))
    assert [found[order.index(place)] for place in range(3)] == [
        TASKS, TASKS, pytest.approx(0.7 * TASKS),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        run_of(8, size=0.875),
        run_of(8, counted=0.85, records=0.85e6),
        run_of(8, counted=0.7),
        replace(run_of(8, counted=0.85), complete=False),
        replace(run_of(8, counted=0.85), application="another"),
        replace(run_of(8, counted=0.85), batch_id=3),
    ],
    ids=["fewer tasks", "fewer records", "far apart", "broken off", "another job", "a batch"],
)
def test_what_may_be_other_data_keeps_its_count(other: Run) -> None:
    found, said = sizes(run_of(4), other)
    assert found == [TASKS, pytest.approx((other.workload.input_bytes or 0.0) / BLOCK)]
    assert not said


def test_what_no_log_says_more_of_keeps_its_count() -> None:
    """As many tasks alone prove nothing: a table may be written in as many files every night."""
    found, said = sizes(run_of(4, records=None), run_of(8, counted=0.85, records=None))
    assert found == [TASKS, pytest.approx(0.85 * TASKS)]
    assert not said


@pytest.mark.parametrize(("written", "alike"), [(1.0, True), (0.85, False)])
def test_shuffles_tell_where_records_are_not_counted(written: float, alike: bool) -> None:
    """As in logs of Spark before 1.3."""
    first, second = (run_of(4, records=None), run_of(8, counted=0.85, records=None))

    def writing(run: Run, share: float) -> Run:
        wrote = Measure(TASKS, 1e9 * share, (1e9 * share / TASKS,))
        return replace(
            run, stages=(replace(run.stages[0], shuffle_write_bytes=wrote), run.stages[1])
        )

    found, _ = sizes(writing(first, 1.0), writing(second, written))
    assert (found[0] == found[1]) is alike


@pytest.mark.parametrize(("unit", "taken"), [("bytes", TASKS), ("rows", 0.85 * TASKS)])
def test_what_somebody_states_in_another_unit_is_no_count(unit: str, taken: float) -> None:
    runs = (run_of(4), run_of(8, counted=0.85))
    found = merged_profile([SourceContents("of_logs.yaml", runs, unit=unit)])
    assert found.runs[1].workload.input_bytes == pytest.approx(taken * BLOCK)
    assert [notice.code for notice in found.notices] == [CODE] * (unit == "bytes")


def test_more_nodes_are_no_effect_of_less_data() -> None:
    """Read as two sizes, the run on more slots was taken to be slow for its data."""

    def predicted(*runs: Run) -> float:
        found = engine.fit(engine.Profile("made", tuple(with_equal_inputs(runs, []))))
        cluster = engine.Cluster.of_executors(executors=32, executor_cores=1)
        return found.predict(cluster=cluster).seconds

    expected = predicted(run_of(4), run_of(8))
    assert predicted(run_of(4), run_of(8, counted=0.85)) == pytest.approx(expected, rel=0.03)
    assert predicted(run_of(4, counted=0.85), run_of(8)) == pytest.approx(expected, rel=0.03)
