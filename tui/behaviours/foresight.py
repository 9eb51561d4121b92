"""The next step of the data size, computed while the planner rests.

What such a step needs is mostly the same until the input has doubled; the first step beyond that
waits for hundreds of replays. So these are computed ahead, one step up and one down, and give way
to any question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import engine
from tui.behaviours.planner_mixin import PlannerMixin
from tui.workers import Cancelled

if TYPE_CHECKING:
    from textual.timer import Timer

    from tui.answers import BuiltPlan

REST_SECONDS = 0.5
"""Delay after a settled answer: who is about to ask something else waits for nothing."""

NEXT_STEPS = (1.25, 0.8)
"""The data sizes that are foreseen, in multiples of the present one: about a step of the slider."""


class Foresight(PlannerMixin):
    """Mixin of `PlannerApp`."""

    _foreseen: BuiltPlan | None = None
    """The last plan whose next steps are computed, or failed."""
    _resting: Timer | None = None

    def _foresee(self) -> None:
        """Compute the next steps from the present plan, if nothing else is asked soon."""
        built, foreseen = self.planner.built, self._foreseen
        if self._resting is not None:
            self._resting.stop()
        if built is None:
            return
        if foreseen is not None and foreseen.plan.fitted is not built.plan.fitted:
            self._foreseen = None  # it would keep a model that nothing asks any more
        if not keeps_next_steps(self._foreseen, built):
            self._resting = self.planner.set_timer(REST_SECONDS, self._begin_to_foresee)

    def _begin_to_foresee(self) -> None:
        app, built = self.planner, self.planner.built
        if built is None or app.busy or app.settling:
            return

        def check() -> None:
            if app._latest.outdated or app.settling or not app.is_running:
                raise Cancelled

        def job() -> None:
            try:
                compute_next_steps(built, check)
            except Cancelled:
                return
            except Exception:  # it is said when it is asked for
                pass
            self._foreseen = built

        app._latest.submit(job)


def keeps_next_steps(foreseen: BuiltPlan | None, built: BuiltPlan) -> bool:
    """Whether the model keeps what the next steps of a plan need, since those of `foreseen` are
    computed. Of run times that is the same at any size, of the same clusters and job."""
    if foreseen is None or built.profile.has_stages:
        return foreseen is built
    before, now = foreseen.plan, built.plan
    return before.fitted is now.fitted and _size_apart(before) == _size_apart(now)


def _size_apart(plan: engine.Plan) -> tuple[object, ...]:
    """What the candidates of a plan follow from, and the job without the size of its input."""
    request, workload = plan.request, plan.surface.workload
    job = replace(workload, input_bytes=None, scale=None)
    return request.catalog, request.instances, request.max_nodes, request.limits, job


def compute_next_steps(built: BuiltPlan, check: Callable[[], None]) -> None:
    """Compute what the next steps of the data size will ask of the plan's model: of the default
    one, which keeps it. Inputs of workflows have hardly anything in common.

    Args:
        check: raises once something else is wanted.
    """
    plan = built.plan
    workload = plan.surface.workload
    if plan.fitted.model != engine.DEFAULT_MODEL or workload.input_bytes is None:
        return
    with engine.checked_by(check):
        for step in NEXT_STEPS:
            check()
            at = replace(workload, input_bytes=step * workload.input_bytes)
            engine.prepare_fitted(plan.fitted, replace(plan.request, workload=at))
