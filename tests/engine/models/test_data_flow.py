"""How what stages read grows where rows are grouped on the way, on real logs of which each
predicts the other (four and twelve files on two slots)."""

import math
import re
from dataclasses import replace

import pytest
from grouped_runs import (
    DAYS,
    FEW,
    FILES,
    MORE,
    OWN,
    WIDE,
    WORDS,
    WORDS_WRITTEN,
    grouping,
    reader,
)
from real_logs import logged
from sparkplan_runs import executors, fit

from engine import Workload
from engine.models.replay.alternatives import alternatives_of, group_growth_uncertain
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.partitioning.data_flow import (
    DataFlow,
    group_power,
    limits_rows_per_task,
)
from engine.models.stages.stage_matching import stage_counterparts
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import Measure, total_of


def test_the_tasks_of_a_log_tell_how_groups_become_more() -> None:
    powers = [group_power(model.stage) for model in grouping(FEW)]
    assert powers[DAYS] == 0.0, "every task has every day"
    assert powers[OWN] == 1.0, "no two tasks have a key in common"
    assert powers[WORDS] == powers[WORDS_WRITTEN] == pytest.approx(0.46, abs=0.01)


@pytest.mark.parametrize(
    ("groups", "power"), [(400.0, 0.0), (500.0, 0.0), (1000.0, 1.0), (1100.0, 1.0)]
)
def test_the_power_of_groups_lies_between_none_and_all(groups: float, power: float) -> None:
    """Also where counts contradict each other: 1,000 rows of two tasks are 500 groups or more, and
    1,000 at most."""
    stage = grouping(FEW)[OWN].stage
    assert stage.tasks == 2
    told = replace(stage, grouped_rows=1000.0, groups=groups)
    assert group_power(told) == power


def test_tasks_that_aggregate_in_a_tree_hand_on_one_aggregate_each() -> None:
    """Six tasks of 200,000 rows shuffled 5,657 bytes, whatever the rows (3.5.9)."""
    stage = replace(grouping(FEW)[OWN].stage, operations=("treeAggregate", "map"))
    assert group_power(stage) == 0.0
    assert math.isnan(group_power(replace(stage, shuffle_write_bytes=None, groups=None)))


def test_aggregates_of_a_tree_are_as_many_as_tasks_and_nothing_is_left_open() -> None:
    """What puts them together reads one of each task before: no inference from groups."""
    (model, other) = (reader(FEW, grouping(FEW)[place]) for place in (OWN, WORDS))
    growing = replace(model, read_law=other.read_law)
    assert group_growth_uncertain(growing)
    tree = replace(growing.stage, operations=("treeAggregate",))
    assert not group_growth_uncertain(replace(growing, stage=tree))


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_each_log_predicts_the_rows_that_the_other_shuffles(known: Run, asked: Run) -> None:
    """Of rows that each of two tasks has grouped; those of words within 3 %."""
    ratio = FILES if asked is MORE else 1.0 / FILES
    for model, seen in zip(grouping(known), grouping(asked), strict=True):
        here, there = (reader(r, s).stage for r, s in ((known, model), (asked, seen)))
        assert here.shuffle_read_records
        assert there.shuffle_read_records
        grown = reader(known, model).data_growth(ratio)
        assert grown * here.shuffle_read_records == pytest.approx(
            there.shuffle_read_records, rel=0.03
        )


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_groups_that_were_written_are_read_as_many(known: Run, asked: Run) -> None:
    ratio = FILES if asked is MORE else 1.0 / FILES
    (place,) = (i for i, stage in enumerate(known.stages) if stage.files_by is not None)
    match = stage_counterparts(known, asked)[place]
    assert match is not None
    seen = asked.stages[match].shuffle_write_records
    told = known.stages[place].shuffle_write_records
    assert told
    assert stage_models(known, 2)[place].data_growth(ratio) * told == pytest.approx(seen, rel=0.03)


def test_rows_that_are_collected_grow_in_proportion() -> None:
    """As many groups, each of more rows: the plan tells of no groups of one size."""
    names = "ObjectHashAggregate"
    (model,) = (s for s in stage_models(FEW, 2) if names in s.stage.operations and s.stage.parents)
    assert model.read_law is None
    assert model.data_growth(FILES) == FILES


def test_more_tasks_group_as_many_rows_each() -> None:
    """What a task hands on is as much where more data are more tasks: all of them more."""
    days = grouping(FEW)[DAYS]
    assert reader(FEW, days).data_growth(2.0) == 1.0
    uncounted = tuple(replace(stage, files_read=None, files_bytes=None) for stage in FEW.stages)
    hadoop = tuple(
        replace(stage, tasks=5, operations=("textFile",), grouped_rows=250.0)
        if stage.stage_id == days.stage.stage_id
        else stage
        for stage in uncounted
    )
    many = replace(FEW, stages=hadoop)
    assert reader(many, grouping(many)[DAYS]).data_growth(2.0) == pytest.approx(2.0)


