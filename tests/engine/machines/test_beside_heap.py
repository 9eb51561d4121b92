"""What is planned beside the heap, and that it reaches layouts, answers, exports and files."""

import json
import math
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from handovers_made import after, handover, words
from hypothesis import given
from hypothesis import strategies as st
from synthetic import catalog_of, offer, profile_on

import engine
from engine.batch import ClusterBatch, with_shape_and_layout
from engine.catalog import InstanceType, MemoryRule
from engine.choosing.candidate_selection import select_candidates
from engine.cluster import LEAST_HEAP_GIB, BesideHeap, Cluster, Layout, Workload
from engine.errors import BadInput
from engine.exports import EXPORTS, Export, render
from engine.machines.beside_heap import (
    CODE,
    planned_beside,
    planned_beside_notices,
    with_overhead_per_core,
)
from engine.memory import (
    default_overhead_gib,
    heap_gib,
    layout_of,
    planned_beside_heap,
    usable_memory_gib,
)
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.sources.formats.profile_file import parse
from engine.sources.formats.profile_text import format_profile

LOG = Path(__file__).parents[2] / "data" / "overhead.zstd"
PLAIN = LOG.with_name("plain.zstd")

amounts = st.one_of(st.none(), st.floats(1 / 1024, 40.0))
besides = st.builds(BesideHeap, amounts, amounts, amounts)


@given(container=st.floats(0.5, 500.0), beside=besides)
def test_the_heap_is_the_largest_that_fits_its_container(
    container: float, beside: BesideHeap
) -> None:
    """By brute force over whole MiB."""

    def fits(mib: float) -> bool:
        heap = mib / 1024.0
        overhead = max(0.1 * heap, 0.375, beside.overhead_gib or 0.0)
        rest = (beside.pyspark_gib or 0.0) + (beside.off_heap_gib or 0.0)
        return heap + overhead + rest <= container

    found = heap_gib(container, beside) * 1024.0
    if found < 1.0:
        assert not fits(1.0 + 1e-6)
    else:
        assert fits(found - 1e-6)
        assert not fits(found + 1e-6)


@given(container=st.floats(0.5, 500.0))
def test_nothing_more_is_sparks_default(container: float) -> None:
    assert heap_gib(container, BesideHeap()) == heap_gib(container)


@given(
    vcpus=st.integers(1, 200),
    gib=st.floats(0.5, 4000.0),
    kind=st.sampled_from(["emr-yarn", "databricks", "yarn", "kubernetes", "standalone", "share"]),
    beside=besides,
)
def test_layouts_leave_each_core_what_it_needs_and_fit_the_node(
    vcpus: int, gib: float, kind: str, beside: BesideHeap
) -> None:
    node, rule = InstanceType("x", vcpus, gib), MemoryRule(kind)
    layout = layout_of(node, rule, beside_per_core=beside)
    if layout is None:
        return
    heap, planned = layout.executor_memory_gib, layout.beside or BesideHeap()
    assert heap >= LEAST_HEAP_GIB
    overhead = planned.overhead_gib
    overhead = default_overhead_gib(heap) if overhead is None else overhead
    parts = (heap, overhead, planned.pyspark_gib or 0.0, planned.off_heap_gib or 0.0)
    assert min(parts) >= 0.0
    assert overhead >= default_overhead_gib(heap)
    cores = layout.executor_cores
    assert overhead >= (beside.overhead_gib or 0.0) * cores * (1 - 1e-12)
    assert parts[2:] == tuple((x or 0.0) * cores for x in (beside.pyspark_gib, beside.off_heap_gib))
    used = layout.executors_per_node * math.fsum(parts)
    assert used <= usable_memory_gib(node, rule) + 1e-9
    without = layout_of(node, rule)
    assert layout.executors_per_node <= without.executors_per_node


@given(vcpus=st.integers(1, 96), gib=st.floats(1.0, 800.0), overhead=st.floats(0.0, 400.0))
def test_less_than_the_default_changes_nothing(vcpus: int, gib: float, overhead: float) -> None:
    node, rule = InstanceType("x", vcpus, gib), MemoryRule("yarn")
    plain = layout_of(node, rule)
    if plain is None or plain.executor_memory_gib is None:
        return
    default = default_overhead_gib(plain.executor_memory_gib)
    asked = BesideHeap(min(overhead, 0.999 * default) / plain.executor_cores)
    assert layout_of(node, rule, beside_per_core=asked) == plain


