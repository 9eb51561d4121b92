"""Files of prices as a user writes them: fees by type, currencies, DBUs."""

from datetime import date
from pathlib import Path

import pytest
from user_catalogs import problem, write

from engine.catalog import Price
from engine.catalog_files.reader import load_catalog
from engine.catalog_files.writer import price_file_text
from engine.choosing.answer_notices import rate_notices
from engine.errors import BadInput
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


EURO_FILE = """\
date: 2026-05-01
source: card
currency: EUR
exchange: {usd: 1.25, date: 2026-04-30, source: the bank}
instances: |
  name,vcpus,memory_gib,price_per_hour,spot_price_per_hour
  small,4,16,0.2,0.1
history: |
  name,price_per_hour,date
  small,0.4,2025-01-01
"""


def test_prices_in_another_currency_are_converted_by_the_files_rate(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, EURO_FILE))
    small = catalog.offer("small")
    assert small.on_demand.usd_per_hour == pytest.approx(0.25)
    assert small.spot.usd_per_hour == pytest.approx(0.125)
    assert small.history[0].usd_per_hour == pytest.approx(0.5)
    assert catalog.currency == "EUR"
    assert (catalog.exchange.usd, catalog.exchange.source) == (1.25, "the bank")


def test_an_old_exchange_rate_is_said(tmp_path: Path) -> None:
    """New prices by a rate of long ago were taken for prices of today."""
    catalog = load_catalog(write(tmp_path, EURO_FILE))
    (notice,) = rate_notices(catalog.billing, catalog, date(2026, 12, 1))
    assert notice.code == "old-price"
    assert notice.text == "the exchange rate of EUR is 215 days old (2026-04-30)"
    assert rate_notices(catalog.billing, catalog, date(2026, 6, 1)) == ()
    (ahead,) = rate_notices(catalog.billing, catalog, date(2026, 4, 1))
    assert ahead.code == "future-price"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("exchange: {usd: 1.25, date: 2026-04-30, source: the bank}\n", "", "without a rate"),
        ("usd: 1.25", "usd: 0", "ours.yaml:4: usd must be more than 0"),
        ("currency: EUR", "currency: euro", "ours.yaml:3: currency must be a currency code"),
        ("currency: EUR", "currency: USD", "ours.yaml:4: an exchange rate, but the prices are in"),
        (",price_per_hour,spot", ",usd_per_hour,spot", "column usd_per_hour in a file in EUR"),
        ("name,price_per_hour,date", "name,usd_per_hour,date", "column usd_per_hour in a file in"),
        ("small,4,16,0.2", "small,4,16,", "ours.yaml:7: a price without price_per_hour"),
    ],
)
def test_currencies_are_never_mixed(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in EURO_FILE
    assert message in problem(tmp_path, EURO_FILE.replace(old, new, 1))


def test_a_catalog_in_another_currency_is_not_refreshed(tmp_path: Path) -> None:
    """Lists are in USD: its file would then hold dollars as if they were euros."""
    (prices := tmp_path / "p.csv").write_text("name,usd_per_hour\nsmall,0.2\n")
    base = load_catalog(write(tmp_path, EURO_FILE))
    with pytest.raises(BadInput, match="is in EUR; only USD is refreshed"):
        refresh_catalog(base, [prices], tmp_path / "new")
    assert not (tmp_path / "new").exists()


DBU_FILE = """\
date: 2026-05-01
source: card
dbu: {tier: jobs, date: 2026-05-01, source: sheet}
dbu_tiers: |
  name,usd_per_dbu,date,source
  jobs,0.3,2026-05-01,sheet
  all-purpose,0.55,2026-05-01,sheet
instances: |
  name,vcpus,memory_gib,usd_per_hour,dbu_per_hour
  small,4,16,0.2,0.75
"""


def test_dbus_of_ones_own(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, DBU_FILE))
    assert catalog.billing.usd_per_dbu == 0.3
    dearer = catalog.with_terms(dbu="all-purpose")
    assert dearer.billing.usd_per_dbu == 0.55
    assert "all-purpose" in str(dearer.billing.dbu_note)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tier: jobs", "tier: job", "ours.yaml:3: unknown DBU tier 'job'; did you mean jobs?"),
        ("0.2,0.75", "0.2,", "ours.yaml:10: small: dbu_per_hour is missing"),
        ("jobs,0.3,", "jobs,-1,", "ours.yaml:6: jobs: usd_per_dbu must be more than 0"),
        ("jobs,0.3,2026-05-01", "jobs,0.3,", "ours.yaml:6: jobs: a tier needs usd_per_dbu, date"),
        ("all-purpose,", "jobs,", "ours.yaml:7: jobs stands here for the second time"),
        ("dbu: {tier: jobs, date: 2026-05-01, source: sheet}\n", "", "dbu_tiers without dbu"),
        (", source: sheet}", "}", "ours.yaml:3: dbu.source is missing"),
    ],
)
def test_what_is_wrong_with_dbus(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in DBU_FILE
    assert message in problem(tmp_path, DBU_FILE.replace(old, new, 1))
