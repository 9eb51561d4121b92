"""The bundled catalogs: whole, dated, labelled where inferred or estimated."""

import os
import re
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.catalog_files import index, reader
from engine.catalog_files.index import CatalogEntry, bundled_folder, list_catalogs
from engine.catalog_files.reader import load_catalog
from engine.cost import surcharge_rate


@pytest.fixture(scope="module")
def aws() -> Catalog:
    return load_catalog("aws")


@pytest.fixture(scope="module")
def papers() -> Catalog:
    return load_catalog("papers")


def test_bundled_catalogs() -> None:
    found = [(entry.name, entry.region) for entry in list_catalogs()]
    assert found == sorted(found)
    assert set(found) >= {
        ("aws", "us-east-1"),
        ("azure", "eastus"),
        ("azure-databricks", "eastus"),
        ("gcp", "us-central1"),
        ("papers", "us-east-1"),
    }


def test_the_page_of_catalogs_lists_each() -> None:
    page = Path(reader.__file__).parents[2] / "docs" / "catalogs.md"
    table = page.read_text("utf-8").partition("## Bundled catalogs")[2].partition("\n\n- ")[0]
    listed = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)
    assert listed == [entry.name for entry in list_catalogs()]


def test_aws_is_whole(aws: Catalog) -> None:
    assert len(aws.offers) == 1027
    m5 = aws.offer("m5.xlarge")
    assert (m5.instance.vcpus, m5.instance.memory_gib, m5.on_demand.usd_per_hour) == (4, 16, 0.192)
    assert m5.instance.arch == "x86_64"
    assert m5.instance.cpu_score == 59119
    assert aws.date == date(2026, 7, 20)
    assert aws.billing.master == "m5.xlarge"
    assert (aws.billing.surcharge_fraction, aws.billing.surcharge_assumed) == (0.25, True)
    assert aws.billing.surcharge_note
    assert (aws.billing.minimum_seconds, aws.billing.startup_seconds) == (60, 210)
    assert aws.memory_rule.kind == "emr-yarn"


@pytest.mark.parametrize(
    ("name", "usd"),
    [
        ("m5.xlarge", 0.048), ("m5.12xlarge", 0.27), ("r5d.4xlarge", 0.27), ("i3.4xlarge", 0.27),
        ("m4.large", 0.03), ("c4.large", 0.026), ("m3.xlarge", 0.07),
    ],
)  # fmt: skip
def test_published_fees_of_emr(aws: Catalog, name: str, usd: float) -> None:
    offer = aws.offer(name)
    assert offer.surcharge is not None
    assert (offer.surcharge.usd_per_hour, offer.surcharge.estimated) == (usd, False)
    assert surcharge_rate(offer, aws.billing) == usd
    assert surcharge_rate(offer, replace(aws.billing, spot=True)) == usd


@pytest.mark.parametrize("published", ["c4.large", "m4.large", "m3.xlarge"])
def test_fees_of_a_series_are_in_proportion_up_to_the_ceiling(aws: Catalog, published: str) -> None:
    """One size of a series paid 26 %, and its other sizes the share of 25 %."""
    family, fee = published.partition(".")[0], surcharge_rate(aws.offer(published), aws.billing)
    vcpus = aws.offer(published).instance.vcpus
    others = [
        offer
        for name, offer in aws.offers.items()
        if name.startswith(f"{family}.") and offer.instance.vcpus > vcpus
    ]
    assert others
    for offer in others:
        expected = min(fee * offer.instance.vcpus / vcpus, 0.27)
        assert surcharge_rate(offer, aws.billing) == pytest.approx(expected)
        assert offer.surcharge.estimated


def test_quoted_fees_of_emr_that_the_share_gives_need_no_row(aws: Catalog) -> None:
    """As quoted, to the digit that the quote has."""
    quoted = {
        "m5d.xlarge": 0.057, "m5d.2xlarge": 0.113, "m5d.4xlarge": 0.226, "m6gd.4xlarge": 0.18,
        "r6gd.4xlarge": 0.23,
    }  # fmt: skip
    for name, usd in quoted.items():
        assert aws.offer(name).surcharge is None
        half_digit = 0.0051 if round(usd, 2) == usd else 0.00051
        assert surcharge_rate(aws.offer(name), aws.billing) == pytest.approx(usd, abs=half_digit)


