"""Designs under a cost function of one's own."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from engine import fit
from engine.catalog_files.reader import load_catalog
from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.experiments.plans import Experiment, ExperimentPlan
from engine.experiments.training import TrainingRequest, plan_experiments
from engine.profile import Profile, Run


def m5(nodes: int) -> Cluster:
    return Cluster.of_nodes(instance_type="m5.xlarge", nodes=nodes, vcpus=4, memory_gib=16.0)


def test_the_cost_of_a_run_is_any_function() -> None:
    """Ernest 3.3: c_i of scale and machines. A set-up that is paid once per machine moves the
    design to few machines; the same function as the unit's own gives the same plan."""
    request = TrainingRequest(
        nodes=tuple(range(1, 9)), fractions=(0.01, 0.02, 0.05, 0.1), budget=40.0, unit="own units"
    )

    def planned(cost_of_run: Callable[[Experiment], float], **changes: object) -> ExperimentPlan:
        return plan_experiments(replace(request, **changes), costs=cost_of_run)

    by_machines = planned(lambda run: 1.0 + (run.nodes or 0) ** 2)
    by_data = planned(lambda run: 100.0 * run.fraction)
    for plan in (by_machines, by_data):
        assert plan.unit == "own units"
        assert plan.cost == pytest.approx(sum(run.cost for run in plan.runs))
        assert plan.cost <= 40.0
    assert by_machines.cost == sum(1.0 + run.nodes**2 for run in by_machines.runs)
    few, many = (max(run.nodes for run in plan.runs) for plan in (by_machines, by_data))
    assert few < many == 8
    plain = plan_experiments(replace(request, unit="smallest runs", budget=6.0))
    same = planned(lambda run: run.fraction / 0.01 / (run.nodes or 1), budget=6.0)
    assert [(run.nodes, run.fraction) for run in same.runs] == [
        (run.nodes, run.fraction) for run in plain.runs
    ]
    assert same.criterion == pytest.approx(plain.criterion)


def test_a_cost_function_sees_the_expected_time_and_price() -> None:
    """An hour of an engineer on top of each run's price."""
    runs = [
        Run(20.0 + 400.0 * share / nodes, m5(nodes), Workload(share * 100e9))
        for nodes, share in ((1, 0.1), (2, 0.1), (4, 0.5), (4, 1.0))
    ]
    profile = Profile("made", tuple(runs))
    request = TrainingRequest(
        nodes=tuple(range(1, 9)), fractions=(0.05, 0.1, 0.2), budget=500.0, unit="usd",
        instances=("m5.xlarge",),
    )  # fmt: skip
    plan = plan_experiments(
        request, fitted=fit(profile), workload=profile.reference_workload,
        catalog=load_catalog("aws"), costs=lambda run: 60.0 * run.seconds / 3600.0 + run.usd,
    )  # fmt: skip
    assert plan.cost == pytest.approx(plan.usd + plan.seconds / 60.0)
    assert plan.cost <= 500.0


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), "5", None])
def test_what_is_no_cost(cost: object) -> None:
    request = TrainingRequest((1, 2, 3, 4), (0.01, 0.1), 10.0, unit="own units")
    with pytest.raises(BadInput, match="cost of 1 % of the input on 1 node must be a number"):
        plan_experiments(request, costs=lambda run: cost)


def test_costs_and_their_unit_go_together() -> None:
    request = TrainingRequest((1, 2, 3, 4), (0.01, 0.1), 10.0, unit="own units")
    with pytest.raises(BadInput, match="needs a cost function"):
        plan_experiments(request)
    other = replace(request, method="peridot", unit="seconds")
    with pytest.raises(BadInput, match="only Ernest's design has costs"):
        plan_experiments(other, costs=lambda run: 1.0)
