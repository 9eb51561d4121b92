"""Shuffle partitions of keys that have many rows, on other clusters and with other data."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Stage, measure, observed

from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.hot_partitions import HotPartitions
from engine.models.stages.durations.task_times import StageModel
from engine.profile import Run
from engine.units import MIB

SLOTS = 8
SECONDS_PER_MIB = 0.25


def skewed(
    *,
    hot_mib: float = 40.0,
    usual_mib: float = 10.0,
    tasks: int = SLOTS,
    joins: bool = False,
    slots: int = SLOTS,
) -> Run:
    """A coalesced shuffle with one partition that is larger than the target, and in proportion
    longer."""
    size = np.full(tasks, usual_mib * MIB)
    size[-1] = hot_mib * MIB
    more = {
        "sql_execution_id": 0,
        "operations": ("AQEShuffleRead", "Exchange"),
        "shuffle_read_bytes": measure(size),
    }
    source = [Stage(np.full(8, 2.0), input_bytes=8 * BLOCK) for _ in range(1 + joins)]
    parents = tuple(range(len(source)))
    reader = Stage(size / MIB * SECONDS_PER_MIB, parents, shuffle_bytes=1.0, more=more)
    return replace(observed([*source, reader], slots=slots), spark_version="3.5.1")


def reader(run: Run) -> StageModel:
    return Replay.of(run).models[-1]


def times_of(model: StageModel, ratio: float, slots: int | None) -> np.ndarray:
    """Times of its tasks, ascending."""
    tasks = model.tasks(model.scaled(ratio, None, slots), dispatch_seconds=0.0, rotation=0.0)
    return np.sort(tasks.seconds)


def test_a_hot_partition_stays_as_large_on_more_cores() -> None:
    """Ten seconds of 27.5 in all are one task's; for 64 cores the rest is cut finer, three of 200
    partitions in each of 68 tasks, and that task is not."""
    model = reader(skewed())
    times = times_of(model, 1.0, 64)
    assert len(times) == 68
    assert times[-1] == pytest.approx(10.0)
    assert times[-2] < 0.6


def test_a_hot_partition_grows_with_the_data() -> None:
    """Ten times the data on as many cores again: of more and smaller partitions it is ten times
    what it was."""
    times = times_of(reader(skewed()), 10.0, 10 * SLOTS)
    assert times[-1] == pytest.approx(0.2 + 10.0 * 9.8)


def test_work_is_conserved() -> None:
    model = reader(skewed())
    hot = model.hot
    assert hot is not None
    for tasks, growth in ((20, 1.0), (64, 3.0), (5, 1.0), (SLOTS + 1, 0.5)):
        cut = hot.divided(model._observed, tasks, growth)
        assert (cut[0] * cut[1]).sum() == pytest.approx(growth * model._observed.sum())


def test_the_own_run_is_as_it_was() -> None:
    run = skewed()
    assert Replay.of(run).observed().seconds == pytest.approx(run.seconds)
    assert times_of(reader(run), 1.0, None)[-1] == pytest.approx(10.0)


def test_a_hot_partition_is_coalesced_where_the_others_are_as_large() -> None:
    """A hundredth of the data is four times an even share on 512 cores; on eight, three partitions
    of fifty more."""
    run = skewed(hot_mib=8.0, usual_mib=2.0, tasks=400, slots=512)
    run = replace(run, config={"spark.sql.shuffle.partitions": "500"})
    model = reader(run)
    assert model.hot is not None
    times = times_of(model, 1.0, 8)
    assert times[-2] == pytest.approx(times[0], rel=0.01)
    assert 1.0 < times[-1] / times[0] < 53.0 / 50.0


def test_joins_split_what_grows_beyond_the_threshold() -> None:
    """40 MiB of a join are split from 6.4 times the data on (256 MiB), of a grouping never."""
    model = reader(skewed(joins=True))
    assert times_of(model, 6.0, 64)[-1] == pytest.approx(0.2 + 6.0 * 9.8)
    split = times_of(model, 7.0, 64)
    assert split[-1] == pytest.approx(split[0])
    assert times_of(reader(skewed()), 7.0, 64)[-1] == pytest.approx(0.2 + 7.0 * 9.8)


def test_joins_split_it_on_as_many_tasks_too() -> None:
    """With an advisory size of 1 GiB seven times the data are eight tasks on eight cores still."""
    run = skewed(joins=True)
    large = {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "1g"}
    model = reader(replace(run, config=large))
    assert [model.scaled(ratio, None, SLOTS).tasks for ratio in (6.0, 7.0)] == [SLOTS, SLOTS]
    assert times_of(model, 6.0, SLOTS)[-1] == pytest.approx(0.2 + 6.0 * 9.8)
    assert times_of(model, 7.0, SLOTS)[-1] == pytest.approx(
        7.0 * (27.5 - 1.6) / 8.0 + 0.2, rel=0.01
    )


@pytest.mark.parametrize("stages", [1, 15])
def test_a_hot_partition_stays_as_large_in_very_many_tasks(stages: int) -> None:
    """400 of 470 MiB: of 4,001 and more tasks only an outline is drawn elsewhere."""
    one = skewed(hot_mib=400.0)
    source = Stage(np.full(8, 2.0), input_bytes=8 * BLOCK)
    reads = replace(one.stages[-1], operations=("AQEShuffleRead", "Exchange"))
    more = {
        "sql_execution_id": 0,
        "operations": reads.operations,
        "shuffle_read_bytes": reads.shuffle_read_bytes,
    }
    seconds = np.asarray(reads.task_seconds.quantiles)
    after = [Stage(seconds, (n,), shuffle_bytes=1.0, more=more) for n in range(stages)]
    config = {"spark.sql.shuffle.partitions": "1000000"}
    replay = Replay.of(observed([source, *after], slots=SLOTS, config=config))
    few, many = (replay.replayed(slots, ratio=10.0) for slots in (3_900, 4_100))
    assert 3_900 <= few.tasks[-1] < 4_000 < 4_100 <= many.tasks[-1] < 4_200
    assert many.seconds == pytest.approx(few.seconds, rel=0.01)
    assert many.end[-1] - many.start[-1] > 900.0


def test_pieces_of_a_split_partition_are_not_hot() -> None:
    """Of 70 MiB each in a join of more than 256 MiB; 200 MiB is no piece."""
    assert reader(skewed(hot_mib=70.0, usual_mib=30.0, tasks=11, joins=True)).hot is None
    assert reader(skewed(hot_mib=200.0, usual_mib=30.0, tasks=11, joins=True)).hot is not None


def with_outputs(run: Run, *mib: float, tasks: int) -> Run:
    """Each source stage with so many tasks of which each wrote so much: in turn."""
    sources = [
        replace(
            source,
            tasks=tasks,
            task_seconds=measure(np.full(tasks, 2.0)),
            input_bytes=measure(np.full(tasks, float(BLOCK))),
            shuffle_write_bytes=measure(np.full(tasks, mib[place % len(mib)] * MIB)),
        )
        for place, source in enumerate(run.stages[:-1])
    ]
    return replace(run, stages=(*sources, run.stages[-1]))


def test_a_piece_that_no_join_splits_further_is_one_of_more() -> None:
    """Spark 3.5.9 with a threshold of 4 MiB left the half of a join whose rows have one key in one
    task of 17 MB from one output of 36 MB, and in three such tasks from three. It stays as large
    on more cores; more data is more of them. One that is larger than an output was not split."""
    low = {
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "4m",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4m",
    }
    run = replace(skewed(hot_mib=17.0, usual_mib=4.0, joins=True), config=low)
    for mib, is_piece in (((36.0,), True), ((36.0, 10.0), True), ((10.0,), False)):
        model = reader(with_outputs(run, *mib, tasks=2))
        assert times_of(model, 1.0, 64)[-1] == pytest.approx(17.0 * SECONDS_PER_MIB)
        longest = times_of(model, 20.0, 64)[-1]
        assert (longest < 1.1 * 17.0 * SECONDS_PER_MIB) == is_piece
        assert (longest > 19.0 * 17.0 * SECONDS_PER_MIB) != is_piece
    grouped = replace(skewed(hot_mib=17.0, usual_mib=4.0), config=low)
    times = times_of(reader(with_outputs(grouped, 36.0, tasks=2)), 20.0, 64)
    assert times[-1] > 19.0 * 17.0 * SECONDS_PER_MIB


@pytest.mark.parametrize(
    ("config", "split"),
    [({}, False), ({"spark.sql.adaptive.skewJoin.skewedPartitionFactor": "3.5"}, True)],
)
def test_joins_split_what_is_several_times_the_others(config: dict[str, str], split: bool) -> None:
    """Of eight partitions seven have 10 MiB: one of 40 is skewed from three times that on, and not
    from the default of five, however much data there is."""
    run = skewed(joins=True)
    run = replace(run, config={"spark.sql.shuffle.partitions": str(SLOTS), **config})
    times = times_of(reader(run), 9.0, SLOTS)
    assert (times[-1] < 9.0 * 9.8) == split


@pytest.mark.parametrize("threshold", ["0", "0b", "1b"])
def test_without_a_threshold_joins_split_whatever_is_several_times_the_others(
    threshold: str,
) -> None:
    """What the log has in one task was as small as Spark makes pieces; twice the data splits it."""
    key = "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"
    run = replace(skewed(joins=True, hot_mib=120.0), config={key: threshold})
    times = times_of(reader(with_outputs(run, 130.0, tasks=2)), 2.0, 64)
    assert times[-1] < 1.1 * 120.0 * SECONDS_PER_MIB
    unset = replace(run, config={})
    assert times_of(reader(with_outputs(unset, 130.0, tasks=2)), 2.0, 64)[-1] > 50.0


@pytest.mark.parametrize(
    ("hot_mib", "usual_mib", "tasks"), [(12.0, 10.0, SLOTS), (40.0, 10.0, 2), (0.9, 0.5, SLOTS)]
)
def test_even_partitions_have_none(hot_mib: float, usual_mib: float, tasks: int) -> None:
    """Within the target, of which the smallest is 1 MiB, or too few to stand out."""
    assert reader(skewed(hot_mib=hot_mib, usual_mib=usual_mib, tasks=tasks)).hot is None


def test_many_stages_answer_as_single_ones() -> None:
    """From a dozen stages on they are answered together."""
    one = skewed()
    stages = [Stage(np.full(8, 2.0), input_bytes=8 * BLOCK)]
    more = {
        "sql_execution_id": 0,
        "operations": ("AQEShuffleRead", "Exchange"),
        "shuffle_read_bytes": one.stages[-1].shuffle_read_bytes,
    }
    seconds = np.asarray(one.stages[-1].task_seconds.quantiles)
    stages += [Stage(seconds, (place,), shuffle_bytes=1.0, more=more) for place in range(15)]
    replay = Replay.of(replace(observed(stages, slots=SLOTS), spark_version="3.5.1"))
    found = replay.replayed(64)
    spans = found.end - found.start
    assert min(spans[1:]) > 9.9


def test_several_hot_partitions() -> None:
    hot = HotPartitions((0.4, 0.2), (np.inf, np.inf))
    in_proportion = np.asarray([0.1, 0.1, 0.1, 0.1, 0.2, 0.4])
    assert [hot.kept(tasks, 1.0, in_proportion) for tasks in (2, 3, 5, 7)] == [0, 1, 1, 2]


def test_one_that_is_split_changes_as_many_tasks_where_another_stays() -> None:
    hot = HotPartitions((0.4, 0.2), (2.0, np.inf))
    ordered = np.asarray([1.0, 1.0, 1.0, 1.0, 2.0, 4.0])
    assert hot.divided(ordered, 6, 2.0) is None
    assert hot.divided(ordered, 6, 2.1) is not None


def test_of_more_tasks_than_quantiles_the_largest_alone_is_known() -> None:
    run = skewed(tasks=300, slots=512)
    read = run.stages[-1].shuffle_read_bytes
    ends = (read.quantiles[0], *[read.quantiles[-2]] * 9, read.quantiles[-1])
    config = {"spark.sql.shuffle.partitions": "500"}
    for quantiles, known in ((read.quantiles, 1), (ends, 1), ((*ends[:-3], *ends[-1:] * 3), 1)):
        stage = replace(run.stages[-1], shuffle_read_bytes=replace(read, quantiles=quantiles))
        hot = reader(replace(run, stages=(*run.stages[:-1], stage), config=config)).hot
        assert len(hot.shares) == known


def test_a_key_that_takes_more_time_than_its_data_stays_as_long() -> None:
    """A third of the data in 90 of 100 s: coalesced with others on fewer cores it takes 90 s
    still."""
    hot = HotPartitions((0.35,), (np.inf,))
    ordered = np.asarray([1.0] * 10 + [90.0])
    for tasks in (3, 4, 8):
        cut = hot.divided(ordered, tasks, 1.0)
        times = cut[0] * cut[1]
        assert times[-1] == 90.0
        assert times.sum() == pytest.approx(100.0)
