"""What can happen to the planner's state: every action, and `reduce`, which takes them; pure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from tui.state import (
    AS_TOLD,
    LEAST_SCALE,
    MAX_NODES,
    MOST_DRAWN,
    MOST_SCALE,
    MOST_TYPES,
    NO_LIMITS,
    WHOLE,
    Axes,
    AxisName,
    ChartKind,
    Limits,
    Order,
    PlanState,
    View,
    with_inputs,
)

_NICE = (
    *(1, 2, 3, 5, 10, 15, 20, 30, 40, 50),
    *(60 * m for m in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 45, 50)),
    *(3600 * h for h in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)),
)
"""Round durations in seconds, ascending."""


class OpenSources(NamedTuple):
    """Read other sources; with `add`, beside those that are open."""

    sources: tuple[str, ...]
    add: bool = False


class Reread(NamedTuple):
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
    """What was asked for cannot be planned: back to the inputs of the last good plan."""

    good: PlanState


class Restore(NamedTuple):
    """Undo, redo, a scenario from a file: every input as it was there; the view stays."""

    inputs: PlanState


class Adopt(NamedTuple):
    """A scenario or a pinned plan: as `Restore`, but a step that can be undone."""

    inputs: PlanState


class SetDeadline(NamedTuple):
    """The user moved the deadline; None switches it off."""

    seconds: float | None


class SetBudget(NamedTuple):
    """The user moved the budget; None switches it off."""

    usd: float | None


class SetScale(NamedTuple):
    """Another size of the input."""

    scale: float


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

    instance: str | None


class SetCategory(NamedTuple):
    """What kind of job this is; None leaves it to the log."""

    category: str | None


class SetCatalog(NamedTuple):
    """Another price catalog, by name or file."""

    catalog: str


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


class ShowView(NamedTuple):
    """Another question is looked at."""

    view: View


class ShowChart(NamedTuple):
    """Which of the two charts a small terminal shows."""

    chart: ChartKind


class Select(NamedTuple):
    """The cursor of the compositions went to a type."""

    instance: str | None


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


class FollowPoint(NamedTuple):
    """The sliders go where a cluster of the frontier is the answer: the time that it promises is
    the deadline, and nothing else bounds the choice."""

    seconds: float
    nodes: int


class PointAt(NamedTuple):
    """The crosshair went to a number of nodes (in the frontier: seconds), or away."""

    x: float | None


class LookAt(NamedTuple):
    """The part of an axis that is looked at; None for the whole."""

    axis: AxisName
    window: tuple[float, float] | None


class LookAtAll(NamedTuple):
    """The whole of every axis; logarithms stay."""


class ScaleAxis(NamedTuple):
    """A linear or a logarithmic axis."""

    axis: AxisName
    log: bool


class Draw(NamedTuple):
    """These types are drawn as well, and no others."""

    instances: tuple[str, ...]


Action = (
    OpenSources
    | Reread
    | EvidenceRead
    | DeadlineRelaxed
    | PlanRefused
    | Restore
    | Adopt
    | SetDeadline
    | SetBudget
    | SetScale
    | SetMaxNodes
    | SetConfidence
    | SetInstances
    | SetRanOn
    | SetCategory
    | SetCatalog
    | SetModel
    | SetSpot
    | SetMix
    | SetLimits
    | SetTrainingBudget
    | SetSamples
    | ShowView
    | ShowChart
    | Select
    | FilterList
    | SortList
    | SelectPoint
    | FollowPoint
    | PointAt
    | LookAt
    | LookAtAll
    | ScaleAxis
    | Draw
)


def reduce(state: PlanState, action: Action) -> PlanState:
    """The state after an action; pure, and total over `Action`."""
    match action:
        case OpenSources(sources, add):
            return _opened(state, sources, add=add)
        case Reread(sources):
            return replace(state, sources=sources, reading=state.reading + 1)
        case EvidenceRead(measured, deadline):
            return _with_starting_deadline(state, measured, deadline)
        case DeadlineRelaxed(seconds):
            return _relaxed(state, seconds)
        case PlanRefused(good):
            return _refused(state, good)
        case Restore(inputs) | Adopt(inputs):
            return with_inputs(state, inputs)
        case SetDeadline(seconds):
            return replace(state, deadline_seconds=seconds, deadline_chosen=True)
        case SetBudget(usd):
            return replace(state, budget_usd=usd)
        case SetScale(scale):
            return replace(state, scale=min(MOST_SCALE, max(LEAST_SCALE, scale)))
        case SetMaxNodes(nodes):
            return replace(state, max_nodes=min(MAX_NODES, max(1, nodes)))
        case SetConfidence(confidence):
            return replace(state, confidence=confidence)
        case SetTrainingBudget(amount, unit):
            return replace(state, training=state.training._replace(amount=amount, unit=unit))
        case SetSamples(fractions):
            return replace(state, training=state.training._replace(fractions=fractions))
        case ShowView(view):
            return replace(state, view=view, crosshair=None)
        case ShowChart(chart):
            return replace(state, chart=chart)
        case Select(instance):
            return replace(state, selected=instance)
        case FilterList(words):
            return replace(state, listed=words, selected=None)
        case SortList(order):
            order = "best" if order == state.order else order
            return replace(state, order=order, selected=None)
        case SelectPoint(instance, nodes):
            return replace(state, point=(instance, nodes))
        case FollowPoint(seconds, nodes):
            return replace(
                state,
                deadline_seconds=seconds,
                deadline_chosen=True,
                budget_usd=None,
                max_nodes=max(state.max_nodes, nodes),
                selected=None,
            )
        case PointAt() | LookAt() | LookAtAll() | ScaleAxis() | Draw():
            return _with_look(state, action)
        case _:
            return _with_input(state, action)


def _with_look(
    state: PlanState, action: PointAt | LookAt | LookAtAll | ScaleAxis | Draw
) -> PlanState:
    """After an action of a chart: nothing is computed anew."""
    axes = state.axes
    match action:
        case PointAt(x):
            return replace(state, crosshair=x)
        case LookAt(axis, window):
            look = getattr(axes, axis)._replace(window=window)
            return replace(state, axes=axes._replace(**{axis: look}))
        case LookAtAll():
            return replace(state, axes=Axes(*(look._replace(window=None) for look in axes)))
        case ScaleAxis(axis, log):
            look = getattr(axes, axis)._replace(log=log)
            return replace(state, axes=axes._replace(**{axis: look}))
        case Draw(instances):
            return replace(state, drawn=tuple(dict.fromkeys(instances))[:MOST_DRAWN])


def _with_input(
    state: PlanState,
    action: SetInstances
    | SetRanOn
    | SetCategory
    | SetCatalog
    | SetModel
    | SetSpot
    | SetMix
    | SetLimits,
) -> PlanState:
    """After an action of the inputs panel."""
    match action:
        case SetInstances(globs):
            return replace(state, instances=globs, selected=None)
        case SetRanOn(instance):
            return replace(state, ran_on=instance)
        case SetCategory(category):
            return replace(state, category=category)
        case SetCatalog(catalog):
            # Names of types, regions and discounts mean nothing in another provider's catalog.
            kept = NO_LIMITS._replace(
                max_vcpus=state.limits.max_vcpus, min_nodes=state.limits.min_nodes
            )
            return replace(
                state, catalog=catalog, terms=AS_TOLD, instances=(), limits=kept, selected=None
            )
        case SetModel(model):
            return replace(state, model=model)
        case SetSpot(spot):
            return replace(state, spot=spot)
        case SetMix(types):
            return replace(state, mix=min(MOST_TYPES, max(1, types)))
        case SetLimits(limits):
            return replace(state, limits=limits)


def _opened(state: PlanState, sources: tuple[str, ...], *, add: bool) -> PlanState:
    """With other evidence; what was said about the old evidence goes, the goal's limits stay."""
    if add:
        more = tuple(source for source in sources if source not in state.sources)
        return replace(state, sources=(*state.sources, *more))
    return replace(
        state,
        sources=sources,
        ran_on=None,
        category=None,
        selected=None,
        crosshair=None,
        axes=WHOLE,
        scale=1.0,
        deadline_seconds=None,
        deadline_chosen=False,
        budget_usd=None,
    )


