"""Compositions whose types have executors of unlike cores by themselves."""

from dataclasses import replace

import pytest
from test_composition import composed
from two_types import CATALOG, offer

import engine
from engine.choosing.candidate_selection import select_candidates
from engine.mixing.common_executor_shape import with_common_shape

TWO = offer("two", 2, 0.1)
CATALOG_WITH_TWO = replace(CATALOG, offers={**CATALOG.offers, "two": TWO})
LAID_OUT = engine.Cluster.of_nodes(
    instance_type="big", nodes=2, catalog=CATALOG,
    layout=engine.Layout(executors_per_node=6, executor_cores=5, executor_memory_gib=18.0),
)  # fmt: skip


def measured(cluster: engine.Cluster) -> engine.Profile:
    return engine.Profile("job", (engine.Run(90.0, cluster, engine.Workload(1e9)),))


def shaped(profile: engine.Profile, *names: str) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Type -> executors on a node, cores of each; and what is said of it."""
    chosen = select_candidates(CATALOG_WITH_TWO, profile=profile, instances=names)
    found, said = with_common_shape(chosen, profile)
    layouts = dict(zip(found.names, found.layouts, strict=True))
    assert all(layout.executor_memory_gib for layout in layouts.values())
    return {
        name: (layout.executors_per_node, layout.executor_cores) for name, layout in layouts.items()
    }, [notice.text for notice in said]


def test_types_alike_stay_as_they_are() -> None:
    profile = measured(engine.Cluster.of_nodes(instance_type="small", nodes=2, catalog=CATALOG))
    assert shaped(profile, "small", "big") == ({"small": (1, 4), "big": (8, 4)}, [])


def test_the_shape_of_what_was_measured_goes_to_the_others() -> None:
    layouts, (said,) = shaped(measured(LAID_OUT), "big", "small")
    assert layouts == {"big": (8, 4), "small": (1, 4)}, "small holds no executor of five cores"
    assert "executors of 4 cores, the shape of small (the fewest of these types)" in said
    one_core = LAID_OUT.with_layout(engine.Layout(30, 1, 3.0))
    layouts, (said,) = shaped(measured(one_core), "big", "small")
    assert layouts == {"big": (30, 1), "small": (4, 1)}
    assert "executors of 1 core, the shape of big (as it ran there)" in said


def test_nodes_of_few_cores_are_what_all_can_hold() -> None:
    found = composed({"small": 2, "two": 1}, catalog=CATALOG_WITH_TWO)
    alike = composed({"small": 2}, catalog=CATALOG)
    assert found.prediction.seconds < alike.prediction.seconds
    (said,) = [n for n in found.prediction.warnings if n.code == "one-executor-shape"]
    assert "executors of 2 cores, the shape of two" in said.text
    assert not [n for n in alike.prediction.warnings if n.code == "one-executor-shape"]


def test_what_no_shape_fits_is_refused_in_one_line() -> None:
    profile = measured(LAID_OUT)
    chosen = select_candidates(CATALOG_WITH_TWO, profile=profile, instances=("big", "two"))
    larger_than_its_node = replace(chosen, layouts=(chosen.layouts[0], engine.Layout(1, 6, 1.0)))
    with pytest.raises(engine.BadInput, match="one shape, not 5 cores on big and 6 cores on two"):
        with_common_shape(larger_than_its_node, profile)
