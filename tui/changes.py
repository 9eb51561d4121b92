"""Actions on the planner's state; `tui.reducer` defines what each does. Fields of an action that
only sets fields of the state have the names of those fields."""

from __future__ import annotations

from typing import NamedTuple

from tui.state import (
    AxisName,
    ChartKind,
    JobInputs,
    Limits,
    Order,
    PlanState,
    Terms,
    TrainingPlan,
    View,
)


class OpenSources(NamedTuple):
    """Read other sources; with `add`, beside those that are open."""

    sources: tuple[str, ...]
    add: bool = False


class RereadSources(NamedTuple):
    """The sources have changed since they were read; one may have been renamed."""

    sources: tuple[str, ...]


class EvidenceRead(NamedTuple):
    """The sources were read: duration of the largest run, and a deadline that they state."""

    measured_seconds: float | None
    deadline_seconds: float | None = None


class DeadlineRelaxed(NamedTuple):
    """The default deadline cannot be met; the nearest miss promises `seconds`."""

    seconds: float


class PlanRefused(NamedTuple):
    """The inputs cannot be planned: restore those of the last good plan. With `whole` restore all
    of them, since all were changed at once."""

    good: PlanState
    whole: bool = False


class RestoreInputs(NamedTuple):
    """Undo or redo: restore every input; the view stays."""

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
    """Set the size of the input, as a multiple of the largest run."""

    scale: float


class SetJob(NamedTuple):
    """Set iterations or parameters of the job."""

    job: JobInputs


class SetMaxNodes(NamedTuple):
    """Set the most workers."""

    nodes: int


class SetConfidence(NamedTuple):
    """Set the probability with which the deadline has to be met."""

    confidence: float


class SetInstances(NamedTuple):
    """Set globs of candidate types; none for the default ones."""

    globs: tuple[str, ...]


class SetRanOn(NamedTuple):
    """Set the type on which the job was measured; None to take it from the log."""

    ran_on: str | None


class SetCategory(NamedTuple):
    """Set the kind of job; None to take it from the log."""

    category: str | None


class SetCatalog(NamedTuple):
    """Set the price catalog, by name or file (None: that of where the job ran), and its region
    where it has several."""

    catalog: str | None
    region: str | None = None


class SetTerms(NamedTuple):
    """Set the terms of the catalog's prices."""

    terms: Terms


class SetModel(NamedTuple):
    """Set the model."""

    model: str


class SetSpot(NamedTuple):
    """Set whether workers are rented at spot prices."""

    spot: bool


class SetMix(NamedTuple):
    """Set the most types per cluster."""

    types: int


class SetLimits(NamedTuple):
    """Set what may be rented and what is owned."""

    limits: Limits


class SetTrainingBudget(NamedTuple):
    """Set the budget for training runs; None for the suggested one."""

    amount: float | None
    unit: str = "usd"


class SetSamples(NamedTuple):
    """Set the sizes of training runs, as shares of the input; none for the default sizes."""

    fractions: tuple[float, ...]


class SetTrainingPlan(NamedTuple):
    """Set the design of training runs: one of `TRAINING_PLANS`."""

    plan: TrainingPlan


class ShowView(NamedTuple):
    """Show another view."""

    view: View


class ShowChart(NamedTuple):
    """Choose the chart that a small terminal shows."""

    chart: ChartKind


class Select(NamedTuple):
    """The cursor of the compositions moved to a type."""

    selected: str | None


class FilterList(NamedTuple):
    """List only compositions with these words or globs; all of them for none."""

    words: str


class SortList(NamedTuple):
    """Sort the compositions by a column; by the goal if it was that column already."""

    order: Order


class SelectPoint(NamedTuple):
    """The cursor of the frontier moved to a cluster."""

    instance: str
    nodes: int


class SetGoalFromPoint(NamedTuple):
    """Set the goal for which a cluster of the frontier is the answer: the time that it promises
    becomes the deadline, and nothing else bounds the choice."""

    seconds: float
    nodes: int


class MoveCrosshair(NamedTuple):
    """Move the crosshair to a number of nodes (in the frontier: seconds); None hides it."""

    crosshair: float | None


class SetAxisWindow(NamedTuple):
    """Zoom an axis to a window; None for the whole axis."""

    axis: AxisName
    window: tuple[float, float] | None


class ResetZoom(NamedTuple):
    """Show the whole of every axis; the scales stay."""


class SetAxisScale(NamedTuple):
    """Make an axis linear or logarithmic."""

    axis: AxisName
    log: bool


class DrawCurves(NamedTuple):
    """Draw the curves of these types in addition, and no others."""

    instances: tuple[str, ...]


Action = (
    OpenSources | RereadSources | EvidenceRead | DeadlineRelaxed | PlanRefused | RestoreInputs
    | LoadInputs | SetDeadline | SetBudget | SetScale | SetJob | SetMaxNodes | SetConfidence
    | SetInstances | SetRanOn | SetCategory | SetCatalog | SetTerms | SetModel | SetSpot | SetMix
    | SetLimits | SetTrainingBudget | SetSamples | SetTrainingPlan | ShowView | ShowChart
    | Select | FilterList | SortList | SelectPoint | SetGoalFromPoint | MoveCrosshair
    | SetAxisWindow | ResetZoom | SetAxisScale | DrawCurves
)  # fmt: skip
