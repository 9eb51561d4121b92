"""`sparkplan curve`: time and cost as nodes, input size or iterations change."""

from __future__ import annotations

import argparse
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import engine
from tui import format as text
from tui import streams
from tui.arguments import layouts, limits, options, sections, target, workloads
from tui.headless import costs, curve_file, output
from tui.input_text.job_text import parse_iterations

POINTS = 25
"""Points of a curve over input size, evenly spaced in the logarithm."""

SIZES = "0.25x:4x"
ITERATIONS = "1:20"
"""What a curve over input size, or over iterations, shows when no range is given."""

MAX_ITERATIONS = 1000
"""Points of a curve over iterations; a slip of the keyboard should not run for hours."""


TOO_FEW_SLOTS = "barrier-needs-slots"
"""What holds of every number of nodes below the first that has enough: more nodes have more."""


@dataclass(frozen=True)
class Point:
    """One point: what is varied, and the run that it means."""

    at: float
    cluster: engine.Cluster
    workload: engine.Workload


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_sources(parser)
    parser.add_argument(
        "--over",
        required=True,
        choices=("nodes", "input-size", "iterations"),
        help="what varies along the curve",
    )
    sections.of(parser, sections.CLUSTER).add_argument(
        "--nodes", metavar="A:B", help="range of nodes (default 1:64), or N for the other curves"
    )
    options.add_cluster(parser)
    limits.add_spot(parser)
    options.add_terms(parser)
    layouts.add_layout(parser)
    options.add_origin(parser)
    workloads.add_workload(
        parser,
        size=f"; over input sizes a range of them (default {SIZES})",
        iterations=f"; over iterations a range of them (default {ITERATIONS})",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="write a picture (.svg) or the numbers (.csv) instead"
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.output is not None:
        curve_file.checked(args.output)
    profile = options.read_profile(args)
    points = {"nodes": over_nodes, "input-size": over_size, "iterations": over_iterations}[
        args.over
    ](args, profile)
    paid = paid_cluster(args, points[0].cluster, profile)
    profile = target.noted(args, profile, paid)
    fitted = engine.fit(profile, model=args.model)
    rows = rows_of(args, points, fitted, paid)
    spot, unit = limits.on_spot(args), profile.input_unit
    warnings = warnings_of(fitted, args.over, points, unit=unit, spot=spot, max_spot=args.max_spot)
    if args.json:
        result = {
            "model": fitted.model,
            "instance": points[0].cluster.instance_name,
            "confidence": args.confidence,
            "points": rows,
            "warnings": output.notices(warnings),
            "spot": spot,
            "catalog": output.catalog_dict(paid.catalog),
        }
        output.print_json(result)
    elif args.output is None:
        print(as_table(args.over, points, rows, unit=unit))
        batch = "; of one micro-batch" if engine.of_one_batch(warnings) else ""
        said = legend(rows, args.confidence, paid)
        print(f"\n{text.shown(said)}{batch}; model {fitted.model}")
        output.print_assumptions(engine.cost_assumptions(paid, spot=spot))
    if args.output is not None:
        write(args, profile, points, rows)
    if not args.json:
        output.print_notices(warnings)
    return 0


def paid_cluster(
    args: argparse.Namespace, cluster: engine.Cluster, profile: engine.Profile
) -> engine.Cluster:
    """A cluster of the curve with the catalog that has its price.

    Raises:
        BadInput: for options of prices where there is none.
    """
    named = args.over == "nodes" or args.nodes is not None
    remedy = target.ADD_CATALOG if named else target.ADD_TYPE
    if cluster.catalog is None:
        target.check_on_demand(args, remedy=remedy)
    paid = target.at_prices_of(cluster, args, profile)
    if paid.catalog is None:
        target.check_unpriced(args, remedy=remedy)
    return paid


def rows_of(
    args: argparse.Namespace,
    points: list[Point],
    fitted: engine.FittedModel,
    paid: engine.Cluster,
) -> list[dict[str, Any]]:
    """The points as JSON has them; what is varied has a key where it is not the nodes.

    Args:
        paid: one of their clusters, with the catalog that has its price.

    Raises:
        BadInput: where the model answers none of them.
    """
    varied = None if args.over == "nodes" else args.over.replace("-", "_")
    rows: list[dict[str, Any]] = []
    if args.max_spot is not None and paid.catalog is not None:
        told = of_share(args, points, fitted, paid.catalog)
    else:
        told = of_equal_nodes(args, points, fitted, paid)
    for point, (times, usd) in zip(points, told, strict=True):
        row: dict[str, Any] = {} if varied is None else {varied: point.at}
        row["nodes"] = point.cluster.nodes
        row |= zip(("seconds", "low", "high"), times, strict=True)
        row |= zip(costs.KEYS, usd, strict=True)
        rows.append(row)
    return rows


Estimate = tuple[Sequence[float], Sequence[float | None]]
"""Of a point: seconds, low, high (NaN where unknown), and the costs of these in USD."""


def of_equal_nodes(
    args: argparse.Namespace, points: list[Point], fitted: engine.FittedModel, paid: engine.Cluster
) -> Iterator[Estimate]:
    """All nodes rented alike."""
    predict_many = partial(engine.predict_on_spot, fitted) if args.spot else fitted.predict_many
    found = predict_many(
        clusters=[point.cluster for point in points],
        workloads=[point.workload for point in points],
        confidence=args.confidence,
    )
    if all(math.isnan(seconds) for seconds in found.seconds):  # a single one is refused, with why
        fitted.predict(cluster=points[0].cluster, workload=points[0].workload)
    for point, *times in zip(points, found.seconds, found.low, found.high, strict=True):
        nodes = point.cluster.nodes
        cluster = paid if nodes is None else with_nodes(paid, nodes)
        yield times, [engine.cost_of(cluster, x, fitted.profile, spot=args.spot) for x in times]


def of_share(
    args: argparse.Namespace,
    points: list[Point],
    fitted: engine.FittedModel,
    catalog: engine.Catalog,
) -> Iterator[Estimate]:
    """A share of the nodes at spot prices: each point is a composition of its own."""
    for point in points:
        choice = engine.predict_composition(
            fitted, composition=point.cluster.composition, catalog=catalog,
            workload=point.workload, confidence=args.confidence,
            spot=limits.on_spot(args), max_spot=args.max_spot,
        ).choice  # fmt: skip
        times = (choice.seconds, choice.low, choice.high)
        known = [math.nan if seconds is None else seconds for seconds in times]
        yield known, (choice.cost_usd, choice.cost_low_usd, choice.cost_high_usd)


def warnings_of(
    fitted: engine.FittedModel,
    over: str,
    points: list[Point],
    *,
    unit: str,
    spot: bool = False,
    max_spot: float | None = None,
) -> list[engine.Notice]:
    """What is to be said of the last point; and of the first what is not said of the last: a cache
    that does not fit one node may fit the next. Where the job starts at no point before some number
    of nodes, it is said up to which."""

    def said_at(place: int) -> tuple[engine.Notice, ...]:
        cluster, workload = points[place].cluster, points[place].workload
        if cluster.catalog is None:
            return fitted.predict(cluster=cluster, workload=workload).warnings
        priced = engine.predict_composition(
            fitted, composition=cluster.composition, catalog=cluster.catalog, workload=workload,
            spot=spot, max_spot=max_spot,
        )  # fmt: skip
        return priced.prediction.warnings

    first, last = said_at(0), said_at(len(points) - 1)
    codes, found = {notice.code for notice in last}, list(last)
    for notice in first:
        if notice.code in codes:
            continue
        at = place_of(over, points[0], unit)
        if over == "nodes" and notice.code == TOO_FEW_SLOTS:
            until = bisect_left(
                range(len(points) - 1), True,
                key=lambda place: all(n.code != TOO_FEW_SLOTS for n in said_at(place)),
            ) - 1  # fmt: skip
            at += f", and so up to {place_of(over, points[until], unit)}" if until > 0 else ""
        found.append(replace(notice, text=f"at {at}: {notice.text}"))
    return found


def place_of(over: str, point: Point, unit: str) -> str:
    """A point in words: "1 node", "48 GB"."""
    if over == "input-size":
        return size_of(point, unit)
    return text.counted(int(point.at), over.removesuffix("s"))


def write(
    args: argparse.Namespace,
    profile: engine.Profile,
    points: list[Point],
    rows: list[dict[str, Any]],
) -> None:
    """The curve to a file; what was written is said where it does not disturb data."""
    path = curve_file.checked(args.output)
    scaled = any(point.workload.scale not in (None, 1.0) for point in points)
    content = curve_file.content(
        path,
        rows,
        over=args.over,
        at=[point.at for point in points],
        in_bytes=profile.input_unit == "bytes" and not scaled,
        instance=points[0].cluster.instance_name or "executors",
        title=profile.name,
        confidence=args.confidence,
    )
    engine.write_text(path, content)
    streams.say(f"written: {text.shown(str(path))}")


def over_nodes(args: argparse.Namespace, profile: engine.Profile) -> list[Point]:
    workload = workloads.workload_of(args, profile)
    if args.executors is not None:
        raise engine.BadInput("a curve over nodes has no --executors", remedy="leave it out")
    counts = options.node_range(args.nodes)
    first = target.cluster_of(args, profile, nodes=counts[0])
    return [Point(n, with_nodes(first, n), workload) for n in counts]


def with_nodes(cluster: engine.Cluster, nodes: int) -> engine.Cluster:
    """The same composition with another number of nodes."""
    if cluster.nodes == nodes:
        return cluster
    return replace(cluster, groups=(replace(cluster.groups[0], nodes=nodes),))


def over_size(args: argparse.Namespace, profile: engine.Profile) -> list[Point]:
    cluster = fixed_cluster(args, profile)
    first, colon, last = (args.input_size or SIZES).partition(":")
    in_bytes = profile.input_unit == "bytes"
    if not colon:
        raise engine.BadInput(
            f"{args.input_size!r} is not a range of sizes",
            where="--input-size",
            remedy=f"write it like {'10GB:1TB or ' if in_bytes else ''}0.5x:4x",
        )
    ends = [profile.workload_sized(end, where="--input-size") for end in (first, last)]
    measured = [end.input_bytes if end.scale is None else end.scale for end in ends]
    low, high = (value or 0.0 for value in measured)
    if not 0.0 < low < high:
        raise engine.BadInput(
            "the range of sizes runs backwards",
            where="--input-size",
            remedy="write the smaller size first",
        )
    base = workloads.workload_of(_without(args, "input_size"), profile)
    points = []
    for step in range(POINTS):
        size = low * (high / low) ** (step / (POINTS - 1))
        given = {"scale": size} if ends[0].scale is not None else {"input_bytes": size}
        points.append(Point(size, cluster, replace(base, **given)))
    return points


def over_iterations(args: argparse.Namespace, profile: engine.Profile) -> list[Point]:
    cluster = fixed_cluster(args, profile)
    spoken = args.iterations or ITERATIONS
    first, colon, last = spoken.partition(":")
    low, high = (parse_iterations(first), parse_iterations(last or first))
    if not colon or low != int(low) or high != int(high) or low > high:
        raise engine.BadInput(
            f"{spoken!r} is not a range of iterations",
            where="--iterations",
            remedy="write it like 1:20",
        )
    if high - low >= MAX_ITERATIONS:
        raise engine.BadInput(
            f"{spoken!r} is too long a range of iterations",
            where="--iterations",
            remedy=f"give at most {MAX_ITERATIONS:,} of them",
        )
    base = workloads.workload_of(_without(args, "iterations"), profile)
    counts = range(int(low), int(high) + 1)
    return [Point(k, cluster, replace(base, iterations=float(k))) for k in counts]


def fixed_cluster(args: argparse.Namespace, profile: engine.Profile) -> engine.Cluster:
    nodes = None
    if args.nodes is not None:
        try:
            nodes = options.whole()(args.nodes)
        except argparse.ArgumentTypeError as error:
            raise engine.BadInput(str(error), where="--nodes") from None
    return target.cluster_of(args, profile, nodes=nodes)


def _without(args: argparse.Namespace, name: str) -> argparse.Namespace:
    """The arguments without the one that the curve runs over."""
    return argparse.Namespace(**{**vars(args), name: None})


def as_table(over: str, points: list[Point], rows: list[dict[str, Any]], *, unit: str) -> str:
    """A row for each point; sizes in the profile's unit."""
    header: tuple[str, ...] = (over, "time", "low", "high", "cost", "between")
    body: list[tuple[str, ...]] = [
        (
            size_of(point, unit) if over == "input-size" else f"{point.at:g}",
            text.seconds(row["seconds"]),
            text.seconds(row["low"]),
            text.seconds(row["high"]),
            text.usd(row["cost_usd"]),
            text.usd_span(row["cost_low_usd"], row["cost_high_usd"], to=" to "),
        )
        for point, row in zip(points, rows, strict=True)
    ]
    if all(row["cost_low_usd"] is None for row in rows):
        header, body = header[:-1], [row[:-1] for row in body]
    return text.table([header, *body], right=range(len(header)))


def size_of(point: Point, unit: str) -> str:
    """The input of a point; times the largest run where nothing says how large that is."""
    if point.workload.scale is not None:
        return f"{point.at:.3g}x"
    return engine.format_bytes(point.at) if unit == "bytes" else f"{point.at:.5g}"


def legend(rows: list[dict[str, Any]], confidence: float, paid: engine.Cluster) -> str:
    """What the columns of the interval and of the cost mean, and why there is no cost."""
    known = any(math.isfinite(row["low"]) for row in rows)
    said = f"{text.odds(confidence)} runs take from low to high" if known else "no interval"
    if any(row["cost_usd"] is not None for row in rows):
        return f"{said}, cost is that of the time, {text.priced_by(paid.catalog)}"
    return f"{said}, {costs.no_cost(paid)}"
