"""The default model (sparkplan) on run times alone: which fits are mixed for a question, and the
warnings about it.

Two fits can be mixed: one of only the runs with the wanted type and parameters, and one of all
runs, in which types and parameters share what they have in common. Their weights come from their
errors on left-out runs of the wanted type and parameters. If there are too few of these, the fit of
all runs is used alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.batch import ClusterBatch, GridCache
from engine.caching import LruCache
from engine.catalog import Catalog
from engine.cluster import Workload
from engine.distinct import distinct_few_rows
from engine.errors import ModelDoesNotFit
from engine.forecast import BoolArray, FloatArray, Forecast, IntArray
from engine.models.base import Explanation, FittedModel
from engine.models.curves.machines import runs_by_type
from engine.models.curves.parameter_scales import nearest_parameters
from engine.models.laws.candidate_models import pseudo_bma_weights
from engine.models.laws.encoding import Rows, machine_types_of, rows_of
from engine.models.laws.iterations import (
    between_iterations,
    gap_between_iterations,
    iteration_counts,
    monotone_in_iterations,
)
from engine.models.laws.means_at_sizes import MeansCache, means_cache
from engine.models.laws.measured_configurations import (
    leave_one_out_record,
    narrowed_where_measured,
    observed_runs,
    unrepeated_runs,
    unusual_runs,
    with_shared_sizes,
)
from engine.models.laws.notices import (
    fit_notices,
    iteration_notices,
    memory_notices,
    parameter_notices,
    range_warnings,
    run_notices,
    shape_notices,
)
from engine.models.laws.outlier_pairs import slower_outliers
from engine.models.laws.parameter_fit import EncodedClusters, ParameterFit
from engine.models.laws.run_times import LogTimes, RunTimeFit, fit_run_times
from engine.models.laws.terms import PHASES
from engine.models.laws.weighted_fits import (
    WeightedFit,
    heaviest_fit,
    mixed_log_times,
    mixed_means,
    scales_at_runs,
)
from engine.models.log_notices import transferred_notice
from engine.models.workloads import (
    SAME,
    incomplete_notices,
    informative_runs,
    same_parameters,
    with_defaults,
)
from engine.notices import Notice, in_order
from engine.profile import Profile, Run
from engine.runs.configurations import repetitions
from engine.runs.run_noise import run_noise
from engine.runs.slow_runs import (
    SuspectedOutlier,
    excluded_runs,
    slow_notices,
    unusual_notices,
    without,
)

MOST_CONFIGURATIONS = 300
"""The most configurations that are fitted together, each with all its repetitions, which cost next
to nothing more: those with the wanted parameters first."""

MINIMUM_ALONE = 3
"""The fewest configurations for a separate fit of one type."""

ALONE_DRAW_SHARE = 0.3
"""Draws for such a fit, as a share of those for one that answers alone: it is mixed with the fit of
all runs, and there is one for each type."""

KEPT_FITS = 64
"""The parameters and iterations asked about last whose fits are kept: more than a table has numbers
of iterations, each of which takes part in an answer."""

SMALLEST_PHASE = 0.002
"""Share of the time below which a phase is not listed."""


def fit_table(profile: Profile) -> TableModel:
    """The model of runs without stages.

    Raises:
        ModelDoesNotFit: when the runs do not tell on how many machines they ran.
    """
    model = TableModel("sparkplan", profile)
    wanted = with_defaults(profile.reference_workload, profile)
    fitted = model.parameter_fit(wanted)
    validation = leave_one_out_record(fitted.fits, fitted.tables, fitted.configuration_index)
    notices = [*fit_notices(validation, fitted.tables), *incomplete_notices(profile.runs, wanted)]
    notices += shape_notices(fitted.tables, _catalog(profile.runs))
    notices += slow_notices(fitted.slow)
    notices += unusual_notices(model.unusual_runs(wanted))
    return replace(model, validation=validation, fit_notices=tuple(notices))


@dataclass(frozen=True, eq=False, repr=False)
class TableModel(FittedModel):
    """sparkplan fitted to run times; fits are made once per set of job parameters."""

    _fits: LruCache[ParameterFit] = field(default_factory=lambda: LruCache(KEPT_FITS), repr=False)
    _joint_fits: LruCache[RunTimeFit] = field(
        default_factory=lambda: LruCache(KEPT_FITS), repr=False
    )
    _kept: MeansCache = field(default_factory=means_cache, repr=False)
    _encoded: GridCache[LruCache[EncodedClusters]] = field(default_factory=GridCache, repr=False)

    def parameter_fit(self, wanted: Workload) -> ParameterFit:
        """The fits for a completed workload's parameters."""
        key = (wanted.sorted_parameters, wanted.iterations)
        return self._fits.get(key, lambda: self._fit(wanted))

    def _fit(self, wanted: Workload, outliers: tuple[SuspectedOutlier, ...] = ()) -> ParameterFit:
        informative = without(_informative_runs(self.profile.runs, wanted), outliers)
        slow = excluded_runs(informative)
        runs = without(informative, slow)
        tables = tuple(runs_by_type(_sample_runs(runs, wanted)))
        machine_types = tuple(machine_types_of(tables, _catalog(runs)))
        names = tuple(_varying_parameters(runs, wanted))
        rows, seconds = rows_of(tables, machine_types, names)
        rows = with_shared_sizes(rows)
        if not outliers and (slower := slower_outliers(rows, seconds, observed_runs(tables))):
            return self._fit(wanted, slower)
        joint = self._fit_of_all(rows, seconds)
        with_parameters = _have_parameters(rows, wanted, names)
        fits = tuple(
            self._type_fits(rows, seconds, joint, with_parameters & (rows.type_index == index))
            for index in range(len(tables))
        )
        constant = {name: v for name, v in wanted.parameters.items() if name not in names}
        nearest_values, doublings = nearest_parameters(runs, constant)
        notices = (transferred_notice(runs, constant, nearest_values, doublings, what="runs"),)
        without_outliers = replace(
            self.profile, runs=without(self.profile.runs, [*slow, *outliers])
        )
        noise = run_noise(without_outliers, scales_at_runs(fits), fitted=joint.noise)
        return ParameterFit(
            tables=tables,
            machine_types=machine_types,
            names=names,
            fits=fits,
            noise=noise,
            runs_with_parameters=int(with_parameters.sum()),
            runs=len(rows),
            configuration_index=joint.indices_of(rows),
            slow=tuple(slow),
            outliers=outliers,
            constant_doublings=doublings,
            constant_notices=notices if doublings else (),
        )

    def _fit_of_all(self, rows: Rows, seconds: FloatArray) -> RunTimeFit:
        """The fit of all runs, made once for all sets of parameters with the same runs."""
        key = rows.configurations.tobytes()
        return self._joint_fits.get(key, lambda: fit_run_times(rows, seconds, kept=self._kept))

    def _type_fits(
        self, rows: Rows, seconds: FloatArray, joint: RunTimeFit, of_type: BoolArray
    ) -> tuple[WeightedFit, ...]:
        """The fit of all runs, and one of the type's own runs if there are enough."""
        picked = rows.take(of_type)
        if of_type.all() or len(distinct_few_rows(picked.configurations)[0]) < MINIMUM_ALONE:
            return (WeightedFit(joint, 1.0),)
        known_weights = joint.run_weights[joint.indices_of(picked)]
        alone = fit_run_times(
            picked, seconds[of_type], known_weights, draw_share=ALONE_DRAW_SHARE, kept=self._kept
        )
        if alone.leave_one_out is None or joint.leave_one_out is None:
            return (WeightedFit(joint, 1.0),)
        errors = joint.leave_one_out.errors[joint.indices_of(alone.rows)]
        weights = pseudo_bma_weights(
            np.stack((errors, alone.leave_one_out.errors)), alone.run_weights
        )
        return WeightedFit(joint, float(weights[0])), WeightedFit(alone, float(weights[1]))

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        wanted = with_defaults(workload, self.profile)
        fitted = self.parameter_fit(wanted)
        of = self._encoded_by(fitted, batch, wanted)
        mean, below, scale, dof = (np.full(len(batch), np.nan) for _ in range(4))
        between, grown, known = np.full(len(batch), np.inf), np.zeros(len(batch)), of.known
        if len(known):
            predicted, gap, growth = self._log_times(wanted, of.distinct, of.sources)
            between[known], grown[known] = gap[of.inverse], growth[of.inverse]
            narrowed = narrowed_where_measured(fitted.joint, fitted.noise, of.distinct, predicted)
            log_times = narrowed.take(of.inverse)
            mean[known], dof[known] = log_times.mean, log_times.dof
            below[known], scale[known] = log_times.scale
        outside = fitted.extrapolation_scale(of.rows, between)
        added_scale = np.hypot(of.equivalents.log_scale, outside)
        symmetric = np.array_equal(below, scale, equal_nan=True)
        scale_below = None if symmetric else below
        found = Forecast.of(np.exp(mean), scale, dof, scale_below=scale_below).widened(added_scale)
        ended = fitted.ended_scale(of.rows, grown)
        if not ended.any():
            return found
        return replace(found, scale_below=found.widened(ended).scale_below)

    def _encoded_by(
        self, fitted: ParameterFit, batch: ClusterBatch, wanted: Workload
    ) -> EncodedClusters:
        """The batch as rows of a fit; kept for the next step of the data size, which asks for the
        same clusters."""
        of_batch = self._encoded.get(batch, lambda: LruCache(1))
        encoded = of_batch.get(fitted, lambda: EncodedClusters.of(*fitted.rows(batch, wanted)))
        return encoded.at_size_of(wanted)

    def _log_times(
        self, wanted: Workload, rows: Rows, sources: IntArray
    ) -> tuple[LogTimes, FloatArray, FloatArray]:
        """The log times of n rows of some types, made monotone in the iterations; (n,) the gap
        between those for the next fewer and the next more iterations that were run
        (`gap_between_iterations`); and (n,) by how much they are beyond that of the most, where
        more are wanted."""
        fitted = self.parameter_fit(wanted)
        mixed = mixed_log_times(fitted.fits, rows, sources)
        counts = iteration_counts(fitted.joint.rows)
        if len(counts) < 2 or wanted.iterations is None:
            return mixed, np.full(len(rows), np.inf), np.zeros(len(rows))
        others = [count for count in counts if count != wanted.iterations]
        fits = [self.parameter_fit(replace(wanted, iterations=count)).fits for count in others]
        means = mixed_means(fits, rows, sources, np.asarray(others))
        by_count = {wanted.iterations: mixed.mean, **dict(zip(others, means, strict=True))}
        monotone = monotone_in_iterations(by_count, counts)
        law_means = fitted.joint.law_means
        mean = between_iterations(
            monotone, lambda each: law_means(rows, each), [*counts], wanted.iterations
        )
        gap = gap_between_iterations(monotone, [*counts], wanted.iterations)
        growth = np.maximum(mean - monotone[-1], 0.0) * (wanted.iterations > max(counts))
        return mixed._replace(mean=mean), gap, growth

    def runs_used(self, workload: Workload) -> int:
        return self.parameter_fit(with_defaults(workload, self.profile)).runs

    def unusual_runs(self, workload: Workload) -> list[SuspectedOutlier]:
        fitted = self.parameter_fit(with_defaults(workload, self.profile))
        fits = [weighted.fit for type_fits in fitted.fits for weighted in type_fits]
        return [
            *fitted.outliers,
            *unusual_runs(fits, unrepeated_runs(fitted.tables, fitted.configuration_index)),
        ]

    def _unnamed_unusual_runs(self, wanted: Workload) -> list[SuspectedOutlier]:
        """Unusual runs with a completed workload's parameters that `fit_notices`, which is about
        the largest run's parameters, does not name."""
        named = {id(one.run) for one in self.unusual_runs(self.profile.reference_workload)}
        return [one for one in self.unusual_runs(wanted) if id(one.run) not in named]

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        wanted = with_defaults(workload, self.profile)
        fitted = self.parameter_fit(wanted)
        rows, equivalents = fitted.rows(batch, wanted)
        if np.isnan(rows.machines[0]):
            return Explanation()
        fit = heaviest_fit(fitted.fits[int(equivalents.family[0])])
        candidates, counted = fit.candidates, fitted.as_counted_by(fit, rows.take(slice(1)))
        parts = candidates.law.laws.phases(candidates.encoding.points(counted)).mean(axis=0)
        parts = np.where(parts < SMALLEST_PHASE, 0.0, parts)
        seconds = self.forecast(batch, workload).seconds[0] * parts / parts.sum()
        named = zip((*PHASES, "re-reading"), seconds.tolist(), strict=True)
        return Explanation(phases={name: value for name, value in named if value > 0.0})

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        wanted = with_defaults(workload, self.profile)
        fitted = self.parameter_fit(wanted)
        rows, equivalents = fitted.rows(batch, wanted)
        type_fits = fitted.fits[int(equivalents.family[0])]
        own_weight = type_fits[1].weight if len(type_fits) > 1 else 0.0
        fit = heaviest_fit(type_fits)
        notices = [*equivalents.notices, *run_notices(fitted.runs, fit)]
        notices += fitted.constant_notices
        notices += unusual_notices(self._unnamed_unusual_runs(wanted))
        most = float(fitted.joint.rows.iterations.max())
        ended = self._converged(batch, wanted, most)
        beyond = iteration_notices(wanted, fitted.joint.rows, ended=ended)
        if fitted.names or not beyond:
            notices += parameter_notices(
                wanted, fitted.names, fitted.runs_with_parameters, fitted.runs, own_weight
            )
        notices += beyond
        notices += range_warnings(float(rows.size[0]), fitted.tables, equivalents)
        if not np.isnan(rows.machines[0]):
            unit = fitted.tables[0].unit
            counted = fitted.as_counted_by(fit, rows.take(slice(1)))
            notices += memory_notices(fit, counted, unit=unit, in_gib=fitted.in_gib)
        if wanted.shuffle_partitions is not None:
            text = "run times tell nothing of shuffle partitions: they change nothing here"
            notices.append(Notice("not-modelled", text, "add an event log"))
        return in_order(notices)

    def _converged(self, batch: ClusterBatch, wanted: Workload, most: float) -> bool:
        """Whether more iterations than were run are predicted to take no more time."""
        if wanted.iterations is None or wanted.iterations <= most:
            return False
        counts = (most, wanted.iterations)
        run, more = (
            self.forecast(batch, replace(wanted, iterations=count)).seconds[0] for count in counts
        )
        return bool(more <= SAME_TIME * run)


