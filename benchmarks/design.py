"""A-optimal experiment design: seconds and objective against a general convex solver.

    python benchmarks/design.py [--repeat N]

The three grids are the published ones of Ernest's reference (feature columns divided by their
means, weights in [0, 1], a budget on cost). Columns: candidates; our objective and its proven gap;
the published optimum; our seconds (median); the reference's seconds as published, and how many
times faster that is; CVXPY's objective and seconds (one run, compilation included) and the ratio,
where CVXPY is installed (`pip install -e '.[bench]'`).
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tables import print_table

from engine.experiments.design import a_optimal
from engine.forecast import FloatArray
from engine.models.curves.terms import ERNEST_TERMS, columns

CVXPY_REPEATS = 1


@dataclass(frozen=True)
class Grid:
    """One published grid: sizes in parts of `total_parts`, machines 1 to `most_machines`."""

    parts_min: int
    parts_max: int
    total_parts: int
    most_machines: int
    scale_steps: int
    optimum: float
    reference_seconds: float
    budget: float = 10.0

    def problem(self) -> tuple[FloatArray, FloatArray]:
        """(n, p) features and (n,) costs."""
        ends = (self.parts_min / self.total_parts, self.parts_max / self.total_parts)
        machines = np.arange(1.0, self.most_machines + 1.0)
        scale, m = np.meshgrid(np.linspace(*ends, self.scale_steps), machines, indexing="ij")
        scale, m = scale.ravel(), m.ravel()
        features = columns(ERNEST_TERMS, m, scale)
        return features / features.mean(axis=0), scale / scale.min() / m


GRIDS = (
    Grid(32, 64, 512, 10, 5, 7.98605, 0.4),
    Grid(64, 128, 1024, 25, 20, 3.60137, 3.3),
    Grid(128, 256, 2048, 50, 100, 1.82933, 18.6),
)


def timed(repeat: int, solve: Callable[[], Any]) -> tuple[Any, float]:
    """The answer and the median of its seconds."""
    answer, seconds = None, []
    for _ in range(repeat):
        start = time.perf_counter()
        answer = solve()
        seconds.append(time.perf_counter() - start)
    return answer, statistics.median(seconds)


def cvxpy_objective(features: FloatArray, costs: FloatArray, budget: float) -> float:
    """The same problem as a general solver is given it: p semidefinite bounds, one per diagonal
    entry of the inverse, written as `matrix_frac`."""
    import cvxpy

    n, p = features.shape
    weights = cvxpy.Variable(n)
    information = features.T @ cvxpy.diag(weights) @ features
    objective = cvxpy.sum([cvxpy.matrix_frac(np.eye(p)[i], information) for i in range(p)])
    constraints = [weights >= 0, weights <= 1, costs @ weights <= budget]
    problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    return float(problem.solve())


def row(grid: Grid, repeat: int) -> tuple[str, ...]:
    features, costs = grid.problem()
    ours, seconds = timed(repeat, lambda: a_optimal(features, costs, grid.budget))
    cells = [
        str(len(costs)),
        f"{ours.objective:.5f}",
        f"{ours.gap:.1e}",
        f"{grid.optimum:.5f}",
        f"{seconds:.4f}",
        f"{grid.reference_seconds:g}",
        f"{grid.reference_seconds / seconds:.0f}x",
    ]
    if importlib.util.find_spec("cvxpy") is None:
        return (*cells, "-", "-", "-")
    general, general_seconds = timed(
        CVXPY_REPEATS, lambda: cvxpy_objective(features, costs, grid.budget)
    )
    ratio = f"{general_seconds / seconds:.0f}x"
    return (*cells, f"{general:.5f}", f"{general_seconds:.2f}", ratio)


HEADER = (
    "candidates", "objective", "gap", "published", "seconds", "reference s", "faster",
    "cvxpy", "cvxpy s", "faster",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=9, help="runs of ours per grid")
    options = parser.parse_args()
    print_table([HEADER, *(row(grid, options.repeat) for grid in GRIDS)], to_the_right=True)


if __name__ == "__main__":
    main()
