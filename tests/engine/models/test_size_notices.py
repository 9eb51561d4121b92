"""Sizes of input: how sure larger ones are by how many were run, and what is said of them."""

import math
from pathlib import Path

import numpy as np
import pytest
from sparkplan_runs import executors, run_of

import engine
from engine.models.laws.parameter_fit import size_spread
from engine.profile import Profile


def predicted(tmp_path: Path, sizes: tuple[float, ...]) -> engine.Prediction:
    """Of 200 units, from runs of the sizes that take time in proportion to them but for a start."""
    path = tmp_path / "runs.csv"
    rows = [
        f"m5.xlarge,{n},{size:g},{20 + 30 * size / n:.0f}" for size in sizes for n in (2, 4, 8, 16)
    ]
    path.write_text("instance_type,nodes,input_size,seconds\n" + "\n".join(rows) + "\n")
    aws = engine.load_catalog("aws")
    return engine.fit(engine.read(str(path))).predict(
        cluster=engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=8, catalog=aws),
        workload=engine.Workload(input_bytes=200.0),
    )


def width(tmp_path: Path, sizes: tuple[float, ...]) -> float:
    """Log width of the 90 % interval of 200 units."""
    found = predicted(tmp_path, sizes)
    assert found.low is not None
    assert found.high is not None
    return math.log(found.high / found.low)


@pytest.mark.parametrize(
    ("sizes", "spread"),
    [([100.0], 0.2), ([100.0, 141.42136], 0.15), ([50.0, 100.0], 0.1), ([1.0, 100.0], 0.1)],
)
def test_sizes_tell_of_growth_over_a_doubling(sizes, spread) -> None:
    assert size_spread(np.asarray(sizes)) == pytest.approx(spread, abs=1e-6)


def test_runs_of_one_size_leave_open_what_grows_with_it(tmp_path: Path) -> None:
    """All laws have work in proportion to the input: their agreement is no evidence."""
    one = width(tmp_path, (100.0,))
    assert one > 2.0 * 1.645 * 0.2
    assert width(tmp_path, (100.0, 50.0)) < 0.8 * one


def test_the_notice_says_that_one_size_does_not_tell(tmp_path: Path) -> None:
    def said(sizes: tuple[float, ...]) -> str:
        notices = predicted(tmp_path, sizes).warnings
        return next(n.text for n in notices if n.code == "extrapolating-size")

    told = "runs of one size do not tell how much of the time grows with it"
    assert told in said((100.0,))
    assert told not in said((100.0, 50.0))


def table(tmp_path: Path, rows: list[tuple[object, ...]]) -> engine.Profile:
    path = tmp_path / "runs.csv"
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("instance_type,nodes,input_size,k,seconds\n" + "\n".join(lines) + "\n")
    return engine.read(str(path))


def notices(profile: engine.Profile, instance: str, nodes: int, model: str = "sparkplan") -> str:
    cluster = engine.Cluster.of_nodes(
        instance_type=instance, nodes=nodes, catalog=engine.load_catalog("aws")
    )
    found = engine.fit(profile, model=model).predict(cluster=cluster).warnings
    return "\n".join(f"{n.text} [{n.code}]; {n.remedy}" for n in found)


def runs(kind: str, size: float, k: int, seconds: float) -> list[tuple[object, ...]]:
    return [(kind, n, size, k, round(60 + seconds / n)) for n in (2, 4, 8)]


def test_other_parameters_are_no_reason_to_doubt_the_size(tmp_path):
    profile = table(tmp_path, [*runs("m5.xlarge", 100, 9, 9000), *runs("m5.xlarge", 200, 3, 4000)])
    assert "more input took less time" not in notices(profile, "m5.xlarge", 4)


