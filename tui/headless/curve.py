"""`sparkplan curve`: time and cost over nodes, input size or iterations."""

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
from tui.headless import costs, curve_file, curve_table, output
from tui.headless.replaced_files import require_other_than_inputs
from tui.input_text.job_text import parse_iterations

POINTS = 25
"""Points of a curve over input size, evenly spaced in the logarithm."""

SIZES = "0.25x:4x"
ITERATIONS = "1:20"
"""Default ranges of a curve over input size and over iterations."""

MAX_ITERATIONS = 1000
"""Most points of a curve over iterations; a typing error should not run for hours."""

TOO_FEW_SLOTS = "barrier-needs-slots"
"""Code of a warning that holds for all node counts below some number: more nodes have more
slots."""


@dataclass(frozen=True)
class Point:
    """One point of the curve: the varied value, and the run that it means."""

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
    sections.section(parser, sections.CLUSTER).add_argument(
        "--nodes",
        metavar="A:B",
        help="range of nodes (default 1:64), or N for the other curves (default: as in the largest "
        "run)",
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
        "-o",
        "--output",
        metavar="FILE",
        help="write a picture (.svg) or the numbers (.csv) instead",
    )
    sections.section(parser, sections.GOAL).add_argument(
        "--deadline",
        type=options.duration,
        metavar="D",
        help="say at each point how surely it is met",
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.output is not None:
        require_other_than_inputs(curve_file.output_path(args.output), args)
    profile = options.read_profile(args)
    points = {"nodes": over_nodes, "input-size": over_size, "iterations": over_iterations}[
        args.over
    ](args, profile)
    named = args.over == "nodes" or target.names_nodes(args)
    remedy = target.ADD_CATALOG if named else target.ADD_TYPE
    paid = target.priced_cluster(args, points[0].cluster, profile, remedy=remedy)
    profile = target.with_price_notice(args, profile, paid)
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
        output.print_text(curve_table.as_table(args.over, points, rows, args.confidence, unit=unit))
        batch = "; of one micro-batch" if engine.of_one_batch(warnings) else ""
        legend_text = curve_table.legend(rows, args.confidence, paid, deadline=args.deadline)
        output.print_text(f"\n{text.escaped(legend_text)}{batch}; model {fitted.model}")
        if curve_table.any_ends(rows):
            output.print_assumptions(engine.cost_assumptions(paid, spot=spot))
    if args.output is not None:
        write(args, profile, points, rows)
    if not args.json:
        output.print_notices(warnings)
    return 0


def rows_of(
    args: argparse.Namespace,
    points: list[Point],
    fitted: engine.FittedModel,
    paid: engine.Cluster,
) -> list[dict[str, Any]]:
    """The points as JSON objects; a varied value other than nodes has a key of its own, and so has
    the chance of the deadline. Where Spark does not start a stage of the job, time and cost are
    unknown, and no deadline is met.

    Args:
        paid: one of their clusters, with the catalog that has its price.

    Raises:
        BadInput: where the model answers none of them.
    """
    varied = None if args.over == "nodes" else args.over.replace("-", "_")
    rows: list[dict[str, Any]] = []
    if args.max_spot is not None and paid.catalog is not None:
        estimates = of_share(args, points, fitted, paid.catalog)
    else:
        estimates = of_equal_nodes(args, points, fitted, paid)
    started = engine.starts(fitted, [point.cluster for point in points])
    known = (one if starts else UNKNOWN for one, starts in zip(estimates, started, strict=True))
    for point, (seconds_low_high, costs_usd, p_deadline) in zip(points, known, strict=True):
        row: dict[str, Any] = {} if varied is None else {varied: point.at}
        row["nodes"] = point.cluster.nodes
        row |= zip(curve_file.TIME_KEYS, seconds_low_high, strict=True)
        row |= zip(costs.KEYS, costs_usd, strict=True)
        if args.deadline is not None:
            row["p_deadline"] = p_deadline
        rows.append(row)
    return rows


Estimate = tuple[Sequence[float], Sequence[float | None], float | None]
"""Of a point: seconds, low, high (NaN where unknown), the costs of these in USD, and the
probability of the deadline (None without one; None or NaN without an interval)."""

UNKNOWN: Estimate = ((math.nan,) * 3, (None,) * 3, 0.0)
"""Where the job does not end."""


def of_equal_nodes(
    args: argparse.Namespace, points: list[Point], fitted: engine.FittedModel, paid: engine.Cluster
) -> Iterator[Estimate]:
    """Estimates where all nodes are rented alike."""
    predict_many = partial(engine.predict_on_spot, fitted) if args.spot else fitted.predict_many
    predictions = predict_many(
        clusters=[point.cluster for point in points],
        workloads=[point.workload for point in points],
        confidence=args.confidence,
    )
    if all(
        math.isnan(seconds) for seconds in predictions.seconds
    ):  # predict raises, with the reason
        fitted.predict(cluster=points[0].cluster, workload=points[0].workload)
    p = [None] * len(points) if args.deadline is None else predictions.p_within(args.deadline)
    for point, p_deadline, *times in zip(
        points, p, predictions.seconds, predictions.low, predictions.high, strict=True
    ):
        nodes = point.cluster.nodes
        cluster = paid if nodes is None else with_node_count(paid, nodes)
        costs_usd = [engine.cost_of(cluster, x, fitted.profile, spot=args.spot) for x in times]
        yield times, costs_usd, p_deadline


def of_share(
    args: argparse.Namespace,
    points: list[Point],
    fitted: engine.FittedModel,
    catalog: engine.Catalog,
) -> Iterator[Estimate]:
    """Estimates with a share of the nodes at spot prices: each point is a composition of its
    own."""
    for point in points:
        choice = engine.composition_cost(
            fitted, composition=point.cluster.composition, catalog=catalog,
            workload=point.workload, deadline_seconds=args.deadline, confidence=args.confidence,
            spot=limits.on_spot(args), max_spot=args.max_spot,
        )  # fmt: skip
        times = (choice.seconds, choice.low, choice.high)
        known = [math.nan if seconds is None else seconds for seconds in times]
        costs_usd = (choice.cost_usd, choice.cost_low_usd, choice.cost_high_usd)
        yield known, costs_usd, choice.p_deadline


def warnings_of(
    fitted: engine.FittedModel,
    over: str,
    points: list[Point],
    *,
    unit: str,
    spot: bool = False,
    max_spot: float | None = None,
) -> list[engine.Notice]:
    """The warnings of the last point, and those of the first that the last does not have: a cache
    that does not fit one node may fit the next. Where the job needs a least number of slots, the
    warning says up to how many nodes are too few (found by bisection)."""

    def warnings_at(index: int) -> tuple[engine.Notice, ...]:
        cluster, workload = points[index].cluster, points[index].workload
        if cluster.catalog is None:
            return fitted.predict(cluster=cluster, workload=workload).warnings
        priced = engine.predict_composition(
            fitted, composition=cluster.composition, catalog=cluster.catalog, workload=workload,
            spot=spot, max_spot=max_spot,
        )  # fmt: skip
        return priced.prediction.warnings

    first, last = warnings_at(0), warnings_at(len(points) - 1)
    codes, notices = {notice.code for notice in last}, list(last)
    for notice in first:
        if notice.code in codes:
            continue
        where = point_text(over, points[0], unit)
        if over == "nodes" and notice.code == TOO_FEW_SLOTS:
            until = bisect_left(
                range(len(points) - 1), True,
                key=lambda index: all(n.code != TOO_FEW_SLOTS for n in warnings_at(index)),
            ) - 1  # fmt: skip
            where += f", and so up to {point_text(over, points[until], unit)}" if until > 0 else ""
        notices.append(replace(notice, text=f"at {where}: {notice.text}"))
    return notices


def point_text(over: str, point: Point, unit: str) -> str:
    """A point in words: "1 node", "48 GB"."""
    if over == "input-size":
        return curve_table.size_of(point, unit)
    return text.counted(int(point.at), over.removesuffix("s"))


def write(
    args: argparse.Namespace,
    profile: engine.Profile,
    points: list[Point],
    rows: list[dict[str, Any]],
) -> None:
    """Write the curve to a file; the path is reported on stderr."""
    path = curve_file.output_path(args.output)
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
        deadline=args.deadline,
    )
    engine.write_text(path, content)
    streams.say(f"wrote {text.escaped(str(path))}")