def test_the_work_and_the_partitions_grow_with_what_is_read() -> None:
    words = reader(FEW, grouping(FEW)[WORDS])
    grown = math.pow(FILES, group_power(grouping(FEW)[WORDS].stage))
    assert words.prior_work_growth(FILES, 1.0) == pytest.approx(grown)
    assert words.partition_count(FILES, None).at(2) == 1.0
    assert replace(words, read_law=None).prior_work_growth(FILES, 1.0) == FILES


def test_the_interval_reaches_groups_that_become_more_with_the_input() -> None:
    replay = Replay.of(FEW)
    (other,) = alternatives_of(replay)
    assert all(model.read_law is None for model in other.models)
    assert any(model.read_law for model in replay.models)


def test_it_is_said_where_much_of_the_time_hangs_on_it() -> None:
    size = FEW.workload.input_bytes
    assert size

    def said(ratio: float, *runs: Run) -> list[str]:
        asked = Workload(input_bytes=size * ratio)
        found = fit(*runs).predict(cluster=executors(2), workload=asked)
        return [notice.text for notice in found.warnings if notice.code == "groups-inferred"]

    (text,) = said(30.0, FEW)
    (times,) = re.findall(r"at 30 times the input it is taken to read (\S+) times as much", text)
    assert 1.0 <= float(times) < 30.0
    assert "the interval allows for growth in proportion" in text
    assert said(1.0, FEW) == []
    assert said(30.0, FEW, MORE) == [], "a log of another input tells"


def test_another_log_is_held_against_what_groups_say() -> None:
    """A log that has as many rows as predicted teaches no other power."""
    few, more = Replay.of(FEW), Replay.of(MORE)
    place = next(i for i, s in enumerate(few.models) if s.read_law and s.read_growth(3.0) == 1.0)
    assert pair_fit(few, more).data_power[place] == pytest.approx(0.0, abs=0.01)


def test_a_log_of_more_slots_teaches_what_data_become_on_the_same() -> None:
    """Of six tasks three times as many rows by day as of two: the tasks are more, not the days."""
    few, wide = Replay.of(FEW), Replay.of(WIDE)
    place = next(i for i, s in enumerate(few.models) if s.read_law and s.read_growth(3.0) == 1.0)
    assert total_of(wide.models[place].stage.shuffle_read_bytes) > 2.0 * total_of(
        few.models[place].stage.shuffle_read_bytes
    )
    told = with_laws(few, [(pair_fit(few, wide), 1.0)]).models[place]
    assert told.law.data_power == pytest.approx(0.0, abs=0.05)
    on_six = told.data_growth(FILES) * told.read_growth(FILES, 6) / told.read_growth(FILES)
    assert on_six == pytest.approx(3.0, rel=0.05)


def test_where_all_is_in_proportion_nothing_changes() -> None:
    stages = tuple(replace(stage, groups=None, grouped_rows=None) for stage in FEW.stages)
    assert all(model.read_law is None for model in stage_models(replace(FEW, stages=stages), 2))


@pytest.mark.parametrize("run", [FEW, logged("written")], ids=["grouped", "written"])
def test_more_input_is_never_less_time(run: Run) -> None:
    fitted, size = fit(run), run.workload.input_bytes
    assert size
    seconds = [
        fitted.predict(cluster=executors(4), workload=Workload(input_bytes=size * ratio)).seconds
        for ratio in (0.2, 0.5, 1.0, 1.5, 2.0, 4.0, 30.0)
    ]
    assert seconds == sorted(seconds)


def test_of_next_to_no_groups_none_are_more() -> None:
    """A profile may say any number; the smallest there are vanish beside others."""
    stage = replace(grouping(FEW)[DAYS].stage, groups=5e-324, grouped_rows=1e30)
    assert group_power(stage) == 0.0


def test_files_that_a_run_makes_of_nothing_are_its_input() -> None:
    """All that this run reads are files that it wrote itself: more input is more of these."""
    run = logged("vectored")
    scans = [model for model in stage_models(run, 2) if model.stage.files_by is not None]
    assert [model.data_growth(FILES) for model in scans] == [FILES] * 4


def test_so_are_those_that_it_shuffled_before_it_wrote_them() -> None:
    run = logged("vectored")
    writer, *others = run.stages
    sent = Measure(writer.tasks, 4e6, (1e6,))
    made = replace(writer, stage_id=1000, output_bytes=None, shuffle_write_bytes=sent)
    writer = replace(writer, parents=(1000,), shuffle_read_bytes=sent)
    models = stage_models(replace(run, stages=(made, writer, *others)), 2)
    assert models[1].data_growth(FILES) == 1.0, "what it wrote stays, by the rows that it made"
    scans = [model for model in models if model.stage.files_by is not None]
    assert [model.data_growth(FILES) for model in scans] == [FILES] * 4


