"""SimCost on run times alone: the transformed model of 4.3."""

import math

import pytest

from engine.cluster import Cluster, Workload
from engine.given_profiles import ResourceProfile
from engine.models import MODELS
from engine.models.base import FittedModel
from engine.models.simcost.model import Simcost
from engine.profile import Profile, Run


def fitted(*runs: Run, resources: ResourceProfile | None = None) -> FittedModel:
    profile = Profile("made", runs, resources=resources)
    return Simcost().fit(profile, models={model.name: model for model in MODELS})


LAW = (40.0, 900.0, 3.0)


def table(size: float, nodes: int) -> Run:
    serial, work, linear = LAW
    seconds = serial + work * size / nodes + linear * nodes
    return Run(
        seconds,
        Cluster.of_nodes(instance_type="t", nodes=nodes, vcpus=4.0, memory_gib=16.0),
        Workload(size),
    )


def test_run_tables_get_the_transformed_model() -> None:
    """4.3's gammas come out as they went in, and Lemma 1's optimum is warned of."""
    model = fitted(*(table(size, nodes) for size in (0.5, 1.0, 2.0) for nodes in (2, 4, 8, 16)))
    for nodes in (3, 12):
        found = model.predict(cluster=table(1.5, nodes).cluster, workload=Workload(1.5))
        assert found.seconds == pytest.approx(table(1.5, nodes).seconds, rel=1e-6)
        assert "no-stages" in {notice.code for notice in found.warnings}
        assert "beyond-fastest" not in {notice.code for notice in found.warnings}
    many = model.predict(cluster=table(1.0, 30).cluster, workload=Workload(1.0))
    notice = next(notice for notice in many.warnings if notice.code == "beyond-fastest")
    assert "at about 17 nodes" in notice.text, "sqrt(900 / 3) = 17.3"
    assert many.job_profile["fastest_nodes"] == 17.0
    assert many.job_profile["fastest_possible_seconds"] == pytest.approx(
        40.0 + 2 * math.sqrt(900.0 * 3.0)
    )


def test_a_resource_profile_needs_stages() -> None:
    runs = [table(size, nodes) for size in (0.5, 1.0) for nodes in (2, 4, 8)]
    model = fitted(*runs, resources=ResourceProfile(1e9, 1e9, 1e9))
    assert "resources-not-used" in {notice.code for notice in model.fit_notices}
