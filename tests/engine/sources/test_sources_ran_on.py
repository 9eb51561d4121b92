"""`--ran-on`: where the evidence names no nodes, of whatever kind it is."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import engine

HEAD = "nodes,input_size,seconds"
ROWS = [f"{nodes},10GB,{1200 / nodes}" for nodes in (2, 4, 8)]


def table(tmp_path: Path, head: str = HEAD, rows: Sequence[str] = ROWS) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([head, *rows]))
    return path


@pytest.fixture
def named() -> engine.InstanceType:
    return engine.load_catalog("aws").offers["m5.xlarge"].instance


def test_a_table_without_types_ran_where_it_is_said(
    tmp_path: Path, named: engine.InstanceType
) -> None:
    profile = engine.read(table(tmp_path), ran_on=named)
    assert [run.cluster.composition for run in profile.runs] == [
        {"m5.xlarge": 2},
        {"m5.xlarge": 4},
        {"m5.xlarge": 8},
    ]
    found = engine.recommend(
        engine.fit(profile), catalog=engine.load_catalog("aws"), instances=["m5.*"],
        deadline_seconds=600.0,
    )  # fmt: skip
    assert found.recommended is not None


def test_a_profile_ran_where_it_is_said_as_its_log(
    tmp_path: Path, named: engine.InstanceType
) -> None:
    kept = tmp_path / "kept.yaml"
    engine.write_profile(engine.read("sort-small"), kept)
    cluster = engine.Cluster.of_nodes(
        instance_type="r5.2xlarge", nodes=3, catalog=engine.load_catalog("aws")
    )
    log, yaml = (
        engine.fit(engine.read(source, ran_on=named)).predict(cluster=cluster)
        for source in ("sort-small", kept)
    )
    assert yaml.seconds == pytest.approx(log.seconds, rel=0.02)
    assert "unknown-source-type" not in [warning.code for warning in yaml.warnings]


def test_what_runs_name_themselves_stays_and_is_said(
    tmp_path: Path, named: engine.InstanceType
) -> None:
    path = table(tmp_path, f"instance_type,{HEAD}", [f"r5.xlarge,{row}" for row in ROWS])
    profile = engine.read(path, ran_on=named)
    assert profile.instance_types == ("r5.xlarge",)
    (said,) = [notice for notice in profile.notices if notice.code == "origin-already-named"]
    assert said.text == "that it ran on m5.xlarge is not used: runs.csv names r5.xlarge"
    beside_a_log = engine.read(path, "sort-small", ran_on=named)
    assert "origin-already-named" not in [notice.code for notice in beside_a_log.notices]


PROFILE = """\
format: sparkplan-profile/1
name: by hand
input_unit: bytes
runs:
- seconds: 250
  executors: 6
  executor_cores: 4
  {}input_size: 1000000000
"""


@pytest.mark.parametrize(("nodes", "used"), [("", False), ("nodes: 6\n  ", True)])
def test_a_profile_without_nodes_says_that_the_type_is_not_used(
    tmp_path: Path, named: engine.InstanceType, nodes: str, used: bool
) -> None:
    """It was told to name the type with the option that had named it."""
    path = tmp_path / "hand.yaml"
    path.write_text(PROFILE.format(nodes), encoding="utf-8")
    profile = engine.read(str(path), ran_on=named)
    assert (profile.instance_types == ("m5.xlarge",)) is used
    codes = {notice.code for notice in profile.notices}
    assert ("nodes-not-told" in codes) is not used
    unasked = {notice.code for notice in engine.read(str(path)).notices}
    assert "nodes-not-told" not in unasked


def test_a_shape_that_nobody_named_takes_the_name_that_is_said(
    tmp_path: Path, named: engine.InstanceType
) -> None:
    head = f"vcpus,memory_gib,{HEAD}"
    profile = engine.read(table(tmp_path, head, [f"4,15.5,{row}" for row in ROWS]), ran_on=named)
    assert profile.instance_types == ("m5.xlarge",)
    assert "origin-already-named" not in [notice.code for notice in profile.notices]
    cluster = engine.Cluster.of_nodes(
        instance_type="m5.xlarge", nodes=4, catalog=engine.load_catalog("aws")
    )
    said = {warning.code for warning in engine.fit(profile).predict(cluster=cluster).warnings}
    assert not said & {"no-cpu-score", "transferred-speed"}


def test_a_shape_of_another_type_stays_and_both_are_told(
    tmp_path: Path, named: engine.InstanceType
) -> None:
    head = f"vcpus,memory_gib,{HEAD}"
    profile = engine.read(table(tmp_path, head, [f"8,32,{row}" for row in ROWS]), ran_on=named)
    assert profile.instance_types == ("8-vcpu-32-gib",)
    (said,) = [notice for notice in profile.notices if notice.code == "origin-already-named"]
    assert "runs.csv says 8-vcpu-32-gib, m5.xlarge is 4-vcpu-16-gib" in said.text


def test_rows_without_a_type_take_the_one_that_is_said(
    tmp_path: Path, named: engine.InstanceType
) -> None:
    rows = [f"{name},{row}" for name, row in zip(("r5.xlarge", "", ""), ROWS, strict=True)]
    profile = engine.read(table(tmp_path, f"instance_type,{HEAD}", rows), ran_on=named)
    assert set(profile.instance_types) == {"r5.xlarge", "m5.xlarge"}
    assert "origin-already-named" not in [notice.code for notice in profile.notices]


def test_a_name_is_no_catalog(tmp_path: Path) -> None:
    with pytest.raises(engine.BadInput, match="a catalog is needed, not 'aws'; load it with"):
        engine.read(table(tmp_path), catalog="aws")


def test_a_type_may_be_given_by_name(tmp_path: Path, named: engine.InstanceType) -> None:
    for name in ("m5.xlarge", "m5.xlarge@aws"):
        profile = engine.read(table(tmp_path), ran_on=name)
        assert [run.cluster.instance for run in profile.runs] == [named] * 3
    elsewhere = engine.read(table(tmp_path), ran_on="n2-standard-4")
    assert elsewhere.instance_types == ("n2-standard-4",)
    mine = engine.load_catalog("papers")
    (type_name, offer), *_ = mine.offers.items()
    profile = engine.read(table(tmp_path), ran_on=type_name, catalog=mine)
    assert profile.runs[0].cluster.instance == offer.instance


def test_what_names_no_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(engine.UnknownName, match=r"m5\.xlarg.*did you mean"):
        engine.read(table(tmp_path), ran_on="m5.xlarg")
    with pytest.raises(engine.BadInput, match="names no catalog"):
        engine.read(table(tmp_path), ran_on="m5.xlarge@")
    with pytest.raises(engine.BadInput, match="an instance type"):
        engine.read(table(tmp_path), ran_on=5)
    assert engine.read_each(table(tmp_path), ran_on="m5.xlarge")[0].profile is not None
