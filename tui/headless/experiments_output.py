"""The output of `sparkplan experiments`: the plan, the advice and the known runs, as text or
JSON."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

import engine
from tui import format as text
from tui.headless import output
from tui.input_text import training_text


def show(
    args: argparse.Namespace,
    profile: engine.Profile | None,
    plan: engine.ExperimentPlan | None,
    advice: engine.Advice | None,
) -> int:
    known = engine.lessons_of(profile) if profile else ()
    warnings = [*(plan.notices if plan else ()), *(advice.notices if advice else ())]
    if args.json:
        output.print_json(
            {
                "known": [asdict(entry) for entry in known],
                "plan": None if plan is None else plan_as_dict(plan),
                "now": None if advice is None else choice_as_dict(advice),
                "next": []
                if advice is None
                else [{**asdict(run), "pays_after": run.pays_after} for run in advice.next_runs],
                **output.fields_of(advice, "stop", "reason"),
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
        parts.append(advice_as_text(advice, args.deadline, args.confidence))
    output.print_text("\n\n".join(parts))
    output.print_notices(warnings)
    return 0


def plan_as_dict(plan: engine.ExperimentPlan) -> dict[str, Any]:
    fields = asdict(plan)
    fields.pop("notices")
    return {**fields, **output.fields_of(plan, "cost", "seconds", "usd")}


def choice_as_dict(advice: engine.Advice) -> dict[str, Any]:
    return {
        **output.fields_of(advice, "instance", "nodes", "seconds", "low", "high"),
        "cost_usd": advice.usd,
        **output.fields_of(advice, "p_deadline", "meets_goal", "weighed"),
        "weighed_by": advice.by,
        "spot": advice.spot,
    }


def known_as_text(known: tuple[engine.KnownType, ...], profile: engine.Profile) -> str:
    if not known:
        return "known: no run yet, only a job profile"
    header = ("known", "runs", "nodes", "input", "repeated")
    rows = [
        (
            text.escaped(entry.instance or "unnamed nodes"),
            str(entry.runs),
            training_text.span([str(count) for count in entry.nodes]),
            training_text.span([text.size(value, profile.input_unit) for value in entry.sizes]),
            training_text.repetitions_text(entry),
        )
        for entry in known
    ]
    return text.table([header, *rows], right=(1,))


def plan_as_text(plan: engine.ExperimentPlan) -> str:
    """The runs, their total, and the quality of the design."""
    decimals = engine.usd_decimals(run.usd for run in plan.runs)
    cells = [HEADER, *(cells_of(run, decimals) for run in plan.runs)]
    empty = ("", text.UNKNOWN)
    columns = [
        index for index in range(len(HEADER)) if any(row[index] not in empty for row in cells[1:])
    ]
    rows = [[row[index] for index in columns] for row in cells]
    right_aligned = [
        order for order, index in enumerate(columns) if HEADER[index] not in ("type", "teaches")
    ]
    return "\n".join([text.table(rows, right=right_aligned), "", *training_text.totals(plan)])


HEADER = ("type", "nodes", "cores", "input", "parts", "iterations", "time", "cost", "teaches")


def cells_of(run: engine.Experiment, usd_decimals: int) -> tuple[str, ...]:
    """One run as cells under `HEADER`; what is unknown or not asked is empty or a dash."""
    return (
        text.escaped(run.instance or ""),
        "" if run.nodes is None else str(run.nodes),
        "" if run.cores is None else str(run.cores),
        f"{run.fraction * 100:.3g} %",
        "" if run.partitions is None else str(run.partitions),
        "" if run.iterations is None else f"{run.iterations:g}",
        text.seconds(run.seconds),
        text.usd(run.usd, decimals=usd_decimals),
        run.teaches,
    )


def advice_as_text(advice: engine.Advice, deadline: float | None, confidence: float) -> str:
    """What would be chosen now, and what another run would be worth."""
    lines = [_now_text(advice, deadline, confidence), advice.reason, ""]
    by_time = any(run.gain_seconds is not None for run in advice.next_runs)
    header = (
        *("next run", "input", "time", "price", "saves/run"),
        *(() if by_time else ("pays after",)),
        *("changes", "choice then"),
    )
    prices = text.usd_column([run.usd for run in advice.next_runs])
    savings = training_text.saving_cells(advice.next_runs)
    rows = [
        (
            f"{run.nodes} × {text.escaped(run.instance or 'nodes')}",
            f"{run.fraction * 100:.3g} %",
            text.seconds(run.seconds),
            price,
            saving,
            *(() if by_time else (training_text.payback(run.pays_after),)),
            text.percent(run.changes),
            text.span(run.then_low, run.then_high),
        )
        for run, price, saving in zip(advice.next_runs, prices, savings, strict=True)
    ]
    lines.append(text.table([header, *rows], right=range(1, len(header))))
    at_spot = " at spot prices, interruptions included" if advice.spot else ""
    saved = f"what a run saves is weighed by {advice.by}{at_spot}"
    lines += ["", f"{advice.weighed} compositions of one type; {saved}"]
    if advice.by_runs_too:
        models = "'now' and predict give the time by the model alone."
        lines.append(f"{models} {training_text.ALSO}")
    return "\n".join(lines)


def _now_text(advice: engine.Advice, deadline: float | None, confidence: float) -> str:
    """The line of what would be chosen now."""
    chosen = "now" if advice.meets_goal else "no cluster of one type meets the goal; nearest"
    now = f"{chosen}: {advice.nodes} × {text.escaped(advice.instance or 'nodes')}  "
    now += f"{text.seconds(advice.seconds)} ({text.span(advice.low, advice.high)})  "
    now += text.usd(advice.usd)
    if deadline is not None:
        met_text = f"by the time alone: {'met' if advice.seconds <= deadline else 'not met'}"
        if advice.p_deadline is not None:
            met_text = f"in {text.in_time(advice.p_deadline, confidence)} of runs"
        now += f"  within {text.seconds(deadline)} {met_text}"
    return now
