"""sparkplan on run times alone: which runs answer for a question, and the warnings about it.

Two fits can answer: one of only the runs with the wanted type and parameters, and one of all runs,
in which types and parameters share what they have in common. Their weights come from their errors
on left-out runs of the wanted kind. If there are too few of these, only the fit of all runs
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Catalog
from engine.cluster import Workload
from engine.errors import ModelDoesNotFit
from engine.fitting import rising
from engine.forecast import BoolArray, FloatArray, Forecast, IntArray
from engine.models.base import Explanation, FittedModel
from engine.models.curves.machines import runs_by_type
from engine.models.curves.parameter_scales import nearest
from engine.models.laws.design import Rows, kinds_of, rows_of
from engine.models.laws.measured_configurations import (
    left_out,
    observed_of,
    run_once,
    unusual_runs,
    where_measured,
    with_repetitions,
)
from engine.models.laws.mixture import weights_of
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
from engine.models.laws.parameter_fit import ParameterFit
from engine.models.laws.run_times import LogTimes, RunTimes, along_laws, fit_run_times
from engine.models.laws.shares import Share, distinct_rows, heaviest, means_of, told_by
from engine.models.laws.terms import PHASES
from engine.models.log_notices import transferred_notice
from engine.models.workloads import (
    SAME,
    completed,
    incomplete_notices,
    same_parameters,
    telling_runs,
)
from engine.notices import Notice, in_order
from engine.profile import Profile, Run
from engine.runs.run_noise import run_noise
from engine.runs.slow_runs import UnusualRun, slow_notices, slow_runs, unusual_notices, without

MOST_RUNS = 300
"""The most runs that are fitted together: those with the wanted parameters first."""

FEW = 3
"""The fewest configurations for a separate fit."""

SMALLEST_PHASE = 0.002
"""Share of the time below which a phase is not listed."""


def fit_table(profile: Profile) -> TableModel:
    """The model of runs without stages.

    Raises:
        ModelDoesNotFit: when the runs do not tell on how many machines they ran.
    """
    model = TableModel("sparkplan", profile)
    wanted = completed(profile.reference_workload, profile)
    answers = model.answers(wanted)
    validation = left_out(answers.shares, answers.tables, answers.places)
    notices = [*fit_notices(validation, answers.tables), *incomplete_notices(profile.runs, wanted)]
    notices += shape_notices(answers.tables, _catalog(profile.runs))
    notices += slow_notices(answers.slow)
    notices += unusual_notices(model.unusual_runs(wanted))
    return replace(model, validation=validation, fit_notices=tuple(notices))


@dataclass(frozen=True, eq=False, repr=False)
class TableModel(FittedModel):
    """sparkplan fitted to run times; fits are made once per set of job parameters."""

    _answers: dict[object, ParameterFit] = field(default_factory=dict, repr=False)
    _joint: dict[bytes, RunTimes] = field(default_factory=dict, repr=False)

    def answers(self, wanted: Workload) -> ParameterFit:
        """The fits for a completed workload's parameters."""
        key = (wanted.sorted_parameters, wanted.iterations)
        if key not in self._answers:
            self._answers[key] = self._fit(wanted)
        return self._answers[key]

    def _fit(self, wanted: Workload, aside: tuple[UnusualRun, ...] = ()) -> ParameterFit:
        telling = without(_telling(self.profile.runs, wanted), aside)
        slow = slow_runs(telling)
        runs = without(telling, slow)
        tables = tuple(runs_by_type(_some(runs, wanted)))
        kinds = tuple(kinds_of(tables, _catalog(runs)))
        names = tuple(_varying(runs, wanted))
        rows, seconds = rows_of(tables, kinds, names)
        rows = with_repetitions(rows)
        if not aside and (found := slower_outliers(rows, seconds, observed_of(tables))):
            return self._fit(wanted, found)
        joint, alike = self._fit_of_all(rows, seconds), _alike(rows, wanted, names)
        shares = tuple(
            _shares(rows, seconds, joint, alike & (rows.kind == place))
            for place in range(len(tables))
        )
        seen = joint.rows
        scales = np.sqrt(np.mean(told_by(shares, seen, seen.kind).scale ** 2, axis=0))
        constant = {name: v for name, v in wanted.parameters.items() if name not in names}
        taken, beside = nearest(runs, constant)
        notices = (transferred_notice(runs, constant, taken, beside, what="runs"),)
        usual = replace(self.profile, runs=without(self.profile.runs, [*slow, *aside]))
        noise = run_noise(usual, scales, fitted=joint.noise)
        return ParameterFit(
            tables=tables,
            kinds=kinds,
            names=names,
            shares=shares,
            noise=noise,
            same=int(alike.sum()),
            runs=len(rows),
            places=joint.places_of(rows),
            slow=tuple(slow),
            aside=aside,
            beside=beside,
            beside_notices=notices if beside else (),
        )

    def _fit_of_all(self, rows: Rows, seconds: FloatArray) -> RunTimes:
        """The fit of all runs, which several sets of parameters share."""
        key = rows.configurations.tobytes()
        if key not in self._joint:
            self._joint[key] = fit_run_times(rows, seconds)
        return self._joint[key]

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        wanted = completed(workload, self.profile)
        answers = self.answers(wanted)
        rows, at = answers.rows(batch, wanted)
        mean, below, scale, dof = (np.full(len(batch), np.nan) for _ in range(4))
        between = np.full(len(batch), np.inf)
        known = np.flatnonzero(~np.isnan(rows.machines))
        if len(known):
            asked, family, back = distinct_rows(rows.taken(known), at.family[known])
            told, apart = self._told(wanted, asked, family)
            between[known] = apart[back]
            found = where_measured(answers.joint, answers.noise, asked, told).taken(back)
            mean[known], dof[known] = found.mean, found.dof
            below[known], scale[known] = found.scale
        doubt = np.hypot(at.log_scale, answers.spread_beyond(rows, between))
        one = np.array_equal(below, scale, equal_nan=True)
        below_mean = None if one else below
        return Forecast.of(np.exp(mean), scale, dof, scale_below=below_mean).widened(doubt)

    def _told(self, wanted: Workload, asked: Rows, family: IntArray) -> tuple[LogTimes, FloatArray]:
        """The log times of n rows of some types, made to grow with the iterations, and (n,) how far
        apart those for the next fewer and more that were run are (`apart`)."""
        answers = self.answers(wanted)
        here = told_by(answers.shares, asked, family)
        counts = counts_run(answers.joint.rows)
        if len(counts) < 2 or wanted.iterations is None:
            return here, np.full(len(asked), np.inf)
        others = [count for count in counts if count != wanted.iterations]
        shares = [self.answers(replace(wanted, iterations=count)).shares for count in others]
        means = means_of(shares, asked, family, np.asarray(others))
        told = {wanted.iterations: here.mean, **dict(zip(others, means, strict=True))}
        course = iteration_course(told, counts)
        told_by_laws = answers.joint.candidates.law_means
        mean = along_iterations(
            course, lambda each: told_by_laws(asked, each), [*counts], wanted.iterations
        )
        return here._replace(mean=mean), apart(course, [*counts], wanted.iterations)

    def runs_used(self, workload: Workload) -> int:
        return self.answers(completed(workload, self.profile)).runs

    def unusual_runs(self, workload: Workload) -> list[UnusualRun]:
        answers = self.answers(completed(workload, self.profile))
        fits = [share.fit for own in answers.shares for share in own]
        return [*answers.aside, *unusual_runs(fits, run_once(answers.tables, answers.places))]

    def _unusual_here(self, wanted: Workload) -> list[UnusualRun]:
        """Unusual runs with a completed workload's parameters that `fit_notices`, which is about
        the largest run's parameters, does not name."""
        named = {id(one.run) for one in self.unusual_runs(self.profile.reference_workload)}
        return [one for one in self.unusual_runs(wanted) if id(one.run) not in named]

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        wanted = completed(workload, self.profile)
        answers = self.answers(wanted)
        rows, at = answers.rows(batch, wanted)
        if np.isnan(rows.machines[0]):
            return Explanation()
        fit = heaviest(answers.shares[int(at.family[0])])
        best, seen = fit.candidates, answers.seen_by(fit, rows.taken(slice(1)))
        parts = best.law.laws.phases(best.encoding.points(seen)).mean(axis=0)
        parts = np.where(parts < SMALLEST_PHASE, 0.0, parts)
        seconds = self.forecast(batch, workload).seconds[0] * parts / parts.sum()
        named = zip((*PHASES, "re-reading"), seconds.tolist(), strict=True)
        return Explanation(phases={name: value for name, value in named if value > 0.0})

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        wanted = completed(workload, self.profile)
        answers = self.answers(wanted)
        rows, at = answers.rows(batch, wanted)
        shares = answers.shares[int(at.family[0])]
        own = shares[1].weight if len(shares) > 1 else 0.0
        fit = heaviest(shares)
        found = [*at.notices, *run_notices(answers.runs, fit)]
        found += answers.beside_notices
        found += unusual_notices(self._unusual_here(wanted))
        found += parameter_notices(wanted, answers.names, answers.same, answers.runs, own)
        most = float(answers.joint.rows.iterations.max())
        ended = self._ends(batch, wanted, most)
        found += iteration_notices(wanted, answers.joint.rows, ended=ended)
        found += range_warnings(float(rows.size[0]), answers.tables, at)
        if not np.isnan(rows.machines[0]):
            unit = answers.tables[0].unit
            seen = answers.seen_by(fit, rows.taken(slice(1)))
            found += memory_notices(fit, seen, unit=unit, in_gib=answers.in_gib)
        if wanted.shuffle_partitions is not None:
            said = "run times tell nothing of shuffle partitions: they change nothing here"
            found.append(Notice("not-modelled", said, "add an event log"))
        return in_order(found)

    def _ends(self, batch: ClusterBatch, wanted: Workload, most: float) -> bool:
        """Whether more iterations than the most that were run are foretold to take no more time."""
        if wanted.iterations is None or wanted.iterations <= most:
            return False
        asked = (most, wanted.iterations)
        run, more = (self.forecast(batch, replace(wanted, iterations=n)).seconds[0] for n in asked)
        return bool(more <= NO_LONGER * run)


