"""How sure larger inputs are, by how many sizes the runs have."""

import math
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.models.laws.parameter_fit import size_spread


def predicted(tmp_path: Path, sizes: tuple[float, ...]) -> engine.Prediction:
    """Of 200 units, from runs of the sizes that take time in proportion to them but for a start."""
    path = tmp_path / "runs.csv"
    rows = [
        f"m5.xlarge,{n},{size:g},{20 + 30 * size / n:.0f}" for size in sizes for n in (2, 4, 8, 16)
    ]
    path.write_text("instance_type,nodes,input_size,seconds\n" + "\n".join(rows) + "\n")
    aws = engine.load_catalog("aws")
    return engine.fit(engine.read(str(path))).predict(
        cluster=engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=8, catalog=aws),
        workload=engine.Workload(input_bytes=200.0),
    )


def width(tmp_path: Path, sizes: tuple[float, ...]) -> float:
    """Log width of the 90 % interval of 200 units."""
    found = predicted(tmp_path, sizes)
    assert found.low is not None
    assert found.high is not None
    return math.log(found.high / found.low)


@pytest.mark.parametrize(
    ("sizes", "spread"),
    [([100.0], 0.2), ([100.0, 141.42136], 0.15), ([50.0, 100.0], 0.1), ([1.0, 100.0], 0.1)],
)
def test_sizes_tell_of_growth_over_a_doubling(sizes, spread) -> None:
    assert size_spread(np.asarray(sizes)) == pytest.approx(spread, abs=1e-6)


def test_runs_of_one_size_leave_open_what_grows_with_it(tmp_path: Path) -> None:
    """All laws have work in proportion to the input: their agreement is no evidence."""
    one = width(tmp_path, (100.0,))
    assert one > 2.0 * 1.645 * 0.2
    assert width(tmp_path, (100.0, 50.0)) < 0.8 * one


def test_the_notice_says_that_one_size_does_not_tell(tmp_path: Path) -> None:
    def said(sizes: tuple[float, ...]) -> str:
        notices = predicted(tmp_path, sizes).warnings
        return next(n.text for n in notices if n.code == "extrapolating-size")

    told = "runs of one size do not tell how much of the time grows with it"
    assert told in said((100.0,))
    assert told not in said((100.0, 50.0))
