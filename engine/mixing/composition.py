"""The time and cost of a named composition: 3 of this type and 2 of that.

Several types follow the law of `engine.mixing.mix_law`. The model is evaluated only at the points
that the composition needs, one by one, so it interpolates nothing. For one type the answer is the
model's own prediction, with its phases and stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from engine.catalog import Billing, Catalog
from engine.choosing.candidate_selection import select_candidates, types_without_executor
from engine.choosing.candidates import Candidates
from engine.choosing.choices import ChoiceBuilder
from engine.choosing.interruptions import with_interruptions
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Choice, Goal
from engine.choosing.surface import Surface
from engine.choosing.sweeps import MAX_POINTS
from engine.cluster import MOST_NODES, Workload, is_finite
from engine.cost import price_of
from engine.errors import BadInput
from engine.forecast import Forecast, IntArray, none_if_nan
from engine.machines.services import spot_nodes
from engine.memory import no_executor_remedy
from engine.mixing.common_executor_shape import with_common_shape
from engine.mixing.market import Market, MixResult
from engine.mixing.mix_law import MixLaw, beyond_of
from engine.mixing.node_counts import WHOLE_TOLERANCE, NodeCounts
from engine.mixing.notices import notices_at
from engine.mixing.purchase_options import PurchaseOptions, supporting_points
from engine.mixing.shown_mix import Mix
from engine.models.base import FittedModel, Prediction, no_interval_notice
from engine.notices import Notice, in_order


@dataclass(frozen=True, eq=False)
class Composed:
    """The prediction for a composition, and the choice with its cost in all parts.

    With several types `prediction.phases` is None and `.stages` empty: which node does which part
    of a stage is unknown.
    """

    choice: Choice
    prediction: Prediction


def predict_composition(
    fitted: FittedModel,
    *,
    composition: Mapping[str, int],
    catalog: Catalog,
    workload: Workload | None = None,
    deadline_seconds: float | None = None,
    confidence: float = 0.9,
    spot: bool = False,
    max_spot: float | None = None,
    billing: Billing | None = None,
    today: date | None = None,
) -> Composed:
    """The time, its interval and the cost of a cluster of one or several types.

    Args:
        composition: type -> nodes, at least one each.
        workload: None for that of the profile's largest run.
        deadline_seconds: for the probability of meeting it; None for no deadline.
        spot: rent nodes at spot prices.
        max_spot: the largest share of spot nodes, those that save most first; the others are rented
            on demand. None for no limit.
        billing: None for the catalog's own rules.
        today: the date by which prices are judged old; None for the current one.

    Raises:
        UnknownName: for a type that is not in the catalog.
        BadInput: for an invalid number of nodes, a type that holds no executor or has no spot
            price, types that no executor shape fits, and whatever the model raises.
    """
    placed, billing = _rented(fitted, composition, catalog, billing, spot=spot, max_spot=max_spot)
    goal = Goal(deadline_seconds, None, confidence, sum(placed.counts))
    today = today or date.today()
    surface = placed.surface(workload or fitted.profile.reference_workload)
    if placed.is_alike:
        return _composed_of_one_type(surface, placed.counts[0], goal, billing, today)
    return _composed_of_several(surface, placed, goal, billing, today)


def composition_cost(
    fitted: FittedModel,
    *,
    composition: Mapping[str, int],
    catalog: Catalog,
    workload: Workload | None = None,
    deadline_seconds: float | None = None,
    confidence: float = 0.9,
    spot: bool = False,
    max_spot: float | None = None,
) -> Choice:
    """The time, its interval and the cost of a cluster as `predict_composition` has them, without
    the model's warnings: a curve has hundreds of points, and is warned of at its ends. So where the
    job never ends (`starts`), that is not said, nor is P(T <= deadline) 0.

    Args and errors: as of `predict_composition`, with the catalog's own rules.
    """
    placed, billing = _rented(fitted, composition, catalog, None, spot=spot, max_spot=max_spot)
    goal = Goal(deadline_seconds, None, confidence, sum(placed.counts))
    surface = placed.surface(workload or fitted.profile.reference_workload)
    if placed.is_alike:
        surface, billing = surface.for_purchase_option(billing)
        return ChoiceBuilder(surface, goal, billing).choice(placed.counts[0] - 1)
    mix = Mix(surface, placed.options(billing), goal, placed.as_mix, None)
    _require_time(mix.forecast())
    return mix.without_warnings()


def _rented(
    fitted: FittedModel,
    composition: Mapping[str, int],
    catalog: Catalog,
    billing: Billing | None,
    *,
    spot: bool,
    max_spot: float | None,
) -> tuple[PlacedComposition, Billing]:
    """The composition with its spot nodes, and the billing: that of all its nodes where these are
    rented alike."""
    billing = catalog.billing if billing is None else billing
    billing = replace(billing, spot=True) if spot else billing
    Limits(max_spot=max_spot)
    placed = PlacedComposition.of(fitted, composition, catalog)
    if not billing.spot:
        return placed, billing
    _check_spot_prices(placed, billing, catalog, max_spot=max_spot)
    placed = placed.on_spot(1.0 if max_spot is None else max_spot)
    if placed.is_alike:
        most = spot_nodes(catalog, sum(placed.counts))
        billing = replace(billing, spot=any(placed.spot) or not most)
    return placed, billing


def _check_spot_prices(
    placed: PlacedComposition, billing: Billing, catalog: Catalog, *, max_spot: float | None
) -> None:
    """Refuses types without a spot price. With `max_spot` some types may lack one, since their
    nodes stay on demand, but not all of them."""
    offers = placed.candidates.offers
    unpriced = [each.instance.name for each in offers if price_of(each, billing) is None]
    if unpriced and (max_spot is None or len(unpriced) == len(placed.counts)):
        raise BadInput(
            f"{unpriced[0]} has no spot price in catalog {catalog.name}",
            remedy="leave spot out, or name another type",
        )


@dataclass(frozen=True, eq=False)
class PlacedComposition:
    """A composition as rows of candidates with their counts.

    Args:
        spot: spot nodes of each type; empty for none.
        shape_notices: notices about the common shape of executors.
        nodes: node counts at which the model is evaluated; None for all.
    """

    fitted: FittedModel
    candidates: Candidates
    counts: tuple[int, ...]
    spot: tuple[int, ...] = ()
    shape_notices: tuple[Notice, ...] = ()
    nodes: IntArray | None = None

    @classmethod
    def on(
        cls, surface: Surface, composition: Mapping[str, int], *, spot: Mapping[str, int]
    ) -> PlacedComposition:
        """A composition of a surface's own candidates, as the search over it sees them."""
        rows = [surface.rows[name] for name in sorted(composition)]
        all_candidates = surface.candidates
        candidates = replace(
            all_candidates,
            offers=tuple(all_candidates.offers[row] for row in rows),
            layouts=tuple(all_candidates.layouts[row] for row in rows),
        )
        counts = tuple(composition[name] for name in candidates.names)
        rented = tuple(spot.get(name, 0) for name in candidates.names)
        # One type alone has as many nodes as it counts for: the surface holds them.
        beyond = beyond_of(surface) if len(rows) > 1 else None
        nodes = surface.nodes if beyond is None else np.append(surface.nodes, beyond.nodes)
        return cls(surface.fitted, candidates, counts, rented, nodes=nodes)

    @classmethod
    def of(
        cls, fitted: FittedModel, composition: Mapping[str, int], catalog: Catalog
    ) -> PlacedComposition:
        """The composition, checked against the catalog."""
        for name, nodes in composition.items():
            catalog.offer(name)
            if not (is_finite(nodes) and nodes == int(nodes) and 1 <= nodes <= MOST_NODES):
                raise BadInput(
                    f"{name}={nodes}: the nodes of a type are a number from 1 to {MOST_NODES:,}",
                    where="composition",
                )
        if not composition:
            raise BadInput("the composition is empty", remedy="name a type and its nodes")
        for rejected in types_without_executor(catalog, tuple(composition), fitted.profile):
            raise BadInput(
                f"{rejected.instance} {rejected.reason}",
                where=f"catalog {catalog.name}",
                remedy=no_executor_remedy(catalog.offer(rejected.instance).instance),
            )
        candidates = select_candidates(
            catalog, profile=fitted.profile, barrier_stages=fitted.barrier_stages,
            instances=tuple(composition),
        )  # fmt: skip
        candidates, shape_notices = with_common_shape(candidates, fitted.profile)
        counts = tuple(int(composition[name]) for name in candidates.names)
        return cls(fitted, candidates, counts, shape_notices=tuple(shape_notices))

    def surface(self, workload: Workload) -> Surface:
        """A surface of which only the points that the composition needs are evaluated."""
        capacity = MixLaw.of(self._empty_surface(workload, 1)).capacity
        equivalent_nodes = (np.asarray(self.counts) * capacity).sum() / capacity
        columns = int(np.ceil(equivalent_nodes.max() * (1.0 - WHOLE_TOLERANCE)))
        if self.nodes is not None:
            columns = max(NodeCounts(self.nodes).neighbours(columns))
        empty = self._empty_surface(workload, columns)
        return empty.refined(self._supporting_points(empty))

    def _supporting_points(self, surface: Surface) -> list[int]:
        return supporting_points(self.as_mix, self.law(surface), self.options(Billing()), surface)

    def on_spot(self, share: float) -> PlacedComposition:
        """The composition with at most this share of spot nodes, and no more than its service
        allows, those that save most first; none where spot saves nothing."""
        offers, nodes = self.candidates.offers, sum(self.counts)
        remaining = min(int(share * nodes + 1e-9), spot_nodes(self.candidates.catalog, nodes))
        savings = [
            offer.on_demand.usd_per_hour - offer.spot.usd_per_hour if offer.spot else 0.0
            for offer in offers
        ]
        spot = [0] * len(offers)
        for row in sorted(range(len(offers)), key=lambda row: -savings[row]):
            if savings[row] > 0.0:
                spot[row] = min(remaining, self.counts[row])
                remaining -= spot[row]
        return replace(self, spot=tuple(spot))

    @property
    def is_alike(self) -> bool:
        """Whether it has one type, of whose nodes as many as its service allows are spot nodes, or
        none."""
        most = spot_nodes(self.candidates.catalog, sum(self.counts))
        return len(self.counts) == 1 and self.spot in ((), (0,), (most,))

    @property
    def as_mix(self) -> MixResult:
        """The composition as a search result: types on demand, then as spot nodes."""
        spot = self.spot or (0,) * len(self.counts)
        ordinary = [nodes - rented for nodes, rented in zip(self.counts, spot, strict=True)]
        rows = tuple(range(2 * len(self.counts)))
        return MixResult(rows, (*ordinary, *spot), np.nan, np.nan, optimal=False, evaluated=0)

    def options(self, billing: Billing) -> PurchaseOptions:
        """Its types, rented both ways."""
        k = len(self.counts)
        market = Market(np.zeros(2 * k), 0.0, billing, np.tile(np.asarray(self.counts), 2))
        return PurchaseOptions(
            billing, np.tile(np.arange(k), 2), np.repeat([False, True], k), market
        )

    def law(self, surface: Surface) -> MixLaw:
        """The law over its types, on demand and as spot nodes."""
        law = self.options(Billing()).law(surface)
        return law if self.nodes is None else law.at(self.nodes[self.nodes <= surface.max_nodes])

    def forecast(self, workload: Workload) -> Forecast:
        rows, counts = np.asarray([self.as_mix.rows]), np.asarray([self.as_mix.counts])
        return self.law(self.surface(workload)).forecast(rows, counts)

    def notices(self, workload: Workload) -> tuple[Notice, ...]:
        """The model's warnings for a workload, over all types (`notices_at`)."""
        surface = self.surface(workload)
        return in_order(notices_at(surface, self._supporting_points(surface)))

    def _empty_surface(self, workload: Workload, columns: int) -> Surface:
        k = len(self.counts)
        if k * columns > MAX_POINTS:
            raise BadInput(
                "the types are too unlike in size to be combined in such numbers",
                where="composition",
                remedy="name fewer nodes, or types that are closer",
            )
        forecast = Forecast.of(np.full(k * columns, np.nan))
        return Surface(self.fitted, workload, self.candidates, columns, forecast)


