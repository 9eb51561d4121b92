"""EMR's own price list beside that of EC2: its fee for each type."""

import json
from datetime import date
from pathlib import Path

import pytest

from engine.catalog_files.reader import load_catalog
from engine.cost import billing_notes, surcharge_rate
from engine.errors import BadInput
from engine.refresh import refresh_catalog

DAY = date(2026, 11, 2)


def offer_file(
    path: Path, products: list[tuple[dict[str, str], str]], published: str | None = "2026-10-30"
) -> Path:
    """An offer file as AWS writes it."""
    found, terms = {}, {}
    for number, (attributes, usd) in enumerate(products):
        sku = f"S{number}"
        found[sku] = {"sku": sku, "attributes": {"regionCode": "us-east-1"} | attributes}
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": usd}}
        terms[sku] = {f"{sku}.T": {"priceDimensions": {f"{sku}.T.D": dimension}}}
    date_of_file = {} if published is None else {"publicationDate": f"{published}T17:02:11Z"}
    text = json.dumps({**date_of_file, "products": found, "terms": {"OnDemand": terms}})
    path.write_text(text, encoding="utf-8")
    return path


def machine(name: str) -> dict[str, str]:
    return {
        "instanceType": name, "operatingSystem": "Linux", "tenancy": "Shared",
        "capacitystatus": "Used", "preInstalledSw": "NA", "operation": "RunInstances",
    }  # fmt: skip


def fee(name: str, software: str = "EMR", **other: str) -> dict[str, str]:
    return {
        "servicecode": "ElasticMapReduce", "instanceType": name, "softwareType": software
    } | other  # fmt: skip


EC2 = [
    (machine("m5.xlarge"), "0.192"),
    (machine("m5.24xlarge"), "4.608"),
    (machine("m6i.8xlarge"), "1.536"),
    (machine("c5.18xlarge"), "3.06"),
]
EMR = [
    (fee("m5.xlarge"), "0.0480000000"),
    (fee("m6i.8xlarge"), "0.3840000000"),
    (fee("m6i.8xlarge", "MapR M7"), "0.9000000000"),
    (fee("x99.xlarge"), "0.1000000000"),
    (fee("c5.18xlarge"), "0.2700000000"),
    (fee("c5.18xlarge"), "0.2800000000"),
]


@pytest.mark.parametrize("emr_first", [False, True])
def test_fees_of_the_list_come_before_those_that_were_known(
    tmp_path: Path, emr_first: bool
) -> None:
    files = [offer_file(tmp_path / "ec2.json", EC2), offer_file(tmp_path / "emr.json", EMR)]
    base = load_catalog("aws")
    done = refresh_catalog(base, files[:: -1 if emr_first else 1], tmp_path / "out", today=DAY)
    fresh = load_catalog(done.path)
    assert (done.types, done.surcharges, done.ambiguous) == (4, 2, ("c5.18xlarge",))
    for name, usd in (("m5.xlarge", 0.048), ("m6i.8xlarge", 0.384)):
        published = fresh.offer(name).surcharge
        assert (published.usd_per_hour, published.estimated) == (usd, False)
        assert (published.date, published.source) == (date(2026, 10, 30), "AWS price list, EMR")
        assert surcharge_rate(fresh.offer(name), fresh.billing) == usd
        assert fresh.offer(name).on_demand.source == "AWS price list, EC2 on demand, Linux"
    for name in ("m5.24xlarge", "c5.18xlarge"):
        assert fresh.offer(name).surcharge == base.offer(name).surcharge
    assert not any(
        "surcharge" in x for x in billing_notes(fresh.billing, [fresh.offer("m5.xlarge")])
    )


def test_fees_alone_are_no_prices(tmp_path: Path) -> None:
    file = offer_file(tmp_path / "emr.json", EMR)
    with pytest.raises(BadInput, match="no type of catalog aws is in the list"):
        refresh_catalog(load_catalog("aws"), [file], tmp_path / "out", today=DAY)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("emr_first", [False, True])
def test_a_price_and_a_fee_are_each_of_the_day_of_their_own_list(
    tmp_path: Path, emr_first: bool
) -> None:
    """EC2's prices had EMR's later date, so that nobody was told that they were old."""
    files = [
        offer_file(tmp_path / "ec2.json", EC2, "2026-08-01"),
        offer_file(tmp_path / "emr.json", EMR, "2026-11-20"),
    ]
    done = refresh_catalog(
        load_catalog("aws"), files[:: -1 if emr_first else 1], tmp_path / "out", today=DAY
    )
    fresh = load_catalog(done.path)
    assert done.day == fresh.date == date(2026, 8, 1)
    priced = fresh.offer("m5.xlarge")
    assert (priced.on_demand.date, priced.surcharge.date) == (date(2026, 8, 1), date(2026, 11, 20))


def test_prices_without_a_date_are_of_today_whatever_the_date_of_the_fees(tmp_path: Path) -> None:
    files = [
        offer_file(tmp_path / "ec2.json", EC2, None),
        offer_file(tmp_path / "emr.json", EMR, "2026-08-01"),
    ]
    done = refresh_catalog(load_catalog("aws"), files, tmp_path / "out", today=DAY)
    priced = load_catalog(done.path).offer("m5.xlarge")
    assert (done.day, priced.on_demand.date, priced.surcharge.date) == (DAY, DAY, date(2026, 8, 1))


@pytest.mark.parametrize("emr_first", [False, True])
def test_fees_for_a_catalog_that_bills_none_are_refused(tmp_path: Path, emr_first: bool) -> None:
    files = [offer_file(tmp_path / "ec2.json", EC2), offer_file(tmp_path / "emr.json", EMR)]
    files = files[:: -1 if emr_first else 1]
    with pytest.raises(BadInput, match=r"emr.json: fees of EMR, for which catalog papers bills"):
        refresh_catalog(load_catalog("papers"), files, tmp_path / "out", today=DAY)
