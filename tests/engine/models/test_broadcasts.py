"""Tables that are broadcast while they are small."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Stage, observed
from sparkplan_runs import codes, executors, fit

from engine.cluster import Workload
from engine.models.base import Prediction
from engine.models.replay.broadcast_thresholds import THRESHOLD
from engine.models.replay.broadcasts import ChangedJoins
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import Times
from engine.profile import Run
from engine.stage_run import Measure
from engine.units import MIB, format_seconds

SMALL_TABLE = {"sql_execution_id": 0, "operations": ("BroadcastExchange", "Scan parquet")}


def joining(table_mib: float = 4.0, *, operation: str = "BroadcastExchange", **config: str) -> Run:
    """A scan of 16 blocks beside one of a small table that is broadcast."""
    more = {"sql_execution_id": 0, "operations": (operation, "Scan parquet")}
    stages = [
        Stage(np.full(1, 1.0), input_bytes=table_mib * MIB, more=more),
        Stage(np.full(16, 4.0), input_bytes=16 * BLOCK),
    ]
    settings = {key.replace("_", "."): value for key, value in config.items()}
    return replace(observed(stages, slots=4, config=settings), spark_version="3.5.1")


def test_a_table_beyond_the_threshold_is_named_with_both_sizes() -> None:
    found = ChangedJoins(Replay.of(joining()), 3.0).broadcast_notice(4.0)
    assert "stage 0" in found.text
    assert "broadcasts a table of 4.19 MB to every executor. With the wanted input" in found.text
    assert "it is taken to have 12.6 MB: more than" in found.text
    assert "more than spark.sql.autoBroadcastJoinThreshold" in found.text
    assert ChangedJoins(Replay.of(joining()), 2.0).broadcast_notice(4.0) is None


def test_of_several_tables_the_largest_is_named() -> None:
    stages = [
        Stage(np.full(1, 1.0), input_bytes=mib * MIB, more=SMALL_TABLE) for mib in (4.0, 9.0, 6.0)
    ]
    found = ChangedJoins(Replay.of(observed(stages, slots=4)), 3.0).broadcast_notice(4.0)
    assert "stage 1" in found.text


@pytest.mark.parametrize(
    "run",
    [
        joining(12.0),  # asked for by a hint, or cut down by a filter
        joining(operation="Exchange"),
        joining(spark_sql_autoBroadcastJoinThreshold="-1"),  # by a hint alone
        joining(spark_sql_autoBroadcastJoinThreshold="0"),
        joining(spark_sql_autoBroadcastJoinThreshold="0b"),
        joining(spark_sql_autoBroadcastJoinThreshold="100mb"),
    ],
)
def test_what_stays_is_not_warned_of(run: Run) -> None:
    assert ChangedJoins(Replay.of(run), 3.0).broadcast_notice(4.0) is None


def test_a_smaller_threshold_counts() -> None:
    """8 MiB are less than the 10 of the default."""
    found = ChangedJoins(
        Replay.of(joining(spark_sql_autoBroadcastJoinThreshold="5m")), 2.0
    ).broadcast_notice(4.0)
    assert "more than spark.sql.autoBroadcastJoinThreshold (5.24 MB)" in found.text
    assert ChangedJoins(Replay.of(joining()), 2.0).broadcast_notice(4.0) is None


@pytest.mark.parametrize(
    ("planned", "adaptive", "said"),
    [
        ("10m", "40m", None),  # made a broadcast while it runs
        ("-1", "8m", "more than spark.sql.adaptive.autoBroadcastJoinThreshold (8.39 MB)"),
        ("-1", "-1", None),
        ("8m", "-1", "more than spark.sql.autoBroadcastJoinThreshold (8.39 MB)"),
        ("5m", "6m", "more than spark.sql.adaptive.autoBroadcastJoinThreshold (6.29 MB)"),
    ],
)
def test_adaptive_execution_has_a_threshold_of_its_own(
    planned: str, adaptive: str, said: str | None
) -> None:
    run = joining(
        spark_sql_autoBroadcastJoinThreshold=planned,
        spark_sql_adaptive_autoBroadcastJoinThreshold=adaptive,
    )
    found = ChangedJoins(Replay.of(run), 3.0).broadcast_notice(4.0)
    assert (found is None) if said is None else (found is not None and said in found.text)


def test_a_prediction_for_more_input_says_so() -> None:
    run = joining()
    fitted, size = fit(run), run.workload.input_bytes
    assert size is not None
    for ratio, said in ((1.0, False), (4.0, True)):
        found = fitted.predict(cluster=executors(4), workload=Workload(ratio * size))
        assert ("broadcast-outgrown" in codes(found.warnings)) is said


def test_a_table_that_stays_the_same_in_two_logs_is_not_outgrown() -> None:
    small = joining()
    stages = [
        Stage(np.full(1, 1.0), input_bytes=4.0 * MIB, more=SMALL_TABLE),
        Stage(np.full(64, 4.0), input_bytes=64 * BLOCK),
    ]
    large = replace(observed(stages, slots=4), spark_version="3.5.1")
    size = large.workload.input_bytes
    found = fit(small, large).predict(cluster=executors(4), workload=Workload(8.0 * size))
    assert "broadcast-outgrown" not in codes(found.warnings)


def joined(*more: Stage, met: float | None = None, config: dict[str, str] | None = None) -> Run:
    """A table of 4 MiB and ten thousand rows, a scan whose eight million rows join with it, and
    more stages."""
    table = {**SMALL_TABLE, "input_records": 1e4}
    facts = {"input_records": 8e6, "joined_broadcasts": (0,), "joined_records": (met,)}
    stages = [
        Stage(np.full(1, 1.0), input_bytes=4.0 * MIB, more=table),
        Stage(np.full(16, 4.0), input_bytes=64 * MIB, more=facts),
        *more,
    ]
    run = observed(stages, slots=4, config={"spark.sql.shuffle.partitions": "64"} | (config or {}))
    return replace(run, spark_version="3.5.1")


def answer(run: Run, ratio: float, *more: Run) -> Prediction:
    size = run.workload.input_bytes
    return fit(run, *more).predict(cluster=executors(4), workload=Workload(ratio * size))


def test_the_time_holds_what_the_other_join_takes_and_the_interval_the_plan_of_the_log() -> None:
    """24 million rows at a million a second on four cores: six seconds. What is read is less."""
    stays = joined(config={THRESHOLD: "100m"})
    kept, found = answer(stays, 3.0), answer(joined(), 3.0)
    assert found.seconds - kept.seconds == pytest.approx(24.03e6 / 1e6 / 4, rel=0.05)
    assert found.low < kept.seconds
    assert found.high > kept.high
    (said,) = [n.text for n in found.warnings if n.code == "broadcast-outgrown"]
    assert (
        "The time holds up to about 6.01 s for that, inferred from the rows of both sides" in said
    )
    assert answer(joined(), 2.0).seconds == pytest.approx(answer(stays, 2.0).seconds)


def test_the_other_join_sets_in_around_the_threshold_and_hardly_holds_more_than_is_said() -> None:
    """The table of 4 MiB is one of 10 MiB at two and a half times the input."""
    stays, grows = joined(config={THRESHOLD: "100m"}), joined()
    ratios = (2.3, 2.45, 2.51, 2.7, 2.9, 3.0)
    added = [answer(grows, ratio).seconds - answer(stays, ratio).seconds for ratio in ratios]
    whole = [8.01e6 * ratio / 1e6 / 4 for ratio in ratios]
    assert added == sorted(added)
    assert added[0] == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < added[1] < added[2] < whole[2] / 2
    assert all(one <= 1.05 * most for one, most in zip(added, whole, strict=True))
    assert added[-1] == pytest.approx(whole[-1], rel=0.01)


def test_a_log_that_is_left_out_is_predicted_with_the_other_join() -> None:
    """Three times as much of a run, in a log of its own, from one whose broadcast it outgrows."""
    small, stays = joined(), joined(config={THRESHOLD: "100m"})
    size = small.workload.input_bytes
    large = replace(stays, workload=Workload(3.0 * size), seconds=60.0)
    with_join, without = (fit(run, large).validation for run in (small, stays))
    added = with_join.predicted_seconds[1] - without.predicted_seconds[1]
    assert added == pytest.approx(24.03e6 / 1e6 / 4, rel=0.05)


def test_a_table_that_no_operation_names_is_broadcast_where_others_join_it() -> None:
    """As in logs without adaptive execution, whose stages do not say `BroadcastExchange`."""
    run = joined()
    table, facts = run.stages
    plain = replace(table, operations=("WholeStageCodegen (1)", "Scan parquet"))
    (found,) = ChangedJoins(Replay.of(replace(run, stages=(plain, facts))), 3.0).outgrown
    assert found.table.build.stage == plain
    alone = replace(facts, joined_broadcasts=(), joined_records=())
    assert ChangedJoins(Replay.of(replace(run, stages=(plain, alone))), 3.0).outgrown == []


def test_rows_that_a_filter_leaves_out_are_not_shuffled() -> None:
    most, some = (ChangedJoins(Replay.of(joined(met=met)), 3.0).outgrown for met in (8e6, 8e5))
    slots = np.asarray([4.0])
    assert some[0].seconds(3.0, slots) == pytest.approx(most[0].seconds(3.0, slots) / 10, rel=0.02)


def test_a_table_that_is_joined_twice_costs_two_joins() -> None:
    run = joined()
    table, facts = run.stages
    both = replace(facts, joined_broadcasts=(0, 0), joined_records=(8e6, 8e5))
    (found,) = ChangedJoins(Replay.of(replace(run, stages=(table, both))), 3.0).outgrown
    (single,) = ChangedJoins(Replay.of(run), 3.0).outgrown
    slots = np.asarray([4.0])
    assert found.seconds(3.0, slots) == pytest.approx(1.1 * single.seconds(3.0, slots), rel=0.01)


def test_more_slots_share_the_other_join_as_far_as_its_shuffle_has_partitions() -> None:
    (one,) = ChangedJoins(Replay.of(joined()), 3.0).outgrown
    four, many, more = one.seconds(3.0, np.asarray([4.0, 40.0, 4000.0]))
    assert four / many == pytest.approx(10.0)
    assert four / more == pytest.approx(16.0)  # 64 shuffle partitions


def test_tasks_of_two_cores_share_the_other_join_on_half_as_many_slots() -> None:
    run = joined()
    two_cores = replace(run, stages=tuple(replace(one, task_cpus=2) for one in run.stages))
    (single,), (double,) = (ChangedJoins(Replay.of(one), 3.0).outgrown for one in (run, two_cores))
    on_half, on_all = (np.asarray([1.0, 4.0, 64.0]), np.asarray([3.0, 8.0, 128.0]))
    assert double.seconds(3.0, on_all) == pytest.approx(single.seconds(3.0, on_half))
    assert ChangedJoins(Replay.of(run), 3.0).most_useful_slots == 64
    assert ChangedJoins(Replay.of(two_cores), 3.0).most_useful_slots == 128


@pytest.mark.parametrize(("asked", "added"), [(None, 24.03 / 64), (8, 24.03 / 8)])
def test_as_many_shuffle_partitions_as_are_asked_for(asked: int | None, added: float) -> None:
    """On more slots than either; the notice says as much as the time holds."""
    run, stays = joined(), joined(config={THRESHOLD: "100m"})
    workload = Workload(3.0 * run.workload.input_bytes, shuffle_partitions=asked)
    found, kept = (
        fit(one).predict(cluster=executors(400), workload=workload) for one in (run, stays)
    )
    assert found.seconds - kept.seconds == pytest.approx(added, rel=0.05)
    (said,) = [n.text for n in found.warnings if n.code == "broadcast-outgrown"]
    assert f"The time holds up to about {format_seconds(added)} for that" in said


def test_what_the_notice_says_the_time_holds_is_of_the_machines_asked_for() -> None:
    calm, fast = (
        ChangedJoins(Replay.of(joined()), 3.0).broadcast_notice(4.0, speed=speed)
        for speed in (1, 2)
    )
    assert "holds up to about 6.01 s" in calm.text
    assert "holds up to about 3.00 s" in fast.text


def test_many_clusters_at_once_share_the_other_join_as_each_does_alone() -> None:
    """Beyond the 48 tasks of the scan, up to the 64 shuffle partitions."""
    run = joined()
    clusters, asked = (
        [executors(n) for n in (48, 56, 400)],
        Workload(3.0 * run.workload.input_bytes),
    )
    together = fit(run).predict_many(clusters=clusters, workloads=[asked])
    alone = [fit(run).predict(cluster=one, workload=asked) for one in clusters]
    assert list(together.seconds) == pytest.approx([one.seconds for one in alone])
    assert list(together.high) == pytest.approx([one.high for one in alone])
    assert alone[0].seconds > alone[1].seconds > alone[2].seconds


def test_what_was_shuffled_before_counts_as_spark_counted_it() -> None:
    """4 MiB were read of a shuffle of 9 MiB, compressed: a fifth more is too much."""
    run = joined()
    table, facts = run.stages
    told = replace(facts, joined_shuffled_bytes=(9.0 * MIB,))
    found = ChangedJoins(Replay.of(replace(run, stages=(table, told))), 1.2).outgrown
    assert [one.table.size for one in found] == [(9.0 * MIB, 9.0 * MIB)]
    assert ChangedJoins(Replay.of(run), 1.2).outgrown == []
    slots = np.asarray([4.0])
    whole, sorted_only = (
        ChangedJoins(Replay.of(replace(run, stages=(table, one))), 3.0)
        .outgrown[0]
        .seconds(3.0, slots)
        for one in (facts, told)
    )
    assert sorted_only == pytest.approx(whole / 2), "both sides were shuffled already"


def test_who_joins_an_outgrown_table_without_a_log_that_tells_is_said() -> None:
    found = ChangedJoins(Replay.of(joining()), 3.0).broadcast_notice(4.0)
    assert found.text.endswith("does not tell who joins it")


def test_on_a_machine_at_work_the_other_join_waits_as_other_shuffles_do() -> None:
    computed = {"cpu_seconds": Measure(4, 4.0, (1.0,))}
    waits = Stage(np.full(4, 3.0), (1,), shuffle_bytes=MIB, more=computed)
    slots = np.asarray([4.0])
    (calm,), (busy,) = (
        ChangedJoins(Replay.of(run), 3.0).outgrown for run in (joined(), joined(waits))
    )
    assert busy.seconds(3.0, slots) == pytest.approx(3.0 * calm.seconds(3.0, slots))


def pruned(read_mib: float, files_mib: float, **config: str) -> Run:
    """A table of which some columns are read, and are broadcast to eight million rows."""
    run = joined(config={key.replace("_", "."): value for key, value in config.items()})
    table, facts = run.stages
    read = Measure(1, read_mib * MIB, (read_mib * MIB,))
    return replace(
        run, stages=(replace(table, input_bytes=read, files_bytes=files_mib * MIB), facts)
    )


@pytest.mark.parametrize(
    ("files_mib", "ratio", "found"),
    [
        (1.0, 8.0, None),  # 8 MiB of files are no more than 10
        (4.0, 3.0, False),  # 1 to 4 MiB: 12 at most
        (4.0, 6.0, True),  # more probable than not, from sqrt(1 x 4) x 5 on
        (64.0, 2.0, False),  # it was broadcast: no more than 10 MiB counted
        (64.0, 4.0, True),
        (64.0, 1.1, None),  # hardly probable
    ],
)
def test_files_may_count_for_more_than_was_read_of_them(
    files_mib: float, ratio: float, found: bool | None
) -> None:
    told = ChangedJoins(Replay.of(pruned(1.0, files_mib)), ratio).outgrown
    assert [one.probable for one in told] == ([] if found is None else [found])


def test_what_may_be_outgrown_is_left_to_the_interval_and_said() -> None:
    """6.67 MB of files, of which 0.21 were read, were a join by sort and merge with three times as
    many in 3.5.9."""
    run = pruned(0.2, 6.36)
    kept, found = answer(pruned(0.2, 0.2), 3.0), answer(run, 3.0)
    assert found.seconds == pytest.approx(kept.seconds)
    times = Times(np.asarray([found.seconds]), np.asarray([0.0]))
    plan = ChangedJoins(Replay.of(run), 3.0).effect(np.asarray([4.0]), np.ones(1), times)
    assert plan.log_factor == [0.0]
    assert plan.reach == pytest.approx(np.log1p(24.03e6 / 1e6 / 4 / found.seconds), rel=0.05)
    (said,) = [n.text for n in found.warnings if n.code == "broadcast-outgrown"]
    assert "Spark takes for 210 kB (which it reads) to 6.67 MB (its files" in said
    assert "that may be more than spark.sql.autoBroadcastJoinThreshold" in said
    assert "The time is that of the log's plan; the interval holds about 6" in said


def test_sizes_that_spark_counted_leave_nothing_open() -> None:
    run = pruned(1.0, 64.0)
    table, facts = run.stages
    counted = replace(facts, joined_shuffled_bytes=(2.0 * MIB,))
    assert ChangedJoins(Replay.of(replace(run, stages=(table, counted))), 4.0).outgrown == []
