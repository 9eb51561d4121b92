"""The goal of an optimisation (`Goal`) and its result (`Recommendation`): frozen values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import takewhile
from typing import Any

from engine.choosing.objectives import OBJECTIVE_SYNONYMS, OBJECTIVES
from engine.choosing.plain_data import fields_dict
from engine.cluster import Layout, is_finite, is_number
from engine.cost import Cost
from engine.errors import BadInput, UnknownName
from engine.notices import Notice
from engine.text.reachable import ENOUGH
from engine.units import format_count, format_usd


@dataclass(frozen=True, slots=True)
class Goal:
    """The constraints that a cluster must satisfy, and the objective to minimise.

    Args:
        deadline_seconds: P(T <= deadline) must reach `confidence`; None for no deadline.
        budget_usd: the expected cost may not exceed it; None for no budget.
        confidence: probability in (0, 1); also that of the intervals shown.
        max_nodes: largest number of workers.
        objective: "cost", "time" or "resource-time" (of rented nodes: vcore-seconds); None for the
            time with a budget alone and the cost otherwise. With `max_executors` also one of
            `OBJECTIVE_SYNONYMS`.
        max_executors: largest number of executors of a cluster without types, in place of
            `max_nodes`; None for nodes of a catalog.
    """

    deadline_seconds: float | None = None
    budget_usd: float | None = None
    confidence: float = 0.9
    max_nodes: int = 64
    objective: str | None = None
    max_executors: int | None = None

    def __post_init__(self) -> None:
        for name, reader in (("deadline_seconds", "parse_seconds"), ("budget_usd", "parse_usd")):
            value = getattr(self, name)
            if value is not None and not is_number(value):
                raise BadInput(
                    f"{name} must be a number, not {value!r}",
                    where="goal",
                    remedy=f"engine.{reader} makes one of a text",
                )
            if value is not None and not (is_finite(value) and value > 0):
                raise BadInput(f"{name} must be more than zero, not {value!r}", where="goal")
        if not (is_number(self.confidence) and 0.0 < self.confidence < 1.0):
            raise BadInput(
                f"confidence must lie between 0 and 1, not {self.confidence!r}", where="goal"
            )
        if not is_finite(self.max_nodes) or self.max_nodes != int(self.max_nodes):
            raise BadInput(
                f"max_nodes must be a whole number, not {self.max_nodes!r}", where="goal"
            )
        if self.max_nodes < 1:
            raise BadInput(f"max_nodes must be at least 1, not {self.max_nodes}", where="goal")
        object.__setattr__(self, "max_nodes", int(self.max_nodes))  # 10.0 of JSON, 10 of NumPy
        known = OBJECTIVES if self.max_executors is None else (*OBJECTIVES, *OBJECTIVE_SYNONYMS)
        if self.objective not in (None, *known):
            raise UnknownName("objective", str(self.objective), known)

    @property
    def most_usd(self) -> float:
        """The largest cost within the budget: a rounding error above it still is. inf without."""
        return math.inf if self.budget_usd is None else self.budget_usd * (1.0 + 1e-9)

    @property
    def minimises(self) -> str:
        """The objective: one of `OBJECTIVES`."""
        budget_alone = self.budget_usd is not None and self.deadline_seconds is None
        asked = self.objective or ("time" if budget_alone else "cost")
        return OBJECTIVE_SYNONYMS.get(asked, asked)

    @property
    def by_time(self) -> bool:
        """Whether the time is minimised."""
        return self.minimises == "time"

    @property
    def by_resource(self) -> bool:
        """Whether vcore-seconds are minimised."""
        return self.minimises == "resource-time"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the objective where it was asked for by name, and `max_nodes` as
        null where executors are counted."""
        own = [name for name in ("objective", "max_executors") if getattr(self, name) is not None]
        shown = fields_dict(self, "deadline_seconds", "budget_usd", "confidence", "max_nodes", *own)
        return shown if self.max_executors is None else {**shown, "max_nodes": None}


