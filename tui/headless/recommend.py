"""`sparkplan recommend`: which cluster to rent, or how many executors of one's own to use."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import engine
from tui import format as text
from tui.arguments import (
    goal_checks,
    layouts,
    limits,
    options,
    owned,
    prices,
    sections,
    workloads,
)
from tui.headless import output, sensitivity_lines
from tui.headless.choice_words import (
    composition,
    cost_lines,
    describe,
    rejected_lines,
    runners_up,
)

OWNED_OBJECTIVE = "resource-time"

LISTED = 8
"""Runners-up that are printed; --json has them all."""


def configure(parser: argparse.ArgumentParser) -> None:
    configure_goal(parser)
    options.add_json(parser)


def configure_goal(parser: argparse.ArgumentParser) -> None:
    """Add the options shared with `export`: the job, the goal, the prices, how to search."""
    configure_rented(parser)
    owned.add_owned(parser)
    sections.section(parser, sections.GOAL).add_argument(
        "--method",
        choices=engine.METHODS,
        help="exact: over whole nodes (default); interior-point: OptEx's own, over real numbers of "
        "nodes, made whole",
    )


def configure_rented(parser: argparse.ArgumentParser) -> None:
    """Add the options of clusters of a catalog's types."""
    options.add_sources(parser)
    options.add_goal(parser)
    limits.add_limits(parser)
    sections.section(parser, sections.RENTED).add_argument(
        "--mix", type=options.whole(), default=1, metavar="N",
        help="types per cluster at most (default 1; the planner begins with 2)",
    )  # fmt: skip
    options.add_catalog(parser)
    options.add_terms(parser)
    layouts.add_layout(parser)
    sections.section(parser, sections.GOAL).add_argument(
        "--objective",
        choices=(*engine.OBJECTIVES, *engine.OBJECTIVE_SYNONYMS),
        help="what to optimise (default: time with a budget alone, resource-time on a cluster that "
        "you own, else cost)",
    )
    options.add_origin(parser)
    workloads.add_workload(parser)


@dataclass(frozen=True)
class Question:
    """The job and prices that the arguments name; `catalog` is None for an owned cluster."""

    profile: engine.Profile
    workload: engine.Workload
    catalog: engine.Catalog | None


def run(args: argparse.Namespace) -> int:
    question = read_question(args)
    recommendation = recommendation_for(args, question, with_sensitivity=True)
    return print_recommendation(args, recommendation, question.catalog)


def print_recommendation(
    args: argparse.Namespace, recommendation: engine.Recommendation, catalog: engine.Catalog | None
) -> int:
    """Print a recommendation as text or JSON; returns the exit code."""
    if args.json:
        output.print_json(as_dict(recommendation, catalog))
    else:
        output.print_text(as_text(recommendation, catalog, shared=bool(args.max_spot)))
        output.print_notices(notices(recommendation))
    return 0 if recommendation.recommended is not None else 1


def as_dict(
    recommendation: engine.Recommendation, catalog: engine.Catalog | None
) -> dict[str, Any]:
    """The recommendation as JSON, with the catalog of its prices."""
    return {**recommendation.to_dict(), "catalog": output.catalog_dict(catalog)}


def notices(recommendation: engine.Recommendation) -> list[engine.Notice]:
    """Warnings about the answer as a whole and about the clusters that it names."""
    return with_notices_of_clusters(recommendation.warnings, recommendation)


def with_notices_of_clusters(
    about_all: Sequence[engine.Notice], recommendation: engine.Recommendation
) -> list[engine.Notice]:
    """The warnings, with those about the cluster that an answer names; of the likeliest to keep the
    deadline, where that is named too, those that nothing else has, and those that say its type."""
    chosen = recommendation.recommended or recommendation.nearest
    found = [*about_all, *(chosen.warnings if chosen else ())]
    likeliest = recommendation.likeliest_beside_nearest
    if likeliest is not None:
        codes, name = {notice.code for notice in found}, str(likeliest.instance)
        found += [own for own in likeliest.warnings if own.code not in codes or name in own.text]
    return found


