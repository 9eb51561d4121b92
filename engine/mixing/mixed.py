"""From the best cluster of one type to the best composition of several: the optimiser's last step.

The search (`engine.mixing.search`) works on the surface. Where the model interpolates over it, the
points behind a mix that wins are evaluated exactly before it is believed, and the search begins
again if it does not stand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from engine.catalog import Billing
from engine.choosing.answer_notices import with_interval_notice
from engine.choosing.choices import Answers
from engine.choosing.differences import more_usd, takes_longer
from engine.choosing.recommendation import Choice, Goal, Recommendation
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE
from engine.cluster import BesideHeap, Layout
from engine.cost import Cost, itemised, usd_at
from engine.errors import BadInput
from engine.forecast import BoolArray, FloatArray, Forecast, IntArray, known
from engine.lazy import Lazy
from engine.memory import beside_heap_gib
from engine.mixing.beyond import Beyond
from engine.mixing.market import FoundMix, Market, SpotShare, values_of
from engine.mixing.mix_law import MixLaw, beyond_of
from engine.mixing.notices import MIXED, not_mixed, of_members, of_prices
from engine.mixing.search import Search
from engine.notice_order import in_order
from engine.profile import Notice
from engine.units import SECONDS_PER_HOUR

_ROUNDS = 8
"""Exact re-evaluations at most; a mix that has not stood by then is not recommended."""


def apart(surface: Surface) -> dict[int, int]:
    """Rows of measured types that are left out of mixes, and the cores of the others' executors: an
    application has executors of one shape, and a measured type keeps the one it was measured with.
    """
    measured = set(surface.fitted.profile.instance_types)
    candidates = surface.candidates
    cores = [layout.executor_cores for layout in candidates.layouts]
    others = Counter(c for n, c in zip(candidates.names, cores, strict=True) if n not in measured)
    if not others:
        return {}
    common = others.most_common(1)[0][0]
    return {
        row: common
        for row, (name, own) in enumerate(zip(candidates.names, cores, strict=True))
        if name in measured - candidates.barred(surface.limits)
        and own != common
        and others[own] == 0
    }


def splits(surface: Surface, billing: Billing) -> bool:
    """Whether a type may be rented both on demand and as spot nodes."""
    return billing.spot and surface.limits.max_spot is not None


def with_mixes(
    answer: Recommendation,
    surface: Surface,
    billing: Billing,
    *,
    most_types: int,
    today: date | None = None,
) -> Recommendation:
    """The answer, or a mix of up to `most_types` types that is better.

    Under a maximum share of spot nodes a type may be rented both ways, so that a cluster of one
    type may be better as well.
    """
    goal, evaluated = answer.goal, answer.evaluated
    partly = splits(surface, billing)
    surface, whole = surface.rented(billing)
    stock = Stock.of(surface, billing if partly else whole, goal.max_nodes)
    priced, searched = _searched(stock.market, goal, surface.slots[stock.base])
    for _ in range(_ROUNDS):
        law = stock.law(surface)
        found = Search(law, priced, searched, most_types, value=_value(answer)).run()
        evaluated += found.evaluated
        if found.rows is None:
            break
        refined = surface.refined(behind(found, law, stock, surface))
        rows, counts = np.asarray([found.rows]), np.asarray([found.counts])
        value = float(values_of(stock.law(refined), priced, searched, rows, counts)[0])
        surface = refined
        if value < _value(answer):
            mix = Mix(surface, stock, goal, found, today)
            answer = _won(answer, mix, evaluated, optimal=found.optimal)
            return _said(answer, stock, law, surface, most_types)
    # A mix that has not stood by now says nothing of those behind it.
    optimal = answer.optimal and found.optimal and found.rows is None
    answer = replace(answer, evaluated=evaluated, optimal=optimal)
    return _said(answer, stock, law, surface, most_types)


def _said(
    answer: Recommendation, stock: Stock, law: MixLaw, surface: Surface, most_types: int
) -> Recommendation:
    """The answer with what keeps types out of mixes, and what that may cost: the search is asked
    again as if they were as fast with executors like the others'."""
    left_out = apart(surface) if most_types > 1 else {}
    if not left_out:
        return answer
    cores = law.executor_cores.copy()
    for row, common in left_out.items():
        cores[stock.base == row] = common
    priced, searched = _searched(stock.market, answer.goal, surface.slots[stock.base])
    value, alike = _value(answer), replace(law, executor_cores=cores)
    bound = Search(alike, priced, searched, most_types, value=value).run().bound
    share = 1.0 - bound / value if 0.0 < value < math.inf else float(bound < value)
    said = [not_mixed(surface, row, common, share) for row, common in left_out.items()]
    return replace(answer, warnings=in_order([*answer.warnings, *said]))


