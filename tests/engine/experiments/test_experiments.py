"""Plans of runs: Ernest's design on a grid, PERIDOT's two sizes, SimCost's equal waves."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from depth import DEEP

from engine import fit
from engine.catalog import Catalog
from engine.catalog_files.reader import load_catalog
from engine.choosing.cluster_costs import cost_of
from engine.cluster import Cluster, Workload
from engine.errors import BadInput, BudgetTooSmall, UnknownName
from engine.experiments.designed_runs import designed
from engine.experiments.known_runs import known_runs, lessons_of
from engine.experiments.paper_plans import equal_waves, two_sizes
from engine.experiments.plans import ExperimentPlan, Grid, KnownRuns, smallest_runs
from engine.experiments.training import TERMS, TrainingRequest, plan_experiments
from engine.machines.platforms import on_platform
from engine.profile import Profile, Run

FRACTIONS = tuple(np.linspace(32 / 512, 64 / 512, 5))


def published_grid() -> Grid:
    return Grid.of(nodes=range(1, 11), fractions=FRACTIONS, partitions=512, node_cores=2)


def test_the_published_grid_as_a_plan() -> None:
    grid = published_grid()
    assert len(grid) == 50
    plan = designed(grid, budget=10.0)
    assert plan.criterion == pytest.approx(7.98605, rel=0.004)
    assert plan.optimum == pytest.approx(7.98605, rel=2e-5)
    assert plan.greedy_criterion > 2.0 * plan.criterion
    assert 0.99 < plan.efficiency <= 1.0
    assert plan.cost <= 10.0
    assert plan.seconds is None
    assert plan.usd is None
    assert all(run.teaches for run in plan.runs)
    assert [run.nodes for run in plan.runs] == sorted(r.nodes or 0 for r in plan.runs)[::-1]


@pytest.mark.parametrize("budget", [3.0, 10.0, 30.0])
def test_a_run_that_takes_the_whole_budget_does_not_spoil_the_design(budget: float) -> None:
    """The continuous design rests on half of a run that leaves no money for others."""
    grid = Grid.of(nodes=range(1, 33, 3), fractions=tuple(np.linspace(0.01, 1.0, 12)))
    plan = designed(grid, budget=budget)
    assert plan.cost <= budget * (1.0 + 1e-9)
    assert 0.4 < plan.efficiency <= 1.0
    assert plan.criterion < (plan.greedy_criterion or np.inf)


def test_designs_without_the_dearest_runs_are_rounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid.of(nodes=range(1, 33), fractions=tuple(np.linspace(0.01, 1.0, 24)))
    best = designed(grid, budget=3.0).criterion
    monkeypatch.setattr("engine.experiments.designed_runs.LARGEST_SHARES", ())
    whole = designed(grid, budget=3.0).criterion
    assert best < whole


def test_a_run_without_which_a_term_is_unknown_says_so() -> None:
    """The budget holds one run on a single node, and two of each other number."""
    plan = designed(Grid.of(nodes=(1, 2, 8), fractions=(0.1, 1.0)), budget=12.0)
    assert [run.nodes for run in plan.runs] == [8, 8, 2, 2, 1]
    assert plan.runs[-1].teaches == "aggregation time: no other run does"
    assert not any("nothing else" in run.teaches for run in plan.runs[:-1])


def test_what_costs_more_than_the_budget_takes_no_part() -> None:
    grid = Grid.of(nodes=range(1, 9), fractions=(0.01, 0.02, 1.0))
    plan = designed(grid, budget=5.0)
    assert all((run.cost or 0.0) <= 5.0 for run in plan.runs)
    assert (plan.efficiency or 0.0) > 0.3


def test_experiments_with_idle_cores_are_left_out() -> None:
    grid = Grid.of(nodes=(1, 8), fractions=(0.1, 1.0), partitions=20, node_cores=4)
    assert sorted(zip(grid.machines, grid.fraction, strict=True)) == [(1.0, 1.0)]
    with pytest.raises(BadInput, match="as many partitions as cores"):
        Grid.of(nodes=(8,), fractions=(0.1,), partitions=20, node_cores=4)


def test_each_type_has_runs_that_identify_its_own_terms() -> None:
    grid = Grid.of(nodes=range(1, 9), fractions=FRACTIONS, instances=("a", "b"))
    plan = designed(grid, budget=20.0)
    for name in ("a", "b"):
        mine = [run for run in plan.runs if run.instance == name]
        assert len({run.nodes for run in mine}) >= 3
        assert len(mine) >= 4


def test_a_user_s_cost_function_decides() -> None:
    grid = published_grid()
    by_nodes = designed(grid, budget=30.0, costs=lambda g: g.machines, unit="usd")
    assert by_nodes.cost == pytest.approx(sum(run.nodes or 0 for run in by_nodes.runs))
    assert smallest_runs(grid).min() < 1.0


@pytest.mark.parametrize(
    ("nodes", "fractions", "named"), [((4,), (0.1, 0.2), "1, ln"), ((4, 5), (0.1,), "apart")]
)
def test_candidates_that_cannot_identify_the_terms_are_named(
    nodes: tuple[int, ...], fractions: tuple[float, ...], named: str
) -> None:
    with pytest.raises(BadInput, match="cannot tell these terms apart") as caught:
        designed(Grid.of(nodes=nodes, fractions=fractions), budget=10.0)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_budget_below_the_cheapest_run() -> None:
    with pytest.raises(BadInput, match="below the cheapest run"):
        designed(published_grid(), budget=0.05)
    with pytest.raises(BadInput, match="buys no runs that tell all 4 coefficients apart"):
        designed(published_grid(), budget=0.2)


@pytest.mark.parametrize(
    ("nodes", "fractions"), [((), (0.1,)), ((0, 1), (0.1,)), ((1,), (0.0,)), ((1,), (1.5,))]
)
def test_impossible_grids(nodes: tuple[int, ...], fractions: tuple[float, ...]) -> None:
    with pytest.raises(BadInput):
        Grid.of(nodes=nodes, fractions=fractions)


def test_peridot_s_two_sizes_share_their_cores_and_fill_them() -> None:
    grid = Grid.of(
        nodes=(2, 4), fractions=tuple(np.linspace(0.01, 0.2, 20)), partitions=200, node_cores=4
    )
    plan = two_sizes(grid, node_cores=4)
    first, second = plan.runs
    assert (first.nodes, second.nodes) == (2, 2)
    assert (first.cores, second.cores) == (8, 8)
    assert first.partitions == 8
    assert second.partitions == 16
    with pytest.raises(BadInput, match="two sizes"):
        two_sizes(Grid.of(nodes=(2,), fractions=(0.1,)), node_cores=4)


def test_peridot_s_sizes_of_as_many_whole_partitions_are_one_size() -> None:
    """1 of 10 partitions is sampled of 10 % and of 13 %: such runs tell of no growth."""
    alike = Grid.of(nodes=(1,), fractions=(0.1, 0.13), partitions=10)
    with pytest.raises(BadInput, match="two sizes"):
        two_sizes(alike, node_cores=1)
    grid = Grid.of(nodes=(1,), fractions=(0.1, 0.13, 0.4), partitions=10)
    assert [run.partitions for run in two_sizes(grid, node_cores=1).runs] == [1, 4]


def test_simcost_s_example_2() -> None:
    plan = equal_waves(
        target_partitions=150, target_cores=(30, 60, 90, 120, 150), sample_partitions=5
    )
    assert [run.cores for run in plan.runs] == [1, 2, 3, 4, 5]
    assert {run.partitions for run in plan.runs} == {5}
    with pytest.raises(BadInput, match="as many waves"):
        equal_waves(target_partitions=150, target_cores=(10,), sample_partitions=5)


def made_profile() -> Profile:
    runs = [
        Run(
            20.0 + 400.0 * share / nodes,
            Cluster.of_nodes(instance_type="m5.xlarge", nodes=nodes, vcpus=4, memory_gib=16.0),
            Workload(share * 100e9, 40.0),
        )
        for nodes, share in ((1, 0.1), (2, 0.1), (4, 0.5), (4, 1.0))
    ]
    return Profile("made", tuple(runs))


def test_known_runs_are_built_on_and_estimates_have_prices() -> None:
    profile = made_profile()
    request = TrainingRequest(
        nodes=tuple(range(1, 9)), fractions=(0.05, 0.1, 0.2), budget=2.0, unit="usd",
        instances=("m5.xlarge",), iteration_share=0.05,
    )  # fmt: skip
    plan = plan_experiments(
        request,
        fitted=fit(profile),
        workload=profile.reference_workload,
        catalog=load_catalog("aws"),
    )
    assert plan.known_runs == 4
    assert all(run.iterations == 2.0 for run in plan.runs)
    assert plan.usd == pytest.approx(plan.cost)
    assert plan.usd <= 2.0
    assert all(run.seconds and run.low and run.low < run.seconds for run in plan.runs)
    known = known_runs(profile, Grid.of(nodes=(1,), fractions=(1.0,)))
    assert list(known.fraction) == [0.1, 0.1, 0.5, 1.0]
    pods = [replace(run, config={"spark.master": "k8s"}) for run in profile.runs]
    named = Grid.of(nodes=(1,), fractions=(1.0,), instances=("m5.xlarge",))
    assert len(known_runs(profile, named).fraction) == 4
    assert not len(known_runs(replace(profile, runs=tuple(pods)), named).fraction), (
        "how many nodes pods took is not known"
    )


def test_no_run_is_planned_that_dataproc_does_not_start() -> None:
    """Runs on one worker were planned on gcp."""
    profile, gcp = made_profile(), load_catalog("gcp")

    def planned(catalog: Catalog, nodes: Sequence[int], **changes: object) -> ExperimentPlan:
        request = TrainingRequest(
            nodes=tuple(nodes), fractions=(0.05, 0.1, 0.2), budget=20.0,
            instances=("n2-standard-4",),
        )  # fmt: skip
        return plan_experiments(
            replace(request, **changes),
            fitted=fit(profile), workload=profile.reference_workload, catalog=catalog,
        )  # fmt: skip

    elsewhere = on_platform(gcp, "kubernetes")
    fewest = [min(r.nodes for r in planned(c, range(1, 9)).runs) for c in (elsewhere, gcp)]
    assert fewest == [1, 2]
    assert all(run.nodes >= 2 for run in planned(gcp, range(1, 9), method="peridot").runs)
    said = {at: planned(c, at).notices for c, at in ((gcp, range(1, 9)), (gcp, range(2, 9)))}
    assert [notice.code for notice in said[range(2, 9)]] == []
    assert said[range(1, 9)][-1].code == "nodes-left-out"
    assert said[range(1, 9)][-1].text == (
        "Dataproc starts no cluster of fewer than 2 workers: no run on 1 of them is planned"
    )
    assert not planned(elsewhere, range(1, 9)).notices
    with pytest.raises(BadInput, match="Dataproc starts no cluster of fewer than 2 workers"):
        planned(gcp, [1])
    rule = {"method": "simcost", "partitions": 16, "node_cores": 4}
    two = Cluster.of_nodes(instance_type="n2-standard-4", nodes=2, catalog=gcp)
    first = planned(gcp, range(1, 9), **rule).runs[0]
    assert first.cores == 1
    assert first.usd == pytest.approx(cost_of(two, first.seconds, profile))


def test_a_share_of_the_iterations_makes_the_same_money_go_further() -> None:
    profile = made_profile()

    def runs(share: float | None) -> int:
        request = TrainingRequest(
            nodes=tuple(range(1, 9)), fractions=(0.05, 0.1, 0.2), budget=300.0, unit="seconds",
            iteration_share=share,
        )  # fmt: skip
        plan = plan_experiments(request, fitted=fit(profile), workload=profile.reference_workload)
        return len(plan.runs)

    assert runs(0.05) > runs(None)


def test_what_cannot_be_priced_or_timed_is_said() -> None:
    request = TrainingRequest(nodes=(1, 2, 3, 4), fractions=(0.1, 0.2), budget=5.0, unit="usd")
    with pytest.raises(BadInput, match="a budget in money needs"):
        plan_experiments(request)
    with pytest.raises(UnknownName, match="unit of a budget 'minutes'"):
        plan_experiments(replace(request, unit="minutes"))
    with pytest.raises(UnknownName, match="set of terms"):
        plan_experiments(TrainingRequest((1, 2), (0.1,), 1.0, terms="all"))


def test_what_is_known_counts_repetitions() -> None:
    run = made_profile().runs[0]
    (known,) = lessons_of(Profile("made", (run, run, run)))
    assert (known.runs, known.repeated, known.settled) == (3, 3, True)
    (single,) = lessons_of(Profile("made", (run,)))
    assert single.settled is None


@pytest.mark.parametrize(
    ("instances", "budgets"),
    [
        ((None,), (1.5, 3.0, 4.0, 5.0, 10.0, 20.0) if DEEP else (1.5, 4.0, 5.0, 20.0)),
        (("m5.large", "r4.2xlarge"), (1.5, 3.0, 4.0, 20.0) if DEEP else (1.5, 4.0, 20.0)),
    ],
)
def test_samples_that_are_nearly_alike_make_a_plan_or_are_refused(
    instances: tuple[str | None, ...], budgets: tuple[float, ...]
) -> None:
    """The cheapest samples of a long range of nodes differ in the tenth digit: a plan of them tells
    nothing, and solving for one ended in an error. More money never buys a worse plan here."""
    fractions = tuple(0.001 + 0.499 * step / 9.0 for step in range(10))
    grid = Grid.of(nodes=range(1, 41), fractions=fractions, instances=instances)
    found = []
    for budget in budgets:
        try:
            plan = designed(grid, budget=budget, terms=TERMS["extended"])
        except BudgetTooSmall:
            assert not found, "a smaller budget was enough"
            continue
        assert plan.criterion is not None
        assert math.isfinite(plan.criterion)
        assert plan.cost <= budget * (1.0 + 1e-9)
        assert len(plan.runs) >= len(TERMS["extended"]) * len(instances)
        found.append(plan.criterion)
    assert len(found) >= len(budgets) - 2
    assert found == sorted(found, reverse=True)


def test_earlier_runs_that_tell_all_leave_the_budget_for_more() -> None:
    """Where known runs identify the terms already, any single run that the budget buys helps."""
    grid = Grid.of(nodes=range(1, 9), fractions=(0.1, 0.2))
    known = KnownRuns(
        np.asarray([1.0, 2.0, 4.0, 8.0, 8.0]),
        np.asarray([1.0, 1.0, 1.0, 1.0, 0.5]),
        np.zeros(5, dtype=np.int64),
        np.full(5, 60.0),
    )
    plan = designed(grid, budget=0.13, known=known)
    assert [(run.nodes, run.fraction) for run in plan.runs] == [(8, 0.1)]


def test_runs_of_another_job_parameter_or_that_broke_off_are_not_built_on() -> None:
    """They tell other coefficients: neither a design nor what it narrows rests on them."""
    clusters = [
        Cluster.of_nodes(instance_type="m5.xlarge", nodes=n, vcpus=4, memory_gib=16.0)
        for n in (2, 4)
    ]
    workloads = [Workload(1e9, parameters={"k": k}) for k in (3.0, 9.0)]
    runs = [Run(90.0 / (c.nodes or 1), c, w) for c in clusters for w in workloads]
    profile = Profile("made", (*runs, replace(runs[0], seconds=9.0, complete=False)))
    grid = Grid.of(nodes=(1,), fractions=(1.0,), instances=("m5.xlarge",))
    for workload in workloads:
        known = known_runs(profile, grid, workload)
        assert list(known.machines) == [2.0, 4.0]
        assert list(known.seconds) == [45.0, 22.5]
