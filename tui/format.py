"""Numbers and names as text in sentences, tables and messages, for the command line and the
planner. Pure functions.

Rounds as the engine's own texts do (three figures, "1h 05m", "–" for unknown). For axis ticks and
slider values, which are shorter and can be typed back, see `tui.widgets.numbers`: that module knows
nothing of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import engine
from tui.widgets.numbers import money_text, number_text

if TYPE_CHECKING:
    from engine import DeadlineRecord

UNKNOWN = "–"


def seconds(value: float | None, *, figures: int = 3) -> str:
    """A duration, or a dash where it is unknown or unbounded."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return engine.format_seconds(value, figures=figures)


def time_difference(one: float, other: float, *, figures: int = 2) -> str:
    """The difference of two durations for a table cell: "4 s", or "<1 s" where their displayed
    values do not show it."""
    difference, larger = abs(one - other), max(one, other)
    formatted = engine.format_time_difference(difference, of_seconds=larger, figures=figures)
    return formatted.replace("less than ", "<")


def reachable_deadline(seconds_needed: float) -> str:
    """The deadline to type where so many seconds are needed: rounded up, so that it can be met."""
    return seconds(engine.reachable_seconds(seconds_needed))


def usd(value: float | None, *, figures: int = 3, decimals: int | None = None) -> str:
    """An amount of money, or a dash where it is unknown or unbounded; with `decimals` those of its
    column (`engine.usd_decimals`)."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if decimals is not None:
        return engine.format_usd_to(value, decimals)
    return engine.format_usd(value, figures=figures)


def usd_column(amounts: Sequence[float | None]) -> list[str]:
    """The amounts of a column, with equally many decimals."""
    decimals = engine.usd_decimals(amounts)
    return [usd(amount, decimals=decimals) for amount in amounts]


USD_CELLS = 7
"""Width of an amount in a table: from a cent to $999.99 all its figures fit."""

MAX_USD_WITH_CENTS = 999.995
"""From here on an amount has no room for its cents."""


def usd_cell_decimals(amounts: Iterable[float | None]) -> int:
    """The decimals of a column of `USD_CELLS`: those of `engine.usd_decimals`, but for all of its
    amounts no more than the dearest one has room for. Cents always have, and amounts that have
    none do not count."""
    known = [usd for usd in amounts if usd is not None and usd < MAX_USD_WITH_CENTS]
    dearest_cells = len(f"${max(known, default=0.0):.2f}")
    return max(2, min(engine.usd_decimals(known), 2 + USD_CELLS - dearest_cells))


def usd_cell(value: float | None, decimals: int | None = None) -> str:
    """An amount of money in `USD_CELLS` cells: "$0.0094", "$1,235", "$123.5k", "$1.235M". Where it
    does not fit, it has as many figures as do, since a cut amount reads as another one."""
    formatted = usd(value, decimals=decimals)
    if value is None or len(formatted) <= USD_CELLS:
        return formatted
    if value < 0.001:
        return "<$0.001"
    if decimals is not None and decimals > 2:
        return usd_cell(value, decimals - 1)
    if value < 1.0:
        return usd(value, figures=2)
    return f"${value:,.0f}" if value < 99_999.5 else money_text(value)


def priced_by(catalog: engine.Catalog | None) -> str:
    """The catalog of a cost: "by catalog aws us-east-1 of 2026-07-20". A file of one's own may name
    no region."""
    if catalog is None:
        return "by the prices of the runs alone"
    where = " ".join(filter(None, [escaped(catalog.name), escaped(catalog.region)]))
    return f"by catalog {where} of {catalog.date}"


def usd_interval(low: float | None, high: float | None) -> str:
    """The interval of a cost, " ($2.10 to $3.40)"; "" where it is unknown or one amount."""
    ends = (usd(low), usd(high))
    return "" if UNKNOWN in ends or ends[0] == ends[1] else f" ({ends[0]} to {ends[1]})"


def usd_range(low: float | None, high: float | None) -> str:
    """The same for a table of any width: "$2.10 to $3.40", one amount, or a dash."""
    return _joined(usd(low), usd(high), " to ")


def usd_span(low: float | None, high: float | None) -> str:
    """The same for a cell of `USD_SPAN_CELLS`: "$2.10–$3.40". Where the lower end has room for two
    figures, so has the upper one."""
    ends = (usd_cell(low), usd_cell(high))
    shortened = [end != usd(value) for end, value in zip(ends, (low, high), strict=True)]
    if shortened == [True, False] and high is not None and high < 1.0:
        ends = (ends[0], usd(high, figures=2))
    return _joined(*ends, "–")


def _joined(low: str, high: str, to: str) -> str:
    """Both ends of an interval; one amount where they are shown alike."""
    return UNKNOWN if UNKNOWN in (low, high) else low if low == high else f"{low}{to}{high}"


USD_SPAN_CELLS = 15
"""The widest of these, "$123.50–$189.50"."""


def usd_difference(difference: float) -> str:
    """The difference of two costs in two figures, as in the engine's reasons."""
    amount = abs(difference)
    if amount < 0.001:
        return "less than $0.001"
    return usd(amount, figures=2)


