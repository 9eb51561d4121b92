"""A driver in cluster mode, which YARN places on a worker beside or in place of executors."""

import json
import math
import re
from dataclasses import replace

import pytest
from handovers_made import after, words

import engine
from engine import load_catalog
from engine.batch import with_shape_and_layout
from engine.cluster import Layout
from engine.errors import BadInput
from engine.machines.driver_place import CODE, driver_place_notice
from engine.machines.node_memory import yarn_memory_gib
from engine.machines.platforms import on_platform
from engine.memory import layout_of
from engine.runs.cluster_mode import worker_driver_gib
from engine.sources.logs.kept_settings import kept_config

STEP_MIB = {"emr": 32, "yarn": 1024, "dataproc": 1}
"""`yarn.scheduler.minimum-allocation-mb`."""

ON_YARN = {"spark.master": "yarn", "spark.submit.deployMode": "cluster"}


def logged(**config: str) -> engine.Profile:
    """A bundled log, as if it had had these settings."""
    read = engine.read("nightly-features", ran_on="m5.xlarge")
    (run,) = read.runs
    return replace(read, runs=(replace(run, config={**run.config, **config}),))


def given(asked_mib: float, step: int) -> int:
    """MiB of the container that YARN gives for so many."""
    return math.ceil(asked_mib / step) * step


