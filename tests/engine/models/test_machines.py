"""How machines are counted, and clusters of unmeasured types converted."""

import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import engine
from engine.batch import ClusterBatch
from engine.catalog import Catalog, InstanceType, Offer, Price
from engine.cluster import Cluster, Layout, NodeGroup, Workload
from engine.errors import ModelDoesNotFit
from engine.models.curves.equivalents import equivalents, nearest_measured_type
from engine.models.curves.machines import (
    distinct_configurations,
    fittable_tables,
    machine_unit,
    shape_of,
)
from engine.models.curves.measured_range import doublings_outside
from engine.models.curves.model import type_effect
from engine.models.ernest import Ernest
from engine.profile import Profile, Run

SMALL = InstanceType("m.small", 4.0, 16.0, arch="x86_64", cpu_score=40.0)
BIG = InstanceType("m.big", 8.0, 32.0, arch="x86_64", cpu_score=80.0)
LEAN = InstanceType("c.lean", 8.0, 16.0, arch="x86_64", cpu_score=120.0)
ARM = InstanceType("g.arm", 4.0, 16.0, arch="arm64", cpu_score=40.0)
PRICE = Price(1.0, date(2020, 1, 1), "test")
CATALOG = Catalog(
    name="test",
    provider="test",
    region="here",
    currency="USD",
    date=date(2020, 1, 1),
    offers={kind.name: Offer(kind, PRICE) for kind in (SMALL, BIG, LEAN, ARM)},
)


def on(kind: InstanceType | None, nodes: int, *, slots_per_node: int | None = None) -> Cluster:
    cluster = Cluster((NodeGroup(nodes, kind),), catalog=CATALOG)
    return cluster.with_layout(Layout(1, slots_per_node)) if slots_per_node else cluster


def runs_on(kind: InstanceType | None, counts: tuple[int, ...], **layout: int) -> list[Run]:
    return [Run(10.0 + 80.0 / n, on(kind, n, **layout), Workload(1.0)) for n in counts]


def machines_of(cluster: Cluster, profile: Profile) -> float:
    batch = ClusterBatch.of([cluster], profile)
    return float(equivalents(batch, fittable_tables(profile.runs)).machines[0])


def test_nodes_of_a_known_type_are_machines() -> None:
    assert machine_unit(runs_on(SMALL, (2, 4), slots_per_node=4)) == "nodes"


def test_nodes_of_which_runs_used_more_or_less_are_compared_by_slots() -> None:
    """One executor on a node and two on it are two machines, not one run twice."""
    runs = runs_on(SMALL, (1, 2), slots_per_node=1) + runs_on(SMALL, (2,), slots_per_node=2)
    assert machine_unit(runs) == "slots"
    assert fittable_tables(runs)[0].machines.tolist() == [1.0, 2.0, 4.0]
    other_type = runs_on(SMALL, (1, 2), slots_per_node=1) + runs_on(BIG, (1,), slots_per_node=2)
    assert machine_unit(other_type) == "nodes"


def test_nodes_of_an_unknown_type_are_compared_by_slots() -> None:
    assert machine_unit(runs_on(None, (2, 4), slots_per_node=4)) == "slots"


def test_nodes_of_an_unknown_type_without_executors_are_nodes() -> None:
    assert machine_unit(runs_on(None, (2, 4))) == "nodes"


def test_executors_alone_are_slots() -> None:
    runs = [
        Run(9.0, Cluster.of_executors(executors=n, executor_cores=2), Workload(1.0))
        for n in (1, 2, 4)
    ]
    assert machine_unit(runs) == "slots"
    assert fittable_tables(runs)[0].machines.tolist() == [2.0, 4.0, 8.0]


def test_runs_that_say_nothing_do_not_fit() -> None:
    with pytest.raises(ModelDoesNotFit, match="neither how many nodes"):
        machine_unit([Run(9.0, Cluster(), Workload(1.0))])


def test_one_cluster_of_mixed_types_among_others_does_not_fit() -> None:
    mixed = Cluster((NodeGroup(2, SMALL), NodeGroup(1, BIG)), catalog=CATALOG)
    with pytest.raises(ModelDoesNotFit, match="mixed instance types"):
        fittable_tables([*runs_on(SMALL, (1, 2, 4)), Run(9.0, mixed, Workload(1.0))])


def test_each_type_with_enough_configurations_is_a_family() -> None:
    runs = runs_on(SMALL, (1, 2, 4)) + runs_on(BIG, (1, 2, 3, 4)) + runs_on(LEAN, (1, 2))
    found = fittable_tables(runs)
    assert [family.instance for family in found] == [BIG, SMALL]
    assert [family.members for family in found] == [("m.big",), ("m.small",)]