def run_with(
    beside: BesideHeap | None, *, cores: int = 4, heap: float = 10.0, **changes: Any
) -> Run:
    cluster = replace(
        Cluster.of_executors(executors=4, executor_cores=cores, executor_memory_gib=heap),
        beside=beside,
    )
    given = {"seconds": 600.0, "cluster": cluster, "workload": Workload(1e9), **changes}
    return Run(**given)


def test_the_most_per_core_of_any_run_is_planned() -> None:
    small = run_with(BesideHeap(3.0), cores=4)
    large = run_with(BesideHeap(None, 2.0, 1.0), cores=2)
    plain = run_with(None)
    assert planned_beside(Profile("p", (small, large, plain))) == BesideHeap(None, 1.0, 0.5)
    assert planned_beside(Profile("p", (small, plain))) == BesideHeap(0.75)
    assert planned_beside(Profile("p", (plain,))) is None
    assert planned_beside(Profile("p")) is None
    broken = replace(large, complete=False)
    assert planned_beside(Profile("p", (small, broken))) == BesideHeap(0.75)
    assert planned_beside(Profile("p", (broken,))) == BesideHeap(None, 1.0, 0.5)


def test_runs_that_do_not_say_their_cores_or_heap_tell_nothing() -> None:
    told = run_with(BesideHeap(3.0))
    for silent in ({"executor_cores": None}, {"executor_memory_gib": None}):
        run = replace(told, cluster=replace(told.cluster, **silent))
        assert planned_beside(Profile("p", (run,))) is None


def test_the_users_word_takes_the_place_of_the_logs() -> None:
    said = replace(run_with(BesideHeap(3.0)), notices=(Notice(CODE, "", ""),))
    profile = Profile("p", (said,))
    assert [notice.code for notice in planned_beside_notices(profile)] == [CODE]
    for gib, planned in ((2.0, BesideHeap(2.0)), (0.0, None)):
        asked = with_overhead_per_core(profile, gib)
        assert planned_beside(asked) == planned
        assert planned_beside_notices(asked) == []
        assert asked.runs[0].notices == ()


OFFERS = (
    offer("c", 0.1, memory_gib=8.0),
    offer("m", 0.2, memory_gib=16.0),
    offer("r", 0.3, memory_gib=32.0),
)
CATALOG = catalog_of(*OFFERS)


def test_candidates_are_laid_out_with_it_and_say_why_one_holds_no_executor() -> None:
    found = select_candidates(CATALOG, profile=Profile("p", (run_with(BesideHeap(8.0)),)))
    assert found.names == ("m", "r")
    heaps = [layout.executor_memory_gib for layout in found.layouts]
    assert heaps == pytest.approx([0.8 * 16 - 8.0, 0.8 * 32 - 8.0])
    assert {layout.beside for layout in found.layouts} == {BesideHeap(8.0)}
    (rejected,) = found.rejected
    assert rejected.reason == "holds no executor (8 GiB, 2 GiB per core beside the heap)"
    assert [notice.code for notice in found.notices] == [CODE]
    with pytest.raises(BadInput, match="2 GiB per core beside the heap") as caught:
        select_candidates(
            CATALOG, profile=Profile("p", (run_with(BesideHeap(8.0)),)), instances=["c"]
        )
    assert str(caught.value.remedy).startswith("name types with more memory, or '*'")


def test_single_predictions_get_the_heap_of_the_candidates() -> None:
    profile = Profile("p", (run_with(BesideHeap(8.0)),))
    found = select_candidates(CATALOG, profile=profile)
    clusters = [
        Cluster.of_nodes(instance_type=name, nodes=3, catalog=CATALOG) for name in found.names
    ]
    heaps = ClusterBatch.of(clusters, profile).executor_memory_gib
    assert list(heaps) == [layout.executor_memory_gib for layout in found.layouts]


def measured(beside: BesideHeap | None) -> Profile:
    """Four executors of 4 cores and 10 GiB on two nodes of type r."""
    cluster = Cluster.of_nodes(instance_type="r", nodes=2, catalog=CATALOG)
    cluster = cluster.with_layout(Layout(2, 4, 10.0, beside))
    return Profile("p", (Run(seconds=60.0, cluster=cluster, workload=Workload(1e9)),))


def test_a_measured_type_keeps_what_its_executors_had() -> None:
    found = select_candidates(CATALOG, profile=measured(BesideHeap(None, 3.0)), instances=["r"])
    assert found.layouts == (Layout(2, 4, 10.0, BesideHeap(None, 3.0)),)
    assert select_candidates(CATALOG, profile=measured(None), instances=["r"]).layouts == (
        Layout(2, 4, 10.0),
    )


