"""Builds the bundled catalogs from a folder of facts; not needed at run time.

    python catalogs/build.py FACTS [-o FOLDER]

FACTS holds one table per provider (`aws.csv`, `azure.csv`, `gcp.csv`: one row per instance type
with shape, on-demand and spot price, CPU score), price changes (`aws_price_history.csv`) and DBUs
(`databricks_azure_dbu.csv`). From them come `aws`, `papers` (the types of the published systems at
the prices of their time), `azure`, `azure-databricks` (the types whose DBUs are known) and `gcp`.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import emr_fees
import headers

Row = Mapping[str, str]

SHAPE_COLUMNS = {
    "name": "instance_type",
    "family": "family",
    "vcpus": "vcpus",
    "memory_gib": "memory_gib",
    "arch": "arch",
    "generation": "generation",
    "network_gbps": "network_gbps",
    "local_disk_gb": "local_disk_gb",
    "local_disk_kind": "local_disk_kind",
    "ebs_gbps": "ebs_gbps",
    "cpu_score": "coremark_iter_s",
    "emr_supported": "emr_supported",
    "threads_per_core": "threads_per_core",
}
WHOLE_CORES = re.compile(
    r"[cmr][78]a\..*"  # AWS: Optimize CPU options; of the eighth generation by CoreMark
    r"|t2d-.*"  # Compute Engine: Tau T2D
    r"|Standard_DS?\d+_v2"  # Azure: compute units (ACU), vCPU:core 1:1
)
"""Types of x86_64 whose vCPUs are cores. Of other types two are taken to be one, of arm64 none."""

SPOT_DATE = "2025-06-28"
PRICE_SOURCE = "price tables of the Karpenter AWS provider (Apache-2.0)"
SPOT_SOURCE = (
    "on-demand price x (1 - Spot Advisor saving of 2025-06-28); 6 to 22 % below the "
    "mean over zones where checked"
)
SHAPE_SOURCE = (
    "Karpenter AWS provider and Kubernetes autoscaler (Apache-2.0); cpu_score: CoreMark iterations "
    "per second of the whole machine, run 2026-01 (MIT); emr_supported: 2025"
)
PAPER_PRICE_DATES = {"m3": "2015-06-12"}
"""Families whose published price is not their first one (Ernest 6.4: m3.2xlarge at 0.532)."""

AZURE_SOURCE = "public virtual machine price table, pay-as-you-go, Linux"
AZURE_INFERRED = re.compile(r"Standard_[DE]\d+ad?s_v5")
AZURE_INFERRED_SOURCE = (
    "inferred: the table's price less a Windows surcharge of 0.046 USD per vCPU, in 18 of the 34 "
    "types of the Dasv5, Dadsv5, Easv5 and Eadsv5 series; which 18 is not said"
)
AZURE_SPOT_SOURCE = "the table's spot prices are a fixed share of the on-demand price"
DBU_SOURCE = "Azure Databricks price table, premium jobs compute, westus2; taken for all regions"
GCP_SOURCE = "public Compute Engine price table, on demand"
AZURE_SHAPES = (
    "the table that the prices are from; network and disk limits, known for 77 types, without a "
    "stated source"
)
GCP_SHAPES = (
    "the table that the prices are from; network and cpu_score (CoreMark iterations per second of "
    "the whole machine) from open-source tables (Apache-2.0)"
)


def rows_block(key: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A key whose value is a literal block of comma-separated rows under a header row."""
    lines = [f"{key}: |", "  " + ",".join(columns)]
    lines += ["  " + ",".join(row) for row in rows]
    return "\n".join(lines) + "\n"


def shapes_text(catalog: str, facts: Sequence[Row], source: str = SHAPE_SOURCE) -> str:
    """The shapes file; a column that no type has a value for is left out."""
    kept = {
        column: fact
        for column, fact in SHAPE_COLUMNS.items()
        if any(row.get(fact) for row in facts)
    }
    head = (
        "# Instance shapes; built by catalogs/build.py. Prices stand apart, one file per date.\n"
        f'shapes_of: {catalog}\nsource: "{source}"\n'
    )
    if "cpu_score" in kept:
        head += "cpu_benchmark: coremark\n"
    rows = [[_plain(row[fact]) for fact in kept.values()] for row in facts]
    return head + rows_block("instances", list(kept), rows)


def aws_prices(facts: Sequence[Row], history: Sequence[Row]) -> str:
    head = headers.AWS.format(
        region=facts[0]["region"],
        date=facts[0]["date"],
        source=PRICE_SOURCE,
        spot_date=SPOT_DATE,
        spot_source=SPOT_SOURCE,
        share=emr_fees.SHARE,
    )
    columns = ["name", "usd_per_hour", "spot_usd_per_hour", "interruption"]
    rows = [
        [
            row["instance_type"],
            row["price_hourly_usd"],
            row["spot_price_hourly_usd"],
            row["spot_interruption_range"],
        ]
        for row in facts
    ]
    fees = rows_block("surcharges", emr_fees.COLUMNS, emr_fees.fee_rows(facts))
    return head + rows_block("instances", columns, rows) + fees + history_block(facts, history)


def papers_prices(facts: Sequence[Row], history: Sequence[Row]) -> str:
    rows = [_price_of_its_time(row["instance_type"], history) for row in facts]
    head = headers.PAPERS.format(
        region=facts[0]["region"], date=max(row[2] for row in rows), source=PRICE_SOURCE
    )
    columns = ["name", "usd_per_hour", "date", "source"]
    today = [[r["instance_type"], r["price_hourly_usd"], r["date"], PRICE_SOURCE] for r in facts]
    return (
        head + rows_block("instances", columns, rows) + history_block(facts, history, extra=today)
    )


