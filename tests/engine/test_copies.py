"""What the engine returns goes to other processes: workers of a pool, tasks of a scheduler."""

import copy
import json
import pickle
from pathlib import Path

import pytest

import engine
from engine.read_only import ReadOnly

SAMPLES = Path(__file__).parents[2] / "sample_logs"
CLUSTER = engine.Cluster.of_executors(executors=3, executor_cores=2)
RUNS = "instance_type,nodes,input_size,seconds\n" + "".join(
    f"m5.xlarge,{nodes},{size},{30 + 400 * size / nodes}\n"
    for nodes in (2, 4, 8)
    for size in (1, 2)
)


@pytest.fixture(scope="module")
def catalog() -> engine.Catalog:
    return engine.load_catalog("aws")


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, engine.Profile]:
    table = tmp_path_factory.mktemp("copies") / "runs.csv"
    table.write_text(RUNS)
    logs = [SAMPLES / f"sort-{size}.zstd" for size in ("small", "large")]
    return {"logs": engine.read(*logs), "runs": engine.read(table)}


@pytest.mark.parametrize(
    ("evidence", "model"),
    [
        *(("logs", name) for name in ("sparkplan", "optex", "simcost", "peridot", "boe")),
        *(
            ("runs", name)
            for name in ("sparkplan", "optex", "simcost", "ernest", "ernest-extended")
        ),
    ],
)
def test_a_fitted_model_answers_alike_in_another_process(
    profiles: dict[str, engine.Profile], catalog: engine.Catalog, evidence: str, model: str
) -> None:
    fitted = engine.fit(profiles[evidence], model=model)
    cluster = CLUSTER
    if evidence == "runs":
        cluster = engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=5, catalog=catalog)
    asked = fitted.predict(cluster=cluster)
    for copied in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        found = copied.predict(cluster=cluster)
        assert (found.seconds, found.low, found.high) == (asked.seconds, asked.low, asked.high)
        assert (found.phases, found.warnings) == (asked.phases, asked.warnings)


def test_profiles_catalogs_plans_and_answers_do_too(
    profiles: dict[str, engine.Profile], catalog: engine.Catalog
) -> None:
    profile = profiles["logs"]
    fitted = engine.fit(profile)
    found = engine.recommend(fitted, catalog=catalog, deadline_seconds=60.0, max_nodes=8)
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
    plan = engine.prepare(engine.PlanRequest(profile, catalog, max_nodes=8))
    goal = engine.Goal(deadline_seconds=60.0, max_nodes=8)
    best = [one.report(goal).recommendation.recommended for one in (plan, copy.deepcopy(plan))]
    assert best[0] is not None
    assert best[1] == best[0]
    other = pickle.loads(pickle.dumps(catalog))
    assert other.offers == catalog.offers
    assert engine.fit(pickle.loads(pickle.dumps(profile))).predict(cluster=CLUSTER).seconds == (
        fitted.predict(cluster=CLUSTER).seconds
    )


def test_what_is_read_only_is_a_mapping_that_cannot_be_changed() -> None:
    shared = {"a": 1}
    mapping = ReadOnly(shared)
    shared["b"] = 2
    assert mapping == {"a": 1}
    assert json.dumps(mapping) == '{"a": 1}'
    changes = (
        lambda: mapping.__setitem__("b", 2), lambda: mapping.__delitem__("a"), mapping.clear,
        lambda: mapping.pop("a"), mapping.popitem, lambda: mapping.setdefault("b", 2),
        lambda: mapping.update(b=2), lambda: mapping.__ior__({"b": 2}),
    )  # fmt: skip
    for change in changes:
        with pytest.raises(TypeError, match="read only"):
            change()
    assert mapping == {"a": 1}
    assert (mapping | {"b": 2}) == {"a": 1, "b": 2}
    for copied in (copy.copy(mapping), pickle.loads(pickle.dumps(mapping))):
        assert copied == mapping
        assert type(copied) is ReadOnly
