"""The stages that ran, and which of them reads which: skipped ones, and logs that tell less."""

from pathlib import Path

import sparklog as log
from distilled import run_of, stage_of


def test_stages_of_which_only_the_tasks_are_told_did_not_fail(tmp_path: Path) -> None:
    events = [event for event in log.one_stage() if "Stage Info" not in event]
    run = run_of(tmp_path, events)
    (stage,) = run.stages
    assert (stage.tasks, stage.submitted_seconds, stage.completed_seconds) == (4, 2.0, 10.0)
    assert run.notices == ()


def test_skipped_stages_are_resolved_by_their_rdd(tmp_path: Path) -> None:
    """Stage 2 is the skipped twin of stage 0 (same RDD); stage 4's lost twin leads on to 0."""
    zero, one = log.info(0, 1, rdds=[log.rdd(7)]), log.info(1, 1, parents=[0], rdds=[log.rdd(8)])
    two = log.info(2, 1, rdds=[log.rdd(7)])
    three = log.info(3, 1, parents=[2], rdds=[log.rdd(9)])
    four, five = (
        log.info(4, 1, parents=[2], rdds=[log.rdd(10)]),
        log.info(5, 1, parents=[4], rdds=[log.rdd(11)]),
    )
    events = [*log.header(), log.job(0, [zero, one], 1.0)]
    for place, stage in enumerate((zero, one)):
        at = 2.0 + place
        events += [log.submitted(stage, at), log.task(place, place, at, at + 1.0, index=0),
                   log.completed(stage, at, at + 1.0)]  # fmt: skip
    properties = {"spark.sql.execution.id": "5"}
    events += [log.job_end(0, 4.0), log.job(1, [two, three], 4.0, **properties)]
    events += [log.job(2, [four, five], 4.0)]
    for number, stage in ((3, three), (5, five)):
        events += [log.submitted(stage, 5.0), log.task(number, number, 5.0, 6.0, index=0),
                   log.completed(stage, 5.0, 6.0)]  # fmt: skip
    run = run_of(tmp_path, [*events, log.end(7.0)])
    assert {stage.stage_id: stage.parents for stage in run.stages} == {
        0: (), 1: (0,), 3: (0,), 5: (0,),
    }  # fmt: skip
    assert stage_of(run, 3).sql_execution_id == 5
    assert stage_of(run, 3).job_ids == (1,)
    assert [job.stage_ids for job in run.jobs] == [(0, 1), (2, 3), (4, 5)]


def ran(stage: log.Event, start: float, end: float, *, wrote: bool) -> list[log.Event]:
    """A stage of one task, which may write a shuffle."""
    number = stage["Stage ID"]
    metrics = {"Shuffle Write Metrics": {"Shuffle Bytes Written": 77 if wrote else 0}}
    return [
        log.submitted(stage, start),
        log.task(number, number, start, end, index=0, metrics=metrics),
        log.completed(stage, start, end),
    ]


def test_a_skipped_stage_is_no_later_one(tmp_path: Path) -> None:
    """The RDD of the skipped stage 2 was computed by stage 0, and again by stage 4 after its
    reader, stage 3, had begun."""
    zero, two, four = (log.info(number, 1, rdds=[log.rdd(7)]) for number in (0, 2, 4))
    three = log.info(3, 1, parents=[2], rdds=[log.rdd(9)])
    jobs = [log.job(0, [zero], 1.0), log.job(1, [two, three], 4.0), log.job(2, [four], 5.0)]
    stages = [
        *ran(zero, 2.0, 3.0, wrote=True),
        *ran(three, 4.0, 8.0, wrote=False),
        *ran(four, 5.0, 6.0, wrote=True),
    ]
    run = run_of(tmp_path, [*log.header(), *jobs, *stages, log.end(9.0)])
    assert stage_of(run, 3).parents == (0,)


def test_before_spark_1_5_the_parents_are_what_had_written_a_shuffle_for_the_job(
    tmp_path: Path,
) -> None:
    """No stage names its parents there. Of stage 3's job, 0 wrote a shuffle and had ended; 1 wrote
    none, and 2 was still writing. Stage 4 is of another job."""
    stages = [log.info(number, 1) for number in range(5)]
    for stage in stages:
        del stage["Parent IDs"]
    times = [(2.0, 3.0, True), (2.0, 4.0, False), (2.0, 6.0, True), (5.0, 8.0, False)]
    events = [*log.header(), log.job(0, stages[:4], 1.0), log.job(1, stages[4:], 1.0)]
    events += ran(stages[4], 1.0, 2.0, wrote=True)
    for stage, (start, end, wrote) in zip(stages[:4], times, strict=True):
        events += ran(stage, start, end, wrote=wrote)
    run = run_of(tmp_path, [*events, log.end(9.0)])
    assert stage_of(run, 3).parents == (0,)
    assert all(stage_of(run, number).parents == () for number in (0, 1, 2, 4))


def test_what_a_stage_reads_from_the_cache_is_no_input_of_the_run(tmp_path: Path) -> None:
    """Of its two tasks one found its block there; the other read the file."""
    methods = (("Hadoop", 1_000_000), ("Memory", 400_000))
    given = [{"Data Read Method": method, "Bytes Read": size} for method, size in methods]
    tasks = [
        log.task(0, n, 2.0, 4.0, metrics={"Input Metrics": told}) for n, told in enumerate(given)
    ]
    stage = log.info(0, 2)
    events = [*log.header(), log.submitted(stage, 2.0), *tasks, log.completed(stage, 2.0, 4.0)]
    run = run_of(tmp_path, [*events, log.end(5.0)])
    assert stage_of(run, 0).cached_input_bytes == 400_000.0
    assert run.workload.input_bytes == 1_000_000.0