SAME_TIME = 1.01
"""Up to this multiple of the time of fewer iterations counts as no more time."""


def _informative_runs(runs: Sequence[Run], wanted: Workload) -> list[Run]:
    """The runs that tell every input that the question depends on."""
    informative = informative_runs(runs, wanted)
    if not informative:
        names = [*wanted.parameters, *(["iterations"] if wanted.iterations is not None else [])]
        remedy = "say them in every run, or leave them out"
        raise ModelDoesNotFit(f"no run says all of {', '.join(names)}", remedy=remedy)
    return informative


def _catalog(runs: Sequence[Run]) -> Catalog | None:
    catalogs = [run.cluster.catalog for run in runs if run.cluster.catalog is not None]
    return catalogs[0] if catalogs else None


def _sample_runs(runs: Sequence[Run], wanted: Workload) -> list[Run]:
    """The runs of at most `MOST_CONFIGURATIONS`, evenly spaced: first of those with the wanted
    parameters, then of others."""
    repeated = repetitions(runs)
    if len(repeated) <= MOST_CONFIGURATIONS:
        return list(runs)
    as_wanted = [
        same_parameters(same[0].workload.parameters, wanted.parameters) for same in repeated
    ]
    alike = [same for same, wished in zip(repeated, as_wanted, strict=True) if wished]
    unlike = [same for same, wished in zip(repeated, as_wanted, strict=True) if not wished]
    chosen = _evenly_spaced(alike, MOST_CONFIGURATIONS)
    chosen += _evenly_spaced(unlike, MOST_CONFIGURATIONS - len(chosen))
    return [run for same in chosen for run in same]


