"""Speed on types that were not measured, and sizes of one family, which names tell."""

import math
from collections import defaultdict
from dataclasses import replace
from itertools import permutations

import pytest
from synthetic import catalog_of, offer, profile_on

from engine import list_catalogs, load_catalog
from engine.catalog import InstanceType
from engine.cluster import Workload
from engine.given_profiles import OptexProfile
from engine.machines.transfer import (
    SPREAD_BETWEEN_CATALOGS,
    SPREAD_NO_SCORE,
    SPREAD_OF_SIZES,
    SPREAD_TRANSFERRED,
    SPREAD_UNKNOWN_SOURCE,
    Speed,
    family_of,
    measured_instance_type,
    same_family,
    speed_of,
    transfer_notice,
)
from engine.profile import Profile

CATALOG = catalog_of(
    offer("slow", 1.0, cpu_score=40.0, cpu_benchmark="coremark"),
    offer("fast", 1.0, vcpus=8, cpu_score=120.0, cpu_benchmark="coremark"),
    offer("unscored", 1.0),
)
FAST = CATALOG.offer("fast").instance


def elsewhere(score: float | None, benchmark: str | None) -> InstanceType:
    return InstanceType("elsewhere", 2.0, 8.0, cpu_score=score, cpu_benchmark=benchmark)


def test_scores_of_one_benchmark_compare_per_vcpu() -> None:
    speed = speed_of(FAST, CATALOG.offer("slow").instance, CATALOG)
    assert (speed.relative, speed.log_scale) == (1.5, SPREAD_TRANSFERRED)


def test_scores_from_another_catalog_compare_with_more_doubt() -> None:
    speed = speed_of(FAST, elsewhere(30.0, "coremark"), CATALOG)
    assert (speed.relative, speed.log_scale) == (1.0, SPREAD_BETWEEN_CATALOGS)
    assert speed.code == "transferred-speed"


@pytest.mark.parametrize(
    "source", [elsewhere(30.0, "passmark"), elsewhere(30.0, None), elsewhere(None, None)]
)
def test_scores_of_different_benchmarks_are_never_divided(source: InstanceType) -> None:
    speed = speed_of(FAST, source, CATALOG)
    assert (speed.relative, speed.log_scale, speed.code) == (1.0, SPREAD_NO_SCORE, "no-cpu-score")


@pytest.mark.parametrize("catalog", [CATALOG, None])
def test_a_source_that_names_its_benchmark_but_no_score_is_not_divided_by(catalog: object) -> None:
    speed = speed_of(FAST, elsewhere(None, "coremark"), catalog)
    assert (speed.relative, speed.log_scale, speed.code) == (1.0, SPREAD_NO_SCORE, "no-cpu-score")


def test_what_is_not_known_of_a_machine_is_more_doubt() -> None:
    """0.25 is documented; another campaign of measuring adds to it, and no score is the worst."""
    assert SPREAD_TRANSFERRED == 0.25
    assert SPREAD_TRANSFERRED < SPREAD_BETWEEN_CATALOGS < SPREAD_NO_SCORE
    assert SPREAD_BETWEEN_CATALOGS < SPREAD_UNKNOWN_SOURCE <= 0.45
    assert SPREAD_NO_SCORE <= 0.45


@pytest.mark.parametrize("scores", [(40.0, 120.0), (None, None)])
def test_a_size_of_the_family_has_the_same_cores(scores: tuple[float | None, float | None]) -> None:
    """Whatever the scores of either: they differ by chance, or are not known."""
    one, other = (
        InstanceType(f"m5.{size}", 4.0, 16.0, cpu_score=score, cpu_benchmark="coremark")
        for size, score in zip(("xlarge", "4xlarge"), scores, strict=True)
    )
    speed = speed_of(other, one, CATALOG)
    assert speed == Speed(1.0, SPREAD_OF_SIZES, "transferred-speed", "m5.xlarge")
    assert 0.0 < SPREAD_OF_SIZES < SPREAD_TRANSFERRED
    assert transfer_notice(speed, other).text == (
        "m5.4xlarge was not measured: its vCPUs are taken to be as fast as those of m5.xlarge, "
        "another size of its family"
    )


