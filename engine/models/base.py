"""The interface of every model: fit a profile, then predict times with intervals for many clusters.

A model is one file with one `Model` class, listed in `engine.models.MODELS`. It implements `fit`;
its fitted form implements `forecast` (vectorised) and, if it can explain itself, `explain` and
`notices`. Everything else here (single predictions, intervals, warnings) is shared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from engine.batch import ClusterBatch
from engine.caching import LruCache
from engine.catalog import Catalog, InstanceType
from engine.cluster import Cluster, Workload, is_number, require_workload
from engine.errors import BadInput, require_kind
from engine.forecast import FloatArray, Forecast, none_if_nan
from engine.machines.transfer import Speed, measured_instance_type, speed_of, transfer_notice
from engine.memory import no_executor_reason, no_executor_remedy
from engine.models.assured_memory import AssuredMemory
from engine.models.cluster_notices import (
    capacity_notices,
    fuller_nodes_notice,
    service_notices,
    support_notices,
)
from engine.notices import Notice, in_order, never_ends
from engine.profile import Profile
from engine.runs.barrier_stages import BarrierStage, barrier_stages
from engine.runs.slow_runs import SuspectedOutlier
from engine.text.quantities import check_times

EXACT_AT_ONCE = 60
"""The most clusters that any model answers one by one, unless it says otherwise."""

SURFACE_TOLERANCE = 0.02
"""Relative error of models that interpolate over a grid, if they are `is_precise_on_grids`."""

_KEPT = 2
"""Surfaces that a fitted model keeps: about ten MB each for a whole catalog."""


@dataclass(frozen=True, slots=True)
class StageForecast:
    """One stage of the predicted run; times are seconds since the predicted start.

    `busy_share` is the mean share of all slots that its tasks hold; None if unknown.
    """

    stage_id: int
    name: str
    tasks: int
    start_seconds: float
    end_seconds: float
    waves: float
    bottleneck: str | None = None
    busy_share: float | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the time goes.

    Args:
        phases: name -> seconds; they add up to the prediction.
        stages: of a replay.
        bottleneck: what bounds the run, in a word such as cpu, driver, skew or waves.
        job_profile: further predicted figures of the run, with units in their names.
    """

    phases: Mapping[str, float] | None = None
    stages: tuple[StageForecast, ...] = ()
    bottleneck: str | None = None
    job_profile: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """How far off a model was on runs that it had not seen.

    Args:
        predicted_seconds, actual_seconds: a pair for each run that could be left out.
    """

    predicted_seconds: tuple[float, ...]
    actual_seconds: tuple[float, ...]

    @property
    def mean_relative_error(self) -> float:
        """Mean of |predicted - actual| / actual (OptEx VI-D)."""
        actual = np.asarray(self.actual_seconds)
        return float(np.mean(np.abs((self.predicted_seconds - actual) / actual)))


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predicted time of one run.

    `low` and `high` are the central interval at `confidence`; None if the model gives none.
    `seconds` is a time also where Spark never starts some stage (`engine.never_ends` of the
    warnings): as if it did. Commands and curves then give none.
    """

    model: str
    seconds: float
    low: float | None
    high: float | None
    confidence: float
    phases: Mapping[str, float] | None
    stages: tuple[StageForecast, ...] = field(repr=False)
    bottleneck: str | None
    warnings: tuple[Notice, ...]
    forecast: Forecast = field(repr=False)
    job_profile: Mapping[str, float] | None = None

    def p_within(self, deadline_seconds: float) -> float | None:
        """P(T <= deadline); 0 where the job never ends, None without an interval.

        Raises:
            BadInput: for a deadline that is no number more than zero.
        """
        if not (is_number(deadline_seconds) and deadline_seconds > 0.0):
            raise BadInput(
                f"a deadline must be a number of seconds more than zero, not {deadline_seconds!r}",
                remedy="engine.parse_seconds makes one of a text",
            )
        if never_ends(self.warnings):
            return 0.0
        return none_if_nan(self.forecast.p_within(deadline_seconds)[0])


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted times of n runs: (n,) arrays, NaN where unknown."""

    model: str
    seconds: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    forecast: Forecast = field(repr=False)

    @classmethod
    def of(cls, model: str, forecast: Forecast, confidence: float) -> Predictions:
        """A forecast with its central intervals."""
        low, high = forecast.interval(confidence)
        return cls(model, forecast.seconds, low, high, confidence, forecast)

    def p_within(self, deadline_seconds: float) -> FloatArray:
        """(n,) P(T <= deadline); NaN without an interval."""
        return self.forecast.p_within(deadline_seconds)