def test_types_with_too_few_are_pooled_by_vcpus_and_speed() -> None:
    runs = runs_on(SMALL, (2, 4)) + runs_on(BIG, (4,)) + runs_on(LEAN, (2,))
    (pool,) = fittable_tables(runs)
    assert pool.instance == SMALL
    assert pool.members == ("m.small", "m.big", "c.lean")
    assert pool.machines.tolist() == [2.0, 4.0, 8.0, 6.0]


def test_repetitions_are_one_configuration() -> None:
    runs = runs_on(SMALL, (2, 4, 8)) + runs_on(SMALL, (2,))
    assert distinct_configurations(fittable_tables(runs)[0]) == 3


def test_runs_without_a_size_are_left_aside_where_others_have_one() -> None:
    runs = [*runs_on(SMALL, (1, 2, 4)), Run(5.0, on(SMALL, 8), Workload())]
    assert len(fittable_tables(runs)[0]) == 3


@pytest.mark.parametrize(
    ("target", "measured", "expected"),
    [
        (BIG, [LEAN, SMALL], 1),  # the same memory per vCPU before the same vCPUs
        (ARM, [SMALL, ARM], 1),
        (ARM, [LEAN, BIG], 1),
        (SMALL, [ARM, LEAN], 1),  # the architecture before everything
        (SMALL, [None, BIG], 1),
        (LEAN, [BIG, replace(LEAN, name="c.less", vcpus=4.0, memory_gib=8.0)], 1),
        # a size of the family before as many vCPUs
        (replace(SMALL, name="m5.xlarge"), [SMALL, replace(BIG, name="m5.4xlarge")], 1),
        # 3.75 GiB a vCPU are as good as 4, 2 are not.
        (
            replace(SMALL, name="n1-standard-4", memory_gib=15.0),
            [replace(SMALL, memory_gib=15.0), replace(BIG, name="n1-standard-8")],
            1,
        ),
        (
            replace(SMALL, name="n1-standard-4"),
            [SMALL, replace(LEAN, name="n1-highcpu-8")],
            0,
        ),
    ],
)
def test_the_nearest_measured_type(
    target: InstanceType, measured: list[InstanceType | None], expected: int
) -> None:
    assert (
        nearest_measured_type(target, [shape_of(source, CATALOG) for source in measured])
        == expected
    )


def test_of_two_types_as_near_the_order_of_the_runs_does_not_decide() -> None:
    """Half and twice the size: answers differed by which one stood first in the table."""
    sizes = [replace(SMALL, name=f"m5.{n}", vcpus=n, memory_gib=4.0 * n) for n in (4.0, 8.0, 16.0)]
    half, target, twice = sizes
    assert nearest_measured_type(target, [half, twice]) == 0
    assert nearest_measured_type(target, [twice, half]) == 1
    alike = replace(half, name="m5.other")
    assert nearest_measured_type(target, [alike, half]) == 1


def test_of_two_types_of_one_shape_the_one_of_the_same_score_is_nearer() -> None:
    one, target, other = (
        replace(SMALL, name=name, cpu_score=score, cpu_benchmark="coremark")
        for name, score in (("m4.xlarge", 40.0), ("x.xlarge", 80.0), ("z.xlarge", 79.0))
    )
    assert nearest_measured_type(target, [one, other]) == 1
    assert nearest_measured_type(target, [other, one]) == 0
    assert nearest_measured_type(target, [replace(one, cpu_score=None), other]) == 1


def test_types_of_one_shape_resemble_sizes_of_their_own_family() -> None:
    """Types of a shape are looked up once, but not those whose family was measured."""
    size = replace(SMALL, name="m5.xlarge")
    profile = Profile("p", tuple(runs_on(BIG, (1, 2, 4)) + runs_on(size, (1, 2, 4))))
    asked = [replace(BIG, name=name) for name in ("m.other", "m5.2xlarge", "m6a.2xlarge")]
    measured = fittable_tables(profile.runs)
    found = equivalents(ClusterBatch.of([on(kind, 3) for kind in asked], profile), measured)
    assert [measured[place].instance for place in found.family] == [BIG, size, BIG]


def test_a_measured_type_is_itself() -> None:
    profile = Profile("p", tuple(runs_on(SMALL, (1, 2, 4)) + runs_on(BIG, (1, 2, 4))))
    batch = ClusterBatch.of([on(BIG, 3), on(SMALL, 5)], profile)
    measured = fittable_tables(profile.runs)
    found = equivalents(batch, measured)
    assert [measured[place].instance for place in found.family] == [BIG, SMALL]
    assert found.machines.tolist() == [3.0, 5.0]
    assert found.log_scale.tolist() == [0.0, 0.0]
    assert found.notices == (None, None)