def test_types_without_a_benchmark_compare_without_a_catalog() -> None:
    """Nothing to look up in: numbers of the same, unnamed, benchmark."""
    one, other = (InstanceType(name, 4.0, 16.0, cpu_score=40.0) for name in ("one", "other"))
    assert speed_of(one, other, None) == Speed(1.0, SPREAD_TRANSFERRED, "transferred-speed")


def test_a_target_without_a_score_is_as_fast_per_vcpu_and_says_so() -> None:
    target = CATALOG.offer("unscored").instance
    speed = speed_of(target, FAST, CATALOG)
    notice = transfer_notice(speed, target)
    assert speed.relative == 1.0
    assert notice.code == "no-cpu-score"
    assert notice.text.startswith("no CPU score compares unscored with the measured type")


def test_a_profile_that_does_not_name_the_benchmark_is_helped_by_the_catalog() -> None:
    """Profiles written before scores named their benchmark hold the same numbers."""
    old = InstanceType("slow", 4.0, 16.0, cpu_score=40.0)
    assert speed_of(FAST, old, CATALOG).code == "transferred-speed"


def test_speeds_there_and_back_and_over_a_third_type_agree() -> None:
    types = [
        InstanceType(name, vcpus, 8.0, cpu_score=score, cpu_benchmark="coremark")
        for name, vcpus, score in (("a", 2.0, 31.0), ("b", 4.0, 44.0), ("c", 16.0, 290.0))
    ]
    for one, other, third in permutations(types):
        forth, back = speed_of(one, other, None), speed_of(other, one, None)
        assert forth.relative * back.relative == pytest.approx(1.0)
        assert forth.log_scale == back.log_scale
        over = speed_of(one, third, None).relative * speed_of(third, other, None).relative
        assert forth.relative == pytest.approx(over)


def test_the_machine_that_was_measured_is_itself() -> None:
    assert speed_of(None, FAST, CATALOG) == Speed(1.0)
    assert speed_of(None, None, CATALOG) == Speed(1.0)
    assert speed_of(FAST, replace(FAST, cpu_score=1.0), CATALOG) == Speed(1.0)


def test_doubt_of_the_scores_themselves_adds_in_squares() -> None:
    source = replace(CATALOG.offer("slow").instance, cpu_score_spread=0.3)
    speed = speed_of(replace(FAST, cpu_score_spread=0.4), source, CATALOG)
    assert speed.log_scale == pytest.approx(math.sqrt(SPREAD_TRANSFERRED**2 + 0.09 + 0.16))


def test_a_score_with_its_benchmark_is_not_replaced_by_the_catalogs() -> None:
    own = InstanceType("slow", 4.0, 16.0, cpu_score=80.0, cpu_benchmark="coremark")
    assert speed_of(FAST, own, CATALOG).relative == pytest.approx(15.0 / 20.0)
    assert speed_of(own, FAST, None).relative == pytest.approx(20.0 / 15.0)


def test_an_unknown_source_is_the_median_of_the_scored_types() -> None:
    """10 and 15 per vCPU, and one without a score: 12.5."""
    speed = speed_of(FAST, None, CATALOG)
    assert (speed.relative, speed.code) == (1.2, "unknown-source-type")
    assert speed.log_scale == SPREAD_UNKNOWN_SOURCE
    notice = transfer_notice(speed, FAST)
    assert "the catalog's median speed per vCPU is assumed" in notice.text
    assert speed_of(FAST, None, None) == Speed(1.0, SPREAD_NO_SCORE, "unknown-source-type")


