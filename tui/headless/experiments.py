"""`sparkplan experiments`: which runs to make, what each costs and teaches, and when to stop."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from typing import Any

import engine
from tui import format as text
from tui import options
from tui.headless import output

MOST_STEPS = 1000

MOST_RUNS = 100_000
"""Nobody waits for a run to pay for itself after more runs of the job than this."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="runs made so far (event logs, run tables)"
    )
    parser.add_argument(
        "--nodes", metavar="A:B", help="node counts (default 1:16; for the next run 1:64)"
    )
    parser.add_argument(
        "--fractions", metavar="F", help="samples of the input: 1%%:10%%, or 0.01,0.05,0.1"
    )
    parser.add_argument(
        "--steps", type=options.whole(2), default=10, metavar="N", help="sizes in a range F1:F2"
    )
    parser.add_argument(
        "--budget",
        metavar="B",
        help="of all runs: $5, 2h, or a number of the smallest sample on one node",
    )
    parser.add_argument("--plan", choices=("ernest", "peridot", "simcost"), default="ernest")
    parser.add_argument("--terms", choices=("ernest", "extended"), default="ernest")
    parser.add_argument(
        "--partitions", type=options.whole(), metavar="P", help="of the whole input"
    )
    parser.add_argument("--node-cores", type=options.whole(), metavar="C", help="slots of a node")
    parser.add_argument(
        "--iteration-share",
        type=options.quantity(engine.parse_fraction),
        metavar="S",
        help="share of the iterations to run, such as 5%%",
    )
    parser.add_argument(
        "--smallest-run",
        type=options.duration,
        metavar="T",
        help="how long the smallest sample takes on one node, if no run says",
    )
    parser.add_argument(
        "--target-cores", metavar="C,...", help="SimCost's plan: cores that the job may get"
    )
    parser.add_argument("--sample-partitions", type=options.whole(), metavar="P")
    parser.add_argument("--catalog", metavar="NAME|FILE", help="price catalog")
    parser.add_argument("--instances", metavar="TYPE,...", help="instance types")
    parser.add_argument("--deadline", type=options.duration, metavar="D", help="of the real job")
    options.add_origin(parser)
    options.add_workload(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.plan == "simcost":
        return show(args, None, simcost_plan(args), None)
    check_question(args)
    profile = options.read_profile(args) if args.sources else None
    fitted = engine.fit(profile, model=args.model) if profile else None
    workload = options.workload_of(args, profile) if profile else None
    if fitted is None or wants_design(args):
        return show(args, profile, design(args, fitted, workload), None)
    return show(args, profile, None, next_runs(args, fitted, workload))


def wants_design(args: argparse.Namespace) -> bool:
    """Whether a set of runs is asked for, not the next one."""
    return args.budget is not None or args.plan == "peridot"


DESIGN_OPTIONS = ("partitions", "node_cores", "iteration_share", "smallest_run")


def check_question(args: argparse.Namespace) -> None:
    """Options that do not go together are refused before anything is read."""
    if not args.sources and args.fractions is None:
        raise engine.BadInput(
            "there is nothing to plan from",
            remedy="give the runs made so far as SOURCE, or --nodes, --fractions and --budget",
        )
    if wants_design(args) or not args.sources:
        if args.budget is None and args.plan != "peridot":
            raise engine.BadInput("a design needs a budget", remedy="add --budget $5, 2h, or 10")
        if args.fractions is None:
            raise engine.BadInput(
                "a design needs sizes to choose from", remedy="add --fractions 1%:10%"
            )
        if args.deadline is not None:
            raise engine.BadInput(
                "a design serves no deadline, only the next run does",
                where="--deadline",
                remedy="leave out --deadline, or --budget",
            )
        if args.sources and args.smallest_run is not None:
            raise engine.BadInput(
                "the runs given say how long samples take",
                where="--smallest-run",
                remedy="leave it out",
            )
        return
    for name in DESIGN_OPTIONS:
        if getattr(args, name) is not None:
            raise engine.BadInput(
                "is for a design of several runs",
                where=f"--{name.replace('_', '-')}",
                remedy="add --fractions and --budget, or leave it out",
            )


def simcost_plan(args: argparse.Namespace) -> engine.ExperimentPlan:
    missing = [
        option
        for option, value in (
            ("--partitions", args.partitions),
            ("--target-cores", args.target_cores),
            ("--sample-partitions", args.sample_partitions),
        )
        if value is None
    ]
    if missing:
        raise engine.BadInput("SimCost's plan needs " + ", ".join(missing), remedy="add them")
    try:
        cores = [options.whole()(part) for part in args.target_cores.split(",")]
    except argparse.ArgumentTypeError as error:
        raise engine.BadInput(str(error), where="--target-cores") from None
    return engine.equal_waves(
        target_partitions=args.partitions,
        target_cores=cores,
        sample_partitions=args.sample_partitions,
    )


def design(
    args: argparse.Namespace, fitted: engine.FittedModel | None, workload: engine.Workload | None
) -> engine.ExperimentPlan:
    budget, unit = budget_of(args.budget)
    given = None
    if args.iterations is not None and fitted is None:
        given = options.iterations(args.iterations)
    request = engine.TrainingRequest(
        nodes=tuple(options.node_range(args.nodes, default="1:16")),
        fractions=fractions_of(args.fractions, args.steps),
        budget=budget,
        unit=unit,
        method=args.plan,
        terms=args.terms,
        instances=options.globs(args.instances) or (),
        partitions=args.partitions,
        node_cores=args.node_cores,
        iterations=given,
        iteration_share=args.iteration_share,
        smallest_seconds=args.smallest_run,
        confidence=args.confidence,
    )
    named = args.catalog is not None or bool(request.instances)
    catalog = engine.load_catalog(args.catalog or options.DEFAULT_CATALOG) if named else None
    return engine.plan_experiments(request, fitted=fitted, workload=workload, catalog=catalog)


def budget_of(spoken: str | None) -> tuple[float | None, str]:
    """ "$5" or "5 USD" is money, "2h" time, "10" so many of the smallest sample on one node."""
    if spoken is None:
        return None, "smallest runs"
    try:
        value = float(spoken)
    except ValueError:
        value = 0.0
    if value > 0.0:
        return value, "smallest runs"
    if "$" in spoken or "usd" in spoken.lower():
        return engine.parse_usd(spoken, where="--budget"), "usd"
    try:
        return engine.parse_seconds(spoken, where="--budget"), "seconds"
    except engine.BadInput:
        raise engine.BadInput(
            f"{spoken!r} is not a budget", where="--budget", remedy="write it like $5, 2h or 10"
        ) from None


def fractions_of(spoken: str, steps: int) -> tuple[float, ...]:
    """ "1%:10%" in evenly spaced steps, or a list "0.01,0.05"."""
    first, colon, last = spoken.partition(":")
    if colon and steps > MOST_STEPS:
        raise engine.BadInput(f"at most {MOST_STEPS:,} steps", where="--steps")
    if not colon:
        return tuple(sorted({one_fraction(part) for part in spoken.split(",")}))
    low, high = one_fraction(first), one_fraction(last)
    if low >= high:
        raise engine.BadInput("the range of fractions runs backwards", where="--fractions")
    return tuple(low + (high - low) * step / (steps - 1) for step in range(steps))


def one_fraction(spoken: str) -> float:
    bare = spoken.strip()
    try:
        value = float(bare.removesuffix("%")) / (100.0 if bare.endswith("%") else 1.0)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        raise engine.BadInput(
            f"{spoken!r} is not a fraction of the input",
            where="--fractions",
            remedy="write it like 5% or 0.05, up to 100%",
        )
    return value


def next_runs(
    args: argparse.Namespace, fitted: engine.FittedModel, workload: engine.Workload | None
) -> engine.Advice:
    catalog = None
    priced = any(
        group.price_usd_per_hour is not None
        for run in fitted.profile.runs
        for group in run.cluster.groups
    )
    if args.catalog is not None or not priced:
        catalog = engine.load_catalog(args.catalog or options.DEFAULT_CATALOG)
    return engine.advise(
        fitted,
        catalog=catalog,
        instances=options.globs(args.instances),
        nodes=options.node_range(args.nodes),
        fractions=fractions_of(args.fractions, args.steps) if args.fractions else (1.0,),
        workload=workload,
        deadline_seconds=args.deadline,
        confidence=args.confidence,
    )


def show(
    args: argparse.Namespace,
    profile: engine.Profile | None,
    plan: engine.ExperimentPlan | None,
    advice: engine.Advice | None,
) -> int:
    known = engine.lessons_of(profile) if profile else ()
    warnings = list(plan.notices) if plan else []
    if args.json:
        output.print_json(
            {
                "known": [asdict(entry) for entry in known],
                "plan": None if plan is None else plan_as_dict(plan),
                "now": None if advice is None else choice_as_dict(advice),
                "next": [] if advice is None else [next_as_dict(run) for run in advice.next_runs],
                "stop": None if advice is None else advice.stop,
                "reason": None if advice is None else advice.reason,
                "confidence": args.confidence,
                "warnings": output.notices(warnings),
            }
        )
        return 0
    parts = []
    if profile is not None:
        parts.append(known_as_text(known, profile))
    if plan is not None:
        parts.append(plan_as_text(plan))
    if advice is not None:
        parts.append(advice_as_text(advice, args.deadline))
    print("\n\n".join(parts))
    output.print_notices(warnings)
    return 0


def plan_as_dict(plan: engine.ExperimentPlan) -> dict[str, Any]:
    fields = asdict(plan)
    fields.pop("notices")
    return {**fields, "cost": plan.cost, "seconds": plan.seconds, "usd": plan.usd}


def choice_as_dict(advice: engine.Advice) -> dict[str, Any]:
    return {
        "instance": advice.instance,
        "nodes": advice.nodes,
        "seconds": advice.seconds,
        "low": advice.low,
        "high": advice.high,
        "cost_usd": advice.usd,
        "p_deadline": advice.p_deadline,
        "weighed": advice.weighed,
    }


def next_as_dict(run: engine.NextRun) -> dict[str, Any]:
    return {**asdict(run), "pays_after": run.pays_after}


def known_as_text(known: tuple[engine.KnownType, ...], profile: engine.Profile) -> str:
    if not known:
        return "known: no run yet, only a job profile"
    header = ("known", "runs", "nodes", "input", "repeated")
    rows = [
        (
            text.shown(entry.instance or "unnamed nodes"),
            str(entry.runs),
            span([str(count) for count in entry.nodes]),
            span([text.size(value, profile.input_unit) for value in entry.sizes]),
            repeated(entry),
        )
        for entry in known
    ]
    return text.table([header, *rows], right=(1,))


def span(values: list[str]) -> str:
    if not values:
        return text.UNKNOWN
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"


def repeated(entry: engine.KnownType) -> str:
    if entry.settled is None:
        return "no"
    return f"{entry.repeated} times, {'enough' if entry.settled else 'repeat again'}"


def plan_as_text(plan: engine.ExperimentPlan) -> str:
    """The runs, their total, and how good the plan is."""
    cells = [HEADER, *(cells_of(run) for run in plan.runs)]
    empty = ("", text.UNKNOWN)
    used = [
        place for place in range(len(HEADER)) if any(row[place] not in empty for row in cells[1:])
    ]
    rows = [[row[place] for place in used] for row in cells]
    right = [order for order, place in enumerate(used) if HEADER[place] not in ("type", "teaches")]
    return "\n".join([text.table(rows, right=right), "", *totals(plan)])


HEADER = ("type", "nodes", "cores", "input", "parts", "iterations", "time", "cost", "teaches")


def cells_of(run: engine.Experiment) -> tuple[str, ...]:
    """One run as cells under `HEADER`; what is not known or not asked is empty or a dash."""
    return (
        text.shown(run.instance or ""),
        "" if run.nodes is None else str(run.nodes),
        "" if run.cores is None else str(run.cores),
        f"{run.fraction * 100:.3g} %",
        "" if run.partitions is None else str(run.partitions),
        "" if run.iterations is None else f"{run.iterations:g}",
        text.seconds(run.seconds),
        text.usd(run.usd),
        run.teaches,
    )


def totals(plan: engine.ExperimentPlan) -> list[str]:
    count = len(plan.runs)
    said = [f"{count} run{'' if count == 1 else 's'}"]
    if plan.seconds is not None:
        said.append(f"{text.seconds(plan.seconds)} one after the other")
    if plan.usd is not None:
        said.append(text.usd(plan.usd))
    if plan.cost is not None and plan.budget is not None:
        said.append(f"{in_unit(plan.cost, plan.unit)} of {in_unit(plan.budget, plan.unit)}")
    lines = [", ".join(said)]
    if plan.criterion is not None:
        lines.append(
            f"variance of the coefficients {plan.criterion:.4g} "
            f"({text.percent(plan.efficiency)} of the best that any plan in the budget could do)"
        )
        cheapest = f"the {plan.greedy_runs} cheapest runs for the same money"
        lines.append(
            f"{cheapest} do not tell the terms apart"
            if plan.greedy_criterion is None
            else f"{cheapest}: {plan.greedy_criterion:.4g}"
        )
        runs = f"{plan.known_runs} known run{'' if plan.known_runs == 1 else 's'}"
        known = f", {runs} built on" if plan.known_runs else ""
        lines.append(f"{plan.candidates:,} possible runs, terms {', '.join(plan.terms)}{known}")
    return lines


def in_unit(value: float, unit: str | None) -> str:
    if unit == "usd":
        return text.usd(value)
    if unit == "seconds":
        return text.seconds(value)
    return f"{value:.4g} smallest runs"


def payback(runs: float | None) -> str:
    if runs is None or runs > MOST_RUNS:
        return "never" if runs is None else f"> {MOST_RUNS:,} runs"
    count = max(1, math.ceil(runs))
    return f"{count:,} run{'' if count == 1 else 's'}"


def advice_as_text(advice: engine.Advice, deadline: float | None) -> str:
    """What would be chosen now, and what another run would be worth."""
    now = f"now: {advice.nodes} × {text.shown(advice.instance or 'nodes')}  "
    now += f"{text.seconds(advice.seconds)} ({text.interval(advice.low, advice.high)})  "
    now += text.usd(advice.usd)
    if deadline is not None:
        now += f"  within {text.seconds(deadline)} with {text.percent(advice.p_deadline)}"
    lines = [now, advice.reason, ""]
    header = ("next run", "input", "time", "price", "saves each time", "pays after", "changes it")
    rows = [
        (
            f"{run.nodes} × {text.shown(run.instance or 'nodes')}",
            f"{run.fraction * 100:.3g} %",
            text.seconds(run.seconds),
            text.usd(run.usd),
            text.usd(run.gain_usd),
            payback(run.pays_after),
            text.percent(run.changes),
        )
        for run in advice.next_runs
    ]
    lines.append(text.table([header, *rows], right=(1, 2, 3, 4, 5, 6)))
    lines += ["", f"{advice.weighed} compositions weighed"]
    return "\n".join(lines)
