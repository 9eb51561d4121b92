"""The driver's time on rows that it fetched: on real logs, of which each predicts the other (5 and
15 files of a table, whose rows a loop of the driver goes through)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_runs import Job, Stage, observed
from real_logs import log_pair
from sparkplan_runs import codes, executors, fit

from engine.cluster import Workload
from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replay_notices import rows_notice
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.fetched_rows import FetchedRowsShare, fetched_rows_shares
from engine.profile import Run
from engine.stage_run import StageRun
from engine.units import MIB

FEW, MORE = log_pair("fetched")
FILES = 3.0
"""So many times the files has the larger run."""


def of_name(run: Run, name: str) -> list[int]:
    """Places of the stages that a line of the program is the call site of."""
    return [place for place, stage in enumerate(run.stages) if stage.name.startswith(name)]


def before_next_job(run: Run, place: int) -> tuple[int, float]:
    """The node of the job after a stage, and what the driver took before it, in seconds."""
    replay = Replay.of(run)
    node = replay.graph.stage_nodes[place] + 1
    return node, replay.graph.nodes[node].delay_seconds


def test_the_logs_say_how_much_the_driver_fetched() -> None:
    collects = [of_name(run, "collect at")[0] for run in (FEW, MORE)]
    few, more = (
        run.stages[place].fetched_bytes for run, place in zip((FEW, MORE), collects, strict=True)
    )
    assert few == pytest.approx(3.54e6, rel=0.01)
    assert more == pytest.approx(FILES * (few or 0.0), rel=0.02)
    for run, place in zip((FEW, MORE), collects, strict=True):
        assert {s.fetched_bytes for s in run.stages if s is not run.stages[place]} == {None}


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_each_log_predicts_what_the_driver_of_the_other_takes(known: Run, asked: Run) -> None:
    ratio = FILES if asked is MORE else 1.0 / FILES
    replay, place = Replay.of(known), of_name(known, "collect at")[0]
    node, before = before_next_job(known, place)
    _, seen = before_next_job(asked, of_name(asked, "collect at")[0])
    predicted = replay.driver.nodes(ratio)[node].delay_seconds
    assert abs(predicted - seen) < 0.5 * abs(before - seen)


def test_what_follows_a_few_rows_stays() -> None:
    """The sum is one row, on which the driver works for seconds too."""
    replay = Replay.of(FEW)
    node, before = before_next_job(FEW, of_name(FEW, "collect at")[-1])
    assert before > 2.0
    assert replay.driver.nodes(FILES)[node].delay_seconds == before


def fetching(mib: float, *, gap: float = 10.0, **changes: Any) -> Run:
    """A stage that sends so many MiB of rows to the driver, and another after `gap` seconds."""
    stages = [Stage(np.ones(8), job=number, input_bytes=8.0 * MIB) for number in range(2)]
    run = observed(stages, [Job(), Job((0,), gap)], slots=4)
    first, *others = run.stages
    changed: StageRun = replace(first, fetched_bytes=mib * MIB or None, **changes)
    return replace(run, stages=(changed, *others), workload=Workload(input_bytes=8.0 * MIB))


def rows_share(run: Run) -> list[FetchedRowsShare]:
    replay = Replay.of(run)
    return list(fetched_rows_shares(run, replay.graph, replay.models).values())


def test_more_rows_before_as_long_a_gap_are_more_of_it() -> None:
    shares = [rows_share(fetching(mib))[0] for mib in (1.0, 10.0, 100.0)]
    assert [share.mean for share in shares] == sorted(share.mean for share in shares)
    assert all(0.0 < share.low < share.mean < share.high < 1.0 for share in shares)
    assert shares[-1].low > 0.8


def test_a_short_gap_after_many_rows_is_mostly_planning_still() -> None:
    assert rows_share(fetching(1.0, gap=0.1))[0].mean < 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {"in_part": True},
        {"input_bytes": None, "generated": True},  # of `range`: as many from any input
        {"operations": ("BroadcastExchange", "Scan parquet")},
        {"name": "treeAggregate at RDDLossFunction.scala:61"},
        {"name": "reduce at job.py:12"},
        {"name": "collect at job.py:12", "operations": ("TakeOrderedAndProject", "Scan parquet")},
    ],
)
def test_what_does_not_grow_and_rows_that_spark_sends_on_are_not_counted(
    changes: dict[str, Any],
) -> None:
    assert rows_share(fetching(50.0))
    assert not rows_share(fetching(50.0, **changes))


def test_rows_fetched_last_are_worked_on_until_the_end() -> None:
    run = fetching(0.0, gap=0.0)
    last = replace(run.stages[-1], fetched_bytes=50.0 * MIB)
    ended = replace(run, stages=(*run.stages[:-1], last), seconds=run.seconds + 8.0)
    grown = Replay.of(ended).replayed(4, ratio=2.0).driver_seconds
    assert grown > 14.0
    assert Replay.of(replace(ended, stages=run.stages)).replayed(4, ratio=2.0).driver_seconds < 9.0


def test_the_interval_reaches_the_driver_with_less_and_with_more_on_rows() -> None:
    run = fetching(1.0)
    asked, cluster = Workload(input_bytes=80.0 * MIB), executors(4)
    found = fit(run).predict(cluster=cluster, workload=asked, confidence=0.9)
    others = alternatives_of(Replay.of(run))
    reached = [other.replayed(4, ratio=10.0).seconds for other in others]
    assert len(reached) == 2
    assert found.high is not None
    assert found.low <= min(reached) < found.seconds < max(reached) <= found.high


def test_sent_on_by_a_plan_that_names_no_broadcast() -> None:
    """Stages of some vendors' Spark have no scope that says so, and the plan of the join does."""
    run = fetching(50.0)
    joining = replace(run.stages[1], joined_broadcasts=(run.stages[0].stage_id,))
    assert not rows_share(replace(run, stages=(run.stages[0], joining)))


