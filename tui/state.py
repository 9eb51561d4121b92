"""What the planner shows, as one frozen value: no terminal, no engine.

Everything that the user can set is in `PlanState`; `tui.reducer` makes the next one. What has to be
computed anew after a change follows from comparing keys: another `evidence_key` means reading,
another `plan_key` building the plan, and anything else only a new report.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, NamedTuple

View = str
"""A name out of `tui.views.pages`."""
ChartKind = Literal["time", "cost"]
Order = Literal["best", "time", "cost", "odds"]
"""Of the compositions: by the goal, or by a column."""

AxisName = Literal["nodes", "time", "cost", "frontier_time", "frontier_cost"]
"""Of the charts; those of time and of cost share the nodes."""


class AxisView(NamedTuple):
    """How an axis is looked at.

    Args:
        log: whether it is logarithmic; None as it suits what is drawn.
        window: the least and largest value that are seen; None for the whole.
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
"""Every axis as it suits what is drawn."""

MAX_DRAWN = 4
"""Curves of types of one's own choice, beside the recommended one and the one at the cursor."""

MAX_NODES = 512
"""The plan is built up to here; the slider ends here too."""

MIN_SCALE, MAX_SCALE = 0.1, 100.0
"""The data size slider, in times of the largest run."""


class Terms(NamedTuple):
    """On what terms a catalog's prices hold, what executors have beside their heap, and whether
    those of measured types are laid out anew; None keeps what its file says, of the heap what the
    evidence says."""

    region: str | None = None
    discount_fraction: float | None = None
    dbu: str | float | None = None
    platform: str | None = None
    overhead_per_core_gib: float | None = None
    fill_nodes: bool = False


CATALOG_TERMS = Terms()
"""The terms of the catalog's own file."""


class Limits(NamedTuple):
    """What may be rented, and what is owned: as `engine.Limits`, which checks it."""

    owned: tuple[tuple[str, int], ...] = ()
    most: tuple[tuple[str, int], ...] = ()
    max_vcpus: float | None = None
    min_nodes: int = 1
    arch: str | None = None
    exclude: tuple[str, ...] = ()
    max_spot: float | None = None
    executors: tuple[int, int] | None = None


NO_LIMITS = Limits()


class Job(NamedTuple):
    """What the job is given beside its input; what is not said is that of the largest run."""

    iterations: float | None = None
    parameters: tuple[tuple[str, float], ...] = ()


MEASURED_JOB = Job()
"""The iterations and parameters of the largest run."""


TrainingPlan = Literal["ernest", "peridot", "simcost"]
"""Whose rule chooses training runs."""


class Training(NamedTuple):
    """What training runs may cost and how large they may be.

    Args:
        amount: in `unit` ("usd", "seconds", "smallest runs"); None for what the answer suggests.
        fractions: sizes of samples as shares of the input; none for the usual ones.
        plan: whose rule chooses the runs, one of `TRAINING_PLANS`; only Ernest's has a budget.
    """

    amount: float | None = None
    unit: str = "usd"
    fractions: tuple[float, ...] = ()
    plan: TrainingPlan = "ernest"


TRAINING_PLANS: tuple[TrainingPlan, ...] = ("ernest", "peridot", "simcost")

DEFAULT_TRAINING = Training()

MAX_TYPES = 3
"""Types in one cluster at most."""


@dataclass(frozen=True, kw_only=True)
class PlanState:
    """The whole state of the planner.

    Args:
        sources: what is read.
        ran_on: instance type of the measured nodes (TYPE or TYPE@CATALOG); None as the log says.
        category: overrides the profile's; None leaves it.
        catalog: whose prices hold, by name or file; None for those of where it ran.
        instances: globs of candidate types; empty for the default candidates.
        deadline_seconds, budget_usd: None is off.
        deadline_chosen: whether the user set the deadline; otherwise it follows the evidence.
        scale: size of the input as a multiple of the largest run.
        job: iterations and parameters.
        mix: types in one cluster at most; None for as many as is usual (`tui.mixing`).
        limits: what may be rented, and what is owned.
        training: what runs may cost that are made to learn from.
        reading, pricing: how often the same sources, the same prices were read again.
        selected: instance type under the cursor of the compositions, None for the recommended.
        point: the cluster under the cursor of the frontier, as type and nodes; None for the
            recommended, or the one nearest to it.
        listed: words or globs that the rows of the compositions hold.
        order: of these rows.
        crosshair: where the charts are looked at: nodes, or seconds in the frontier.
        axes: how the charts are looked at.
        drawn: types whose curves are drawn as well.
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
    job: Job = MEASURED_JOB
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
"""What is looked at, and how often it was read, is no input: undo does not turn pages."""

INPUTS = tuple(field.name for field in fields(PlanState) if field.name not in _VIEW_FIELDS)
"""Everything that the user sets, in the order in which it reads well."""


def with_inputs(state: PlanState, inputs: PlanState) -> PlanState:
    """`state` with the inputs of another one; what is looked at stays."""
    return replace(state, **{name: getattr(inputs, name) for name in INPUTS})


def with_renamed_sources(state: PlanState, names: Mapping[str, str]) -> PlanState:
    """`state` with sources by their new names; old name -> new name."""
    return replace(state, sources=tuple(names.get(source, source) for source in state.sources))


PLAN_INPUTS = (
    *("ran_on", "category", "catalog", "pricing", "terms", "model", "instances", "scale", "job"),
    "reading",
)
"""What a plan is built for, beside its sources and limits."""


def evidence_key(state: PlanState) -> Hashable:
    """What reading depends on: the type named as source is looked up in the catalog."""
    where = state.catalog if state.ran_on is not None else None
    return (state.sources, state.ran_on, where, state.reading)


def plan_key(state: PlanState) -> Hashable:
    """What the plan depends on; everything else only asks it another question."""
    planned = (getattr(state, name) for name in PLAN_INPUTS)
    return (state.sources, _candidate_limits(state.limits), *planned)


def _candidate_limits(limits: Limits) -> Hashable:
    """The limits that decide which types are compared; the others only filter a plan."""
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
