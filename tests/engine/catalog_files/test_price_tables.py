"""Price lists as tables: what of them is read, and what is refused."""

from pathlib import Path

import pytest

from engine.catalog_files.price_formats import read_price_list
from engine.catalog_files.price_list import Quote
from engine.errors import BadInput


def quotes_of(folder: Path, text: str, *, provider: str = "gcp") -> list[Quote]:
    path = folder / "prices.csv"
    path.write_text(text, encoding="utf-8")
    return list(read_price_list([path], provider=provider).quotes)


def test_blanks_around_names_and_cells_do_not_count(tmp_path: Path) -> None:
    found = quotes_of(tmp_path, 'name , usd_per_hour, region\n "a" , 0.5 , west\n')
    assert found == [Quote("a", 0.5, "west")]


def test_cells_that_say_nothing(tmp_path: Path) -> None:
    """No region, no shape and no spot price are none, and not zero or an empty name."""
    found = quotes_of(tmp_path, "name,usd_per_hour,region,vcpus,spot_usd_per_hour\na,0.5,,,\n\n")
    assert found == [Quote("a", 0.5, None)]
    both = quotes_of(tmp_path, "name,usd_per_hour,spot_usd_per_hour\na,0.5,0.2\n")
    assert both == [Quote("a", 0.5, None), Quote("a", 0.2, None, spot=True)]


def test_columns_that_are_not_known_are_not_read(tmp_path: Path) -> None:
    """One nearly called like a known one is a slip where that one is not there, and only then; of
    those that nobody knows two may have one name."""
    found = quotes_of(tmp_path, "name,usd_per_hour,region,regions,x,x\na,0.5,west,2,1,1\n")
    assert found == [Quote("a", 0.5, "west")]
    with pytest.raises(BadInput, match=r"prices\.csv:1: unknown column 'regions'.*mean region\?"):
        quotes_of(tmp_path, "name,usd_per_hour,regions\na,0.5,west\n")


@pytest.mark.parametrize("price", ["inf", "nan", "-1", "0", "1,5"])
def test_no_other_number_is_a_price(tmp_path: Path, price: str) -> None:
    with pytest.raises(BadInput, match=r"prices\.csv:2: usd_per_hour must be a number above 0"):
        quotes_of(tmp_path, f'name,usd_per_hour\na,"{price}"\n')


def test_a_row_without_a_price(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"prices\.csv:2: usd_per_hour is missing"):
        quotes_of(tmp_path, "name,usd_per_hour\na,\n")


def test_no_list_at_all() -> None:
    with pytest.raises(BadInput, match="no price list is given"):
        read_price_list([], provider="gcp")


def test_a_download_that_broke_off(tmp_path: Path) -> None:
    """The last row of AWS's table ends anywhere: what stands before it is read."""
    head = '"FormatVersion","v1.0"\n"Disclaimer"\n\n"Version","1"\n"OfferCode","AmazonEC2"\n'
    columns = "TermType,Unit,Currency,Operating System,Tenancy,CapacityStatus,Pre Installed S/W"
    row = "OnDemand,Hrs,USD,Linux,Shared,Used,NA,m5.xlarge,4,16 GiB,0.192"
    table = f"{head}{columns},Instance Type,vCPU,Memory,PricePerUnit\n{row}\n"
    whole = [Quote("m5.xlarge", 0.192, None, vcpus=4.0, memory_gib=16.0)]
    for kept in (row, row[:40], row[:12], '"OnDem'):
        assert quotes_of(tmp_path, table + kept, provider="aws")[:1] == whole
