import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import Catalog
from engine.catalog_files.index import list_catalogs
from engine.catalog_files.reader import load_catalog
from engine.catalog_files.writer import price_file_text
from engine.errors import BadInput, EngineError
from engine.refresh import refresh_catalog

DAY = date(2026, 11, 1)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refreshed(base: str, *files: Path, into: Path, **options: Any) -> tuple[Any, Catalog]:
    done = refresh_catalog(load_catalog(base), files, into, today=DAY, **options)
    assert sorted(into.iterdir()) == [done.path]
    return done, load_catalog(done.path)


def aws_product(name: str, sku: str, **other: str) -> dict[str, Any]:
    attributes = {
        "servicecode": "AmazonEC2",
        "regionCode": "us-east-1",
        "instanceType": name,
        "vcpu": "4",
        "memory": "16 GiB",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "capacitystatus": "Used",
        "preInstalledSw": "NA",
        "operation": "RunInstances",
        "networkPerformance": "Up to 10 Gigabit",
    }
    return {"sku": sku, "productFamily": "Compute Instance", "attributes": attributes | other}


def aws_term(sku: str, usd: str, unit: str = "Hrs") -> dict[str, Any]:
    dimension = {"unit": unit, "pricePerUnit": {"USD": usd}, "appliesTo": []}
    return {f"{sku}.JRTCKXETXF": {"priceDimensions": {f"{sku}.JRTCKXETXF.6YS6EN2CT7": dimension}}}


def aws_offer(*products: tuple[dict[str, Any], str]) -> str:
    """An offer file as AWS writes it, with the storage and the reserved terms that others have."""
    storage = {"sku": "EBS", "productFamily": "Storage", "attributes": {"volumeApiName": "gp3"}}
    return json.dumps(
        {
            "formatVersion": "v1.0",
            "offerCode": "AmazonEC2",
            "publicationDate": "2026-10-30T17:02:11Z",
            "products": {"EBS": storage, **{p["sku"]: p for p, _ in products}},
            "terms": {
                "OnDemand": {
                    "EBS": aws_term("EBS", "0.08", "GB-Mo"),
                    **{p["sku"]: aws_term(p["sku"], usd) for p, usd in products},
                },
                "Reserved": {"A": {"A.X": {"priceDimensions": {}, "termAttributes": {}}}},
            },
        }
    )


AWS_OFFER = aws_offer(
    (aws_product("m5.xlarge", "A"), "0.1820000000"),
    (aws_product("m5.xlarge", "B", operatingSystem="Windows"), "0.3760000000"),
    (aws_product("m5.xlarge", "C", tenancy="Dedicated"), "0.2030000000"),
    (aws_product("m5.xlarge", "D", preInstalledSw="SQL Std"), "0.6720000000"),
    (aws_product("m5.xlarge", "E", capacitystatus="UnusedCapacityReservation"), "0.192"),
    (aws_product("r5.xlarge", "F"), "0.2520000000"),
    (aws_product("x99.xlarge", "G", vcpu="8", memory="1,024 GiB"), "1.5000000000"),
    (aws_product("x99.metal", "H", vcpu="NA", memory="NA"), "9.0000000000"),
    (aws_product("c5.xlarge", "I"), "0.1700000000"),
    (aws_product("c5.xlarge", "J"), "0.1600000000"),
    (aws_product("c5.large", "K"), "0.0000000000"),
)


def test_an_aws_offer_file(tmp_path: Path) -> None:
    into = tmp_path / "mine"
    done, catalog = refreshed("aws", write(tmp_path, "index.json", AWS_OFFER), into=into)
    assert done.path.name == "aws.us-east-1.2026-10-30.prices.yaml"
    assert set(catalog.offers) == {"m5.xlarge", "r5.xlarge", "x99.xlarge"}
    m5 = catalog.offer("m5.xlarge")
    assert m5.on_demand.usd_per_hour == 0.182
    assert m5.on_demand.date == date(2026, 10, 30)
    assert "AWS price list" in m5.on_demand.source
    assert m5.history[-1].usd_per_hour == 0.192
    assert m5.history[-1].date == date(2026, 7, 20)
    assert m5.instance == load_catalog("aws").offer("m5.xlarge").instance
    new = catalog.offer("x99.xlarge").instance
    assert (new.vcpus, new.memory_gib, new.cpu_score) == (8, 1024, None)
    assert (done.compared, done.shapeless, done.ambiguous) == (2, ("x99.metal",), ("c5.xlarge",))
    assert [(c.instance, c.before_usd, c.after_usd) for c in done.changes] == [
        ("m5.xlarge", 0.192, 0.182)
    ]
    assert done.median_change == pytest.approx(0.182 / 0.192 - 1)
    assert len(done.gone) == 1025