def test_an_unmeasured_type_counts_by_vcpus_and_speed() -> None:
    profile = Profile("p", tuple(runs_on(SMALL, (1, 2, 4))))
    found = equivalents(ClusterBatch.of([on(LEAN, 3)], profile), fittable_tables(profile.runs))
    assert found.machines[0] == pytest.approx(3 * 2 * 1.5)
    assert found.log_scale[0] > 0.0
    assert [notice.code for notice in found.notices if notice] == ["transferred-speed"]


def test_machines_whatever_their_speed_are_those_of_the_vcpus() -> None:
    """Three nodes of eight vCPUs are six of four, half as fast again: nine in all."""
    profile = Profile("p", tuple(runs_on(SMALL, (1, 2, 4))))
    batch = ClusterBatch.of([on(LEAN, 3), on(SMALL, 5)], profile)
    found = equivalents(batch, fittable_tables(profile.runs))
    assert found.machines.tolist() == pytest.approx([9.0, 5.0])
    assert found.machine_count.tolist() == pytest.approx([6.0, 5.0])


def test_what_cannot_be_compared_is_unknown_beside_what_can() -> None:
    """Nodes of which nobody knows the size are no number of measured ones; alone they are
    refused."""
    profile = Profile("p", tuple(runs_on(SMALL, (1, 2, 4))))
    unknown = Cluster((NodeGroup(2, None),))
    batch = ClusterBatch.of([on(SMALL, 3), Cluster.of_executors(executors=2, executor_cores=4)],
                            profile)  # fmt: skip
    assert equivalents(batch, fittable_tables(profile.runs)).machines.tolist() == [3.0, 2.0]
    sizeless = Profile("p", tuple(runs_on(None, (1, 2, 4))))
    measured = fittable_tables(sizeless.runs)
    both = ClusterBatch.of([unknown, on(SMALL, 3)], sizeless)
    found = equivalents(both, measured).machines
    assert found[0] == 2.0
    assert math.isnan(found[1])
    with pytest.raises(engine.BadInput, match="cannot be compared") as refused:
        equivalents(ClusterBatch.of([on(SMALL, 3)], sizeless), measured)
    assert "--ran-on TYPE" in (refused.value.remedy or "")


@pytest.mark.parametrize("measured", [[None, ARM], [ARM, None]])
def test_any_known_shape_resembles_more_than_an_unknown_one(measured: list) -> None:
    """Whatever comes first."""
    found = nearest_measured_type(SMALL, [shape_of(source, CATALOG) for source in measured])
    assert measured[found] is ARM
    assert nearest_measured_type(SMALL, [None, None]) == 0


def test_slots_are_compared_where_the_runs_know_them() -> None:
    """Two of the four vCPUs of a measured node were used: eight slots are four such nodes."""
    profile = Profile("p", tuple(runs_on(SMALL, (1, 2, 4), slots_per_node=2)))
    assert machines_of(Cluster.of_executors(executors=4, executor_cores=2), profile) == 4.0


def test_executors_on_nodes_without_a_layout_count_by_vcpus() -> None:
    profile = Profile("p", tuple(runs_on(SMALL, (1, 2, 4))))
    assert machines_of(Cluster.of_executors(executors=4, executor_cores=2), profile) == 2.0


def test_nodes_count_as_slots_where_slots_were_measured() -> None:
    runs = [
        Run(9.0, Cluster.of_executors(executors=n, executor_cores=2), Workload(1.0))
        for n in (1, 2, 4)
    ]
    profile = Profile("p", tuple(runs))
    found = equivalents(
        ClusterBatch.of([on(SMALL, 3, slots_per_node=4)], profile), fittable_tables(runs)
    )
    assert [notice.code for notice in found.notices if notice] == ["unknown-source-type"]
    median = CATALOG.median_cpu_scores_per_vcpu[SMALL.cpu_benchmark]
    assert found.machines[0] == pytest.approx(12 * 10.0 / median)


def test_a_transferred_prediction_is_wider() -> None:
    runs = [
        Run(seconds * noise, run.cluster, run.workload)
        for run, noise in zip(
            runs_on(SMALL, (1, 2, 4, 6, 8, 10)), (1, 1.02, 0.97, 1.01, 0.98, 1.03), strict=True
        )
        for seconds in (run.seconds,)
    ]
    fitted = Ernest().fit(Profile("p", tuple(runs)), models={})
    own = fitted.predict(cluster=on(SMALL, 4))
    other = fitted.predict(cluster=on(BIG, 2))
    assert other.seconds == pytest.approx(own.seconds)
    assert other.forecast.log_scale[0] > own.forecast.log_scale[0]