def read_question(args: argparse.Namespace) -> Question:
    """Reads what the arguments name; contradictions are refused before anything is read."""
    goal_checks.check_goal(args)
    given = None if args.catalog is None else options.catalog_of(args)
    profile = options.read_profile(args, given)
    catalog = None
    if args.max_executors is None:
        catalog, notices = prices.catalog_for(args, profile)
        profile = prices.with_notices(profile, *notices)
    return Question(profile, workloads.workload_of(args, profile), catalog)


def recommendation_for(
    args: argparse.Namespace, question: Question, **search: Any
) -> engine.Recommendation:
    """The recommendation for the goal of the arguments; `search` are further arguments of
    `engine.recommend`."""
    fitted = engine.fit(question.profile, model=args.model)
    if question.catalog is None:
        return engine.recommend_owned(
            fitted,
            workload=question.workload,
            executor_cores=args.executor_cores,
            executor_memory_gib=args.executor_memory,
            max_executors=args.max_executors,
            deadline_seconds=args.deadline,
            confidence=args.confidence,
            objective=args.objective or OWNED_OBJECTIVE,
            epsilon=args.epsilon,
            theta=args.theta,
        )
    if (method := getattr(args, "method", None)) is not None:  # which `fleet` does not have
        search["method"] = method
    return rented(
        args, fitted, question.catalog, question.workload, mix=args.mix,
        objective=engine.OBJECTIVE_SYNONYMS.get(args.objective, args.objective),
        **search,
    )  # fmt: skip


def rented(
    args: argparse.Namespace,
    fitted: engine.FittedModel,
    catalog: engine.Catalog,
    workload: engine.Workload | None,
    **search: Any,
) -> engine.Recommendation:
    """The recommendation among rented clusters within the goal and the limits of the arguments;
    `search` are further arguments of `engine.recommend`."""
    return engine.recommend(
        fitted,
        catalog=catalog,
        workload=workload,
        deadline_seconds=args.deadline,
        budget_usd=args.budget,
        instances=options.globs(args.instances),
        max_nodes=args.max_nodes or options.DEFAULT_MAX_NODES,
        confidence=args.confidence,
        spot=limits.on_spot(args),
        limits=limits.limits_of(args),
        **search,
    )


def as_text(
    recommendation: engine.Recommendation, catalog: engine.Catalog | None, *, shared: bool = False
) -> str:
    """The recommendation first, then the runners-up and rejections with their reasons; last the
    catalog.

    Args:
        shared: whether a share of the nodes may be spot nodes, which runners-up have none of.
    """
    lines: list[str] = []
    if recommendation.recommended is not None:
        lines += [
            describe(recommendation.recommended, recommendation.goal),
            *cost_lines(recommendation.recommended),
        ]
        lines += recommendation.recommended.why
    else:
        lines += unmet_lines(recommendation)
    if engine.of_one_batch(notices(recommendation)):
        lines.append(ONE_BATCH)
    if recommendation.sensitivity is not None:
        lines += ["", *sensitivity_lines.lines(recommendation.sensitivity, recommendation)]
    if recommendation.alternatives:
        listed = recommendation.alternatives[:LISTED]
        lines += ["", runners_up(listed, recommendation.goal, shared=shared)]
    if recommendation.rejected:
        lines += ["", *rejected_lines(recommendation.rejected)]
    counted = f"{recommendation.evaluated:,} compositions evaluated{unproven(recommendation)}"
    counted += f", model {recommendation.model}"
    if catalog is not None:
        counted += f", {text.priced_by(catalog)}"
    lines += ["", f"{intervals(recommendation)}{counted}"]
    return "\n".join(lines)


def unmet_lines(recommendation: engine.Recommendation) -> list[str]:
    """That nothing is recommended, what comes nearest, and the goal that it would satisfy. OptEx's
    own method may find nothing where the exact search, whose answer is the first runner-up, does:
    then no other goal is needed."""
    goal, nearest = recommendation.goal, recommendation.nearest
    if nearest is None:
        return [unmet_goal(goal)]
    found = next(iter(recommendation.alternatives), None)
    if found is None:
        lines = [f"{unmet_goal(goal)}; the nearest miss:", describe(nearest, goal)]
        others = [sufficient_goal(recommendation), likeliest_line(recommendation)]
        return [*lines, *cost_lines(nearest), *filter(None, others)]
    unmet, exact = f"OptEx's own method finds {unmet_goal(goal, that='that ')}", "the exact search"
    if recommendation.nearest_miss is None:
        return [f"{unmet}; {exact} finds:", describe(found, goal), *cost_lines(found)]
    lines = [f"{unmet}; its nearest miss:", describe(nearest, goal), *cost_lines(nearest)]
    return [
        *lines,
        f"{exact} finds one that satisfies it:",
        describe(found, goal),
        *cost_lines(found),
    ]


