"""What run tables say of named types, held against the catalogs."""

from math import isnan
from pathlib import Path

import pytest

from engine.catalog import Catalog, InstanceType
from engine.catalog_files.reader import load_catalog
from engine.machines.named_types import held_against
from engine.models import fit
from engine.notices import Notice
from engine.optimiser import recommend
from engine.profile import Profile
from engine.sources import read
from engine.sources.formats.profile_text import format_profile

HEAD = "nodes,input_size,seconds,instance_type,vcpus,memory_gib\n"


@pytest.fixture(scope="module")
def aws() -> Catalog:
    return load_catalog("aws")


def table(folder: Path, name: str, vcpus: object = "", memory_gib: object = "") -> Profile:
    """Three runs on a type that a table describes so."""
    rows = ((2, "20GB", 900), (4, "20GB", 480), (4, "40GB", 930), (8, "40GB", 500))
    lines = [f"{n},{size},{time},{name},{vcpus},{memory_gib}\n" for n, size, time in rows]
    path = folder / "runs.csv"
    path.write_text(HEAD + "".join(lines))
    return read(path)


def held(profile: Profile, catalog: Catalog | str = "aws") -> tuple[tuple[float, float], Profile]:
    """The shape of the type after, and the profile."""
    after = held_against(profile, catalog)
    instance = after.runs[-1].cluster.instance
    return (instance.vcpus, instance.memory_gib), after


@pytest.mark.parametrize(
    ("vcpus", "memory_gib", "stated"),
    [
        (4, 16, "4 vCPUs and 16 GiB"),
        (16, 64, "16 vCPUs and 64 GiB"),
        (4, 32, "4 vCPUs and 32 GiB"),
        (8, 16, "8 vCPUs and 16 GiB"),
        (8, 64, "8 vCPUs and 64 GiB"),
        (4, "", "4 vCPUs"),
        ("", 16, "16 GiB"),
    ],
)
def test_a_shape_that_contradicts_the_catalog_is_said_and_the_catalogs_counts(
    tmp_path: Path, vcpus: object, memory_gib: object, stated: str, aws: Catalog
) -> None:
    shape, after = held(table(tmp_path, "m5.2xlarge", vcpus, memory_gib), aws)
    assert shape == (8.0, 32.0)
    (notice,) = after.notices
    assert notice.code == "shape-contradicts-catalog"
    assert notice.text == (
        f"runs.csv:2 says that m5.2xlarge has {stated}, catalog aws that it has 8 vCPUs and "
        "32 GiB: the catalog's shape counts"
    )
    assert "correct vcpus and memory_gib" in notice.remedy


@pytest.mark.parametrize(
    ("vcpus", "memory_gib"), [(8, 32), (8, 24), (8, 30), (8, 34.36), (8, ""), ("", 28), ("", "")]
)
def test_memory_that_executors_get_is_less_than_the_machines_and_is_no_contradiction(
    tmp_path: Path, vcpus: object, memory_gib: object, aws: Catalog
) -> None:
    before = table(tmp_path, "m5.2xlarge", vcpus, memory_gib)
    after = held_against(before, aws)
    assert after.notices == before.notices
    shapes = {run.cluster.instance for run in after.runs}
    assert shapes == {InstanceType("m5.2xlarge", vcpus=8, memory_gib=memory_gib or 32)}


def test_what_yarn_gets_of_a_newer_type_is_no_contradiction(tmp_path: Path, aws: Catalog) -> None:
    before = table(tmp_path, "m6i.xlarge", 4, 11.5)  # EMR's rule: 0.715 of it
    assert held_against(before, aws) is before


@pytest.mark.parametrize(
    "name", ["m5.2xlrge", "m5.2xlareg", "m52xlarge", "M5.2xlarge", "m5_2xlarge"]
)
@pytest.mark.parametrize("vcpus", [8, ""])
def test_a_slip_in_a_name_is_said(tmp_path: Path, name: str, vcpus: object, aws: Catalog) -> None:
    (notice,) = held_against(table(tmp_path, name, vcpus), aws).notices
    assert notice.code == "misspelt-type"
    assert f"runs.csv:2 names {name}, which no catalog knows" in notice.text
    assert notice.remedy.startswith("did you mean ")
    assert "m5.2xlarge" in notice.remedy
    assert not vcpus or notice.remedy.startswith("did you mean m5.2xlarge?")  # the shape decides


@pytest.mark.parametrize("name", ["rack7", "node", "build.2xlarge", "m5", "onprem-large", "8-core"])
def test_a_name_that_resembles_none_is_a_machine_of_ones_own(
    tmp_path: Path, name: str, aws: Catalog
) -> None:
    before = table(tmp_path, name, 7, 48)
    assert held_against(before, aws) is before


