"""Another platform than the catalog's own: other memory, and no price of the managed service."""

import re
from dataclasses import replace

import pytest

import engine
from engine.catalog import MEMORY_RULES, MemoryRule
from engine.catalog_files.reader import load_catalog
from engine.choosing.candidate_selection import match_names
from engine.machines.platforms import (
    PLATFORMS,
    diskless,
    nearest_supported,
    on_platform,
    platform_of,
    support_notice,
)
from engine.memory import layout_of


def test_the_own_service_changes_nothing() -> None:
    names = (("aws", "emr"), ("gcp", "dataproc"), ("azure-databricks", "databricks"))
    for name, own in names:
        catalog = load_catalog(name)
        assert on_platform(catalog, own) is catalog
        assert on_platform(catalog, None) is catalog


@pytest.mark.parametrize("platform", ["yarn", "kubernetes", "standalone", "databricks"])
def test_another_platform_lays_out_by_its_rule_and_has_no_surcharge(platform: str) -> None:
    aws = load_catalog("aws")
    other = on_platform(aws, platform)
    assert other.billing.surcharge_fraction == 0.0
    assert any(platform in line for line in engine.billing_notes(other.billing))
    assert other.memory_rule.kind in MEMORY_RULES
    shape = aws.offers["m5.2xlarge"].instance
    before, after = layout_of(shape, aws.memory_rule), layout_of(shape, other.memory_rule)
    assert before.executor_memory_gib != after.executor_memory_gib


def test_databricks_on_machines_of_aws_says_what_the_catalog_does_not_know() -> None:
    """Types that EMR does not have are candidates there, and nothing said that Databricks may not
    have them either."""
    (line,) = engine.billing_notes(on_platform(load_catalog("aws"), "databricks").billing)[-1:]
    assert "neither them nor which of its types Databricks offers" in line


def test_databricks_without_dbus_says_which_catalog_has_them() -> None:
    """Costs of its nodes alone were shown as those of Databricks."""
    azure = load_catalog("azure")
    assert on_platform(azure, None) is azure
    (line,) = (
        line
        for line in engine.billing_notes(on_platform(azure, "databricks").billing)
        if "DBUs" in line
    )
    assert line == "the price of DBUs is not in it: catalog azure-databricks has them"


def test_dbus_are_paid_to_databricks_alone() -> None:
    own = load_catalog("azure-databricks")
    assert own.billing.usd_per_dbu is not None
    assert on_platform(own, "kubernetes").billing.usd_per_dbu is None


def test_a_service_of_another_provider_is_refused() -> None:
    with pytest.raises(engine.BadInput, match="does not run on"):
        on_platform(load_catalog("gcp"), "emr")
    with pytest.raises(engine.UnknownName, match="kubernetes"):
        on_platform(load_catalog("aws"), "kubernets")


@pytest.mark.parametrize(("name", "own"), [("aws", "emr"), ("gcp", "dataproc")])
def test_there_is_no_way_back_to_the_catalogs_own_service(name: str, own: str) -> None:
    """It answered with the memory of the other platform and no surcharge, under its own name."""
    away = on_platform(load_catalog(name), "kubernetes")
    with pytest.raises(engine.BadInput, match=f"for kubernetes already, .* {own}"):
        on_platform(away, own)
    on_yarn = on_platform(away, "yarn")
    assert (on_yarn.platform, on_yarn.memory_rule.kind) == ("yarn", "yarn")
    again = on_platform(on_platform(load_catalog(name), own), own)
    assert again.memory_rule == load_catalog(name).memory_rule


def test_every_platform_is_known_by_name() -> None:
    assert set(PLATFORMS) == {"emr", "dataproc", "databricks", "yarn", "kubernetes", "standalone"}


def test_what_runs_the_executors_is_known() -> None:
    aws = load_catalog("aws")
    assert [platform_of(load_catalog(name)) for name in ("aws", "gcp", "azure")] == [
        "emr",
        "dataproc",
        "databricks",
    ]
    assert {platform_of(on_platform(aws, name)) for name in ("databricks", "yarn")} == {
        "databricks",
        "yarn",
    }
    on_pods = replace(aws, memory_rule=MemoryRule("kubernetes"))
    assert platform_of(on_pods) == "kubernetes", "a file of one's own says it by its rule"
    assert platform_of(on_platform(on_pods, "emr")) == "emr", "what is asked for wins"