def started(layout: Layout, offered_mib: int, *, nodes: int, driver: int, step: int) -> int | None:
    """Executors that a scheduler by memory places after the driver, whose container has so many
    MiB; None where it refuses that."""
    heap = layout.executor_memory_gib * 1024
    each = given(heap + max(384, heap // 10), step)
    if driver > offered_mib:
        return None
    free = [offered_mib - driver, *[offered_mib] * (nodes - 1)]
    return sum(min(layout.executors_per_node, left // each) for left in free)


@pytest.mark.parametrize("driver_mib", [512, 1024, 4096, 16384])
@pytest.mark.parametrize(
    ("name", "platform"), [("aws", "emr"), ("aws", "yarn"), ("gcp", "dataproc")]
)
def test_the_executors_that_do_not_start_are_those_that_a_scheduler_has_no_room_for(
    name: str, platform: str, driver_mib: int
) -> None:
    catalog, counted = on_platform(load_catalog(name), platform), set()
    step = STEP_MIB[platform]
    driver = given(driver_mib + max(384, driver_mib // 10), step)
    for offer in list(catalog.offers.values())[::7]:
        layout = layout_of(offer.instance, catalog.memory_rule)
        if layout is None:
            continue
        # Whole MiB, as exports write it.
        heap_gib = math.floor(layout.executor_memory_gib * 1024) / 1024
        layout = replace(layout, executor_memory_gib=heap_gib)
        for nodes in (1, 5):
            offered_gib = yarn_memory_gib(
                offer.instance, catalog.memory_rule, layout,
                driver_gib=driver / 1024, only_node=nodes == 1,
            )  # fmt: skip
            notice = driver_place_notice(
                offer.instance, layout, catalog, nodes=nodes, heap_gib=driver_mib / 1024
            )
            there = started(
                layout, math.floor(1024 * offered_gib), nodes=nodes, driver=driver, step=step
            )
            planned = nodes * layout.executors_per_node
            if there is None:
                assert "refuses the job" in notice.text, offer.instance.name
            elif there == planned:
                assert notice is None, offer.instance.name
            elif there == 0:
                assert "no executor has room beside it" in notice.text, offer.instance.name
            else:
                said = f"the place of {planned - there} of {planned} executors"
                assert said in notice.text, (offer.instance.name, notice.text)
            counted.add("refused" if there is None else "all" if there == planned else there > 0)
    assert {512: "all", 16384: "refused"}.get(driver_mib, True) in counted


@pytest.mark.parametrize(
    ("config", "gib"),
    [
        (ON_YARN, 1.0),
        ({**ON_YARN, "spark.driver.memory": "3g"}, 3.0),
        ({"spark.master": "yarn-cluster"}, 1.0),
        ({"spark.master": "yarn"}, None),
        ({"spark.master": "k8s", "spark.submit.deployMode": "cluster"}, None),
    ],
)
def test_only_on_yarn_does_a_driver_take_what_yarn_gives_out(
    config: dict[str, str], gib: float | None
) -> None:
    assert worker_driver_gib(logged(**config)) == gib


def test_runs_of_which_one_had_its_driver_elsewhere_do_not_say_where_it_will_be() -> None:
    in_cluster_mode, other = logged(**ON_YARN), logged(**{"spark.master": "yarn"})
    both = replace(in_cluster_mode, runs=(*in_cluster_mode.runs, *other.runs))
    assert worker_driver_gib(both) is None


def test_a_log_keeps_cluster_mode_and_not_the_default() -> None:
    other = {"spark.master": "yarn"}
    assert kept_config({**other, "spark.submit.deployMode": "client"}) == other
    assert kept_config(ON_YARN) == ON_YARN


def answer(profile: engine.Profile, platform: str | None, nodes: int) -> engine.Recommendation:
    return engine.recommend(
        engine.fit(profile), catalog=on_platform(load_catalog("aws"), platform),
        objective="cost", instances=["c6a.xlarge"], max_nodes=nodes,
        limits=engine.Limits(min_nodes=nodes),
    )  # fmt: skip


ONE_OF_THREE = "it takes the place of 1 of 3 executors"


@pytest.mark.parametrize(
    ("platform", "nodes", "driver", "text"),
    [
        (None, 1, "1g", None),
        (None, 3, "1g", None),
        (None, 1, "4g", None),
        # Room for it is room for another executor, which YARN is kept from placing elsewhere.
        (None, 3, "4g", ONE_OF_THREE),
        ("kubernetes", 3, "4g", None),
        ("standalone", 3, "4g", None),
    ],
)
def test_an_answer_says_which_executors_the_driver_of_the_logs_displaces(
    platform: str | None, nodes: int, driver: str, text: str | None
) -> None:
    memory = {"spark.driver.memory": driver}
    found = answer(logged(**ON_YARN, **memory), platform, nodes).recommended
    said = [notice for notice in found.warnings if notice.code == CODE]
    assert [text in notice.text for notice in said] == ([] if text is None else [True])
    if text is not None:
        assert found.warnings[0].code == CODE, "before what makes the answer only doubtful"
    client = answer(logged(**{"spark.master": "yarn"}, **memory), platform, nodes).recommended
    assert CODE not in [notice.code for notice in client.warnings]
    if platform is not None:
        assert client.layout == found.layout


def test_planned_executors_have_room_beside_the_driver() -> None:
    """On the only node always, on several where it is no larger than one of them."""
    profile = logged(**ON_YARN, **{"spark.driver.memory": "2g"})
    for platform, step in (("emr", 32), ("yarn", 1024)):
        catalog, placed = on_platform(load_catalog("aws"), platform), 0
        driver = given(2048 + 384, step)
        for name, offer in list(catalog.offers.items())[::9]:
            one = engine.Cluster.of_nodes(instance_type=name, nodes=1, catalog=catalog)
            laid = with_shape_and_layout(one, profile)
            if laid.executors is None or laid.executor_memory_gib is None:
                continue
            heap = math.floor(laid.executor_memory_gib * 1024)
            layout = Layout(laid.executors, laid.executor_cores, heap / 1024)
            for nodes in (1, 4):
                if nodes > 1 and given(heap + max(384, heap // 10), step) < driver + step:
                    continue
                offered_gib = yarn_memory_gib(
                    offer.instance, catalog.memory_rule, layout,
                    driver_gib=driver / 1024, only_node=nodes == 1,
                )  # fmt: skip
                there = started(
                    layout, math.floor(1024 * offered_gib), nodes=nodes, driver=driver, step=step
                )
                assert there == nodes * laid.executors, (name, nodes)
                placed += 1
        assert placed > 50


def test_a_type_that_holds_no_executor_beside_the_driver_says_so() -> None:
    profile, catalog = logged(**ON_YARN, **{"spark.driver.memory": "9g"}), load_catalog("aws")
    small = engine.Cluster.of_nodes(instance_type="c6a.xlarge", nodes=2, catalog=catalog)
    why = r"holds no executor \(8 GiB, 9.9 GiB for the driver in cluster mode\)"
    with pytest.raises(BadInput, match=rf"c6a.xlarge {why}"):
        engine.fit(profile).predict(cluster=small)
    found = engine.recommend(
        engine.fit(profile), catalog=catalog, objective="cost", instances=["c6a.*"]
    )
    assert found.recommended is not None
    rejected = {each.instance: each.reason for each in found.rejected}
    assert re.match(why, rejected["c6a.xlarge"])


def test_executors_that_do_not_fit_anyway_are_not_laid_to_the_driver() -> None:
    catalog = load_catalog("aws")
    instance = catalog.offer("m5.xlarge").instance  # of 16 GiB EMR gives YARN 12
    for heap_gib, code in ((8.0, CODE), (20.0, None)):
        layout = Layout(1, 4, heap_gib)
        found = driver_place_notice(instance, layout, catalog, nodes=2, heap_gib=4.0)
        assert (found.code if found else None) == code


TARGETS = {"emr": None, "terraform": None, "spark-submit": "yarn", "spark-defaults": None}


@pytest.mark.parametrize(("to", "platform"), TARGETS.items())
def test_a_text_for_yarn_says_which_mode_it_is_for(to: str, platform: str | None) -> None:
    catalog = on_platform(load_catalog("aws"), platform)
    for profile, client in ((logged(), True), (logged(**ON_YARN), False)):
        found = answer(profile, platform, 3)
        text = engine.export(found, to=to, profile=profile, catalog=catalog)
        assert ("# client mode assumed" in text) is client
        assert ("# cluster mode assumed, as in the logs: the driver takes" in text) is not client


@pytest.mark.parametrize(("mode", "said"), [("cluster", False), ("client", True)])
def test_a_driver_on_a_worker_does_not_have_to_fit_the_master(mode: str, said: bool) -> None:
    config = {**ON_YARN, "spark.submit.deployMode": mode, "spark.driver.memory": "20g"}
    catalog, profile = load_catalog("aws"), logged(**config)
    found = engine.recommend(
        engine.fit(profile), catalog=catalog, objective="cost", instances=["r5.2xlarge"]
    )
    text = engine.export(found, to="emr", profile=profile, catalog=catalog)
    assert ("[driver-does-not-fit]" in text) is said


@pytest.mark.parametrize(
    ("to", "platform"),
    [("kubernetes", None), ("databricks", None), ("spark-submit", "standalone")],
)
def test_a_text_for_others_does_not(to: str, platform: str | None) -> None:
    catalog, profile = on_platform(load_catalog("aws"), platform), logged()
    found = answer(profile, platform, 3)
    assert "client mode" not in engine.export(found, to=to, profile=profile, catalog=catalog)


@pytest.mark.parametrize(
    ("driver", "nodes", "mib"),
    [("1g", 1, 4224), ("1g", 3, 4192), ("6g", 1, 9600), ("6g", 3, 6784), ("20g", 3, 12288)],
)
def test_yarn_does_not_refuse_a_driver_that_the_node_has_room_for(
    driver: str, nodes: int, mib: int
) -> None:
    """The executors of the log are of 1408 MiB, two on a node, and a third is kept out: the limit
    that does so was less than a larger driver needs. Of 16 GiB EMR gives YARN 12."""
    profile = logged(**ON_YARN, **{"spark.driver.memory": driver})
    catalog = load_catalog("aws")
    found = engine.recommend(
        engine.fit(profile), catalog=catalog, objective="cost", instances=["m5.xlarge"],
        max_nodes=nodes, limits=engine.Limits(min_nodes=nodes),
    )  # fmt: skip
    text = engine.export(found, to="emr", profile=profile, catalog=catalog)
    yarn, _ = json.loads(after(words(text), "--configurations"))
    assert yarn["Properties"]["yarn.nodemanager.resource.memory-mb"] == str(mib)
    assert ("refuses the job" in text) is (driver == "20g")
