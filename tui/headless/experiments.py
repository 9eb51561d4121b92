"""`sparkplan experiments`: which runs to make, what each costs and teaches, and when to stop."""

from __future__ import annotations

import argparse
from dataclasses import replace

import engine
from tui.arguments import layouts, options, prices, sections, workloads
from tui.headless.experiments_output import show
from tui.input_text import training_text
from tui.input_text.job_text import parse_iterations


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="runs made so far (event logs, run tables)"
    )
    _configure_runs(sections.section(parser, "the runs to choose from"))
    _configure_plans(sections.section(parser, "first runs, by a published design"))
    _configure_job(sections.section(parser, "the real job"))
    options.add_catalog(parser)
    options.add_terms(parser)
    options.add_origin(parser)
    layouts.add_layout(parser)
    workloads.add_workload(parser)
    options.add_json(parser)


def _configure_runs(parser: argparse._ActionsContainer) -> None:
    """Options of the runs to choose from."""
    parser.add_argument(
        "--nodes", metavar="A:B", help="node counts (default 1:16; for the next run 1:64)"
    )
    parser.add_argument(
        "--fractions", metavar="F,...", help="samples of the input: 1%%:10%%, or 0.01,0.05,0.1"
    )
    parser.add_argument(
        "--steps",
        type=options.whole(2),
        default=10,
        metavar="N",
        help="sizes in a range F1:F2 (default 10)",
    )
    parser.add_argument(
        "--budget",
        metavar="B",
        help="for all runs together: $5, 2h, or a number of the smallest sample on one node",
    )


def _configure_job(parser: argparse._ActionsContainer) -> None:
    """Options of the job that the runs are made for."""
    parser.add_argument(
        "--deadline", type=options.duration, metavar="D", help="time that one run may take"
    )
    parser.add_argument(
        "--job-budget",
        type=options.quantity(engine.parse_usd),
        metavar="USD",
        help="cost that one run may have (for the next run); alone: the fastest within it",
    )
    parser.add_argument(
        "--spot", action="store_true", help="the job rents spot nodes (for the next run)"
    )
    parser.add_argument("--instances", metavar="TYPE,...", help="instance types")