NO_LONGER = 1.01
"""So many times the time of fewer iterations is no more time."""


def _telling(runs: Sequence[Run], wanted: Workload) -> list[Run]:
    """The runs that tell everything that the question depends on."""
    telling = telling_runs(runs, wanted)
    if not telling:
        said = [*wanted.parameters, *(["iterations"] if wanted.iterations is not None else [])]
        remedy = "say them in every run, or leave them out"
        raise ModelDoesNotFit(f"no run says all of {', '.join(said)}", remedy=remedy)
    return telling


def _catalog(runs: Sequence[Run]) -> Catalog | None:
    found = [run.cluster.catalog for run in runs if run.cluster.catalog is not None]
    return found[0] if found else None


def _some(runs: Sequence[Run], wanted: Workload) -> list[Run]:
    """At most `MOST_RUNS`: evenly from those with the wanted parameters, then from the others."""
    if len(runs) <= MOST_RUNS:
        return list(runs)
    alike = [same_parameters(run.workload.parameters, wanted.parameters) for run in runs]
    own = _evenly([run for run, same in zip(runs, alike, strict=True) if same], MOST_RUNS)
    rest = [run for run, same in zip(runs, alike, strict=True) if not same]
    return own + _evenly(rest, MOST_RUNS - len(own))


def _evenly(runs: Sequence[Run], count: int) -> list[Run]:
    if len(runs) <= count:
        return list(runs)
    places = np.linspace(0, len(runs) - 1, count).round().astype(int)
    return [runs[place] for place in places]


