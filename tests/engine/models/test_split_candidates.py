"""Candidates for the splits of MLlib's trees: so many samples, in a task for each feature."""

from dataclasses import replace

import pytest
from real_logs import log_pair, tasks_of

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitioning.split_candidates import SENDS, SORTS
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import StageRun

FEW, MORE = log_pair("forest")
"""A forest over six features of 16,000 rows in four files on two slots, and of 48,000 in twelve on
four (Spark 3.5.9): more rows than are sampled, 10,000."""

FEATURES = 6


def sorting(run: Run) -> StageRun:
    return next(stage for stage in run.stages if stage.name.startswith(SORTS))


def changed(run: Run, place: StageRun, **changes: object) -> Run:
    stages = (replace(one, **changes) if one is place else one for one in run.stages)  # type: ignore[arg-type]
    return replace(run, stages=tuple(stages))


@pytest.mark.parametrize(("log", "other", "ratio"), [(FEW, MORE, 3.0), (MORE, FEW, 1.0 / 3.0)])
def test_every_stage_has_the_observed_tasks(log: Run, other: Run, ratio: float) -> None:
    assert [sorting(FEW).tasks, sorting(MORE).tasks] == [4, FEATURES]
    assert tasks_of(log, other.cluster.slots, ratio) == [stage.tasks for stage in other.stages]


def test_candidates_follow_rows_whose_splits_may_stay() -> None:
    """Three times the rows in four splits still are sorted in four tasks, not in one for each
    feature."""
    sends = next(stage for stage in FEW.stages if stage.name.startswith(SENDS))
    rows, sorts = FEW.stages.index(sends), FEW.stages.index(sorting(FEW))
    others = [one.replayed(2, ratio=3.0).tasks for one in alternatives_of(Replay.of(FEW))]
    stayed = [tasks[sorts] for tasks in others if tasks[rows] == sends.tasks]
    assert stayed
    assert set(stayed) == {4}


def test_more_rows_are_not_more_samples() -> None:
    """Both runs sample 10,000 rows. A task sends each value once, so that more tasks send somewhat
    more of them; the work is taken to stay."""
    model = next(m for m in stage_models(FEW, 2) if m.stage is sorting(FEW))
    assert model.prior_work_growth(30.0, 1.0) == 1.0
    scaled = model.scaled(30.0, None)
    assert scaled.tasks * scaled.work == pytest.approx(4.0)


def test_all_rows_grow_where_none_are_left_out() -> None:
    sends = next(stage for stage in FEW.stages if stage.name.startswith(SENDS))
    whole = tuple(name for name in sends.operations if name != "sample")
    run = changed(FEW, sends, operations=whole, operation_counts=())
    model = next(m for m in stage_models(run, 2) if m.stage is sorting(FEW))
    assert model.prior_work_growth(3.0, 1.0) == 3.0
    assert model.scaled(3.0, None).tasks == FEATURES


def test_without_the_number_of_features_tasks_are_those_of_the_rows() -> None:
    """Before Spark 3.1 each value is a record. Fewer tasks than partitions tell the number."""
    older = changed(FEW, sorting(FEW), operations=("groupByKey", "map"), operation_counts=())
    assert tasks_of(older, 4, 3.0)[older.stages.index(sorting(older))] == 12
    older = changed(MORE, sorting(MORE), operations=("groupByKey", "map"), operation_counts=())
    place = older.stages.index(sorting(older))
    assert [tasks_of(older, 4, ratio)[place] for ratio in (1.0 / 3.0, 3.0)] == [4, FEATURES]
