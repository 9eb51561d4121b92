"""What the planner is told: a plan that was built, and an answer.

Nothing here touches widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import engine

ReportProgress = Callable[[str], None]
"""Takes a few words on what is being done."""


@dataclass(frozen=True, eq=False)
class BuiltPlan:
    """What was read and built for a state; answers every goal."""

    profile: engine.Profile
    catalog: engine.Catalog
    plan: engine.Plan
    workflow: engine.Workflow | None = None

    @property
    def jobs(self) -> int | None:
        """How many jobs the workflow has; None for the evidence of one job."""
        return None if self.workflow is None else len(self.workflow.jobs)

    @property
    def has_states(self) -> bool:
        """Whether the evidence tells stages, so that states can be estimated."""
        return self.workflow is not None or self.profile.has_stages


@dataclass(frozen=True, eq=False)
class Answer:
    """All that a screen shows for a state.

    Args:
        compared: the curve of the selected type, where it is not the recommended one.
        explained: where the time of the best composition goes; None without any.
        alike: the cluster of one type that is explained in place of a mix; None for no mix.
    """

    built: BuiltPlan
    report: engine.PlanReport
    compared: engine.Curve | None
    explained: engine.Prediction | None
    alike: Mapping[str, int] | None = None
    _curves: dict[str, engine.Curve | None] = field(default_factory=dict)

    def curve(self, instance: str) -> engine.Curve | None:
        """The curve of a type under this goal; None where it is no candidate."""
        if instance not in self._curves:
            report = self.report
            found = curve_of(self.built.plan, instance, report.goal, report.billing)
            self._curves[instance] = found
        return self._curves[instance]

    @property
    def best(self) -> engine.Choice | None:
        """What is recommended, else the nearest miss."""
        found = self.report.recommendation
        return found.recommended or found.nearest


def curve_of(
    plan: engine.Plan, instance: str, goal: engine.Goal, billing: engine.Billing
) -> engine.Curve | None:
    """The curve of a type; None when a new filter has left it out."""
    try:
        return plan.curve(instance, goal, billing)
    except engine.UnknownName:
        return None
