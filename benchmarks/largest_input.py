"""How many predictions tell up to which input an answer holds.

    python benchmarks/largest_input.py [SOURCE ...] [--ran-on TYPE] [--max-nodes N]

Goals of each source: a deadline of half an hour, and budgets of 1.05, 1.5 and 3 times what the
cheapest cluster costs (AWS, one type). For each: the predictions, beside them how many doublings
and halvings to the same tolerance take, the largest input that was tried, and the answer. Without a
source: five bundled logs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import engine
from engine.sensitivity_analysis import SensitivityAnalysis

LOGS = ("nightly-features", "sales-report-large", "movie-als-large", "pagerank-large", "sort-large")
HALF_AN_HOUR = 1800.0
BUDGETS = (1.05, 1.5, 3.0)
MOST, TOLERANCE = 1024.0, 1e-3


@contextmanager
def asked() -> Iterator[list[float]]:
    """The inputs that are tried, in multiples of the present one."""
    tried: list[float] = []
    predict = SensitivityAnalysis._log_excess

    def noted(self: SensitivityAnalysis, times: float) -> float:
        tried.append(times)
        return predict(self, times)

    with mock.patch.object(SensitivityAnalysis, "_log_excess", noted):
        yield tried


def bisection(answer: float | None) -> int:
    """Predictions of doublings up to the first that misses, and of halvings of what is left."""
    if answer is None:
        return math.ceil(math.log2(MOST))
    doublings = max(1, math.ceil(math.log2(answer * (1.0 + TOLERANCE))))
    return doublings + math.ceil(math.log2(math.log(2.0) / TOLERANCE))


def measure(source: str, ran_on: str | None, max_nodes: int) -> None:
    profile = engine.read(source) if ran_on is None else engine.read(source, ran_on=ran_on)
    fitted, catalog = engine.fit(profile), engine.load_catalog("aws")
    cheapest = engine.recommend(fitted, catalog=catalog, max_nodes=max_nodes).recommended
    assert cheapest is not None
    usd = cheapest.cost_usd or 0.0
    goals: list[tuple[str, float | None, float | None]] = [("half an hour", HALF_AN_HOUR, None)]
    goals += [(f"{times:g} x the least cost", None, times * usd) for times in BUDGETS]
    for name, deadline, budget in goals:
        with asked() as tried:
            answer = engine.recommend(
                fitted, catalog=catalog, deadline_seconds=deadline, budget_usd=budget,
                max_nodes=max_nodes, with_sensitivity=True,
            )  # fmt: skip
        if answer.sensitivity is None:
            print(f"{source}, {name}: nothing keeps it")
            continue
        until = answer.sensitivity.holds_until
        told = answer.sensitivity.holds_note if until is None else f"{until:.4g}"
        print(
            f"{source}, {name}: {len(tried)} predictions, by bisection {bisection(until)},"
            f" up to {max(tried, default=1.0):.3g} times the input; {told}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--ran-on", help="the instance type of logs; of the bundled ones m5.xlarge")
    parser.add_argument("--max-nodes", type=int, default=16)
    args = parser.parse_args()
    for source in args.sources or LOGS:
        measure(source, args.ran_on if args.sources else "m5.xlarge", args.max_nodes)


if __name__ == "__main__":
    main()
