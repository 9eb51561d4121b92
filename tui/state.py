"""The state of the planner as one frozen value: no terminal, no engine.

Everything that the user can set is in `PlanState`; `tui.reducer` makes the next one. What has to be
computed after a change follows from comparing keys: another `evidence_key` means reading, another
`plan_key` building the plan, anything else only a new report.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, NamedTuple

View = str
"""A name out of `tui.views.pages`."""
ChartKind = Literal["time", "cost"]
Order = Literal["best", "time", "cost", "odds"]
"""Sort order of the compositions: by the goal, or by a column."""

AxisName = Literal["nodes", "time", "cost", "frontier_time", "frontier_cost"]
"""Axes of the charts; the charts of time and of cost share the axis of nodes."""


class AxisView(NamedTuple):
    """Scale and zoom of an axis.

    Args:
        log: whether it is logarithmic; None to choose by the data.
        window: lowest and highest visible value; None for the whole axis.
    """

    log: bool | None = None
    window: tuple[float, float] | None = None


class Axes(NamedTuple):
    """All axes by name."""

    nodes: AxisView = AxisView()
    time: AxisView = AxisView()
    cost: AxisView = AxisView()
    frontier_time: AxisView = AxisView()
    frontier_cost: AxisView = AxisView()


WHOLE = Axes()
"""Every axis unzoomed, its scale chosen by the data."""

MAX_DRAWN = 4
"""Extra curves that the user may add, beside the recommended type and the one at the cursor."""

MAX_NODES = 512
"""The slider ends at this number of nodes."""

PLANNED_NODES = (64, 128, 256, MAX_NODES)
"""A plan is built up to one of these numbers of nodes. Seven in eight of those up to the end of the
slider are more than most ask for, and an answer on another size of the data waits for them all."""

MIN_SCALE, MAX_SCALE = 0.1, 100.0
"""Range of the data size slider, in multiples of the largest run."""


class Terms(NamedTuple):
    """Conditions of the prices (region, discount, DBU price, platform) and of the executor layout:
    memory beside the heap per core, and whether measured types are laid out anew. None keeps what
    the catalog's file says, for the memory what the evidence says."""

    region: str | None = None
    discount_fraction: float | None = None
    dbu: str | float | None = None
    platform: str | None = None
    overhead_per_core_gib: float | None = None
    fill_nodes: bool = False


CATALOG_TERMS = Terms()
"""The terms of the catalog's own file."""


class Limits(NamedTuple):
    """What may be rented and what is owned: the fields of `engine.Limits`, which validates them."""

    owned: tuple[tuple[str, int], ...] = ()
    most: tuple[tuple[str, int], ...] = ()
    max_vcpus: float | None = None
    min_nodes: int = 1
    arch: str | None = None
    exclude: tuple[str, ...] = ()
    max_spot: float | None = None
    executors: tuple[int, int] | None = None
    owned_master: bool = False


NO_LIMITS = Limits()


class JobInputs(NamedTuple):
    """Iterations and parameters of the job; what is None or absent is taken from the largest
    run."""

    iterations: float | None = None
    parameters: tuple[tuple[str, float], ...] = ()


MEASURED_JOB = JobInputs()
"""The iterations and parameters of the largest run."""

TrainingPlan = Literal["ernest", "peridot", "simcost"]
"""The design that chooses the training runs."""


class Training(NamedTuple):
    """Budget, sample sizes and design of the training runs.

    Args:
        amount: in `unit` ("usd", "seconds", "smallest runs"); None for the suggested budget.
        fractions: sample sizes as shares of the input; empty for the default sizes.
        plan: the design that chooses the runs, one of `TRAINING_PLANS`; only Ernest's has a budget.
    """

    amount: float | None = None
    unit: str = "usd"
    fractions: tuple[float, ...] = ()
    plan: TrainingPlan = "ernest"


TRAINING_PLANS: tuple[TrainingPlan, ...] = ("ernest", "peridot", "simcost")

DEFAULT_TRAINING = Training()

MAX_TYPES = 3
"""Most types in one cluster."""


@dataclass(frozen=True, kw_only=True)
class PlanState:
    """The whole state of the planner.

    Args:
        sources: the evidence.
        ran_on: instance type of the measured nodes (TYPE or TYPE@CATALOG); None to take it from the
            log.
        category: overrides the profile's category; None keeps it.
        catalog: name or file of the price catalog; None for that of the provider where the job ran.
        instances: globs of candidate types; empty for the default candidates.
        deadline_seconds, budget_usd: None is off.
        deadline_chosen: whether the user set the deadline; otherwise it follows the evidence.
        scale: size of the input as a multiple of the largest run.
        job: iterations and parameters.
        mix: most types in one cluster; None for the default (`tui.mixing`).
        limits: what may be rented, and what is owned.
        training: budget and design of the training runs.
        reading, pricing: counters of repeated reads of the same sources and of the same prices.
        selected: instance type under the cursor of the compositions; None for the recommended one.
        point: the cluster under the cursor of the frontier, as type and nodes; None for the
            recommended, or the one nearest to it.
        listed: filter of the compositions: words or globs.
        order: sort order of the compositions.
        crosshair: position of the crosshair: nodes, or seconds in the frontier.
        axes: scale and zoom of each axis.
        drawn: types whose curves are drawn in addition.
    """

    sources: tuple[str, ...]
    ran_on: str | None = None
    category: str | None = None
    catalog: str | None = None
    terms: Terms = CATALOG_TERMS
    instances: tuple[str, ...] = ()
    model: str = "sparkplan"
    deadline_seconds: float | None = None
    deadline_chosen: bool = False
    budget_usd: float | None = None
    scale: float = 1.0
    job: JobInputs = MEASURED_JOB
    max_nodes: int = 64
    confidence: float = 0.9
    spot: bool = False
    mix: int | None = None
    limits: Limits = NO_LIMITS
    training: Training = DEFAULT_TRAINING
    view: View = "curves"
    chart: ChartKind = "time"
    selected: str | None = None
    point: tuple[str, int] | None = None
    listed: str = ""
    order: Order = "best"
    crosshair: float | None = None
    axes: Axes = WHOLE
    drawn: tuple[str, ...] = ()
    reading: int = 0
    pricing: int = 0