def test_the_ceiling_of_emrs_fee_is_assumed_of_older_series_only(aws: Catalog) -> None:
    """AWS's own benchmark of i4i against i3 (EMR 6.8, run times in seconds) has savings of 22.56 to
    33.1 % with EMR's fee: a ceiling for i3, none for i4i."""
    for name in ("m5d.8xlarge", "m5d.24xlarge", "c4.8xlarge", "c5.18xlarge", "i3.16xlarge"):
        assert surcharge_rate(aws.offer(name), aws.billing) == 0.27
    assert aws.offer("m5d.8xlarge").surcharge.estimated
    seconds = {
        "xlarge": (21333.05743, 12981.20251), "2xlarge": (11853.40336, 7537.52779),
        "4xlarge": (7110.03042, 4415.0023), "8xlarge": (4506.43694, 2812.05517),
        "16xlarge": (4752.15457, 2642.77407),
    }  # fmt: skip

    def hourly(name: str) -> float:
        offer = aws.offer(name)
        return offer.on_demand.usd_per_hour + surcharge_rate(offer, aws.billing)

    savings = [
        1.0 - hourly(f"i4i.{size}") * new / (hourly(f"i3.{size}") * old)
        for size, (old, new) in seconds.items()
    ]
    assert (min(savings), max(savings)) == pytest.approx((0.2256, 0.331), abs=0.00006)


@pytest.mark.parametrize("entry", list_catalogs(), ids=lambda entry: f"{entry.name}-{entry.region}")
def test_every_price_has_a_date_and_a_source(entry: CatalogEntry) -> None:
    for offer in load_catalog(entry.name, region=entry.region).offers.values():
        optional = [price for price in (offer.spot, offer.surcharge) if price is not None]
        prices = [offer.on_demand, *offer.history, *optional]
        for price in prices:
            assert price.usd_per_hour > 0
            assert price.source
            assert date(2013, 1, 1) <= price.date <= date(2026, 12, 31)
        assert list(offer.history) == sorted(offer.history, key=lambda price: price.date)


def test_every_spot_price_is_labelled_an_estimate(aws: Catalog) -> None:
    spots = [offer.spot for offer in aws.offers.values() if offer.spot]
    assert len(spots) == 681
    assert all(spot.estimated and spot.date == date(2025, 6, 28) for spot in spots)
    assert all(offer.on_demand.estimated is False for offer in aws.offers.values())


def test_unknown_values_are_none(aws: Catalog) -> None:
    instance = aws.offer("m2.xlarge").instance
    assert instance.network_gbps is None
    assert instance.ebs_gbps is None
    assert sum(offer.instance.cpu_score is None for offer in aws.offers.values()) == 207


@pytest.mark.parametrize(
    ("name", "usd"),
    [("m2.xlarge", 0.41), ("m1.large", 0.24), ("r3.xlarge", 0.35), ("m3.2xlarge", 0.532)],
)
def test_papers_have_the_prices_of_their_time(papers: Catalog, name: str, usd: float) -> None:
    offer = papers.offer(name)
    assert offer.on_demand.usd_per_hour == usd
    assert offer.on_demand.date < date(2016, 1, 1)
    assert len(offer.history) >= 2


def test_papers_bill_what_ran_and_filter_nothing(papers: Catalog) -> None:
    billing = papers.billing
    timing = (billing.granularity_seconds, billing.minimum_seconds, billing.startup_seconds)
    assert timing == (0, 0, 0)
    assert (billing.master, billing.surcharge_fraction, billing.discount_fraction) == (None, 0, 0)
    assert not papers.filtered_by_default
    assert papers.historic


