"""Laws of iterations: what is done once, what with each, and where a loop converges."""

from dataclasses import replace

import numpy as np
import pytest
from law_fits import changed, fitted, grid, mean_of, one_law, points

from engine.forecast import FloatArray
from engine.models.laws.laws import CONVERGENCE_QUANTILE
from engine.models.laws.prior_laws import MOST_PRIOR_DRAWS, prior_laws
from engine.models.laws.reference_frame import MOST_ITERATION_COLUMNS, ReferenceFrame
from engine.models.laws.terms import Points

OFTEN = np.asarray([5.0, 10.0, 20.0])


def iterated(at: Points, *counts: float) -> Points:
    """The points with each of the numbers in turn."""
    return replace(at, iterations=np.resize(counts, len(at)))


def test_half_of_one_law_is_done_once_whatever_the_iterations() -> None:
    """A logit of 0: half is done once, half as often as there are iterations."""
    law = one_law(ReferenceFrame.of(iterated(grid(), 10.0)))
    expected = np.log([0.5 + 0.25, 1.0, 0.5 + 1.0])
    at = replace(points(np.full(3, 4.0)), iterations=OFTEN)
    times = law.log_times(at)[:, 0]
    assert times - times[1] == pytest.approx(expected)


def test_what_does_not_grow_with_the_size_is_done_once_to_a_share_of_its_own() -> None:
    """1 + z / p: all of the first is done once, all of the second with each of 20 iterations."""
    frame = ReferenceFrame.of(iterated(grid(), 1.0, 5.0, 20.0))
    law = changed(one_law(frame), logit_once_fixed=40.0, logit_once=-40.0)
    parallel = float(grid().size.mean() / grid().machines.min())
    at = iterated(points(np.asarray([2.0, 4.0, 64.0])), *OFTEN)
    expected = np.log(1.0 + OFTEN / 20.0 / at.machines / parallel)
    assert law.log_times(at)[:, 0] == pytest.approx(expected)


def test_runs_of_one_number_of_iterations_have_one_share_for_both() -> None:
    """Nothing tells them apart: what is done once of the time that does not grow with the size does
    not count."""
    law = one_law(ReferenceFrame.of(iterated(grid(), 10.0)))
    at = replace(points(np.full(3, 4.0)), iterations=OFTEN)
    other = changed(law, logit_once_fixed=3.0)
    assert np.array_equal(law.log_times(at), other.log_times(at))


def test_the_phases_at_few_iterations_are_mostly_what_is_done_once() -> None:
    frame = ReferenceFrame.of(iterated(grid(), 1.0, 20.0))
    law = changed(one_law(frame), logit_once_fixed=40.0, logit_once=-40.0)
    at = points(np.asarray([2.0]))
    few, many = (law.phases(iterated(at, count))[0] for count in (1.0, 20.0))
    assert few[1] / few[0] == pytest.approx(many[1] / many[0] / 20.0)
    assert few.sum() == pytest.approx(1.0)


def test_many_iterations_at_once_are_the_mean_of_each_law_s_own_time() -> None:
    """Of laws with and without cliffs, for numbers that all points share and for their own."""
    frame = ReferenceFrame.of(iterated(grid(), 1.0, 5.0, 20.0))
    laws, at = prior_laws(frame, 400, seed=3), points(np.asarray([1.0, 2.0, 5.0, 32.0]))
    laws = changed(laws, cliff=np.where(laws.cliff < 0.95, 0.0, laws.cliff))
    counts, sizes = np.asarray([1.0, 3.0, 20.0, 50.0]), np.asarray([0.1, 1.0, 4.0])
    effects = np.zeros((len(at), len(laws)))
    shared = laws.mean_log_times(at, effects, sizes, counts[:, None])
    (own,) = laws.mean_log_times(at, effects, sizes, counts[None])
    for place, size in enumerate(sizes):
        for number, count in enumerate(counts):
            expected = laws.log_times(iterated(at.with_size(float(size)), count)).mean(axis=1)
            assert shared[number, place] == pytest.approx(expected, abs=1e-9)
            assert own[place, number] == pytest.approx(expected[number], abs=1e-9)


def test_many_numbers_of_iterations_have_the_times_of_few() -> None:
    """Each on its own, and more of them at once than have columns of their own."""
    counts = np.arange(1.0, 16.0)
    at = replace(grid(), iterations=counts)
    frame = ReferenceFrame.of(at)
    assert len(counts) > MOST_ITERATION_COLUMNS
    laws = prior_laws(frame, 50, seed=2)
    alone = [laws.log_times(at.take(slice(place, place + 1)))[0] for place in range(len(at))]
    assert laws.log_times(at) == pytest.approx(np.stack(alone), abs=1e-9)


def test_a_start_that_no_iteration_repeats_is_recovered() -> None:
    """20 s once and 0.5 + 60 / machines with each iteration: predicted within 4 % of log time, for
    numbers that were run and for others; with one share for both terms up to 29 % off."""
    at = iterated(points(np.repeat([2.0, 4.0, 8.0, 16.0], 3)), 1.0, 5.0, 20.0)

    def took(where: Points) -> FloatArray:
        return 20.0 + where.iterations * (0.5 + 60.0 / where.machines)

    found = fitted(at, took(at))
    level = np.log(took(at)).mean() + found.residuals.mean()
    for counts in ((1.0, 5.0, 20.0), (2.0, 10.0, 30.0)):
        asked = iterated(points(np.repeat([3.0, 6.0, 16.0], 3)), *counts)
        off = mean_of(found, asked) + level - np.log(took(asked))
        assert np.abs(off).max() < 0.04


def test_a_loop_that_has_converged_does_no_more_iterations() -> None:
    """Half is done once, half with each iteration: of 64 as most of the runs had, the loop does 8,
    three quarters of the range 4 to 64 below; a law whose loop does not converge has no end."""
    law = one_law(ReferenceFrame.of(iterated(grid(), 4.0, 16.0, 64.0)))
    told = np.asarray([4.0, 8.0, 16.0, 64.0, 256.0])
    relative = told[:, None] / 64.0
    convergence = changed(law, stop=np.asarray([-CONVERGENCE_QUANTILE - 0.75]))
    for stopped in convergence.iteration_factors(relative):
        assert stopped[:, 0] == pytest.approx([0.75, 1.0, 1.0, 1.0, 1.0])
    for endless in law.iteration_factors(relative):
        assert endless[:, 0] == pytest.approx(0.5 + 0.5 * told / 64.0)


def test_runs_of_one_number_of_iterations_say_nothing_of_where_a_loop_ends() -> None:
    """So nothing moves it, nor what is done once of the time that does not grow with the size: such
    laws are what they were before."""
    at = grid()
    found = fitted(at, 20.0 + 100.0 * at.size / at.machines).laws
    prior = prior_laws(ReferenceFrame.of(at), MOST_PRIOR_DRAWS, seed=0)
    assert np.isin(found.stop, prior.stop).all()
    assert np.isin(found.logit_once_fixed, prior.logit_once_fixed).all()