def mean_error(relative: float | None) -> str:
    """A mean relative error in per cent, with tenths below 100 %."""
    if relative is None:
        return UNKNOWN
    return f"{relative * 100:.1f} %" if relative < 1.0 else f"{relative * 100:,.0f} %"


def satisfaction(record: DeadlineRecord) -> str:
    """ "92 % of 50": share of the runs predicted within the deadline that met it; a dash where none
    was predicted within it. A counted share: 0 % and 100 % are exact."""
    return UNKNOWN if record.share is None else f"{record.share * 100:.0f} % of {record.cases}"


def percent(value: float | None) -> str:
    """A share in per cent; values near 0 and 1 are not rounded to certainty."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if value >= 0.995:
        return ">99 %"
    if value <= 0.005:
        return "<1 %"
    return f"{value * 100:.0f} %"


def confidence_level(confidence: float) -> str:
    """A confidence as it was asked for, not rounded: "90 %", "97.5 %"."""
    return f"{confidence * 100:.8g} %"


def in_time(p: float | None, confidence: float | None) -> str:
    """P(deadline met). A probability that rounds to the confidence but is below it reads "<90
    %"."""
    if p is None or confidence is None:
        return percent(p)
    rounds_up = p < confidence and round(p * 100) >= confidence * 100
    return f"<{confidence_level(confidence)}" if rounds_up else percent(p)


def signed_percent(share: float, *, unit: str = " %") -> str:
    """A relative error with its sign; 0 has none."""
    whole = round(share * 100)
    return f"{whole:+d}{unit}" if whole else f"0{unit}"


def odds(confidence: float) -> str:
    """ "9 in 10" for 0.9, "19 in 20" for 0.95, "97.5 in 100" otherwise."""
    for out_of in (10, 20, 100):
        hits = confidence * out_of
        if abs(hits - round(hits)) < 1e-6 and 0 < round(hits) < out_of:
            return f"{round(hits)} in {out_of}"
    hits_of_100 = f"{confidence * 100:.8g}"
    return "over 99.9999 in 100" if hits_of_100 == "100" else f"{hits_of_100} in 100"


def composition(types: dict[str, int]) -> str:
    """ "14 × r5.2xlarge + 2 × m5.xlarge"."""
    return " + ".join(f"{count} × {name}" for name, count in types.items())


def rented_nodes(choice: engine.Choice | engine.Change | engine.Outline) -> str:
    """A composition with its spot nodes, where these are only some: "9 × c7a.xlarge (4 spot)"."""
    spot, formatted = dict(choice.spot), composition(dict(choice.composition))
    if not spot or spot == dict(choice.composition):
        return formatted
    if len(choice.composition) == 1:
        return f"{formatted} ({sum(spot.values())} spot)"
    return f"{formatted} (spot: {composition(spot)})"


