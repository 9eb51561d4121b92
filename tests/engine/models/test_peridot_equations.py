"""PERIDOT's equations and stage groups: the paper's figures."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed
from peridot_runs import REFERENCE_CORES, TABLE_2, application, executors, fit, references, run_of

from engine.cluster import Workload
from engine.models.peridot.equations import (
    Parameters,
    execution_seconds,
    reference_partitions,
    scaled_partitions,
    wave_seconds,
)
from engine.models.peridot.references import find_references
from engine.models.peridot.stage_groups import matched_groups, stage_groups
from engine.profile import Profile, Run
from engine.scheduling.waves import waves

STAGES_TABLE_1 = {
    "Wc": 2, "Mm": 2, "So": 2, "Co": 53, "Lr": 9, "Q26": 35, "Q52": 31, "Q64": 75
}  # fmt: skip


# Equations


def test_waves_of_figure_2() -> None:
    assert waves(8, 2) == 4
    assert waves(8, 6) == 2
    assert 6 * waves(8, 6) - 8 == 4, "cores that idle in the last wave"


def test_waves_of_arrays() -> None:
    assert waves(np.asarray([8.0, 7.0, 1.0]), np.asarray([2.0])).tolist() == [4.0, 4.0, 1.0]


def test_wave_time_is_group_time_over_waves() -> None:
    found = wave_seconds(group_seconds=np.asarray([12.0, 5.0]), group_waves=np.asarray([4.0, 1.0]))
    assert found.tolist() == [3.0, 5.0]


@pytest.mark.parametrize(("printed", "partitions"), [(False, 80.0), (True, 320.0 / 3.0)])
def test_partition_scaling_takes_the_mean_and_offers_the_printed_sum(
    printed: bool, partitions: float
) -> None:
    """8 and 16 partitions at 1 and 2 GB are 80 at 10 GB; the print of IV-B makes it 106.7."""
    mean = reference_partitions(
        np.asarray([[8.0], [16.0]]), sizes=np.asarray([1.0, 2.0]), printed=printed
    )
    found = scaled_partitions(size=10.0, mean_size=1.5, mean_partitions=mean)
    assert found[0] == pytest.approx(partitions)


def test_time_is_waves_times_wave_time_and_the_rest() -> None:
    found = execution_seconds(
        group_waves=np.asarray([[2.0, 3.0], [1.0, 1.0]]),
        mean_wave_seconds=np.asarray([10.0, 4.0]),
        fixed_seconds=7.0,
    )
    assert found.tolist() == [39.0, 21.0]


def test_fixed_time_is_what_the_variable_groups_leave() -> None:
    runs = references()
    found = Parameters.of(find_references(Profile("job", tuple(runs))))
    groups = [stage_groups(run) for run in runs]
    rest = [
        run.seconds - sum(group.seconds for group in own[:2])
        for run, own in zip(runs, groups, strict=True)
    ]
    assert found.fixed_seconds == pytest.approx(np.mean(rest))
    assert found.fixed_seconds > sum(own[2].seconds for own in groups) / 2.0


@pytest.mark.parametrize(
    ("mean_size", "mean_partitions", "size", "expected"),
    [(0.3, 3.0, 0.1 + 0.2 + 0.3, 6.0), (1.0, 1000.0, 1.0005, 1001.0), (100.0, 8.0, 0.001, 1.0)],
    ids=["a whole number but for rounding", "a part is one more", "one at least"],
)
def test_partitions_are_whole(
    mean_size: float, mean_partitions: float, size: float, expected: float
) -> None:
    parameters = Parameters(mean_size, np.asarray([mean_partitions]), np.asarray([1.0]), 0.0, 0.0)
    assert parameters.partitions(size).tolist() == [expected]


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
def test_many_groups_on_many_numbers_of_cores_are_the_sum_of_eq_4(speed: float) -> None:
    """More numbers of cores than are worked out at a time, groups of as many partitions, and cores
    in part, of which Spark gives whole ones."""
    parameters = Parameters(
        2.0, np.asarray([8.0, 3.0, 8.0]), np.asarray([1.0, 2.0, 0.25]), 7.0, 0.0
    )
    cores = np.concatenate([np.arange(1.0, 9001.0), [3.9, 1.0]])
    found = parameters.seconds(3.0, cores, np.full(len(cores), speed))
    for place in (0, 1, 2, 4, 11, 12, 4095, 4096, 8999, 9000, 9001):
        whole = np.floor(cores[place])
        wave_seconds = np.ceil(12 / whole) * 1.25 + np.ceil(5 / whole) * 2.0
        assert found[place] == pytest.approx(wave_seconds / speed + 7.0)


def test_repetitions_count_as_one_reference() -> None:
    """1 GB three times and 2 GB once are the mean of two, of sizes, times and partitions."""
    one, two = references(fixed=2)
    again = [replace(one, source=f"again {n}") for n in range(2)]
    plain = Parameters.of(find_references(Profile("job", (one, two))))
    repeated = Parameters.of(find_references(Profile("job", (one, *again, two))))
    assert repeated.mean_size == pytest.approx(plain.mean_size) == pytest.approx(1.5)
    assert repeated.mean_partitions == pytest.approx(plain.mean_partitions)
    assert repeated.mean_wave_seconds == pytest.approx(plain.mean_wave_seconds)
    assert repeated.fixed_seconds == pytest.approx(plain.fixed_seconds)


def test_chosen_references_alone_are_the_means() -> None:
    found = find_references(Profile("job", tuple(references())))
    second = Parameters.of(found, np.asarray([False, True]))
    assert second.mean_size == 2.0
    assert second.mean_partitions == pytest.approx(found.partitions[1, found.variable])


def test_fixed_groups_of_more_than_one_wave_are_told() -> None:
    """Of two fixed groups on 5 cores, 4 tasks fit at once and 7 do not: two waves of 3 s."""

    def run(size: int) -> Run:
        stages = [
            Stage(np.full(10 * size, 2.0)),
            Stage(np.full(4, 5.0), job=1),
            Stage(np.full(7, 3.0), job=2),
        ]
        jobs = [Job(), Job((0,), 0.5), Job((1,), 0.5)]
        return observed(stages, jobs, slots=REFERENCE_CORES, input_bytes=float(size))

    found = Parameters.of(find_references(Profile("job", (run(1), run(2)))))
    assert found.parallel_fixed_seconds == pytest.approx(6.0)
    assert found.fixed_seconds == pytest.approx(5.0 + 6.0 + 1.0)


# Stage groups


@pytest.mark.parametrize("name", TABLE_2)
def test_groups_of_table_2(name: str) -> None:
    parallel, variable, fixed, width = TABLE_2[name]
    runs = references(variable=variable, fixed=fixed, parallel=width)
    assert {len(run.stages) for run in runs} == {STAGES_TABLE_1[name]}
    found = find_references(Profile(name, tuple(runs)))
    side_by_side = [group for group in found.groups if len(group.stages) > 1]
    assert len(side_by_side) == parallel
    assert {len(group.stages) for group in side_by_side} <= {width}
    assert (found.variable.sum(), (~found.variable).sum()) == (variable, fixed)
    told = fit(*runs).predict(cluster=executors(20)).stages
    assert sorted(group.bottleneck for group in told) == ["fixed"] * fixed + ["waves"] * variable


def test_a_stage_after_the_end_of_a_parallel_one_is_the_next_group() -> None:
    """Fig. 1: 24, 25 and 27 are scheduled together, 26 when 24 and 25 have ended."""
    stages = [
        Stage(np.full(2, 1.0)),
        Stage(np.full(2, 1.0)),
        Stage(np.full(1, 9.0)),
        Stage(np.full(2, 3.0), (0, 1)),
    ]
    groups = stage_groups(observed(stages, slots=8))
    assert [[stage.stage_id for stage in group.stages] for group in groups] == [[0, 1, 2], [3]]
    assert [group.seconds for group in groups] == [9.0, 0.0], "shared time counts once"


def test_groups_never_take_longer_than_the_run() -> None:
    random = np.random.default_rng(3)
    stages = [
        Stage(random.gamma(2.0, 2.0, random.integers(1, 9)), tuple(range(max(0, i - 2), i, 2)))
        for i in range(12)
    ]
    run = observed(stages, slots=4)
    assert sum(group.seconds for group in stage_groups(run)) <= run.seconds + 1e-9


def test_tasks_that_take_several_slots_count_as_often() -> None:
    run = run_of(1.0)
    wide = replace(run, stages=tuple(replace(stage, task_cpus=2) for stage in run.stages))
    before, after = stage_groups(run), stage_groups(wide)
    assert [group.partitions for group in after] == [2 * group.partitions for group in before]


def test_groups_match_in_any_order_of_parallel_stages_and_by_what_they_do() -> None:
    def renamed(run: Run, names: Sequence[str]) -> Run:
        named = zip(run.stages, names, strict=True)
        return replace(run, stages=tuple(replace(s, name=name) for s, name in named))

    runs = references(variable=1, fixed=2, parallel=2)
    one = stage_groups(renamed(runs[0], ["a", "b", "c", "d"]))
    other = stage_groups(renamed(runs[1], ["b", "a", "x", "d"]))
    assert matched_groups([one, other]) == [(0, 0), (2, 2)]


def test_numbers_of_generated_code_are_no_difference() -> None:
    def operating(run: Run, *names: str) -> Run:
        return replace(run, stages=tuple(replace(s, operations=names) for s in run.stages))

    one, other = references(fixed=2)
    found = matched_groups(
        [
            stage_groups(operating(one, "Scan", "WholeStageCodegen (3)")),
            stage_groups(operating(other, "Scan", "WholeStageCodegen (1)", "AQEShuffleRead")),
        ]
    )
    assert len(found) == 4


def test_what_differs_between_repetitions_of_one_size_is_not_variable() -> None:
    """IV-A: a group is variable where its partitions change with the input. Taken for variable, a
    fixed group that merged its partitions otherwise once grew with the input."""
    plain = references()
    stages, jobs = application(1.0)
    stages[-1] = replace(stages[-1], seconds=np.full(5, 0.4))
    again = observed(stages, jobs, slots=REFERENCE_CORES, tail_seconds=1.0, input_bytes=1.0)
    repeated = replace(again, source="again", application="app")
    found = fit(*plain, repeated)
    assert found.references.variable.tolist() == [True, True, False]
    wide, large = executors(10), Workload(40.0)
    alone = fit(*plain).predict(cluster=wide, workload=large).seconds
    seconds = found.predict(cluster=wide, workload=large).seconds
    assert seconds == pytest.approx(alone, rel=1e-3)


def test_three_references_with_a_parallel_group_are_means() -> None:
    """IV-B over 1, 2 and 4 GB: three stages at once of 8, 5 and 3 blocks of 10 s per GB, then one
    of 6 of 7 s, then a fixed one; Eqs. 1 to 4 by hand."""

    def run(size: int) -> Run:
        stages = [Stage(np.full(blocks * size, 10.0)) for blocks in (8, 5, 3)]
        stages += [Stage(np.full(6 * size, 7.0), job=1), Stage(np.full(5, 4.0), job=2)]
        jobs = [Job((), 0.5), Job((0,), 0.5), Job((1,), 0.5)]
        found = observed(stages, jobs, slots=5, input_bytes=float(size))
        return replace(found, application="app")

    found = fit(*(run(size) for size in (1, 2, 4)))
    assert found.parameters.mean_partitions.tolist() == pytest.approx([16 * 7 / 3, 14.0])
    assert found.parameters.mean_wave_seconds.tolist() == pytest.approx([10.0, 7.0])
    assert found.parameters.fixed_seconds == pytest.approx(4.0 + 1.5)
    for size, cores, counts in ((10, 20, (8, 3)), (7, 13, (9, 4)), (50, 40, (20, 8))):
        answer = found.predict(cluster=executors(cores), workload=Workload(float(size)))
        by_hand = 10.0 * counts[0] + 7.0 * counts[1] + 5.5
        assert answer.seconds == pytest.approx(by_hand)