def _with_starting_deadline(
    state: PlanState, measured: float | None, named: float | None
) -> PlanState:
    """A deadline that the evidence names, else half of what was measured, unless one was chosen."""
    if state.deadline_chosen or state.budget_usd is not None:
        return state
    if named is not None:
        return replace(state, deadline_seconds=named)
    if measured is None:
        return state
    return replace(state, deadline_seconds=nice_seconds(measured / 2.0))


def _relaxed(state: PlanState, promised: float) -> PlanState:
    """A default never starts with "impossible": it moves to a round time that can be met."""
    if state.deadline_chosen:
        return state
    return replace(state, deadline_seconds=nice_seconds(promised))


def _refused(state: PlanState, good: PlanState) -> PlanState:
    """The last good inputs; a goal that was set meanwhile stays where the evidence is the same."""
    if state.sources != good.sources:
        return replace(good, view=state.view, chart=state.chart)
    return replace(
        state,
        ran_on=good.ran_on,
        category=good.category,
        catalog=good.catalog,
        terms=good.terms,
        model=good.model,
        instances=good.instances,
        limits=good.limits,
        scale=good.scale,
        reading=good.reading,
    )


def nice_seconds(seconds: float) -> float:
    """The first round duration that is not shorter: 50 s, 25 min, 1.5 h, 3 days."""
    for nice in _NICE:
        if nice >= seconds:
            return float(nice)
    return math.ceil(seconds / 86400.0) * 86400.0
