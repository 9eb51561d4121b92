"""Pairs of two inputs, and rows of the program beside each other: on real logs, of which each
predicts the other (five files on two slots, fifteen on eight)."""

import math
import sys
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed
from real_logs import log_pair, tasks_of
from sparkplan_runs import executors, fit

from engine.forecast import FloatArray
from engine.models.base import FittedModel, Prediction
from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.stage_models import stage_models
from engine.models.stages.stage_references import with_references
from engine.profile import Run
from engine.stage_run import Measure, StageInput, StageRun
from engine.units import MIB

FEW, MORE = log_pair("paired")
FILES = 3.0
"""So many times the files has the larger run."""


def combined(run: Run) -> list[int]:
    """Places of the stages that pair inputs or have ranges beside each other."""
    return [place for place, one in enumerate(run.stages) if one.paired or one.united]


def test_the_logs_say_what_is_paired_and_what_lies_beside_each_other() -> None:
    told = [(FEW.stages[p].paired, FEW.stages[p].united) for p in combined(FEW)]
    assert told == [((2, 2), ()), ((5, 5), ()), ((), (2, 2)), ((), (5, 3)), ((), (2, 2))]


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_each_log_predicts_the_partitions_of_the_other(known: Run, asked: Run) -> None:
    slots, others = known.cluster.slots, asked.cluster.slots
    assert slots
    ratio = FILES if asked is MORE else 1.0 / FILES
    models = stage_models(known, slots)
    predicted = [models[p].partition_count(ratio, None).at(others) for p in combined(known)]
    seen = [asked.stages[place].tasks for place in combined(asked)]
    assert seen == ([64, 225, 16, 8, 16] if asked is MORE else [4, 25, 4, 8, 4])
    assert predicted == seen


def test_a_replay_of_all_stages_has_the_same_partitions() -> None:
    tasks = tasks_of(FEW, 8, FILES)
    assert [tasks[place] for place in combined(FEW)] == [64, 225, 16, 8, 16]


def pairing(*, read_mib: float = 0.01) -> Run:
    """A stage that pairs two inputs of four splits each, of so many MiB."""
    tasks, seconds = 16, 4.0
    more = {"paired": (4, 4), "operations": ("cartesian", "textFile")}
    times = np.full(tasks, seconds)
    return observed([Stage(times, input_bytes=tasks * 2 * MIB * read_mib, more=more)], slots=4)


def test_pairs_grow_with_both_inputs() -> None:
    (model,) = stage_models(pairing(), 4)
    found = model.scaled(3.0, None)
    assert found.tasks == 144
    assert found.tasks * found.work == pytest.approx(9.0 * 16)


def test_what_is_read_and_not_paired_grows_with_what_is_read() -> None:
    """Two splits of either input, which stay two: each is read as often as before."""
    few = {"paired": (2, 2), "operations": ("CartesianProduct", "Scan parquet")}
    run = observed([Stage(np.full(4, 2.0), input_bytes=80.0 * MIB, more=few)], slots=4)
    (model,) = stage_models(run, 4)
    assert model.pairs_share == 0.0
    found = model.scaled(1.5, None)
    assert found.tasks * found.work == pytest.approx(1.5 * 4 * math.sqrt(found.tasks / 4))
    table = Replay.of(run)._table.in_partitions(
        np.asarray([0]), 1.5, np.asarray([float(found.tasks)])
    )
    assert table.work[0] == pytest.approx(found.work)


def test_of_two_inputs_one_may_stay_within_the_interval() -> None:
    run = pairing()
    found = asked(fit(run), run, ratio=3.0, slots=4)
    one, both = 3.0 * run.seconds, 9.0 * run.seconds
    assert len(alternatives_of(Replay.of(run))) == 2
    assert found.low < one < found.seconds
    assert found.seconds == pytest.approx(both, rel=0.2)


def test_what_fits_one_input_has_nothing_open() -> None:
    assert alternatives_of(Replay.of(observed([Stage(np.full(16, 4.0))], slots=4))) == ()


def lines(splits: int, *, ratio: float = 1.0, mib: float = 20.0) -> Run:
    """An RDD of text files of which each is a split; or in as many splits as were asked for."""
    more = {"operations": ("textFile", "map")}
    size = 12 * mib * MIB * ratio
    times = np.full(splits, 40.0 * 12 * ratio / splits)
    return observed([Stage(times, input_bytes=size, more=more)], slots=4)


def test_splits_that_were_asked_for_are_within_the_interval() -> None:
    """Twelve splits: files, of which nine times as many use all of 108 slots, or twelve anyhow."""
    run = lines(12)
    replay = Replay.of(run)
    (other,) = alternatives_of(replay)
    files, asked_for = (one.replayed(108, ratio=9.0) for one in (replay, other))
    assert (files.tasks, asked_for.tasks) == ((108,), (12,))
    blocks = lines(12, mib=32.1)  # these are cut where a block ends, whatever was asked for
    assert alternatives_of(Replay.of(blocks)) == ()
    wide, narrow = (asked(fit(one), one, ratio=9.0, slots=108) for one in (run, blocks))
    assert wide.seconds == pytest.approx(narrow.seconds, rel=0.02)
    assert wide.high is not None
    assert narrow.high < asked_for.seconds < wide.high