def _evenly_spaced(items: Sequence[list[Run]], count: int) -> list[list[Run]]:
    """At most `count` of the items: one of each of as many parts of their order, the first and the
    last among them. Where in its part is drawn, since at even steps a table that varies the numbers
    of nodes in turn may lose one of them altogether."""
    if len(items) <= count:
        return list(items)
    if not count:
        return []
    edges = np.arange(count + 1) * len(items) // count
    drawn = np.random.default_rng(0).integers(edges[:-1], edges[1:])
    drawn[[0, -1]] = 0, len(items) - 1
    return [items[index] for index in drawn]


def _varying_parameters(runs: Sequence[Run], wanted: Workload) -> list[str]:
    """Parameters that differ between runs: the effect of a constant one is unknown."""
    names = sorted(wanted.parameters)
    return [name for name in names if len({run.workload.parameters[name] for run in runs}) > 1]


def _have_parameters(rows: Rows, wanted: Workload, names: Sequence[str]) -> BoolArray:
    """(r,) whether runs have the wanted parameters and iterations."""
    goal = np.asarray([wanted.parameters[name] for name in names])
    same = np.isclose(rows.parameters, goal, rtol=SAME, atol=SAME).all(axis=1)
    return np.asarray(same & np.isclose(rows.iterations, wanted.iterations or 1.0, rtol=SAME))
