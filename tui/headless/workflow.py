"""`sparkplan workflow`: jobs that share a cluster, state by state; and the cheapest for them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import engine
from tui import format as text
from tui import streams
from tui.arguments import layouts, options, prices, sections, target
from tui.headless import costs, output, recommend

RECOMMEND = "recommend"
LETTERS = {"cpu": "c", "disk": "d", "network": "n"}
"""How a bottleneck is written where there is room for a letter; a capital where it is full."""

FEW_STATES = 20
SHORT_SHARE = 0.01
"""Of more states than this, those that take less than a hundredth of the time are not printed."""

SHOWN_SKEW = 0.005
"""Share of the time from which on what skew adds is told."""

INTERRUPTIONS = "interruptions"
"""The phase of what interruptions of spot nodes add."""

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
    sections.of(parser, sections.CLUSTER).add_argument(
        "--nodes", type=options.whole(), metavar="N", help="worker nodes"
    )
    options.add_cluster(parser)
    options.add_terms(parser)
    layouts.add_layout(parser)
    options.add_origin(parser)
    model = sections.of(parser, sections.MODEL)
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
    sections.of(parser, sections.JOB).add_argument(
        "--input-size", metavar="Kx", help="2x: every job with twice its input"
    )
    options.add_confidence(parser)
    options.add_goal(sections.of(parser, "with recommend"))
    parser.set_defaults(max_spot=None)  # all nodes or none: what checks spot nodes asks for both
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    asked = args.sources[0] == RECOMMEND
    sources = args.sources[1:] if asked else args.sources
    if not sources:
        raise engine.BadInput("no workflow is given", remedy="give a workflow YAML or a sample")
    if asked:
        return run_recommend(args, sources)
    options.refuse(
        args, ("deadline", "budget", "max_nodes", "instances"),
        "is for sparkplan workflow recommend",
        "leave it out, or write recommend before the workflow",
    )  # fmt: skip
    fitted, own = fitted_of(args, sources)
    cluster, workload = cluster_of(args, fitted, own), workload_of(args, fitted)
    if isinstance(cluster, engine.Cluster):
        paid = target.at_prices_of(cluster, args, fitted.profile)
        fitted = replace(fitted, profile=target.noted(args, fitted.profile, paid))
    found = fitted.course(cluster=cluster, workload=workload, confidence=args.confidence)
    found, told, lines = with_cost(args, found, cluster, fitted, workload)
    if args.json:
        output.print_json({**found.to_dict(), **told})
    else:
        print(as_text(found, lines))
        output.print_notices(found.warnings)
    return 0


def with_cost(
    args: argparse.Namespace,
    found: engine.WorkflowReport,
    cluster: engine.Cluster | engine.OwnNodes,
    fitted: engine.FittedStates,
    workload: engine.Workload | None,
) -> tuple[engine.WorkflowReport, dict[str, Any], list[str]]:
    """The report, of spot nodes with their interruptions in the time; and what its cluster costs,
    for JSON and for a person.

    Raises:
        BadInput: for options of prices where nothing has a price.
    """
    named = args.nodes is not None and isinstance(cluster, engine.Cluster)
    if isinstance(cluster, engine.Cluster) and named and cluster.catalog is not None:
        priced = engine.predict_composition(
            fitted, composition=cluster.composition, catalog=cluster.catalog, workload=workload,
            confidence=args.confidence, spot=args.spot,
        )  # fmt: skip
        told = costs.choice_dict(priced.choice, cluster.catalog)
        lines = costs.choice_lines(priced.choice, cluster.catalog)
        return replace(found, prediction=priced.prediction), told, lines
    remedy = target.ADD_CATALOG if named else target.ADD_TYPE
    target.check_on_demand(args, remedy=remedy)
    if isinstance(cluster, engine.OwnNodes):
        target.check_unpriced(args, remedy=remedy)
        return found, costs.measured_dict(None, found.prediction, fitted.profile), []
    paid = target.at_prices_of(cluster, args, fitted.profile)
    if paid.catalog is None:
        target.check_unpriced(args, remedy=remedy)
    told = costs.measured_dict(paid, found.prediction, fitted.profile)
    return found, told, costs.measured_lines(paid, found.prediction, fitted.profile)


def fitted_of(
    args: argparse.Namespace, sources: Sequence[str]
) -> tuple[engine.FittedStates, engine.OwnNodes | None]:
    """The workflow of a file, or the stages of logs; and the nodes that the file describes."""
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
        asked = replace(fitted, profile=options.laid_out(args, fitted.profile))
        return asked, workflow.cluster
    why = "is for workflow files: the stages of one application are served in turn"
    options.refuse(args, ("scheduler", "printed"), why, "leave it out")
    if args.task_profile not in (None, "normal"):
        raise engine.BadInput(
            "is for workflow files", where="--task-profile", remedy="leave it out"
        )
    progress = streams.long_reading()
    profile = engine.read(*sources, ran_on=options.ran_on(args), progress=progress)
    return engine.fit_states(options.laid_out(args, profile)), None


def cluster_of(
    args: argparse.Namespace, fitted: engine.FittedStates, own: engine.OwnNodes | None
) -> engine.Cluster | engine.OwnNodes:
    """The cluster that the options name, else the one of the file or of the log."""
    named = args.instance is not None or args.executors is not None
    if own is not None and not named:
        layouts.check_laid_out(args)
        return own if args.nodes is None else replace(own, nodes=args.nodes)
    if not fitted.profile.runs and args.executors is None:
        if args.instance is None:
            raise engine.BadInput(
                "the file describes no cluster", remedy="add --nodes N --instance TYPE"
            )
        if args.nodes is None:
            raise engine.BadInput("how many nodes is not said", remedy="add --nodes N")
    return target.cluster_of(args, fitted.profile, nodes=args.nodes)


def workload_of(args: argparse.Namespace, fitted: engine.FittedStates) -> engine.Workload | None:
    """The whole workflow with a multiple of its input; None as it is."""
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
    """The cheapest cluster on which all jobs end within the window."""
    options.refuse(
        args, ("nodes", "instance", "executors", "executor_cores", "executor_memory"),
        "recommend chooses the cluster itself",
        "leave it out; --instances and --max-nodes limit the choice",
    )  # fmt: skip
    if args.deadline is None and args.budget is None:
        raise engine.BadInput("no goal is given", remedy="add --deadline D, --budget B, or both")
    fitted, _ = fitted_of(args, sources)
    catalog, notice = prices.priced(args, fitted.profile)
    fitted = replace(fitted, profile=prices.noting(fitted.profile, notice))
    found = engine.recommend(
        fitted,
        catalog=catalog,
        workload=workload_of(args, fitted),
        deadline_seconds=args.deadline,
        budget_usd=args.budget,
        instances=options.globs(args.instances),
        max_nodes=args.max_nodes or options.DEFAULT_MAX_NODES,
        confidence=args.confidence,
        spot=args.spot,
    )
    return recommend.tell(args, found, catalog)


def as_text(found: engine.WorkflowReport, cost: Sequence[str] = ()) -> str:
    """The end first, then what it costs, the jobs, and the sequence of states."""
    answer = found.prediction
    lines = [
        f"{text.shown(found.name)} ends after {text.seconds(found.seconds)} "
        f"({text.odds(answer.confidence)} runs: {text.span(answer.low, answer.high)})",
        f"scheduler {found.scheduler}, task times {found.task_profile}, "
        f"bound by {answer.bottleneck}",
        *skew_line(found),
        *interruptions_line(found),
        *cost,
        "",
        text.table(job_rows(found), right=(1, 2, 3)),
        "",
        text.table(state_rows(found), right=(0, 1, 2, 4, 5)),
        *omitted(found),
        "",
        "bound: c cpu, d disk, n network; a capital where it is full, - where none bounds",
    ]
    return "\n".join(lines)


def skew_line(found: engine.WorkflowReport) -> list[str]:
    """What tasks of unlike length add, where that would show in the time."""
    added = found.skew_seconds
    if added is None or abs(added) < SHOWN_SKEW * found.seconds:
        return []
    verb = "add" if added > 0.0 else "spare"
    return [f"tasks of unlike length {verb} {text.seconds(abs(added))} of that (no interval)"]


def interruptions_line(found: engine.WorkflowReport) -> list[str]:
    """By how much the end of spot nodes is later than the last state, where that shows."""
    added = (found.prediction.phases or {}).get(INTERRUPTIONS)
    if added is None:
        return []
    return [f"interruptions are expected to add {text.seconds(added)} of that; no state has them"]


def omitted(found: engine.WorkflowReport) -> list[str]:
    """How many states were left out."""
    short = [state for state in found.states if is_short(state, found)]
    if not short:
        return []
    total = sum(state.end_seconds - state.start_seconds for state in short)
    return [f"and {len(short)} short states, together {text.seconds(total)} (--json lists them)"]


def job_rows(found: engine.WorkflowReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("job", "tasks", "starts", "ends", "waits for")]
    rows += [
        (
            text.shown(job.name),
            f"{job.tasks:,}",
            text.seconds(job.start_seconds),
            text.seconds(job.end_seconds),
            text.shown(", ".join(job.after)),
        )
        for job in found.jobs
    ]
    return rows


def state_rows(found: engine.WorkflowReport) -> list[tuple[str, ...]]:
    """One row per stage in each state."""
    rows: list[tuple[str, ...]] = [
        ("state", "from", "to", "job: stage", "tasks at once", "task time", "bound")
    ]
    for number, state in enumerate(found.states, 1):
        if is_short(state, found):
            continue
        span = (str(number), text.seconds(state.start_seconds), text.seconds(state.end_seconds))
        if not state.running:
            rows.append((*span, "(driver)", "", "", ""))
        for place, entry in enumerate(state.running):
            rows.append(
                (
                    *(span if place == 0 else ("", "", "")),
                    text.shown(f"{entry.job}: {entry.stage}"),
                    f"{entry.parallelism:,}",
                    text.seconds(entry.task_seconds),
                    letter(entry),
                )
            )
    return rows


def is_short(state: engine.WorkflowState, found: engine.WorkflowReport) -> bool:
    """Whether a state of a long sequence hardly matters to a person; --json has it."""
    length = state.end_seconds - state.start_seconds
    return len(found.states) > FEW_STATES and length < SHORT_SHARE * found.seconds


def letter(entry: engine.StageInState) -> str:
    """The bottleneck of a stage in one character."""
    found = LETTERS.get(entry.bottleneck or "", "-")
    return found.upper() if entry.contended else found