def _configure_plans(parser: argparse._ActionsContainer) -> None:
    """Options of the published designs of first runs."""
    parser.add_argument(
        "--plan",
        choices=("ernest", "peridot", "simcost"),
        default="ernest",
        help="whose design (default: ernest)",
    )
    parser.add_argument(
        "--terms",
        choices=("ernest", "extended"),
        default="ernest",
        help="of the law to design for; extended: also the root of machines, and the scale alone",
    )
    parser.add_argument(
        "--partitions", type=options.whole(), metavar="P", help="partitions of the whole input"
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
    parser.add_argument(
        "--sample-partitions",
        type=options.whole(),
        metavar="P",
        help="SimCost's plan: partitions of the sample that it runs",
    )


def run(args: argparse.Namespace) -> int:
    check_question(args)
    profile = options.read_profile(args) if args.sources else None
    fitted = engine.fit(profile, model=args.model) if profile else None
    workload = workloads.workload_of(args, profile) if profile else None
    if fitted is None or wants_design(args):
        return show(args, profile, design(args, fitted, workload), None)
    return show(args, profile, None, next_runs(args, fitted, workload))


def wants_design(args: argparse.Namespace) -> bool:
    """Whether a set of runs is asked for, not the next one."""
    return args.budget is not None or args.plan != "ernest"


DESIGN_OPTIONS = ("partitions", "node_cores", "iteration_share", "smallest_run")

NEXT_OPTIONS = ("deadline", "job_budget", "spot")
SIMCOST_OPTIONS = ("target_cores", "sample_partitions")
NOT_SIMCOST = ("fractions", "smallest_run", "iteration_share")


def check_question(args: argparse.Namespace) -> None:
    """Refuse options that contradict, before anything is read."""
    if not args.sources:
        options.refuse(
            args, layouts.NAMES, "says how executors of logs are laid out", "leave it out"
        )
    if args.plan != "simcost":
        options.refuse(args, SIMCOST_OPTIONS, "is for SimCost's plan", "add --plan simcost")
    if args.terms != "ernest" and (args.plan != "ernest" or not wants_design(args)):
        raise engine.BadInput(
            "is for Ernest's design of several runs",
            where="--terms",
            remedy="add --fractions and --budget, or leave it out",
        )
    if args.plan == "simcost":
        options.refuse(args, NOT_SIMCOST, "is not for SimCost's plan", "leave it out")
        check_simcost(args)
    elif not args.sources and args.fractions is None:
        raise engine.BadInput(
            "there is nothing to plan from",
            remedy="give the runs made so far as SOURCE, or --nodes, --fractions and --budget",
        )
    elif wants_design(args) or not args.sources:
        check_design(args)
    else:
        options.refuse(
            args, DESIGN_OPTIONS, "is for a design of several runs",
            "add --fractions and --budget, or leave it out",
        )  # fmt: skip
        return
    options.refuse(args, NEXT_OPTIONS, "is of the real job, for the next run", "leave it out")
    if args.plan != "ernest":
        why = "this plan has its own number of runs and no budget"
        options.refuse(args, ("budget",), why, "leave it out, or use --plan ernest")


def check_design(args: argparse.Namespace) -> None:
    """A design of several runs needs sizes and, except for PERIDOT's two runs, a budget."""
    if args.budget is None and args.plan != "peridot":
        raise engine.BadInput("a design needs a budget", remedy="add --budget $5, 2h, or 10")
    if args.fractions is None:
        raise engine.BadInput(
            "a design needs sizes to choose from", remedy="add --fractions 1%:10%"
        )
    if args.sources:
        why = "the runs given say how long samples take"
        options.refuse(args, ("smallest_run",), why, "leave it out")


def check_simcost(args: argparse.Namespace) -> None:
    """Without runs, SimCost's design needs all of its parameters."""
    if args.sources:
        return
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
        raise engine.BadInput(
            "SimCost's plan needs " + ", ".join(missing),
            remedy="add them, or an event log as SOURCE",
        )


def target_cores(typed: str | None) -> tuple[int, ...]:
    """ "30,60,90": numbers of cores."""
    if typed is None:
        return ()
    try:
        return tuple(options.whole()(part) for part in typed.split(","))
    except argparse.ArgumentTypeError as error:
        raise engine.BadInput(str(error), where="--target-cores") from None


def design(
    args: argparse.Namespace, fitted: engine.FittedModel | None, workload: engine.Workload | None
) -> engine.ExperimentPlan:
    budget, unit = training_text.budget_of(args.budget, where="--budget")
    iterations = None
    if args.iterations is not None and fitted is None:
        iterations = parse_iterations(args.iterations)
    request = engine.TrainingRequest(
        nodes=tuple(options.node_range(args.nodes, default="1:16")),
        fractions=()
        if args.fractions is None
        else training_text.fractions_of(args.fractions, args.steps, where="--fractions"),
        budget=budget,
        unit=unit,
        method=args.plan,
        terms=args.terms,
        instances=options.globs(args.instances) or (),
        partitions=args.partitions,
        node_cores=args.node_cores,
        iterations=iterations,
        iteration_share=args.iteration_share,
        smallest_seconds=args.smallest_run,
        confidence=args.confidence,
        target_cores=target_cores(args.target_cores),
        sample_partitions=args.sample_partitions,
    )
    in_money = fitted is not None and unit == "usd"
    terms = options.given_terms(args)
    needs_prices = bool(args.catalog is not None or request.instances or terms or in_money)
    profiles = (fitted.profile,) if fitted is not None else ()
    catalog, notices = prices.catalog_for(args, *profiles) if needs_prices else (None, ())
    if in_money and not request.instances:
        request = replace(request, instances=_measured_type(fitted, catalog))
    plan = engine.plan_experiments(request, fitted=fitted, workload=workload, catalog=catalog)
    return replace(plan, notices=(*plan.notices, *notices)) if notices else plan


def _measured_type(
    fitted: engine.FittedModel | None, catalog: engine.Catalog | None
) -> tuple[str, ...]:
    """The type of the runs made so far, where they have one and the catalog has its price."""
    types = fitted.profile.instance_types if fitted is not None else ()
    priced = catalog is not None and len(types) == 1 and types[0] in catalog.offers
    return tuple(types) if priced else ()


def next_runs(
    args: argparse.Namespace, fitted: engine.FittedModel, workload: engine.Workload | None
) -> engine.Advice:
    catalog: engine.Catalog | None = None
    notices: tuple[engine.Notice, ...] = ()
    has_prices = any(
        group.price_usd_per_hour is not None and group.instance is not None
        for run in fitted.profile.runs
        for group in run.cluster.groups
    )
    if args.catalog is not None or args.spot or options.given_terms(args) or not has_prices:
        catalog, notices = prices.catalog_for(args, fitted.profile)
    advice = engine.advise(
        fitted,
        catalog=catalog,
        instances=options.globs(args.instances),
        nodes=options.node_range(args.nodes),
        fractions=training_text.fractions_of(args.fractions, args.steps, where="--fractions")
        if args.fractions
        else (1.0,),
        workload=workload,
        deadline_seconds=args.deadline,
        confidence=args.confidence,
        budget_usd=args.job_budget,
        billing=None if catalog is None else replace(catalog.billing, spot=args.spot),
    )
    return replace(advice, notices=(*advice.notices, *notices)) if notices else advice
