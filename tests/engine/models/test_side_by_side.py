"""Caches and shuffles that lie side by side have as many partitions, as GraphX has them: on real
logs, of which each predicts the other (three files of edges and nine, on two slots)."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, measure, observed
from real_logs import log_pair, logged, tasks_of

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitioning.partitions import Growth
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.units import MIB

FEW, MORE = log_pair("graph")
FILES = 3.0
"""So many times the files has the larger run."""

TEXT = {"operations": ("textFile", "map")}


@pytest.mark.parametrize(("known", "asked", "ratio"), [(FEW, MORE, FILES), (MORE, FEW, 1 / FILES)])
def test_each_log_predicts_the_partitions_of_the_other(
    known: Run, asked: Run, ratio: float
) -> None:
    seen = [stage.tasks for stage in asked.stages]
    assert tasks_of(known, 2, ratio) == seen
    assert set(seen) == {1, 9 if asked is MORE else 3}


def test_who_asks_whether_there_are_any_rows_reads_one_partition_of_more() -> None:
    """`isEmpty` of messages, after each step: they had been taken to become three times as long."""
    first = [model for model in stage_models(FEW, 2) if model.stage.in_part]
    assert len(first) == 3
    assert [model.read_growth(FILES) for model in first] == [1.0] * 3
    assert all(model.scaled(FILES, None).work == 1.0 for model in first)


@pytest.mark.parametrize("ratio", [0.1, 0.3, 1 / 3, 0.5])
def test_who_asks_so_reads_no_more_than_there_is(ratio: float) -> None:
    """Of less than the partitions that it ran: all of it."""
    first = [model for model in stage_models(FEW, 2) if model.stage.in_part]
    for model in first:
        for ran in (1, 2):
            some = replace(model, stage=replace(model.stage, tasks=ran))
            assert some.read_growth(ratio) == pytest.approx(min(1.0, FILES * ratio / ran))
    assert len(first) == 3


@pytest.mark.parametrize(("share", "grown"), [(1 / 3, 1.0), (1 / 16, FILES)])
def test_the_first_rows_of_a_shuffle_in_a_number_that_was_asked_for_grow(
    share: float, grown: float
) -> None:
    """One of three partitions, as the input has, or one of sixteen."""
    wrote = {**TEXT, "shuffle_write_bytes": measure(np.full(3, 4.0 * MIB))}
    stages = [
        Stage(np.full(3, 2.0), input_bytes=30.0 * MIB, more=wrote),
        Stage(np.ones(1), (0,), shuffle_bytes=share * 12.0 * MIB, more={"in_part": True}),
    ]
    model = stage_models(observed(stages, slots=2), 2)[1]
    assert model.read_growth(FILES) == pytest.approx(grown)


def test_what_is_read_of_a_cache_of_unknown_make_has_the_partitions_of_the_input() -> None:
    """Three tasks as the files have, on a cache that two stages may have made."""
    cached = {"cached_input_bytes": 30.0 * MIB}
    stages = [
        Stage(np.full(3, 2.0), input_bytes=30.0 * MIB, more=TEXT),
        Stage(np.ones(3), input_bytes=30.0 * MIB, more=cached),
        Stage(np.ones(2), input_bytes=30.0 * MIB, more=cached),
    ]
    replay = Replay.of(observed(stages, slots=2))
    assert [model.growth for model in replay.models] == [Growth.TASKS, Growth.WORK, Growth.WORK]
    assert replay.replayed(2, ratio=FILES).tasks == (9, 9, 2)


def test_what_is_read_of_a_cache_of_files_that_the_run_wrote_follows_their_writer() -> None:
    """Two writers for each of two slots, eight for each of eight, with a file each."""
    run = logged("written")
    scan = next(stage for stage in run.stages if stage.files_by is not None)
    last = run.stages[-1]
    kept = replace(
        scan,
        stage_id=last.stage_id + 1,
        submitted_seconds=last.completed_seconds,
        completed_seconds=run.seconds,
        cached_input_bytes=scan.read_bytes,
        files_by=None,
        files_read=None,
        files_bytes=None,
    )
    between = [stage for stage in run.stages if stage.submitted_seconds < scan.submitted_seconds]
    *_, source, cache = stage_models(replace(run, stages=(*between, scan, kept)), 2)
    assert source.written_by is not None
    assert cache.follows is source
    for ratio, slots in ((1.0, 8), (5.0, 2), (0.5, 3)):
        tasks = source.scaled(ratio, None, slots).tasks
        assert cache.scaled(ratio, None, slots).tasks == tasks
    assert source.scaled(1.0, None, 8).tasks != scan.tasks


@pytest.mark.parametrize(
    ("mib", "tasks"),
    [
        ((10, 10, 10), 9), ((8, 9, 13), 9), ((7, 9, 14), 9), ((7, 7, 16), 9),
        ((15, 3, 12), 3), ((15.2, 3, 11.8), 3),
        ((16.2, 13.8), 6), ((22, 8), 6), ((15.1, 14.9), 2), ((15.04, 14.96), 2), ((29.5, 0.5), 2),
        ((15, 15), 6), ((15.003, 14.997), 6), ((15.01, 14.99), 2), ((0.02, 0.02), 6),
        ((0.04, 0.02), 2),
    ],
)  # fmt: skip
def test_splits_of_which_none_holds_half_are_whole_files(
    mib: tuple[float, ...], tasks: int
) -> None:
    """Hadoop cuts a file for want of two splits at half of all bytes: three files, and one of 18
    MiB beside one of 12, of which half are read on a little. Two that differ are two files, cut by
    nothing; two halves may be one. They are two if they are alike: behind the first half of one
    file Spark 3.5.9 and 4.3.0 read 66 to 112 KiB more, or the rest of a small one."""
    read_bytes = measure(MIB * np.asarray(mib, dtype=float))
    stage = Stage(np.full(len(mib), 2.0), more={**TEXT, "input_bytes": read_bytes})
    run = observed([stage], slots=2, input_bytes=read_bytes.total)
    (model,) = stage_models(run, 2)
    assert model.scaled(FILES, None).tasks == tasks
    assert model.may_keep_split_count == (tasks == FILES * len(mib))
    assert model.may_be_whole_files == (tasks != FILES * len(mib))


def test_two_splits_may_be_two_files_within_the_interval() -> None:
    """Nine times as much is two tasks of nine times as much, or eighteen with a part each that
    does not grow."""
    halves = measure(MIB * np.asarray([9.95, 10.05]))
    text = Stage(np.full(2, 2.0), more={**TEXT, "input_bytes": halves})
    replay = Replay.of(observed([text], slots=2, input_bytes=halves.total))
    (files,) = alternatives_of(replay)
    assert replay.replayed(2, ratio=9.0).tasks == (2,)
    assert files.replayed(2, ratio=9.0).tasks == (18,)
    cached = replace(replay.run.stages[0], cached_input_bytes=20.0 * MIB)
    assert not alternatives_of(Replay.of(replace(replay.run, stages=(cached,))))
