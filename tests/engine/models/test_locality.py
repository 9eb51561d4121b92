"""Stages that stay on the executors that hold their input."""

from dataclasses import replace

import numpy as np
from made_runs import BLOCK, Stage, observed

from engine.models.replay.replayed_run import Replay
from engine.models.stages.locality import FEW_OUTPUTS, Locality
from engine.profile import Run

START_SECONDS = 3.0


def chain(tasks: int, *, stages: int = 12, executor_slots: int = 2) -> Run:
    """One stage that reads, starts executors and is followed by others of as many short tasks."""
    first = Stage(np.full(40, 1.0), input_bytes=40 * BLOCK, cold_seconds=START_SECONDS)
    more = [Stage(np.full(tasks, 0.2), (n,), shuffle_bytes=1e6) for n in range(stages)]
    run = observed([first, *more], slots=4)
    layout = replace(run.cluster, executors=4 // executor_slots, executor_cores=executor_slots)
    return replace(run, cluster=layout)


def growth_from(run: Run, slots: int) -> float:
    """By how much the run is slower on eight times the slots than its first stage keeps busy."""
    replay = Replay.of(run)
    return replay.replayed(8 * slots).seconds - replay.replayed(slots).seconds


def test_few_outputs_and_cached_blocks_keep_a_stage_where_they_are() -> None:
    run = chain(FEW_OUTPUTS, stages=3)
    assert Locality.of(run).local_stages([40, 5, 5, 5]) == (False, False, True, True)
    assert Locality.of(run).local_stages([4, 5, 6, 5]) == (False, True, True, False)
    cached = replace(run.stages[0], cached_input_bytes=30 * BLOCK)
    run = replace(run, stages=(cached, *run.stages[1:]))
    assert Locality.of(run).local_stages([40, 5, 5, 5]) == (True, False, True, True)


def test_of_a_join_of_spark_sql_one_side_of_few_outputs_is_enough() -> None:
    """Spark 3.5.9 launched the seven tasks of a join of 24 and 3 outputs at the hosts of the three;
    those of 24 alone had none. A union's tasks, and those of RDDs, have their own or none."""
    run = chain(7, stages=2)
    of_both = replace(run.stages[2], parents=(0, 1))

    def near(**changed: object) -> bool:
        stages = (*run.stages[:2], replace(of_both, **changed))
        return Locality.of(replace(run, stages=stages)).local_stages([24, 3, 7])[2]

    assert near(sql_execution_id=1)
    assert not near(sql_execution_id=1, operations=("Union",))
    assert not near()


def test_caches_count_as_far_as_they_are_most_of_what_is_read() -> None:
    run = chain(30, stages=1)
    read = run.stages[0].input_bytes
    assert read is not None
    for share, near in ((0.49, False), (0.51, True)):
        half = replace(run.stages[0], cached_input_bytes=share * read.total)
        assert (
            Locality.of(replace(run, stages=(half, run.stages[1]))).local_stages([40, 30])[0]
            is near
        )


def test_sources_that_were_skipped_have_as_many_partitions_as_the_stage() -> None:
    run = chain(3, stages=1)
    alone = replace(run.stages[1], parents=(77,))
    run = replace(run, stages=(run.stages[0], alone))
    assert Locality.of(run).local_stages([40, 3]) == (False, True)
    assert Locality.of(run).local_stages([40, 30]) == (False, False)


def test_a_chain_of_small_stages_does_not_start_new_executors_with_each() -> None:
    """On 320 slots of 80 executors a stage of four tasks would meet new ones a dozen times."""
    assert growth_from(chain(4), 40) < 2.0 * START_SECONDS
    spread = chain(FEW_OUTPUTS + 15)
    assert growth_from(spread, 40) > 2.0 * START_SECONDS


def test_executors_of_more_slots_are_sooner_all_used() -> None:
    one, four = (Replay.of(chain(20, executor_slots=slots)) for slots in (1, 4))
    assert four.replayed(160).tasks_on_unused_slots.tolist() == [40, *[0] * 12]
    assert one.replayed(160).seconds > four.replayed(160).seconds + START_SECONDS
