"""Attempts in vain, replayed: what they cost is expected again, unless slots were idle."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, measure, observed, without_growth

from engine.cluster import Workload
from engine.models.replay.notices import fit_notices
from engine.models.replay.replayed_run import Replay
from engine.profile import Run
from engine.stage_run import Waste


def wasted(seconds: float, *, longer: bool) -> Run:
    """40 tasks of 2 s on 4 slots, and attempts in vain of so many seconds that lengthened the stage
    or ran beside it (speculative copies)."""
    run = observed(
        [Stage(np.full(40, 2.0 + (seconds / 40 if longer else 0.0)), input_bytes=40 * BLOCK)],
        slots=4,
    )
    stage = replace(
        run.stages[0],
        task_seconds=measure(np.full(40, 2.0)),
        waste=Waste(failed_tasks=4, seconds=seconds),
    )
    return replace(run, stages=(stage,))


def test_work_in_vain_is_expected_again_in_proportion() -> None:
    replay = without_growth(wasted(8.0, longer=True))
    assert replay.waste[0] == pytest.approx(0.1)
    assert replay.dispatch_seconds[0] == pytest.approx(0.0, abs=1e-9)
    assert replay.replayed(4).seconds == pytest.approx(22.0)
    assert replay.replayed(20).seconds == pytest.approx(4.4)


def test_a_stage_that_was_longer_than_by_its_work_in_vain_idled_for_the_rest() -> None:
    """Two seconds longer: half of that on four slots is work in vain, half of it in ten waves."""
    run = wasted(8.0, longer=True)
    stage = replace(run.stages[0], waste=Waste(failed_tasks=4, seconds=4.0))
    replay = without_growth(replace(run, stages=(stage,)))
    assert replay.waste[0] == pytest.approx(0.05)
    assert replay.dispatch_seconds[0] == pytest.approx(0.1)


def test_a_first_task_that_failed_is_not_lost_twice() -> None:
    """Its slot was as new as the other: what that costs is no work to be lost again."""
    stage = Stage(np.ones(12), input_bytes=12 * BLOCK, cold_seconds=6.0)
    run = observed([stage], slots=2)
    # Slot 1 starts with 7 s; on slot 2 a task fails after 5 s, the others take 1 s: all end at 12.
    stages = replace(
        run.stages[0],
        completed_seconds=12.0,
        task_seconds=measure(np.asarray([7.0, *[1.0] * 11])),
        first_wave_seconds=measure(np.asarray([7.0])),
        waste=Waste(failed_tasks=1, seconds=5.0),
    )
    replay = without_growth(replace(run, seconds=12.0, stages=(stages,)))
    assert replay.waste[0] == pytest.approx(0.0, abs=0.02)
    assert replay.replayed(2).seconds == pytest.approx(12.0, rel=0.02)


def test_copies_on_idle_slots_cost_no_time() -> None:
    replay = without_growth(wasted(8.0, longer=False))
    assert replay.waste[0] == 0.0
    assert replay.replayed(4).seconds == 20.0


@pytest.mark.parametrize(
    ("waste", "text", "remedy"),
    [
        (Waste(failed_tasks=1, killed_tasks=3, seconds=40.0), "failed", "find out why tasks fail,"),
        (Waste(killed_tasks=4, seconds=40.0), "attempts that were killed", "why tasks are slow"),
    ],
)
def test_killed_attempts_are_slow_tasks_and_no_failures(
    waste: Waste, text: str, remedy: str
) -> None:
    run = wasted(40.0, longer=True)
    replay = Replay.of(replace(run, stages=(replace(run.stages[0], waste=waste),)))
    (said,) = (one for one in fit_notices([replay], np.zeros(1)) if one.code == "retried-work")
    assert said.text.startswith(text)
    assert remedy in (said.remedy or "")
    assert "a run without such attempts" in said.remedy, "killed ones did not fail"


def lost_output() -> Run:
    """Two stages of 40 tasks of 2 s on 4 slots. While the second ran, 20 tasks of the first wrote
    again what an executor took along: 40 s of four slots, for which the second waited 10 s."""
    run = observed(
        [
            Stage(np.full(40, 2.0), input_bytes=40 * BLOCK),
            Stage(np.full(40, 2.0), (0,), shuffle_bytes=1e9),
        ],
        slots=4,
    )
    first, second = run.stages
    again = Waste(killed_tasks=20, retried_stages=1, seconds=40.0)
    late = second.completed_seconds + 10.0
    stages = (
        replace(first, waste=again),
        replace(second, completed_seconds=late, waste=Waste(2, 0, 1, 1.0)),
    )
    jobs = (replace(run.jobs[0], completed_seconds=late),)
    return replace(run, seconds=run.seconds + 10.0, stages=stages, jobs=jobs)


def test_what_is_written_again_lengthens_the_stage_that_waits_for_it() -> None:
    """It had been taken for idle slots of the second, and for next to nothing in vain."""
    run = lost_output()
    replay = without_growth(run)
    assert replay.waste == pytest.approx([0.0, 0.5], abs=1e-9)
    assert replay.dispatch_seconds == pytest.approx(0.0, abs=1e-9)
    assert replay.replayed(4).seconds == pytest.approx(run.seconds)
    (said,) = (one for one in fit_notices([replay], np.zeros(1)) if one.code == "retried-work")
    assert said.text.startswith("failed and repeated attempts took 25 % of the task time")


def test_a_stage_that_was_not_tried_again_waited_for_none_of_that() -> None:
    """Output that was lost after it had been read, and written again for another stage."""
    run = lost_output()
    first, second = run.stages
    once = replace(second, waste=Waste(2, 0, 0, 1.0))
    replay = without_growth(replace(run, stages=(first, once)))
    assert replay.waste == pytest.approx([0.0, 1.0 / 80.0])


def recomputing(slots: int = 4) -> Run:
    """A table of 64 MiB is scanned in a task for each slot. A later job writes again the quarter of
    the output that an executor took along."""
    scan = {"operations": ("Exchange", "Scan parquet"), "files_bytes": 2.0**26}
    scan |= {"name": "map", "shuffle_write_bytes": measure(np.full(slots, 1e6))}
    wrote = Stage(np.full(slots, 8.0), input_bytes=2.0**26, more=scan)
    read = Stage(np.full(4, 2.0), (0,), shuffle_bytes=4e6)
    lost = slots // 4
    again = {**scan, "recomputed": True, "shuffle_write_bytes": measure(np.full(lost, 1e6))}
    stages = [
        wrote,
        read,
        Stage(np.full(lost, 8.0), (), 1, input_bytes=2.0**24, more=again),
        Stage(np.full(4, 2.0), (2,), 1, shuffle_bytes=4e6),
    ]
    run = observed(stages, (Job(), Job((0,))), slots=slots)
    return replace(run, workload=Workload(2.0**26))


@pytest.mark.parametrize(("slots", "ratio", "wrote"), [(4, 1.0, 4), (16, 1.0, 16), (8, 32.0, 16)])
def test_what_is_written_again_are_tasks_of_the_stage_that_wrote_it(
    slots: int, ratio: float, wrote: int
) -> None:
    """A quarter of them, each as small as these are on that cluster."""
    replay = without_growth(recomputing())
    outcome = replay.replayed(slots, ratio=ratio)
    assert [outcome.tasks[0], outcome.tasks[2]] == [wrote, wrote // 4]
    whole, again = (outcome.placed[place].seconds for place in (0, 2))
    assert again == pytest.approx(whole[: wrote // 4])
    for model, tasks in zip(replay.models, outcome.tasks, strict=True):
        assert model.scaled(ratio, None, slots).tasks == tasks


@pytest.mark.parametrize("renamed", [0, 2])
def test_without_a_stage_of_the_same_code_it_is_cut_by_its_own_rule(renamed: int) -> None:
    run = recomputing()
    stages = list(run.stages)
    stages[renamed] = replace(stages[renamed], name="another")
    assert Replay.of(replace(run, stages=tuple(stages))).models[2].follows is None