def test_runs_of_the_same_parameters_that_get_faster_are_named(tmp_path):
    profile = table(tmp_path, [*runs("m5.xlarge", 100, 3, 9000), *runs("m5.xlarge", 200, 3, 4000)])
    said = notices(profile, "m5.xlarge", 4)
    assert "more input took less time in some runs (runs.csv:2, then runs.csv:5)" in said
    assert "look for what disturbed them, or add what else differed as a column" in said


@pytest.mark.parametrize("model", ["sparkplan", "ernest"])
def test_a_size_that_another_type_has_measured_is_not_called_unmeasured(tmp_path, model):
    profile = table(tmp_path, [*runs("m5.xlarge", 100, 3, 4000), *runs("r5.xlarge", 300, 3, 12000)])
    assert "the input is 3 times the largest measured on m5.xlarge" in notices(
        profile, "m5.xlarge", 4, model
    )
    assert "extrapolating-size" not in notices(profile, "r5.xlarge", 4, model)


def test_one_type_needs_no_name(tmp_path):
    profile = table(tmp_path, runs("m5.xlarge", 100, 3, 4000))
    said = notices(profile, "m5.xlarge", 64)
    assert "only 2 to 8 nodes were measured [extrapolating-nodes]" in said


def test_one_node_is_no_nodes(tmp_path):
    """It said that only 1 nodes were measured."""
    profile = table(tmp_path, [("m5.xlarge", 1, 100, 3, 100)])
    assert "only 1 node was measured: " in notices(profile, "m5.xlarge", 4)


def test_types_of_unknown_shape_are_named(tmp_path):
    rows = [*runs("m5.xlarge", 100, 3, 4000), *runs("blade", 100, 3, 3000)]
    profile = engine.held_against(table(tmp_path, rows), "aws")
    (found,) = [n for n in engine.fit(profile).fit_notices if "vCPUs" in n.text]
    assert found.code == "unknown-shape"
    assert found.remedy.endswith("read it with a catalog that has the types")
    assert "how many vCPUs blade has is not known" in found.text
    path = tmp_path / "known.csv"
    path.write_text(
        "instance_type,nodes,vcpus,input_size,seconds\nm5.xlarge,2,4,1,300\n"
        "m5.xlarge,4,4,1,160\nblade,2,,1,250\n,3,,1,200\n"
    )
    (found,) = [n for n in engine.fit(engine.read(str(path))).fit_notices if "vCPUs" in n.text]
    assert "vCPUs blade and the runs without an instance type have is not known" in found.text


def test_one_type_of_unknown_shape_needs_none(tmp_path):
    found = engine.fit(table(tmp_path, runs("blade", 100, 3, 3000)))
    assert [notice for notice in found.fit_notices if notice.code == "unknown-shape"] == []


def test_types_that_a_table_only_names_have_the_shape_of_the_catalog(tmp_path):
    """Twice the vCPUs take half the time: told with the shapes, and without them in the table."""
    rows = [*runs("m5.xlarge", 100, 3, 8000), *runs("m5.2xlarge", 100, 3, 4000)]
    named = engine.held_against(table(tmp_path, rows), "aws")
    assert {run.cluster.instance.vcpus for run in named.runs} == {4, 8}
    assert [n for n in engine.fit(named).fit_notices if n.code == "unknown-shape"] == []
    catalog = engine.load_catalog("aws")
    cluster = engine.Cluster.of_nodes(instance_type="m5.4xlarge", nodes=2, catalog=catalog)
    found = engine.fit(named).predict(cluster=cluster)
    assert 800 < found.seconds < 1400


def test_logs_are_told_where_their_parameters_are_said():
    runs = [run_of(4, 1.0, slow=4.0), run_of(4, 2.0), run_of(8, 2.0), run_of(8, 3.0)]
    fitted = engine.fit(Profile("job", tuple(runs)), model="ernest")
    said = " ".join(f"{n.text} {n.remedy}" for n in fitted.predict(cluster=executors(8)).warnings)
    assert "the size does not measure the work" in said
    assert "add what else differed under `parameters` of their profile" in said
