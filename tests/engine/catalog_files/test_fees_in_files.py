"""Fees of the managed service by type, as a catalog file says them."""

from datetime import date
from pathlib import Path

import pytest
from user_catalogs import problem, write

from engine.catalog import Price
from engine.catalog_files.reader import load_catalog
from engine.catalog_files.writer import price_file_text
from engine.refresh import refresh_catalog

FILE = """\
provider: ours
region: cellar
date: 2026-05-01
source: rate card
billing: {surcharge_fraction: 0.25}
instances: |
  name,vcpus,memory_gib,usd_per_hour
  small,4,16,0.1
  big,16,64,0.4
surcharges: |
  name,usd_per_hour,date,source,estimated
  big,0.07,2026-04-01,"price page, read twice",true
"""
SAID = Price(0.07, date(2026, 4, 1), "price page, read twice", estimated=True)


def test_a_fee_of_a_type(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, FILE))
    assert catalog.offer("small").surcharge is None
    assert catalog.offer("big").surcharge == SAID
    written = price_file_text(catalog, "rate card")
    assert load_catalog(write(tmp_path, written, "again.yaml")).offer("big").surcharge == SAID


def test_date_and_source_of_the_file_hold_for_fees_without_their_own(tmp_path: Path) -> None:
    text = FILE.partition("surcharges")[0] + "surcharges: [{name: small, usd_per_hour: 0.02}]\n"
    fee = load_catalog(write(tmp_path, text)).offer("small").surcharge
    assert fee == Price(0.02, date(2026, 5, 1), "rate card")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("big,0.07", "bug,0.07", "ours.yaml:10: unknown instance type 'bug'"),
        ("big,0.07", "big,0", "ours.yaml:12: big: usd_per_hour must be more than 0, not 0"),
        ("big,0.07", "big,-0.07", "ours.yaml:12: big: usd_per_hour must be more than 0, not -0.07"),
        ("big,0.07", "big,", "ours.yaml:12: a price without usd_per_hour"),
        ("2026-04-01", "April", "ours.yaml:12: big: date must be"),
        (",true", ",perhaps", "ours.yaml:12: big: estimated must be"),
        (",estimated", ",estimate", "ours.yaml:11: unknown column 'estimate'"),
        (
            "  big,0.07",
            "  big,0.06,2026-05-01,x,\n  big,0.07",
            "ours.yaml:13: big stands here for the second time",
        ),
        (
            "{surcharge_fraction: 0.25}",
            "{surcharge_usd_per_vcpu_hour: 0.01}",
            "ours.yaml:10: surcharges without surcharge_fraction",
        ),
    ],
)
def test_what_is_wrong_with_fees(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FILE
    assert problem(tmp_path, FILE.replace(old, new)).startswith(message)


def test_a_fee_without_an_amount_in_another_currency_is_told_the_column_that_fees_have(
    tmp_path: Path,
) -> None:
    """It named price_per_hour, which is refused there: fees are in USD."""
    rate = "currency: EUR\nexchange: {usd: 1.1, date: 2026-05-01, source: bank}\n"
    text = rate + FILE.replace("memory_gib,usd_per_hour", "memory_gib,price_per_hour")
    assert load_catalog(write(tmp_path, text)).offer("big").surcharge == SAID
    told = problem(tmp_path, text.replace("big,0.07", "big,"))
    assert told.startswith("ours.yaml:14: a price without usd_per_hour")
    told = problem(tmp_path, text.replace("big,16,64,0.4", "big,16,64,"))
    assert told.startswith("ours.yaml:11: a price without price_per_hour")


def test_new_prices_keep_the_fees_of_their_region(tmp_path: Path) -> None:
    base = load_catalog(write(tmp_path, FILE))
    day = date(2026, 6, 1)
    for region, kept in (("cellar", SAID), ("attic", None)):
        rows = f"name,usd_per_hour,region\nbig,0.5,{region}\n"
        done = refresh_catalog(base, [write(tmp_path, rows, "p.csv")], tmp_path / region, today=day)
        assert load_catalog(done.path).offer("big").surcharge == kept