def test_azure_is_whole() -> None:
    azure = load_catalog("azure")
    assert len(azure.offers) == 660
    assert (azure.region, azure.date, azure.currency) == ("eastus", date(2026, 6, 18), "USD")
    d4 = azure.offer("Standard_D4s_v5")
    assert (d4.instance.vcpus, d4.instance.memory_gib, d4.on_demand.usd_per_hour) == (4, 16, 0.192)
    assert all(offer.instance.cpu_score is None for offer in azure.offers.values())
    assert azure.median_cpu_scores_per_vcpu == {}
    assert azure.billing.usd_per_dbu is None
    assert sum(offer.instance.arch == "arm64" for offer in azure.offers.values()) == 88


def test_what_was_inferred_of_azure_is_labelled() -> None:
    """Four series may have been corrected for a Windows surcharge; spot is a fixed share."""
    offers = load_catalog("azure").offers.values()
    inferred = [offer for offer in offers if offer.on_demand.estimated]
    assert len(inferred) == 34
    assert all("Windows surcharge" in offer.on_demand.source for offer in inferred)
    assert load_catalog("azure").offer("Standard_E8as_v5").on_demand.estimated
    spots = [offer.spot for offer in offers if offer.spot]
    assert len(spots) == 148
    assert all(spot.estimated for spot in spots)


def test_databricks_on_azure_knows_its_dbus() -> None:
    catalog = load_catalog("azure-databricks")
    assert len(catalog.offers) == 173
    assert all(offer.dbu_per_hour for offer in catalog.offers.values())
    d16 = catalog.offer("Standard_D16s_v3")
    assert d16.dbu_per_hour == 3
    assert d16.on_demand == load_catalog("azure").offer("Standard_D16s_v3").on_demand
    assert (catalog.billing.usd_per_dbu, catalog.billing.dbu_date) == (0.3, date(2023, 6, 20))
    assert "premium-jobs" in str(catalog.billing.dbu_note)
    assert list(catalog.dbu_tiers) == ["premium-jobs"]


def test_gcp_is_whole() -> None:
    gcp = load_catalog("gcp")
    assert len(gcp.offers) == 183
    n2 = gcp.offer("n2-standard-4").instance
    assert (n2.vcpus, n2.memory_gib, n2.cpu_benchmark) == (4, 16, "coremark")
    assert sum(offer.instance.cpu_score is None for offer in gcp.offers.values()) == 14
    assert gcp.billing.surcharge_usd_per_vcpu_hour == 0.01
    assert (gcp.billing.granularity_seconds, gcp.billing.minimum_seconds) == (1, 60)
    assert gcp.memory_rule.share == 0.8
    assert gcp.memory_rule.note
    spots = {name.split("-")[0] for name, offer in gcp.offers.items() if offer.spot}
    assert spots == {"n2d"}


def test_two_campaigns_of_one_benchmark_agree_on_equal_processors(aws: Catalog) -> None:
    """Why scores of two providers are compared at all: N2 and M6i, N2D and M6a, C2D and C6a."""
    gcp = load_catalog("gcp")
    pairs = [("n2", "m6i"), ("n2d", "m6a"), ("c2d", "c6a")]
    for google, amazon in pairs:
        one = gcp.offer(f"{google}-standard-4").instance.cpu_score_per_vcpu
        other = aws.offer(f"{amazon}.xlarge").instance.cpu_score_per_vcpu
        assert one == pytest.approx(other, rel=0.1)


def test_a_bundled_catalog_is_read_once_until_a_file_of_it_is_modified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(bundled_folder(), tmp_path / "catalogs"))
    for module in (index, reader):
        monkeypatch.setattr(module, "bundled_folder", lambda: folder)
    first = load_catalog("gcp")
    assert load_catalog("gcp") is first
    shapes = folder / "gcp.shapes.yaml"
    text = shapes.read_text()
    row = next(line for line in text.splitlines() if line.strip().startswith("n2-standard-4,"))
    shapes.write_text(text.replace(row, row.replace(",4,", ",5,", 1)))
    os.utime(shapes, ns=(1, 1))
    assert load_catalog("gcp").offer("n2-standard-4").instance.vcpus == 5
    assert first.offer("n2-standard-4").instance.vcpus == 4
