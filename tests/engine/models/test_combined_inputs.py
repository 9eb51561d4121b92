"""Unions and products of unlike inputs, and a coalesce that leaves few splits: on real logs, of
which each predicts the other (five files on two slots, fifteen on eight)."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed
from real_logs import log_pair

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import Measure, StageInput
from engine.units import MIB

FEW, MORE = log_pair("combined")
FILES = 3.0
"""So many times the files has the larger run."""

SCAN_AND_RANGE, SCAN_BY_RANGE, COALESCED, SUMS_AND_SCAN = range(4)
STORED_TWICE, STORED_PAIRS, TEXT_AND_ROWS = range(4, 7)


def asked_about(run: Run) -> list[int]:
    """Places of the stages that combine inputs, and of the one that a coalesce put together."""
    coalesced = [one.coalesced or one.coalesced_most is not None for one in run.stages]
    return [p for p, one in enumerate(run.stages) if one.inputs or coalesced[p]]


def test_the_logs_say_what_each_input_is() -> None:
    told = [FEW.stages[place] for place in asked_about(FEW)]
    origins = [tuple(one.origin for one in stage.inputs) for stage in told]
    assert origins[SCAN_AND_RANGE] == origins[TEXT_AND_ROWS] == ("files", "made")
    assert origins[SUMS_AND_SCAN] == ("shuffled", "files")
    assert origins[STORED_TWICE] == ("stored", "stored")
    assert [told[place].united for place in (SCAN_AND_RANGE, TEXT_AND_ROWS)] == [(2, 2), (5, 2)]
    assert [told[place].paired for place in (SCAN_BY_RANGE, STORED_PAIRS)] == [(2, 2), (2, 2)]
    assert told[SCAN_BY_RANGE].inputs[0].files_read == 5.0
    assert told[COALESCED].coalesced_most == 3
    makers = {one.stored_by for one in told[STORED_TWICE].inputs}
    assert len(makers) == 1
    assert makers < {stage.stage_id for stage in FEW.stages}


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_each_log_predicts_the_partitions_of_the_other(known: Run, asked: Run) -> None:
    """But for a coalesce that put eight splits together: of how many less data would be made, its
    log does not say."""
    slots, others = known.cluster.slots, asked.cluster.slots
    assert slots
    ratio = FILES if asked is MORE else 1.0 / FILES
    models = stage_models(known, slots)
    predicted = [models[p].partition_count(ratio, None).at(others) for p in asked_about(known)]
    seen = [asked.stages[place].tasks for place in asked_about(asked)]
    few, more = [4, 4, 2, 3, 4, 4, 7, 10], [16, 64, 3, 9, 16, 64, 23, 30]
    assert seen == (more if asked is MORE else few)
    if asked is FEW:
        seen[COALESCED] = 3
    assert predicted == seen


def test_a_replay_of_all_stages_has_the_same_partitions() -> None:
    tasks = Replay.of(FEW).replayed(8, ratio=FILES).tasks
    assert [tasks[place] for place in asked_about(FEW)] == [16, 64, 3, 9, 16, 64, 23, 30]


def product(**sides: StageInput) -> Run:
    """A stage that pairs two inputs of four splits each."""
    more = {"paired": (4, 4), "operations": ("CartesianProduct", "Scan parquet")}
    stage = Stage(np.full(16, 4.0), input_bytes=0.32 * MIB, more=more)
    run = observed([stage], slots=4)
    told = replace(run.stages[0], inputs=tuple(sides.values()))
    return replace(run, stages=(told,))


def test_pairs_with_rows_of_the_program_grow_with_the_input_alone() -> None:
    files, made = StageInput("files"), StageInput("made")
    one, both = (Replay.of(product(one=files, other=other)) for other in (made, files))
    work = [replay.models[0].prior_work_growth(3.0, 1.0) for replay in (one, both)]
    assert work == pytest.approx([3.0, 9.0], rel=0.01)
    assert {other.models[0].pairs_power for other in alternatives_of(one)} == {1.0}
    assert {other.models[0].pairs_power for other in alternatives_of(both)} == {1.0, 2.0}


def test_pairs_of_rows_that_the_program_makes_do_not_grow() -> None:
    made = StageInput("made")
    run = product(one=made, other=made)
    scan = replace(run.stages[0], stage_id=1, paired=(), inputs=())
    own = replace(run.stages[0], input_bytes=None)
    model = stage_models(replace(run, stages=(own, scan)), 4)[0]
    assert model.prior_work_growth(3.0, 1.0) == 1.0


def test_a_product_is_cut_by_the_files_of_each_side() -> None:
    """Twelve files of 60 MiB and twelve of one are six and two splits on two slots: three times as
    many are 18 and two, these on eight slots twelve and six. Taken for alike they are others."""
    large = StageInput("files", files_bytes=720.0 * MIB, files_read=12.0)
    small = StageInput("files", files_bytes=12.0 * MIB, files_read=12.0)
    run = product(one=large, other=small)
    more = {"tasks": 12, "paired": (6, 2), "files_bytes": 732.0 * MIB, "files_read": 24.0}
    stage = replace(run.stages[0], **more)
    model = stage_models(replace(run, stages=(stage,)), 2)[0]
    found = [model.partition_count(ratio, None) for ratio in (1.0, FILES)]
    assert [one.at(None) for one in found] == [12.0, 36.0]
    assert found[0].at(8) == 72.0
    alike = replace(stage, inputs=(StageInput("files"), StageInput("files")))
    other = stage_models(replace(run, stages=(alike,)), 2)[0]
    assert other.partition_count(FILES, None).at(None) != 36.0


@pytest.mark.parametrize("most", [2, 3, 100])
def test_a_coalesce_leaves_no_more_splits_than_it_says(most: int) -> None:
    """Two splits on two slots, eight on eight; one that says fewer than there are is another's."""
    place = asked_about(FEW)[COALESCED]
    stage = replace(FEW.stages[place], coalesced_most=most)
    count = stage_models(replace(FEW, stages=(stage,)), 2)[0].partition_count(FILES, None)
    assert count.at(8) == min(8, most)