def test_types_of_another_bundled_catalog_are_known(tmp_path: Path, aws: Catalog) -> None:
    known = table(tmp_path, "n2-standard-8", 8, 32)
    assert held_against(known, aws) is known
    shape, after = held(table(tmp_path, "n2-standard-8", 4, 32), aws)
    assert shape == (8.0, 32.0)
    assert "catalog gcp" in after.notices[0].text


def test_the_catalog_that_is_given_goes_before_the_bundled_ones(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "catalog: own\nprovider: own\nregion: here\ncurrency: USD\ndate: 2026-11-01\n"
        "source: a price list\n"
        "instances:\n"
        "- {name: m5.2xlarge, vcpus: 4, memory_gib: 16, usd_per_hour: 0.1}\n"
        "- {name: m5.2xlrge, vcpus: 4, memory_gib: 16, usd_per_hour: 0.1}\n"
    )
    catalog = load_catalog(own)
    for name in ("m5.2xlarge", "m5.2xlrge"):
        before = table(tmp_path, name, 4, 16)
        assert held_against(before, catalog) is before


def test_the_answer_to_a_wrong_shape_is_that_to_the_right_one(tmp_path: Path, aws: Catalog) -> None:
    found = []
    for shape in ((8, 32), (4, 16)):
        profile = held_against(table(tmp_path, "m5.2xlarge", *shape), aws)
        answer = recommend(fit(profile), catalog=aws, deadline_seconds=900.0)
        found.append((dict(answer.recommended.composition), answer.recommended.seconds))
    assert found[0] == found[1]
    assert "shape-contradicts-catalog" in [notice.code for notice in answer.warnings]


def test_a_profile_keeps_the_shape_that_counts_and_why(tmp_path: Path, aws: Catalog) -> None:
    after = held_against(table(tmp_path, "m5.2xlarge", 4, 16), aws)
    path = tmp_path / "job.yaml"
    path.write_text(format_profile(after))
    again = read(path)
    assert held_against(again, aws) is again
    assert [notice.code for notice in again.notices] == ["shape-contradicts-catalog"]


def test_reading_with_a_catalog_holds_and_completes(tmp_path: Path, aws: Catalog) -> None:
    assert isnan(table(tmp_path, "m5.2xlarge").runs[0].cluster.instance.vcpus)
    path = tmp_path / "runs.csv"
    for stated, notices in ((",", 0), ("4,", 1), ("4,16", 1)):
        path.write_text(f"{HEAD}2,20GB,900,m5.2xlarge,{stated}\n")
        profile = read(path, catalog=aws)
        instance = profile.runs[0].cluster.instance
        assert (instance.vcpus, instance.memory_gib) == (8.0, 32.0)
        assert len(profile.notices) == notices


def test_logs_are_left_alone(aws: Catalog) -> None:
    named = read("word-count-small", ran_on=aws.offer("m5.xlarge").instance)
    assert held_against(named, "aws") is named
    unnamed = read("word-count-small")
    assert held_against(unnamed, "nowhere") is unnamed  # no catalog is opened for it


def test_notices_of_the_profile_stay_before_it(tmp_path: Path, aws: Catalog) -> None:
    profile = table(tmp_path, "m5.2xlarge", 4, 16)
    first = Notice("ignored-column", "a", "b")
    kept = held_against(Profile("x", profile.runs, notices=(first,)), aws).notices
    assert [notice.code for notice in kept] == ["ignored-column", "shape-contradicts-catalog"]


@pytest.mark.parametrize(
    ("vcpus", "memory_gib", "said"),
    [(16, 32, True), (8, 16, True), (8, 28, False), (8, "", False), ("", "", False)],
)
def test_beside_a_log_of_a_named_type_the_catalogs_shape_counts(
    tmp_path: Path, vcpus: object, memory_gib: object, said: bool, aws: Catalog
) -> None:
    """This was refused, also where the table said what YARN gets of the memory."""
    ran_on = aws.offers["m5.2xlarge"].instance
    table(tmp_path, "m5.2xlarge", vcpus, memory_gib)
    for sources in (("sort-small", tmp_path / "runs.csv"), (tmp_path / "runs.csv", "sort-small")):
        profile = held_against(read(*sources, ran_on=ran_on), aws)
        assert {run.cluster.instance for run in profile.runs} == {ran_on}
        codes = [n.code for n in profile.notices if n.code == "shape-contradicts-catalog"]
        assert len(codes) == said
        fit(profile).predict(cluster=profile.runs[0].cluster)


def test_a_table_of_another_type_than_the_logs_is_no_contradiction(
    tmp_path: Path, aws: Catalog
) -> None:
    table(tmp_path, "r5.xlarge", 4, 32)
    ran_on = aws.offers["m5.2xlarge"].instance
    profile = held_against(read("sort-small", tmp_path / "runs.csv", ran_on=ran_on), aws)
    assert set(profile.instance_types) == {"m5.2xlarge", "r5.xlarge"}
    assert "shape-contradicts-catalog" not in {notice.code for notice in profile.notices}
