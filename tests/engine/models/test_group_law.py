"""How many groups rows have that tasks group, each its own, and of keys that RDDs combine.

The logs are of Spark 3.5.9, text files of 8,000 lines, four on two slots and twelve on four.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from depth import DEEP
from made_runs import Stage, observed
from real_logs import log_pair

from engine.models.replay.alternatives import alternatives_of
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning import group_law
from engine.models.stages.partitioning.data_flow import group_power
from engine.models.stages.partitioning.group_law import GroupLaw
from engine.models.stages.stage_models import stage_models
from engine.profile import Run

ROWS = 240_000


def law_of(keys: np.ndarray, tasks: int, *, told: bool = True) -> GroupLaw:
    """As a log says that has these rows in equal parts."""
    (stage,) = observed([Stage(np.full(tasks, 1.0))], slots=tasks).stages
    stage = replace(
        stage,
        ungrouped_rows=float(len(keys)) if told else None,
        grouped_rows=partial_groups(keys, tasks),
        groups=partial_groups(keys, 1),
    )
    return GroupLaw.of(stage, group_power(stage))


def partial_groups(keys: np.ndarray, tasks: int) -> float:
    return float(sum(len(np.unique(part)) for part in np.array_split(keys, tasks)))


@cache
def drawn(kind: str, rows: int = ROWS) -> np.ndarray:
    rng = np.random.default_rng(7)
    even = rng.random(rows)
    return {
        "few, equal": (even * 20_000).astype(int),
        "many, equal": (even * 100_000).astype(int),
        "more than rows": (even * 1_000_000).astype(int),
        "uneven": (even**2 * 50_000).astype(int),
        "most uneven": (even**3 * 50_000).astype(int),
        "by Zipf's law": rng.zipf(1.5, rows),
    }[kind]


KINDS = ("few, equal", "many, equal", "more than rows", "uneven", "most uneven", "by Zipf's law")


@pytest.mark.parametrize(
    ("kind", "tasks", "asked"),
    [
        (kind, tasks, asked)
        for row, kind in enumerate(KINDS)
        for place, (tasks, asked) in enumerate([(2, 6), (6, 2), (2, 20), (40, 8)])
        if DEEP or (row - place) % 2 == 0  # each kind twice, each pair three times
    ],
)
def test_the_tasks_of_a_log_tell_what_others_hand_on(kind: str, tasks: int, asked: int) -> None:
    """Within 9 % of three times as many or as few, and 15 % of five and ten times. Heaps' law alone
    says up to 2.6 times as many of ten times the tasks."""
    keys = drawn(kind)
    found = law_of(keys, tasks).partial_groups(1.0, asked / tasks) * partial_groups(keys, tasks)
    within = 0.15 if max(asked, tasks) > 6 else 0.09
    assert found == pytest.approx(partial_groups(keys, asked), rel=within)


@pytest.mark.parametrize("kind", KINDS)
def test_less_data_has_the_groups_that_it_would_have(kind: str) -> None:
    keys = drawn(kind)
    law = law_of(keys, 6)
    few = keys[: ROWS // 3]
    assert law.groups(1 / 3) * partial_groups(keys, 1) == pytest.approx(
        partial_groups(few, 1), rel=0.06
    )
    found = law.partial_groups(1 / 3, 1 / 3) * partial_groups(keys, 6)
    assert found == pytest.approx(partial_groups(few, 2), rel=0.02)


def test_more_data_goes_on_with_the_power_that_was_seen() -> None:
    """Its rows may have other keys."""
    law = law_of(drawn("uneven"), 2)
    assert law.groups(3.0) == pytest.approx(3.0**law.power)
    assert 0.0 < law.power < 1.0


def test_where_rows_are_not_told_the_power_goes_for_any_number() -> None:
    law = law_of(drawn("uneven"), 2, told=False)
    assert law.shape is None
    assert law.partial_groups(1.0, 3.0) == pytest.approx(3.0 ** (1.0 - law.power))


def test_one_group_is_one_group_of_each_task() -> None:
    law = law_of(np.zeros(100, dtype=int), 4)
    assert law.partial_groups(3.0, 5.0) == 5.0
    assert law.groups(3.0) == law.groups(0.1) == 1.0


def test_rows_with_keys_of_their_own_are_as_many_groups_in_any_tasks() -> None:
    law = law_of(np.arange(1000), 4)
    assert law.partial_groups(1.0, 10.0) == pytest.approx(1.0)
    assert law.partial_groups(3.0, 2.0) == pytest.approx(3.0)


@pytest.mark.parametrize("tasks", [2, 6, 100])
@pytest.mark.parametrize(
    ("shape", "scale"), [(-50.0, 1.0), (-2.0, 0.3), (-0.3, 0.01), (0.3, 1e-4), (0.8, 1e-6)]
)
def test_shape_and_scale_are_found_again(tasks: int, shape: float, scale: float) -> None:
    one, every = (
        scale * group_law._relative_groups(shape, rows / scale) for rows in (1.0 / tasks, 1.0)
    )
    found = group_law._fit(tasks, tasks * one, every / one)
    assert found == pytest.approx((shape, scale), rel=1e-3, abs=1e-9)


def test_the_logarithmic_series_lies_between_its_neighbours() -> None:
    low, middle, high = (group_law._relative_groups(shape, 9.0) for shape in (-1e-6, 0.0, 1e-6))
    assert low < middle < high
    assert middle == pytest.approx(np.log(10.0))


def once_in_each_task(tasks: int) -> np.ndarray:
    """Rows of which each task has a tenth of the keys twice and all others once, as a file for
    each day has a row for each shop."""
    rng = np.random.default_rng(7)
    each = (np.concatenate((np.arange(900), rng.integers(0, 900, 100))) for _ in range(tasks))
    return np.concatenate([rng.permutation(keys) for keys in each])


def test_less_data_of_tasks_that_have_all_keys_has_all_keys() -> None:
    """Drawn keys of which a tenth came twice would be three times as many in eight tasks."""
    keys, tasks = once_in_each_task(8), 8
    law = law_of(keys, tasks)
    for fewer in (1, 2, 4, 6):
        assert law.groups(fewer / tasks) == pytest.approx(1.0)
    assert law.partial_groups(1.0, 0.5) * partial_groups(keys, tasks) == pytest.approx(
        partial_groups(keys, 4)
    )
    finer = law.partial_groups(1.0, 4.0) * partial_groups(keys, tasks)
    assert finer == pytest.approx(partial_groups(keys, 32), rel=0.08)


@pytest.mark.parametrize("power", [0.0, 0.3, 0.9, 0.9999])
@pytest.mark.parametrize("share", [1e-6, 0.3, 0.9, 0.9999])
def test_more_rows_or_tasks_never_hand_on_fewer(power: float, share: float) -> None:
    law = GroupLaw(50, power, *group_law._fit(50, share, 50.0**power))
    rows, tasks = np.geomspace(1e-4, 10.0, 200), np.geomspace(0.02, 50.0, 200)
    assert np.all(np.diff(law.groups(rows)) >= -1e-9)
    assert np.all(np.diff(law.partial_groups(0.7, tasks)) >= -1e-6)
    assert law.partial_groups(1.0, 1.0) == 1.0


def test_what_no_law_says_has_the_nearest() -> None:
    """Tasks that share more keys than by chance: as many of equal frequency."""
    shape, scale = group_law._fit(2, 0.5, 1.0001)
    assert shape == group_law.LEAST_SHAPE
    assert scale > 0.0


@pytest.mark.parametrize(
    ("start", "slope", "nearest"),
    [(-5.0, 1.0, 1.0), (5.0, 1.0, 0.0), (5.0, -1.0, 1.0), (-5.0, -1.0, 0.0)],
)
def test_what_is_nowhere_is_nearest_at_an_end(start: float, slope: float, nearest: float) -> None:
    """Of a function that rises or falls, above or below what is searched for."""
    assert group_law._root(lambda x: start + slope * x, 0.0, 1.0) == nearest


FEW, MORE = log_pair("keys")
FILES = 3.0
MEANS, SUMS, PAIRS, LISTS = 3, 10, 13, 18
"""The stages that hand keys on: means of each product, sums of each user, pairs without copies,
and the lines of each shop."""


def reader(run: Run, of: int) -> StageModel:
    assert run.cluster.slots
    models = stage_models(run, run.cluster.slots)
    (found,) = (model for model in models if model.stage.parents == (of,))
    return found


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
@pytest.mark.parametrize(("maker", "within"), [(MEANS, 0.02), (SUMS, 0.45), (PAIRS, 0.06)])
def test_keys_become_more_as_the_tasks_of_a_log_tell(
    known: Run, asked: Run, maker: int, within: float
) -> None:
    """All tasks have nearly all products, and few have a pair in common. Of users, who are drawn
    unevenly, each log sees other shares: in proportion they would be twice as many."""
    ratio = FILES if asked is MORE else 1.0 / FILES
    here, there = reader(known, maker), reader(asked, maker)
    assert here.stage.shuffle_read_records
    predicted = here.data_growth(ratio) * here.stage.shuffle_read_records
    assert predicted == pytest.approx(there.stage.shuffle_read_records, rel=within)


@pytest.mark.parametrize("ratio", [1.0 / FILES, 2.0, FILES])
def test_lists_of_all_rows_grow_with_these(ratio: float) -> None:
    assert reader(FEW, LISTS).data_growth(ratio) == ratio


def test_what_combines_them_reads_as_much_of_each_task_as_before() -> None:
    (combining,) = (s for s in stage_models(FEW, 2) if s.stage.stage_id == MEANS)
    assert combining.data_growth(FILES) == pytest.approx(FILES)


def test_the_interval_reaches_growth_in_proportion() -> None:
    (other,) = (
        a for a in alternatives_of(Replay.of(FEW)) if all(s.read_law is None for s in a.models)
    )
    held = {s.stage.stage_id: s.data_growth(FILES) for s in Replay.of(FEW).models}
    assert any(
        model.data_growth(FILES) > 2.0 * held[model.stage.stage_id] for model in other.models
    )
