"""The plans that are in use: one of more nodes than are asked for also answers for fewer."""

from __future__ import annotations

from weakref import WeakSet

import engine


class PlansInUse:
    """Makes plans, and finds those that something still refers to."""

    def __init__(self) -> None:
        self._plans: WeakSet[engine.Plan] = WeakSet()

    def of(self, fitted: engine.FittedModel, request: engine.PlanRequest) -> engine.Plan:
        """The plan for a request, or one that differs in nothing but more nodes."""
        covering = [
            plan for plan in self._plans if plan.fitted is fitted and _covers(plan.request, request)
        ]
        if covering:
            return max(covering, key=lambda plan: plan.request.max_nodes)
        plan = engine.prepare_fitted(fitted, request)
        self._plans.add(plan)
        return plan


def _covers(larger: engine.PlanRequest, request: engine.PlanRequest) -> bool:
    """Whether a plan for the first request answers every goal of one for the second."""
    same = larger.profile is request.profile and larger.catalog is request.catalog
    return (
        same
        and larger.max_nodes >= request.max_nodes
        and (larger.workload, larger.instances, larger.limits)
        == (request.workload, request.instances, request.limits)
    )
