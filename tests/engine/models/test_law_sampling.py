"""Following the likelihood of runs: how far its power rises in a step, and where that leads."""

from dataclasses import replace

import numpy as np
import pytest
from law_fits import changed, few_runs, mean_of, points

from engine.models.laws.averaging import averaged
from engine.models.laws.frame import Frame
from engine.models.laws.laws import MOST_DRAWN, drawn
from engine.models.laws.sampling import (
    STEPS,
    Evidence,
    along_difference,
    log_density,
    tempering_step,
)
from engine.models.laws.throws import Throw


def effective(density: np.ndarray, step: float) -> float:
    """Kish's sample size."""
    weights = np.exp(step * (density - density.max()))
    return float(weights.sum() ** 2 / (weights**2).sum())


@pytest.mark.parametrize("spread", [0.5, 3.0, 40.0, 3000.0])
@pytest.mark.parametrize("longest", [1.0, 0.2])
def test_a_step_leaves_just_as_many_effective_draws(spread: float, longest: float) -> None:
    density = -spread * np.random.default_rng(1).exponential(size=5000) ** 2
    step = tempering_step(density, longest, 500.0)
    if effective(density, longest) >= 500.0:
        assert step == longest
    else:
        assert effective(density, step - longest / STEPS) >= 500.0 > effective(density, step)


def test_the_laws_that_few_runs_leave_are_those_of_plain_importance_sampling() -> None:
    """Weighing every draw from the prior by its likelihood needs no moves; three runs leave enough
    of the draws some weight."""
    evidence = few_runs(3, first=610.0)
    wanted = points(np.asarray([6.0, 8.0, 24.0]), 2.0)
    prior = drawn(Frame.of(evidence.at), MOST_DRAWN, seed=7)
    residuals = evidence.log_seconds[:, None] - prior.log_times(evidence.at)
    density = log_density(evidence.misfit(residuals), 3)
    weights = np.exp(density - density.max())
    whole = prior.log_times(wanted) + 3.0 * evidence.coefficients(residuals)
    expected = whole @ weights / weights.sum()
    for seed in range(3):
        found = averaged(evidence, seed=seed)
        times = mean_of(found, wanted) + 3.0 * found.effects.mean()
        assert times == pytest.approx(expected, abs=0.06)


def test_random_numbers_hardly_matter_where_runs_leave_two_kinds_of_laws() -> None:
    """Whether data fits on six machines is open: 4 are too few for it, 12 enough. Plain importance
    sampling with 50,000 draws is off by 0.2 there."""
    at = points(np.asarray([6.0, 8.0, 24.0]), 2.0)
    found = [averaged(few_runs(5), seed=seed) for seed in range(6)]
    times = [mean_of(one, at) + 3.0 * one.effects.mean() for one in found]
    assert np.std(times, axis=0).max() < 0.14


def test_random_numbers_decide_little_of_where_a_cliff_lies_among_many_runs() -> None:
    """Three times the data is on the cliff of two machines and twice is not: of what lies between,
    0.6 of log time hung on the random numbers while a cliff moved by being drawn afresh alone."""
    machines, sizes = np.tile([2.0, 4.0, 6.0, 8.0, 10.0, 12.0], 4), np.repeat([1, 1.5, 2, 3], 6)
    seconds = 30.0 + 400.0 * sizes / machines
    seconds[(machines == 2.0) & (sizes == 3.0)] *= 12.0
    logs = np.log(seconds) + 0.02 * np.random.default_rng(3).normal(size=len(seconds))
    evidence = Evidence(points(machines, sizes), logs - logs.mean(), np.full((24, 1), 3.0))
    at = points(np.asarray([2.0]), 2.5)
    found = [averaged(evidence, seed=seed) for seed in range(20)]
    times = [mean_of(one, at)[0] + 3.0 * one.effects.mean() for one in found]
    assert np.std(times) < 0.4


def test_cliffs_move_within_the_piece_of_the_prior_that_two_laws_share_with_them() -> None:
    frame = Frame.of(few_runs(5).at)
    laws = drawn(frame, 4000, seed=1)
    throw = Throw.of(np.random.default_rng(2), len(laws))
    moved = along_difference(laws, throw)
    edges = frame.thresholds[0]
    piece, after = (np.searchsorted(edges, at, side="right") for at in (laws.cliff, moved))
    np.testing.assert_array_equal(piece, after)
    alike = (piece[throw.a] == piece) & (piece[throw.b] == piece) & (piece > 1)
    alike &= throw.step > 0.0
    np.testing.assert_allclose(moved[~alike], laws.cliff[~alike], rtol=1e-12)
    assert np.mean(moved[alike] != laws.cliff[alike]) > 0.99


def test_the_way_back_of_a_cliff_is_the_way_there_the_other_way_round() -> None:
    """Each law by itself: the two whose difference it takes stay where they are."""
    laws, random = drawn(Frame.of(few_runs(5).at), 300, seed=1), np.random.default_rng(2)
    for place in range(40):
        throw = Throw.of(random, len(laws))
        one = replace(throw, step=np.where(np.arange(len(laws)) == place, throw.step, 0.0))
        if place in (throw.a[place], throw.b[place]):
            continue
        there = changed(laws, cliff=along_difference(laws, one))
        back = along_difference(there, replace(one, a=one.b, b=one.a))
        np.testing.assert_allclose(back, laws.cliff, rtol=1e-9)


def test_many_narrow_runs_find_their_law_whatever_the_random_numbers() -> None:
    """Few of the prior's draws come near sixty runs without noise; the steps lead there."""
    machines = np.tile([2.0, 3.0, 5.0, 8.0, 13.0, 21.0], 10)
    at = points(machines, np.repeat(np.linspace(0.2, 2.0, 10), 6))
    seconds = 30.0 + 400.0 * at.size / at.machines + 25.0 * at.size
    logs = np.log(seconds)
    evidence = Evidence(at, logs - logs.mean(), np.full((60, 1), 3.0))
    for seed in range(4):
        left_out = averaged(evidence, seed=seed).residuals_left_out
        assert np.std(left_out, axis=1).max() < 0.02
