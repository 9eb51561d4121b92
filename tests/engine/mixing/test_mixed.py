"""Mixes through the optimiser: what they cost, how they read, when they are believed."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from two_types import CATALOG, TODAY, best, fitted, offer
from watched import calls_of

import engine
from engine.choosing.choices import ChoiceBuilder
from engine.cluster import BesideHeap, Layout
from engine.cost import Cost, billed_seconds
from engine.memory import beside_heap_gib, planned_beside_heap
from engine.mixing.shown_mix import common_shape, total_cost
from engine.optimiser import recommend

amounts = st.one_of(st.none(), st.floats(1 / 1024, 40.0))
besides = st.builds(BesideHeap, amounts, amounts, amounts)


def test_runners_up_of_a_mix_are_made_when_they_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of them were made at once: most of what the answer with a mix took."""
    made = calls_of(monkeypatch, ChoiceBuilder, "choice")
    further = {f"mid{cents}": offer(f"mid{cents}", 16, cents / 100.0) for cents in range(90, 110)}
    catalog = replace(CATALOG, offers={**CATALOG.offers, **further})
    single, mixed = (
        recommend(fitted(), catalog=catalog, deadline_seconds=340.0, max_nodes=40, mix=types,
                  today=TODAY, confidence=0.5)
        for types in (1, 2)
    )  # fmt: skip
    assert len(mixed.recommended.composition) == 2
    before = len(made)
    listed = [choice.composition for choice in mixed.alternatives]
    assert len(made) > before
    assert single.recommended is not None
    expected = [single.recommended, *single.alternatives]
    assert listed == [choice.composition for choice in expected]
    assert mixed.alternatives[-1].composition == listed[-1]


def test_a_mix_is_never_dearer_and_sometimes_cheaper() -> None:
    cheaper = 0
    for deadline in (260.0, 300.0, 340.0, 420.0, 500.0, 700.0):
        single, mixed = best(deadline, 1).recommended, best(deadline, 2)
        assert mixed.optimal
        assert mixed.recommended.cost_usd <= single.cost_usd
        assert mixed.recommended.seconds < deadline
        cheaper += mixed.recommended.cost_usd < single.cost_usd * 0.999
    assert cheaper >= 2


def test_what_a_mix_says_of_itself() -> None:
    answer = best(300.0, 2)
    chosen = answer.recommended
    assert set(chosen.composition) == {"big", "small"}
    assert chosen.instance is None
    assert chosen.nodes == sum(chosen.composition.values())
    assert chosen.note == "mix"
    assert "mixed-cluster" in {notice.code for notice in chosen.warnings}
    assert "of one type" in chosen.why[0]
    assert answer.alternatives[0].composition == best(300.0, 1).recommended.composition
    assert chosen.to_dict()["composition"] == dict(chosen.composition)


def test_a_mix_says_by_how_much_it_is_better_than_one_type() -> None:
    single, mixed = best(300.0, 1).recommended, best(300.0, 2).recommended
    more = engine.format_usd(single.cost_usd - mixed.cost_usd, figures=2)
    assert mixed.why[0].startswith("the cheapest of one type, ")
    assert f"costs {more} more" in mixed.why[0]
    budget = single.cost_usd * 0.95
    fast = [
        recommend(fitted(), catalog=CATALOG, budget_usd=budget, max_nodes=40, mix=n, today=TODAY)
        for n in (1, 2)
    ]
    assert fast[0].recommended.seconds > fast[1].recommended.seconds
    one_type, mix = (answer.recommended.seconds for answer in fast)
    slower = engine.format_time_difference(one_type - mix, of_seconds=one_type)
    assert fast[1].recommended.why[0].startswith("the fastest of one type, ")
    assert f"takes {slower} longer" in fast[1].recommended.why[0]


def test_the_cost_is_that_of_every_node_and_one_master() -> None:
    """Of the predicted time, and of the shortest and the longest."""
    chosen = best(300.0, 2).recommended
    hourly = chosen.composition["big"] * 1.50 + chosen.composition["small"] * 0.20 + 0.20
    times = (chosen.low, chosen.seconds, chosen.high)
    costs = [
        hourly * 1.25 * float(billed_seconds(seconds, CATALOG.billing)) / 3600.0
        for seconds in times
        if seconds is not None
    ]
    found = [chosen.cost_low_usd, chosen.cost_usd, chosen.cost_high_usd]
    assert found == pytest.approx(costs)
    assert chosen.cost.total_usd == pytest.approx(chosen.cost_usd)
    assert chosen.cost.master_usd == pytest.approx(0.20 * chosen.seconds / 3600.0)


def test_the_fastest_within_a_budget() -> None:
    single = best(10_000.0, 1).recommended
    budget = single.cost_usd * 1.3
    answers = [
        recommend(fitted(), catalog=CATALOG, budget_usd=budget, max_nodes=40, mix=n, today=TODAY)
        for n in (1, 2)
    ]
    assert answers[1].recommended.seconds <= answers[0].recommended.seconds
    assert answers[1].recommended.cost_usd <= budget


def test_where_no_single_type_serves_a_mix_may() -> None:
    """A budget between the costs of the best mix and of the best single type."""
    budget = (best(300.0, 1).recommended.cost_usd + best(300.0, 2).recommended.cost_usd) / 2.0
    assert best(300.0, 1, budget_usd=budget).recommended is None
    answer = best(300.0, 2, budget_usd=budget)
    assert answer.nearest is None
    assert "no cluster of one type satisfies the goal" in answer.recommended.why[0]
    assert answer.recommended.cost_usd <= budget
    assert answer.recommended.seconds < 300.0


