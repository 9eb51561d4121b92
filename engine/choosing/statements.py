"""A choice in plain lines: what was predicted and what was assumed."""

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
    found: Recommendation,
    workload: Workload | None = None,
    unit: str = "bytes",
    catalog: Catalog | None = None,
) -> tuple[str, ...]:
    """What was predicted, for what work, and what was assumed: plain lines for an export's head.

    Args:
        workload: what was planned for, its size in `unit`; None where nothing is known of it.
        catalog: whose prices the cost is told by; None for a cluster that one owns.
    """
    types = " + ".join(f"{count} x {name}" for name, count in choice.composition.items())
    what = types or format_count(choice.executors or 0, "executor")
    lines = [f"{what}, model {found.model}"]
    if choice.spot:
        rented = " + ".join(f"{count} x {name}" for name, count in choice.spot.items())
        lines.append(f"at spot prices: {rented}")
    if workload is not None and (asked := _asked(workload, unit)):
        lines.append(f"for {asked}")
    batch = " of one micro-batch" if of_one_batch([*found.warnings, *choice.warnings]) else ""
    seconds = format_seconds(choice.seconds)
    lines.append(f"predicted time{batch} {seconds}{_bounds(choice, found.goal)}")
    if choice.cost_usd is not None:
        usd = f"{format_usd(choice.cost_usd)}{_cost_bounds(choice)}"
        lines.append(f"expected cost{batch} {usd}{_priced_by(catalog)}")
    if found.goal.deadline_seconds is not None:
        met = format_probability(choice.p_deadline)
        deadline = format_seconds(found.goal.deadline_seconds)
        lines.append(f"probability of meeting {deadline}: {met}")
    assumed = choice.cost.assumptions if choice.cost else ()
    return (*lines, *assumed)


def notices_of(choice: Choice, found: Recommendation) -> tuple[Notice, ...]:
    """What is to be said of the evidence, then of the cluster that was chosen; each once."""
    return tuple(dict.fromkeys((*found.warnings, *choice.warnings)))


def _asked(workload: Workload, unit: str) -> str:
    """The work: "48 GB of input, k 9, 20 iterations"."""
    size, said = workload.input_bytes, []
    if size is not None:
        said.append(f"{format_bytes(size) if unit == 'bytes' else f'{size:,.10g} {unit}'} of input")
    elif workload.scale is not None:
        said.append(f"{workload.scale:.4g} times the input of the largest run")
    said += [f"{name} {value:.6g}" for name, value in workload.parameters.items()]
    if workload.iterations is not None:
        said.append(f"{workload.iterations:.6g} iterations")
    return ", ".join(said)


def _bounds(choice: Choice, goal: Goal) -> str:
    if choice.low is None or choice.high is None:
        return " (no interval)"
    within = format_interval(choice.low, choice.high)
    return f" ({100.0 * goal.confidence:.8g} % of runs: {within})"


def _cost_bounds(choice: Choice) -> str:
    """What the cost is at the ends of the time's interval: the price is taken to be sure."""
    if choice.cost_low_usd is None or choice.cost_high_usd is None:
        return " (no interval)"
    within = f"{format_usd(choice.cost_low_usd)} to {format_usd(choice.cost_high_usd)}"
    return f" (at these times: {within})"


def _priced_by(catalog: Catalog | None) -> str:
    """Whose prices and of when: the text is read long after it was written."""
    if catalog is None:
        return ""
    return f", by catalog {catalog.name} {catalog.region} of {catalog.date}"
