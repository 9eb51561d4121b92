"""Spot prices that a price list does not have, beside its new on-demand prices."""

import json
from datetime import date
from pathlib import Path

import pytest

from engine.catalog_files.reader import load_catalog
from engine.refresh import refresh_catalog
from tui.cli import main

OLD = """\
provider: ours
region: cellar
date: 2026-05-01
source: rate card
spot: {date: 2025-06-01, estimated: true, source: half of it}
instances: |
  name,vcpus,memory_gib,usd_per_hour,spot_usd_per_hour
  small,4,16,0.2,0.1
  big,16,64,0.8,0.4
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    old, new = tmp_path / "ours.yaml", tmp_path / "new.csv"
    old.write_text(OLD, encoding="utf-8")
    new.write_text("name,usd_per_hour\nsmall,0.1\nbig,0.39\n", encoding="utf-8")
    return old, new


def test_an_earlier_spot_price_is_kept_up_to_the_on_demand_price(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Above it nobody rents spot nodes: it was kept, and spot was dearer than on demand."""
    old, new = files
    done = refresh_catalog(load_catalog(old), [new], tmp_path, today=date(2026, 6, 1))
    fresh = load_catalog(done.path)
    assert fresh.offer("big").spot is None
    assert fresh.offer("small").spot == load_catalog(old).offer("small").spot
    assert (done.kept_spot, done.outdated_spot) == (1, ("big",))


def test_what_is_left_out_is_said(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = map(str, files)
    line = ["catalog", "refresh", old, "--from", new, "-o", str(tmp_path), "--date", "2026-06-01"]
    assert main([*line, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["left_out_spot"] == ["big"]
    assert "spot price left out, above the new on-demand price" in told.err
    assert "1 type (big)" in told.err
