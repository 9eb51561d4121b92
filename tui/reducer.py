"""The reducer: the state after an action. Pure; no terminal, no engine."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tui import changes
from tui.changes import Action
from tui.state import (
    CATALOG_TERMS,
    MAX_DRAWN,
    MAX_NODES,
    MAX_SCALE,
    MAX_TYPES,
    MEASURED_JOB,
    MIN_SCALE,
    NO_LIMITS,
    WHOLE,
    Axes,
    AxisName,
    PlanState,
    with_inputs,
    with_plan,
)

_NICE = (
    *(1, 2, 3, 5, 10, 15, 20, 30, 40, 50),
    *(60 * m for m in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 45, 50)),
    *(3600 * h for h in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)),
)
"""Round durations in seconds, ascending."""


def reduce(state: PlanState, action: Action) -> PlanState:
    """The state after an action; pure, and total over `Action`."""
    match action:
        case changes.OpenSources(sources, add):
            return _with_sources(state, sources, add=add)
        case changes.RereadSources(sources):
            return replace(state, sources=sources, reading=state.reading + 1)
        case changes.EvidenceRead(measured, deadline):
            return _with_starting_deadline(state, measured, deadline)
        case changes.DeadlineRelaxed(seconds):
            return _with_relaxed_deadline(state, seconds)
        case changes.PlanRefused(good, whole):
            return _with_last_good(state, good, whole=whole)
        case changes.RestoreInputs(inputs):
            return with_inputs(state, inputs)
        case changes.LoadInputs(inputs, read):
            return _with_loaded_inputs(state, inputs, read=read)
        case changes.SetDeadline(seconds):
            return replace(state, deadline_seconds=seconds, deadline_chosen=True)
        case changes.SetScale(scale):
            return replace(state, scale=min(MAX_SCALE, max(MIN_SCALE, scale)))
        case changes.SetMaxNodes(nodes):
            return replace(state, max_nodes=min(MAX_NODES, max(1, nodes)))
        case changes.SetMix(types):
            return replace(state, mix=min(MAX_TYPES, max(1, types)))
        case changes.SetInstances(globs):
            return replace(state, instances=globs, selected=None)
        case changes.SetTerms(terms):
            return replace(state, terms=terms, selected=None)
        case changes.SetCatalog(catalog, region):
            return _with_catalog(state, catalog, region)
        case changes.SetTrainingBudget() | changes.SetSamples() | changes.SetTrainingPlan():
            return replace(state, training=state.training._replace(**action._asdict()))
        case changes.SetGoalFromPoint(seconds, nodes):
            return _with_goal_of_point(state, seconds, nodes)
        case _:
            return _after_view_action(state, action)


def _after_view_action(state: PlanState, action: Action) -> PlanState:
    """The state after an action on the view; every other action sets the fields that it names."""
    match action:
        case changes.ShowView(view):
            return replace(state, view=view, crosshair=None)
        case changes.FilterList(words):
            return replace(state, listed=words, selected=None)
        case changes.SortList(order):
            order = "best" if order == state.order else order
            return replace(state, order=order, selected=None)
        case changes.SelectPoint(instance, nodes):
            return replace(state, point=(instance, nodes))
        case changes.SetAxisWindow(axis, window):
            return _with_axis(state, axis, window=window)
        case changes.SetAxisScale(axis, log):
            return _with_axis(state, axis, log=log)
        case changes.ResetZoom():
            return replace(state, axes=Axes(*(look._replace(window=None) for look in state.axes)))
        case changes.DrawCurves(instances):
            return replace(state, drawn=tuple(dict.fromkeys(instances))[:MAX_DRAWN])
        case _:
            return replace(state, **action._asdict())


def _with_axis(state: PlanState, name: AxisName, **look: Any) -> PlanState:
    """The state with another scale or zoom of an axis."""
    axis = getattr(state.axes, name)._replace(**look)
    return replace(state, axes=state.axes._replace(**{name: axis}))


def _with_loaded_inputs(state: PlanState, inputs: PlanState, *, read: bool) -> PlanState:
    """The state with other inputs; with `read` unchanged sources and catalogs are read again, as
    they may have changed."""
    return replace(
        with_inputs(state, inputs),
        reading=state.reading + (read and inputs.sources == state.sources),
        pricing=state.pricing + (read and inputs.catalog == state.catalog),
    )


def _with_goal_of_point(state: PlanState, seconds: float, nodes: int) -> PlanState:
    """The state with the goal for which a point of the frontier is the answer."""
    return replace(
        state,
        deadline_seconds=seconds,
        deadline_chosen=True,
        budget_usd=None,
        max_nodes=max(state.max_nodes, nodes),
        selected=None,
    )


def _with_catalog(state: PlanState, catalog: str | None, region: str | None) -> PlanState:
    """The state with another catalog; types, regions and discounts of the old provider do not apply
    to it."""
    kept = NO_LIMITS._replace(max_vcpus=state.limits.max_vcpus, min_nodes=state.limits.min_nodes)
    return replace(
        state,
        catalog=catalog,
        pricing=state.pricing + (catalog == state.catalog),
        terms=CATALOG_TERMS._replace(region=region),
        instances=(),
        limits=kept,
        selected=None,
    )


def _with_sources(state: PlanState, sources: tuple[str, ...], *, add: bool) -> PlanState:
    """The state with other evidence. What was set for the old evidence is reset, limits of the goal
    stay. Sources that are open already are read again, and nothing else changes."""
    more = tuple(source for source in sources if source not in state.sources)
    if (add and not more) or sources == state.sources:
        return replace(state, reading=state.reading + 1)
    if add:
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
        job=MEASURED_JOB,
        deadline_seconds=None,
        deadline_chosen=False,
        budget_usd=None,
    )


def _with_starting_deadline(
    state: PlanState, measured: float | None, named: float | None
) -> PlanState:
    """The state with a default deadline: the one that the evidence states, else half of the
    measured time. One that the user chose stays."""
    if state.deadline_chosen or state.budget_usd is not None:
        return state
    if named is not None:
        return replace(state, deadline_seconds=named)
    if measured is None:
        return state
    return replace(state, deadline_seconds=nice_seconds(measured / 2.0))


def _with_relaxed_deadline(state: PlanState, achievable_seconds: float) -> PlanState:
    """The state with a default deadline that can be met, rounded up: a session never starts with
    "impossible". A budget gets no deadline added."""
    if state.deadline_chosen or state.budget_usd is not None:
        return state
    return replace(state, deadline_seconds=nice_seconds(achievable_seconds))


def _with_last_good(state: PlanState, good: PlanState, *, whole: bool) -> PlanState:
    """The state with the last good inputs; a goal and limits of the plan that were set meanwhile
    stay if the evidence is the same."""
    if whole or state.sources != good.sources:
        return replace(good, view=state.view, chart=state.chart)
    return with_plan(state, good)


def nice_seconds(seconds: float) -> float:
    """The smallest round duration that is at least `seconds`: 50 s, 25 min, 1.5 h, 3 days."""
    for nice in _NICE:
        if nice >= seconds:
            return float(nice)
    return math.ceil(seconds / 86400.0) * 86400.0