def gcp_prices(facts: Sequence[Row]) -> str:
    head = headers.GCP.format(**_where_and_when(facts), source=GCP_SOURCE)
    columns = ["name", "usd_per_hour", "spot_usd_per_hour"]
    facts_of = ("instance_type", "price_hourly_usd", "spot_price_hourly_usd")
    return head + rows_block("instances", columns, ([row[f] for f in facts_of] for row in facts))


def azure_prices(facts: Sequence[Row]) -> str:
    head = headers.AZURE.format(
        **_where_and_when(facts), source=AZURE_SOURCE, spot_source=AZURE_SPOT_SOURCE
    )
    return head + rows_block("instances", AZURE_COLUMNS, map(_azure_row, facts))


AZURE_COLUMNS = ["name", "usd_per_hour", "spot_usd_per_hour", "estimated", "source"]


def _azure_row(row: Row) -> list[str]:
    name = row["instance_type"]
    inferred = AZURE_INFERRED.fullmatch(name) is not None
    label = ["true", f'"{AZURE_INFERRED_SOURCE}"'] if inferred else ["", ""]
    return [name, row["price_hourly_usd"], row["spot_price_hourly_usd"], *label]


def databricks_prices(facts: Sequence[Row], dbus: Sequence[Row]) -> str:
    """The types of `facts` whose DBUs per hour are known, all at the one price per DBU."""
    per_hour = {f"Standard_{row['instance']}": row["dbu_per_hour"] for row in dbus}
    head = headers.AZURE_DATABRICKS.format(
        **_where_and_when(facts),
        source=AZURE_SOURCE,
        spot_source=AZURE_SPOT_SOURCE,
        dbu_date=dbus[0]["date"],
        dbu_source=DBU_SOURCE,
        usd_per_dbu=_price_per_dbu(dbus),
    )
    rows = [
        [*_azure_row(row), _plain(per_hour[row["instance_type"]])]
        for row in facts
        if row["instance_type"] in per_hour
    ]
    return head + rows_block("instances", [*AZURE_COLUMNS, "dbu_per_hour"], rows)


def _price_per_dbu(dbus: Sequence[Row]) -> str:
    """The price of a DBU, which must be one and the same in every row."""
    prices = {
        f"{float(row['dbu_price_per_hour_usd']) / float(row['dbu_per_hour']):.2f}" for row in dbus
    }
    (price,) = prices
    return price


def _where_and_when(facts: Sequence[Row]) -> dict[str, str]:
    return {"region": facts[0]["region"], "date": facts[0]["date"]}


def history_block(
    facts: Sequence[Row], history: Sequence[Row], extra: Iterable[Sequence[str]] = ()
) -> str:
    known = {row["instance_type"] for row in facts}
    rows: list[Sequence[str]] = [_history_row(row) for row in history]
    rows = sorted((row for row in [*rows, *extra] if row[0] in known), key=lambda r: (r[0], r[2]))
    return rows_block("history", ["name", "usd_per_hour", "date", "source"], rows)


def _price_of_its_time(name: str, history: Sequence[Row]) -> list[str]:
    since = PAPER_PRICE_DATES.get(name.split(".")[0], "")
    changes = sorted(
        (row for row in history if row["instance_type"] == name),
        key=lambda row: row["first_seen_date"],
    )
    return _history_row(next(row for row in changes if row["first_seen_date"] >= since))


def _history_row(row: Row) -> list[str]:
    return [
        row["instance_type"],
        row["price_hourly_usd_us_east_1"],
        row["first_seen_date"],
        f"EC2 price history (MIT) commit {row['source_commit']}",
    ]


def _plain(value: str) -> str:
    """Booleans as YAML writes them, numbers without a trailing ".0"."""
    return {"True": "true", "False": "false"}.get(value, value.removesuffix(".0"))


def _file(catalog: str, facts: Sequence[Row]) -> str:
    return f"{catalog}.{facts[0]['region']}.{facts[0]['date']}.prices.yaml"


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _read_types(path: Path) -> list[Row]:
    """Rows of instance types, with the threads of a core where they are known to be one."""
    return [
        {**row, "threads_per_core": "1" if WHOLE_CORES.fullmatch(row["instance_type"]) else ""}
        for row in _read(path)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the bundled catalogs from facts.")
    parser.add_argument("facts", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    facts = _read_types(arguments.facts / "aws.csv")
    history = _read(arguments.facts / "aws_price_history.csv")
    of_papers = [row for row in facts if row["in_papers"] == "True"]
    newest = max(_price_of_its_time(row["instance_type"], history)[2] for row in of_papers)
    azure, gcp = (_read_types(arguments.facts / f"{name}.csv") for name in ("azure", "gcp"))
    dbus = _read(arguments.facts / "databricks_azure_dbu.csv")
    texts = {
        "aws.shapes.yaml": shapes_text("aws", facts),
        _file("aws", facts): aws_prices(facts, history),
        "papers.shapes.yaml": shapes_text("papers", of_papers),
        f"papers.us-east-1.{newest}.prices.yaml": papers_prices(of_papers, history),
        "azure.shapes.yaml": shapes_text("azure", azure, AZURE_SHAPES),
        _file("azure", azure): azure_prices(azure),
        _file("azure-databricks", azure): databricks_prices(azure, dbus),
        "gcp.shapes.yaml": shapes_text("gcp", gcp, GCP_SHAPES),
        _file("gcp", gcp): gcp_prices(gcp),
    }
    for name, text in texts.items():
        (arguments.output / name).write_text(text, encoding="utf-8")
        print(f"{arguments.output / name}: {text.count(chr(10))} lines")


if __name__ == "__main__":
    main()
