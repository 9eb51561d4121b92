"""Builds choices and rejections from points of a surface: intervals, costs, reasons, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from engine.catalog import Billing, Catalog, Price
from engine.choosing.answer_notices import price_notices, rate_notices
from engine.choosing.difference_texts import in_runs, missed_by, more_usd, takes_longer
from engine.choosing.interruptions import SpotNodes, interruption_notice
from engine.choosing.recommendation import Choice, Compromise, Goal, Rejected
from engine.choosing.room import no_room_reason
from engine.choosing.surface import Surface
from engine.choosing.sweeps import TIE
from engine.cost import Cost, itemised, master_offer, price_of, total_cost, usd_at
from engine.forecast import FloatArray, IntArray, none_if_nan
from engine.machines.platforms import NOT_SUPPORTED, support_notice
from engine.machines.services import least_workers, on_demand_line, service_of, service_refusals
from engine.notices import Notice, in_order, never_ends
from engine.runs.barrier_stages import not_started
from engine.units import format_count, format_seconds, format_usd

SPEED_NOTES = {
    None: "measured type",
    "transferred-speed": "speed transferred",
    "unknown-source-type": "source type unknown",
    "no-cpu-score": "no CPU score",
    "speed-as-given": "speed as given",
}
"""How the speed of a type came about: code of the notice -> note of a choice."""


@dataclass(frozen=True, eq=False)
class ChoiceBuilder:
    """Builds choices and rejections from points of a surface, for one goal and billing.

    `today` decides which prices are old; None leaves these warnings out.
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
        """The choice at a flat index, without the reasons why it won."""
        row, column = divmod(flat, self.surface.max_nodes)
        offer = self.surface.candidates.offers[row]
        layout = self.surface.candidates.layouts[row]
        nodes, name = column + 1, offer.instance.name
        forecast = self.surface.at(flat)
        seconds = float(forecast.seconds[0])
        low, high = (none_if_nan(bound[0]) for bound in forecast.interval(self.goal.confidence))
        cost = self._cost(row, nodes, seconds)
        executors = layout.executors_per_node * nodes
        speed, speed_notices = self.surface.fitted.transferred(offer.instance, self.catalog)
        support = support_notice(self.catalog, name)
        notices = [support, *speed_notices, *self._paid_notices(row, nodes)]
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
            note=SPEED_NOTES[speed.code],
            spot=self.spot(row, nodes),
            executors_per_node={name: layout.executors_per_node},
            warnings=in_order(notices),
        )

    def _cost(self, row: int, nodes: int, seconds: float) -> Cost:
        """The itemised cost of nodes of one type for a time."""
        paid, spot = self._paid_nodes(row, nodes), self._spot_nodes(row, nodes)
        offer, billing = self.surface.candidates.offers[row], self._billing_of(row)
        if spot == paid or not billing.spot:
            return itemised(
                nodes=paid, seconds=seconds, offer=offer, billing=billing, catalog=self.catalog,
                owned=nodes - paid,
            )  # fmt: skip
        cost = itemised(
            nodes=paid - spot, seconds=seconds, offer=offer, billing=replace(billing, spot=False),
            catalog=self.catalog, owned=nodes - paid,
        )  # fmt: skip
        if spot:
            without_master = replace(billing, master=None)
            spot_cost = itemised(
                nodes=spot, seconds=seconds, offer=offer, billing=without_master,
                catalog=self.catalog,
            )  # fmt: skip
            cost = total_cost([cost, spot_cost])
        return replace(cost, assumptions=(on_demand_line(self.catalog), *cost.assumptions))

    def _billing_of(self, row: int) -> Billing:
        """The billing of a type. One without a spot price is possible only with owned nodes."""
        offer = self.surface.candidates.offers[row]
        return self.billing if price_of(offer, self.billing) else replace(self.billing, spot=False)

    def spot(self, row: int, nodes: int) -> dict[str, int]:
        """Type -> nodes that are rented at spot prices, of so many nodes of the type of a row."""
        spot = self._spot_nodes(row, nodes) if self._billing_of(row).spot else 0
        return {self.surface.candidates.offers[row].instance.name: spot} if spot else {}

    def _spot_nodes(self, row: int, nodes: int) -> int:
        return int(self.surface.rented.on_spot(np.asarray(row), np.asarray(nodes)))

    def _paid_nodes(self, row: int, nodes: int) -> int:
        """Number of nodes that are paid for."""
        return int(self.surface.rented.paid(np.asarray(row), np.asarray(nodes)))

    def p_deadline(self, flat: int) -> float | None:
        """P(T <= deadline), 0 where the job never ends; None without a deadline or an interval."""
        return none_if_nan(self.p_deadlines(np.asarray([flat]))[0])

    def p_deadlines(self, points: IntArray) -> FloatArray:
        """(n,) the same at some points, NaN for None."""
        if self.goal.deadline_seconds is None:
            return np.full(len(points), np.nan)
        return self.surface.p_within(points, self.goal.deadline_seconds)

    def with_model_warnings(self, choice: Choice) -> Choice:
        """The choice with all of the model's warnings, which are slow to find for a replay."""
        flat = self.surface.index(str(choice.instance), choice.nodes or 1)
        row, column = divmod(flat, self.surface.max_nodes)
        price_warnings = self._paid_notices(row, column + 1)
        notices = [*self.surface.notices(flat), *price_warnings, *self.refusals(choice)]
        if not never_ends(notices):  # else there is no time that interruptions would add to
            notices += self.interruptions(choice)
        return replace(choice, warnings=in_order(notices))

    def refusals(self, choice: Choice) -> Iterator[Notice]:
        """Notices on why the managed service would refuse to start the cluster."""
        return service_refusals(self.catalog, choice.composition)

    def interruptions(
        self, choice: Choice, shares: Mapping[str, float] | None = None
    ) -> tuple[Notice, ...]:
        """The notice about interruptions of its spot nodes.

        Args:
            shares: type -> share of the cluster's capacity in one node; None where all are alike.
        """
        cost = choice.cost
        if cost is None or cost.billed_seconds <= 0.0:
            return ()
        equal_share = 1.0 / (choice.nodes or 1)
        members = [
            SpotNodes(self.catalog.offer(name), nodes, shares[name] if shares else equal_share)
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
        """Warnings of the price list about a cluster of nodes of one type."""
        spot = sum(self.spot(row, nodes).values())
        on_demand = self._paid_nodes(row, nodes) - spot
        return self.paid_price_notices([(row, False, on_demand), (row, True, spot)])

    def paid_price_notices(self, paid: Iterable[tuple[int, bool, int]]) -> tuple[Notice, ...]:
        """Warnings of the price list about the paid nodes, as they are rented, and the master.

        Args:
            paid: (row of the surface, spot or not, nodes).
        """
        workers = list[Notice]()
        for row, spot, nodes in paid:
            rented = replace(self, billing=replace(self.billing, spot=spot))
            workers += rented.price_notices(row) if nodes else ()
        return (*workers, *self._master_notices(workers))

    def _master_notices(self, worker_notices: Sequence[Notice]) -> tuple[Notice, ...]:
        """Warnings of the price list about the master node, which is paid for even beside owned
        nodes, without codes that `worker_notices` already has."""
        master = master_offer(self.catalog, self.billing)
        if master is None:
            return ()
        codes = {notice.code for notice in worker_notices}
        notices = self._with_rates(master.on_demand, f"the master {master.instance.name}", "price")
        return tuple(notice for notice in notices if notice.code not in codes)

    def price_notices(self, row: int) -> tuple[Notice, ...]:
        """Warnings of the price list about one type."""
        offer = self.surface.candidates.offers[row]
        price = price_of(offer, self.billing)
        if price is None:
            return ()
        kind = "spot price" if self.billing.spot else "price"
        return self._with_rates(price, offer.instance.name, kind)

    def _with_rates(self, price: Price, name: str, kind: str) -> tuple[Notice, ...]:
        """Warnings about the price of a node, and about rates that go with it."""
        notices = price_notices(price, name, self.catalog, self.today, kind=kind)
        return (*notices, *rate_notices(self.billing, self.catalog, self.today))

    def rejected(self, flat: int, p_deadline: float | None) -> Rejected:
        """The rejection of a type, at the point of its nearest miss, and P(T <= deadline) there."""
        row, column = divmod(flat, self.surface.max_nodes)
        name = self.surface.candidates.offers[row].instance.name
        seconds = float(self.surface.seconds.flat[flat])
        cost = float(self.surface.costs(self.billing).flat[flat])
        if name in self.surface.candidates.not_rented(self.surface.limits):
            reason = f"{NOT_SUPPORTED}: measured, and compared alone"
            return Rejected(name, None, reason, "not-supported")
        asked = slice(self.goal.max_nodes)
        if not self.surface.allowed[row, asked].any():
            return self._not_allowed(row)
        if not np.isfinite(self.surface.seconds[row, asked]).any():
            return Rejected(name, None, "the model has no prediction for it", "no-prediction")
        if not np.isfinite(cost):
            return self._unpriced(row, seconds if np.isfinite(seconds) else None)
        late = self._late_seconds(flat)
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
            p_deadline=p_deadline,
        )

    def _not_allowed(self, row: int) -> Rejected:
        """The rejection of a type of which no number of nodes keeps all limits."""
        candidates = self.surface.candidates
        nodes = int(self.surface.constraints.most(self.goal.max_nodes)[row])
        name, layout = candidates.names[row], candidates.layouts[row]
        if name in candidates.without_room and candidates.wide_stage is not None:
            reason = no_room_reason(candidates.wide_stage, layout)
            return Rejected(name, None, reason, "stage-needs-cores")
        least = least_workers(candidates.catalog)
        if 0 < nodes < least:
            reason = f"{service_of(candidates.catalog)} starts no fewer than {least} workers"
            return Rejected(name, None, reason, "limits")
        stages = candidates.binding_limits(self.surface.limits).barrier_stages
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
        """The rejection of a type without a known price."""
        offer = self.surface.candidates.offers[row]
        if price_of(offer, self.billing) is None:
            reason, code = "has no spot price", "no-spot-price"
        else:
            reason, code = "how many DBUs it takes per hour is not known", "no-dbus"
        return Rejected(offer.instance.name, None, reason, code, seconds)

    def compromise(self, flat: int) -> Compromise:
        """The compromise at a point: the deadline and the budget that it keeps."""
        least = self.surface.promised_seconds(flat, self.goal.confidence)
        cost = float(self.surface.costs(self.billing).flat[flat])
        deadline = max(least, self.goal.deadline_seconds or 0.0)
        budget = max(cost, self.goal.budget_usd or 0.0)
        kept = replace(self.goal, deadline_seconds=deadline, budget_usd=budget)
        return Compromise(deadline, budget, replace(self, goal=kept).choice(flat))

    def _late_seconds(self, flat: int) -> float | None:
        """Seconds by which the deadline is missed (at the goal's confidence), None when met."""
        deadline = self.goal.deadline_seconds
        bound = float(self.surface.log_least_deadlines(self.goal.confidence).flat[flat])
        if deadline is None or bound <= np.log(deadline):
            return None
        return max(float(np.exp(bound)) - deadline, 0.0)

    def miss(self, flat: int) -> str:
        """What a point misses, in words; empty when it satisfies the goal."""
        texts = []
        budget, deadline = self.goal.budget_usd, self.goal.deadline_seconds
        if deadline is not None and (late := self._late_seconds(flat)) is not None:
            sure = bool(self.surface.has_interval.flat[flat])
            confidence = self.goal.confidence if sure else None
            texts.append(missed_by(late, confidence, deadline_seconds=deadline))
        cost = float(self.surface.costs(self.billing).flat[flat])
        if budget is not None and cost > self.goal.most_usd:
            texts.append(f"{'is ' if texts else ''}over budget by {format_usd(cost - budget)}")
        return " and ".join(texts)

    def with_reasons(self, flat: int, *, frontier: IntArray, runner_up: int | None) -> Choice:
        """The recommended point with the reasons why it won.

        Args:
            frontier: flat indices of the time/cost frontier, fastest first.
            runner_up: the next best type's point that satisfies the goal.
        """
        why = [
            self._one_node_fewer(flat),
            self._why_not_better(flat, self._cheaper_or_faster(flat, frontier)),
            self._runner_up(flat, runner_up),
        ]
        return replace(self.choice(flat), why=tuple(text for text in why if text))

    def _cheaper_or_faster(self, flat: int, frontier: IntArray) -> int | None:
        """The fastest of all cheaper points of the frontier; where time is minimised, the cheapest
        of all faster points. None where there is none."""
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
        if self._late_seconds(flat - 1) is not None and p is not None:
            late = in_runs(1.0 - p, allowed=1.0 - self.goal.confidence)
            return f"one node fewer misses the deadline {late}"
        if miss := self.miss(flat - 1):
            return f"one node fewer {'is ' if self._late_seconds(flat - 1) is None else ''}{miss}"
        if self.goal.by_resource:
            resource = self.surface.vcore_seconds
            more = float(resource.flat[flat - 1] - resource.flat[flat])
            return f"one node fewer takes {more:,.0f} vcore-s more" if more > 0 else ""
        more = float(costs.flat[flat - 1] - costs.flat[flat])
        if more > 0:
            return f"one node fewer costs {more_usd(more)}"
        slower = self._slower(flat - 1, flat, less_usd=-more)
        return f"one node fewer {slower}" if slower else ""

    def _why_not_better(self, flat: int, other: int | None) -> str:
        if other is None or self._is_one_fewer(flat, other):
            return ""
        cost = float(self.surface.costs(self.billing).flat[other])
        seconds = float(self.surface.seconds.flat[other])
        better = (
            f"is the next faster ({format_seconds(seconds)})"
            if self.goal.by_time
            else f"is the next cheaper ({format_usd(cost)})"
        )
        return f"{self._name(other)} {better} but {self.miss(other)}"

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
        """Text on how much slower another point is; empty where it is not."""
        seconds, than_seconds = (float(self.surface.seconds.flat[at]) for at in (other, flat))
        if not seconds > than_seconds:
            return ""
        return takes_longer(seconds=seconds, than_seconds=than_seconds, less_usd=less_usd)

    def _name(self, flat: int) -> str:
        row, column = divmod(flat, self.surface.max_nodes)
        return f"{column + 1} × {self.surface.candidates.offers[row].instance.name}"
