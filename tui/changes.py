"""What can happen to the planner's state; `tui.reducer` says what each does to it. An action that
only sets fields of the state names them as the state does."""

from __future__ import annotations

from typing import NamedTuple

from tui.state import AxisName, ChartKind, Job, Limits, Order, PlanState, Terms, TrainingPlan, View


class OpenSources(NamedTuple):
    """Read other sources; with `add`, beside those that are open."""

    sources: tuple[str, ...]
    add: bool = False


class RereadSources(NamedTuple):
    """The sources have changed since they were read; one may have another name now."""

    sources: tuple[str, ...]


class EvidenceRead(NamedTuple):
    """The sources were read: how long the largest run took, and a deadline that they name."""

    measured_seconds: float | None
    deadline_seconds: float | None = None


class DeadlineRelaxed(NamedTuple):
    """Nothing meets the deadline that nobody chose; the nearest miss promises `seconds`."""

    seconds: float


class PlanRefused(NamedTuple):
    """What was asked for cannot be planned: back to the inputs of the last good plan, to all of
    them (`whole`) where all were asked for at once."""

    good: PlanState
    whole: bool = False


class RestoreInputs(NamedTuple):
    """Undo, redo: every input as it was there; the view stays."""

    inputs: PlanState


class LoadInputs(NamedTuple):
    """Load the inputs of a scenario or a pinned plan: like `RestoreInputs`, but a step that can be
    undone. With `read` the evidence is read anew: files may have changed since."""

    inputs: PlanState
    read: bool = False


class SetDeadline(NamedTuple):
    """The user moved the deadline; None switches it off."""

    seconds: float | None


class SetBudget(NamedTuple):
    """The user moved the budget; None switches it off."""

    budget_usd: float | None


class SetScale(NamedTuple):
    """Another size of the input."""

    scale: float


class SetJob(NamedTuple):
    """Other iterations or parameters of the job."""

    job: Job


class SetMaxNodes(NamedTuple):
    """Another limit of workers."""

    nodes: int


class SetConfidence(NamedTuple):
    """How sure the deadline has to be met."""

    confidence: float


class SetInstances(NamedTuple):
    """Candidate types by glob; none for the default ones."""

    globs: tuple[str, ...]


class SetRanOn(NamedTuple):
    """Where the job was measured; None leaves it to the log."""

    ran_on: str | None


class SetCategory(NamedTuple):
    """What kind of job this is; None leaves it to the log."""

    category: str | None


class SetCatalog(NamedTuple):
    """Another price catalog, by name or file, or that of where it ran; its region where it has
    several."""

    catalog: str | None
    region: str | None = None


class SetTerms(NamedTuple):
    """Other terms on which the catalog's prices hold."""

    terms: Terms


class SetModel(NamedTuple):
    """Another model."""

    model: str


class SetSpot(NamedTuple):
    """Whether workers are rented at spot prices."""

    spot: bool


class SetMix(NamedTuple):
    """How many types a cluster may have."""

    types: int


class SetLimits(NamedTuple):
    """What may be rented, and what is owned."""

    limits: Limits


class SetTrainingBudget(NamedTuple):
    """What runs may cost that are made to learn from; None for what the answer suggests."""

    amount: float | None
    unit: str = "usd"


class SetSamples(NamedTuple):
    """How large such runs may be, as shares of the input; none for the usual sizes."""

    fractions: tuple[float, ...]


class SetTrainingPlan(NamedTuple):
    """Whose rule chooses such runs: one of `TRAINING_PLANS`."""

    plan: TrainingPlan


class ShowView(NamedTuple):
    """Another question is looked at."""

    view: View


class ShowChart(NamedTuple):
    """Which of the two charts a small terminal shows."""

    chart: ChartKind


class Select(NamedTuple):
    """The cursor of the compositions went to a type."""

    selected: str | None


class FilterList(NamedTuple):
    """Only compositions with these words or globs are listed; all of them with none."""

    words: str


class SortList(NamedTuple):
    """The compositions by a column; by the goal when it was that column already."""

    order: Order


class SelectPoint(NamedTuple):
    """The cursor of the frontier went to a cluster."""

    instance: str
    nodes: int


class SetGoalFromPoint(NamedTuple):
    """The sliders go where a cluster of the frontier is the answer: the time that it promises is
    the deadline, and nothing else bounds the choice."""

    seconds: float
    nodes: int


class MoveCrosshair(NamedTuple):
    """The crosshair went to a number of nodes (in the frontier: seconds), or away."""

    crosshair: float | None


class SetAxisWindow(NamedTuple):
    """The part of an axis that is looked at; None for the whole."""

    axis: AxisName
    window: tuple[float, float] | None


class ResetZoom(NamedTuple):
    """The whole of every axis; logarithms stay."""


class SetAxisScale(NamedTuple):
    """A linear or a logarithmic axis."""

    axis: AxisName
    log: bool


class DrawCurves(NamedTuple):
    """These types are drawn as well, and no others."""

    instances: tuple[str, ...]


Action = (
    OpenSources | RereadSources | EvidenceRead | DeadlineRelaxed | PlanRefused | RestoreInputs
    | LoadInputs | SetDeadline | SetBudget | SetScale | SetJob | SetMaxNodes | SetConfidence
    | SetInstances | SetRanOn | SetCategory | SetCatalog | SetTerms | SetModel | SetSpot | SetMix | SetLimits
    | SetTrainingBudget | SetSamples | SetTrainingPlan | ShowView | ShowChart | Select | FilterList
    | SortList | SelectPoint | SetGoalFromPoint | MoveCrosshair | SetAxisWindow | ResetZoom
    | SetAxisScale | DrawCurves
)  # fmt: skip