def test_an_export_of_a_mix_has_both_types() -> None:
    answer = best(300.0, 2)
    text = engine.export(answer, to="emr", profile=fitted().profile, catalog=CATALOG)
    assert "instance-fleets" in text
    for name in ("big", "small"):
        assert f'"InstanceType": "{name}"' in text
    with pytest.raises(engine.BadInput, match="unlike nodes"):
        engine.export(answer, to="databricks", profile=fitted().profile, catalog=CATALOG)


def test_a_type_with_executors_of_its_own_is_named_with_what_that_costs_at_most() -> None:
    """`big` was measured with 5 cores per executor, all others would have 4."""
    runs = []
    for nodes in (2, 3, 4, 6, 8, 12):
        cluster = engine.Cluster.of_nodes(instance_type="big", nodes=nodes, catalog=CATALOG)
        cluster = cluster.with_layout(engine.Layout(6, 5, 20.0))
        workload = engine.Workload(input_bytes=1e9)
        runs.append(
            engine.Run(seconds=60.0 + 40_000.0 / (nodes * 30), cluster=cluster, workload=workload)
        )
    model = engine.fit(engine.Profile(name="job", runs=tuple(runs)), model="ernest-extended")
    better = same = 0
    for deadline in (260.0, 300.0, 340.0, 420.0, 500.0, 700.0):
        answer = recommend(
            model, catalog=CATALOG, deadline_seconds=deadline, max_nodes=40, mix=2, today=TODAY,
            confidence=0.5,
        )  # fmt: skip
        assert len(answer.recommended.composition) == 1
        (notice,) = [n for n in answer.warnings if n.code == "layout-not-mixed"]
        assert notice.text.startswith("big ran with executors of 5 cores")
        better += "% better" in notice.text
        if share := re.search(r"at most (\S+) % better", notice.text):
            # Nothing is cheaper than the cheapest core: with executors of 4, one of 32 of `big`.
            assert 0.0 < float(share[1]) < 100.0 * (1.0 - (1.50 / 32) / (0.20 / 4))
        same += "no better" in notice.text
    assert better
    assert better + same == 6
    alone = recommend(
        model, catalog=CATALOG, deadline_seconds=300.0, max_nodes=40, mix=1, today=TODAY,
        confidence=0.5,
    )  # fmt: skip
    assert not [n for n in alone.warnings if n.code == "layout-not-mixed"]


@given(st.lists(st.tuples(st.floats(0.5, 60.0), st.none() | besides), min_size=1, max_size=4))
def test_executors_of_a_mix_fit_the_containers_of_all_its_types(
    shapes: list[tuple[float, BesideHeap | None]],
) -> None:
    layouts = [Layout(1, 4, heap, planned_beside_heap(heap, beside)) for heap, beside in shapes]
    shape = common_shape(layouts)
    heap = shape.executor_memory_gib
    assert heap == min(heap for heap, _ in shapes)
    total, containers = heap + beside_heap_gib(heap, shape.beside), []
    for own in layouts:
        container = own.executor_memory_gib + beside_heap_gib(own.executor_memory_gib, own.beside)
        containers.append(container)
        assert total <= container * (1.0 + 1e-8)
    assert shape.beside in [None, *(own.beside for own in layouts)]
    for own in layouts:
        if (other := heap + beside_heap_gib(heap, own.beside)) <= min(containers):
            assert other <= total, "no other that fits them all is more"
    if not any(layout.beside for layout in layouts):
        assert shape.beside is None


def test_the_shape_of_a_mix_is_that_of_its_smallest_executors() -> None:
    """Beside 8 GiB of heap a container of 12 GiB does not hold the 6 GiB of one of 15 GiB."""
    small, large = Layout(3, 4, 8.0, BesideHeap(4.0)), Layout(1, 4, 9.0, BesideHeap(6.0))
    for layouts in ([small, large], [large, small]):
        assert common_shape(layouts) == replace(
            layouts[0], executor_memory_gib=8.0, beside=small.beside
        )
    roomy = Layout(1, 4, 30.0, BesideHeap(3.0))
    assert common_shape([roomy, small]).beside == BesideHeap(4.0)
    assert common_shape([Layout(1, 4, 8.0, BesideHeap(6.0)), roomy]).beside == BesideHeap(6.0)
    unknown = Layout(1, 4, None, BesideHeap(9.0))
    assert common_shape([unknown, small]) == replace(small, executors_per_node=1)
    assert common_shape([unknown]) == replace(unknown, beside=None), (
        "beside a heap that nobody knows"
    )


def test_the_costs_of_members_add_up_part_by_part() -> None:
    first = Cost(1.0, 2.0, 3.0, 4.0, -5.0, 6.0, 7.0, 60.0, ("a", "b"), {"small": 1})
    second = Cost(10.0, 20.0, 30.0, 40.0, -50.0, 60.0, 70.0, 60.0, ("b", "c"), {"big": 2})
    assert total_cost([first, second]) == Cost(
        11.0, 22.0, 33.0, 44.0, -55.0, 66.0, 77.0, 60.0, ("a", "b", "c"), {"small": 1, "big": 2}
    )