def grown(**changes: object) -> float:
    """What a last stage like this would read of three times the input."""
    other = replace(FEW.stages[-1], **{"stage_id": 1000, "files_by": None, **changes})  # type: ignore[arg-type]
    return stage_models(replace(FEW, stages=(*FEW.stages, other)), 2)[-1].data_growth(FILES)


def test_several_shuffles_count_by_what_each_wrote() -> None:
    days, own = (grouping(FEW)[one].stage for one in (DAYS, OWN))
    wrote = [total_of(one.shuffle_write_bytes) for one in (days, own)]
    assert min(wrote) > 0.0
    found = grown(
        parents=(days.stage_id, own.stage_id),
        shuffle_read_bytes=Measure(2, 2e6, (1e6,)),
        input_bytes=None,
    )
    assert found == pytest.approx((wrote[0] + FILES * wrote[1]) / sum(wrote))


def test_what_a_stage_stored_are_its_rows_and_not_what_it_sends() -> None:
    """Of a scan that also groups them: a cache holds the rows, whoever wrote files before."""
    days = grouping(FEW)[DAYS].stage
    merged = reader(FEW, grouping(FEW)[DAYS]).stage
    held = Measure(2, 2e6, (1e6,))
    none = {"parents": (), "shuffle_read_bytes": None, "input_bytes": held}
    assert grown(**none, stored_by=days.stage_id) == FILES
    assert grown(**none, files_by=days.stage_id) == FILES
    assert grown(**none, stored_by=merged.stage_id, files_by=days.stage_id) == 1.0


def test_a_cache_and_a_shuffle_count_by_their_bytes() -> None:
    days, words = (grouping(FEW)[one] for one in (DAYS, WORDS))
    merged, more = reader(FEW, words).stage, math.pow(FILES, group_power(words.stage))
    half = Measure(2, 2e6, (1e6,))
    both = {"parents": (days.stage.stage_id,), "shuffle_read_bytes": half, "input_bytes": half}
    assert grown(**both, stored_by=merged.stage_id) == pytest.approx((1.0 + more) / 2.0)
    assert grown(**both, stored_by=None) == pytest.approx((1.0 + FILES) / 2.0), "from outside"


def test_of_shuffles_alone_the_cache_does_not_count() -> None:
    """Two shuffles by what each wrote, whatever else a stage reads; in proportion without any."""
    days, own = (grouping(FEW)[one].stage for one in (DAYS, OWN))
    wrote = [total_of(one.shuffle_write_bytes) for one in (days, own)]
    half = Measure(2, 2e6, (1e6,))
    kept = {"files_by": None, "input_bytes": half, "stored_by": days.stage_id}
    parents = (days.stage_id, own.stage_id)
    stages = [
        replace(FEW.stages[-1], stage_id=1000, parents=parents, shuffle_read_bytes=half, **kept),
        replace(FEW.stages[-1], stage_id=1001, parents=(), shuffle_read_bytes=None, **kept),
    ]
    flow = DataFlow.of(stage_models(replace(FEW, stages=(*FEW.stages, *stages)), 2))
    assert flow is not None
    last = len(FEW.stages)
    of_shuffles = (wrote[0] + FILES * wrote[1]) / sum(wrote)
    assert flow.shuffle_read_growth(last, FILES) == pytest.approx(of_shuffles)
    assert flow.read_growth(last, FILES) == pytest.approx((of_shuffles + FILES) / 2.0)
    assert flow.shuffle_read_growth(last + 1, FILES) == FILES


def test_a_shuffle_that_nobody_is_known_to_have_written_is_in_proportion() -> None:
    """A log that lost what its stages wrote."""
    (days,) = grouping(FEW)[DAYS : DAYS + 1]
    half = Measure(2, 2e6, (1e6,))
    lost = tuple(replace(stage, shuffle_write_bytes=None) for stage in FEW.stages)
    other = replace(
        FEW.stages[-1], stage_id=1000, files_by=None, stored_by=None, input_bytes=None,
        parents=(days.stage.stage_id,), shuffle_read_bytes=half,
    )  # fmt: skip
    flow = DataFlow.of(stage_models(replace(FEW, stages=(*lost, other)), 2))
    assert flow is not None
    assert flow.read_growth(len(lost), FILES) == FILES


def test_what_reads_a_shuffle_ends_what_tasks_before_it_left() -> None:
    stage = replace(
        FEW.stages[0], operations=("LocalLimit",), input_records=100.0, shuffle_read_bytes=None,
        shuffle_write_records=49.0,
    )  # fmt: skip
    assert limits_rows_per_task(stage)
    half = Measure(2, 2e6, (1e6,))
    for change in (
        {"shuffle_read_bytes": half}, {"shuffle_write_records": 50.0},
        {"shuffle_write_records": None}, {"operations": ("Project",)}, {"input_records": None},
    ):  # fmt: skip
        assert not limits_rows_per_task(replace(stage, **change))