def likeliest_line(recommendation: engine.Recommendation) -> str:
    """The cluster within the budget that likeliest keeps the deadline as it is; "" where that says
    little beside the nearest miss (`likeliest_beside_nearest`)."""
    choice = recommendation.likeliest_beside_nearest
    if choice is None:
        return ""
    goal, told = recommendation.goal, described(choice, recommendation)
    within = "" if goal.budget_usd is None else " within the budget"
    in_time = text.in_time(choice.p_deadline, goal.confidence)
    named = f"the same {composition(choice)}, in {in_time} of runs"
    cluster = named if told else describe(choice, goal)
    return f"likeliest of one type to keep this deadline{within}: {cluster}"


def described(choice: engine.Choice, recommendation: engine.Recommendation) -> bool:
    """Whether one of two compromises, which `sufficient_goal` describes, has this cluster."""
    compromises = [each.choice for each in recommendation.compromises]
    cluster = (choice.composition, choice.spot)
    return len(compromises) > 1 and cluster in [(one.composition, one.spot) for one in compromises]


def unproven(recommendation: engine.Recommendation) -> str:
    """That something better may exist than what is recommended; "" where nothing does."""
    if recommendation.optimal:
        return ""
    if recommendation.method != "exact":
        return ", of which OptEx's own method need not find the best"
    return ": a better one may exist"


def sufficient_goal(recommendation: engine.Recommendation) -> str:
    """The options of a goal that could be satisfied; "" where neither deadline nor budget is the
    reason."""
    if recommendation.nearest is None:
        return ""
    one_limit = len(recommendation.compromises) < 2
    if one_limit and recommendation.enough_usd is not None:
        return f"--budget {engine.reachable_usd(recommendation.enough_usd):.15g} would do"
    if recommendation.enough_seconds is None or not one_limit:
        return "\n".join(
            compromise_line(compromise, recommendation.goal)
            for compromise in recommendation.compromises
        )
    deadline = text.reachable_deadline(recommendation.enough_seconds).replace(" ", "")
    confidence = "" if recommendation.nearest.low is None else " or a smaller --confidence"
    return f"--deadline {deadline}{confidence} would do"


def compromise_line(compromise: engine.Compromise, goal: engine.Goal) -> str:
    """A compromise for a deadline and a budget that cannot be met together."""
    goal_options = []
    if goal.deadline_seconds is not None and compromise.deadline_seconds > goal.deadline_seconds:
        goal_options.append(
            f"--deadline {text.reachable_deadline(compromise.deadline_seconds).replace(' ', '')}"
        )
    if compromise.budget_usd > goal.most_usd:
        goal_options.append(f"--budget {engine.reachable_usd(compromise.budget_usd):.15g}")
    return f"with {' '.join(goal_options)}: {describe(compromise.choice)}"


def intervals(recommendation: engine.Recommendation) -> str:
    """What the intervals above mean; "" where there is none."""
    chosen = recommendation.recommended or recommendation.nearest
    if chosen is None or chosen.low is None:
        return ""
    return f"{text.odds(recommendation.goal.confidence)} runs are within the intervals; "


ONE_BATCH = "every time and cost here is that of one micro-batch of the stream"
"""Printed under the answer for a stream, whose whole run cannot be predicted."""


def unmet_goal(goal: engine.Goal, *, that: str = "") -> str:
    """That nothing satisfies the goal, with the goal as it was understood: a bare 45 is 45 seconds.
    `that` makes it the end of a sentence."""
    parts = []
    if goal.deadline_seconds is not None:
        deadline = text.seconds(goal.deadline_seconds)
        parts.append(f"deadline {deadline} at {text.confidence_level(goal.confidence)}")
    if goal.budget_usd is not None:
        parts.append(f"budget {text.usd(goal.budget_usd)}")
    goal_text = f" ({', '.join(parts)})" if parts else ""
    return f"no composition {that}satisfies the goal{goal_text}"