def _varying(runs: Sequence[Run], wanted: Workload) -> list[str]:
    """Parameters that differ between runs: the effect of a constant one is unknown."""
    names = sorted(wanted.parameters)
    return [name for name in names if len({run.workload.parameters[name] for run in runs}) > 1]


def _alike(rows: Rows, wanted: Workload, names: Sequence[str]) -> BoolArray:
    """(r,) runs with the wanted parameters and iterations."""
    goal = np.asarray([wanted.parameters[name] for name in names])
    same = np.isclose(rows.parameters, goal, rtol=SAME, atol=SAME).all(axis=1)
    return np.asarray(same & np.isclose(rows.iterations, wanted.iterations or 1.0, rtol=SAME))


def _shares(rows: Rows, seconds: FloatArray, joint: RunTimes, own: BoolArray) -> tuple[Share, ...]:
    """The fit of all runs, and one of the type's own runs if there are enough."""
    picked = rows.taken(own)
    if own.all() or len(np.unique(picked.configurations, axis=0)) < FEW:
        return (Share(joint, 1.0),)
    alone = fit_run_times(picked, seconds[own], joint.run_weights[joint.places_of(picked)])
    if alone.inside is None or joint.inside is None:
        return (Share(joint, 1.0),)
    errors = joint.inside.errors[joint.places_of(alone.rows)]
    weights = weights_of(np.stack((errors, alone.inside.errors)), alone.run_weights)
    return Share(joint, float(weights[0])), Share(alone, float(weights[1]))