@pytest.mark.parametrize(("mib", "counted"), [(1.0, False), (20.0, True)])
def test_a_gap_as_long_as_a_pause_is_work_where_rows_may_take_so_long(
    mib: float, counted: bool
) -> None:
    replay = Replay.of(fetching(mib, gap=60.0))
    assert bool(replay.rows_share) is bool(replay.driver.growing_gaps) is counted
    less = replay.replayed(4, ratio=0.25).driver_seconds
    assert less < 25.0 if counted else less == pytest.approx(60.0)


def test_a_prediction_says_what_it_takes_for_work_on_rows() -> None:
    model = fit(FEW)
    size = FEW.workload.input_bytes or 0.0
    for ratio, word in ((FILES, "more"), (0.25, "less"), (1.0, None)):
        found = model.predict(cluster=FEW.cluster, workload=Workload(input_bytes=ratio * size))
        said = [notice.text for notice in found.warnings if notice.code == "rows-fetched"]
        assert len(said) == (word is not None)
        assert all("3.54 MB of rows" in text and f" {word} here" in text for text in said)
    both = fit(FEW, MORE).predict(cluster=FEW.cluster, workload=Workload(input_bytes=9.0 * size))
    assert "rows-fetched" not in codes(both.warnings)


@pytest.mark.parametrize(
    ("limit", "ratio", "said"),
    [
        (None, 20.0, True),  # 100 MiB of 1 GiB
        (None, 10.0, False),
        ("500m", 10.0, True),
        ("0", 1000.0, False),  # without a limit
        ("0m", 1000.0, False),
        ("50m", 10.0, False),  # which Spark ended in the log already, or never looked at
    ],
)
def test_a_result_that_spark_would_not_take_is_said(
    limit: str | None, ratio: float, said: bool
) -> None:
    config = {} if limit is None else {"spark.driver.maxResultSize": limit}
    model = fit(replace(fetching(100.0), config=config))
    found = model.predict(cluster=executors(4), workload=Workload(input_bytes=8.0 * MIB * ratio))
    assert ("result-too-large" in codes(found.warnings)) is said