def test_the_nearest_supported_types_hold_as_much() -> None:
    aws = load_catalog("aws")
    shape = aws.offer("m5.large").instance
    found = nearest_supported(aws, "m5.large")
    assert found[0] == "m5.xlarge", "of its own series first"
    assert len(found) == 3
    for name in found:
        other = aws.offer(name).instance
        assert (other.emr_supported, other.arch) == (True, shape.arch)
        assert other.vcpus >= shape.vcpus
        assert other.memory_gib >= shape.memory_gib


def test_emr_alone_warns_of_what_it_does_not_support() -> None:
    aws = load_catalog("aws")
    notice = support_notice(aws, "m5.large")
    assert notice.code == "not-supported-by-emr"
    assert "m5.xlarge" in notice.remedy
    assert support_notice(aws, "m5.xlarge") is None
    assert support_notice(on_platform(aws, "yarn"), "m5.large") is None


def test_types_without_a_disk_are_told_with_the_master() -> None:
    aws = load_catalog("aws")
    assert diskless(aws, ["m5d.xlarge"]) == ("m5.xlarge",)
    assert diskless(aws, ["r5.2xlarge", "m5.xlarge"]) == ("r5.2xlarge", "m5.xlarge")


@pytest.mark.parametrize("mix", [1, 2])
def test_no_cluster_that_dataproc_does_not_start_is_recommended(mix: int) -> None:
    """One worker was, and its own export refused it."""
    gcp = load_catalog("gcp")
    fitted = engine.fit(engine.read("sort-small"))

    def best(catalog: engine.Catalog, **asked) -> int:
        found = engine.recommend(
            fitted, catalog=catalog, deadline_seconds=3600.0, mix=mix,
            instances=["n2-standard-4", "n2d-standard-4"], **asked,
        ).recommended  # fmt: skip
        assert found is not None
        return sum(found.composition.values())

    assert best(gcp) == 2
    assert best(on_platform(gcp, "kubernetes")) == 1
    with pytest.raises(engine.BadInput, match="no cluster of fewer than 2 workers; allow 2"):
        best(gcp, max_nodes=1)
    one, three = engine.Limits(most=(("*", 1),)), engine.Limits(most=(("*", 1),), min_nodes=3)
    with pytest.raises(engine.BadInput, match=r"least 2 are needed \(Dataproc starts no fewer\)"):
        best(gcp, limits=one)
    with pytest.raises(engine.BadInput, match="room for 1 node, at least 3 are needed;"):
        best(gcp, limits=three)


def test_a_series_that_dataprocs_list_names_anew_is_not_told() -> None:
    gcp = load_catalog("gcp")
    assert support_notice(gcp, "n4d-standard-4") is None
    assert support_notice(gcp, "c4d-standard-4") is not None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("n2-standard-4", None), ("n2d-highmem-8", None), ("c3-standard-4", None),
        ("e2-standard-4", None), ("n1-highmem-2", None),
        ("t2d-standard-2", "does not name t2d"), ("c3d-highcpu-4", "does not name c3d"),
        ("z3-highmem-14-standardlssd", "does not name z3"),
        ("n1-standard-1", "excludes n1-standard-1"),
    ],
)  # fmt: skip
def test_types_that_dataprocs_list_does_not_name_are_told(name: str, says: str | None) -> None:
    """The cheapest of Google's machines are of series that the list has not."""
    gcp = load_catalog("gcp")
    assert name in gcp.offers
    notice = support_notice(gcp, name)
    assert (notice is None) == (says is None)
    if notice is not None and says is not None:
        assert notice.code == "not-listed-by-dataproc"
        assert says in notice.text
        (globs,) = re.findall("'(.*)'", notice.remedy)
        left = match_names(gcp, globs.split(","))
        assert left, "there are types to name in their place"
        assert [other for other in left if support_notice(gcp, other)] == []
    assert support_notice(on_platform(gcp, "kubernetes"), name) is None
    assert support_notice(replace(gcp, provider="other"), name) is None
