"""What goes with a mix that is recommended: warnings that are true of it, and what is proven."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from synthetic import TableModel, catalog_of, model, offer, profile_on
from watched import calls_of

from engine import optimiser
from engine.catalog import Billing, Catalog
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Recommendation
from engine.choosing.surface import Surface
from engine.mixing import mix_step
from engine.mixing.effort import MAX_BOUNDS, MAX_BOUNDS_SENSITIVITY, Effort
from engine.mixing.market import MixResult
from engine.mixing.promised_time import PromisedTimeGoal
from engine.mixing.search import Search
from engine.optimiser import recommend
from engine.stage_run import Measure, StageRun

CORES = {"small": 4.0, "big": 32.0, "odd": 36.0}
HOURLY = Billing(granularity_seconds=3600.0)
DEADLINE = 1000.0
WORK = DEADLINE * 36.0
"""Core seconds: 36 cores just end in time, which 9 small nodes or a big and a small one have."""


def catalog(*names: str) -> Catalog:
    prices = {"small": 0.2, "big": 1.4, "odd": 1.7}
    return catalog_of(
        *(
            offer(name, prices[name], vcpus=CORES[name], memory_gib=4.0 * CORES[name])
            for name in names
        ),
        billing=HOURLY,
    )


def fitted(known: set[str]) -> TableModel:
    """Work that divides evenly; only of some types the model says how sure it is."""
    scales = {name: 1e-6 if name in known else math.nan for name in CORES}
    return model(lambda name, nodes: 0.99 * WORK / (nodes * CORES[name]), log_scales=scales)


def ask(fitted: TableModel, *names: str, mix: int = 2) -> Recommendation:
    return recommend(
        fitted, catalog=catalog(*names), instances=["*"], max_nodes=12, mix=mix,
        deadline_seconds=DEADLINE,
    )  # fmt: skip


def codes(answer: Recommendation) -> set[str]:
    return {notice.code for notice in answer.warnings}


def test_a_mix_without_an_interval_says_so_though_the_best_of_one_type_has_one() -> None:
    some = fitted({"small"})
    single, pair = ask(some, "small", "big", mix=1), ask(some, "small", "big")
    assert single.recommended.low is not None
    assert "no-interval" not in codes(single)
    assert pair.recommended.composition == {"big": 1, "small": 1}
    assert pair.recommended.low is None
    assert pair.recommended.p_deadline is None
    assert "no-interval" in codes(pair)


def test_a_mix_with_an_interval_does_not_say_that_it_has_none() -> None:
    some = fitted({"small", "big"})
    single, pair = ask(some, *CORES, mix=1), ask(some, *CORES)
    assert single.recommended.composition == {"odd": 1}
    assert "no-interval" in codes(single)
    assert pair.recommended.composition == {"big": 1, "small": 1}
    assert pair.recommended.low is not None
    assert "no-interval" not in codes(pair)


def test_a_mix_without_a_runner_up_lists_none() -> None:
    """One large node and four small ones are too slow by themselves."""
    answer = recommend(
        fitted(set(CORES)), catalog=catalog("small", "big"), instances=["*"], max_nodes=12, mix=2,
        deadline_seconds=DEADLINE, limits=Limits(most=(("big", 1), ("small", 4))),
    )  # fmt: skip
    assert answer.recommended.composition == {"big": 1, "small": 1}
    assert len(answer.alternatives) == 0
    assert list(answer.alternatives) == []
    assert answer.nearest is None
    assert answer.recommended.why == (
        "no cluster of one type satisfies the goal; 1 × big comes closest",
    )


def test_where_a_mix_serves_there_is_no_likeliest_of_those_that_do_not() -> None:
    """One large node is in time in 62 % of runs, with a small one beside it in 93 %."""
    vague = model(lambda name, nodes: 0.99 * WORK / (nodes * CORES[name]), log_scale=0.1)
    asked = {"deadline_seconds": 1.15 * DEADLINE, "instances": ["*"], "max_nodes": 12}
    limits = Limits(most=(("big", 1), ("small", 4)))
    single, pair = (
        recommend(vague, catalog=catalog("small", "big"), limits=limits, mix=mix, **asked)
        for mix in (1, 2)
    )
    assert single.recommended is None
    assert single.likeliest.composition == {"big": 1}
    assert pair.recommended.composition == {"big": 1, "small": 1}
    assert pair.likeliest is None


def test_a_mix_that_keeps_a_deadline_and_a_budget_needs_no_compromise() -> None:
    """Nine small nodes are over the budget, and one large one is too slow."""
    asked = {"deadline_seconds": DEADLINE, "budget_usd": 1.7, "instances": ["*"], "max_nodes": 12}
    types = catalog("small", "big")
    single = recommend(fitted(set(CORES)), catalog=types, **asked)
    assert single.recommended is None
    assert len(single.compromises) == 2
    pair = recommend(fitted(set(CORES)), catalog=types, mix=2, **asked)
    assert pair.recommended.composition == {"big": 1, "small": 1}
    assert pair.compromises == ()


def test_the_way_out_in_time_is_the_one_that_can_be_promised_soonest() -> None:
    """A small node is faster and costs less, but as it is not sure, 190 s are promised of it."""
    asked = {"deadline_seconds": 10.0, "budget_usd": 1e-4, "instances": ["*"], "max_nodes": 1}
    unsure = model(
        lambda name, nodes: np.full(len(nodes), {"small": 100.0, "big": 120.0}[name]),
        log_scales={"small": 0.5, "big": 1e-6},
    )
    types = catalog("small", "big")
    way = recommend(unsure, catalog=types, mix=2, **asked).compromises[0]
    assert way.choice.composition == {"big": 1}
    assert way.deadline_seconds == pytest.approx(120.0, rel=1e-3)


def test_the_best_of_one_type_is_the_first_runner_up_of_a_mix() -> None:
    single = ask(fitted(set(CORES)), *CORES, mix=1)
    pair = ask(fitted(set(CORES)), *CORES)
    assert [choice.instance for choice in pair.alternatives] == [
        single.recommended.instance,
        *(choice.instance for choice in single.alternatives),
    ]


def test_a_mix_says_by_how_much_the_best_of_one_type_is_worse() -> None:
    cheapest = ask(fitted(set(CORES)), *CORES).recommended
    assert cheapest.why == ("the cheapest of one type, 1 × odd, costs $0.10 more",)
    fastest = recommend(
        fitted(set(CORES)), catalog=catalog("small", "big"), instances=["*"], max_nodes=12, mix=2,
        budget_usd=1.65,
    ).recommended  # fmt: skip
    assert fastest.composition == {"big": 1, "small": 1}
    assert fastest.why == (
        "the fastest of one type, 1 × big, takes 2m 00s longer and costs $0.20 less",
    )


def test_the_type_with_the_most_nodes_is_named_first() -> None:
    """44 cores: a large node and three small ones for $2.00 an hour, eleven small ones for $2.20,
    two large ones for $2.80."""
    hungry = model(lambda name, nodes: 0.99 * DEADLINE * 44.0 / (nodes * CORES[name]))
    chosen = ask(hungry, "small", "big").recommended
    assert list(chosen.composition.items()) == [("small", 3), ("big", 1)]
    assert chosen.cost_usd == pytest.approx(2.0)


def test_what_is_left_unsettled_is_not_called_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the grid times are a tenth too short: no mix stands when it is evaluated exactly, and
    those behind the first one are not looked at any more."""

    def law(name: str, nodes: np.ndarray) -> np.ndarray:
        return 0.95 * WORK / (nodes * CORES[name]) * (1.0 if len(nodes) == 12 else 1.1)

    coarse = model(law, log_scale=1e-6)
    searched, run = [ask(coarse, "small", "big", mix=1).evaluated], Search.run

    def counted(search: Search) -> MixResult:
        searched.append((found := run(search)).evaluated)
        return found

    monkeypatch.setattr(Search, "run", counted)
    settled = ask(coarse, "small", "big")
    assert settled.optimal
    assert len(searched) > 2
    assert settled.evaluated == sum(searched), "of one type, and of each search"
    monkeypatch.setattr(Search, "run", run)
    monkeypatch.setattr(mix_step, "_MAX_ROUNDS", 1)
    assert not ask(coarse, "small", "big").optimal


