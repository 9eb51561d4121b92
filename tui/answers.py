"""What the planner asks for and is told: a plan that was built, an answer, and who gives both.

Nothing here touches widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import engine
from tui.state import PlanState

Say = Callable[[str], None]
"""Takes a few words on what is being done."""


@dataclass(frozen=True, eq=False)
class Built:
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

    built: Built
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


class Session(Protocol):
    """Builds plans and asks them."""

    def build(self, state: PlanState, say: Say) -> Built:
        """Reads and builds what `state` needs; slow. What `say` raises ends it.

        Raises:
            EngineError: what is wrong with the evidence, the catalog or the model.
        """

    def answer(self, state: PlanState, built: Built) -> Answer:
        """What a plan says about the goal of `state`; fast.

        Raises:
            EngineError: for a goal that cannot be asked.
        """

    def course(self, state: PlanState, answer: Answer) -> engine.WorkflowReport | None:
        """The states of the best composition; None where there are none to estimate.

        Raises:
            EngineError: what is wrong with the evidence or the cluster.
        """

    def mixed(self, state: PlanState, answer: Answer) -> Answer:
        """The same answer, or one with a better mix of types; for a worker.

        Raises:
            EngineError: as `answer`.
        """

    def apart(self, state: PlanState, built: Built) -> engine.FittedModel:
        """The model of a plan once more, for experiments, which ask it about other clusters and
        sizes: what the plan's own keeps of its last inputs stays what sliders go back to. Slow the
        first time.

        Raises:
            EngineError: as `build`.
        """

    @property
    def models(self) -> tuple[str, ...]:
        """The models that can be compared, by name."""

    def ask(
        self,
        model: str,
        profile: engine.Profile,
        cluster: engine.Cluster,
        workload: engine.Workload,
    ) -> engine.ModelAnswer:
        """What a model says of one question, or why it does not answer; slow the first time, and
        only ever called by one thread."""


def curve_of(
    plan: engine.Plan, instance: str, goal: engine.Goal, billing: engine.Billing
) -> engine.Curve | None:
    """The curve of a type; None when a new filter has left it out."""
    try:
        return plan.curve(instance, goal, billing)
    except engine.UnknownName:
        return None