@pytest.mark.parametrize("other", [StageInput("made"), StageInput("stored")])
@pytest.mark.parametrize("paired", [False, True])
def test_what_a_stage_reads_of_files_is_of_those_inputs_alone(
    other: StageInput, paired: bool
) -> None:
    """Two halves of one text file beside eight partitions that read none of it, or 80 MiB of a
    cache: they grow as where nothing is beside them."""
    sides = {"paired" if paired else "united": (2, 8)}
    name, times = ("cartesian", 8) if paired else ("union", 1)
    cached = 80.0 * MIB if other.origin == "stored" else 0.0
    kinds = {"operations": ("textFile", name), "cached_input_bytes": cached, **sides}
    tasks = 16 if paired else 10
    read_bytes = times * 120.0 * MIB + cached
    run = observed([Stage(np.full(tasks, 4.0), input_bytes=read_bytes, more=kinds)], slots=8)
    own = replace(run.stages[0], inputs=(StageInput("files"), other))
    largest = replace(own, input_bytes=Measure(tasks, read_bytes, (60.0 * MIB,)))
    model = stage_models(replace(run, stages=(largest,)), 8)[0]
    alone = 1200.0 / 128.0
    count = model.partition_count(10.0, None).at(None)
    assert count == (math.ceil(alone) * 8 if paired else math.ceil(alone) + 8)


@pytest.mark.parametrize(
    ("shuffled", "config", "tasks"),
    [
        (4, {}, 24),  # each side has a partition for each file
        (3, {}, 15),  # the program asked for three
        (4, {"spark.default.parallelism": "4"}, 16),
    ],
)
def test_a_shuffle_of_rdds_beside_files_takes_over_the_partitions_of_its_input(
    shuffled: int, config: dict[str, str], tasks: int
) -> None:
    """As `files.join(others.reduceByKey(...))` in Python: 3.5.9 made 8, 7 and 24, 15 tasks of four
    and of twelve files."""
    text = {"operations": ("PythonRDD", "textFile")}
    inputs = (StageInput("files"), StageInput("shuffled"))
    both = text | {"united": (4, shuffled), "inputs": inputs}
    stages = [
        Stage(np.full(4, 2.0), input_bytes=8.0 * MIB, more=text),
        Stage(
            np.full(4 + shuffled, 2.0), (0,),
            input_bytes=8.0 * MIB, shuffle_bytes=1.0 * MIB, more=both,
        ),
    ]  # fmt: skip
    models = stage_models(observed(stages, slots=2, config=config), 2)
    assert models[1].scaled(FILES, None, 6).tasks == tasks


def test_unlike_files_of_a_union_are_each_cut_as_they_are_alone() -> None:
    """Four files of 2 MB beside one of 50 kB were 2 splits and 1 on two slots, and three times as
    many of both 6 and 3 on six (3.5.9); taken for alike they were 3 there as well."""
    stage = Stage(np.full(3, 4.0), input_bytes=0.7 * MIB, more={"united": (2, 1)})
    run = observed([stage], slots=2)
    inputs = (
        StageInput("files", files_bytes=7.9 * MIB, files_read=4.0),
        StageInput("files", files_bytes=0.05 * MIB, files_read=1.0),
    )
    operations = ("Union", "Scan parquet")
    told = replace(run.stages[0], inputs=inputs, operations=operations, operation_counts=(1, 2))
    (model,) = stage_models(replace(run, stages=(told,)), 2)
    assert model.partition_count(3.0, None).at(6) == 9.0
    assert model.partition_count(1.0, None).at(2) == 3.0
