"""Joins by sort and merge that are a broadcast with less data, and joins that multiply rows: what
one log leaves open of both is within the interval."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed
from real_logs import logged
from sparkplan_runs import codes, executors, fit

from engine.cluster import Workload
from engine.models.base import Prediction
from engine.models.replay.alternatives import alternatives_of, multiplied_rows_share
from engine.models.replay.broadcast_thresholds import ADAPTIVE_THRESHOLD, THRESHOLD
from engine.models.replay.broadcasts import ChangedJoins
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.profile import Run
from engine.stage_run import Measure
from engine.units import MIB

MERGED, LESS, PLANNED, PLANNED_LESS = (
    logged(name) for name in ("merged", "merged_less", "planned", "planned_less")
)
"""Four files and one of the same job; beyond 64 KiB a side is not broadcast."""


def test_a_real_join_that_is_turned_with_less_data_is_said_to_be_one() -> None:
    (merging,) = (stage for stage in MERGED.stages if stage.merged_bytes)
    assert merging.merged_bytes == (96_000.0,)
    assert not any(stage.merged_bytes for stage in LESS.stages)
    assert any(stage.joined_broadcasts for stage in LESS.stages)
    replay = Replay.of(MERGED)
    (found,) = ChangedJoins(replay, 0.25).converted
    assert found.model.stage == merging
    assert found.probable
    assert not found.shuffled, "adaptive execution turns it once both sides are shuffled"
    assert ChangedJoins(replay, 0.9).converted == ChangedJoins(replay, 4.0).converted == []


def test_a_real_join_that_is_planned_otherwise_with_less_data_saves_its_shuffle() -> None:
    """Of four files for one the table has 17 kB for 67, and is a broadcast; the sums of the rows,
    48 kB for 192, are turned into one once both sides are shuffled."""
    replay = Replay.of(PLANNED)
    table, sums = ChangedJoins(replay, 0.25).converted
    assert [one.probable for one in (table, sums)] == [True, True]
    (shuffled,) = table.shuffled
    assert shuffled.stage.input_records == 160_000
    assert sums.shuffled == ()
    slots = np.asarray([2.0])
    alone = replace(table, shuffled=())
    assert table.saved_seconds(0.25, slots, None) > alone.saved_seconds(0.25, slots, None)
    joins = [stage for stage in PLANNED_LESS.stages if stage.joined_broadcasts]
    assert [stage.shuffle_read_bytes is None for stage in joins] == [True, False]


def test_a_real_broadcast_of_sums_is_outgrown_by_what_was_shuffled_of_them() -> None:
    """48 kB of shuffled sums, which were grouped before they were sent, are 192 of four files."""
    _, sums = ChangedJoins(Replay.of(PLANNED_LESS), 4.0).outgrown
    (turned,) = [stage for stage in PLANNED.stages if stage.merged_bytes][1:]
    assert 4.0 * sums.table.size.most == pytest.approx(turned.merged_bytes[0], rel=0.01)
    assert sums.table.shuffled


@pytest.mark.parametrize(
    ("files", "setting", "planned"),
    [
        (6.0, {}, []),  # small enough already: a hint keeps it from being sent
        (24.0, {}, [True]),
        (24.0, {THRESHOLD: "-1"}, []),
        (60.0, {}, []),  # nor is a quarter of it small enough
        (None, {}, []),
    ],
)
def test_files_say_what_is_planned_as_a_broadcast(
    files: float | None, setting: dict[str, str], planned: list[bool]
) -> None:
    """Without adaptive execution, of which a shuffle's size would be enough."""
    run = merging(spark_sql_adaptive_enabled="false")
    scan, merged = run.stages
    size = files and files * MIB
    told = replace(scan, files_bytes=size, row_shares=(1.0, 1.0), input_bytes=size_of(size or MIB))
    stages = (told, replace(merged, merged_stages=(0,)))
    run = replace(run, stages=stages, config=run.config | setting)
    assert [one.probable for one in ChangedJoins(Replay.of(run), 0.25).converted] == planned


def size_of(size: float) -> Measure:
    return Measure(1, size, (size,))


def merging(table_mib: float = 24.0, **config: str) -> Run:
    """A shuffle that is merged with one of a table, and takes three quarters of all work."""
    stages = [
        Stage(np.full(16, 4.0), input_bytes=640 * MIB),
        Stage(np.full(16, 12.0), (0,), shuffle_bytes=320 * MIB),
    ]
    settings = {key.replace("_", "."): value for key, value in config.items()}
    run = replace(observed(stages, slots=4, config=settings), spark_version="3.5.1")
    read_in, merged = run.stages
    return replace(run, stages=(read_in, replace(merged, merged_bytes=(table_mib * MIB,))))


def answer(run: Run, ratio: float, *more: Run) -> Prediction:
    size = run.workload.input_bytes
    return fit(run, *more).predict(
        cluster=executors(4), workload=Workload(ratio * size), confidence=0.9
    )


