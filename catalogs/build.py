"""Builds the bundled catalogs from a folder of facts; not needed at run time.

    python catalogs/build.py FACTS [-o FOLDER]

FACTS holds `aws.csv` (one row per instance type: shape, on-demand price, estimated spot price, CPU
score) and `aws_price_history.csv` (price changes). Both catalogs come from them: `aws`, and
`papers`, the types of the published systems at the prices of their time.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

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
}
SPOT_DATE = "2025-06-28"
PRICE_SOURCE = "price tables of the Karpenter AWS provider (Apache-2.0)"
SPOT_SOURCE = (
    "estimate: on-demand price x (1 - Spot Advisor saving of 2025-06-28); 6 to 22 % below the "
    "mean over zones where checked"
)
SHAPE_SOURCE = (
    "Karpenter AWS provider and Kubernetes autoscaler (Apache-2.0); cpu_score: CoreMark iterations "
    "per second of the whole machine, run 2026-01 (MIT); emr_supported: 2025"
)
PAPER_PRICE_DATES = {"m3": "2015-06-12"}
"""Families whose published price is not their first one (Ernest 6.4: m3.2xlarge at 0.532)."""

AWS_HEADER = """\
# On-demand Linux prices; built by catalogs/build.py. docs/catalogs.md explains every key.
catalog: aws
provider: aws
region: us-east-1
currency: USD
shapes: aws.shapes.yaml
date: {date}
source: "{source}"
spot:
  date: {spot_date}
  estimated: true
  source: "{spot_source}"
billing:
  granularity_seconds: 1
  minimum_seconds: 60
  startup_seconds: 210
  startup_note: "EMR on EC2, by a published adviser; taken to be billed in full"
  master: m5.xlarge
  surcharge_fraction: 0.25
  surcharge_assumed: true
  surcharge_note: "EMR adds about 25 % of the on-demand price: two data points, no table per type"
  discount_fraction: 0
memory_rule: {{kind: emr-yarn}}
managed_only: true
note: "EC2 on-demand Linux prices in us-east-1; spot prices are estimates"
"""

PAPERS_HEADER = """\
# The types that the published systems used, at the prices of their time (catalogs/build.py).
catalog: papers
provider: aws
region: us-east-1
currency: USD
shapes: papers.shapes.yaml
date: {date}
source: "{source}"
billing:
  granularity_seconds: 0
  minimum_seconds: 0
  startup_seconds: 0
  surcharge_fraction: 0
  discount_fraction: 0
memory_rule: {{kind: share, share: 0.8}}
managed_only: false
filtered_by_default: false
historic: true
note: "EC2 types at the prices of their papers; workers only, exactly the time that ran"
"""


def rows_block(key: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A key whose value is a literal block of comma-separated rows under a header row."""
    lines = [f"{key}: |", "  " + ",".join(columns)]
    lines += ["  " + ",".join(row) for row in rows]
    return "\n".join(lines) + "\n"


def shapes_text(catalog: str, facts: Sequence[Row]) -> str:
    head = (
        "# Instance shapes; built by catalogs/build.py. Prices stand apart, one file per date.\n"
        f'shapes_of: {catalog}\nsource: "{SHAPE_SOURCE}"\n'
    )
    rows = [[_plain(row[fact]) for fact in SHAPE_COLUMNS.values()] for row in facts]
    return head + rows_block("instances", list(SHAPE_COLUMNS), rows)


def aws_prices(facts: Sequence[Row], history: Sequence[Row]) -> str:
    head = AWS_HEADER.format(
        date=facts[0]["date"], source=PRICE_SOURCE, spot_date=SPOT_DATE, spot_source=SPOT_SOURCE
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
    return head + rows_block("instances", columns, rows) + history_block(facts, history)


def papers_prices(facts: Sequence[Row], history: Sequence[Row]) -> str:
    rows = [_price_of_its_time(row["instance_type"], history) for row in facts]
    head = PAPERS_HEADER.format(date=max(row[2] for row in rows), source=PRICE_SOURCE)
    columns = ["name", "usd_per_hour", "date", "source"]
    today = [[r["instance_type"], r["price_hourly_usd"], r["date"], PRICE_SOURCE] for r in facts]
    return (
        head + rows_block("instances", columns, rows) + history_block(facts, history, extra=today)
    )


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


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the bundled catalogs from facts.")
    parser.add_argument("facts", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    facts = _read(arguments.facts / "aws.csv")
    history = _read(arguments.facts / "aws_price_history.csv")
    of_papers = [row for row in facts if row["in_papers"] == "True"]
    newest = max(_price_of_its_time(row["instance_type"], history)[2] for row in of_papers)
    texts = {
        "aws.shapes.yaml": shapes_text("aws", facts),
        f"aws.us-east-1.{facts[0]['date']}.prices.yaml": aws_prices(facts, history),
        "papers.shapes.yaml": shapes_text("papers", of_papers),
        f"papers.us-east-1.{newest}.prices.yaml": papers_prices(of_papers, history),
    }
    for name, text in texts.items():
        (arguments.output / name).write_text(text, encoding="utf-8")
        print(f"{arguments.output / name}: {text.count(chr(10))} lines")


if __name__ == "__main__":
    main()
