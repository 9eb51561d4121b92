"""The statement about a choice in plain lines: prediction, cost and assumptions."""

from __future__ import annotations

from engine.catalog import Catalog
from engine.choosing.recommendation import Choice, Goal, Recommendation
from engine.cluster import Workload
from engine.notices import Notice, of_one_batch
from engine.units import (
    format_bytes,
    format_count,
    format_interval,
    format_probability,
    format_seconds,
    format_usd,
)


def statement(
    choice: Choice,
    recommendation: Recommendation,
    workload: Workload | None = None,
    unit: str = "bytes",
    catalog: Catalog | None = None,
) -> tuple[str, ...]:
    """The prediction, its workload and its assumptions, as plain lines for the head of an export.

    Args:
        workload: the planned workload, its size in `unit`; None if unknown.
        catalog: the source of the prices; None for an owned cluster.
    """
    types = " + ".join(f"{count} x {name}" for name, count in choice.composition.items())
    cluster = types or format_count(choice.executors or 0, "executor")
    lines = [f"{cluster}, model {recommendation.model}"]
    if choice.spot:
        rented = " + ".join(f"{count} x {name}" for name, count in choice.spot.items())
        lines.append(f"at spot prices: {rented}")
    if workload is not None and (work := _workload_text(workload, unit)):
        lines.append(f"for {work}")
    batch = (
        " of one micro-batch" if of_one_batch([*recommendation.warnings, *choice.warnings]) else ""
    )
    seconds = format_seconds(choice.seconds)
    lines.append(f"predicted time{batch} {seconds}{_interval_text(choice, recommendation.goal)}")
    if choice.cost_usd is not None:
        usd = f"{format_usd(choice.cost_usd)}{_cost_interval_text(choice)}"
        lines.append(f"expected cost{batch} {usd}{_price_source(catalog)}")
    if recommendation.goal.deadline_seconds is not None:
        probability = format_probability(choice.p_deadline)
        deadline = format_seconds(recommendation.goal.deadline_seconds)
        lines.append(f"probability of meeting {deadline}: {probability}")
    assumptions = choice.cost.assumptions if choice.cost else ()
    return (*lines, *assumptions)


def notices_of(choice: Choice, recommendation: Recommendation) -> tuple[Notice, ...]:
    """Notices about the evidence, then about the chosen cluster, without duplicates."""
    return tuple(dict.fromkeys((*recommendation.warnings, *choice.warnings)))


def _workload_text(workload: Workload, unit: str) -> str:
    """The work: "48 GB of input, k 9, 20 iterations"."""
    size, parts = workload.input_bytes, []
    if size is not None:
        parts.append(
            f"{format_bytes(size) if unit == 'bytes' else f'{size:,.10g} {unit}'} of input"
        )
    elif workload.scale is not None:
        parts.append(f"{workload.scale:.4g} times the input of the largest run")
    parts += [f"{name} {value:.6g}" for name, value in workload.parameters.items()]
    if workload.iterations is not None:
        parts.append(f"{workload.iterations:.6g} iterations")
    return ", ".join(parts)


def _interval_text(choice: Choice, goal: Goal) -> str:
    if choice.low is None or choice.high is None:
        return " (no interval)"
    within = format_interval(choice.low, choice.high)
    return f" ({100.0 * goal.confidence:.8g} % of runs: {within})"


def _cost_interval_text(choice: Choice) -> str:
    """The cost at the ends of the interval of the time: the price is taken as certain."""
    if choice.cost_low_usd is None or choice.cost_high_usd is None:
        return " (no interval)"
    within = f"{format_usd(choice.cost_low_usd)} to {format_usd(choice.cost_high_usd)}"
    return f" (at these times: {within})"


def _price_source(catalog: Catalog | None) -> str:
    """The source and date of the prices: the text is read long after it was written."""
    if catalog is None:
        return ""
    where = " ".join(filter(None, [catalog.name, catalog.region]))
    return f", by catalog {where} of {catalog.date}"