_VIEW_FIELDS = frozenset(
    {
        *("view", "chart", "selected", "point", "listed", "order"),
        *("crosshair", "axes", "drawn", "reading", "pricing"),
    }
)
"""Fields that are no inputs: the view, and the read counters. Undo leaves them alone."""

INPUTS = tuple(field.name for field in fields(PlanState) if field.name not in _VIEW_FIELDS)
"""Every field that the user sets, in the order in which changes are reported."""


def with_inputs(state: PlanState, inputs: PlanState) -> PlanState:
    """`state` with the inputs of another state; the view stays."""
    return replace(state, **{name: getattr(inputs, name) for name in INPUTS})


def with_question(state: PlanState, asked: PlanState) -> PlanState:
    """`state` with what another one asks of its plan: the goal, and limits that only filter. How
    many nodes are planned stays, as do the limits that decide which types are candidates."""
    limits = _with_candidate_limits(asked.limits, state.limits)
    names = ("deadline_seconds", "budget_usd", "confidence", "spot", "mix", "selected")
    return replace(state, limits=limits, **{name: getattr(asked, name) for name in names})


def _with_candidate_limits(limits: Limits, asked: Limits) -> Limits:
    """`limits` with those of another state that decide which types are candidates."""
    return limits._replace(owned=asked.owned, arch=asked.arch, exclude=asked.exclude)


def with_plan(state: PlanState, planned: PlanState) -> PlanState:
    """`state` with what another one on the same evidence asks to be planned; its goal, and limits
    that only filter, stay."""
    names = [*PLAN_INPUTS]
    if planned_nodes(state) != planned_nodes(planned):
        names.append("max_nodes")
    limits = state.limits
    if _candidate_limits(limits) != _candidate_limits(planned.limits):
        limits = _with_candidate_limits(limits, planned.limits)
    return replace(state, limits=limits, **{name: getattr(planned, name) for name in names})


def with_plan_change(state: PlanState, before: PlanState, after: PlanState) -> PlanState:
    """`state` with what a change from `before` to `after` asked to be planned; all that it set
    where it opened other evidence."""
    names = INPUTS if before.sources != after.sources else (*PLAN_INPUTS, "max_nodes")
    changed = [name for name in names if getattr(before, name) != getattr(after, name)]
    limits = state.limits
    if _candidate_limits(before.limits) != _candidate_limits(after.limits):
        limits = _with_candidate_limits(limits, after.limits)
    return replace(state, **{"limits": limits, **{name: getattr(after, name) for name in changed}})


def with_renamed_sources(state: PlanState, names: Mapping[str, str]) -> PlanState:
    """`state` with renamed sources; old name -> new name."""
    return replace(state, sources=tuple(names.get(source, source) for source in state.sources))


PLAN_INPUTS = (
    *("ran_on", "category", "catalog", "pricing", "terms", "model", "instances", "scale", "job"),
    "reading",
)
"""The inputs that a plan depends on, beside sources, limits and `planned_nodes`."""


def evidence_key(state: PlanState) -> Hashable:
    """What reading depends on; the type in `ran_on` is looked up in the catalog."""
    where = state.catalog if state.ran_on is not None else None
    return (state.sources, state.ran_on, where, state.reading)


def planned_nodes(state: PlanState) -> int:
    """Up to how many nodes the plan for a state is built: the least of `PLANNED_NODES` that is
    enough."""
    return next((most for most in PLANNED_NODES if most >= state.max_nodes), MAX_NODES)


def plan_key(state: PlanState) -> Hashable:
    """What the plan depends on; every other field only changes the question to it."""
    planned = (getattr(state, name) for name in PLAN_INPUTS)
    return (state.sources, _candidate_limits(state.limits), planned_nodes(state), *planned)


def plan_inputs_key(state: PlanState) -> Hashable:
    """What a plan is asked to be, however often its sources and its prices were read: what tells
    the plans of steps, as undo leaves both counters alone."""
    return plan_key(replace(state, reading=0, pricing=0))


def _candidate_limits(limits: Limits) -> Hashable:
    """The limits that decide which types are candidates; the others only filter a plan."""
    return (limits.arch, limits.exclude, frozenset(name for name, _ in limits.owned))


def goal_key(state: PlanState) -> Hashable:
    """What a report depends on, given its plan."""
    return (
        state.deadline_seconds,
        state.budget_usd,
        state.confidence,
        state.max_nodes,
        state.spot,
        state.mix,
        state.limits,
        state.selected,
    )
