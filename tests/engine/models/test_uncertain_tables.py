"""Tables in one file that are taken to grow with the input, and may be small ones.

The logs are of Spark 3.5.9: sales in 4 and 12 files, and returns in one and three with a fifth of
their rows.
"""

from dataclasses import replace

import pytest
from real_logs import logged
from sparkplan_runs import executors, fit

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.notices import single_files_notice
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.partitioning.small_tables import (
    MOST_SHARE,
    SMALL_TABLE_POWER,
    small_tables,
)
from engine.profile import Run
from engine.stage_run import Measure, StageInput

STAR = logged("star")
RATIO = 9.0
RETURNS = 5
"""The stage of `two_facts.zstd` that scans facts in one file, of a fifth of the rows of sales."""


def with_long_returns() -> Run:
    """A hundred times as much time goes to the returns."""
    run = logged("two_facts")
    (returns,) = (s for s in run.stages if s.stage_id == RETURNS)
    known = returns.task_seconds
    times = tuple(100.0 * seconds for seconds in known.quantiles)
    longer = replace(returns, task_seconds=Measure(known.count, 100.0 * known.total, times))
    return replace(run, stages=tuple(longer if s is returns else s for s in run.stages))


def test_a_single_file_that_grows_may_be_a_small_table() -> None:
    """Facts in one file as yet: the interval reaches growth as of a dimension, of what reads them
    too, and none of the dimensions changes with them."""
    replay = Replay.of(logged("two_facts"))
    uncertain = [i for i, model in enumerate(replay.models) if model.may_be_small_table]
    assert [replay.models[place].stage.stage_id for place in uncertain] == [RETURNS]
    assert not any(model.may_be_small_table for model in Replay.of(STAR).models)
    others = [
        other
        for other in alternatives_of(replay)
        if all(other.models[place].small_table for place in uncertain)
    ]
    (other,) = others
    for before, after in zip(replay.models, other.models, strict=True):
        own = after.stage.stage_id == RETURNS
        assert before.small_table == (after.small_table and not own)
        if after.small_table:
            assert after.data_growth(RATIO) == pytest.approx(RATIO**SMALL_TABLE_POWER)
    held, small = (one.replayed(2, ratio=RATIO) for one in (replay, other))
    assert small.seconds < held.seconds
    assert all(small.work[place] < held.work[place] for place in uncertain)


def test_it_is_said_of_a_single_file_where_much_of_the_time_hangs_on_it() -> None:
    replay = Replay.of(with_long_returns())
    said = single_files_notice(replay, RATIO)
    assert said is not None
    assert said.code == "small-tables"
    assert "scans a table in one file (30.1 kB) beside a larger one in several" in said.text
    assert "1.7 times as much, as of a small table" in said.text
    assert single_files_notice(replay, 1.01) is None
    assert single_files_notice(Replay.of(STAR), RATIO) is None
    run = replay.run
    workload = replace(run.workload, input_bytes=RATIO * (run.workload.input_bytes or 0.0))
    answer = fit(run).predict(cluster=executors(2), workload=workload)
    told = [one.text for one in answer.warnings if one.code == "small-tables"]
    assert any("as of a small table" in text for text in told)


def test_another_log_tells_whether_a_single_file_is_a_small_table() -> None:
    few = Replay.of(with_long_returns())
    more = Replay.of(logged("two_facts_more"))
    taught = with_laws(few, [(pair_fit(few, more), 1.0)])
    assert single_files_notice(few, RATIO) is not None
    assert single_files_notice(taught, RATIO) is None
    returns = [
        model
        for replay in alternatives_of(taught)
        for model in replay.models
        if model.stage.stage_id == RETURNS
    ]
    assert not any(model.small_table for model in returns)


def test_the_rows_of_a_table_are_those_that_are_scanned_of_it_alone() -> None:
    """A union or pair with tables beside it has more, of which a dimension would be a smaller
    share; where nothing else scans the largest table, bytes are compared."""
    (facts,) = (s for s in STAR.stages if s.files_read == 4.0)
    assert facts.files_bytes is not None
    assert facts.input_records is not None
    inputs = (
        StageInput("files", files_bytes=facts.files_bytes, files_read=4.0),
        StageInput("files", files_bytes=facts.files_bytes / 2.0, files_read=3.0),
    )
    more = {"inputs": inputs, "input_records": 4.0 * facts.input_records}
    union = replace(facts, stage_id=99, united=(2, 1), **more)  # type: ignore[arg-type]
    for beside in (union, replace(union, united=(), paired=(2, 1))):
        for share, small in ((MOST_SHARE, True), (1.1 * MOST_SHARE, False)):
            stages = [
                replace(s, input_records=share * facts.input_records) if s.files_read == 1.0 else s
                for s in STAR.stages
            ]
            found = small_tables(replace(STAR, stages=(*stages, beside)))
            assert bool(found.stage_ids) == small == (not found.uncertain_ids)
            assert found.table_rows == facts.input_records
        others = tuple(s for s in STAR.stages if s is not facts)
        assert small_tables(replace(STAR, stages=(*others, beside))).table_rows == 0.0
