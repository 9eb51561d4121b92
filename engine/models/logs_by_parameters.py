"""Logs with known job parameters: which of them answer for which parameters.

Each set of parameters has its own fit, made on first use. In sparkplan the logs with the wanted
parameters answer; without such logs, run times that have them; else the logs with the nearest
parameters, with a wider interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.forecast import Forecast
from engine.models.assured_memory import AssuredMemory
from engine.models.base import Explanation, FittedModel
from engine.models.curves.parameter_scales import nearest, parameter_spread
from engine.models.log_notices import chosen_notice, table_notice, transferred_notice
from engine.models.workloads import completed, logs_of, same_parameters, saying
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.runs.slow_runs import UnusualRun

Fitting = Callable[[Profile], FittedModel]


@dataclass(frozen=True, eq=False, repr=False)
class OfParameters(FittedModel):
    """The answers of one set of logs.

    Args:
        fitted: to the runs with these logs' parameters.
        parameters: their values by name.
        log_scale: prior spread of log time for other parameters; 0 if these are the wanted ones.
    """

    fitted: FittedModel
    parameters: Mapping[str, float]
    log_scale: float

    def _asked(self, workload: Workload) -> Workload:
        """The workload as these logs know it."""
        return replace(completed(workload, self.profile), parameters=self.parameters)

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        found = self.fitted.forecast(batch, self._asked(workload))
        return found.widened(self.log_scale) if self.log_scale else found

    def runs_used(self, workload: Workload) -> int:
        return self.fitted.runs_used(self._asked(workload))

    def unusual_runs(self, workload: Workload) -> list[UnusualRun]:
        return self.fitted.unusual_runs(self._asked(workload))

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        return self.fitted.explain(batch, self._asked(workload))

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        return self.fitted.notices(batch, self._asked(workload))


@dataclass(frozen=True, eq=False, repr=False)
class ByParameters(FittedModel):
    """A fit for each set of job parameters; parameters left open are those of the largest run.

    Args:
        fit_of: the fit for a complete set of parameters; raises if there is none.
    """

    fit_of: Callable[[Mapping[str, float]], FittedModel]
    _answering: dict[object, FittedModel] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, model: str, profile: Profile, fit_of: Callable[[Mapping[str, float]], FittedModel]
    ) -> ByParameters:
        """The fits of a profile, that of the largest run's parameters already made.

        Raises:
            ModelDoesNotFit: when nothing answers for these parameters.
        """
        found = cls(model, profile, fit_of)
        own = found.answering(profile.reference_workload)
        return replace(found, fit_notices=own.fit_notices, validation=own.validation)

    def answering(self, workload: Workload) -> FittedModel:
        wanted = completed(workload, self.profile)
        key = wanted.sorted_parameters
        if key not in self._answering:
            self._answering[key] = self.fit_of(wanted.parameters)
        return self._answering[key]

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        return self.answering(workload).forecast(batch, workload)

    def runs_used(self, workload: Workload) -> int:
        return self.answering(workload).runs_used(workload)

    def unusual_runs(self, workload: Workload) -> list[UnusualRun]:
        return self.answering(workload).unusual_runs(workload)

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        return self.answering(workload).explain(batch, workload)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        return self.answering(workload).notices(batch, workload)

    def assured_memory(self, workload: Workload) -> AssuredMemory | None:
        return self.answering(workload).assured_memory(workload)


@dataclass(frozen=True, eq=False)
class NearestLogs:
    """Which logs or run times answer for which parameters.

    Args:
        fit_logs: fits runs of the same parameters, some of which are logs.
        fit_times: fits all runs by their times alone.
    """

    profile: Profile
    fit_logs: Fitting
    fit_times: Fitting
    _fits: dict[tuple[object, ...], FittedModel] = field(default_factory=dict, repr=False)

    def fit_of(self, wanted: Mapping[str, float]) -> FittedModel:
        """The model that answers for these parameters."""
        logs = logs_of(self.profile.runs)
        runs = self._having(wanted)
        own = logs_of(runs)
        if own:
            chosen = chosen_notice(logs, wanted, len(own))
            return self._fitted(runs, wanted, () if chosen is None else (chosen,))
        telling = saying(logs, wanted)
        if runs or not telling:
            found = self._fitted_once(self.fit_times, self.profile)
            return replace(found, fit_notices=(table_notice(logs, wanted), *found.fit_notices))
        taken, doublings = nearest(telling, wanted)
        notice = transferred_notice(logs, wanted, taken, doublings)
        spread = float(parameter_spread(doublings))
        return self._fitted(self._having(taken), taken, (notice,), spread)

    def _having(self, parameters: Mapping[str, float]) -> list[Run]:
        runs = self.profile.runs
        return [run for run in runs if same_parameters(run.workload.parameters, parameters)]

    def _fitted(
        self,
        runs: Sequence[Run],
        parameters: Mapping[str, float],
        notices: tuple[Notice, ...],
        log_scale: float = 0.0,
    ) -> FittedModel:
        """The fit of runs of the same parameters; it knows the profile's sizes and iterations."""
        own = self._fitted_once(self.fit_logs, replace(self.profile, runs=tuple(runs)))
        found = replace(own, profile=self.profile)
        return OfParameters(
            own.model, self.profile, found, parameters, log_scale,
            fit_notices=(*notices, *found.fit_notices), validation=found.validation,
        )  # fmt: skip

    def _fitted_once(self, fit: Fitting, profile: Profile) -> FittedModel:
        key = (fit, *map(id, profile.runs))
        if key not in self._fits:
            self._fits[key] = fit(profile)
        return self._fits[key]