@dataclass(frozen=True)
class Choice:
    """One composition with its prediction and cost.

    `low` and `high` are the central interval at the goal's confidence, `cost_low_usd` and
    `cost_high_usd` the costs at these times, `p_deadline` is P(T <= deadline); all None where the
    model gives no interval (or there is no deadline). Costs are None for clusters one owns.
    `executors` and `vcore_seconds` (executors x cores x seconds) count all nodes. `resource_time`
    adds the memory's share to these (SimCost Eq. 1), None where that is not known or not asked.
    `spot` is how many nodes of each type are rented at spot prices; empty for none.
    `executors_per_node` is how many executors sit on a node of each type; empty without types.
    """

    composition: Mapping[str, int]
    instance: str | None
    nodes: int | None
    seconds: float
    low: float | None
    high: float | None
    p_deadline: float | None
    cost_usd: float | None = None
    cost_low_usd: float | None = None
    cost_high_usd: float | None = None
    cost: Cost | None = field(default=None, repr=False)
    layout: Layout | None = field(default=None, repr=False)
    executors: int | None = None
    vcore_seconds: float | None = None
    resource_time: float | None = None
    throughput_bytes_per_second: float | None = None
    note: str = ""
    why: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = field(default=(), repr=False)
    spot: Mapping[str, int] = field(default_factory=dict)
    executors_per_node: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the object of `recommend --json`, with the parts of the cost."""
        return fields_dict(
            self, "composition", "seconds", "low", "high", "cost_usd", "cost_low_usd",
            "cost_high_usd", "p_deadline", "warnings", "note", "why", "cost", "executors", "layout",
            "vcore_seconds", "resource_time", "throughput_bytes_per_second", "spot",
        )  # fmt: skip


@dataclass(frozen=True)
class Rejected:
    """A rejected instance type, at its nearest miss.

    `code` is one of "deadline", "budget", "deadline-and-budget", "no-executor", "no-spot-price",
    "no-dbus", "no-prediction", "limits", "barrier", "stage-needs-cores", "not-supported". What does
    not apply is None; `composition` is None where no number of nodes would help. `late_seconds` is
    how much longer a deadline the type would meet at the goal's confidence; sorted by it.
    `p_deadline` is P(T <= deadline) of the composition, None without an interval.
    """

    instance: str
    composition: Mapping[str, int] | None
    reason: str
    code: str
    seconds: float | None = None
    cost_usd: float | None = None
    late_seconds: float | None = None
    over_usd: float | None = None
    p_deadline: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return fields_dict(self, *(entry.name for entry in fields(self)))


@dataclass(frozen=True)
class Change:
    """The recommendation for a changed goal, compared with the present one.

    `deadline_seconds` and `budget_usd` are those of the changed goal; `promised` is the shortest
    deadline that the composition meets at the goal's confidence; savings are against the answer
    to the goal asked, negative where the change costs more. `spot` are the nodes that are rented at
    spot prices.
    """

    deadline_seconds: float | None
    budget_usd: float | None
    composition: Mapping[str, int]
    seconds: float
    promised: float
    cost_usd: float
    saved_usd: float
    saved_seconds: float
    saved_vcore_seconds: float
    spot: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "deadline_seconds": self.deadline_seconds,
            "budget_usd": self.budget_usd,
            "composition": dict(self.composition),
            "spot": dict(self.spot),
            "seconds": self.seconds,
            "promised_seconds": self.promised,
            "cost_usd": self.cost_usd,
            "saved_usd": self.saved_usd,
            "saved_seconds": self.saved_seconds,
            "saved_vcore_seconds": self.saved_vcore_seconds,
        }


CLEARLY_LIKELIER = 0.05
"""From so much more chance to keep the deadline on, another cluster is named beside the nearest
miss: one run in twenty. Less is not worth what it may cost more."""

HARDLY_SLOWER = 0.01
"""Relative difference in time that is negligible: surfaces are accurate to it, and no interval is
as narrow."""


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of a recommendation to its goal and to the input size.

    Args:
        one_more_hour: the cheapest with an hour more than the deadline; where the time is
            minimised or there is no deadline, than the answer's promised time. None where that
            saves nothing.
        one_more_dollar: the fastest with a dollar more; None where that saves no time.
        hardly_slower: where the time is minimised, the cheapest that is predicted to take at most
            `HARDLY_SLOWER` longer; None where that saves nothing, or would miss the deadline.
        least_deadline_seconds, least_budget_usd: below these the recommendation changes; None
            without such a limit.
        below, below_budget: the answer below the least deadline (without a deadline, below the
            least budget), and below the least budget; None where nothing satisfies the goal.
        looser: the next deadlines (with a budget alone: budgets) at which a better composition
            becomes feasible, at least the first of them.
        holds_until: the largest input, in multiples of the present one, with which the recommended
            composition still satisfies the goal; None where none can be given, with the reason in
            `holds_note`. `holds_warnings` are the model's warnings there that it does not give now.
        optimal: whether every search here compared all compositions, exactly enough to tell the
            best; if not, better ones than those named may exist.
    """

    one_more_hour: Change | None
    one_more_dollar: Change | None
    least_deadline_seconds: float | None
    least_budget_usd: float | None
    below: Change | None
    below_budget: Change | None
    looser: tuple[Change, ...] | None
    holds_until: float | None
    holds_note: str
    holds_warnings: tuple[Notice, ...] = ()
    optimal: bool = True
    hardly_slower: Change | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return fields_dict(self, *(entry.name for entry in fields(self)))