MOST_COUNTS = 8
"""Numbers of iterations through which the course goes; of more, some evenly."""


def counts_run(rows: Rows) -> dict[float, int]:
    """The numbers of iterations that runs did, in rising order, and how many runs did each: with
    any parameters, since what runs of others say of a number counts for the wanted ones too."""
    counts, runs = np.unique(rows.iterations, return_counts=True)
    places = np.linspace(0, len(counts) - 1, min(len(counts), MOST_COUNTS)).round().astype(int)
    return dict(zip(counts[places].tolist(), runs[places].tolist(), strict=True))


def iteration_course(told: Mapping[float, FloatArray], counts: Mapping[float, int]) -> FloatArray:
    """(k, n) mean log time of the answers for k numbers of iterations that were run, made not to
    fall with them.

    Args:
        told: (n,) what was answered for each number.
        counts: the numbers in rising order, and how many runs did each.
    """
    runs = np.asarray([*counts.values()], dtype=float)
    return rising(np.stack([told[count] for count in counts]), runs)


def apart(course: FloatArray, counts: Sequence[float], wanted: float) -> FloatArray:
    """(n,) by how much the course (k, n) rises from the next fewer iterations than the wanted ones
    to the next more, of k numbers of them; infinite where they are not between any two."""
    place = int(np.searchsorted(counts, wanted))
    if not 0 < place < len(counts):
        return np.full(course.shape[1], np.inf)
    return np.asarray(course[place] - course[place - 1])


def along_iterations(
    course: FloatArray,
    laws: Callable[[FloatArray], FloatArray],
    counts: Sequence[float],
    wanted: float,
) -> FloatArray:
    """(n,) mean log time for the wanted iterations: it never falls with them.

    Fits of one number of iterations answer where it was run, the fit of all numbers between them:
    from the one to the other the time fell for more iterations. So the answers for the numbers that
    were run are made not to fall, and the laws say how the time goes from one to the next; beyond
    them it follows the laws.

    Args:
        course: (k, n) mean log time for the numbers of iterations that were run.
        laws: (m, n) mean log time for m numbers of iterations by the laws after all runs.
        counts: (k,) these numbers, two or more.
    """
    if wanted in counts:
        return np.asarray(course[counts.index(wanted)])
    means = laws(np.asarray([*counts, wanted]))
    return along_laws(means[:-1], course, means[-1])
