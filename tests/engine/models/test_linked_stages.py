"""Stages that hang on others have these as they are in the same replay, on real logs of which each
predicts the other: counts of words that are checkpointed and read again, of four and of twelve
files on two slots."""

import math

import pytest
from real_logs import log_pair

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.data_flow import group_power
from engine.models.stages.partitioning.derived_partitions import DerivedPartitions
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import Growth
from engine.profile import Run

FEW, MORE = log_pair("kept_groups")
FILES = 3.0
"""So many times the files has the larger run."""

BOTH_WAYS = pytest.mark.parametrize(
    ("known", "asked", "ratio"), [(FEW, MORE, FILES), (MORE, FEW, 1.0 / FILES)]
)


def stage(replay: Replay, number: int) -> StageModel:
    (found,) = (model for model in replay.models if model.stage.stage_id == number)
    return found


COUNTED, KEPT, READ, UNITED, TAKEN = 0, 2, 3, 8, 16
"""Words are counted in each task, brought together and kept, summed, united with counts of days,
and some are taken."""


@BOTH_WAYS
def test_what_reads_kept_groups_has_the_partitions_of_their_maker(
    known: Run, asked: Run, ratio: float
) -> None:
    """Groups become more with a power of the input: their readers had as many tasks as if they
    became more in proportion."""
    replay, seen = Replay.of(known), Replay.of(asked)
    tasks = stage(replay, KEPT).scaled(ratio, None).tasks
    assert tasks != stage(replay, KEPT).stage.tasks
    assert stage(replay, READ).scaled(ratio, None).tasks == tasks
    assert stage(seen, READ).stage.tasks == stage(seen, KEPT).stage.tasks


@BOTH_WAYS
def test_a_union_reads_as_much_more_as_there_are_groups_kept_and_shuffled(
    known: Run, asked: Run, ratio: float
) -> None:
    """Days are as many whatever the input, in as many tasks as in the log; words have those of the
    stage that keeps them."""
    replay, seen = Replay.of(known), Replay.of(asked)
    told, there = stage(replay, UNITED), stage(seen, UNITED).stage
    assert told.read_growth(ratio) * told.stage.read_bytes == pytest.approx(
        there.read_bytes, rel=0.06
    )
    days = there.tasks - stage(seen, KEPT).stage.tasks
    assert told.scaled(ratio, None).tasks == stage(replay, KEPT).scaled(ratio, None).tasks + days


def test_who_takes_some_reads_the_part_of_what_is_kept_now() -> None:
    replay = Replay.of(FEW)
    kept, taken = stage(replay, KEPT), stage(replay, TAKEN)
    grown = math.pow(FILES, group_power(stage(replay, COUNTED).stage))
    more = kept.scaled(FILES, None).tasks / kept.stage.tasks
    assert taken.part_of is kept
    assert taken.read_growth(FILES) == pytest.approx(grown / more, rel=0.05)


def hangs_on(model: PartitionedStage) -> list[PartitionedStage]:
    """The earlier stages on which the partitions of a stage depend: its own references, and those
    of its shuffled inputs and derived partitions, which have its id."""
    references = [model.follows, model.part_of, model.written_by, *model.input_stages]
    if isinstance(model, DerivedPartitions):
        references.append(model.source)
    before = list[PartitionedStage]()
    for one in references:
        if one is not None:
            same_id = one.stage.stage_id == model.stage.stage_id
            before += hangs_on(one) if same_id else [one]
    return before


def hangs_on_its_own(replay: Replay) -> bool:
    """Whether all that stages of a replay hang on is of the same replay, and some hang on any."""
    before = [one for model in replay.models for one in hangs_on(model)]
    return bool(before) and all(any(one is own for own in replay.models) for one in before)


@pytest.mark.parametrize("name", ["kept_groups", "factors", "forest", "rdds"])
def test_they_are_of_the_same_replay_whatever_is_learnt_or_held_otherwise(name: str) -> None:
    few, more = map(Replay.of, log_pair(name))
    assert hangs_on_its_own(few)
    assert hangs_on_its_own(with_laws(few, [(pair_fit(few, more), 1.0)]))
    others = alternatives_of(few)
    assert others
    assert all(map(hangs_on_its_own, others))


def test_a_law_of_partitions_counts_for_those_who_follow() -> None:
    """What another log tells of the stage that keeps them is true of its readers."""
    few, more = Replay.of(FEW), Replay.of(MORE)
    told = with_laws(few, [(pair_fit(few, more), 1.0)])
    followed = [model.part_of for model in told.models if model.part_of is not None]
    assert KEPT in {model.stage.stage_id for model in followed}
    for model in followed:
        assert model.law == stage(told, model.stage.stage_id).law
        assert model.growth is Growth.COALESCED