def test_what_is_no_hour_of_a_plain_machine_is_no_price_of_it(tmp_path: Path) -> None:
    offer = json.loads(AWS_OFFER)
    for sku, operation, unit in (("S1", "RunInstances:0102", "Hrs"), ("S2", "", "Quantity")):
        offer["products"][sku] = aws_product("m5.xlarge", sku, operation=operation)
        offer["terms"]["OnDemand"] |= {sku: aws_term(sku, "9.0", unit=unit)}
    file = write(tmp_path, "index.json", json.dumps(offer))
    _, catalog = refreshed("aws", file, into=tmp_path / "mine")
    assert catalog.offer("m5.xlarge").on_demand.usd_per_hour == 0.182


def test_every_price_of_a_table_keeps_the_date_of_its_row(tmp_path: Path) -> None:
    """All took the newest, also that of another region: an old price was not warned of any more."""
    rows = ["m5.xlarge,1,,2025-10-01,a", "r5.xlarge,2,0.5,2026-10-09,a", "c5.xlarge,3,,,a"]
    rows += ["m5.xlarge,4,,2026-10-31,b"]
    text = "\n".join(["name,usd_per_hour,spot_usd_per_hour,date,region", *rows])
    done, catalog = refreshed(
        "aws", write(tmp_path, "p.csv", text), into=tmp_path / "mine", region="a"
    )
    assert done.day == catalog.date == date(2026, 10, 9)
    dates = {name: offer.on_demand.date for name, offer in catalog.offers.items()}
    assert dates == {
        "m5.xlarge": date(2025, 10, 1),
        "r5.xlarge": date(2026, 10, 9),
        "c5.xlarge": date(2026, 10, 9),
    }
    assert catalog.offer("r5.xlarge").spot.date == date(2026, 10, 9)
    assert done.kept_spot == 0


def test_spot_prices_that_the_list_lacks_keep_their_date_and_label(tmp_path: Path) -> None:
    done, catalog = refreshed(
        "aws", write(tmp_path, "index.json", AWS_OFFER), into=tmp_path / "mine"
    )
    spot, old = catalog.offer("m5.xlarge").spot, load_catalog("aws").offer("m5.xlarge").spot
    assert spot == old
    assert done.kept_spot == 2
    assert catalog.billing == load_catalog("aws").billing
    assert catalog.memory_rule == load_catalog("aws").memory_rule
    assert catalog.managed_only


AWS_COLUMNS = {
    "TermType": "OnDemand",
    "Unit": "Hrs",
    "PricePerUnit": "0.1820000000",
    "Currency": "USD",
    "Instance Type": "m5.xlarge",
    "vCPU": "4",
    "Memory": "16 GiB",
    "Operating System": "Linux",
    "Tenancy": "Shared",
    "CapacityStatus": "Used",
    "Pre Installed S/W": "NA",
    "operation": "RunInstances",
    "Region Code": "us-east-1",
}
"""The columns of the CSV twin that are read, and its row of an m5.xlarge."""


def aws_csv(*rows: dict[str, str], without: str = "") -> str:
    """The CSV twin of an offer file: each row as above, but for what it says itself."""
    head = ["FormatVersion,v1.0", "Disclaimer,x", "Publication Date,2026-10-30T17:02:11Z"]
    head += ["Version,1", "OfferCode,AmazonEC2"]
    columns = [name for name in AWS_COLUMNS if name != without]
    table = [columns, *([(AWS_COLUMNS | row)[name] for name in columns] for row in rows)]
    lines = [*(line.split(",") for line in head), *table]
    return "\n".join(",".join(f'"{cell}"' for cell in cells) for cells in lines)


