"""A named composition: the model's own prediction for one type, the mix law for several."""

import math
from dataclasses import replace

import pytest
import synthetic
from two_types import CATALOG, TODAY, best, fitted, spot

import engine
from engine.cost import billed_seconds
from engine.mixing.mix_law import MixLaw
from engine.optimiser import surface_of


def composed(nodes: dict[str, int], model: str = "ernest-extended", **more) -> engine.Composed:
    catalog = more.pop("catalog", CATALOG)
    return engine.predict_composition(
        fitted(model), composition=nodes, catalog=catalog, today=TODAY, **more
    )


@pytest.mark.parametrize("name", ["small", "big"])
@pytest.mark.parametrize("nodes", [1, 3, 17])
def test_one_type_is_the_models_own_prediction(name: str, nodes: int) -> None:
    model = fitted()
    cluster = engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=CATALOG)
    alone = model.predict(cluster=cluster, confidence=0.8)
    found = composed({name: nodes}, confidence=0.8)
    assert found.prediction.seconds == pytest.approx(alone.seconds, rel=1e-12)
    assert (found.prediction.low, found.prediction.high) == pytest.approx((alone.low, alone.high))
    assert found.choice.seconds == found.prediction.seconds
    rate = {"small": 0.20, "big": 1.50}[name]
    billed = billed_seconds(alone.seconds, CATALOG.billing)
    assert found.choice.cost_usd == pytest.approx(
        (nodes * rate + 0.20) * 1.25 * float(billed) / 3600.0
    )


@pytest.mark.parametrize("nodes", [{"big": 2}, {"big": 2, "small": 5}])
def test_other_rules_of_billing_change_the_cost_alone(nodes: dict[str, int]) -> None:
    usual = composed(nodes).choice
    other = composed(nodes, billing=replace(CATALOG.billing, surcharge_fraction=0.0)).choice
    assert other.seconds == usual.seconds
    assert usual.cost_usd == pytest.approx(1.25 * other.cost_usd)


@pytest.mark.parametrize("nodes", [{"big": 2}, {"big": 2, "small": 5}])
def test_a_time_without_an_interval_says_so(nodes: dict[str, int]) -> None:
    unsure = synthetic.model(lambda name, count: 600.0 / count, log_scale=math.nan)
    found = engine.predict_composition(
        unsure, composition=nodes, catalog=CATALOG, today=TODAY
    ).prediction
    assert (found.low, found.high) == (None, None)
    assert "no-interval" in {notice.code for notice in found.warnings}


def test_unlike_nodes_are_the_shares_of_each_type_at_the_same_capacity() -> None:
    model, mix = fitted(), {"big": 2, "small": 5}
    found = composed(mix)
    cores = 2 * 32 + 5 * 4

    def alone(name: str, per_node: int) -> float:
        low, rest = divmod(cores, per_node)
        times = []
        for nodes in (low, low + 1):
            cluster = engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=CATALOG)
            times.append(model.predict(cluster=cluster).seconds)
        # Exact for a + b / n between whole counts.
        part = (1.0 / low - per_node / cores) / (1.0 / low - 1.0 / (low + 1)) if rest else 0.0
        return times[0] + part * (times[1] - times[0])

    expected = (64 * alone("big", 32) + 20 * alone("small", 4)) / cores
    assert found.prediction.seconds == pytest.approx(expected, rel=1e-9)
    assert found.prediction.phases is None
    assert found.prediction.low < expected < found.prediction.high
    assert "mixed-cluster" in {notice.code for notice in found.prediction.warnings}
    assert found.choice.cost_usd == pytest.approx(sum(found.choice.cost.parts.values()))


def of_architectures(**arch: str | None) -> engine.Catalog:
    offers = {
        name: replace(offer, instance=replace(offer.instance, arch=arch[name]))
        for name, offer in CATALOG.offers.items()
    }
    return replace(CATALOG, offers=offers)


def test_nodes_of_two_architectures_say_what_they_need() -> None:
    """A mix of Graviton and Intel nodes came without a word on libraries and images."""
    catalog = of_architectures(big="x86_64", small="arm64")
    (notice,) = [
        notice
        for notice in composed({"big": 2, "small": 5}, catalog=catalog).choice.warnings
        if notice.code == "mixed-architectures"
    ]
    assert notice.text.startswith("small is arm64 and big is x86_64: ")
    for nodes, same in [
        ({"big": 2}, catalog),
        ({"big": 2, "small": 5}, CATALOG),
        ({"big": 2, "small": 5}, of_architectures(big="x86_64", small=None)),
    ]:
        codes = {notice.code for notice in composed(nodes, catalog=same).choice.warnings}
        assert "mixed-architectures" not in codes


