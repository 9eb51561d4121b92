"""The Inputs panel: evidence, prices, candidates, billing, model; each row can be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.input_text import job_text, limit_text
from tui.mixing import max_types
from tui.state import PlanState
from tui.views.marks import Marks
from tui.widgets.table import Cell, Column, Row

if TYPE_CHECKING:
    from engine import Catalog, Profile
    from tui.answers import Answer, BuiltPlan, Evidence


ROWS = (
    "open",
    "category",
    "ran_on",
    "catalog",
    "instances",
    "limits",
    "mix",
    "spot",
    "model",
    "job",
)
"""The app's action for each row, from top to bottom."""

VALUE_CELLS = 22
"""Width of a value in the panel."""

COLUMNS = (
    Column(title="", width=7),
    Column(title="", width=VALUE_CELLS, shrink=True, least=10),
    Column(title="", width=1, priority=1),
)
"""Name, value and key of an input; the keys stay where they are whatever the values."""

NOT_IN_LOG = "not said in the log"


def rows(
    state: PlanState,
    built: BuiltPlan | None,
    answer: Answer | None,
    marks: Marks,
    *,
    read: Evidence | None = None,
) -> list[Row]:
    """The rows of the panel, in the order of `ROWS`.

    Args:
        read: the evidence, where it is read and its plan not built yet.
    """
    evidence = built or read
    profile = evidence.profile if evidence else None
    catalog = built.catalog if built else None
    source_text = source(state, evidence)
    if profile is not None and len(source_text) > VALUE_CELLS:
        source_text = _job_name(profile)  # how many runs is said in the header as well
    table_rows: list[Row] = [
        ("Source", source_text, "o"),
        ("Kind", category(state, profile), "g"),
        ("Ran on", _ran_on_cell(state, profile, marks), "w"),
        ("Prices", _prices_cell(state, catalog), "$"),
        ("Types", candidates(state, answer), "/"),
        ("Limits", limit_text.line_of(state.limits) or "none", "b"),
        ("Mix", mix(max_types(state, catalog)), "x"),
        ("Billing", billing(state, catalog, marks), "s"),
        ("Model", model(state, built), "m"),
    ]
    job_text = job(built)
    return [*table_rows, ("Job", job_text, "J")] if job_text else table_rows


def job(built: BuiltPlan | None) -> str:
    """The planned parameters and iterations; "" where the runs have none."""
    if built is None or built.workflow is not None:
        return ""
    return job_text.display_text(built.plan.surface.workload)


def model(state: PlanState, built: BuiltPlan | None) -> str:
    """The model that answers; a workflow has its own."""
    return state.model if built is None or built.jobs is None else built.plan.fitted.model


def source(state: PlanState, evidence: BuiltPlan | Evidence | None) -> str:
    """The name of the job and its number of runs, or how many jobs a workflow has."""
    if evidence is None:
        return ", ".join(state.sources)
    profile = evidence.profile
    if evidence.jobs is not None:
        return f"{profile.name}, a workflow of {text.counted(evidence.jobs, 'job')}"
    runs = len(profile.runs)
    if not runs:
        return f"{profile.name}, a job profile"
    if engine.of_one_batch(profile.notices):
        return f"{_job_name(profile)}, {runs} micro-batch{'' if runs == 1 else 'es'}"
    return f"{_job_name(profile)}, {text.counted(runs, 'run')}"


def _job_name(profile: Profile) -> str:
    """The name of the job; where several applications are taken as one, how many others there
    are."""
    others = max(1, len(applications(profile))) - 1
    return f"{profile.name} + {text.counted(others, 'other')}" if others else profile.name


def applications(profile: Profile) -> frozenset[str]:
    """The applications of the runs, as far as they are known."""
    return frozenset(run.application for run in profile.runs if run.application)


def category(state: PlanState, profile: Profile | None) -> str:
    """The kind of job; a dash before the evidence is read."""
    known = state.category or (profile.category if profile else None)
    return known or (text.UNKNOWN if profile is None else "not known")


def ran_on(state: PlanState, profile: Profile | None) -> str | None:
    """The instance types of the runs, else the one that was named; None where neither is known, or
    that one is not used. Runs may name other types than was said (`origin-already-named`); without
    that notice other types are those of what was said before, while the evidence is read anew."""
    if _is_unused(state, profile):
        return None
    names, said = profile.instance_types if profile else (), state.ran_on
    if said is None or said.partition("@")[0] in names:
        return ", ".join(names) or None
    return ", ".join(names) if _has_notice(profile, "origin-already-named") else said


def ran_on_unknown(state: PlanState, profile: Profile | None) -> bool:
    """Whether the evidence does not say where it ran, so that its speed is only assumed."""
    if profile is None or not profile.runs or _is_unused(state, profile):
        return False
    return ran_on(state, profile) is None