def test_the_csv_twin_says_the_same(tmp_path: Path) -> None:
    """Of a type with a second, unlike price neither would be taken."""
    others = [
        {"TermType": "Reserved"},
        {"Unit": "Quantity"},
        {"Currency": "CNY"},
        {"Operating System": "Windows"},
        {"Tenancy": "Dedicated"},
        {"CapacityStatus": "UnusedCapacityReservation"},
        {"Pre Installed S/W": "SQL Std"},
        {"operation": "RunInstances:0002"},
        {"PricePerUnit": ""},
    ]
    rows = [{}, *({"PricePerUnit": "0.1"} | other for other in others)]
    file = write(tmp_path, "index.csv", aws_csv(*rows))
    done, catalog = refreshed("aws", file, into=tmp_path / "mine")
    assert catalog.offer("m5.xlarge").on_demand.usd_per_hour == 0.182
    assert (done.types, done.day, done.ambiguous) == (1, date(2026, 10, 30), ())


def test_an_offer_of_several_regions(tmp_path: Path) -> None:
    dear = aws_product("m5.xlarge", "B", regionCode="eu-west-1")
    offer = aws_offer((aws_product("m5.xlarge", "A"), "0.182"), (dear, "0.214"))
    table = aws_csv({}, {"Region Code": "eu-west-1", "PricePerUnit": "0.214"})
    for name, text in (("index.json", offer), ("index.csv", table)):
        file, into = write(tmp_path, name, text), tmp_path / f"of {name}"
        with pytest.raises(BadInput, match=r"2 regions.*--region.*eu-west-1, us-east-1"):
            refresh_catalog(load_catalog("aws"), [file], into, today=DAY)
        done, catalog = refreshed("aws", file, into=into, region="eu-west-1")
        assert done.region == "eu-west-1"
        assert catalog.offer("m5.xlarge").on_demand.usd_per_hour == 0.214


def test_of_several_files_the_newest_day_counts(tmp_path: Path) -> None:
    first = write(tmp_path, "1.csv", aws_csv({}))
    text = aws_csv({"Instance Type": "r5.xlarge"}).replace("2026-10-30", "2026-10-31")
    done, _ = refreshed("aws", first, write(tmp_path, "2.csv", text), into=tmp_path / "mine")
    assert (done.types, done.day) == (2, date(2026, 10, 31))


def azure_item(sku: str, usd: float, **other: Any) -> dict[str, Any]:
    item = {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": usd,
        "unitPrice": usd,
        "armRegionName": "eastus",
        "location": "US East",
        "effectiveStartDate": "2022-01-01T00:00:00Z",
        "meterName": "D4s v5",
        "productName": "Virtual Machines Dsv5 Series",
        "skuName": "D4s v5",
        "serviceName": "Virtual Machines",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
        "armSkuName": sku,
    }
    return item | other


def azure_page(*items: dict[str, Any], more: bool = False) -> dict[str, Any]:
    link = "https://prices.azure.com/api/retail/prices?$skip=100" if more else None
    return {"BillingCurrency": "USD", "Items": list(items), "NextPageLink": link, "Count": 1}


AZURE_ITEMS = (
    azure_item("Standard_D4s_v5", 0.2),
    azure_item("Standard_D4s_v5", 0.384, productName="Virtual Machines Dsv5 Series Windows"),
    azure_item("Standard_D4s_v5", 0.05, skuName="D4s v5 Spot", meterName="D4s v5 Spot"),
    azure_item("Standard_D4s_v5", 0.04, skuName="D4s v5 Low Priority"),
    azure_item("Standard_D4s_v5", 900.0, type="Reservation", reservationTerm="1 Year"),
    azure_item("Standard_D4s_v5", 0.15, tierMinimumUnits=1000.0),
    azure_item("Standard_D4s_v5", 0.21, isPrimaryMeterRegion=False),
    azure_item("Standard_D4ds_v5", 0.226),
    azure_item("Standard_NEW_v9", 1.0),
    azure_item("Standard_D4s_v3", 0.3, productName="Dsv3 Series Cloud Services"),
    azure_item("Standard_D4s_v5", 0.03, meterName="D4s v5 Low Priority"),
    azure_item("Standard_D4s_v5", 0.01, serviceName="Virtual Machines Licenses"),
    azure_item("Standard_D4s_v5", 140.0, unitOfMeasure="1/Month"),
)


