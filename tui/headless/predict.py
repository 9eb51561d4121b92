"""`sparkplan predict`: time and cost of one cluster."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import engine
from tui import format as text
from tui.arguments import layouts, limits, options, prices, sections, target, workloads
from tui.headless import all_models, choice_words, costs, output
from tui.input_text.limit_text import parse_type_count
from tui.widgets.text import fit_ends


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_sources(parser)
    cluster = sections.section(parser, sections.CLUSTER)
    cluster.add_argument(
        "--nodes",
        type=options.whole(),
        metavar="N",
        help="worker nodes (default: as in the largest run)",
    )
    options.add_cluster(parser)
    cluster.add_argument(
        "--composition",
        metavar="TYPE=N,...",
        help="a cluster of unlike nodes, in place of --nodes and --instance",
    )
    limits.add_spot(parser)
    options.add_terms(parser)
    layouts.add_layout(parser)
    options.add_origin(parser)
    workloads.add_workload(parser)
    sections.section(parser, sections.GOAL).add_argument(
        "--deadline",
        type=options.duration,
        metavar="D",
        help="say whether it will be met, and how surely",
    )
    sections.section(parser, sections.MODEL).add_argument(
        "--all-models",
        action="store_true",
        help="every model side by side, with its error on left-out runs or why it does not fit",
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.composition is not None:
        return run_composition(args)
    profile = options.read_profile(args)
    if args.all_models:
        why = "--all-models compares times, not costs"
        target.check_on_demand(args, why, remedy="leave it out")
        target.check_unpriced(args, why, remedy="leave it out")
        return all_models.run(args, profile)
    cluster = target.cluster_of(args, profile, nodes=args.nodes)
    if cluster.catalog is not None:
        profile = target.with_price_notice(args, profile, cluster)
        return run_priced(args, profile, dict(cluster.composition), cluster.catalog)
    return run_as_measured(args, profile, cluster)


def run_as_measured(
    args: argparse.Namespace, profile: engine.Profile, cluster: engine.Cluster
) -> int:
    """Predict for nodes or executors like those of the evidence; with the cost where the type of
    the nodes is known."""
    remedy = target.ADD_CATALOG if target.names_nodes(args) else ADD_TYPE
    paid = target.priced_cluster(args, cluster, profile, remedy=remedy)
    profile = target.with_price_notice(args, profile, paid)
    fitted = engine.fit(profile, model=args.model)
    workload = workloads.workload_of(args, profile)
    prediction = fitted.predict(cluster=cluster, workload=workload, confidence=args.confidence)
    evidence = Evidence.of(fitted, workload, profile)
    cost_fields = costs.measured_dict(paid, prediction, profile)
    cost_lines = costs.measured_lines(paid, prediction, profile)
    print_prediction(args, prediction, evidence, cluster_in_words(cluster), cost_fields, cost_lines)
    return 0


ADD_TYPE = f"add --composition TYPE=N or {target.ADD_TYPE.removeprefix('add ')}"


def run_composition(args: argparse.Namespace) -> int:
    """Predict time and cost of a named composition."""
    others = ("nodes", "instance", "executors", "executor_cores", "executor_memory")
    if given := options.given(args, others):
        raise engine.BadInput(
            "a composition says all of the cluster", where=" ".join(given), remedy="leave it out"
        )
    options.refuse(
        args,
        ("all_models",),
        "a composition is answered by one model",
        "leave it out, or say the cluster with --nodes N --instance TYPE",
    )
    composition = composition_of(args.composition)
    profile = options.read_profile(args)
    catalog, notices = prices.catalog_for(args, profile, candidates=tuple(composition))
    return run_priced(args, prices.with_notices(profile, *notices), composition, catalog)


def run_priced(
    args: argparse.Namespace,
    profile: engine.Profile,
    composition: dict[str, int],
    catalog: engine.Catalog,
) -> int:
    """Predict time and cost of nodes of a catalog."""
    fitted = engine.fit(profile, model=args.model)
    workload = workloads.workload_of(args, profile)
    answer = engine.predict_composition(
        fitted,
        composition=composition,
        catalog=catalog,
        workload=workload,
        deadline_seconds=args.deadline,
        confidence=args.confidence,
        spot=limits.on_spot(args),
        max_spot=args.max_spot,
    )
    choice, evidence = answer.choice, Evidence.of(fitted, workload, profile)
    cost_fields = costs.choice_dict(choice, catalog)
    cost_lines = costs.choice_lines(choice, catalog)
    cluster = choice_words.composition(choice)
    print_prediction(args, answer.prediction, evidence, cluster, cost_fields, cost_lines)
    return 0


def print_prediction(
    args: argparse.Namespace,
    prediction: engine.Prediction,
    evidence: Evidence,
    cluster: str,
    cost_fields: dict[str, Any],
    cost_lines: list[str],
) -> None:
    """Print a prediction and the cost of its cluster as text or JSON."""
    ends = not engine.never_ends(prediction.warnings)
    if args.json:
        fields = {**as_dict(prediction, evidence, args.deadline), **cost_fields}
        output.print_json(fields if ends else output.of_no_run(fields))
        return
    if ends:
        lines = [as_text(prediction, evidence, cluster, args.deadline), *cost_lines]
    else:
        lines = unending(prediction, evidence, cluster, args.deadline)
    output.print_text("\n".join(lines))
    output.print_notices(prediction.warnings)


def composition_of(given: str) -> dict[str, int]:
    """ "A=3,B=2" as type -> nodes."""
    composition: dict[str, int] = {}
    for part in given.split(","):
        name, nodes = parse_type_count(part, "--composition")
        if name in composition:
            raise engine.BadInput(
                f"{name} is named twice", where="--composition", remedy="name each type once"
            )
        composition[name] = nodes
    return composition


@dataclass(frozen=True)
class Evidence:
    """The evidence of a prediction: the model, how many of the runs it was fitted to, and its mean
    relative error on left-out runs (None where none could be left out)."""

    model: str
    used: int
    runs: int
    error: float | None

    @classmethod
    def of(
        cls, fitted: engine.FittedModel, workload: engine.Workload, profile: engine.Profile
    ) -> Evidence:
        answering = fitted.answering(workload)
        tested = answering.validation
        error = None if tested is None else tested.mean_relative_error
        used, runs = answering.runs_used(workload), len(profile.runs)
        return cls(answering.model, used, runs, error)

    def in_words(self) -> str:
        """ "model sparkplan, 3 of 5 runs, leave-one-out error 9.6 %"."""
        model_and_runs = f"model {self.model}, {text.runs_used(self.used, self.runs)}"
        if self.error is None:
            return model_and_runs
        return f"{model_and_runs}, leave-one-out error {text.mean_error(self.error)}"


def as_dict(
    prediction: engine.Prediction, evidence: Evidence, deadline: float | None
) -> dict[str, Any]:
    """The JSON object of the contract, and further fields behind it."""
    result: dict[str, Any] = {
        **output.fields_of(prediction, "model", "seconds", "low", "high", "confidence"),
        "phases": dict(prediction.phases) if prediction.phases is not None else None,
        "bottleneck": prediction.bottleneck,
        "warnings": output.notices(prediction.warnings),
        "runs": evidence.runs,
        "runs_used": evidence.used,
        "leave_one_out_error": evidence.error,
    }
    if prediction.job_profile is not None:
        result["job_profile"] = dict(prediction.job_profile)
    if deadline is not None:
        result["deadline_seconds"] = deadline
        result["deadline_met"] = meets(prediction, deadline)
        result["p_deadline"] = prediction.p_within(deadline)
    return result


def meets(prediction: engine.Prediction, deadline: float) -> bool:
    """P(T <= deadline) >= confidence, one-sided; without an interval the predicted time decides."""
    p = prediction.p_within(deadline)
    return prediction.seconds < deadline if p is None else p >= prediction.confidence


def as_text(
    prediction: engine.Prediction,
    evidence: Evidence,
    cluster: str,
    deadline: float | None,
) -> str:
    """The prediction as text: the answer first, then where the time goes."""
    batch = " for one micro-batch" if engine.of_one_batch(prediction.warnings) else ""
    lines = [
        f"{text.seconds(prediction.seconds)}{batch} on {cluster}",
        interval_in_words(prediction),
    ]
    if deadline is not None:
        lines.append(deadline_in_words(prediction, deadline))
    if prediction.phases:
        lines.append("")
        lines.append(phase_table(prediction))
    if prediction.bottleneck:
        lines.append(f"bottleneck: {prediction.bottleneck}")
    if prediction.job_profile:
        lines.append(text.figures(prediction.job_profile))
    lines.append(evidence.in_words())
    return "\n".join(text.escaped(line) if "\n" not in line else line for line in lines)


def unending(
    prediction: engine.Prediction, evidence: Evidence, cluster: str, deadline: float | None
) -> list[str]:
    """The lines where the job does not end: no time, and what it means for a deadline."""
    lines = [f"no time and no cost: the job does not end on {cluster}"]
    if deadline is not None:
        lines.append(
            f"deadline {text.seconds(deadline)}: not met, the job does not end on this cluster"
        )
    return [text.escaped(line) for line in (*lines, evidence.in_words())]


def cluster_in_words(cluster: engine.Cluster) -> str:
    described = text.cluster(cluster)
    unnamed = not cluster.composition and cluster.executors is None
    return f"{described} like those measured" if unnamed else described


def interval_in_words(prediction: engine.Prediction) -> str:
    if prediction.low is None:
        return "no interval: how sure this is, is not known"
    within = text.span(prediction.low, prediction.high)
    of = "micro-batches" if engine.of_one_batch(prediction.warnings) else "runs"
    return f"{text.odds(prediction.confidence)} {of} take {within}"


def deadline_in_words(prediction: engine.Prediction, deadline: float) -> str:
    verdict = "met" if meets(prediction, deadline) else "not met"
    p = prediction.p_within(deadline)
    likely = f"probability {text.in_time(p, prediction.confidence)}"
    sure = "no interval, the time alone decides" if p is None else likely
    return (
        f"deadline {text.seconds(deadline)} at {text.confidence_level(prediction.confidence)}: "
        f"{verdict} ({sure})"
    )


PHASE_CELLS = 60
"""Width of the name of a phase, so that the table has 80 columns; `--json` has the whole name."""


def phase_table(prediction: engine.Prediction) -> str:
    phases = prediction.phases or {}
    rows = [
        (
            fit_ends(text.escaped(name), PHASE_CELLS).rstrip(),
            text.seconds(value),
            text.percent(value / prediction.seconds),
        )
        for name, value in phases.items()
    ]
    return text.table(rows, right=(1, 2))
