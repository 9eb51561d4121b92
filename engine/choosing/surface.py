"""Predicted times of every candidate type at every node count, computed once and filtered often.

Deadlines, budgets, confidences, filters and billing rules do not change the predicted times. So the
model is evaluated once (`Surface.build`, in a worker thread), and each step of a slider costs a few
passes over arrays of k types x m node counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Billing
from engine.choosing.candidates import Candidates
from engine.choosing.exact_points import with_exact_points
from engine.choosing.interruptions import LostWork, interruption_rate, with_interruption_delays
from engine.choosing.limits import NO_LIMITS, Constraints, Limits
from engine.choosing.rented_nodes import RentedNodes
from engine.choosing.sweeps import (
    BLOCK,
    CHUNK,
    StudentGrid,
    SweepCache,
    frontier_candidates,
    pareto_front,
    require_feasible_size,
    row_blocks,
    running_minima,
)
from engine.cluster import Cluster, Workload, require_workload
from engine.cost import billed_seconds, rate_ratio_terms
from engine.errors import BadInput, UnknownName
from engine.forecast import BoolArray, FloatArray, Forecast, IntArray
from engine.models.base import FittedModel
from engine.notices import Notice
from engine.text.reachable import ENOUGH
from engine.units import SECONDS_PER_HOUR

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Surface:
    """Forecasts of k types x m node counts (1 ... m), types outermost.

    Args:
        forecast: (k * m,) times and their spread; NaN where the model predicts nothing.
        exact: flat indices of points that were evaluated one by one (see `refined`).
        limits: what may be rented; elsewhere `seconds` is inf.
        spot: whether all nodes that are not owned are spot nodes, which may be interrupted.
    """

    fitted: FittedModel
    workload: Workload
    candidates: Candidates = field(repr=False)
    max_nodes: int
    forecast: Forecast = field(repr=False)
    exact: frozenset[int] = frozenset()
    limits: Limits = NO_LIMITS
    spot: bool = False

    @classmethod
    def build(
        cls,
        fitted: FittedModel,
        candidates: Candidates,
        *,
        workload: Workload | None = None,
        max_nodes: int = 64,
        limits: Limits = NO_LIMITS,
    ) -> Surface:
        """Evaluates the model on all types and node counts at once.

        Raises:
            BadInput: for more compositions than memory holds, and whatever the model raises.
        """
        require_feasible_size(len(candidates.offers), max_nodes)
        workload = workload or fitted.profile.reference_workload
        require_workload(workload)
        forecast = fitted.forecast(candidates.grid(range(1, max_nodes + 1)), workload)
        surface = cls(fitted, workload, candidates, max_nodes, forecast, limits=limits)
        _ = surface._frontier_candidates, surface.student_quantiles  # so that no slider waits
        return surface

    @property
    def shape(self) -> tuple[int, int]:
        """(k, m)."""
        return len(self.candidates.offers), self.max_nodes

    @cached_property
    def nodes(self) -> IntArray:
        """(m,) node counts."""
        return np.arange(1, self.max_nodes + 1)

    def for_purchase_option(self, billing: Billing) -> tuple[Surface, Billing]:
        """The surface and billing for clusters of one type and one purchase option: all nodes spot
        or all on demand. Under a maximum share of spot they are on demand; `engine.mixing.mix_step`
        finds the best share."""
        if billing.spot and self.limits.max_spot is not None:
            billing = replace(billing, spot=False)
        if billing.spot == self.spot:
            return self, billing
        return (self._on_spot if billing.spot else replace(self, spot=False)), billing

    @cached_property
    def _on_spot(self) -> Surface:
        return replace(self, spot=True)

    @cached_property
    def interrupted_forecast(self) -> Forecast:
        """(k * m,) forecasts with the expected delay by interruptions of spot nodes."""
        if not self.spot or not self.interruption_rates.any():
            return self.forecast
        rows, nodes = np.arange(self.shape[0])[:, None], self.nodes
        rate = self.interruption_rates[:, None] * (self.rented.on_spot(rows, nodes) / nodes)
        return with_interruption_delays(
            self.forecast, self.lost_work, rate=rate.ravel(), square=(rate / nodes).ravel()
        )

    @cached_property
    def interruption_rates(self) -> FloatArray:
        """(k,) expected interruptions of a spot node per hour."""
        return np.asarray([interruption_rate(offer) for offer in self.candidates.offers])

    @cached_property
    def lost_work(self) -> LostWork:
        """The work that an interruption loses."""
        return LostWork.of(self.fitted.profile.largest_run)

    @cached_property
    def predicted(self) -> FloatArray:
        """(k, m) predicted times; inf where the model predicts nothing."""
        return self._positive_or_inf(self.interrupted_forecast)

    @cached_property
    def uninterrupted(self) -> FloatArray:
        """(k, m) predicted times without interruptions; inf as `predicted`."""
        return self._positive_or_inf(self.forecast)

    def _positive_or_inf(self, forecast: Forecast) -> FloatArray:
        known = np.isfinite(forecast.seconds) & (forecast.seconds > 0)
        return np.where(known, forecast.seconds, np.inf).reshape(self.shape)

    @cached_property
    def seconds(self) -> FloatArray:
        """(k, m) predicted times where the limits allow the cluster; inf elsewhere."""
        if self._all_limits == NO_LIMITS:
            return self.predicted
        return np.where(self.allowed, self.predicted, np.inf)

    @cached_property
    def allowed(self) -> BoolArray:
        """(k, m) whether the limits allow that many nodes of a type alone."""
        most, fewest = self.constraints.most(self.max_nodes), self.constraints.fewest()
        return (self.nodes >= fewest[:, None]) & (self.nodes <= most[:, None])

    @cached_property
    def constraints(self) -> Constraints:
        """The limits over the candidates."""
        return self._all_limits.constraints(self.candidates.instances, self.candidates.layouts)

    @cached_property
    def _all_limits(self) -> Limits:
        """The limits, with those of the candidates themselves."""
        return self.candidates.binding_limits(self.limits)

    @cached_property
    def rented(self) -> RentedNodes:
        """What is paid for of each cluster, and its rates."""
        return RentedNodes(self.candidates, self.limits)

    @cached_property
    def has_interval(self) -> BoolArray:
        """(k, m) whether the model gives an interval."""
        unknown = np.isnan(self.interrupted_forecast.log_scale) | np.isnan(
            self.interrupted_forecast.dof
        )
        return ~unknown.reshape(self.shape)

    @cached_property
    def _frontier_candidates(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The points that may be on a frontier (`sweeps.frontier_candidates`)."""
        return frontier_candidates(self.seconds)

    @cached_property
    def slots(self) -> FloatArray:
        """(k,) cores of a node that tasks hold at once (`Cluster.slots`)."""
        return self.candidates.grid([1]).slots

    @cached_property
    def vcores(self) -> FloatArray:
        """(k,) vcores of the executors on a node, including idle ones."""
        return self.candidates.grid([1]).vcores

    @cached_property
    def vcore_seconds(self) -> FloatArray:
        """(k, m) resource time of rented nodes (SimCost Eq. 1 without the memory's share)."""
        return self.vcores[:, None] * self.nodes * self.seconds

    @cached_property
    def log_seconds(self) -> FloatArray:
        """(k, m) logarithms of the predicted times."""
        return np.log(self.seconds)

    def log_least_deadlines(self, confidence: float) -> FloatArray:
        """(k, m) logarithm of the shortest deadline that each point meets at a confidence.

        One-sided: P(T <= exp(least)) = confidence. Without an interval it is the next number above
        log T: T < deadline, strictly (OptEx V). In logarithms a change of confidence costs no exp.
        """
        computed = self._cache.least_deadlines
        return computed.get(confidence, lambda: self._log_least_deadlines(confidence))

    def promised_seconds(self, flat: int, confidence: float) -> float:
        """The promised time at a point, by its flat index (`reachable.promised_seconds`)."""
        return ENOUGH * float(np.exp(self.log_least_deadlines(confidence).flat[flat]))

    def _log_least_deadlines(self, confidence: float) -> FloatArray:
        scale = self.interrupted_forecast.scale_at(confidence).reshape(self.shape)
        student, log_deadlines = self.student_quantiles.quantile(confidence), np.empty(self.shape)
        for rows in row_blocks(*self.shape):
            np.multiply(scale[rows], student(rows), out=log_deadlines[rows])
            log_deadlines[rows] += self.log_seconds[rows]
        if self.has_interval.all():
            return log_deadlines
        return np.where(self.has_interval, log_deadlines, np.nextafter(self.log_seconds, np.inf))

    @cached_property
    def student_quantiles(self) -> StudentGrid:
        """Student quantiles at (k, m) degrees of freedom, tabulated."""
        return StudentGrid.of(self.forecast.dof.reshape(self.shape))

    def costs(self, billing: Billing) -> FloatArray:
        """(k, m) cost of each point in USD; inf without a prediction or without a spot price.

        Raises:
            UnknownName: when the catalog does not hold the master's type.
        """
        return self._cache.costs.get(billing, lambda: self._costs(billing))

    def _costs(self, billing: Billing) -> FloatArray:
        costs, every = np.empty(self.shape), np.arange(self.shape[0])[:, None]
        for rows in row_blocks(*self.shape):
            hourly = self.rented.hourly_usd(billing, every[rows], self.nodes)
            hours = billed_seconds(self.seconds[rows], billing) / SECONDS_PER_HOUR
            with np.errstate(invalid="ignore"):
                np.multiply(hourly, hours, out=costs[rows])
        if self.limits.owned:
            np.copyto(costs, np.inf, where=np.isinf(self.seconds))
        return costs

    def frontier(self, billing: Billing, candidates: Candidates, max_nodes: int) -> IntArray:
        """Flat indices of the Pareto front of time and cost, fastest first.

        Only types of `candidates` and up to `max_nodes` take part. Of points with equal time and
        cost one is kept (fewest nodes, then name).
        """
        order = self._skyline(rate_ratio_terms(billing, candidates.offers), candidates, max_nodes)
        rows, columns = np.divmod(order, self.max_nodes)
        seconds = self.seconds.ravel()[order]
        hours = billed_seconds(seconds, billing) / SECONDS_PER_HOUR
        costs = hours * self.rented.hourly_usd(billing, rows, columns + 1)
        return np.asarray(order[pareto_front(seconds, costs)])

    def _skyline(self, billing: Billing, candidates: Candidates, max_nodes: int) -> IntArray:
        """The Pareto front of time and hourly rate, a superset of every time/cost frontier: one for
        all billings with the same `rate_ratio_terms`."""
        key = billing, candidates, max_nodes
        return self._cache.skylines.get(key, lambda: self._find_skyline(*key))

    def _find_skyline(self, billing: Billing, candidates: Candidates, max_nodes: int) -> IntArray:
        flat, rows, nodes = self._frontier_candidates
        excluded = np.ones(self.shape[0], dtype=bool)
        excluded[[self.rows[name] for name in candidates.names]] = False
        any_excluded = bool(excluded.any())
        hourly = np.full(-(-rows.size // CHUNK) * CHUNK, np.inf)
        for start in range(0, rows.size, BLOCK):
            block = slice(start, min(start + BLOCK, rows.size))
            part = hourly[block]
            part[:] = self.rented.workers_hourly_usd(billing, rows[block], nodes[block])
            if any_excluded:
                np.copyto(part, np.inf, where=excluded[rows[block]])
            if max_nodes < self.max_nodes:
                np.copyto(part, np.inf, where=nodes[block] > max_nodes)
        return np.asarray(flat[running_minima(hourly)])

    def index(self, instance: str, nodes: int) -> int:
        """The flat index of a composition.

        Raises:
            UnknownName: for a type that is no candidate.
            BadInput: for a node count outside the surface.
        """
        if instance not in self.rows:
            raise UnknownName("candidate", instance, self.rows)
        if not 1 <= nodes <= self.max_nodes:
            raise BadInput(f"{nodes} nodes lie outside 1 to {self.max_nodes}")
        return self.rows[instance] * self.max_nodes + nodes - 1

    @cached_property
    def rows(self) -> dict[str, int]:
        """Type name -> its row."""
        return {name: row for row, name in enumerate(self.candidates.names)}

    def at(self, flat: int | Sequence[int] | IntArray) -> Forecast:
        """The forecasts of some points."""
        return self.interrupted_forecast.take(np.atleast_1d(np.asarray(flat)))

    def p_within(self, flat: int | Sequence[int] | IntArray, deadline_seconds: float) -> FloatArray:
        """P(T <= deadline) at some points: 0 where the job never ends (`not_started`), NaN without
        an interval."""
        points = np.atleast_1d(np.asarray(flat))
        p = self.at(points).p_within(deadline_seconds)
        return np.where(self.not_started.ravel()[points], 0.0, p)

    @cached_property
    def not_started(self) -> BoolArray:
        """(k, m) whether Spark does not start some stage there (`Candidates.not_started`)."""
        return self.candidates.not_started(self.limits, self.nodes)

    def cluster(self, flat: int) -> Cluster:
        """One point as a cluster, to predict or export it."""
        row, column = divmod(flat, self.max_nodes)
        return Cluster.of_nodes(
            instance_type=self.candidates.names[row], nodes=column + 1,
            catalog=self.candidates.catalog, layout=self.candidates.layouts[row],
        )  # fmt: skip

    def notices(self, flat: int) -> tuple[Notice, ...]:
        """The model's warnings at the point of a flat index."""
        return self._cache.notices.get(flat, lambda: self._notices(flat))

    def _notices(self, flat: int) -> tuple[Notice, ...]:
        batch = ClusterBatch.of([self.cluster(flat)], self.fitted.profile)
        return self.fitted.all_notices(batch, self.workload)

    @cached_property
    def is_precise(self) -> bool:
        """Whether the times tell which point is best: those of a model that is precise on grids, or
        where every point that may be rented was evaluated one by one."""
        few = self.seconds.size <= self.fitted.exact_at_once(self.workload)
        if few or self.fitted.is_precise_on_grids:
            return True
        if not self.exact:
            return False
        interpolated = np.isfinite(self.seconds.ravel())
        interpolated[list(self.exact)] = False
        return not interpolated.any()

    def cached(self, compute: Callable[[Surface], Answer]) -> Answer:
        """`compute(self)`, computed once: for values that other modules derive from a surface."""
        if compute not in self._derived:
            self._derived[compute] = compute(self)
        result: Answer = self._derived[compute]
        return result

    @cached_property
    def _cache(self) -> SweepCache:
        return SweepCache()

    @cached_property
    def _derived(self) -> dict[Callable[[Surface], Any], Any]:
        return {}

    def refined(self, points: Sequence[int]) -> Surface:
        """The surface with these points evaluated exactly, not as part of a large grid.

        A model that interpolates over a grid answers a few points exactly. Its error there also
        corrects the other points of the type (`with_exact_points`). Returns `self` if all of the
        points are exact already.
        """
        new = [point for point in dict.fromkeys(points) if point not in self.exact]
        if not new:
            return self
        corrected, exact = self.forecast, self.exact
        at_once = self.fitted.exact_at_once(self.workload)
        for start in range(0, len(new), at_once):
            points = new[start : start + at_once]
            batch = ClusterBatch.of([self.cluster(point) for point in points], self.fitted.profile)
            forecast = self.fitted.forecast(batch, self.workload)
            corrected = with_exact_points(
                corrected, points, forecast, exact_before=exact, row_length=self.max_nodes
            )
            exact |= frozenset(points)
        return replace(self, forecast=corrected, exact=exact)