def test_azure_retail_prices(tmp_path: Path) -> None:
    file = write(tmp_path, "prices.json", json.dumps(azure_page(*AZURE_ITEMS)))
    done, catalog = refreshed("azure", file, into=tmp_path / "mine")
    assert done.path.name == "azure.eastus.2026-11-01.prices.yaml"
    offer = catalog.offer("Standard_D4s_v5")
    assert offer.on_demand.usd_per_hour == 0.2
    assert (offer.spot.usd_per_hour, offer.spot.estimated) == (0.05, False)
    assert offer.spot.date == offer.on_demand.date == DAY
    assert done.shapeless == ("Standard_NEW_v9",)
    assert set(catalog.offers) == {"Standard_D4s_v5", "Standard_D4ds_v5"}


def test_all_pages_are_needed(tmp_path: Path) -> None:
    first = write(tmp_path, "1.json", json.dumps(azure_page(AZURE_ITEMS[0], more=True)))
    last = write(tmp_path, "2.json", json.dumps(azure_page(AZURE_ITEMS[7])))
    with pytest.raises(BadInput, match="goes on on a further page"):
        refresh_catalog(load_catalog("azure"), [first], tmp_path / "mine", today=DAY)
    done, _ = refreshed("azure", first, last, into=tmp_path / "mine")
    assert done.types == 2


def test_pages_in_one_file_as_windows_saves_it(tmp_path: Path) -> None:
    """With a byte order mark before them they were refused as no price list."""
    pages = [azure_page(AZURE_ITEMS[0], more=True), azure_page(AZURE_ITEMS[7])]
    file = write(tmp_path, "prices.json", "\ufeff" + json.dumps(pages))
    done, _ = refreshed("azure", file, into=tmp_path / "mine")
    assert done.types == 2


def test_dbus_and_their_prices_stay(tmp_path: Path) -> None:
    file = write(tmp_path, "prices.json", json.dumps(azure_page(*AZURE_ITEMS)))
    _, catalog = refreshed("azure-databricks", file, into=tmp_path / "mine")
    base = load_catalog("azure-databricks")
    name = "Standard_D4ds_v5"
    assert catalog.offer(name).dbu_per_hour == base.offer(name).dbu_per_hour
    assert catalog.billing == base.billing
    assert catalog.dbu_tiers == base.dbu_tiers


def test_a_table_for_any_provider_and_another_region(tmp_path: Path) -> None:
    rows = "name,usd_per_hour,region,date\nn2-standard-4,0.25,europe-west4,2026-09-01\n"
    done, catalog = refreshed("gcp", write(tmp_path, "p.csv", rows), into=tmp_path / "mine")
    assert (done.compared, done.changes, done.median_change) == (0, (), None)
    assert (catalog.region, catalog.date) == ("europe-west4", date(2026, 9, 1))
    assert catalog.note is None, "the base's note speaks of its own region"
    assert catalog.offer("n2-standard-4").history == ()
    assert catalog.offer("n2-standard-4").instance.cpu_benchmark == "coremark"


def test_a_folder_of_several_regions(tmp_path: Path) -> None:
    into = tmp_path / "mine"
    for region, usd in (("us-central1", 0.2), ("europe-west4", 0.25)):
        rows = f"name,usd_per_hour,region\nn2-standard-4,{usd},{region}\n"
        refresh_catalog(
            load_catalog("gcp"), [write(tmp_path, "p.csv", rows)], into, today=DAY, region=region
        )
    assert [entry.region for entry in list_catalogs(into)] == ["europe-west4", "us-central1"]
    dutch = load_catalog(into, region="europe-west4")
    assert dutch.offer("n2-standard-4").on_demand.usd_per_hour == 0.25
    with pytest.raises(BadInput, match=r"several regions.*--region.*europe-west4, us-central1"):
        load_catalog(into)
    with pytest.raises(
        EngineError, match=r"'europe-west5'.*\(choices: europe-west4, us-central1\)"
    ):
        load_catalog(into, region="europe-west5")


@pytest.mark.parametrize("name", ["aws", "azure", "azure-databricks", "gcp"])
def test_every_catalog_written_and_read_is_the_same(tmp_path: Path, name: str) -> None:
    catalog = load_catalog(name)
    source = next(iter(catalog.offers.values())).on_demand.source
    copy = load_catalog(write(tmp_path, "copy.yaml", price_file_text(catalog, source)))
    assert copy.billing == catalog.billing
    assert copy.memory_rule == catalog.memory_rule
    assert set(copy.offers) == set(catalog.offers)
    for offer in catalog.offers.values():
        again = copy.offer(offer.instance.name)
        assert again.instance == offer.instance
        assert again.on_demand.usd_per_hour == offer.on_demand.usd_per_hour
        for field in ("spot", "history", "dbu_per_hour", "surcharge"):
            assert getattr(again, field) == getattr(offer, field)


