"""`sparkplan workflow`: jobs that share one cluster, simulated state by state; with `recommend`
the cheapest such cluster."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import engine
from tui import format as text
from tui import streams, workflow_states
from tui.arguments import layouts, limits, options, prices, sections, target
from tui.headless import costs, output, recommend

RECOMMEND = "recommend"
FEW_STATES = 20
SHORT_SHARE = 0.01
"""With more states than `FEW_STATES`, those shorter than `SHORT_SHARE` of the run time are not
printed."""

SHOWN_SKEW = 0.005
"""Least share of the run time at which the time added by skew is printed."""

INTERRUPTIONS = "interruptions"
"""The phase that holds the time which interruptions of spot nodes add."""

COURSE = ("jobs", "states")
"""JSON keys of what a run of the workflow does one after the other."""

TASK_PROFILES = ("normal", "mean", "median")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [recommend] WORKFLOW [WORKFLOW ...]"
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="WORKFLOW",
        help="a workflow YAML or sample, or the event log of an application with parallel jobs; "
        "`recommend` before it asks for the cheapest cluster that runs it all in time",
    )
    sections.section(parser, sections.CLUSTER).add_argument(
        "--nodes", type=options.whole(), metavar="N", help="worker nodes"
    )
    options.add_cluster(parser)
    options.add_terms(parser)
    layouts.add_layout(parser)
    options.add_origin(parser)
    model = sections.section(parser, sections.MODEL)
    model.add_argument(
        "--scheduler", metavar="NAME", help="drf, max-min or fifo, in place of the file's"
    )
    model.add_argument(
        "--task-profile",
        choices=TASK_PROFILES,
        help="task times: a normal law (default), or all tasks like the mean or the median one",
    )
    model.add_argument(
        "--printed",
        action="store_true",
        help="Eqs. 7 and 8 as the paper prints them (they disagree with discrete events)",
    )
    sections.section(parser, sections.JOB).add_argument(
        "--input-size", metavar="Kx", help="2x: every job with twice its input"
    )
    options.add_confidence(parser)
    with_recommend = sections.section(parser, "with recommend")
    options.add_goal(with_recommend)
    limits.add_limits(with_recommend)
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    wants_recommendation = args.sources[0] == RECOMMEND
    sources = args.sources[1:] if wants_recommendation else args.sources
    if not sources:
        raise engine.BadInput("no workflow is given", remedy="give a workflow YAML or a sample")
    if wants_recommendation:
        return run_recommend(args, sources)
    options.refuse(
        args, ("deadline", "budget", "max_nodes", "instances", *limits.NAMES),
        "is for sparkplan workflow recommend",
        "leave it out, or write recommend before the workflow",
    )  # fmt: skip
    fitted, file_cluster = fitted_of(args, sources)
    cluster, workload = cluster_of(args, fitted, file_cluster), workload_of(args, fitted)
    if isinstance(cluster, engine.Cluster):
        paid = target.at_prices_of(cluster, args, fitted.profile)
        fitted = replace(fitted, profile=target.with_price_notice(args, fitted.profile, paid))
    report = fitted.course(cluster=cluster, workload=workload, confidence=args.confidence)
    report, cost_fields, cost_lines = with_cost(args, report, cluster, fitted, workload)
    never_ends = engine.never_ends(report.warnings)
    if args.json:
        fields = {**report.to_dict(), **cost_fields}
        of_no_run = {**output.of_no_run(fields), **dict.fromkeys(("skew_bounds", *COURSE), ())}
        output.print_json(of_no_run if never_ends else fields)
    elif never_ends:
        name = text.escaped(report.name)
        output.print_text(f"no time and no cost: {name} does not end on this cluster")
        output.print_notices(report.warnings)
    else:
        output.print_text(as_text(report, cost_lines))
        output.print_notices(report.warnings)
    return 0


def with_cost(
    args: argparse.Namespace,
    report: engine.WorkflowReport,
    cluster: engine.Cluster | engine.OwnNodes,
    fitted: engine.FittedStates,
    workload: engine.Workload | None,
) -> tuple[engine.WorkflowReport, dict[str, Any], list[str]]:
    """The report and the cost of its cluster: as JSON fields and as lines of text.

    On spot nodes the time of the report includes the expected interruptions.

    Raises:
        BadInput: for options of prices where nothing has a price.
    """
    named = args.nodes is not None and isinstance(cluster, engine.Cluster)
    if isinstance(cluster, engine.Cluster) and named and cluster.catalog is not None:
        priced = engine.predict_composition(
            fitted, composition=cluster.composition, catalog=cluster.catalog, workload=workload,
            confidence=args.confidence, spot=args.spot,
        )  # fmt: skip
        cost_fields = costs.choice_dict(priced.choice, cluster.catalog)
        cost_lines = costs.choice_lines(priced.choice, cluster.catalog)
        return replace(report, prediction=priced.prediction), cost_fields, cost_lines
    remedy = target.ADD_CATALOG if named else target.ADD_TYPE
    target.check_on_demand(args, remedy=remedy)
    if isinstance(cluster, engine.OwnNodes):
        target.check_unpriced(args, remedy=remedy)
        return report, costs.measured_dict(None, report.prediction, fitted.profile), []
    paid = target.priced_cluster(args, cluster, fitted.profile, remedy=remedy)
    cost_fields = costs.measured_dict(paid, report.prediction, fitted.profile)
    return report, cost_fields, costs.measured_lines(paid, report.prediction, fitted.profile)


def fitted_of(
    args: argparse.Namespace, sources: Sequence[str]
) -> tuple[engine.FittedStates, engine.OwnNodes | None]:
    """The fitted workflow of a file, or the stages of logs; and the cluster that the file
    describes (None for logs)."""
    if len(sources) == 1 and engine.is_workflow(sources[0]):
        workflow = engine.read_workflow(sources[0], ran_on=options.ran_on(args))
        if args.scheduler is not None:
            workflow = engine.with_scheduler(workflow, args.scheduler)
        if args.printed and args.task_profile == "normal":
            raise engine.BadInput(
                "Eqs. 7 and 8 as printed know no skew",
                where="--task-profile",
                remedy="use mean (the default with --printed) or median",
            )
        profile = args.task_profile or "normal"
        fitted = engine.fit_workflow(workflow, task_profile=profile, printed=args.printed)
        fitted_with_layout = replace(
            fitted, profile=options.with_layout_options(args, fitted.profile)
        )
        return fitted_with_layout, workflow.cluster
    why = "is for workflow files: the stages of one application are served in turn"
    options.refuse(args, ("scheduler", "printed"), why, "leave it out")
    if args.task_profile not in (None, "normal"):
        raise engine.BadInput(
            "is for workflow files", where="--task-profile", remedy="leave it out"
        )
    with streams.stderr_progress(sources) as progress:
        profile = engine.read(*sources, ran_on=options.ran_on(args), progress=progress)
    return engine.fit_states(options.with_layout_options(args, profile)), None


def cluster_of(
    args: argparse.Namespace, fitted: engine.FittedStates, file_cluster: engine.OwnNodes | None
) -> engine.Cluster | engine.OwnNodes:
    """The cluster that the options name, else that of the workflow file or of the log."""
    named = args.instance is not None or args.executors is not None
    if file_cluster is not None and not named:
        layouts.check_layout_applies(args)
        return file_cluster if args.nodes is None else replace(file_cluster, nodes=args.nodes)
    if not fitted.profile.runs and args.executors is None:
        if args.instance is None:
            raise engine.BadInput(
                "the file describes no cluster", remedy="add --nodes N --instance TYPE"
            )
        if args.nodes is None:
            raise engine.BadInput("how many nodes is not said", remedy="add --nodes N")
    return target.cluster_of(args, fitted.profile, nodes=args.nodes)


def workload_of(args: argparse.Namespace, fitted: engine.FittedStates) -> engine.Workload | None:
    """The workload with --input-size times the input of the workflow; None without that option."""
    if args.input_size is None:
        return None
    times = engine.parse_times(args.input_size, where="--input-size")
    if times is None:
        raise engine.BadInput(
            f"{args.input_size!r} is not a factor",
            where="--input-size",
            remedy="write it like 2x (each job's own size stands in the file)",
        )
    engine.check_times(times, args.input_size, where="--input-size")
    return fitted.profile.workload_at(times)


def run_recommend(args: argparse.Namespace, sources: Sequence[str]) -> int:
    """Print the cheapest cluster on which all jobs end within the deadline."""
    options.refuse(
        args, ("nodes", "instance", "executors", "executor_cores", "executor_memory"),
        "recommend chooses the cluster itself",
        "leave it out; --instances, --exclude and --max-nodes limit the choice",
    )  # fmt: skip
    if args.deadline is None and args.budget is None:
        raise engine.BadInput("no goal is given", remedy="add --deadline D, --budget B, or both")
    fitted, _ = fitted_of(args, sources)
    catalog, notices = prices.catalog_for(args, fitted.profile)
    fitted = replace(fitted, profile=prices.with_notices(fitted.profile, *notices))
    recommendation = recommend.rented(args, fitted, catalog, workload_of(args, fitted))
    return recommend.print_recommendation(args, recommendation, catalog)


def as_text(report: engine.WorkflowReport, cost: Sequence[str] = ()) -> str:
    """The report as text: completion time, cost, table of jobs, table of states."""
    prediction = report.prediction
    lines = [
        f"{text.escaped(report.name)} ends after {text.seconds(report.seconds)} "
        f"({text.odds(prediction.confidence)} runs: {text.span(prediction.low, prediction.high)})",
        f"scheduler {report.scheduler}, task times {report.task_profile}, "
        f"bound by {prediction.bottleneck}",
        *skew_line(report),
        *interruptions_line(report),
        *cost,
        "",
        text.table(job_rows(report), right=(1, 2, 3)),
        "",
        text.table(state_table(report), right=(0, 1, 2, 4, 5)),
        *omitted(report),
        "",
        "bound: c cpu, d disk, n network; a capital where it is full, - where none bounds",
    ]
    return "\n".join(lines)


def skew_line(report: engine.WorkflowReport) -> list[str]:
    """The time that skewed tasks add; nothing where it is below `SHOWN_SKEW`."""
    added = report.skew_seconds
    if added is None or abs(added) < SHOWN_SKEW * report.seconds:
        return []
    verb = "add" if added > 0.0 else "spare"
    return [f"tasks of unlike length {verb} {text.seconds(abs(added))} of that (no interval)"]


def interruptions_line(report: engine.WorkflowReport) -> list[str]:
    """The expected time lost to spot interruptions, which no state contains."""
    added = (report.prediction.phases or {}).get(INTERRUPTIONS)
    if added is None:
        return []
    return [f"interruptions are expected to add {text.seconds(added)} of that; no state has them"]


def omitted(report: engine.WorkflowReport) -> list[str]:
    """How many short states the table leaves out, and their total time."""
    short = [state for state in report.states if is_short(state, report)]
    if not short:
        return []
    total = sum(state.end_seconds - state.start_seconds for state in short)
    return [f"and {len(short)} short states, together {text.seconds(total)} (--json lists them)"]


def job_rows(report: engine.WorkflowReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("job", "tasks", "starts", "ends", "waits for")]
    rows += [
        (
            text.escaped(job.name),
            f"{job.tasks:,}",
            text.seconds(job.start_seconds),
            text.seconds(job.end_seconds),
            text.escaped(", ".join(job.after)),
        )
        for job in report.jobs
    ]
    return rows


def state_table(report: engine.WorkflowReport) -> list[tuple[str, ...]]:
    """A heading, then one row per stage in each state; states that are too short are left out."""
    rows: list[tuple[str, ...]] = [
        ("state", "from", "to", "job: stage", "tasks at once", "task time", "bound")
    ]
    for row in workflow_states.state_rows(
        report, included=lambda state: not is_short(state, report)
    ):
        name = text.escaped(row.name) if row.stage else "(driver)"
        letter = workflow_states.bottleneck_letter(row.stage) if row.stage else ""
        rows.append((row.number, row.start, row.end, name, row.tasks, row.task_time, letter))
    return rows


def is_short(state: engine.WorkflowState, report: engine.WorkflowReport) -> bool:
    """Whether the table leaves a state out: `SHORT_SHARE` of the time, in a long sequence."""
    length = state.end_seconds - state.start_seconds
    return len(report.states) > FEW_STATES and length < SHORT_SHARE * report.seconds