def test_the_users_word_shares_out_the_container_of_a_measured_type_anew() -> None:
    """10 GiB, 1 GiB of default overhead and 3 GiB for Python."""
    one = Cluster.of_nodes(instance_type="r", nodes=1, catalog=CATALOG)
    asked = with_overhead_per_core(measured(BesideHeap(None, 3.0)), 1.5)
    laid = with_shape_and_layout(one, asked)
    assert (laid.executors, laid.executor_memory_gib, laid.beside) == (2, 8.0, BesideHeap(6.0))
    plain = with_shape_and_layout(one, with_overhead_per_core(measured(BesideHeap(None, 3.0)), 0.0))
    assert plain.executor_memory_gib == pytest.approx(14.0 / 1.1)
    assert plain.beside is None
    most = with_shape_and_layout(one, with_overhead_per_core(measured(None), 4.0))
    assert (most.executors, most.beside) == (1, BesideHeap(16.0))


def mib_of(settings: dict[str, str]) -> dict[str, int]:
    """Amounts of memory of an executor, in MiB, as an export sets them."""
    names = {
        "heap": "spark.executor.memory",
        "overhead": "spark.executor.memoryOverhead",
        "python": "spark.executor.pyspark.memory",
        "off-heap": "spark.memory.offHeap.size",
    }
    return {name: int(settings[key][:-1]) for name, key in names.items() if key in settings}


def settings_in(target: str, text: str) -> dict[str, str]:
    """What an export sets, read back as its target reads it."""
    if target == "spark-defaults":
        lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
        return dict(lines)
    if target == "kubernetes":
        spec = yaml.safe_load(text)["spec"]
        own = {f"spark.executor.{key}": str(value) for key, value in spec["executor"].items()}
        return own | spec.get("sparkConf", {})
    said = words(text) if target != "terraform" else []
    if target == "spark-submit":
        confs = [said[place + 1] for place, word in enumerate(said) if word == "--conf"]
        found = dict(conf.split("=", 1) for conf in confs)
        return found | {"spark.executor.memory": after(said, "--executor-memory")}
    if target == "emr":
        configurations = json.loads(after(said, "--configurations"))
        return dict(configurations[-1]["Properties"])
    if target == "databricks":
        return dict(json.loads(after(said, "--json"))["spark_conf"])
    if target == "dataproc":
        pairs = after(said, "--properties").split(",")
        return dict(pair.removeprefix("spark:").split("=", 1) for pair in pairs)
    return dict(re.findall(r"\"?(?:spark:)?(spark\.[\w.]+)\"?\s*[=:]\s*\"([^\"]*)\"", text))


TARGETS = ("spark-submit", "spark-defaults", "emr", "databricks", "kubernetes", "dataproc")


@pytest.mark.parametrize("target", TARGETS)
def test_exports_set_each_kind_of_memory_by_itself(target: str) -> None:
    layout = Layout(2, 4, 14.0, BesideHeap(6.0, 3.0, 2.0))
    provider = "gcp" if target == "dataproc" else "aws"
    settings = settings_in(target, render(handover(layout=layout, provider=provider), to=target))
    assert mib_of(settings) == {
        "heap": 14336, "overhead": 6144, "python": 3072, "off-heap": 2048
    }  # fmt: skip
    assert settings["spark.memory.offHeap.enabled"] == "true"
    plain = settings_in(
        target, render(handover(layout=Layout(2, 4, 14.0), provider=provider), to=target)
    )
    assert mib_of(plain) == {"heap": 14336, "overhead": 1433}
    assert not any("offHeap" in key for key in plain)


def test_terraform_has_them_for_every_provider() -> None:
    layout = Layout(2, 4, 14.0, BesideHeap(6.0, 3.0, 2.0))
    for provider in ("aws", "gcp"):
        text = render(handover(layout=layout, provider=provider), to="terraform")
        for amount in ("14336m", "6144m", "3072m", "2048m"):
            assert amount in text


@pytest.mark.parametrize("target", EXPORTS, ids=lambda target: target.name)
def test_a_target_that_sets_the_heap_sets_what_is_beside_it(target: Export) -> None:
    """Whatever its text looks like, for each provider that it can be for."""
    layout = Layout(2, 4, 14.0, BesideHeap(6.0, 3.0, 2.0))
    texts = []
    for provider in ("aws", "azure", "gcp"):
        with suppress(BadInput):
            texts.append(render(handover(layout=layout, provider=provider), to=target.name))
    assert texts
    for text in texts:
        beside = [amount for amount in ("6144", "3072", "2048") if amount in text]
        assert "14336" not in text or len(beside) == 3