@dataclass(frozen=True, eq=False)
class FittedModel(ABC):
    """A model fitted to a profile."""

    model: str
    profile: Profile
    fit_notices: tuple[Notice, ...] = field(default=(), kw_only=True)
    validation: LeaveOneOut | None = field(default=None, kw_only=True)

    def predict(
        self, *, cluster: Cluster, workload: Workload | None = None, confidence: float = 0.9
    ) -> Prediction:
        """The time of one run; `workload=None` means that of the profile's largest run.

        Raises:
            BadInput: for a type that is neither in a catalog nor in the profile, or holds no
                executor, a confidence outside (0, 1), or a workload without something that the
                model needs.
        """
        _check_confidence(confidence)
        workload = workload or self.profile.reference_workload
        require_workload(workload)
        _check_size(workload, self.profile)
        batch = ClusterBatch.of([cluster], self.profile)
        forecast = self.forecast(batch, workload)
        explanation = self.explain(batch, workload)
        low, high = forecast.interval(confidence)
        notices = [*self.profile.notices, *self.answering(workload).fit_notices]
        notices += [*service_notices(cluster), *self.all_notices(batch, workload)]
        _check_answered(forecast, cluster)  # here, as a model may know a better reason
        if np.isnan(low[0]):
            notices.append(no_interval_notice(self.model))
        return Prediction(
            model=self.model,
            seconds=float(forecast.seconds[0]),
            low=none_if_nan(low[0]),
            high=none_if_nan(high[0]),
            confidence=confidence,
            phases=explanation.phases,
            stages=explanation.stages,
            bottleneck=explanation.bottleneck,
            warnings=in_order(notices),
            forecast=forecast,
            job_profile=explanation.job_profile,
        )

    def predict_many(
        self,
        *,
        clusters: Sequence[Cluster],
        workloads: Sequence[Workload | None] | None = None,
        confidence: float = 0.9,
    ) -> Predictions:
        """The times of n runs, with clusters and workloads in pairs; a single one of either serves
        all. None, for a workload or for all, means that of the profile's largest run.

        Raises:
            BadInput: when the lengths differ, and as `predict`.
        """
        _check_confidence(confidence)
        require_kind(clusters, Sequence, "a list of clusters")
        if workloads is None:
            workloads = [None]
        require_kind(workloads, Sequence, "a list of workloads")
        largest = self.profile.reference_workload
        asked = [largest if one is None else one for one in workloads]
        for workload in asked:
            require_workload(workload)
        n = max(len(clusters), len(asked))
        if {len(clusters), len(asked)} - {1, n} or n == 0:
            raise BadInput(
                f"{len(clusters)} clusters do not pair with {len(asked)} workloads",
                remedy="give as many of both, or one of either",
            )
        clusters = list(clusters) * (n // len(clusters))
        found = Forecast.of(np.full(n, np.nan))
        for workload, places in by_workload(asked * (n // len(asked))):
            _check_size(workload, self.profile)
            batch = ClusterBatch.of([clusters[i] for i in places], self.profile)
            found = found.with_replaced(places, self.forecast(batch, workload))
        return Predictions.of(self.model, found, confidence)

    @cached_property
    def recent(self) -> LruCache[Any]:
        """The surfaces last computed, for the same question with another goal."""
        return LruCache(_KEPT)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {self.profile!r})"

    @abstractmethod
    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        """Predicted times of one workload on n clusters: a forecast of shape (n,).

        Raises:
            BadInput: for a workload without something that the model needs.
        """

    def answering(self, workload: Workload) -> FittedModel:
        """The fit that answers for a workload: this one, or that of the runs with the workload's
        job parameters. Its `validation` and `fit_notices` apply to the answer.

        Raises:
            BadInput: as `forecast`.
        """
        return self

    def exact_at_once(self, workload: Workload) -> int:
        """The most clusters that `forecast` answers one by one; it may interpolate over more."""
        return EXACT_AT_ONCE

    def most_to_prove(self, workload: Workload) -> int:
        """The most clusters of a coarse grid that are evaluated one by one to prove an answer."""
        return self.exact_at_once(workload)

    @property
    def is_precise_on_grids(self) -> bool:
        """Whether its times over a grid of clusters are off by `SURFACE_TOLERANCE` at most."""
        return True

    @property
    def ran_on(self) -> tuple[InstanceType, ...]:
        """Types that its evidence ran on, in addition to those of the profile's runs."""
        return ()

    @property
    def barrier_stages(self) -> tuple[BarrierStage, ...]:
        """Stages whose tasks a cluster must be able to start all at once; of several jobs, those
        that need most."""
        return barrier_stages(self.profile)

    def runs_used(self, workload: Workload) -> int:
        """How many of the profile's runs the answer for a workload is learnt from. The others broke
        off, have other parameters or iterations, or are represented by these."""
        return len(self.profile.runs)

    def unusual_runs(self, workload: Workload) -> list[SuspectedOutlier]:
        """Runs that count for less in the answer for a workload, because something seems to have
        gone wrong in them."""
        return []

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        """Where the time goes on the one cluster of `batch`."""
        return Explanation()

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        """Warnings about this prediction, without those of the fit itself (`fit_notices`)."""
        return ()

    def all_notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        """`notices`, and those about the one cluster of `batch` that every model shares."""
        return (
            *support_notices(batch),
            *self.notices(batch, workload),
            *capacity_notices(batch, workload, self.profile, self.barrier_stages),
            *filter(None, [self.answering(workload).fuller_notice(batch, workload)]),
        )

    def transferred(
        self, instance: InstanceType, catalog: Catalog
    ) -> tuple[Speed, tuple[Notice, ...]]:
        """The assumed speed of a core of a type, and the notices about it; a model of several jobs,
        which may have run on different machines, answers for all of them."""
        if instance.name in self.profile.instance_types:
            return Speed(1.0), ()
        speed = speed_of(instance, measured_instance_type(self.profile, catalog), catalog)
        notice = transfer_notice(speed, instance)
        return speed, () if notice is None else (notice,)

    def slot_speeds(self, batch: ClusterBatch) -> FloatArray:
        """(n,) speed of a slot of n clusters of a catalog's types, relative to the measured ones:
        different nodes of one cluster share the work in proportion to it."""
        if batch.catalog is None:
            raise ValueError("types need a catalog")
        return batch.speeds(measured_instance_type(self.profile, batch.catalog))[0]

    def fuller_notice(self, batch: ClusterBatch, workload: Workload) -> Notice | None:
        """The warning that nodes of the one cluster of `batch` run more tasks per core than the
        measured ones; a law that accounts for that says how."""
        return fuller_nodes_notice(batch, self.profile)

    def assured_memory(self, workload: Workload) -> AssuredMemory | None:
        """The heap that the workload needs; None if the model does not tell."""
        return None


def no_interval_notice(model: str) -> Notice:
    """The warning about a time without an interval."""
    return Notice(
        "no-interval",
        "this model gives no interval for this evidence: how far off the time may be is not known",
        no_interval_remedy(model),
    )


def no_interval_remedy(model: str) -> str:
    """What gives an interval to the times of a model that has none for its evidence."""
    return "add more runs" if model == "sparkplan" else "add more runs, or use --model sparkplan"


def _check_answered(forecast: Forecast, cluster: Cluster) -> None:
    if np.isfinite(forecast.seconds[0]):
        return
    instance = cluster.instance
    if instance is None or cluster.executors is not None:
        raise BadInput("no time is known for this cluster", remedy="name another")
    raise BadInput(
        f"{instance.name} {no_executor_reason(instance)}", remedy=no_executor_remedy(instance)
    )


def _check_confidence(confidence: float) -> None:
    if not (is_number(confidence) and 0.0 < confidence < 1.0):
        raise BadInput(f"confidence must lie between 0 and 1, not {confidence!r}")


def _check_size(workload: Workload, profile: Profile) -> None:
    size, largest = workload.input_bytes, profile.reference_workload.input_bytes
    times = size / largest if size and largest else workload.scale
    if times is not None:
        check_times(times, where="workload", remedy="check the unit of input_bytes")


def by_workload(workloads: Sequence[Workload]) -> list[tuple[Workload, list[int]]]:
    """The places of each distinct workload, so that each is forecast once."""
    groups: list[tuple[Workload, list[int]]] = []
    seen: dict[Hashable, int] = {}
    for place, workload in enumerate(workloads):
        key = workload.key
        if key not in seen:
            seen[key] = len(groups)
            groups.append((workload, []))
        groups[seen[key]][1].append(place)
    return groups