def _is_unused(state: PlanState, profile: Profile | None) -> bool:
    """Whether a type was named and is not used: nothing says on how many nodes the runs ran."""
    return state.ran_on is not None and _has_notice(profile, "nodes-not-told")


def _has_notice(profile: Profile | None, code: str) -> bool:
    return profile is not None and any(notice.code == code for notice in profile.notices)


def questions(state: PlanState, built: BuiltPlan) -> str:
    """Questions about new evidence that only the user can answer and that the result depends on; ""
    for none."""
    several = len(applications(built.profile)) if built.workflow is None else 0
    parts = []
    if several > 1:
        parts.append(
            f"{several} applications are taken as one job: press o and open the logs of one, or "
            "plan each with sparkplan fleet."
        )
    if ran_on_unknown(state, built.profile):
        parts.append("Where did it run? The log does not say; a median machine is assumed: press w")
    return " ".join(parts)


def _ran_on_cell(state: PlanState, profile: Profile | None, marks: Marks) -> Cell:
    if ran_on_unknown(state, profile):
        return f"{NOT_IN_LOG} {marks.warning}", "warn"
    if _is_unused(state, profile):
        return f"not used: {state.ran_on}", "warn"
    return ran_on(state, profile) or (text.UNKNOWN if profile is None else "not known")


def _prices_cell(state: PlanState, catalog: Catalog | None) -> str:
    """Region and date of the prices, and whether they include DBUs: the header has the catalog's
    name for that."""
    region_and_date = prices(state, catalog)
    if catalog is None or catalog.billing.usd_per_dbu is None:
        return region_and_date
    day = catalog.date.isoformat()
    return region_and_date.replace(day, f"+DBU {day}", 1)


def prices(state: PlanState, catalog: Catalog | None) -> str:
    """Region and date of the prices."""
    if catalog is None:
        return state.catalog or "of where it ran"
    converted = "" if catalog.exchange is None else f" from {catalog.currency}"
    where_and_when = " ".join(filter(None, [catalog.region, catalog.date.isoformat()]))
    return f"{where_and_when}{converted}"


def candidates(state: PlanState, answer: Answer | None) -> str:
    """How many types are compared, and by which globs they were chosen."""
    globs = " ".join(state.instances)
    if answer is None:
        return globs or "default"
    recommendation = answer.report.recommendation
    best = recommendation.recommended
    one_type = best is not None and best.instance is not None
    compared = len(recommendation.rejected) + len(recommendation.alternatives) + one_type
    hidden = sum(recommendation.hidden.values())
    if globs:
        return f"{globs} ({compared:,}, {hidden:,} hidden)" if hidden else f"{globs} ({compared:,})"
    return f"{compared:,} ({hidden:,} hidden)" if hidden else f"all {compared:,}"


def mix(types: int) -> str:
    """The most types per cluster, in words."""
    return "one type" if types == 1 else f"up to {types} types"


def billing(state: PlanState, catalog: Catalog | None, marks: Marks) -> str:
    """On demand or spot, the discount, and what the managed service takes on top: in words, where
    these have no room as a fee, and last without it, which hardly anybody chooses."""
    rented = "spot" if state.spot else "on demand"
    if state.spot and state.limits.max_spot is not None:
        rented = f"spot up to {100.0 * state.limits.max_spot:.3g} %"
    if catalog is None:
        return rented
    discount = catalog.billing.discount_fraction
    named = [rented, *([f"-{discount * 100:.3g} %"] if discount else [])]
    fees = _fees(catalog)
    mark = f" {marks.warning}" if catalog.billing.surcharge_assumed else ""
    forms = [" ".join(form) + mark for form in ([*named, *fees], [*named, "+fee"], named)]
    if not fees:
        forms = forms[-1:]
    tried = [either for form in forms for either in (form, form.replace(" %", "%"))]
    tried.append(tried[-1].replace(" up to ", " to "))
    return next((form for form in tried if len(form) <= VALUE_CELLS), tried[-1])


def _fees(catalog: Catalog) -> list[str]:
    """What is paid on top of the price of a node."""
    rules, parts = catalog.billing, []
    if rules.surcharge_fraction:
        parts.append(_surcharge(catalog))
    if rules.surcharge_usd_per_vcpu_hour:
        parts.append(f"+${rules.surcharge_usd_per_vcpu_hour:g}/vCPU")
    if rules.usd_per_dbu is not None:
        parts.append(f"+${rules.usd_per_dbu:g}/DBU")
    return parts


def _surcharge(catalog: Catalog) -> str:
    """The managed service's share of the price; where types have fees of their own, whose they
    are: a share would be wrong for these (0.27 of 4.608 USD for an m5.24xlarge)."""
    if any(offer.surcharge is not None for offer in catalog.offers.values()):
        return "+EMR's fee" if catalog.provider == "aws" else "+fees"
    return f"+{catalog.billing.surcharge_fraction * 100:g} %"