def test_the_time_is_that_with_the_broadcast_and_the_interval_reaches_the_other() -> None:
    """A quarter of the input takes 64 s on four slots, and 40 without half of the merging."""
    stays = answer(merging(spark_sql_autoBroadcastJoinThreshold="1m"), 0.25)
    found = answer(merging(), 0.25)
    assert found.seconds == pytest.approx(stays.seconds * 40.0 / 64.0, rel=0.05)
    assert found.high is not None
    assert found.high > stays.seconds
    (said,) = [one.text for one in found.warnings if one.code == "broadcast-possible"]
    assert "stage 1" in said
    assert "25.2 MB, 6.29 MB if that shrinks" in said
    assert "inferred" in said
    assert "broadcast-possible" not in codes(stays.warnings)


def test_the_warning_names_the_table_that_gets_small_enough() -> None:
    run = merging()
    read_in, merged = run.stages
    both = replace(merged, merged_bytes=(24.0 * MIB, 800.0 * MIB))  # of which one stays large
    changed = ChangedJoins(Replay.of(replace(run, stages=(read_in, both))), 0.25)
    assert "25.2 MB, 6.29 MB if that shrinks" in changed.conversion_notice(4.0).text
    saved, of_one = (
        one.saved_seconds(0.25, np.asarray([4.0]), None)
        for joins in (changed, ChangedJoins(Replay.of(run), 0.25))
        for one in joins.converted
    )
    assert saved == pytest.approx(of_one / 2.0), "the other join takes half of the stage's time"


@pytest.mark.parametrize(
    ("config", "turns"),
    [
        ({}, True),
        ({THRESHOLD: "-1"}, False),
        ({THRESHOLD: "-1", ADAPTIVE_THRESHOLD: "8m"}, True),
        ({ADAPTIVE_THRESHOLD: "-1"}, False),  # adaptive execution goes by its own
        ({"spark.sql.adaptive.enabled": "false"}, False),
        ({THRESHOLD: "30m"}, False),  # it was small enough, and was merged all the same
    ],
)
def test_adaptive_execution_goes_by_its_own_threshold(config: dict[str, str], turns: bool) -> None:
    run = merging(**{key.replace(".", "_"): value for key, value in config.items()})
    assert (ChangedJoins(Replay.of(run), 0.25).conversion_notice(4.0) is not None) is turns


def test_a_broadcast_saves_tasks_of_two_cores_twice_the_time_on_as_many_slots() -> None:
    run = merging()
    two_cores = replace(run, stages=tuple(replace(one, task_cpus=2) for one in run.stages))
    one, two = (
        joins.saved_seconds(0.25, np.asarray([4.0]), 8)
        for r in (run, two_cores)
        for joins in ChangedJoins(Replay.of(r), 0.25).converted
    )
    assert two == pytest.approx(2.0 * one)


def multiplying(given: float | None = 40e6, *, ratio: float = 1.0, power: float = 1.0) -> Run:
    """A join of ten million rows that gives more, all of it work of one stage."""
    more = {"shuffle_read_records": 10e6 * ratio, "joined_output_records": given}
    stages = [
        Stage(np.full(16, 0.5 * ratio), input_bytes=640 * MIB * ratio),
        Stage(np.full(16, 40.0 * ratio**power), (0,), shuffle_bytes=320 * MIB * ratio, more=more),
    ]
    return observed(stages, slots=4)


def test_rows_that_a_join_multiplies_may_grow_as_pairs() -> None:
    run = multiplying()
    replay = Replay.of(run)
    shares = [multiplied_rows_share(replay, model) for model in replay.models]
    assert shares == pytest.approx([0.0, 0.75])
    (other,) = alternatives_of(replay)
    found, narrow = answer(run, 4.0), answer(multiplying(10e6), 4.0)
    pairs = other.replayed(4, ratio=4.0).seconds
    assert pairs > 2.5 * found.seconds
    assert found.seconds == pytest.approx(narrow.seconds)
    assert found.high is not None
    assert narrow.high < 0.99 * pairs < found.high


def test_rows_of_a_table_that_is_broadcast_are_rows_of_a_side() -> None:
    """Ten million rows meet thirty of another stage, and give forty: each row of one side meets no
    more than it may."""
    run = multiplying()
    table, joining = run.stages
    table = replace(table, input_records=30e6)
    run = replace(
        run, stages=(table, replace(joining, joined_broadcasts=(0,), joined_records=(None,)))
    )
    replay = Replay.of(run)
    assert multiplied_rows_share(replay, replay.models[1]) == 0.0
    assert alternatives_of(replay) == ()


@pytest.mark.parametrize(
    "more",
    [
        {"shuffle_read_records": None},  # a source whose records nobody counts
        {"joined_broadcasts": (9,), "joined_records": (40e6,)},  # more rows before the join already
    ],
)
def test_rows_that_no_join_multiplied_leave_nothing_open(more: dict[str, object]) -> None:
    run = multiplying()
    read_in, joining = run.stages
    run = replace(run, stages=(read_in, replace(joining, **more)))
    assert alternatives_of(Replay.of(run)) == ()


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_a_second_log_tells_how_a_join_grows(power: float) -> None:
    one, more = multiplying(), multiplying(ratio=3.0, power=power)
    told = with_laws(Replay.of(one), [(pair_fit(Replay.of(one), Replay.of(more)), 1.0)])
    assert alternatives_of(told) == ()
    expected = multiplying(ratio=6.0, power=power).seconds
    assert answer(one, 6.0, more).seconds == pytest.approx(expected, rel=0.2)