def test_rows_of_a_small_table_grow_as_the_table_does() -> None:
    """Of a table in one file beside one in eight there are twice as many at 16 times the input."""
    run = fetching(100.0, files_read=1.0, files_bytes=MIB)
    facts = replace(run.stages[1], files_read=8.0, files_bytes=80.0 * MIB)
    with_table = replace(run, stages=(run.stages[0], facts))
    alone, small = Replay.of(run), Replay.of(with_table)
    growth = [
        (replay.replayed(4, ratio=16.0).driver_seconds - 10.0) / 10.0 for replay in (alone, small)
    ]
    assert growth[1] == pytest.approx(growth[0] / 15.0, rel=0.01)
    for model, said in ((fit(run), True), (fit(with_table), False)):
        found = model.predict(cluster=executors(4), workload=Workload(input_bytes=128.0 * MIB))
        assert ("result-too-large" in codes(found.warnings)) is said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("treeAggregate at RDDLossFunction.scala:61", set[str]()),
        ("toLocalIterator at job.py:12", {"rows-fetched"}),  # a partition at a time
    ],
)
def test_what_does_not_grow_at_once_is_no_more_than_spark_takes(name: str, said: set[str]) -> None:
    found = fit(fetching(100.0, name=name)).predict(
        cluster=executors(4), workload=Workload(input_bytes=160.0 * MIB)
    )
    assert {"result-too-large", "rows-fetched"} & set(codes(found.warnings)) == said


def test_the_stage_that_is_named_is_one_whose_rows_were_counted() -> None:
    """A broadcast of more bytes ended before the same gap."""
    made = [Stage(np.ones(8), job=number, input_bytes=8.0 * MIB) for number in (0, 0, 1)]
    run = observed(made, [Job(), Job((0,), 10.0)], slots=4)
    rows, sent_on, last = run.stages
    stages = (
        replace(rows, fetched_bytes=2.0 * MIB),
        replace(sent_on, fetched_bytes=90.0 * MIB, operations=("BroadcastExchange",)),
        last,
    )
    replay = Replay.of(replace(run, stages=stages))
    said = rows_notice(replay, 8.0, 60.0)
    assert said.text.startswith(f"stage {rows.stage_id} ")


def test_another_log_tells_how_much_of_it_grows() -> None:
    """It all but stays: less than rows alone let expect, and nothing is left open."""
    one, other = fetching(1.0), fetching(1.0, gap=10.5)
    other = replace(other, workload=Workload(input_bytes=32.0 * MIB))
    replay = Replay.of(one)
    told = with_laws(replay, [(pair_fit(replay, Replay.of(other)), 1.0)])
    alone, both = (found.replayed(4, ratio=4.0).driver_seconds for found in (replay, told))
    assert both < 0.7 * alone
    assert alternatives_of(replay)
    assert not alternatives_of(told)


@pytest.mark.parametrize("gaps", [(10.0, 10.0), (25.0, 10.0), (28.0, 28.0)])
def test_all_gaps_together_grow_as_another_log_tells(gaps: tuple[float, float]) -> None:
    """Less and more than rows before the first of two gaps let expect."""

    def run(mib: float, first: float, second: float) -> Run:
        stages = [Stage(np.ones(8), job=number, input_bytes=8.0 * MIB) for number in range(3)]
        made = observed(stages, [Job(), Job((0,), first), Job((1,), second)], slots=4)
        sent = replace(made.stages[0], fetched_bytes=mib * MIB)
        size = Workload(input_bytes=8.0 * mib * MIB)
        return replace(made, stages=(sent, *made.stages[1:]), workload=size)

    replay, other = Replay.of(run(5.0, 10.0, 10.0)), Replay.of(run(20.0, *gaps))
    told = with_laws(replay, [(pair_fit(replay, other), 1.0)])
    grown = sum(told.driver.nodes(4.0)[place].delay_seconds for place in told.driver.growing_gaps)
    share = replay.driver.mean_rows_share + told.driver_growth
    assert told.driver_growth
    assert grown == pytest.approx(20.0 * (1.0 + 3.0 * share))


@pytest.mark.parametrize("ratio", [1.0, 1.01, 1.2])
def test_repeated_runs_say_nothing_of_it(ratio: float) -> None:
    """Nor does one on data of another day, a little more of it."""
    run = fetching(1.0)
    again = replace(run, workload=Workload(input_bytes=ratio * 8.0 * MIB))
    replay = Replay.of(run)
    told = with_laws(replay, [(pair_fit(replay, Replay.of(again)), 1.0)])
    assert told.driver_growth == 0.0
    assert len(alternatives_of(told)) == 2