def test_a_recommended_mix_of_two_architectures_says_so() -> None:
    answer = engine.recommend(
        fitted(), catalog=of_architectures(big="x86_64", small="arm64"), deadline_seconds=420.0,
        instances=["*"], max_nodes=40, mix=2, today=TODAY, confidence=0.5,
    )  # fmt: skip
    assert len(answer.recommended.composition) == 2
    assert "mixed-architectures" in {notice.code for notice in answer.recommended.warnings}


def test_what_the_optimiser_recommends_is_predicted_alike() -> None:
    chosen = best(420.0, 2).recommended
    again = composed(dict(chosen.composition), confidence=0.5, deadline_seconds=420.0).choice
    assert again.seconds == pytest.approx(chosen.seconds, rel=1e-3)
    assert again.cost_usd == pytest.approx(chosen.cost_usd, rel=5e-3)
    assert again.p_deadline == pytest.approx(chosen.p_deadline, abs=1e-2)


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ({"huge": 2}, "unknown instance type 'huge'"),
        ({"small": 0}, "from 1 to"),
        ({"small": 1.5}, "from 1 to"),
        ({"small": True}, "from 1 to"),
        ({"small": "two"}, "from 1 to"),
        ({"small": math.nan}, "from 1 to"),
        ({"small": math.inf}, "from 1 to"),
        ({"small": 1_000_001}, "from 1 to 1,000,000"),
        ({}, "is empty"),
    ],
)
def test_what_is_no_composition_is_said_in_one_line(nodes: dict[str, int], said: str) -> None:
    with pytest.raises(engine.BadInput) as caught:
        composed(nodes)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_spot_without_a_spot_price_is_refused() -> None:
    with pytest.raises(engine.BadInput, match="big has no spot price"):
        composed({"big": 2}, spot=True)


@pytest.mark.parametrize(
    ("interruption", "times", "told"),
    [("5-10%", 50.0, True), ("5-10%", 1.0, True), (None, 50.0, False)],
)
def test_interruptions_are_a_phase_so_that_phases_sum_to_the_time(
    interruption: str | None, times: float, told: bool
) -> None:
    """It was one of 0 s where the catalog does not say how often nodes are interrupted, and none
    for a short job, of whose time it was left out."""
    offers = {"small": spot("small", 4, 0.20, interruption)}
    workload = fitted().profile.reference_workload.times(times)
    catalog = replace(CATALOG, offers=offers)
    found = composed({"small": 3}, catalog=catalog, spot=True, workload=workload)
    phases = found.prediction.phases
    assert ("interruptions" in phases) is told
    assert sum(phases.values()) == pytest.approx(found.prediction.seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("mix", "slow"),
    [({"c7a.xlarge": 2, "m5.2xlarge": 1}, 2), ({"c7a.xlarge": 4, "m5.2xlarge": 2}, 4)],
)
def test_a_faster_node_in_place_of_a_slow_one_is_never_slower(
    mix: dict[str, int], slow: int
) -> None:
    """As many slots. ALS waits for its driver half of the time: all of it was stretched as if it
    waited for the slowest cores, to more than these take alone."""
    model = engine.fit(engine.read("movie-als-small", "movie-als-large", ran_on="r5.xlarge"))
    found = [
        engine.predict_composition(model, composition=nodes, catalog=engine.load_catalog("aws"))
        for nodes in (mix, {"m5.2xlarge": slow})
    ]
    assert found[0].choice.seconds <= found[1].choice.seconds * (1.0 + 1e-9)
    assert found[0].choice.seconds == found[0].prediction.seconds


def test_the_last_wave_counts_the_cpus_of_tasks() -> None:
    """`spark.task.cpus` of 2: half as many tasks fill the slots, and each holds two of them."""
    profile = engine.read("movie-als-small", ran_on="r5.xlarge")
    run = profile.largest_run
    wide = replace(
        profile,
        runs=(replace(run, stages=tuple(replace(stage, task_cpus=2) for stage in run.stages)),),
    )

    def task_cores(of: engine.Profile) -> list[float]:
        model, catalog = engine.fit(of), engine.load_catalog("aws")
        surface = surface_of(model, catalog, instances=["m5.xlarge"], max_nodes=3)
        return list(MixLaw.of(surface).task_cores)

    assert task_cores(wide) == [2.0 * cores for cores in task_cores(profile)]