@given(container=st.floats(1.5, 500.0), beside=besides, cores=st.integers(1, 8))
def test_what_is_exported_is_no_more_than_the_container(
    container: float, beside: BesideHeap, cores: int
) -> None:
    per_core = beside.times(1.0 / cores)
    heap = heap_gib(container, per_core.times(cores))
    if heap < LEAST_HEAP_GIB:
        return
    layout = Layout(1, cores, heap, planned_beside_heap(heap, per_core.times(cores)))
    found = mib_of(
        settings_in("spark-defaults", render(handover(layout=layout), to="spark-defaults"))
    )
    assert sum(found.values()) <= container * 1024.0 + 1e-6
    assert sum(found.values()) > container * 1024.0 - 6.0
    assert min(found.values()) >= 0
    assert found["overhead"] >= int(max(0.1 * found["heap"], 384)) - 1


def recommended(profile: Profile, **options: Any) -> engine.Recommendation:
    fitted = engine.fit(profile)
    catalog = engine.load_catalog("aws")
    return engine.recommend(
        fitted, catalog=catalog, deadline_seconds=3600.0, max_nodes=8, **options
    )


def test_from_a_real_log_to_what_is_pasted() -> None:
    """Executors of one core with 512 MiB of heap, 2 GiB, 512 MiB and 64 MiB beside it."""
    profile = engine.read(str(LOG))
    found = recommended(profile)
    assert found.recommended is not None
    layout = found.to_dict()["recommended"]["layout"]
    assert layout["executor_cores"] == 4
    assert layout["executor_memory_overhead_gib"] >= 8.0
    assert (layout["executor_pyspark_memory_gib"], layout["executor_off_heap_gib"]) == (2.0, 0.25)
    assert [notice.code for notice in found.warnings].count(CODE) == 1
    assert any("per core beside the heap" in each.reason for each in found.rejected)
    catalog = engine.load_catalog("aws")
    text = engine.export(found, to="spark-defaults", profile=profile, catalog=catalog)
    assert mib_of(settings_in("spark-defaults", text))["python"] == 2048
    assert f"beside the heap of each executor, as executors of the logs had [{CODE}]" in text
    mixed = recommended(profile, mix=2)
    assert mixed.recommended.layout.beside


def test_a_log_with_the_default_plans_the_default() -> None:
    profile = engine.read(str(PLAIN))
    assert planned_beside(profile) is None
    found = recommended(profile)
    layout = found.recommended.layout
    assert layout.beside is None
    told = found.to_dict()["recommended"]["layout"]
    assert told["executor_memory_overhead_gib"] == default_overhead_gib(told["executor_memory_gib"])
    assert told["executor_pyspark_memory_gib"] is told["executor_off_heap_gib"] is None


def test_a_cluster_of_ones_own_gets_it_beside_the_given_heap() -> None:
    found = engine.recommend_owned(
        engine.fit(engine.read(str(LOG))),
        executor_cores=2, executor_memory_gib=3.0, max_executors=8, deadline_seconds=3600.0,
    )  # fmt: skip
    assert found.recommended.layout == Layout(1, 2, 3.0, BesideHeap(4.0, 1.0, 0.125))
    assert CODE in [notice.code for notice in found.warnings]


def test_profile_files_keep_it() -> None:
    profile = engine.read(str(LOG))
    text = format_profile(profile)
    again = parse(text, "p.yaml")
    assert again.runs[0].cluster.beside == BesideHeap(2.0, 0.5, 0.0625)
    assert again == replace(profile, resources=None)
    assert format_profile(again) == text
    assert "overhead_gib" not in format_profile(engine.read(str(PLAIN)))


@pytest.mark.parametrize("value", ["0", "-1", ".inf", "much"])
def test_a_wrong_amount_in_a_profile_file_is_named(value: str) -> None:
    text = format_profile(engine.read(str(LOG))).replace(
        "executor_memory_overhead_gib: 2", f"executor_memory_overhead_gib: {value}"
    )
    with pytest.raises(BadInput, match="executor_memory_overhead_gib") as caught:
        parse(text, "p.yaml")
    assert str(caught.value.where).startswith("p.yaml:")


def test_a_profile_written_by_hand_is_labelled_too() -> None:
    profile = Profile("p", (run_with(BesideHeap(8.0)),))
    (notice,) = select_candidates(CATALOG, profile=profile).notices
    assert "each executor had 8 GiB beside its heap of 10 GiB (overhead)" in notice.text
    assert profile_on().runs[0].cluster.beside is None
