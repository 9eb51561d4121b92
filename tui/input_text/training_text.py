"""Training runs as text: parsers of budgets and sample sizes, and summaries of plans and next
runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import engine
from tui import format as text
from tui.widgets.numbers import Kind
from tui.widgets.scales import log_stops

SAMPLES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Default sample sizes: Ernest's 1 to 10 %, and larger ones for small jobs."""

MAX_STEPS = 1000

MAX_RUNS = 100_000
"""A payback of more runs than this counts as never."""

ALSO = "The search for a next run also weighs what the runs alone say."
"""Why its times are not those of the model (`engine.experiments.belief`)."""


def budget_of(spoken: str | None, *, where: str | None = None) -> tuple[float | None, str]:
    """Amount and unit of a budget: "$5" or "5 USD" is money, "2h" time, "10" a multiple of the cost
    of the smallest sample on one node.

    Raises:
        BadInput: for anything else.
    """
    if spoken is None:
        return None, "smallest runs"
    try:
        value = float(spoken)
    except ValueError:
        value = 0.0
    if 0.0 < value < math.inf:
        return value, "smallest runs"
    if "$" in spoken or "usd" in spoken.lower():
        return engine.parse_usd(spoken, where=where), "usd"
    if ":" in spoken:  # a clock time is meant: report its errors as such
        return engine.parse_seconds(spoken, where=where), "seconds"
    try:
        return engine.parse_seconds(spoken, where=where), "seconds"
    except engine.BadInput:
        raise engine.BadInput(
            f"{spoken!r} is not a budget", where=where, remedy="write it like $5, 2h or 10"
        ) from None


def fractions_of(spoken: str, steps: int, *, where: str | None = None) -> tuple[float, ...]:
    """Sample sizes: "1%:10%" in evenly spaced steps, or a list "0.01,0.05".

    Raises:
        BadInput: for anything else.
    """
    first, colon, last = spoken.partition(":")
    if colon and steps > MAX_STEPS:
        raise engine.BadInput(f"at most {MAX_STEPS:,} steps", where="--steps")
    if not colon:
        return tuple(sorted({one_fraction(part, where=where) for part in spoken.split(",")}))
    low, high = one_fraction(first, where=where), one_fraction(last, where=where)
    if low >= high:
        raise engine.BadInput(
            "the range of fractions runs backwards", where=where, remedy="write the smaller first"
        )
    return tuple(low + (high - low) * step / (steps - 1) for step in range(steps))


def one_fraction(spoken: str, *, where: str | None) -> float:
    """A share of the input: "5%" or "0.05".

    Raises:
        BadInput: for what is none.
    """
    bare = spoken.strip()
    try:
        value = float(bare.removesuffix("%")) / (100.0 if bare.endswith("%") else 1.0)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        raise engine.BadInput(
            f"{spoken!r} is not a fraction of the input",
            where=where,
            remedy="write it like 5% or 0.05, up to 100%",
        )
    return value


def span(values: list[str]) -> str:
    """The first to the last of some texts; one where both are the same."""
    if not values:
        return text.UNKNOWN
    return values[0] if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def repetitions_text(entry: engine.KnownType) -> str:
    """How often a configuration was repeated, and whether that is enough."""
    if entry.settled is None:
        return "no"
    return f"{entry.repeated} times, {'enough' if entry.settled else 'repeat again'}"


def totals(plan: engine.ExperimentPlan) -> list[str]:
    """Number, total time and cost of the planned runs, and the quality of the design."""
    count = len(plan.runs)
    total = [text.counted(count, "run")]
    if plan.seconds is not None:
        total.append(f"{text.seconds(plan.seconds)} one after the other")
    if plan.usd is not None and (plan.unit != "usd" or plan.budget is None):
        total.append(text.usd(plan.usd))
    if plan.cost is not None and plan.budget is not None:
        total.append(f"{in_unit(plan.cost, plan.unit)} of {in_unit(plan.budget, plan.unit)}")
    lines = [", ".join(total)]
    if plan.criterion is not None:
        lines.append(
            f"variance of the coefficients {plan.criterion:.4g} "
            f"({text.percent(plan.efficiency)} of the best that any plan in the budget could do)"
        )
        one = plan.greedy_runs == 1
        cheapest = f"the {text.counted(plan.greedy_runs, 'cheapest run')} for the same money"
        lines.append(
            f"{cheapest} {'does' if one else 'do'} not tell the terms apart"
            if plan.greedy_criterion is None
            else f"{cheapest}: {plan.greedy_criterion:.4g}"
        )
        runs = text.counted(plan.known_runs, "known run")
        known = f", {runs} built on" if plan.known_runs else ""
        possible = text.counted(plan.candidates, "possible run")
        lines.append(f"{possible}, terms {', '.join(plan.terms)}{known}")
    return lines


def in_unit(value: float, unit: str | None) -> str:
    """An amount of a budget with its unit."""
    if unit == "usd":
        return text.usd(value)
    if unit == "seconds":
        return text.seconds(value)
    amount = f"{value:.4g}"
    return f"{amount} smallest run{'' if amount == '1' else 's'}"


def payback(runs: float | None) -> str:
    """The number of runs of the job after which a run has paid for itself."""
    if runs is None or runs > MAX_RUNS:
        return "never" if runs is None else f"> {MAX_RUNS:,} runs"
    count = max(1, math.ceil(runs))
    return text.counted(count, "run")


def saving_text(run: engine.NextRun) -> str:
    """The expected saving of later runs of the job: money, or time."""
    by_cost = run.gain_seconds is None
    return text.usd_cell(run.gain_usd) if by_cost else text.seconds(run.gain_seconds)


def saving_cells(runs: Sequence[engine.NextRun]) -> list[str]:
    """The savings of a column: amounts have equally many decimals, those of the least that is
    more than nothing."""
    saved = [run.gain_usd for run in runs if (run.gain_usd or 0.0) >= NO_SAVING_USD]
    decimals = text.usd_cell_decimals(saved)
    return [
        text.usd_cell(run.gain_usd, decimals)
        if run.gain_seconds is None and run.gain_usd in saved
        else saving_text(run)
        for run in runs
    ]


NO_SAVING_USD = 0.0005
"""A smaller saving is one of nothing: no price has decimals for it."""


def next_round_amount(amount: float, unit: str, by: int) -> float:
    """The next round amount above (by = 1) or below (-1): $1, $2, $5; 10 min, 15 min, 20 min."""
    kind: Kind = "money" if unit == "usd" else "time" if unit == "seconds" else "number"
    stops = log_stops(amount / _REACH, amount * _REACH, kind).coarse[1:-1]
    if by > 0:
        return next(step for step in stops if step > amount * _EQUAL)
    return next(step for step in reversed(stops) if step * _EQUAL < amount)


_EQUAL, _REACH = 1.0 + 1e-9, 20.0