@dataclass(frozen=True, eq=False)
class Stock:
    """What compositions are made of: the types of a surface, and how each is rented.

    Args:
        base: (r,) row of the surface; spot: (r,) whether the nodes are spot nodes.
        market: what they cost.
        beyond: times beyond the surface; None for none.
    """

    billing: Billing
    base: IntArray
    spot: BoolArray
    market: Market
    beyond: Beyond | None = None

    @classmethod
    def of(cls, surface: Surface, billing: Billing, max_nodes: int) -> Stock:
        """All types rented one way, or both ways under a maximum share of spot nodes.

        Raises:
            BadInput: for such a share where no type has a spot price.
        """
        constraints, k = surface.constraints, surface.shape[0]
        every, beyond = np.arange(k), beyond_of(surface)
        if not splits(surface, billing):
            rates, head = surface.rates(billing)
            most = constraints.most(max_nodes)
            market = Market.of(rates, head, billing, most, constraints, surface.owned)
            return cls(billing, every, np.full(k, billing.spot), market, beyond)
        surface.candidates.require_spot_price("max-spot", "leave the share and spot out")
        rates, head = surface.rates(replace(billing, spot=False))
        cheaper, _ = surface.rates(billing)
        rows = np.flatnonzero(cheaper < rates)
        base = np.append(every, rows)
        spot = np.append(np.zeros(k, dtype=bool), np.ones(len(rows), dtype=bool))
        owned = np.where(spot, 0, surface.owned[base])
        market = Market.of(
            np.append(rates, cheaper[rows]), head, billing, constraints.most(max_nodes)[base],
            constraints.taken(base), owned if owned.any() else None,
        )  # fmt: skip
        share = SpotShare(base, spot, float(surface.limits.max_spot or 0.0))
        return cls(billing, base, spot, replace(market, share=share), beyond)

    def law(self, surface: Surface) -> MixLaw:
        """The law of their times."""
        law = MixLaw.of(surface, self.beyond)
        if len(self.base) == len(law.slots) and self.market.share is None:
            return law
        rows = self.base[self.spot]
        return law.with_spot(rows, surface.interrupted[rows])


def _searched(market: Market, goal: Goal, slots: FloatArray) -> tuple[Market, Goal]:
    """The market and the goal that the search sees.

    Vcore-seconds are a price too: a node of s vcores "costs" s per hour, nothing is owned and
    nothing rounded, so that one search serves them.

    Raises:
        BadInput: for vcore-seconds under a budget: the search knows one price.
    """
    if not goal.by_resource:
        return market, goal
    if goal.budget_usd is not None:
        raise BadInput(
            "the least resource time within a budget is searched among clusters of one type only",
            where="--objective",
            remedy="leave out the budget, or ask for one type with --mix 1",
        )
    rates = np.where(np.isfinite(market.rates), slots, np.inf)
    exact = Billing(granularity_seconds=0.0)
    priced = Market(rates, 0.0, exact, market.most, market.constraints, share=market.share)
    return priced, replace(goal, objective="cost")


def _value(answer: Recommendation) -> float:
    """What the search has to beat."""
    best = answer.recommended
    if best is None:
        return math.inf
    value = best.seconds if answer.goal.by_time else best.cost_usd
    if answer.goal.by_resource:
        value = None if best.vcore_seconds is None else best.vcore_seconds / SECONDS_PER_HOUR
    return math.inf if value is None else value


