"""The report as one self-contained HTML file without scripts, for browsers and mail."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from engine.exports import svg
from engine.exports.base import Handover, spark_properties
from engine.exports.report import Report, Section, frontier_of, sections, title_of
from engine.units import format_seconds, format_usd

if TYPE_CHECKING:
    from engine.choosing.recommendation import Choice, Recommendation

_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:52em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left}"
    "pre{background:#f4f4f4;padding:.8em}svg{max-width:100%;height:auto}"
)


class Html(Report):
    name = "html"
    summary = "the same report as one HTML file, with charts"
    suffix = ".html"

    def render(self, handover: Handover) -> str:
        title = escape(title_of(handover))
        body = [f"<h1>{title}</h1>"]
        for section in sections(handover):
            body.append(_section(section))
            if section.title == "Goal":
                body += _charts(handover)
        settings = "\n".join(f"{k} {v}" for k, v in spark_properties(handover).items())
        body.append(f"<h2>Settings</h2>\n<pre>{escape(settings)}</pre>")
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"/>'
            f"<title>{title}</title><style>{_STYLE}</style></head>\n<body>\n"
            + "\n".join(body)
            + "\n</body>\n</html>\n"
        )


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.lines:
        parts.append("<ul>" + "".join(f"<li>{escape(x)}</li>" for x in section.lines) + "</ul>")
    if section.table:
        head, *rows = section.table
        parts.append("<table>" + _row(head, "th") + "".join(_row(r, "td") for r in rows))
        parts.append("</table>")
    return "\n".join(parts)


def _row(cells: tuple[str, ...], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _charts(handover: Handover) -> list[str]:
    """Charts of the frontier: time by cost, and cost by time."""
    frontier = frontier_of(handover.report)
    if len(frontier) < 2:
        return []
    chosen = handover.choice or (handover.report.recommended if handover.report else None)
    usd, time = svg.Axis("cost (USD)", format_usd), svg.Axis("time", format_seconds, svg.TIMES)
    by_time = sorted(frontier, key=lambda choice: choice.seconds)
    marked = chosen if chosen is not None and chosen.cost_usd is not None else None
    meaning = _meaning(handover.report, frontier, dotted=marked is not None)
    return [
        svg.chart(
            f"The time that each cost buys{meaning}", [_time(c) for c in frontier],
            x=usd, y=time, marked=_time(marked) if marked else None,
        ),
        svg.chart(
            f"What each time costs{meaning}", [_cost(c) for c in by_time],
            x=time, y=usd, marked=_cost(marked) if marked else None,
        ),
    ]  # fmt: skip


def _meaning(
    recommendation: Recommendation | None, frontier: Sequence[Choice], *, dotted: bool
) -> str:
    """The legend of a chart's band and dot, where drawn."""
    legend = ["dot: this plan"] if dotted else []
    if recommendation is not None and sum(choice.low is not None for choice in frontier) > 1:
        legend.insert(0, f"shaded: {100.0 * recommendation.goal.confidence:.8g} % of runs")
    return f" ({'; '.join(legend)})" if legend else ""


def _time(choice: Choice) -> svg.Point:
    return svg.Point(choice.cost_usd or 0.0, choice.seconds, choice.low, choice.high)


def _cost(choice: Choice) -> svg.Point:
    low, high = choice.cost_low_usd, choice.cost_high_usd
    return svg.Point(choice.seconds, choice.cost_usd or 0.0, low, high)