@dataclass(frozen=True)
class Compromise:
    """A goal that can be had where a deadline and a budget cannot be kept together.

    Args:
        deadline_seconds, budget_usd: as they were asked, or in their place the least that `choice`
            keeps.
        choice: keeps both; its `p_deadline` is of this deadline.
    """

    deadline_seconds: float
    budget_usd: float
    choice: Choice

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return fields_dict(self, "deadline_seconds", "budget_usd", "choice")


@dataclass(frozen=True)
class Recommendation:
    """The answer to a goal.

    Args:
        recommended: the best choice, None when nothing satisfies the goal.
        alternatives: the best choice of every other type that satisfies the goal, best first.
        frontier: choices that no other beats in both time and cost, fastest first; over all
            candidates, whatever the goal.
        rejected: one per type that does not satisfy the goal.
        nearest: the choice that comes closest when nothing satisfies the goal. Where OptEx's own
            method alone finds nothing, its composition in whole nodes, or where it has none the
            best of the exact search: that is the first of `alternatives`, and misses nothing.
        miss_of_nearest: why that does not count, where it is no single type's nearest miss.
        likeliest: of the compositions of one type within the budget, that of the greatest
            P(T <= deadline), where nothing satisfies the goal; under a greatest share of spot
            nodes all of its nodes are on demand. None where no chance exceeds one less the
            confidence (`likeliest_point`), and of executors on an owned cluster.
        compromises: where a deadline and a budget cannot both be kept, among the compositions
            searched: the least cost within the deadline (where nothing meets it, within the least
            that can be met, rounded by `reachable_seconds`), and the least deadline within the
            budget (where nothing keeps it, within the least, rounded by `reachable_usd`).
        optimal: every composition was compared: nothing better exists on the surface, which is
            exact to `models.base.SURFACE_TOLERANCE` where the model interpolates. On a coarser one
            (of a workflow) only where every point was evaluated exactly (`Surface.is_precise`), of
            mixes all that they depend on (`mixing.beyond_surface.is_precise_for_mixes`).
        evaluated: how many compositions were compared.
        hidden: reason -> number of types that were no candidates.
        sensitivity: what the answer depends on, where requested and there is an answer.
        dynamic_allocation: the requested bounds, (fewest, most) executors.
        method: how `recommended` was looked for: one of `METHODS`.
    """

    goal: Goal
    model: str
    recommended: Choice | None
    alternatives: Sequence[Choice] = field(repr=False)
    frontier: Sequence[Choice] = field(repr=False)
    rejected: Sequence[Rejected] = field(repr=False)
    nearest: Choice | None
    optimal: bool
    evaluated: int
    hidden: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[Notice, ...] = field(default=(), repr=False)
    sensitivity: Sensitivity | None = None
    dynamic_allocation: tuple[int, int] | None = None
    compromises: tuple[Compromise, ...] = ()
    miss_of_nearest: Rejected | None = None
    likeliest: Choice | None = None
    method: str = "exact"

    @property
    def hardly_slower(self) -> Choice | None:
        """Where the least time is asked, without a deadline: the cheapest of the frontier that is
        predicted to take at most `HARDLY_SLOWER` longer; None where that saves nothing. It costs no
        search, unlike `Sensitivity.hardly_slower`, which answers under a deadline too."""
        best = self.recommended
        if best is None or not self.goal.by_time or self.goal.deadline_seconds is not None:
            return None
        latest = best.seconds * (1.0 + HARDLY_SLOWER)
        near = list(takewhile(lambda choice: choice.seconds <= latest, self.frontier))
        least = (best.cost_usd or 0.0) * (1.0 - HARDLY_SLOWER)
        return near[-1] if near and (near[-1].cost_usd or 0.0) < least else None

    @property
    def likeliest_beside_nearest(self) -> Choice | None:
        """The likeliest to keep the deadline; None where the nearest is nearly as likely to, and
        keeps the budget too, as the likeliest does."""
        nearest, likeliest = self.nearest, self.likeliest
        if nearest is None or likeliest is None:
            return None
        if (nearest.cost_usd or 0.0) > self.goal.most_usd:
            return likeliest
        more = (likeliest.p_deadline or 0.0) - (nearest.p_deadline or 0.0)
        return likeliest if more >= CLEARLY_LIKELIER else None

    @property
    def nearest_miss(self) -> Rejected | None:
        """Why the nearest does not count; None where that is not said, or there is none."""
        if self.miss_of_nearest is not None:
            return self.miss_of_nearest
        if self.alternatives:
            return None
        first = next(iter(self.rejected), None)
        if self.nearest is None or first is None or first.composition is None:
            return None
        nearest, budget_usd = self.nearest, self.goal.budget_usd
        if budget_usd is None or nearest.cost_usd is None or self.goal.deadline_seconds is not None:
            return first if dict(first.composition) == dict(nearest.composition) else None
        over_usd, nodes = nearest.cost_usd - budget_usd, format_count(nearest.nodes or 0, "node")
        return Rejected(
            " + ".join(nearest.composition), nearest.composition, code="budget",
            reason=f"over budget by {format_usd(over_usd)} with {nodes}",
            seconds=nearest.seconds, cost_usd=nearest.cost_usd, over_usd=over_usd,
        )  # fmt: skip

    @property
    def enough_seconds(self) -> float | None:
        """The deadline from which on the nearest satisfies the goal; None where there is none, or
        it is over the budget too."""
        miss = self.nearest_miss
        if miss is None or miss.late_seconds is None or miss.over_usd is not None:
            return None
        asked = self.goal.deadline_seconds
        return None if asked is None else (asked + miss.late_seconds) * ENOUGH

    @property
    def enough_usd(self) -> float | None:
        """The budget from which on the nearest satisfies the goal; None where it is not the budget
        that it misses, or not that alone."""
        miss = self.nearest_miss
        if miss is None or miss.over_usd is None or miss.late_seconds is not None:
            return None
        return miss.cost_usd

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the object of `recommend --json`."""
        return fields_dict(
            self, "goal", "recommended", "alternatives", "frontier", "rejected", "nearest",
            "nearest_miss", "likeliest", "compromises", "optimal", "evaluated", "model", "hidden",
            "warnings", "sensitivity",
        )  # fmt: skip
