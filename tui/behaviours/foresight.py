"""The next step of the data size, computed while the planner rests.

What such a step needs is mostly the same until the input has doubled; the first step beyond that
waits for hundreds of replays. So these are computed ahead, one step up and one down, and give way
to any question.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import engine
from tui.behaviours.planner_mixin import PlannerMixin
from tui.workers import Cancelled

if TYPE_CHECKING:
    from tui.answers import BuiltPlan

REST_SECONDS = 0.5
"""Delay after a settled answer: who is about to ask something else waits for nothing."""

NEXT_STEPS = (1.25, 0.8)
"""The data sizes that are foreseen, in multiples of the present one: about a step of the slider."""


class Foresight(PlannerMixin):
    """Mixin of `PlannerApp`."""

    _foreseen: BuiltPlan | None = None
    """The last plan whose next steps are computed."""

    def _foresee(self) -> None:
        """Compute the next steps from the present plan, if nothing else is asked soon."""
        built = self.planner.built
        if built is not None and not keeps_next_steps(self._foreseen, built):
            self.planner.set_timer(REST_SECONDS, lambda: self._begin_to_foresee(built))

    def _begin_to_foresee(self, built: BuiltPlan) -> None:
        app = self.planner
        if app.built is not built or app.busy or app.settling:
            return

        def check() -> None:
            if app._latest.outdated or app.settling or not app.is_running:
                raise Cancelled

        def job() -> None:
            # What fails is said when it is asked for.
            with suppress(Exception):
                compute_next_steps(built, check)
                self._foreseen = built

        app._latest.submit(job)


def keeps_next_steps(foreseen: BuiltPlan | None, built: BuiltPlan) -> bool:
    """Whether the model keeps what the next steps of a plan need, since those of `foreseen` are
    computed. Of run times that is the same at any size, of the same clusters."""
    if foreseen is None or built.profile.has_stages:
        return foreseen is built
    before, now = foreseen.plan, built.plan
    return before.fitted is now.fitted and _clusters_of(before) == _clusters_of(now)


def _clusters_of(plan: engine.Plan) -> tuple[object, ...]:
    """What the candidates of a plan follow from."""
    request = plan.request
    return request.catalog, request.instances, request.max_nodes, request.limits


def compute_next_steps(built: BuiltPlan, check: Callable[[], None]) -> None:
    """Compute what the next steps of the data size will ask of the plan's model, which keeps it.
    Not of workflows, whose inputs have hardly anything in common.

    Args:
        check: raises once something else is wanted.
    """
    plan = built.plan
    workload = plan.surface.workload
    if built.workflow is not None or workload.input_bytes is None:
        return
    with engine.checked_by(check):
        for step in NEXT_STEPS:
            at = replace(workload, input_bytes=step * workload.input_bytes)
            engine.prepare_fitted(plan.fitted, replace(plan.request, workload=at))