def surface_of(
    cores: dict[str, int], *, owned: Sequence[tuple[str, int]] = (), **changes: object
) -> Surface:
    """Alike types with executors of these cores, of which the type "ran" was measured, with changed
    candidates."""
    types = catalog_of(*(offer(name, 0.2, vcpus=8, memory_gib=32.0) for name in cores))
    ran_on = profile_on(types.offers["ran"].instance)
    surface = Surface.build(
        model(lambda name, nodes: 60.0 / nodes, ran_on),
        select_candidates(types, profile=ran_on, instances=["*"]),
        max_nodes=2,
        limits=Limits(owned=tuple(owned)),
    )
    layouts = tuple(
        replace(layout, executor_cores=cores[name])
        for name, layout in zip(surface.candidates.names, surface.candidates.layouts, strict=True)
    )
    return replace(surface, candidates=replace(surface.candidates, layouts=layouts, **changes))


@pytest.mark.parametrize(
    ("cores", "compared", "owned", "left_out"),
    [
        ({"ran": 5, "a": 4, "b": 4, "c": 8}, (), (), 4),
        ({"ran": 5, "a": 4, "b": 8, "c": 8}, (), (), 8),
        ({"ran": 4, "a": 4, "b": 4, "c": 8}, (), (), None),
        ({"ran": 8, "a": 4, "b": 4, "c": 8}, (), (), None),
        ({"ran": 5, "a": 4, "b": 4, "c": 8}, ("ran",), (), None),
        ({"ran": 5, "a": 4, "b": 4, "c": 8}, ("ran",), (("ran", 1),), 4),
        ({"ran": 5}, (), (), None),
    ],
)
def test_a_measured_type_is_left_out_of_mixes_where_no_other_has_such_executors(
    cores: dict[str, int], compared: Sequence[str], owned: Sequence[tuple[str, int]],
    left_out: int | None,
) -> None:  # fmt: skip
    """Executors of a mix have one shape; what is compared alone is in no mix anyway."""
    surface = surface_of(cores, owned=owned, comparison_only=frozenset(compared))
    expected = {surface.candidates.names.index("ran"): left_out} if left_out else {}
    assert mix_step.unmixable_types(surface) == expected


