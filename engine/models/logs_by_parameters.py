"""One fitted model per set of job parameters, and which runs each is fitted to.

Fits are made on first use. In sparkplan the model of a set of parameters is fitted to the logs that
have them; without such logs, to run times that have them; else to the logs with the nearest
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
from engine.models.curves.parameter_scales import nearest_parameters, parameter_spread
from engine.models.log_notices import chosen_notice, table_notice, transferred_notice
from engine.models.workloads import logs_of, same_parameters, saying, with_defaults
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.runs.slow_runs import SuspectedOutlier

Fitting = Callable[[Profile], FittedModel]


@dataclass(frozen=True, eq=False, repr=False)
class ParameterSetModel(FittedModel):
    """The model of the runs with one set of job parameters, used for these or for nearby ones.

    Args:
        fitted: model fitted to the runs with these parameters.
        parameters: name -> value of these runs.
        log_scale: prior standard deviation of log time added for other wanted parameters; 0 if
            these are the wanted ones.
    """

    fitted: FittedModel
    parameters: Mapping[str, float]
    log_scale: float

    def _with_parameters(self, workload: Workload) -> Workload:
        """The workload with the parameters of these runs in place of its own."""
        return replace(with_defaults(workload, self.profile), parameters=self.parameters)

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        forecast = self.fitted.forecast(batch, self._with_parameters(workload))
        return forecast.widened(self.log_scale) if self.log_scale else forecast

    def runs_used(self, workload: Workload) -> int:
        return self.fitted.runs_used(self._with_parameters(workload))

    def unusual_runs(self, workload: Workload) -> list[SuspectedOutlier]:
        return self.fitted.unusual_runs(self._with_parameters(workload))

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        return self.fitted.explain(batch, self._with_parameters(workload))

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        return self.fitted.notices(batch, self._with_parameters(workload))


@dataclass(frozen=True, eq=False, repr=False)
class ModelByParameters(FittedModel):
    """A fit for each set of job parameters; parameters left open are those of the largest run.

    Args:
        fit_of: the fit for a complete set of parameters; raises if there is none.
    """

    fit_of: Callable[[Mapping[str, float]], FittedModel]
    _answering: dict[object, FittedModel] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, model: str, profile: Profile, fit_of: Callable[[Mapping[str, float]], FittedModel]
    ) -> ModelByParameters:
        """The fits of a profile, that of the largest run's parameters already made.

        Raises:
            ModelDoesNotFit: when nothing answers for these parameters.
        """
        found = cls(model, profile, fit_of)
        own = found.answering(profile.reference_workload)
        return replace(found, fit_notices=own.fit_notices, validation=own.validation)

    def answering(self, workload: Workload) -> FittedModel:
        wanted = with_defaults(workload, self.profile)
        key = wanted.sorted_parameters
        if key not in self._answering:
            self._answering[key] = self.fit_of(wanted.parameters)
        return self._answering[key]

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        return self.answering(workload).forecast(batch, workload)

    def runs_used(self, workload: Workload) -> int:
        return self.answering(workload).runs_used(workload)

    def unusual_runs(self, workload: Workload) -> list[SuspectedOutlier]:
        return self.answering(workload).unusual_runs(workload)

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        return self.answering(workload).explain(batch, workload)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        return self.answering(workload).notices(batch, workload)

    def assured_memory(self, workload: Workload) -> AssuredMemory | None:
        return self.answering(workload).assured_memory(workload)


@dataclass(frozen=True, eq=False)
class NearestLogs:
    """Chooses the runs for a set of wanted parameters and fits a model to them: logs with these
    parameters, run times with them, or the logs with the nearest ones.

    Args:
        fit_logs: fits runs of the same parameters, some of which are logs.
        fit_times: fits all runs by their times alone.
    """

    profile: Profile
    fit_logs: Fitting
    fit_times: Fitting
    _fits: dict[tuple[object, ...], FittedModel] = field(default_factory=dict, repr=False)

    def fit_of(self, wanted: Mapping[str, float]) -> FittedModel:
        """The model for these parameters."""
        logs = logs_of(self.profile.runs)
        runs = self._runs_with(wanted)
        matching_logs = logs_of(runs)
        if matching_logs:
            chosen = chosen_notice(logs, wanted, len(matching_logs))
            return self._fitted(runs, wanted, () if chosen is None else (chosen,))
        comparable = saying(logs, wanted)
        if runs or not comparable:
            fitted = self._fitted_once(self.fit_times, self.profile)
            return replace(fitted, fit_notices=(table_notice(logs, wanted), *fitted.fit_notices))
        closest, doublings = nearest_parameters(comparable, wanted)
        notice = transferred_notice(logs, wanted, closest, doublings)
        log_scale = float(parameter_spread(doublings))
        return self._fitted(self._runs_with(closest), closest, (notice,), log_scale)

    def _runs_with(self, parameters: Mapping[str, float]) -> list[Run]:
        runs = self.profile.runs
        return [run for run in runs if same_parameters(run.workload.parameters, parameters)]

    def _fitted(
        self,
        runs: Sequence[Run],
        parameters: Mapping[str, float],
        notices: tuple[Notice, ...],
        log_scale: float = 0.0,
    ) -> FittedModel:
        """The model of runs with the same parameters, with the whole profile, whose sizes and
        iterations are the defaults of a workload."""
        of_runs = self._fitted_once(self.fit_logs, replace(self.profile, runs=tuple(runs)))
        fitted = replace(of_runs, profile=self.profile)
        return ParameterSetModel(
            fitted.model, self.profile, fitted, parameters, log_scale,
            fit_notices=(*notices, *fitted.fit_notices), validation=fitted.validation,
        )  # fmt: skip

    def _fitted_once(self, fit: Fitting, profile: Profile) -> FittedModel:
        key = (fit, *map(id, profile.runs))
        if key not in self._fits:
            self._fits[key] = fit(profile)
        return self._fits[key]