def test_a_catalog_of_ones_own_keeps_its_shapes(tmp_path: Path) -> None:
    text = "date: 2026-05-01\nsource: x\nregion: cellar\ncpu_benchmark: passmark\ninstances: |\n"
    text += "  name,vcpus,memory_gib,usd_per_hour,cpu_score,arch\n  big,16,64,0.4,3100.5,arm64\n"
    own = write(tmp_path, "ours.yaml", text)
    prices = write(tmp_path, "p.csv", "name,usd_per_hour\nbig,0.3\n")
    done, catalog = refreshed(str(own), prices, into=tmp_path / "mine")
    assert catalog.offer("big").instance == load_catalog(own).offer("big").instance
    assert (done.changes[0].after_usd, catalog.region) == (0.3, "cellar")


@pytest.mark.parametrize(
    ("base", "text", "message"),
    [
        ("aws", "{", "not a price list of aws"),
        ("aws", '{"products": {}, "terms": {"OnDemand": {}}}', "holds no hourly price of a Linux"),
        ("aws", "name,price\nm5.xlarge,1\n", "p:1: column usd_per_hour is missing"),
        ("aws", "name,usd_per_hour\nm5.xlarge,cheap\n", "p:2: usd_per_hour must be a number above"),
        ("aws", "name,usd_per_hour\n,1\n", "p:2: name is missing"),
        ("aws", "name,usd_per_hour\nnothing,1\n", "no type of catalog aws is in the list"),
        ("aws", "name,usd_per_hour\nc5.xlarge,1\n", "the master's type m5.xlarge has no price"),
        ("aws", "name,usd_per_hour,date\nm5.xlarge,1,soon\n", "p:2: date must be like"),
        ("aws", "name,usd_per_hour,region\nm5.xlarge,1,../x\n", "cannot be a part of a file"),
        ("aws", "name,usd_per_hour,region\na,1,x\nb,1,y\n", "prices of 2 regions.*--region"),
        ("aws", "name,usd_per_hour\nm5.xlarge,1,192\n", "p:2: 3 values in a table of 2 columns"),
        ("aws", "name,usd_per_hour,region\nm5.xlarge,1\n", "p:2: 2 values in a table of 3"),
        ("aws", "name,usd_per_hour,spot_usd_per_hr\na,1,1\n", "p:1: .*mean spot_usd_per_hour"),
        ("aws", "name,instance_type,usd_per_hour\nA,a,1\n", "p:1: column name twice"),
        ("aws", "name,usd_per_hour,currency\nm5.xlarge,1,EUR\n", "p:2: a price in EUR; give"),
        ("azure", '{"Items": [], "x": ' + "[" * 100_000, "azure: nested too deeply"),
        ("aws", aws_csv({}, without="Tenancy"), "p:6: column 'Tenancy' is missing"),
        ("gcp", "{}", "no JSON price list of gcp is understood"),
        ("azure", json.dumps({"Items": [{"retailPrice": "dear"}]}), "not a price list of azure"),
        (
            "azure",
            json.dumps(azure_page(azure_item("Standard_D4s_v5", 0.2, currencyCode="EUR"))),
            "prices in EUR; ask for USD",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, base: str, text: str, message: str) -> None:
    into = tmp_path / "mine"
    with pytest.raises(BadInput, match=message) as caught:
        refresh_catalog(load_catalog(base), [write(tmp_path, "p", text)], into, today=DAY)
    assert "\n" not in str(caught.value)
    assert not into.exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    prices = write(tmp_path, "p.csv", "name,usd_per_hour\nm5.xlarge,1\n")
    done, _ = refreshed("aws", prices, into=tmp_path / "mine")
    before = done.path.read_bytes()
    with pytest.raises(BadInput, match="is there already"):
        refresh_catalog(load_catalog("aws"), [prices], tmp_path / "mine", today=DAY)
    assert done.path.read_bytes() == before
    with pytest.raises(BadInput, match="cannot be read"):
        refresh_catalog(load_catalog("aws"), [tmp_path / "none"], tmp_path / "mine", today=DAY)