def behind(found: FoundMix, law: MixLaw, stock: Stock | None, surface: Surface) -> list[int]:
    """Points of the surface that a mix was computed from; without a stock, its rows are those of
    the surface."""
    rows = np.asarray(found.rows)
    alike = (np.asarray(found.counts) * law.capacity[rows]).sum() / law.capacity[rows]
    points = []
    base = rows if stock is None else stock.base[rows]
    for row, count in zip(base.tolist(), alike.tolist(), strict=True):
        columns = [min(nodes, surface.max_nodes) - 1 for nodes in law.columns.around(count)]
        points += [row * surface.max_nodes + column for column in columns]
    return points


@dataclass(frozen=True, eq=False)
class Mix:
    """A composition that was found, on the surface that it was confirmed on."""

    surface: Surface
    stock: Stock
    goal: Goal
    found: FoundMix
    today: date | None

    @property
    def members(self) -> list[tuple[int, bool, int]]:
        """(row of the surface, spot or not, nodes), the type with the most nodes first."""
        base, spot = self.stock.base, self.stock.spot
        pairs = zip(self.found.rows or (), self.found.counts, strict=True)
        found = [(int(base[row]), bool(spot[row]), nodes) for row, nodes in pairs if nodes]
        totals = {row: sum(n for other, _, n in found if other == row) for row, _, _ in found}
        return sorted(found, key=lambda one: (-totals[one[0]], one[0], one[1]))

    def forecast(self) -> Forecast:
        """Its time."""
        rows, counts = np.asarray([self.found.rows]), np.asarray([self.found.counts])
        return self.stock.law(self.surface).forecast(rows, counts)

    def choice(self) -> Choice:
        """The composition as the optimiser shows one."""
        candidates, forecast = self.surface.candidates, self.forecast()
        seconds = float(forecast.seconds[0])
        low, high = (known(bound[0]) for bound in forecast.interval(self.goal.confidence))
        names = candidates.names
        layouts = [(candidates.layouts[row], nodes) for row, _, nodes in self.members]
        executors = sum(layout.executors_per_node * nodes for layout, nodes in layouts)
        shape = _shape([layout for layout, _ in layouts])
        deadline = self.goal.deadline_seconds
        cost = self._cost(seconds)
        composition: dict[str, int] = {}
        for row, _, nodes in self.members:
            composition[names[row]] = composition.get(names[row], 0) + nodes
        only = next(iter(composition)) if len(composition) == 1 else None
        choice = Choice(
            composition=composition,
            instance=only,
            nodes=sum(composition.values()),
            seconds=seconds,
            low=low,
            high=high,
            p_deadline=None if deadline is None else known(forecast.p_within(deadline)[0]),
            cost_usd=cost.total_usd,
            cost_low_usd=usd_at(cost, low, self.stock.billing),
            cost_high_usd=usd_at(cost, high, self.stock.billing),
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
        return replace(choice, warnings=self._warnings(choice))

    def _paid(self) -> list[tuple[int, bool, int]]:
        """The members with the nodes that are paid for; none that is owned is a spot node."""
        found, split = [], self.stock.market.share is not None
        for row, spot, nodes in self.members:
            owned = 0 if spot and split else int(self.surface.owned[row])
            found.append((row, spot, max(nodes - owned, 0)))
        return found

    def _cost(self, seconds: float) -> Cost:
        """Every part of the cost; the master is billed once."""
        catalog, billing = self.surface.candidates.catalog, self.stock.billing
        parts = []
        for place, (row, spot, paid) in enumerate(self._paid()):
            offer = self.surface.candidates.offers[row]
            spot = spot and offer.spot is not None
            rules = replace(billing, spot=spot, master=billing.master if place == 0 else None)
            cost = itemised(
                nodes=paid, seconds=seconds, offer=offer, billing=rules, catalog=catalog,
                owned=self.members[place][2] - paid,
            )  # fmt: skip
            parts.append(cost)
        return added(parts)

    def _warnings(self, choice: Choice) -> tuple[Notice, ...]:
        """What the model says of each member at its capacity, the price list of what is paid."""
        answers = Answers(self.surface, self.goal, self.stock.billing, self.today)
        law = self.stock.law(self.surface)
        points = behind(self.found, law, self.stock, self.surface)
        mixed = [MIXED] if choice.instance is None else []
        said = of_members(self.surface, points, [(row, nodes) for row, _, nodes in self.members])
        prices = of_prices(answers, self._paid())
        rows = np.asarray(self.found.rows)
        names = [self.surface.candidates.names[row] for row in self.stock.base[rows].tolist()]
        shares = law.shares(rows, np.asarray(self.found.counts)).tolist()
        lost = answers.interruptions(choice, dict(zip(names, shares, strict=True)))
        return in_order([*mixed, *said, *prices, *lost])


def added(costs: Sequence[Cost]) -> Cost:
    """The costs of the members of one cluster, added up part by part."""
    first = costs[0]
    totals = {f"{name}_usd": sum(cost.parts[name] for cost in costs) for name in first.parts}
    lines = dict.fromkeys(line for cost in costs for line in cost.assumptions)
    owned = {name: count for cost in costs for name, count in cost.owned.items()}
    return replace(first, **totals, assumptions=tuple(lines), owned=owned)


def _shape(layouts: Sequence[Layout]) -> Layout:
    """The shape of the executors: their cores are the same, the heap is the smallest, and beside it
    is what the smallest container holds."""
    heaps = [x.executor_memory_gib for x in layouts if x.executor_memory_gib is not None]
    heap = min(heaps, default=None)
    return replace(layouts[0], executor_memory_gib=heap, beside=_beside(layouts, heap))


def _beside(layouts: Sequence[Layout], heap: float | None) -> BesideHeap | None:
    """Of what each of the types has beside its heap the most that all containers hold."""
    sized = [
        (x.executor_memory_gib + beside_heap_gib(x.executor_memory_gib, x.beside), x.beside)
        for x in layouts
        if x.executor_memory_gib is not None
    ]
    if heap is None or not any(beside for _, beside in sized):
        return None
    least = min(container for container, _ in sized) * (1.0 + TIE)
    held = [beside for _, beside in sized if heap + beside_heap_gib(heap, beside) <= least]
    return max(held, key=lambda beside: beside_heap_gib(heap, beside), default=None)


def _won(answer: Recommendation, mix: Mix, evaluated: int, *, optimal: bool) -> Recommendation:
    """The answer with a mix in the first place; the best of one type is the first runner-up."""
    choice = mix.choice()
    before = answer.recommended
    choice = replace(choice, why=(_why(choice, before, answer),))
    others = answer.alternatives

    def runner_up(place: int) -> Choice:
        return others[place] if before is None or place >= 0 else before

    return replace(
        answer,
        recommended=choice,
        alternatives=Lazy(range(-1 if before else 0, len(others)), runner_up),
        nearest=None,
        optimal=answer.optimal and optimal,
        evaluated=evaluated,
        warnings=with_interval_notice(answer.warnings, answer.goal, choice),
    )


def _why(choice: Choice, before: Choice | None, answer: Recommendation) -> str:
    """What the best cluster of one type lacks."""
    if before is None:
        nearest = answer.nearest
        if nearest is None:
            return "no cluster of one type satisfies the goal"
        return f"no cluster of one type satisfies the goal; {_name(nearest)} comes closest"
    more = (before.cost_usd or 0.0) - (choice.cost_usd or 0.0)
    if answer.goal.by_time:
        slower = takes_longer(before.seconds - choice.seconds, less_usd=-more)
        return f"the fastest of one type, {_name(before)}, {slower}"
    if answer.goal.by_resource:
        work = (before.vcore_seconds or 0.0) - (choice.vcore_seconds or 0.0)
        return f"the best of one type, {_name(before)}, takes {work:,.0f} vcore-s more"
    return f"the cheapest of one type, {_name(before)}, costs {more_usd(more)}"


def _name(choice: Choice) -> str:
    return " + ".join(f"{count} × {name}" for name, count in choice.composition.items())