def cluster(given: engine.Cluster) -> str:
    """A cluster by its composition, executors or nodes, whichever is known."""
    if given.composition:
        return composition(dict(given.composition))
    if given.executors is not None:
        return executors(given)
    return counted(given.nodes, "node") if given.nodes else UNKNOWN


def executors(cluster: engine.Cluster) -> str:
    """ "8 executors of 4 cores on 2 nodes"; the nodes where they are known."""
    parts = [
        counted(cluster.executors, "executor"),
        f"of {counted(cluster.executor_cores, 'core')}",
    ]
    if cluster.nodes is not None:
        parts.append(f"on {counted(cluster.nodes, 'node')}")
    return " ".join(parts)


def counted(number: int | None, word: str) -> str:
    """ "3 executors", "1 core"; "– nodes" where the number is unknown."""
    if number is None:
        return f"{UNKNOWN} {word}s"
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def runs_used(used: int, runs: int) -> str:
    """ "5 runs", "3 of 5 runs" where others were excluded, "no runs"."""
    if not runs:
        return "no runs"
    return counted(runs, "run") if used == runs else f"{used:,} of {counted(runs, 'run')}"


def size(value: float | None, unit: str) -> str:
    """An amount of input in the profile's unit."""
    if value is None:
        return UNKNOWN
    if unit == "bytes":
        return engine.format_bytes(value)
    return f"{number_text(value)} {unit.removesuffix('s') if value == 1.0 else unit}"


def escaped(text: str) -> str:
    """Untrusted text with control characters escaped: none of them reaches the terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Rows as aligned columns, two spaces apart; the columns with an index in `right` are
    right-aligned."""
    widths = [max(map(cells_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (width - cells_of(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            gap + cell if index in right else cell + gap
            for index, (cell, gap) in enumerate(zip(row, gaps, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def cells_of(text: str) -> int:
    """Terminal cells that a text takes: names of jobs may be in any script."""
    if text.isascii():  # most are, and loading the table of widths takes longer than printing
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def span(low: float | None, high: float | None, *, to: str = " to ") -> str:
    """An interval of time in one unit, "38 to 44 min", or "no interval": also where its upper end
    is larger than a number can be."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "no interval"
    return engine.format_interval(low, high, to=to)


def span_cell(low: float | None, high: float | None) -> str:
    """The same for a table cell: "38–44 min", or a dash for none."""
    return UNKNOWN if low is None else span(low, high, to="–")


SPAN_CELLS = 13
"""Width of the widest interval in a table, "10.4–15.5 min", for times below ten days."""


def figures(values: Mapping[str, float]) -> str:
    """The predicted figures of a run in one line, each in the unit that its key ends with."""
    shown = []
    for key, value in values.items():
        for unit, (ending, write) in _FIGURES.items():
            if key.endswith(unit):
                name = key.removesuffix(unit).replace("_", " ")
                shown.append(f"{name} {write(value)}{ending}")
                break
        else:
            shown.append(f"{key.replace('_', ' ')} {value:.3g}")
    return ", ".join(shown)


_FIGURES: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "_bytes_per_second": ("/s", engine.format_bytes),
    "_vcore_seconds": (" vcore-s", "{:,.0f}".format),
    "_seconds": ("", seconds),
    "_bytes": ("", engine.format_bytes),
    "_ratio": ("", lambda ratio: f"{100.0 * ratio:.0f} %"),
}


def executor_size(layout: engine.Layout | None) -> str:
    """ " of 10 cores and 12 GiB (4 GiB beside the heap)". Memory is left out where it is unknown;
    what is beside the heap is shown where it exceeds Spark's default."""
    if layout is None:
        return ""
    heap, formatted = layout.executor_memory_gib, f" of {counted(layout.executor_cores, 'core')}"
    if heap is None:
        return formatted
    formatted += f" and {heap:g} GiB"
    if not layout.beside:
        return formatted
    return f"{formatted} ({engine.beside_heap_gib(heap, layout.beside):.3g} GiB beside the heap)"
