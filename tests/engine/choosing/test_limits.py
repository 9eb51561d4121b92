"""Limits on what may be rented: each binds, none is dropped, contradictions are refused."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from two_types import CATALOG, TODAY, fitted, offer

import engine
from engine.choosing.limits import Limits
from engine.cluster import Layout
from engine.optimiser import recommend


def best(deadline: float = 300.0, *, mix: int = 1, max_nodes: int = 60, **limits):
    return recommend(
        fitted(), catalog=CATALOG, deadline_seconds=deadline, max_nodes=max_nodes, mix=mix,
        confidence=0.5, today=TODAY, limits=Limits(**limits),
    )  # fmt: skip


def test_no_limits_change_nothing() -> None:
    free = recommend(
        fitted(), catalog=CATALOG, deadline_seconds=300.0, max_nodes=60, confidence=0.5, today=TODAY
    )
    assert best().recommended == free.recommended


@pytest.mark.parametrize("mix", [1, 2])
def test_a_job_that_an_owned_cluster_can_do_costs_nothing(mix: int) -> None:
    """The owner of a running cluster was told to pay a master, and its start-up."""
    chosen = best(5000.0, mix=mix, owned=(("small", 20),), owned_master=True).recommended
    assert set(chosen.composition) == {"small"}
    assert set(chosen.cost.parts.values()) == {0.0}
    assert chosen.cost_usd == chosen.cost_high_usd == 0.0
    lines = chosen.cost.assumptions
    assert lines[-1] == "the master is that of the owned nodes and costs nothing here"
    assert not any("start-up" in line for line in lines)


@pytest.mark.parametrize("mix", [1, 2])
def test_a_job_that_owned_nodes_can_do_costs_only_the_master(mix: int) -> None:
    chosen = best(5000.0, mix=mix, owned=(("small", 20),)).recommended
    assert set(chosen.composition) == {"small"}
    assert chosen.cost.workers_usd == 0.0
    hourly = 0.20 * 1.25 * chosen.cost.billed_seconds / 3600.0
    assert chosen.cost_usd == pytest.approx(hourly)
    assert not any("owned nodes and costs" in line for line in chosen.cost.assumptions)


def test_owned_master_alone_changes_nothing() -> None:
    assert best(owned_master=True).recommended == best().recommended


@pytest.mark.parametrize("mix", [1, 2])
def test_a_family_may_be_limited(mix: int) -> None:
    chosen = best(mix=mix, most=(("b*", 1),)).recommended
    assert chosen.composition.get("big", 0) <= 1
    nothing = best(mix=mix, most=(("b*", 0), ("s*", 3)))
    assert nothing.recommended is None
    assert {r.instance: r.code for r in nothing.rejected}["big"] == "limits"


@pytest.mark.parametrize("owned_master", [True, False])
def test_owned_nodes_cost_nothing_in_a_mix_either(owned_master: bool) -> None:
    """Ten of them beside others that are paid for: those, and a master that is not theirs."""
    master = 0.0 if owned_master else 0.20
    chosen = best(mix=2, owned=(("small", 10),), owned_master=owned_master).recommended
    assert chosen.composition["small"] >= 10
    paid = chosen.composition["small"] - 10
    hourly = paid * 0.20 + chosen.composition["big"] * 1.50 + master
    billed = chosen.cost.billed_seconds
    assert chosen.cost_usd == pytest.approx(hourly * 1.25 * billed / 3600.0)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"max_vcpus": 60}, lambda vcpus, nodes, executors: vcpus <= 60),
        ({"min_nodes": 7}, lambda vcpus, nodes, executors: nodes >= 7),
        ({"executors": (0, 15)}, lambda vcpus, nodes, executors: executors <= 15),
        ({"executors": (45, 200)}, lambda vcpus, nodes, executors: executors >= 45),
    ],
)
def test_every_limit_reaches_the_search_of_mixes(limits: dict, kept: Callable[..., bool]) -> None:
    """The best mix without it is one that it forbids."""
    told = []
    for asked in ({}, limits):
        chosen = best(900.0, mix=2, **asked).recommended
        small, big = (chosen.composition.get(name, 0) for name in ("small", "big"))
        told.append(kept(4 * small + 32 * big, small + big, chosen.executors))
    assert told == [False, True]


def test_excluded_types_are_not_rented() -> None:
    assert set(best(exclude=("big",)).recommended.composition) == {"small"}


def test_another_architecture() -> None:
    with pytest.raises(engine.BadInput, match="leave no instance type"):
        best(arch="arm64")


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"owned": (("smal", 3),)}, "did you mean small"),
        ({"most": (("q*", 3),)}, "unknown instance type 'q\\*'"),
        ({"owned": (("small", 3),), "exclude": ("s*",)}, "owned and excluded by 's\\*'"),
        ({"min_nodes": 99}, "at least 99 nodes and at most 60"),
        ({"owned": (("small", 0),)}, "at least 1"),
        ({"owned": (("small", 1), ("small", 2))}, "named twice"),
        ({"max_vcpus": 0}, "more than zero"),
        ({"arch": "sparc"}, "unknown architecture"),
        ({"exclude": ("*",)}, "leave no instance type"),
        ({"max_spot": -0.1}, "between 0 and 100 %, not -10 %"),
        ({"max_spot": 1.5}, "between 0 and 100 %, not 150 %"),
        ({"max_spot": float("nan")}, "between 0 and 100 %"),
    ],
)
def test_limits_without_meaning_are_refused_in_one_line(limits: dict, says: str) -> None:
    with pytest.raises(engine.BadInput, match=says):
        best(**limits)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"owned": (("small", float("nan")),)}, "owned small=nan is not a number of nodes"),
        ({"owned": (("small", float("inf")),)}, "owned small=inf is not a number of nodes"),
        ({"owned": (("small", True),)}, "owned small=True is not a number of nodes"),
        ({"owned": ("small", 3)}, "owned must be pairs of a type and its nodes"),
        ({"most": (("small", "3"),)}, "limit small=3 is not a number of nodes"),
        ({"most": (("small", -1),)}, "limit small=-1 is not a number of nodes"),
        ({"min_nodes": 2.5}, "a whole number of at least 1, not 2.5"),
        ({"min_nodes": float("nan")}, "a whole number of at least 1, not nan"),
        ({"min_nodes": 0}, "a whole number of at least 1, not 0"),
        ({"owned_master": "no"}, "owned_master must be True or False, not 'no'"),
        ({"max_vcpus": "96"}, "more than zero, not 96"),
        ({"max_vcpus": float("nan")}, "more than zero, not nan"),
        ({"max_spot": "half"}, "between 0 and 100 %, not half"),
        ({"executors": (1.5, 2.5)}, "1.5 to 2.5 executors is no range"),
        ({"executors": (2, float("inf"))}, "2 to inf executors is no range"),
        ({"exclude": "m5.*"}, "a list of types to exclude is needed, not 'm5"),
    ],
)
def test_what_is_no_limit_is_refused_before_it_could_be_dropped(limits: dict, says: str) -> None:
    with pytest.raises(engine.BadInput, match=says):
        Limits(**limits)


@pytest.mark.parametrize(
    ("limits", "remedy"),
    [
        ({"max_vcpus": 3.0}, "raise --max-vcpus"),
        ({"most": (("*", 0),)}, "raise --limit"),
        ({"most": (("*", 0),), "max_vcpus": 1.0}, "raise --max-vcpus or --limit"),
        ({"max_nodes": 4, "min_nodes": 4, "executors": (0, 2)}, "raise --dynamic-allocation"),
    ],
)
def test_the_remedy_names_the_limits_that_were_given(limits: dict, remedy: str) -> None:
    with pytest.raises(engine.BadInput) as caught:
        best(**limits)
    assert caught.value.remedy == remedy


def test_one_executor_at_most_is_a_range() -> None:
    assert best(20_000.0, executors=(0, 1)).recommended.executors == 1


def test_what_is_owned_needs_no_spot_price() -> None:
    """The types of this catalog have none."""
    answer = recommend(
        fitted(), catalog=CATALOG, deadline_seconds=5000.0, max_nodes=30, confidence=0.5,
        today=TODAY, spot=True, limits=Limits(owned=(("small", 20),)),
    )  # fmt: skip
    assert set(answer.recommended.composition) == {"small"}
    assert answer.recommended.composition["small"] <= 20
    assert offer("small", 4, 0.2).spot is None


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"max_vcpus": 3.0}, "room for no node;"),
        ({"most": (("*", 0),)}, "room for no node;"),
        ({"max_vcpus": 12.0, "min_nodes": 4}, "room for 3 nodes, at least 4 are needed"),
    ],
)
def test_limits_that_leave_nothing_are_refused_in_one_line(limits: dict, says: str) -> None:
    with pytest.raises(engine.BadInput, match=says):
        best(**limits)
    with pytest.raises(engine.BadInput, match=says):
        best(mix=2, **limits)


def test_a_part_of_a_node_is_no_room() -> None:
    """A quota of 14 vCPUs holds three and a half nodes of four: not four, as the message said."""
    shapes = [offer(name, 4, 0.2).instance for name in ("one", "other")]
    layouts = [Layout(2, 2), Layout(2, 2)]
    with pytest.raises(engine.BadInput, match="room for 3 nodes, at least 4 are needed"):
        Limits(max_vcpus=14.0, min_nodes=4).require_feasible(shapes, layouts, 10)
    held = Limits(max_vcpus=14.0, executors=(7, 9))
    with pytest.raises(engine.BadInput, match="holds 8 executors: at most 7"):
        replace(held, executors=(8, 9)).require_feasible(shapes, layouts, 10)
    assert held.require_feasible(shapes, layouts, 10) is held


def test_the_tightest_of_several_limits_bounds_what_there_is_room_for() -> None:
    shapes = [offer(name, vcpus, 0.2).instance for name, vcpus in (("one", 4), ("four", 16))]
    layouts = [Layout(1, 4), Layout(4, 4)]
    limits = Limits(max_vcpus=40.0, most=(("*", 7),))
    found = limits.constraints(shapes, layouts)
    assert found.most_of(np.ones(2)) == 7.0
    assert found.most_of(np.asarray([1.0, 4.0])) == 10.0
    assert found.most(9).tolist() == [7, 2]
    assert limits.require_feasible(shapes, layouts, 9) is limits


def test_executors_are_held_by_nodes_of_the_type_that_holds_most() -> None:
    """Five nodes hold twenty executors, all of the large type, and not five nor twenty-five."""
    shapes = [offer(name, vcpus, 0.2).instance for name, vcpus in (("one", 4), ("four", 16))]
    layouts = [Layout(1, 4), Layout(4, 4)]
    held = Limits(executors=(20, 30))
    assert held.require_feasible(shapes, layouts, 5) is held
    with pytest.raises(engine.BadInput, match="holds 21 executors: at most 20"):
        Limits(executors=(21, 30)).require_feasible(shapes, layouts, 5)
    without = Limits(executors=(6, 30), most=(("four", 0),))
    with pytest.raises(engine.BadInput, match="holds 6 executors: at most 5"):
        without.require_feasible(shapes, layouts, 5)


@pytest.mark.parametrize("bounds", [(5, 4), (0, 0), (-1, 3)])
def test_bounds_of_executors_that_are_no_range_are_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(engine.BadInput, match="no range"):
        Limits(executors=bounds)


def test_more_executors_than_any_cluster_holds_are_refused() -> None:
    with pytest.raises(engine.BadInput, match="holds 9999 executors"):
        best(executors=(9999, 10_000))
    with pytest.raises(engine.BadInput, match="holds 100 executors"):
        best(executors=(100, 200), max_vcpus=64)


def test_an_owned_type_of_another_architecture_is_a_contradiction() -> None:
    catalog = engine.load_catalog("aws")
    with pytest.raises(engine.BadInput, match="is owned and x86_64, not arm64"):
        Limits(owned=(("m5.xlarge", 3),), arch="arm64").validated(catalog, 10)
    Limits(owned=(("m6g.xlarge", 3),), arch="arm64").validated(catalog, 10)


def test_an_owned_type_whose_architecture_nobody_knows_contradicts_none() -> None:
    shape = replace(CATALOG.offers["small"].instance, arch=None)
    own = replace(CATALOG.offers["small"], instance=shape)
    catalog = replace(CATALOG, offers={**CATALOG.offers, "small": own})
    limits = Limits(owned=(("small", 3),), arch="arm64")
    assert limits.validated(catalog, 10) == limits
