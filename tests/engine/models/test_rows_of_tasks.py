"""Of rows that tasks group, or of which they leave a few, more tasks hand on more."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from grouped_runs import DAYS, FEW, FILES, MORE, WIDE, grouping, reader
from made_runs import Stage, observed
from watched import calls_of

from engine import read
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.data_flow import (
    DataFlow,
    _task_growth,
    limits_rows_per_task,
)
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import PartitionCount
from engine.models.stages.stage_models import stage_models
from engine.profile import Run


@pytest.mark.parametrize(("known", "asked"), [(FEW, WIDE), (MORE, WIDE), (WIDE, FEW)])
def test_more_tasks_on_more_slots_shuffle_more_rows(known: Run, asked: Run) -> None:
    """Each groups its own: counts of words that were 1,416 and 2,338 rows of two tasks are 4,232 of
    six, and sums by day three times as many."""
    ratio = {id(FEW): 1.0, id(MORE): FILES, id(WIDE): FILES}
    more, slots = ratio[id(asked)] / ratio[id(known)], asked.cluster.slots
    assert slots
    for model, seen in zip(grouping(known), grouping(asked), strict=True):
        here, there = (reader(r, s).stage for r, s in ((known, model), (asked, seen)))
        assert here.shuffle_read_records
        found = reader(known, model).read_growth(more, slots) * here.shuffle_read_records
        assert found == pytest.approx(there.shuffle_read_records, rel=0.03)
    days = reader(known, grouping(known)[DAYS])
    assert days.read_growth(more, slots) == pytest.approx(
        asked.stages[0].tasks / known.stages[0].tasks
    )


def test_a_table_of_clusters_asks_once_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each cluster, of which there may be hundreds."""
    slots = np.arange(1.0, 301.0, 4.0)
    models = [reader(MORE, index) for index in grouping(MORE)]
    singly = [[model.read_growth(1.7, many) for many in slots] for model in models]
    asked = calls_of(monkeypatch, DataFlow, "_compute_growths")
    for model, alone in zip(models, singly, strict=True):
        tasks, data = model.largest_task_bytes(1.7, None, slots)
        whole = model.partition_count(1.7, None).on(slots)
        assert data * np.maximum(1.0, whole) / model.stage.tasks == pytest.approx(alone)
        assert tasks.shape == slots.shape
    assert len(asked) <= 3 * len(models)


def best_of_each(run: Run, left: float) -> StageModel:
    """What reads the best rows of a group that the first stage left of those of each task."""
    first, reading, *_ = run.stages
    best = replace(
        first,
        operations=("Scan csv ", "WindowGroupLimit", "Exchange"),
        shuffle_write_records=left,
        grouped_rows=None,
        groups=None,
    )
    assert reading.parents == (best.stage_id,)
    return stage_models(replace(run, stages=(best, reading)), 2)[1]


def test_each_task_leaves_the_best_rows_of_each_group() -> None:
    """Two tasks of 480,000 rows left three of 60 shops each, 360, and six of three times as many
    1,080 (3.5.9): as many as there are tasks, whatever rows these have."""
    model = best_of_each(FEW, 360.0)
    assert [model.data_growth(ratio) for ratio in (1.0, FILES)] == [1.0, 1.0], "two tasks"
    assert [model.read_growth(ratio, 6) for ratio in (1.0, FILES)] == pytest.approx([2.0, 3.0]), (
        "files"
    )


def test_who_leaves_most_rows_leaves_more_of_more() -> None:
    read = FEW.stages[0].input_records
    assert read
    model = best_of_each(FEW, 0.6 * read)
    assert [model.read_growth(ratio, 6) for ratio in (1.0, FILES)] == [1.0, FILES]


def test_what_ends_a_limit_behind_a_shuffle_leaves_what_it_reads() -> None:
    """Its rows are those that tasks before it left."""
    first, reading, *_ = FEW.stages
    limit = ("WindowGroupLimit", "Exchange")
    before = replace(first, operations=limit, shuffle_write_records=360.0)
    assert before.input_records
    assert limits_rows_per_task(before)
    behind = replace(before, shuffle_read_bytes=reading.shuffle_read_bytes)
    assert not limits_rows_per_task(behind)


@pytest.mark.parametrize(("rows", "found"), [(0.5, 0.5), (1.0, 1.0), (3.0, 3.0)])
def test_tasks_that_group_rows_are_as_many_more_as_these_at_most(rows: float, found: float) -> None:
    """A rule that has ten times as many for more data, and a tenth for less."""
    (stage,) = observed([Stage(np.full(4, 1.0))], slots=4).stages
    made = SimpleNamespace(
        stage=stage,
        partition_count=lambda ratio, _: PartitionCount(4.0 * 10.0 ** np.sign(ratio - 1.0)),
    )
    model = cast(PartitionedStage, made)
    own = _task_growth(model, np.asarray(rows), np.asarray(rows), None)
    assert own == found
    there = _task_growth(model, np.full(2, rows), np.full(2, rows), np.asarray([4.0, 8.0]))
    assert there.tolist() == [found, found]


def test_a_replay_on_more_slots_has_the_work_of_the_rows_that_these_shuffle() -> None:
    """Though what reads them has one task on any: words, of which 2,338 rows became 4,232."""
    replay, speed = Replay.of(MORE), np.ones(len(MORE.stages))
    own, wide = (
        replay.stages_by_slots.at(1.0).on_slots(slots, speed)[0].scaled for slots in (2, 6)
    )
    slow = max((s for s in replay.models if s.read_law), key=lambda s: s.mean_seconds)
    place = replay.models.index(slow)
    assert own[place].partitions == wide[place].partitions == 1.0
    rows = slow.prior_work_growth(1.0, 1.0, 6)
    more = slow.law.work_growth(1.0, rows)
    assert wide[place].work == pytest.approx(more * own[place].work)
    assert rows == pytest.approx(slow.read_growth(1.0, 6), rel=0.05)
    assert more > 1.4


def test_few_more_rows_of_the_same_groups_are_little_more_work() -> None:
    """Rows by day are 100 of two tasks and 300 of six: read in 0.69 and 0.80 s in one task."""
    days = reader(MORE, grouping(MORE)[DAYS])
    assert days.read_growth(1.0, 6) == pytest.approx(3.0)
    assert 1.0 < days.scaled(1.0, None, 6).work < 1.3
    assert days.scaled(3.0, None, 2).work == 1.0


@pytest.mark.parametrize("limit", ["WindowGroupLimit", "LocalLimit", "TakeOrderedAndProject"])
def test_so_many_rows_of_each_task_follow_the_tasks(limit: str) -> None:
    """The best of each group that each of 22 tasks has, and each of 67 of three times the data:
    their rows are three times as many, though the groups are the same customers. Other limits of
    each task leave as many of each."""
    samples = Path(__file__).parents[3] / "sample_logs"
    small, large = (read(samples / f"sales-report-{n}.zstd").runs[0] for n in ("small", "large"))
    best, seen = (next(s for s in run.stages if s.stage_id == 18) for run in (small, large))
    stages = tuple(
        replace(s, operations=tuple(limit if o == "WindowGroupLimit" else o for o in s.operations))
        for s in small.stages
    )
    models = stage_models(replace(small, stages=stages), 2)
    (model,) = (one for one in models if one.stage.stage_id == best.stage_id)
    assert best.shuffle_read_records
    assert seen.shuffle_read_records
    grown = seen.shuffle_read_records / best.shuffle_read_records
    assert model.data_growth(FILES) == pytest.approx(grown, rel=0.03)
