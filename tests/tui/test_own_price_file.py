"""A price file of one's own that names neither provider nor region, as docs/catalogs.md has it."""

from pathlib import Path

import pytest
from command_line import refused, run

import engine
from tui.state import PlanState
from tui.views.inputs import prices

OWN = """
date: 2026-06-01
source: our contract
shapes: aws
instances: |
  name,usd_per_hour
  m5.xlarge,0.15
"""

ON_AWS = "provider: aws\nregion: eu-west-1"


def own(folder: Path, head: str = "") -> Path:
    path = folder / "mine.yaml"
    path.write_text(f"{head}{OWN}", encoding="utf-8")
    return path


@pytest.mark.parametrize(("head", "name"), [("", "mine"), (ON_AWS, "mine eu-west-1")])
def test_prices_are_said_to_be_of_that_file(
    head: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it names no region, two blanks stood for it."""
    path = own(tmp_path, head)
    nodes = "nightly-features --ran-on m5.xlarge --catalog"
    out, _ = run(capsys, f"predict {nodes} {path} --nodes 2")
    assert f", by catalog {name} of 2026-06-01\n" in out
    out, _ = run(capsys, f"export {nodes} {path} --deadline 10m --to spark-submit")
    assert f", by catalog {name} of 2026-06-01\n" in out
    where = name.partition(" ")[2]
    out, _ = run(capsys, f"catalog show {path}")
    assert out.startswith(f"mine: 1 type, {f'{where}, ' if where else ''}2026-06-01\n")
    cell = prices(PlanState(sources=("nightly-features",)), engine.load_catalog(str(path)))
    assert cell == f"{where} 2026-06-01".strip()


def test_an_export_for_a_provider_says_what_the_file_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "export nightly-features --ran-on m5.xlarge --deadline 10m --to emr --catalog"
    said = refused(capsys, f"{line} {own(tmp_path)}")
    assert (
        "this recommendation is for a catalog that names no provider; write provider: aws and "
        in said
    )
    out, _ = run(capsys, f"{line} {own(tmp_path, ON_AWS)}")
    assert "--region eu-west-1" in out