def test_an_unknown_source_and_a_target_without_a_score() -> None:
    unscored = CATALOG.offer("unscored").instance
    speed = speed_of(unscored, None, CATALOG)
    assert speed == Speed(1.0, SPREAD_NO_SCORE, "unknown-source-type")
    notice = transfer_notice(speed, unscored)
    assert "unscored has no CPU score: every vCPU is taken" in notice.text


def test_a_median_is_of_the_targets_own_benchmark() -> None:
    """A catalog of another's shapes and own rows has scores of two: 12.5 and 3000 per vCPU."""
    mine = offer("mine", 1.0, vcpus=4, cpu_score=12_000.0, cpu_benchmark="passmark")
    mixed = catalog_of(*CATALOG.offers.values(), mine)
    assert speed_of(FAST, None, mixed).relative == 1.2
    assert speed_of(mine.instance, None, mixed).relative == 1.0


def test_a_transferred_speed_is_said() -> None:
    notice = transfer_notice(speed_of(FAST, CATALOG.offer("slow").instance, CATALOG), FAST)
    assert notice.code == "transferred-speed"
    assert "fast was not measured: 1.50 times the measured speed per core" in notice.text
    assert transfer_notice(Speed(1.0), FAST) is None


def test_of_runs_on_several_types_the_largest_says_where_a_job_ran() -> None:
    small, large = (
        replace(run, workload=Workload(size))
        for name, size in (("slow", 1e9), ("fast", 8e9))
        for run in profile_on(CATALOG.offer(name).instance).runs
    )
    for runs in ((small, large), (large, small)):
        found = measured_instance_type(Profile("job", runs), CATALOG)
        assert found.name == "fast"
    abroad = replace(large, cluster=profile_on(elsewhere(30.0, "coremark")).runs[0].cluster)
    found = measured_instance_type(Profile("job", (small, abroad)), CATALOG)
    assert found.name == "elsewhere"


def test_where_a_job_ran_is_what_its_largest_run_or_its_job_profiles_say() -> None:
    on_fast = measured_instance_type(profile_on(FAST), CATALOG)
    assert on_fast.name == "fast"
    assert measured_instance_type(profile_on(None), CATALOG) is None
    named = tuple(OptexProfile(name, 1.0, 1.0) for name in ("m1.large", "slow", "fast"))
    known = measured_instance_type(Profile("job", (), optex=named), CATALOG)
    assert known.name == "slow"
    assert measured_instance_type(Profile("job", (), optex=named[:1]), CATALOG) is None
    assert measured_instance_type(Profile("job", ()), CATALOG) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("m5.large", "m5.24xlarge", True),
        ("m5.xlarge", "m5.metal", True),
        ("m5.xlarge", "m5a.xlarge", False),
        ("m5.xlarge", "r5.xlarge", False),
        ("n2-standard-4", "n2-highmem-32", True),
        ("n2-standard-4", "n2d-standard-4", False),
        ("Standard_D4s_v5", "Standard_D96s_v5", True),
        ("Standard_E8-4ds_v4", "Standard_E16ds_v4", True),
        ("Standard_D4s_v5", "Standard_D4s_v4", False),
        ("Standard_D4s_v5", "Standard_D4ds_v5", False),
        ("small", "large", False),
        ("worker-1", "worker-2", False),
        ("w1-old", "w1-new", False),
        ("node.a", "node.b", False),
        ("own", "own", False),
    ],
)
def test_sizes_of_a_family_are_told_by_their_names(one: str, other: str, same: bool) -> None:
    assert same_family(one, other) is same_family(other, one) is same


@pytest.mark.parametrize("entry", list_catalogs(), ids=str)
def test_types_of_a_family_have_one_architecture(entry: object) -> None:
    families = defaultdict(set)
    for name, offered in load_catalog(entry.path).offers.items():
        families[family_of(name)].add(offered.instance.arch)
    assert None not in families
    assert all(len(found) == 1 for found in families.values())
