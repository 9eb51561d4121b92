"""A composition of several types as the optimiser shows one: its time, cost and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from engine.choosing.choices import ChoiceBuilder
from engine.choosing.recommendation import Choice, Goal
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE
from engine.cluster import BesideHeap, Layout
from engine.cost import Cost, itemised, total_cost, usd_at
from engine.forecast import Forecast, none_if_nan
from engine.machines.services import least_on_demand, on_demand_line, spot_nodes
from engine.memory import beside_heap_gib
from engine.mixing.market import MixResult
from engine.mixing.notices import MIXED, member_notices, mixed_architectures
from engine.mixing.purchase_options import PurchaseOptions, supporting_points
from engine.notices import Notice, in_order, never_ends
from engine.runs.barrier_stages import barrier_notice


@dataclass(frozen=True, eq=False)
class Mix:
    """A mix that the search found, on the surface that it was confirmed on."""

    surface: Surface
    options: PurchaseOptions
    goal: Goal
    result: MixResult
    today: date | None

    @property
    def members(self) -> list[tuple[int, bool, int]]:
        """(row of the surface, spot or not, nodes), the type with the most nodes first."""
        base, spot = self.options.base, self.options.spot
        pairs = zip(self.result.rows or (), self.result.counts, strict=True)
        members = [(int(base[row]), bool(spot[row]), nodes) for row, nodes in pairs if nodes]
        totals = {row: sum(n for other, _, n in members if other == row) for row, _, _ in members}
        return sorted(members, key=lambda one: (-totals[one[0]], one[0], one[1]))

    def forecast(self) -> Forecast:
        rows, counts = np.asarray([self.result.rows]), np.asarray([self.result.counts])
        return self.options.law(self.surface).forecast(rows, counts)

    def choice(self) -> Choice:
        """The composition as the optimiser shows one."""
        choice = self.without_warnings()
        choice = replace(choice, warnings=self._warnings(choice))
        if self.goal.deadline_seconds is not None and never_ends(choice.warnings):
            return replace(choice, p_deadline=0.0)
        return choice

    def without_warnings(self) -> Choice:
        """The composition with its time, cost and P(T <= deadline), also where a warning says that
        the job never ends."""
        candidates, forecast = self.surface.candidates, self.forecast()
        seconds, deadline = float(forecast.seconds[0]), self.goal.deadline_seconds
        low, high = (none_if_nan(bound[0]) for bound in forecast.interval(self.goal.confidence))
        names = candidates.names
        layouts = [(candidates.layouts[row], nodes) for row, _, nodes in self.members]
        executors = sum(layout.executors_per_node * nodes for layout, nodes in layouts)
        shape = common_shape([layout for layout, _ in layouts])
        cost = self._cost(seconds)
        composition: dict[str, int] = {}
        for row, _, nodes in self.members:
            composition[names[row]] = composition.get(names[row], 0) + nodes
        only = next(iter(composition)) if len(composition) == 1 else None
        return Choice(
            composition=composition,
            instance=only,
            nodes=sum(composition.values()),
            seconds=seconds,
            low=low,
            high=high,
            p_deadline=None if deadline is None else none_if_nan(forecast.p_within(deadline)[0]),
            cost_usd=cost.total_usd,
            cost_low_usd=usd_at(cost, low, self.options.billing),
            cost_high_usd=usd_at(cost, high, self.options.billing),
            cost=cost,
            layout=shape,
            executors=executors,
            vcore_seconds=executors * shape.executor_cores * seconds,
            note="mix" if only is None else "part spot",
            spot={names[row]: paid for row, spot, paid in self._paid() if spot and paid},
            executors_per_node={
                names[row]: candidates.layouts[row].executors_per_node for row, _, _ in self.members
            },
        )

    def _paid(self) -> list[tuple[int, bool, int]]:
        """The members with their paid nodes; owned nodes are never spot nodes."""
        paid, split = [], self.options.market.share is not None
        for row, spot, nodes in self.members:
            owned = 0 if spot and split else int(self.surface.rented.owned[row])
            paid.append((row, spot, max(nodes - owned, 0)))
        return paid

    def _cost(self, seconds: float) -> Cost:
        """Every part of the cost; the master is billed once."""
        catalog, billing = self.surface.candidates.catalog, self.options.billing
        parts = []
        for index, (row, spot, paid) in enumerate(self._paid()):
            offer = self.surface.candidates.offers[row]
            spot = spot and offer.spot is not None
            rules = replace(billing, spot=spot, master=billing.master if index == 0 else None)
            cost = itemised(
                nodes=paid, seconds=seconds, offer=offer, billing=rules, catalog=catalog,
                owned=self.members[index][2] - paid,
            )  # fmt: skip
            parts.append(cost)
        cost = total_cost(parts)
        return replace(cost, assumptions=(*self._beside_spot(), *cost.assumptions))

    def _beside_spot(self) -> list[str]:
        """The line that the service allows no more spot nodes, where that bound is reached."""
        catalog, nodes = self.surface.candidates.catalog, sum(self.result.counts)
        rented = [
            sum(paid for _, spot, paid in self._paid() if spot is how) for how in (True, False)
        ]
        bound = least_on_demand(catalog) and rented[0] == spot_nodes(catalog, nodes)
        return [on_demand_line(catalog)] if bound and all(rented) else []

    def _warnings(self, choice: Choice) -> tuple[Notice, ...]:
        """Warnings of the model, of the price list, of the service, and about interruptions."""
        answers = ChoiceBuilder(self.surface, self.goal, self.options.billing, self.today)
        law = self.options.law(self.surface)
        points = supporting_points(self.result, law, self.options, self.surface)
        instances = (self.surface.candidates.instances[row] for row, _, _ in self.members)
        of_mixing = [MIXED, mixed_architectures(instances)] if choice.instance is None else []
        stages = self.surface.candidates.binding_limits(self.surface.limits).barrier_stages
        cores = choice.layout.executor_cores if choice.layout else np.nan
        stuck = barrier_notice(stages, choice.executors or np.nan, cores)
        of_members = member_notices(
            self.surface, points, [(row, nodes) for row, _, nodes in self.members]
        )
        of_prices = answers.paid_price_notices(self._paid())
        rows = np.asarray(self.result.rows)
        names = [self.surface.candidates.names[row] for row in self.options.base[rows].tolist()]
        shares = law.shares(rows, np.asarray(self.result.counts)).tolist()
        refusals = answers.refusals(choice)
        notices = in_order([*refusals, *of_mixing, stuck, *of_members, *of_prices])
        if never_ends(notices):  # there is no time that interruptions would add to
            return notices
        of_interruptions = answers.interruptions(choice, dict(zip(names, shares, strict=True)))
        return in_order([*notices, *of_interruptions])


def common_shape(layouts: Sequence[Layout]) -> Layout:
    """The common shape of the executors: the same cores, the smallest heap, and beside it the most
    that the smallest container holds."""
    heaps = [x.executor_memory_gib for x in layouts if x.executor_memory_gib is not None]
    heap = min(heaps, default=None)
    return replace(layouts[0], executor_memory_gib=heap, beside=_beside(layouts, heap))


def _beside(layouts: Sequence[Layout], heap: float | None) -> BesideHeap | None:
    """The largest memory beside the heap of any type that fits all containers."""
    sized = [
        (x.executor_memory_gib + beside_heap_gib(x.executor_memory_gib, x.beside), x.beside)
        for x in layouts
        if x.executor_memory_gib is not None
    ]
    if heap is None or not any(beside for _, beside in sized):
        return None
    smallest_container = min(container for container, _ in sized) * (1.0 + TIE)
    fitting = [
        beside for _, beside in sized if heap + beside_heap_gib(heap, beside) <= smallest_container
    ]
    return max(fitting, key=lambda beside: beside_heap_gib(heap, beside), default=None)
