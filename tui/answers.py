"""What the worker threads hand to the planner: a built plan, and an answer to a goal.

Nothing here touches widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import engine

ReportProgress = Callable[[str], None]
"""Takes a few words on what is being done; raises to cancel it."""


class Evidence(NamedTuple):
    """The evidence once it is read.

    Args:
        jobs: number of jobs of a workflow; None for the evidence of one job.
    """

    profile: engine.Profile
    jobs: int | None = None


ShowEvidence = Callable[[Evidence], None]
"""Takes the evidence as soon as it is read; raises to cancel what follows."""


@dataclass(frozen=True, eq=False)
class BuiltPlan:
    """The evidence, prices and plan for the inputs of a state; the plan answers every goal."""

    profile: engine.Profile
    catalog: engine.Catalog
    plan: engine.Plan
    workflow: engine.Workflow | None = None

    @property
    def max_nodes(self) -> int:
        """Up to how many nodes it answers goals."""
        return self.plan.request.max_nodes

    @property
    def jobs(self) -> int | None:
        """Number of jobs of the workflow; None for the evidence of one job."""
        return None if self.workflow is None else len(self.workflow.jobs)

    @property
    def has_states(self) -> bool:
        """Whether the evidence has stages, so that states can be estimated."""
        return self.workflow is not None or self.profile.has_stages


@dataclass(frozen=True, eq=False)
class Answer:
    """Everything that a screen shows for a state.

    Args:
        compared: the curve of the selected type, where it is not the recommended one.
        explained: the prediction of the best composition with its phases or stages; None without
            one.
        equivalent: composition of one type that stands in for a mix where unlike nodes cannot be
            explained; None where there is no mix.
        provisional: whether its times are those of a grid that is not precise; `explained` is of
            the cluster by itself.
    """

    built: BuiltPlan
    report: engine.PlanReport
    compared: engine.Curve | None
    explained: engine.Prediction | None
    equivalent: Mapping[str, int] | None = None
    provisional: bool = False
    _curves: dict[str, engine.Curve | None] = field(default_factory=dict)

    def curve(self, instance: str) -> engine.Curve | None:
        """The curve of a type under this goal, cached; None where the type is no candidate."""
        if instance not in self._curves:
            goal, billing = self.report.goal, self.report.billing
            self._curves[instance] = curve_of(self.built.plan, instance, goal, billing)
        return self._curves[instance]

    @property
    def best(self) -> engine.Choice | None:
        """The recommended choice, else the nearest miss."""
        recommendation = self.report.recommendation
        return recommendation.recommended or recommendation.nearest


def curve_of(
    plan: engine.Plan, instance: str, goal: engine.Goal, billing: engine.Billing
) -> engine.Curve | None:
    """The curve of a type; None where a new filter has excluded the type."""
    try:
        return plan.curve(instance, goal, billing)
    except engine.UnknownName:
        return None