def test_doublings_beyond_a_range() -> None:
    measured = np.array([2.0, 8.0])
    values = np.array([1.0, 2.0, 5.0, 8.0, 32.0])
    assert doublings_outside(values, measured).tolist() == [1.0, 0.0, 0.0, 0.0, 2.0]
    assert doublings_outside(values, np.empty(0)).tolist() == [0.0] * 5
    assert doublings_outside(np.array([math.nan]), measured).tolist() == [0.0]


def test_types_of_a_pool_are_measured() -> None:
    """They count by vCPUs and speed as they did in the fit, without further doubt."""
    runs = runs_on(SMALL, (2, 4)) + runs_on(BIG, (4,)) + runs_on(LEAN, (2,))
    found = equivalents(
        ClusterBatch.of([on(LEAN, 2)], Profile("p", tuple(runs))), fittable_tables(runs)
    )
    assert found.machines.tolist() == [6.0]
    assert found.machine_count.tolist() == [6.0], "in what grows with the machines too"
    assert found.log_scale.tolist() == [0.0]
    assert found.notices == (None,)


def test_few_runs_on_a_type_scale_the_nearest_curve() -> None:
    """Runs on the big type take 1.4 times what the small one's curve predicts."""
    many = runs_on(SMALL, (1, 2, 4, 6, 8, 10))
    few = [Run(1.4 * (10.0 + 40.0 / n), on(BIG, n), Workload(1.0)) for n in (2, 4)]
    noisy = [
        Run(run.seconds * (1.0 + 0.02 * (-1) ** place), run.cluster, run.workload)
        for place, run in enumerate(many)
    ]
    without = Ernest().fit(Profile("p", tuple(noisy)), models={}).predict(cluster=on(BIG, 3))
    found = Ernest().fit(Profile("p", (*noisy, *few)), models={}).predict(cluster=on(BIG, 3))
    assert found.seconds == pytest.approx(1.4 * without.seconds, rel=0.03)
    assert sum(found.phases.values()) == pytest.approx(found.seconds)
    assert found.forecast.log_scale[0] < without.forecast.log_scale[0]
    assert [warning.code for warning in found.warnings] == ["transferred-speed"]
    assert "m.big has 2 runs, too few to fit" in found.warnings[0].text


def test_a_level_is_the_normal_posterior() -> None:
    level = type_effect(np.array([0.3, 0.1]), prior=0.2, noise=0.1, runs=2)
    precision = 1 / 0.2**2 + 2 / 0.1**2
    assert level.shift == pytest.approx((0.4 / 0.1**2) / precision)
    assert level.log_scale == pytest.approx(precision**-0.5)


def test_repetitions_of_one_configuration_say_no_more_of_a_level() -> None:
    """What the curve is off by on another type, it is off by in every repetition."""
    noisy = [
        replace(run, seconds=run.seconds * (1.0 + 0.02 * (-1) ** place))
        for place, run in enumerate(runs_on(SMALL, (1, 2, 4, 6, 8, 10)))
    ]
    other = Run(1.4 * (10.0 + 40.0 / 2), on(BIG, 2), Workload(1.0))
    once, often = (
        Ernest()
        .fit(Profile("p", (*noisy, *[other] * times)), models={})
        .predict(cluster=on(BIG, 3))
        for times in (1, 10)
    )
    assert often.seconds == pytest.approx(once.seconds)
    assert often.forecast.log_scale == pytest.approx(once.forecast.log_scale)
    assert "m.big has 10 runs" in often.warnings[0].text


def test_of_a_job_profile_alone_the_remedy_helps(tmp_path):
    """It said --ran-on and vcpus, neither of which helped where there were no runs."""

    def asked(source):
        return engine.recommend_owned(
            engine.fit(engine.read(source)),
            executor_cores=2, executor_memory_gib=None, max_executors=4, deadline_seconds=600.0,
        )  # fmt: skip

    with pytest.raises(engine.BadInput, match="cannot be compared") as refused:
        asked("optex-als-standalone")
    assert "nodes of m2.xlarge" in (refused.value.remedy or "")
    assert "slots_per_node" in (refused.value.remedy or "")
    text = engine.format_profile(engine.read("optex-als-standalone"))
    stored = tmp_path / "job.yaml"
    stored.write_text(text.replace("m2.xlarge\n", "m2.xlarge\n  slots_per_node: 2\n", 1))
    assert asked(str(stored)).recommended is not None
