"""Small tables in one file beside larger ones in several: the dimensions of a star.

The logs are of Spark 3.5.9: events in 4 files on two slots and in 36 on six, joined with four
tables of one file each, the same in both.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed
from real_logs import log_pair
from sparkplan_runs import executors, fit

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.broadcasts import ChangedJoins
from engine.models.replay.notices import groups_notice, small_tables_notice
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.partition_counts import CountedStages
from engine.models.stages.partitioning.small_tables import (
    MOST_SHARE,
    SMALL_TABLE_POWER,
    small_tables,
)
from engine.models.stages.stage_matching import stage_counterparts
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import Measure, StageInput, total_of
from engine.units import MIB

FEW, MORE = log_pair("star")
FILES, SLOTS, MORE_SLOTS = 9.0, 2, 6
DIMENSIONS = 4
FACTS_BYTES = max(s.files_bytes or 0.0 for s in FEW.stages)
FACTS_ROWS = max(s.input_records or 0.0 for s in FEW.stages)


def dimensions(run: Run) -> frozenset[int]:
    """Ids of the stages that scan one of its dimensions."""
    return small_tables(run).stage_ids


def with_files(run: Run, **changed: object) -> Run:
    """With something else of the files of its dimensions."""
    small = dimensions(run)
    stages = (replace(s, **changed) if s.stage_id in small else s for s in run.stages)
    return replace(run, stages=tuple(stages))


def larger() -> Run:
    """With dimensions of 4 MiB, and 100 MiB in each file of facts."""
    large = with_files(FEW, files_bytes=4.0 * MIB)
    facts = (
        replace(s, files_bytes=400.0 * MIB) if s.files_read == 4.0 else s for s in large.stages
    )
    return replace(large, stages=tuple(facts))


@pytest.mark.parametrize("run", [FEW, MORE])
def test_each_dimension_is_found_and_no_fact(run: Run) -> None:
    small = dimensions(run)
    assert len(small) == DIMENSIONS
    assert all(s.files_read == 1.0 for s in run.stages if s.stage_id in small)
    assert any((s.files_read or 0.0) > 1.0 for s in run.stages)


def test_other_scans_are_no_dimensions() -> None:
    """Of several files, of one larger than a file of the largest table or of unknown size (as a
    profile may leave it), of the run's own files, of the first rows alone; nor those of a
    micro-batch, whose input may be one small file."""
    assert not dimensions(with_files(FEW, files_read=2.0))
    assert not dimensions(with_files(FEW, files_bytes=64.0 * MIB))
    assert not dimensions(with_files(FEW, files_bytes=None))
    assert not dimensions(with_files(FEW, files_by=0))
    assert not dimensions(with_files(FEW, in_part=True))
    assert not dimensions(replace(FEW, batch_id=3))
    most = MOST_SHARE * FACTS_ROWS
    assert dimensions(with_files(FEW, input_records=most))
    assert not dimensions(with_files(FEW, input_records=1.1 * most)), "facts too"
    most = MOST_SHARE * FACTS_BYTES
    assert dimensions(with_files(FEW, input_records=None, files_bytes=most))
    assert not dimensions(with_files(FEW, input_records=None, files_bytes=1.1 * most))
    alone = tuple(s for s in FEW.stages if s.files_read in (None, 1.0))
    assert not dimensions(replace(FEW, stages=alone)), "nothing says that anything is larger"
    made = tuple(replace(s, files_by=0) if s.files_read == 4.0 else s for s in FEW.stages)
    assert not dimensions(replace(FEW, stages=made)), "the run made the larger ones of the others"


def test_facts_that_are_in_one_file_as_yet_grow_in_proportion() -> None:
    """Returns with a fifth of the rows of sales, in one file of four, have three files of twelve
    and four tasks on six slots, where two were predicted; products stay one file."""
    few, more = log_pair("two_facts")
    seen = {s.stage_id: s for s in more.stages if s.files_read}
    scans = [model for model in stage_models(few, SLOTS) if model.stage.files_read]
    assert [model.stage.files_read for model in scans] == [1.0, 4.0, 1.0, 1.0]
    assert [seen[model.stage.stage_id].files_read for model in scans] == [1.0, 12.0, 1.0, 3.0]
    for model in scans:
        found = seen[model.stage.stage_id]
        read_bytes = total_of(found.input_bytes) / total_of(model.stage.input_bytes)
        tasks = model.partition_count(3.0, None).at(MORE_SLOTS)
        assert tasks == pytest.approx(found.tasks, abs=1.0), "one file is a little larger"
        assert model.data_growth(3.0) == pytest.approx(read_bytes, rel=0.4)
        assert model.small_table == (found.files_read == 1.0)


def test_a_file_that_a_union_puts_beside_others_is_no_dimension_anywhere() -> None:
    """Sales of a channel, in one file as yet, that another query reads by themselves."""
    (one,) = {s.files_bytes for s in FEW.stages if s.stage_id == min(dimensions(FEW))}
    several = StageInput("files", files_bytes=FACTS_BYTES, files_read=4.0)
    inputs = (several, StageInput("files", files_bytes=one, files_read=1.0))
    facts = next(s for s in FEW.stages if s.files_read == 4.0)
    union = replace(facts, stage_id=99, united=(2, 1), inputs=inputs)
    pair = replace(facts, stage_id=98, paired=(2, 1), inputs=inputs)
    found = small_tables(replace(FEW, stages=(*FEW.stages, pair, union)))
    assert found.stage_ids == {
        s.stage_id for s in FEW.stages if s.stage_id in dimensions(FEW) and s.files_bytes != one
    }
    assert not found.inputs(pair)
    assert small_tables(replace(FEW, stages=(*FEW.stages, pair))).inputs(pair) == {1}


def test_one_log_predicts_the_tasks_of_a_star_with_nine_times_the_facts() -> None:
    """Each dimension is one task still, where as many as cores were predicted."""
    counts = CountedStages(stage_models(FEW, SLOTS), SLOTS, None).at(FILES).at(MORE_SLOTS)
    seen = {
        place: stage.tasks
        for place, stage in zip(stage_counterparts(MORE, FEW), MORE.stages, strict=True)
        if place is not None and stage.files_read
    }
    assert len(seen) == DIMENSIONS + 1
    assert {place: counts[place] for place in seen} == seen


def test_a_file_that_gets_larger_is_cut_by_its_size() -> None:
    """4 MiB are 12 times as much at 20,736 times the input: 48 MiB, of which each core has a share,
    of no less than 4 MiB."""
    large = larger()
    assert len(dimensions(large)) == DIMENSIONS
    models = [model for model in stage_models(large, SLOTS) if model.small_table]
    for model in models:
        count = model.partition_count(12.0**4, None)
        assert [count.at(slots) for slots in (2, 6, 12)] == [2.0, 6.0, 12.0]
        assert model.partition_count(1.0, None).at(MORE_SLOTS) == 1.0


@pytest.mark.parametrize("ratio", [1.0 / 9.0, 0.5, 2.0, 9.0, 9])
def test_a_dimension_grows_by_its_power_and_the_facts_in_proportion(ratio: float) -> None:
    scans = [model for model in stage_models(FEW, SLOTS) if model.stage.files_read]
    assert sorted(model.small_table for model in scans) == [False, *[True] * DIMENSIONS]
    for model in scans:
        power = SMALL_TABLE_POWER if model.small_table else 1.0
        assert model.data_growth(ratio) == pytest.approx(ratio**power)


def test_the_interval_reaches_growth_in_proportion() -> None:
    replay = Replay.of(FEW)
    held = replay.replayed(SLOTS, ratio=FILES)
    others = [other.replayed(SLOTS, ratio=FILES) for other in alternatives_of(replay)]
    places = [place for place, model in enumerate(replay.models) if model.small_table]
    assert any(
        all(other.work[place] > 2.0 * held.work[place] for place in places) for other in others
    )


def test_it_is_said_where_much_of_the_time_hangs_on_it() -> None:
    replay = Replay.of(FEW)
    said = small_tables_notice(replay, FILES)
    assert said is not None
    assert "at 9 times the input it is taken to have 1.7 times as much" in said.text
    assert small_tables_notice(replay, 1.1) is None
    more = small_tables_notice(replay, 500.0)
    assert more is not None
    assert "at 500 times the input it is taken to have 4.7 times as much" in more.text


def test_rows_of_small_tables_are_not_said_to_be_groups() -> None:
    """A dimension that is shuffled as the facts are, with groups behind it and without."""
    facts = next(s for s in FEW.stages if s.files_read == 4.0)
    first = min(dimensions(FEW))

    def said(**changed: object) -> str:
        stages = [replace(s, **changed) for s in FEW.stages]  # type: ignore[arg-type]
        for place, stage in enumerate(stages):
            if stage.stage_id == first:
                sent = replace(facts.shuffle_write_bytes, total=1e12)
                stages[place] = replace(stage, shuffle_write_bytes=sent)
            if facts.stage_id in stage.parents:
                parents = (first, facts.stage_id)
                stages[place] = replace(stage, parents=parents, task_seconds=facts.task_seconds)
        notice = groups_notice(Replay.of(replace(FEW, stages=tuple(stages))), FILES)
        assert notice is not None
        return notice.text

    alone = said(groups=None, grouped_rows=None, ungrouped_rows=None)
    assert "reads rows of small tables: at 9 times" in alone
    assert "groups" not in alone
    assert "rows that were grouped or of small tables: at 9 times" in said()


def test_a_broadcast_dimension_may_be_outgrown_and_probably_is_not() -> None:
    """4 MiB at nine times the input: 6.9 MiB as it is taken to grow, and 36 in proportion, of the
    10 that are broadcast."""
    replay = Replay.of(larger())
    found = ChangedJoins(replay, FILES).outgrown
    assert len(found) == DIMENSIONS
    assert all(one.growth == FILES and not one.probable for one in found)
    assert np.isfinite([one.seconds(FILES, np.asarray([2.0])) for one in found]).all()


def test_a_log_of_another_input_tells_how_dimensions_grow() -> None:
    """They are the same in both logs: taken to read less then, and by less for the facts."""
    replay, other = Replay.of(FEW), Replay.of(MORE)
    taught = with_laws(replay, [(pair_fit(replay, other), 1.0)])
    for model in taught.models:
        if model.small_table:
            assert model.data_growth(FILES) < FILES**SMALL_TABLE_POWER
        elif model.stage.files_read:
            assert model.data_growth(FILES) > FILES / 2.0
    assert not ChangedJoins(taught, FILES).outgrown
    assert small_tables_notice(taught, FILES) is None


PAIRED, PAIRED_MORE = log_pair("paired_small")


@pytest.mark.parametrize(("known", "asked"), [(PAIRED, PAIRED_MORE), (PAIRED_MORE, PAIRED)])
def test_a_small_table_that_is_paired_stays_in_its_splits(known: Run, asked: Run) -> None:
    """Five and fifteen files on two slots, paired with the rows of one: one log predicts the tasks
    of the other, where with three times the files of both there were more. They say nothing of
    time: files of kilobytes are fixed costs, 1.02 s of CPU time for five and 0.83 for fifteen."""
    ratio = 3.0 if asked is PAIRED_MORE else 1.0 / 3.0
    (model,) = (one for one in stage_models(known, SLOTS) if one.stage.paired)
    (seen,) = (stage for stage in asked.stages if stage.paired)
    assert model.small_inputs == {1}
    assert model.scaled(ratio, None).tasks == seen.tasks
    assert model.pairs_power == 1.0 + SMALL_TABLE_POWER
    alone = replace(model, small_inputs=frozenset())
    assert (alone.scaled(ratio, None).tasks == seen.tasks) == (ratio < 1.0)


def test_the_interval_reaches_pairs_whose_both_inputs_grow() -> None:
    """Tasks of four seconds that repeat: nothing else makes the interval as wide."""
    run = paired_files((400.0, 40.0, 10), (2.0, 1.0, 1))
    replay = Replay.of(run)
    powers = {other.models[0].pairs_power for other in alternatives_of(replay)}
    assert (replay.models[0].pairs_power, powers) == (1.0 + SMALL_TABLE_POWER, {1.0, 2.0})
    workload = replace(run.workload, input_bytes=FILES * (run.workload.input_bytes or 0.0))
    found = fit(run).predict(cluster=executors(4), workload=workload, confidence=0.9)
    assert found.low is not None
    assert found.high is not None
    held, *others = (
        one.replayed(4, ratio=FILES).seconds for one in (replay, *alternatives_of(replay))
    )
    assert max(others) > 5.0 * held
    for other in others:
        assert found.low <= found.seconds * other / held <= found.high


def test_it_is_said_of_pairs_too() -> None:
    """Of the task time at nine times the input a tenth hangs on how the small table grows: with it
    in proportion the pairs are 81 times as many, and 15.6 times as it is taken to."""
    replay = Replay.of(PAIRED)
    said = small_tables_notice(replay, FILES)
    assert said is not None
    assert said.subject in said.text
    assert (
        "pairs rows with a table in one file (1.28 kB) beside larger ones in several" in said.text
    )
    assert "at 9 times the input it is taken to have 1.7 times as much" in said.text
    assert small_tables_notice(replay, 1.05) is None
    grown = [replace(one, small_inputs=frozenset()) for one in replay.models]
    assert small_tables_notice(replace(replay, models=tuple(grown)), FILES) is None
    warnings = (
        fit(PAIRED)
        .predict(
            cluster=executors(4),
            workload=replace(
                PAIRED.workload, input_bytes=FILES * (PAIRED.workload.input_bytes or 0.0)
            ),
        )
        .warnings
    )
    assert "small-tables" in [notice.code for notice in warnings]


def test_other_inputs_of_pairs_are_no_small_tables() -> None:
    """Of several files, of one that is larger than those of the other input, of unknown size, or of
    files that the run wrote."""
    tables = small_tables(PAIRED)
    (stage,) = (stage for stage in PAIRED.stages if stage.paired)
    large, small = stage.inputs
    assert tables.inputs(stage) == {1}
    assert not tables.inputs(replace(stage, inputs=(large, replace(small, files_read=2.0))))
    assert not tables.inputs(replace(stage, inputs=(large, replace(small, files_bytes=1e9))))
    assert not tables.inputs(replace(stage, inputs=(large, replace(small, files_bytes=None))))
    assert not tables.inputs(replace(stage, files_by=0))


def paired_files(
    *sizes: tuple[float, float, int], beside: tuple[float, float] | None = None
) -> Run:
    """A stage that pairs two inputs of so many MiB, files and splits on four slots, `beside` a scan
    of so many MiB and files."""
    splits = tuple(split for _, _, split in sizes)
    names = ("CartesianProduct", "Scan parquet")
    more = {
        "paired": splits, "operations": names, "operation_counts": (1, 2),
        "files_bytes": sum(mib for mib, _, _ in sizes) * MIB,
        "files_read": sum(files for _, files, _ in sizes),
    }  # fmt: skip
    tasks = splits[0] * splits[1]
    stages = [Stage(np.full(tasks, 4.0), input_bytes=0.01 * tasks * MIB, more=more)]
    if beside is not None:
        scan = {"operations": names[1:], "files_bytes": beside[0] * MIB, "files_read": beside[1]}
        stages.append(Stage(np.full(4, 1.0), input_bytes=beside[0] * MIB, more=scan))
    run = observed(stages, slots=4)
    inputs = tuple(
        StageInput("files", files_bytes=mib * MIB, files_read=files) for mib, files, _ in sizes
    )
    return replace(run, stages=(replace(run.stages[0], inputs=inputs), *run.stages[1:]))


@pytest.mark.parametrize("sizes", [(300.0, 200.0), (3.0, 1.0), (2.0, 2.0)])
def test_two_single_files_that_are_paired_are_no_table_beside_a_larger_one(
    sizes: tuple[float, float],
) -> None:
    """Together they are two files, but no scan has several. The last is a table with itself."""
    splits = [math.ceil(size / max(4.0, size / 4.0)) for size in sizes]
    first, second = ((size, 1.0, split) for size, split in zip(sizes, splits, strict=True))
    (model,) = stage_models(paired_files(first, second), 4)
    assert not model.small_inputs
    assert model.prior_work_growth(9.0, 1.0) == pytest.approx(81.0, rel=0.1)
    for share, small in ((MOST_SHARE, {1}), (0.25, set())):
        one = (share * sizes[0], 1.0, splits[1])
        beside_several = paired_files((sizes[0], 2.0, splits[0]), one)
        assert stage_models(beside_several, 4)[0].small_inputs == small


@pytest.mark.parametrize(
    ("sizes", "other", "power"),
    [
        ((2.0, 2.0), None, 0.5),
        ((2.0, 400.0), None, 1.25),
        ((300.0, 400.0), None, 2.0),
        ((2.0, 400.0), StageInput("made"), 0.25),
        ((300.0, 400.0), StageInput("made"), 1.0),
    ],
)
def test_pairs_grow_by_the_powers_of_both_inputs(
    sizes: tuple[float, float], other: StageInput | None, power: float
) -> None:
    """Beside a scan of 40 files of 16 MiB, of which two small tables stay in their splits: their
    pairs grow no faster than they do. Rows that the program makes stay as many."""
    run = paired_files(*((size, 1.0, 1) for size in sizes), beside=(640.0, 40.0))
    stage = replace(run.stages[0], input_bytes=Measure(1, 1e3, (1e3,)))
    if other is not None:
        stage = replace(stage, inputs=(stage.inputs[0], other))
    model = stage_models(replace(run, stages=(stage, *run.stages[1:])), 4)[0]
    assert model.pairs_share == pytest.approx(1.0, abs=1e-3)
    assert model.prior_work_growth(9.0, 1.0) == pytest.approx(9.0**power, rel=0.01)
    assert model.read_growth(9.0) == pytest.approx(9.0 ** min(1.0, power)), "as what it hands on"
    if power < 1.0:
        assert model.scaled(9.0, None).tasks == 1


def test_of_a_union_one_file_beside_several_is_more_of_the_same_rows() -> None:
    """Eight times four files of 2 MiB and one of 1 MiB: four splits of either on four cores, and
    one for each file on 200. In a pair the single file stays one."""
    pair = paired_files((8.0, 4.0, 4), (1.0, 1.0, 1))
    stage = pair.stages[0]
    read_bytes = Measure(5, 5.0 * MIB, (MIB,))
    names = {"operations": ("Union", "Scan parquet"), "input_bytes": read_bytes}
    united = replace(stage, tasks=5, paired=(), united=stage.paired, **names)  # type: ignore[arg-type]
    union = replace(pair, stages=(united,))
    assert small_tables(pair).inputs(stage) == {1}
    assert not small_tables(union).inputs(united)
    ((of_pair,), (of_union,)) = (stage_models(run, 4) for run in (pair, union))
    found = [of_union.partition_count(8.0, None).at(cores) for cores in (4, 200)]
    in_pair = [of_pair.partition_count(8.0, None).at(cores) for cores in (4, 200)]
    assert found == [4 + 4, 32 + 8]
    assert in_pair == [4, 32]


def test_inputs_that_do_not_tell_their_files_are_several_if_there_are_more_than_inputs() -> None:
    """A scan of one file beside them is a small table then."""
    for files, small in ((2.0, False), (3.0, True)):
        run = paired_files((8.0, 1.0, 2), (4.0, files - 1.0, 2), beside=(1.0, 1.0))
        untold = tuple(replace(one, files_read=None) for one in run.stages[0].inputs)
        stages = (replace(run.stages[0], inputs=untold), *run.stages[1:])
        found = small_tables(replace(run, stages=stages)).stage_ids
        assert found == ({run.stages[1].stage_id} if small else set())