@pytest.mark.parametrize("tasks", [12, 36])
def test_a_second_log_tells_whether_splits_were_asked_for(tasks: int) -> None:
    """Whichever it is, nothing is left open."""
    one, other = Replay.of(lines(12)), Replay.of(lines(tasks, ratio=3.0))
    told = with_laws(one, [(pair_fit(one, other), 1.0)])
    assert alternatives_of(told) == ()
    assert told.replayed(4, ratio=3.0).tasks == (tasks,)


def test_followers_of_splits_that_were_asked_for_stay_with_them() -> None:
    size = 12 * 20.0 * MIB
    read_in = Stage(np.full(12, 4.0), input_bytes=size, more={"operations": ("textFile",)})
    reduced = Stage(np.full(12, 2.0), (0,), shuffle_bytes=size)
    replay = Replay.of(observed([read_in, reduced], slots=4))
    (other,) = alternatives_of(replay)
    assert replay.replayed(4, ratio=3.0).tasks == (36, 36)
    assert other.replayed(4, ratio=3.0).tasks == (12, 12)


def test_logs_of_two_numbers_of_cores_say_that_nobody_asked_for_them() -> None:
    """A partition for each of four and of eight cores: on 32 there are as many."""
    few, more = (
        observed([Stage(np.full(slots, 160.0 / slots), more={"generated": True})], slots=slots)
        for slots in (4, 8)
    )
    one, two = (gained(fit(*runs)) for runs in ((more,), (few, more)))
    assert one[0] > 1.0
    assert two.tolist() == [0.0, 0.0]


def gained(found: FittedModel) -> FloatArray:
    """What more than 32 slots gain by partitions that may have been asked for, of each log."""
    times = [
        replay.stages_by_slots.at(1.0).log_gain_of_core_partitions(np.asarray([32.0]))[0]
        for replay in found.replays
    ]
    return np.asarray(times)


def asked(found: FittedModel, run: Run, *, ratio: float, slots: int) -> Prediction:
    """The answer for `ratio` times the input."""
    size = run.workload.input_bytes
    workload = replace(run.workload, input_bytes=ratio * size)
    return found.predict(cluster=executors(slots), workload=workload, confidence=0.9)


def keys_of_ratings(operation: str = "groupByKey", *, other_rows: bool = False) -> Run:
    """Users and items of ratings, each stored once grouped, and all pairs of them."""
    keyed = {"operations": (operation, "mapValues")}
    stages = [
        Stage(np.full(4, 1.0), input_bytes=4.0 * MIB),
        Stage(np.full(4, 1.0), input_bytes=4.0 * MIB),
        Stage(np.full(4, 1.0), (0,), shuffle_bytes=2.0 * MIB, more=keyed),
        Stage(np.full(4, 1.0), (1 if other_rows else 0,), shuffle_bytes=2.0 * MIB, more=keyed),
        Stage(np.full(16, 4.0), more={"paired": (4, 4), "operations": ("CartesianProduct",)}),
    ]
    run = observed(stages, slots=4)
    inputs = tuple(StageInput("stored", stored_by=maker) for maker in (2, 3))
    last = replace(run.stages[4], inputs=inputs, input_bytes=Measure(16, 0.1 * MIB, (8e3,)))
    return replace(run, stages=(*run.stages[:4], replace(last, cached_input_bytes=0.1 * MIB)))


def test_pairs_of_keys_of_the_same_rows_grow_as_these_do() -> None:
    """As dense as in the log: of three times the ratings there are more users or more items. The
    interval reaches both."""
    run = keys_of_ratings()
    model = stage_models(run, 4)[4]
    assert model.pairs_power == 1.0
    both = [one.models[4].pairs_power for one in alternatives_of(Replay.of(run))]
    assert 2.0 in both


@pytest.mark.parametrize(
    "run", [keys_of_ratings("repartition"), keys_of_ratings(other_rows=True)], ids=["rows", "two"]
)
def test_pairs_of_rows_and_of_keys_of_two_tables_grow_with_both(run: Run) -> None:
    assert stage_models(run, 4)[4].pairs_power == 2.0


def test_stages_that_pair_nothing_are_not_held_against_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For each union of files all stages before it were gathered: of a log of thousands the square
    of their number."""
    asked = []

    def counted(stage: StageRun, before: Mapping[int, StageRun]) -> bool:
        asked.append(stage.stage_id)
        return False

    monkeypatch.setattr(sys.modules[with_references.__module__], "keys_of_same_rows", counted)
    run = keys_of_ratings()
    inputs = (StageInput("files", files_bytes=4.0 * MIB), StageInput("files", files_bytes=MIB))
    union = replace(run.stages[0], united=(3, 1), inputs=inputs, operations=("Union",))
    stage_models(replace(run, stages=(union, *run.stages[1:])), 4)
    assert asked == [4]
