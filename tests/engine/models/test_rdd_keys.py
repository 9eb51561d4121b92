"""Keys that RDDs combine: each of two real logs predicts how many the other's readers get.

Spark 3.5.9, text files of 8,000 lines, four on two slots and twelve on four.
"""

from pathlib import Path

import pytest

from engine import read
from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.stage_models import stage_models
from engine.profile import Run

DATA = Path(__file__).parents[2] / "data"
FEW, MORE = (read(DATA / name).runs[0] for name in ("keys.zstd", "keys_more.zstd"))
FILES = 3.0
MEANS, SUMS, PAIRS, LISTS = 3, 10, 13, 18
"""The stages that hand keys on: means of each product, sums of each user, pairs without copies,
and the lines of each shop."""


def reader(run: Run, of: int) -> StageModel:
    assert run.cluster.slots
    models = stage_models(run, run.cluster.slots)
    (found,) = (model for model in models if model.stage.parents == (of,))
    return found


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
@pytest.mark.parametrize(("maker", "within"), [(MEANS, 0.02), (SUMS, 0.45), (PAIRS, 0.06)])
def test_keys_become_more_as_the_tasks_of_a_log_tell(
    known: Run, asked: Run, maker: int, within: float
) -> None:
    """All tasks have nearly all products, and few have a pair in common. Of users, who are drawn
    unevenly, each log sees other shares: in proportion they would be twice as many."""
    ratio = FILES if asked is MORE else 1.0 / FILES
    here, there = reader(known, maker), reader(asked, maker)
    assert here.stage.shuffle_read_records
    predicted = here.data_growth(ratio) * here.stage.shuffle_read_records
    assert predicted == pytest.approx(there.stage.shuffle_read_records, rel=within)


@pytest.mark.parametrize("ratio", [1.0 / FILES, 2.0, FILES])
def test_lists_of_all_rows_grow_with_these(ratio: float) -> None:
    assert reader(FEW, LISTS).data_growth(ratio) == ratio


def test_what_combines_them_reads_as_much_of_each_task_as_before() -> None:
    (combining,) = (s for s in stage_models(FEW, 2) if s.stage.stage_id == MEANS)
    assert combining.data_growth(FILES) == pytest.approx(FILES)


def test_the_interval_reaches_growth_in_proportion() -> None:
    (other,) = (
        a for a in alternatives_of(Replay.of(FEW)) if all(s.read_law is None for s in a.models)
    )
    held = {s.stage.stage_id: s.data_growth(FILES) for s in Replay.of(FEW).models}
    assert any(
        model.data_growth(FILES) > 2.0 * held[model.stage.stage_id] for model in other.models
    )
