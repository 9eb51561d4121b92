"""Points of a surface as answers: choices with their intervals, costs, reasons and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from engine.catalog import Billing, Catalog
from engine.choosing.answer_notices import dbu_notices, price_notices
from engine.choosing.differences import in_runs, missed_by, more_usd, takes_longer
from engine.choosing.interruptions import SpotNodes, interruption_notice
from engine.choosing.recommendation import Choice, Compromise, Goal, Rejected
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE
from engine.cost import Cost, added, itemised, master_offer, price_of, usd_at
from engine.forecast import IntArray, known
from engine.machines.platforms import NOT_SUPPORTED, support_notice
from engine.machines.services import least_workers, on_demand_line, refusals, service_of
from engine.notices import Notice, in_order
from engine.runs.barrier_stages import not_started
from engine.text.reachable import ENOUGH
from engine.units import format_count, format_seconds, format_usd

_NOTES = {
    None: "measured type",
    "transferred-speed": "speed transferred",
    "unknown-source-type": "source type unknown",
    "no-cpu-score": "no CPU score",
    "speed-as-given": "speed as given",
}


@dataclass(frozen=True, eq=False)
class Answers:
    """Makes choices and rejections out of points of a surface, for one goal and billing.

    `today` decides which prices are old; None leaves that out.
    """

    surface: Surface
    goal: Goal
    billing: Billing
    today: date | None = None

    @property
    def catalog(self) -> Catalog:
        """Where the types and prices came from."""
        return self.surface.candidates.catalog

    def choice(self, flat: int) -> Choice:
        """One point of the surface, with everything but the reasons why it won."""
        row, column = divmod(flat, self.surface.max_nodes)
        offer = self.surface.candidates.offers[row]
        layout = self.surface.candidates.layouts[row]
        nodes, name = column + 1, offer.instance.name
        forecast = self.surface.at(flat)
        seconds = float(forecast.seconds[0])
        low, high = (known(bound[0]) for bound in forecast.interval(self.goal.confidence))
        cost = self._cost(row, nodes, seconds)
        executors = layout.executors_per_node * nodes
        speed, of_speed = self.surface.fitted.transferred(offer.instance, self.catalog)
        supported = support_notice(self.catalog, name)
        notices = [*([supported] if supported else []), *of_speed, *self._paid_notices(row, nodes)]
        return Choice(
            composition={name: nodes},
            instance=name,
            nodes=nodes,
            seconds=seconds,
            low=low,
            high=high,
            p_deadline=self.p_deadline(flat),
            cost_usd=cost.total_usd,
            cost_low_usd=usd_at(cost, low, self.billing),
            cost_high_usd=usd_at(cost, high, self.billing),
            cost=cost,
            layout=layout,
            executors=executors,
            vcore_seconds=executors * layout.executor_cores * seconds,
            note=_NOTES[speed.code],
            spot=self._spot(row, nodes),
            executors_per_node={name: layout.executors_per_node},
            warnings=in_order(notices),
        )

    def _cost(self, row: int, nodes: int, seconds: float) -> Cost:
        """What so many nodes of a type cost for so long."""
        paid, rules = self._paid(row, nodes), self._rules(row)
        spot = self._on_spot(row, nodes)
        offer = self.surface.candidates.offers[row]
        if spot == paid or not rules.spot:
            return itemised(
                nodes=paid, seconds=seconds, offer=offer, billing=rules, catalog=self.catalog,
                owned=nodes - paid,
            )  # fmt: skip
        cost = itemised(
            nodes=paid - spot, seconds=seconds, offer=offer, billing=replace(rules, spot=False),
            catalog=self.catalog, owned=nodes - paid,
        )  # fmt: skip
        if spot:
            beside = replace(rules, master=None)
            others = itemised(
                nodes=spot, seconds=seconds, offer=offer, billing=beside, catalog=self.catalog
            )
            cost = added([cost, others])
        return replace(cost, assumptions=(on_demand_line(self.catalog), *cost.assumptions))

    def _rules(self, row: int) -> Billing:
        """The billing of a type: one without a spot price comes here only with nodes one owns."""
        offer = self.surface.candidates.offers[row]
        return self.billing if price_of(offer, self.billing) else replace(self.billing, spot=False)

    def _spot(self, row: int, nodes: int) -> dict[str, int]:
        """The nodes that are rented at spot prices."""
        spot = self._on_spot(row, nodes) if self._rules(row).spot else 0
        return {self.surface.candidates.offers[row].instance.name: spot} if spot else {}

    def _on_spot(self, row: int, nodes: int) -> int:
        return int(self.surface.on_spot(np.asarray(row), np.asarray(nodes)))

    def _paid(self, row: int, nodes: int) -> int:
        """How many of the nodes are paid for."""
        return int(self.surface.paid(np.asarray(row), np.asarray(nodes)))

    def p_deadline(self, flat: int) -> float | None:
        """P(T <= deadline); None without a deadline or without an interval."""
        if self.goal.deadline_seconds is None:
            return None
        return known(self.surface.at(flat).p_within(self.goal.deadline_seconds)[0])

    def warned(self, choice: Choice) -> Choice:
        """The choice with all of the model's warnings, which take a replay a while to find."""
        flat = self.surface.index(str(choice.instance), choice.nodes or 1)
        row, column = divmod(flat, self.surface.max_nodes)
        priced = self._paid_notices(row, column + 1)
        of_cluster = [*self.refused(choice), *self.interruptions(choice)]
        notices = [*self.surface.notices(flat), *priced, *of_cluster]
        return replace(choice, warnings=in_order(notices))

    def refused(self, choice: Choice) -> Iterator[Notice]:
        """Why the service that is paid for would not start the cluster."""
        return refusals(self.catalog, choice.composition)

    def interruptions(
        self, choice: Choice, shares: Mapping[str, float] | None = None
    ) -> tuple[Notice, ...]:
        """What interruptions of its spot nodes cost.

        Args:
            shares: type -> share of the cluster's capacity in one node; None where all are alike.
        """
        cost = choice.cost
        if cost is None or cost.billed_seconds <= 0.0:
            return ()
        alike = 1.0 / (choice.nodes or 1)
        members = [
            SpotNodes(self.catalog.offer(name), nodes, shares[name] if shares else alike)
            for name, nodes in choice.spot.items()
        ]
        notice = interruption_notice(
            members,
            nodes=choice.nodes or 1,
            seconds=choice.seconds,
            usd_per_second=cost.total_usd / cost.billed_seconds,
            run=self.surface.fitted.profile.largest_run,
        )
        return () if notice is None else (notice,)

    def _paid_notices(self, row: int, nodes: int) -> tuple[Notice, ...]:
        """What the price list warns of, for the nodes that are paid for, as they are rented."""
        spot, workers = sum(self._spot(row, nodes).values()), list[Notice]()
        for at_spot, count in ((False, self._paid(row, nodes) - spot), (True, spot)):
            rented = replace(self, billing=replace(self.billing, spot=at_spot))
            workers += rented.price_notices(row) if count else ()
        return (*workers, *self.master_notices(workers))

    def master_notices(self, said: Sequence[Notice]) -> tuple[Notice, ...]:
        """Warnings of the price list about the master node, which is paid for even beside owned
        nodes; none that `said` already has for the workers."""
        master, codes = master_offer(self.catalog, self.billing), {notice.code for notice in said}
        if master is None:
            return ()
        name = f"the master {master.instance.name}"
        found = price_notices(master.on_demand, name, self.catalog, self.today)
        found += dbu_notices(self.billing, self.catalog, self.today)
        return tuple(notice for notice in found if notice.code not in codes)

    def price_notices(self, row: int) -> tuple[Notice, ...]:
        """What the price list warns of for one type."""
        offer = self.surface.candidates.offers[row]
        price = price_of(offer, self.billing)
        if price is None:
            return ()
        kind = "spot price" if self.billing.spot else "price"
        notices = price_notices(price, offer.instance.name, self.catalog, self.today, kind=kind)
        return (*notices, *dbu_notices(self.billing, self.catalog, self.today))

    def rejected(self, flat: int) -> Rejected:
        """A point that does not satisfy the goal: its type's nearest miss."""
        row, column = divmod(flat, self.surface.max_nodes)
        name = self.surface.candidates.offers[row].instance.name
        seconds = float(self.surface.seconds.flat[flat])
        cost = float(self.surface.costs(self.billing).flat[flat])
        if name in self.surface.candidates.barred(self.surface.limits):
            reason = f"{NOT_SUPPORTED}: measured, and compared alone"
            return Rejected(name, None, reason, "not-supported")
        asked = slice(self.goal.max_nodes)
        if not self.surface.allowed[row, asked].any():
            return self._not_allowed(row)
        if not np.isfinite(self.surface.seconds[row, asked]).any():
            return Rejected(name, None, "the model has no prediction for it", "no-prediction")
        if not np.isfinite(cost):
            return self._unpriced(row, seconds if np.isfinite(seconds) else None)
        late = self._late(flat)
        over = None if self.goal.budget_usd is None else cost - self.goal.budget_usd
        is_over = over is not None and cost > self.goal.most_usd
        return Rejected(
            instance=name,
            composition={name: column + 1},
            reason=f"{self.miss(flat)} with {format_count(column + 1, 'node')}",
            code={(True, True): "deadline-and-budget", (False, True): "budget"}.get(
                (late is not None, is_over), "deadline"
            ),
            seconds=seconds,
            cost_usd=cost,
            late_seconds=late,
            over_usd=over if is_over else None,
        )

    def _not_allowed(self, row: int) -> Rejected:
        """A type of which no number of nodes keeps all limits."""
        candidates = self.surface.candidates
        nodes = int(self.surface.constraints.most(self.goal.max_nodes)[row])
        name, layout = candidates.names[row], candidates.layouts[row]
        least = least_workers(candidates.catalog)
        if 0 < nodes < least:
            reason = f"{service_of(candidates.catalog)} starts no fewer than {least} workers"
            return Rejected(name, None, reason, "limits")
        stages = candidates.within(self.surface.limits).barrier_stages
        executors, cores = nodes * layout.executors_per_node, layout.executor_cores
        stage = not_started(stages, executors, cores)
        if stage is None or not nodes:
            return Rejected(name, None, "the limits allow none of it", "limits")
        reason = (
            f"has room for {stage.room(executors, cores):.0f} tasks on "
            f"{format_count(nodes, 'node')}, and {stage.tasks} start all at once (barrier mode)"
        )
        return Rejected(name, None, reason, "barrier")

    def _unpriced(self, row: int, seconds: float | None) -> Rejected:
        """A type that cannot be paid for."""
        offer = self.surface.candidates.offers[row]
        if price_of(offer, self.billing) is None:
            reason, code = "has no spot price", "no-spot-price"
        else:
            reason, code = "how many DBUs it takes per hour is not known", "no-dbus"
        return Rejected(offer.instance.name, None, reason, code, seconds)

    def compromise(self, flat: int) -> Compromise:
        """The deadline and the budget that a point keeps, where it keeps one of those asked."""
        bound = float(np.exp(self.surface.log_bounds(self.goal.confidence).flat[flat]))
        cost = float(self.surface.costs(self.billing).flat[flat])
        deadline = max(bound * ENOUGH, self.goal.deadline_seconds or 0.0)
        budget = max(cost, self.goal.budget_usd or 0.0)
        kept = replace(self.goal, deadline_seconds=deadline, budget_usd=budget)
        return Compromise(deadline, budget, replace(self, goal=kept).choice(flat))

    def _late(self, flat: int) -> float | None:
        """Seconds by which the deadline is missed (at the goal's confidence), None when met."""
        deadline = self.goal.deadline_seconds
        bound = float(self.surface.log_bounds(self.goal.confidence).flat[flat])
        if deadline is None or bound <= np.log(deadline):
            return None
        return max(float(np.exp(bound)) - deadline, 0.0)

    def miss(self, flat: int) -> str:
        """What a point misses, in words; empty when it satisfies the goal."""
        texts = []
        budget, deadline = self.goal.budget_usd, self.goal.deadline_seconds
        if deadline is not None and (late := self._late(flat)) is not None:
            sure = bool(self.surface.has_interval.flat[flat])
            confidence = self.goal.confidence if sure else None
            texts.append(missed_by(late, confidence, deadline_seconds=deadline))
        cost = float(self.surface.costs(self.billing).flat[flat])
        if budget is not None and cost > self.goal.most_usd:
            texts.append(f"{'is ' if texts else ''}over budget by {format_usd(cost - budget)}")
        return " and ".join(texts)

    def explained(self, flat: int, *, frontier: IntArray, runner_up: int | None) -> Choice:
        """The recommended point with the reasons why it won.

        Args:
            frontier: flat indices of the time/cost frontier, fastest first.
            runner_up: the next best type's point that satisfies the goal.
        """
        why = [
            self._one_node_fewer(flat),
            self._why_not_better(flat, self._passed_over(flat, frontier)),
            self._runner_up(flat, runner_up),
        ]
        return replace(self.choice(flat), why=tuple(text for text in why if text))

    def _passed_over(self, flat: int, frontier: IntArray) -> int | None:
        """The fastest of all cheaper points, that is, the price in time of paying less; where time
        decides, the cheapest of all faster points."""
        if self.goal.by_resource:  # the frontier is one of time and cost
            return None
        values = self.surface.seconds if self.goal.by_time else self.surface.costs(self.billing)
        better = frontier[values.ravel()[frontier] < values.flat[flat] * (1.0 - TIE)]
        if not len(better):
            return None
        return int(better[-1] if self.goal.by_time else better[0])

    def _is_one_fewer(self, flat: int, other: int) -> bool:
        return other == flat - 1 and flat % self.surface.max_nodes > 0

    def _one_node_fewer(self, flat: int) -> str:
        costs = self.surface.costs(self.billing)
        if not self._is_one_fewer(flat, flat - 1) or not np.isfinite(costs.flat[flat - 1]):
            return ""
        p = self.p_deadline(flat - 1)
        if self._late(flat - 1) is not None and p is not None:
            late = in_runs(1.0 - p, allowed=1.0 - self.goal.confidence)
            return f"one node fewer misses the deadline {late}"
        if miss := self.miss(flat - 1):
            return f"one node fewer {'is ' if self._late(flat - 1) is None else ''}{miss}"
        if self.goal.by_resource:
            resource = self.surface.vcore_seconds
            more = float(resource.flat[flat - 1] - resource.flat[flat])
            return f"one node fewer takes {more:,.0f} vcore-s more" if more > 0 else ""
        more = float(costs.flat[flat - 1] - costs.flat[flat])
        if more > 0:
            return f"one node fewer costs {more_usd(more)}"
        slower = self._slower(flat - 1, flat, less_usd=-more)
        return f"one node fewer {slower}" if slower else ""

    def _why_not_better(self, flat: int, passed_over: int | None) -> str:
        if passed_over is None or self._is_one_fewer(flat, passed_over):
            return ""
        cost = float(self.surface.costs(self.billing).flat[passed_over])
        seconds = float(self.surface.seconds.flat[passed_over])
        better = (
            f"is the next faster ({format_seconds(seconds)})"
            if self.goal.by_time
            else f"is the next cheaper ({format_usd(cost)})"
        )
        return f"{self._name(passed_over)} {better} but {self.miss(passed_over)}"

    def _runner_up(self, flat: int, runner_up: int | None) -> str:
        if runner_up is None:
            return ""
        costs = self.surface.costs(self.billing)
        name = f"the next best type, {self._name(runner_up)},"
        more = float(costs.flat[runner_up] - costs.flat[flat])
        if self.goal.by_time:
            slower = self._slower(runner_up, flat, less_usd=-more)
            return f"{name} {slower}" if slower else ""
        if self.goal.by_resource:
            resource = self.surface.vcore_seconds
            work = float(resource.flat[runner_up] - resource.flat[flat])
            return f"{name} takes {work:,.0f} vcore-s more" if work > 0 else ""
        return f"{name} costs {more_usd(more)}" if more > 0 else ""

    def _slower(self, other: int, flat: int, *, less_usd: float) -> str:
        """How much slower another point is; empty where it is not."""
        seconds, own = (float(self.surface.seconds.flat[at]) for at in (other, flat))
        if not seconds > own:
            return ""
        return takes_longer(seconds=seconds, than_seconds=own, less_usd=less_usd)

    def _name(self, flat: int) -> str:
        row, column = divmod(flat, self.surface.max_nodes)
        return f"{column + 1} × {self.surface.candidates.offers[row].instance.name}"