def over_nodes(args: argparse.Namespace, profile: engine.Profile) -> list[Point]:
    workload = workloads.workload_of(args, profile)
    if args.executors is not None:
        raise engine.BadInput("a curve over nodes has no --executors", remedy="leave it out")
    counts = options.node_range(args.nodes)
    first = target.cluster_of(args, profile, nodes=counts[0])
    return [Point(n, with_node_count(first, n), workload) for n in counts]


def with_node_count(cluster: engine.Cluster, nodes: int) -> engine.Cluster:
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
    range_text = args.iterations or ITERATIONS
    first, colon, last = range_text.partition(":")
    low, high = (parse_iterations(first), parse_iterations(last or first))
    if colon and 1 <= high < low:
        raise engine.BadInput(
            f"the range {range_text!r} runs backwards",
            where="--iterations",
            remedy=f"write the smaller number first: {last}:{first}",
        )
    if not colon or low != int(low) or high != int(high):
        raise engine.BadInput(
            f"{range_text!r} is not a range of iterations",
            where="--iterations",
            remedy="write it like 1:20",
        )
    if high - low >= MAX_ITERATIONS:
        raise engine.BadInput(
            f"{range_text!r} is too long a range of iterations",
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
    """The arguments without the one that the curve varies."""
    return argparse.Namespace(**{**vars(args), name: None})
