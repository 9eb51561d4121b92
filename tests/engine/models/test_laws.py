"""The prior over laws, and their posterior given runs."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from law_fits import (
    MACHINES,
    changed,
    few_runs,
    first_in_double_precision,
    fitted,
    grid,
    mean_of,
    one_law,
    points,
    prior_laws,
)
from scipy import stats

from engine.forecast import FloatArray
from engine.models.laws.averaging import law_posterior
from engine.models.laws.laws import (
    CLIFF_HEIGHT,
    CLIFF_HEIGHT_SPREAD,
    GRADUAL_SPREAD,
    ONCE_SPREAD,
    READING_SPREAD,
    SHARES,
    mean_log,
)
from engine.models.laws.observations import NOISE_SCALE, Observations, log_likelihood
from engine.models.laws.prior_laws import MOST_PRIOR_DRAWS, stratified_prior_laws
from engine.models.laws.proposals import Proposals, ProposalStream
from engine.models.laws.reference_frame import CLIFF_REACH, ReferenceFrame
from engine.models.laws.sampling import Likelihood
from engine.models.laws.terms import PHASES, Points, terms


def test_terms_are_those_of_ernest_counted_by_cores_and_shared_work_by_machines() -> None:
    at = Points(*(np.asarray([value]) for value in (8.0, 2.0, 1.0, 0.5, 1.0)))
    expected = [1.0, 0.5 / 16.0, np.log(8.0), 8.0, np.sqrt(8.0), 0.5, 0.5 / 256.0, 0.5 / 8.0]
    expected.append(0.5 / 4.0)  # work that grows with the square root of the cores
    expected += [0.5 / 16.0 * 7.0 / 8.0, 0.5 / 16.0 * 5.0 / 8.0]  # one copy of the data, and three
    assert terms(at)[0] == pytest.approx(expected)


def test_the_time_of_one_law() -> None:
    frame = ReferenceFrame.of(grid())
    parallel = float(grid().size.mean() / MACHINES.min())
    at = points(np.asarray([4.0]))
    found = one_law(frame).log_times(at)[0, 0]
    assert np.exp(found) == pytest.approx(1.0 + 0.25 / parallel)
    middle = one_law(frame, threshold_place=0.85)
    assert middle.threshold[0] == pytest.approx(frame.low + (frame.high - frame.low) * 0.75)
    below = points(np.asarray([2.0]), 1.0)
    assert np.exp(middle.log_times(below)[0, 0]) == pytest.approx(1.0 + 4.0 * 0.5 / parallel)


@pytest.mark.parametrize("term", [1, 6, 7])
def test_all_shared_work_is_done_again_as_often_as_the_cliff_is_high(term: int) -> None:
    """Three times more: four times the work in all, whatever the work waits for."""
    frame = ReferenceFrame.of(three_shapes())
    shares = np.full((1, len(SHARES)), -40.0)
    shares[0, term] = 0.0
    law = changed(one_law(frame, threshold_place=0.999), log_shares=shares)
    flat = changed(law, cliff=np.zeros(1))
    at = three_shapes().take(slice(0, 1))
    for logit, again_as in ((-40.0, 6 if term == 6 else 1), (40.0, 6 if term == 6 else 7)):
        moved = changed(law, logit_reading=np.asarray([logit]))
        extra_work = np.exp(moved.log_times(at)) - np.exp(flat.log_times(at))
        assert extra_work[0, 0] == pytest.approx(3.0 * frame.relative(at)[0, again_as], rel=1e-9)


@pytest.mark.parametrize(("logit", "part"), [(40.0, 1.0), (0.0, 0.5), (-40.0, 0.0)])
def test_what_is_done_again_goes_with_the_data_that_does_not_fit(logit: float, part: float) -> None:
    """Half of what fits in all is half of the data; so much is done again, or all at once, or a
    share of each. Where all fits nothing is."""
    frame = ReferenceFrame.of(grid())
    law = changed(one_law(frame, threshold_place=0.999), logit_gradual=np.asarray([logit]))
    threshold = law.threshold[0]
    at = threshold + np.log(np.asarray([2.0, 1.0, 0.999999, 0.5, 0.1]))
    expected = [0.0, 0.0, 1.0 - part, 1.0 - 0.5 * part, 1.0 - 0.1 * part]
    assert law.extra_share(at, slice(None))[:, 0] == pytest.approx(expected, abs=1e-5)
    assert law.extra_share(at[-2:], np.asarray([0]))[:, 0] == pytest.approx(expected[-2:])


def test_the_prior_is_the_density_that_laws_are_drawn_from() -> None:
    """Up to a constant: gamma shares, and normal logarithms of the height and logits."""
    laws = prior_laws(ReferenceFrame.of(grid()), 40, seed=6)
    expected = (
        stats.loggamma(SHARES, np.log(laws.frame.scales)).logpdf(laws.log_shares).sum(axis=1)
        + stats.norm(np.log(CLIFF_HEIGHT), CLIFF_HEIGHT_SPREAD).logpdf(laws.log_height)
        + stats.norm(0.0, ONCE_SPREAD).logpdf(laws.logit_once)
        + stats.norm(0.0, READING_SPREAD).logpdf(laws.logit_reading)
        + stats.norm(0.0, GRADUAL_SPREAD).logpdf(laws.logit_gradual)
        + stats.norm().logpdf(laws.stop)
        + stats.norm(0.0, ONCE_SPREAD).logpdf(laws.logit_once_fixed)
    )
    found = laws.log_prior
    assert found - found[0] == pytest.approx(expected - expected[0], abs=1e-9)


def test_cliffs_reach_beyond_the_runs_as_far_on_both_sides() -> None:
    frame = ReferenceFrame.of(grid())
    places = np.asarray([0.9 + 1e-12, 0.95 - 1e-12, 0.95 + 1e-12, 1.0 - 1e-12])
    found = [one_law(frame, threshold_place=place).threshold[0] for place in places.tolist()]
    expected = (
        frame.low,
        frame.low - CLIFF_REACH,
        frame.high,
        frame.high + CLIFF_REACH,
    )
    assert found == pytest.approx(expected, abs=1e-6)


def three_shapes() -> Points:
    """4, 8 and 16 cores in a machine, 4 GiB per core, on 4 and more machines at two sizes."""
    cores = np.repeat([1.0, 2.0, 4.0], 8)
    machines = np.tile(np.repeat([4.0, 8.0, 16.0, 32.0], 2), 3)
    return Points(machines, cores, cores, np.tile([0.5, 1.0], 12), np.ones(24))


def test_what_is_done_again_waits_for_cores_or_for_machines() -> None:
    """A law without a share of the machines: below its cliff the other three quarters of the work
    are shared by cores, by machines or by both."""
    at = three_shapes()
    frame = ReferenceFrame.of(at)
    law = one_law(frame, threshold_place=0.999)
    parallel, disks = at.size / (at.machines * at.cores), at.size / at.machines
    parallel, disks = parallel / (at.size.mean() / 4.0), disks / (at.size.mean() / 4.0)
    assert np.all(at.memory_per_input < law.threshold[0])
    for logit, share in ((-40.0, 0.0), (0.0, 0.5), (40.0, 1.0)):
        found = changed(law, logit_reading=np.asarray([logit])).log_times(at)[:, 0]
        extra_work = 3.0 * ((1.0 - share) * parallel + share * disks)
        assert np.exp(found) == pytest.approx(1.0 + parallel + extra_work)


def shared_at_first(at: Points) -> FloatArray:
    """(d,) share of the time on the first point that cores or machines share, before any run."""
    fewest = at.take(slice(0, 1)).with_size(float(at.size.mean()))
    phases = prior_laws(ReferenceFrame.of(at), MOST_PRIOR_DRAWS, seed=1).phases(fewest)
    names = (*PHASES, "re-reading")
    kinds = ("parallel", "memory pressure", "disk and network", "re-reading")
    kinds = (*kinds, "remote shuffle", "remote blocks")
    return np.asarray(phases[:, [names.index(kind) for kind in kinds]].sum(axis=1))


def test_where_runs_begin_most_of_the_time_is_shared_before_any_run_says_so() -> None:
    """Wherever the other runs are: the prior is that of the fewest cores."""
    for at in (grid(), points(np.asarray([2.0])), points(np.asarray([2.0, 64.0]))):
        assert shared_at_first(at).mean() == pytest.approx(0.84, abs=0.02)


@pytest.mark.parametrize(
    ("cores", "expected"), [(1.0, 0.86), (4.0, 0.80), (16.0, 0.72), (64.0, 0.63), (256.0, 0.53)]
)
def test_the_more_cores_runs_begin_on_the_less_of_the_time_is_shared(
    cores: float, expected: float
) -> None:
    """Told in cores: whether one machine has them all or each has one."""
    one = np.ones(1)
    for machines in {1.0, cores}:
        at = Points(machines * one, cores / machines * one, one, one, one)
        assert shared_at_first(at).mean() == pytest.approx(expected, abs=0.02)


def test_one_run_on_one_core_is_not_told_that_a_third_is_serial() -> None:
    """Sixteen times the cores bring more to a job that was run on one than to one run on 256."""
    faster = []
    for first in (1.0, 256.0):
        laws = prior_laws(ReferenceFrame.of(points(np.asarray([first]))), MOST_PRIOR_DRAWS, seed=1)
        times = laws.log_times(points(np.asarray([first, 16.0 * first]))).mean(axis=1)
        faster.append(float(np.exp(times[0] - times[1])))
    assert 8.0 < faster[0] < 11.0
    assert 2.0 < faster[1] < 3.0


def test_machines_of_one_size_do_not_tell_what_waits_for_them() -> None:
    """Then nothing is said to, and a machine of more cores does all shared work faster."""
    laws = prior_laws(ReferenceFrame.of(grid()), 500, seed=5)
    other = changed(laws, logit_reading=laws.logit_reading[::-1].copy())
    many = replace(grid(), cores=np.full(15, 4.0))
    times = laws.log_times(many)
    assert other.log_times(many) == pytest.approx(times, abs=1e-9)
    shared = np.full((1, len(SHARES)), -40.0)
    shared[0, 7] = 0.0
    law = changed(laws.take(np.asarray([0])), log_shares=shared, cliff=np.zeros(1))
    faster = law.log_times(grid()) - law.log_times(many)
    assert faster == pytest.approx(np.full((15, 1), np.log(4.0)), abs=1e-6)
    assert laws.phases(grid()).T[PHASES.index("disk and network")] == pytest.approx(np.zeros(500))
    told = prior_laws(ReferenceFrame.of(three_shapes()), 500, seed=5).phases(three_shapes())
    assert told.T[PHASES.index("disk and network")].max() > 0.5


def test_reading_again_is_learnt_to_wait_for_machines() -> None:
    """Data that does not fit is read from the disk of each machine: as quick on machines of four
    times the cores, where a quarter of the time was predicted."""
    at = replace(three_shapes(), memory=np.ones(24))
    fits = at.machines / at.size > 10.0
    seconds = 100.0 * np.where(fits, 1.0 / at.cores, 6.0) * at.size / at.machines
    features = at.cores < 4.0
    wanted = Points(*(values[~features & ~fits] for values in astuple(at)))
    found = fitted(Points(*(values[features] for values in astuple(at))), seconds[features])
    level = np.log(seconds[features]).mean() + found.residuals.mean()
    expected = np.log(seconds[~features & ~fits])
    assert len(expected) >= 3
    assert mean_of(found, wanted) + level == pytest.approx(expected, abs=0.35)


def test_cliffs_are_as_probable_as_the_prior_says() -> None:
    laws = prior_laws(ReferenceFrame.of(grid()), 40_000, seed=1)
    frame, threshold = laws.frame, laws.threshold
    assert np.mean(np.isinf(threshold)) == pytest.approx(0.70, abs=0.01)
    inside = (threshold >= frame.low) & (threshold <= frame.high)
    assert np.mean(inside) == pytest.approx(0.20, abs=0.01)
    assert np.mean(threshold > frame.high) == pytest.approx(0.05, abs=0.005)


def test_each_part_of_the_stratified_prior_has_one_cliff() -> None:
    """However many are drawn, so that chance decides little of how many laws have one where."""
    for count in (7, 1_000, MOST_PRIOR_DRAWS):
        laws = stratified_prior_laws(ReferenceFrame.of(grid()), count, seed=4)
        cliffs = laws.take(np.arange(count)).cliff.astype(np.float64)
        np.testing.assert_array_equal(cliffs, laws.cliff)
        parts = np.floor(count * cliffs[::-1] + 1e-6 * count * np.asarray([-1.0, 1.0])[:, None])
        assert np.all((parts[0] <= np.arange(count)) & (np.arange(count) <= parts[1]))


@pytest.mark.parametrize(("runs", "inside"), [(1, 0.0), (2, 0.2), (3, 0.2)])
def test_a_cliff_is_sought_between_any_two_runs(runs: int, inside: float) -> None:
    """Of one alone, or several of the same memory per input, it may lie on either side."""
    laws = prior_laws(ReferenceFrame.of(points(MACHINES[:runs])), 20_000, seed=1)
    frame, threshold = laws.frame, laws.threshold
    between = (threshold > frame.low) & (threshold < frame.high)
    assert np.mean(between) == pytest.approx(inside, abs=0.01)
    assert np.mean(np.isinf(threshold)) == pytest.approx(0.90 - inside, abs=0.01)


@pytest.mark.parametrize("runs", [2, 3])
def test_what_no_sharing_explains_is_a_cliff(runs: int) -> None:
    """Six times the machines take a 47th of the time: nothing is gained by sharing that would be
    more than six. What was measured where data fits holds there, and half as much data on two
    machines need not be as slow as a sixth of what was measured on them says."""
    at = points(np.asarray([12.0, 2.0, 2.0])[:runs], np.asarray([3.0, 3.0, 1.0])[:runs])
    logs = np.log(np.asarray([124.0, 5830.0, 316.0])[:runs])
    found = law_posterior(Observations(at, logs - logs.mean(), np.full((runs, 1), 3.0)))
    level = logs.mean() + 3.0 * found.effects.mean()
    extra_work = np.exp(mean_of(found, at) + level)
    assert extra_work == pytest.approx(np.exp(logs), rel=0.1)
    wide = points(np.asarray([10.0]), 3.0)
    assert np.exp(mean_of(found, wide) + level) == pytest.approx(140.0, rel=0.25)


@pytest.mark.parametrize("laws", [1, 7, 8, 300, 301])
def test_the_mean_logarithm_is_that_of_each_value(laws: int) -> None:
    values = np.exp(np.random.default_rng(laws).uniform(-60.0, 60.0, (laws, 5)))
    assert mean_log(values) == pytest.approx(np.log(values).mean(axis=0), rel=1e-12, abs=1e-12)


def test_every_law_grows_with_the_size() -> None:
    laws = prior_laws(ReferenceFrame.of(grid()), 500, seed=2)
    times = np.stack([laws.log_times(points(MACHINES, size)) for size in (0.1, 0.3, 1.0, 5.0)])
    assert np.all(np.diff(times, axis=0) >= -1e-12)


def test_phases_add_up_to_the_whole() -> None:
    laws = prior_laws(ReferenceFrame.of(grid()), 50, seed=3)
    assert laws.phases(points(MACHINES[:1])).sum(axis=1) == pytest.approx(np.ones(50))


def test_the_misfit_is_that_of_least_squares_with_the_priors() -> None:
    """Against the plain definition: residuals' K^-1 residuals with K = I + X X' / noise^2."""
    random = np.random.default_rng(4)
    observations = Observations(grid(), np.zeros(15), random.normal(size=(15, 3)))
    residuals = random.normal(size=(15, 6))
    x = observations.effects / NOISE_SCALE
    inverse = np.linalg.inv(np.eye(15) + x @ x.T)
    expected = np.einsum("rd,rs,sd->d", residuals, inverse, residuals)
    assert observations.misfit(residuals) == pytest.approx(expected)
    assert observations.precision == pytest.approx(inverse)
    assert observations.weighted_by_precision(residuals) == pytest.approx(inverse @ residuals)


def test_leave_one_out_by_weights_agrees_with_fitting_again() -> None:
    """Without a run, the laws say what laws that never saw it say."""
    at = grid()
    random = np.random.default_rng(5)
    seconds = (40.0 + 600.0 * at.size / at.machines) * np.exp(0.03 * random.normal(size=len(at)))
    whole = fitted(at, seconds)
    for place in (0, 7, 14):
        kept = np.arange(len(at)) != place
        extra_work = fitted(points(at.machines[kept], at.size[kept]), seconds[kept])
        shape = mean_of(extra_work, at) - mean_of(extra_work, at)[kept].mean()
        logs = np.log(seconds) - np.log(seconds).mean()
        direct = logs - logs[kept].mean() - shape
        weighted = whole.residuals_left_out[place]
        assert weighted - weighted[kept].mean() == pytest.approx(direct, abs=0.03)


def test_the_likelihood_in_blocks_is_that_of_each_law() -> None:
    observations = few_runs(5)
    frame = ReferenceFrame.of(observations.points)
    first = first_in_double_precision(frame, MOST_PRIOR_DRAWS, seed=3)
    laws = first.take(np.arange(len(first)))
    likelihood = Likelihood(observations, frame.features(observations.points))
    some = np.asarray([0, 1, 20_000, MOST_PRIOR_DRAWS - 1])
    residuals = observations.log_seconds[:, None] - laws.take(some).log_times(observations.points)
    expected = log_likelihood(observations.misfit(residuals), 5)
    for draws in (laws, first):  # these have shares of scale 1 until some are taken
        found = likelihood.scored(draws, likelihood.log_times(draws)).log_likelihood
        assert found[some] == pytest.approx(expected, rel=1e-9)
    np.testing.assert_array_equal(first.take(some).parameters, laws.take(some).parameters)


def test_cached_random_numbers_are_those_of_the_generator() -> None:
    """In the order of one generator, whatever other fits asked for before."""
    random = np.random.default_rng(6)
    offset, proposals = random.random(), Proposals.of(random, 10)
    last = random.random()
    for _ in range(2):
        stream = ProposalStream(6, 10)
        assert stream.offset() == offset
        assert np.array_equal(stream.proposals().jitter, proposals.jitter)
        assert stream.offset() == last
    other = ProposalStream(6, 10)
    assert other.offset() == offset
    assert other.offset() != last


def test_likelihood_integrates_the_noise() -> None:
    """Doubling a large misfit costs half the degrees of freedom times log 2."""
    change = log_likelihood(np.asarray(1e6), 10) - log_likelihood(np.asarray(2e6), 10)
    assert change == pytest.approx(0.5 * (9 + 4) * np.log(2.0), rel=1e-6)


@pytest.mark.parametrize("serial", [0.05, 0.5])
def test_the_dependence_on_machines_is_recovered(serial: float) -> None:
    at = grid()
    truth = serial + (1.0 - serial) * 2.0 * at.size / at.machines
    wanted = points(np.asarray([3.0, 6.0, 24.0]), 0.7)
    expected = np.log(serial + (1.0 - serial) * 2.0 * 0.7 / wanted.machines)
    found = fitted(at, truth)
    level = np.log(truth).mean() + found.residuals.mean()
    assert mean_of(found, wanted) + level == pytest.approx(expected, abs=0.04)


def test_a_cliff_is_found_where_it_is() -> None:
    """Four times the work below four machines per unit of size: seen in the mean and in its
    probability on either side."""
    at = points(np.tile([2.0, 4.0, 8.0, 16.0, 32.0], 3), np.repeat([0.25, 1.0, 2.0], 5))
    per_input = at.machines / at.size
    work = 100.0 * at.size / at.machines * np.where(per_input < 6.0, 4.0, 1.0)
    found = fitted(at, 10.0 + work)
    low, high = (found.cliff_at(np.log(x), at.memory_per_input) for x in (3.9, 8.1))
    assert low.probability > 0.9
    assert high.probability < 0.1
    assert 2.0 < low.slowdown < 4.5


def test_the_same_runs_give_the_same_laws() -> None:
    at = grid()
    seconds = 10.0 + 100.0 * at.size / at.machines
    assert np.array_equal(mean_of(fitted(at, seconds), at), mean_of(fitted(at, seconds), at))


def test_laws_are_drawn_from_their_prior() -> None:
    laws = prior_laws(ReferenceFrame.of(grid()), MOST_PRIOR_DRAWS, seed=0)
    for values, middle, spread in (
        (laws.log_height, np.log(CLIFF_HEIGHT), CLIFF_HEIGHT_SPREAD),
        (laws.logit_once, 0.0, ONCE_SPREAD),
        (laws.logit_reading, 0.0, READING_SPREAD),
        (laws.logit_gradual, 0.0, GRADUAL_SPREAD),
        (laws.stop, 0.0, 1.0),
        (laws.logit_once_fixed, 0.0, ONCE_SPREAD),
    ):
        assert stats.kstest((values - middle) / spread, "norm").pvalue > 1e-3