def _composed_of_one_type(
    surface: Surface, nodes: int, goal: Goal, billing: Billing, today: date
) -> Composed:
    """One type: the model's own prediction, with its cost."""
    point = nodes - 1
    surface, billing = surface.for_purchase_option(billing)
    answers = ChoiceBuilder(surface, goal, billing, today)
    cluster = surface.cluster(point)
    prediction = surface.fitted.predict(
        cluster=cluster, workload=surface.workload, confidence=goal.confidence
    )
    choice = answers.with_model_warnings(answers.choice(point))
    warnings = in_order([*prediction.warnings, *choice.warnings])
    phases = prediction.phases
    if phases is not None and choice.spot and surface.interruption_rates.any():
        phases = with_interruptions(phases, choice.seconds - prediction.seconds)
    if choice.spot:
        prediction = replace(
            prediction,
            seconds=choice.seconds,
            low=choice.low,
            high=choice.high,
            phases=phases,
            forecast=surface.at(point),
        )
    return Composed(choice, replace(prediction, warnings=warnings))


def _composed_of_several(
    surface: Surface, placed: PlacedComposition, goal: Goal, billing: Billing, today: date
) -> Composed:
    """Several types: by the law of unlike nodes."""
    mix = Mix(surface, placed.options(billing), goal, placed.as_mix, today)
    forecast = mix.forecast()
    _require_time(forecast)
    choice, fitted = mix.choice(), surface.fitted
    low, high = (none_if_nan(bound[0]) for bound in forecast.interval(goal.confidence))
    answering = fitted.answering(surface.workload)
    notices = [
        *fitted.profile.notices, *answering.fit_notices, *choice.warnings, *placed.shape_notices,
    ]  # fmt: skip
    if low is None:
        notices.append(no_interval_notice(fitted.model))
    prediction = Prediction(
        model=fitted.model,
        seconds=choice.seconds,
        low=low,
        high=high,
        confidence=goal.confidence,
        phases=None,
        stages=(),
        bottleneck=None,
        warnings=in_order(notices),
        forecast=forecast,
    )
    return Composed(choice, prediction)


def _require_time(forecast: Forecast) -> None:
    if not np.isfinite(forecast.seconds[0]):
        raise BadInput("the model has no prediction for this composition", where="composition")