def test_types_without_room_for_a_task_have_no_say_in_the_executors_of_mixes() -> None:
    stage = StageRun(0, "wide", 8, 0.0, 60.0, Measure(8, 60.0, (7.5,)), task_cpus=5)
    surface = surface_of({"ran": 5, "a": 4, "b": 4, "c": 8}, wide_stage=stage)
    assert surface.candidates.without_room == {"a", "b"}
    assert mix_step.unmixable_types(surface) == {surface.candidates.names.index("ran"): 8}


def test_what_an_answer_hangs_on_says_whether_its_searches_were_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine some of them end by the clock, though the answer itself was proven."""

    def asked_for_all() -> Recommendation:
        return recommend(
            fitted(set(CORES)), catalog=catalog("small", "big"), instances=["*"], max_nodes=12,
            mix=2, deadline_seconds=DEADLINE, with_sensitivity=True,
        )  # fmt: skip

    proven = asked_for_all()
    assert (proven.optimal, proven.sensitivity.optimal) == (True, True)
    assert proven.to_dict()["sensitivity"]["optimal"] is True
    asked, cut = [], optimiser.with_mixes

    def ends_early_after_the_first(*args: Any, **options: Any) -> Recommendation:
        asked.append(args)
        return replace(cut(*args, **options), optimal=len(asked) == 1)

    monkeypatch.setattr(optimiser, "with_mixes", ends_early_after_the_first)
    cut_short = asked_for_all()
    assert len(asked) > 1
    assert (cut_short.optimal, cut_short.sensitivity.optimal) == (True, False)


@pytest.mark.parametrize(
    ("is_proven", "around"), [(True, MAX_BOUNDS), (False, MAX_BOUNDS_SENSITIVITY)]
)
def test_what_an_unproven_answer_hangs_on_is_searched_less(
    is_proven: bool, around: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten searches, none of which was proven, took 20 s."""
    limits, search = [], mix_step.Search

    def noted(*args: Any, effort: Effort, **options: Any) -> Any:
        limits.append(effort.limit)
        found = search(*args, effort=effort, **options)
        run = found.run
        found.run = lambda: replace(run(), optimal=is_proven)
        return found

    monkeypatch.setattr(mix_step, "Search", noted)
    recommend(
        fitted(set(CORES)), catalog=catalog("small", "big"), instances=["*"], max_nodes=12,
        mix=2, deadline_seconds=DEADLINE, with_sensitivity=True,
    )  # fmt: skip
    assert limits[0] == MAX_BOUNDS
    assert limits[-1] == around


@pytest.mark.parametrize("budget", [None, 0.5])
def test_the_nearest_mix_is_the_closest_of_all_and_found_in_one_search(
    budget: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All nodes there are come closest to a deadline; beside a budget too, which they exceed by
    less. The least promised time says by how much both limits are exceeded at least."""
    searches = calls_of(monkeypatch, Search, "run")
    limits = Limits(most=(("big", 1), ("small", 4)))
    answer = recommend(
        model(lambda name, nodes: 0.99 * WORK / (nodes * CORES[name]), log_scale=0.1),
        catalog=catalog("small", "big"), instances=["*"], max_nodes=12, mix=2, limits=limits,
        deadline_seconds=0.1 * DEADLINE, budget_usd=budget,
    )  # fmt: skip
    assert answer.recommended is None
    assert answer.nearest.composition == {"small": 4, "big": 1}
    late = [search for (search,) in searches if isinstance(search.goal, PromisedTimeGoal)]
    assert len(late) == 1
