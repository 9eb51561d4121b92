"""Executors that come and go as stages need them: Spark cuts each stage for the cores that are
there when it is planned, and its tasks share the slots that it had, not the mean of the run."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed
from test_partitions import COALESCED_READ, SCAN

from engine.cluster import Cluster
from engine.models.replay.notices import fit_notices
from engine.models.replay.replayed_run import Replay
from engine.models.stages.partition_counts import CountedStages
from engine.models.stages.slots_over_time import cores_at, planned_on, slots_of_stages
from engine.models.stages.stage_models import stage_models
from engine.notices import Notice
from engine.profile import Run
from engine.units import MIB

MEAN, SLOTS = 4, (1, 2, 3, 4, 7, 8, 12, 16, 40)


def fixed(slots: int) -> Run:
    """A scan of forty files and, in a job after it, the reader of its coalesced shuffle, which were
    cut for so many slots."""
    stages = [
        Stage(np.full(slots, 4.0), input_bytes=200.0 * MIB, more=SCAN),
        Stage(np.full(slots, 4.0), (0,), job=1, shuffle_bytes=64.0 * MIB, more=COALESCED_READ),
    ]
    run = replace(observed(stages, (Job(), Job((0,))), slots=slots), spark_version="3.5.1")
    scan = replace(run.stages[0], files_bytes=200.0 * MIB, files_read=40.0)
    return replace(run, stages=(scan, *run.stages[1:]))


def on_demand(slots: int) -> Run:
    """The same where so many slots were there, of a run that had `MEAN` in the mean."""
    cluster = Cluster.of_executors(executors=MEAN, executor_cores=1)
    notice = Notice("dynamic-allocation", "executors came and went", "")
    run = fixed(slots)
    return replace(run, cluster=cluster, cores=((0.0, slots),), notices=(notice,))


@pytest.mark.parametrize("slots", [2, 3, 8, 16])
def test_a_stage_is_cut_elsewhere_as_one_of_a_cluster_that_stays(slots: int) -> None:
    changing, staying = stage_models(on_demand(slots), MEAN), stage_models(fixed(slots), slots)
    for one, other in zip(changing, staying, strict=True):
        for ratio in (0.3, 1.0, 4.0):
            counts = one.partition_count(ratio, None), other.partition_count(ratio, None)
            found, wanted = ([count.at(many) for many in SLOTS] for count in counts)
            assert found == wanted


def test_all_stages_at_once_are_cut_as_each_is() -> None:
    models = stage_models(on_demand(8), MEAN)
    for ratio in (0.3, 1.0, 4.0):
        counts = CountedStages(models, MEAN, None).at(ratio)
        for many in SLOTS:
            alone = [model.partition_count(ratio, None).at(many) for model in models]
            assert counts.at(many).tolist() == pytest.approx(alone)


def test_cores_are_those_at_the_submission_of_the_job() -> None:
    run = on_demand(8)
    second = run.jobs[1].submitted_seconds
    run = replace(run, cores=((0.0, 3), (second - 0.001, 5), (second + 0.001, 8)))
    assert planned_on(run) == {0: 3, 1: 5}
    assert planned_on(replace(run, notices=())) == {}
    early = replace(run, cores=((0.1, 3), (second - 0.001, 5)))
    assert planned_on(early) == {1: 5}  # none had come when the first was planned
    assert [cores_at(run.cores, at) for at in (-1.0, 0.0, second)] == [0, 3, 5]


def test_slots_of_a_stage_are_the_mean_while_it_ran_and_there_were_any() -> None:
    run = on_demand(8)
    first, second = run.stages
    middle = (first.submitted_seconds + first.completed_seconds) / 2.0
    cores = ((0.0, 0), (middle, 6), (second.submitted_seconds, 2))
    assert slots_of_stages(replace(run, cores=cores)) == {0: 6, 1: 2}
    assert slots_of_stages(replace(run, cores=((0.0, 4), (middle, 8)))) == {0: 6, 1: 8}
    assert slots_of_stages(fixed(8)) == {}


def test_a_run_on_as_many_slots_as_were_there_takes_as_long_as_one_that_stays() -> None:
    changing, staying = Replay.of(on_demand(8)), Replay.of(fixed(8))
    assert changing.observed().seconds == pytest.approx(staying.run.seconds, rel=1e-6)
    for many in SLOTS:
        for ratio in (0.5, 1.0, 3.0):
            found, wanted = (one.replayed(many, ratio=ratio) for one in (changing, staying))
            assert found.tasks == wanted.tasks
            assert found.seconds == pytest.approx(wanted.seconds, rel=0.02)


def test_what_idle_executors_took_with_them_is_not_written_again_where_they_stay() -> None:
    """Spark 3.5.9, dynamic allocation: six of 32 stages wrote again what went with executors."""
    run = on_demand(8)
    again = replace(run.stages[1], recomputed=True)
    lost = Notice("lost-executors", "executors were lost", "")
    sent_away = replace(run, stages=(run.stages[0], again))
    died = replace(sent_away, notices=(*run.notices, lost))
    whole, less, dead = (Replay.of(one) for one in (run, sent_away, died))
    found = less.replayed(8)
    assert found.end[1] == found.start[1]
    assert found.work[1] == 0.0
    assert found.seconds < whole.replayed(8).seconds == dead.replayed(8).seconds
    assert less.observed().seconds == whole.observed().seconds
    said = [{notice.code for notice in fit_notices([one], np.zeros(1))} for one in (less, dead)]
    assert ["retried-work" in codes for codes in said] == [False, True]
