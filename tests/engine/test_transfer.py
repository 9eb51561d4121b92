from __future__ import annotations

import pytest
from synthetic import catalog_of, offer

from engine.catalog import InstanceType
from engine.transfer import (
    SPREAD_BETWEEN_CATALOGS,
    SPREAD_NO_SCORE,
    SPREAD_TRANSFERRED,
    notice_of,
    speed_of,
)

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


def test_a_target_without_a_score_is_as_fast_per_vcpu_and_says_so() -> None:
    target = CATALOG.offer("unscored").instance
    speed = speed_of(target, FAST, CATALOG)
    notice = notice_of(speed, target)
    assert speed.relative == 1.0
    assert notice is not None
    assert notice.code == "no-cpu-score"
    assert "unscored" in notice.text


def test_a_profile_that_does_not_name_the_benchmark_is_helped_by_the_catalog() -> None:
    """Profiles written before scores named their benchmark hold the same numbers."""
    old = InstanceType("slow", 4.0, 16.0, cpu_score=40.0)
    assert speed_of(FAST, old, CATALOG).code == "transferred-speed"
