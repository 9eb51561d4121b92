"""Candidate models of run times: weights, validation by the question, monotone sizes."""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import t as student
from watched import calls_of

from engine.forecast import FloatArray
from engine.models.laws.candidate_models import CandidateModels, pseudo_bma_weights
from engine.models.laws.encoding import Encoding, Rows
from engine.models.laws.iterations import interpolated_along_laws
from engine.models.laws.machine_interpolation import BLOCK_ROWS
from engine.models.laws.run_times import RunTimeFit, fit_run_times


def rows(machines: FloatArray, size: FloatArray, parameter: FloatArray | None = None) -> Rows:
    one = np.ones_like(machines)
    parameters = np.zeros((len(machines), 0)) if parameter is None else parameter[:, None]
    kind = np.zeros(len(machines), dtype=np.int64)
    return Rows(machines, one, one, size, one, kind, kind, parameters, one)


def grid(sizes: tuple[float, ...] = (0.25, 0.5, 1.0)) -> Rows:
    machines = np.asarray([2.0, 4.0, 8.0, 16.0, 32.0])
    return rows(np.tile(machines, len(sizes)), np.repeat(sizes, len(machines)))


def fitted(noise: float = 0.02, seed: int = 0) -> RunTimeFit:
    at = grid()
    random = np.random.default_rng(seed)
    seconds = (30.0 + 900.0 * at.size / at.machines) * np.exp(noise * random.normal(size=len(at)))
    return fit_run_times(at, seconds)


def test_the_smaller_errors_get_the_weight() -> None:
    errors = np.stack((np.full(12, 0.2), np.full(12, 0.05)))
    assert pseudo_bma_weights(errors, np.ones(errors.shape[1]))[1] > 0.99
    assert pseudo_bma_weights(errors[::-1], np.ones(errors.shape[1]))[0] > 0.99


def test_equal_errors_leave_the_default_ahead() -> None:
    weights = pseudo_bma_weights(np.full((2, 8), 0.05), np.ones(8))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > weights[1] > 0.2


def test_errors_below_noise_decide_nothing() -> None:
    """0.1 % against 0.5 % on five runs: both are right."""
    weights = pseudo_bma_weights(np.stack((np.full(5, 0.005), np.full(5, 0.001))), np.ones(5))
    assert weights[0] > 0.5


@pytest.mark.parametrize("doubted", [False, True])
def test_the_runs_own_times_are_those_of_any_row(doubted: bool) -> None:
    """Of one size, so that no mean is made monotone; one half of them beyond a cliff."""
    at = rows(np.asarray([1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0]), np.ones(9))
    seconds = (30.0 + 900.0 / at.machines) * np.where(at.machines < 5.0, 6.0, 1.0)
    seconds *= np.exp(0.05 * np.random.default_rng(3).normal(size=len(at)))
    fit = fit_run_times(at, seconds, np.where(doubted & (at.machines == 6.0), 0.1, 1.0))
    found, expected = fit.at_runs, fit.moments(fit.rows)
    for part, of_rows in zip(found, expected, strict=True):
        assert part == pytest.approx(of_rows, rel=1e-4, abs=1e-5)


def test_validations_are_weighted_by_the_measured_range() -> None:
    asked = rows(np.asarray([8.0, 64.0, 8.0, 64.0]), np.asarray([1.0, 1.0, 3.0, 3.0]))
    weights = fitted().extrapolation(asked).mean_weights(asked.size)
    assert [[kind for kind in weights if weights[kind][row]] for row in range(4)] == [
        ["inside"],
        ["machines"],
        ["size"],
        ["size"],
    ]


def test_half_a_doubling_beyond_the_range_is_half_way_between() -> None:
    asked = rows(np.asarray([32.0 * 2.0**0.5, 32.0, 64.0]), np.asarray([1.0, 2.0**0.25, 2.0**0.25]))
    weights = fitted().extrapolation(asked).mean_weights(asked.size)
    assert weights["inside"] == pytest.approx([0.5, 0.75, 0.0])
    assert weights["machines"] == pytest.approx([0.5, 0.0, 0.75])
    assert weights["size"] == pytest.approx([0.0, 0.25, 0.25])


def test_half_a_doubling_beyond_the_range_is_a_quarter_of_the_variance() -> None:
    """Errors grow in proportion to how far outside one asks, the mean goes half of the way."""
    asked = rows(np.asarray([32.0 * 2.0**0.5, 32.0, 64.0]), np.asarray([1.0, 2.0**0.25, 2.0**0.25]))
    weights = fitted().extrapolation(asked).variance_weights(asked.size)
    assert weights["inside"] == pytest.approx([0.75, 15.0 / 16.0, 0.0])
    assert weights["machines"] == pytest.approx([0.25, 0.0, 15.0 / 16.0])
    assert weights["size"] == pytest.approx([0.0, 1.0 / 16.0, 1.0 / 16.0])


def test_more_input_on_more_machines_than_measured_is_no_surer() -> None:
    """Runs of more machines are missed by far, those of more input are not: of a question beyond
    both, the first says how sure it is."""
    at = grid()
    bend = np.where(at.machines > 8.0, 1.6, 1.0)
    noise = np.exp(0.02 * np.random.default_rng(1).normal(size=len(at)))
    model = fit_run_times(at, (30.0 + 900.0 * at.size / at.machines) * bend * noise)
    sizes = np.asarray([1.0, 1.2, 1.5, 2.0, 3.0])
    _, scale, dof = model.moments(rows(np.full(5, 128.0), sizes))
    width = scale[1] * student.ppf(0.95, dof)
    assert (np.diff(width) > -0.02 * width[:-1]).all()


def bent() -> RunTimeFit:
    """Runs whose laws change within the range: those left out beyond it are missed by far."""
    at = grid()
    bend = np.where((at.machines > 8.0) | (at.size > 0.5), 1.4, 1.0)
    noise = np.exp(0.03 * np.random.default_rng(1).normal(size=len(at)))
    return fit_run_times(at, (30.0 + 900.0 * at.size / at.machines) * bend * noise)


def further(times: FloatArray, along: str) -> Rows:
    """So many times the most machines, or the largest size, of a grid."""
    one = np.ones_like(times)
    return rows(32.0 * times, one) if along == "machines" else rows(8.0 * one, times)


@pytest.mark.parametrize("along", ["machines", "size"])
def test_nothing_jumps_at_the_edge_of_the_measured_range(along: str) -> None:
    asked = further(np.asarray([0.999, 1.001, 1.009, 1.011, 1.03]), along)
    mean, (_, scale), _ = bent().moments(asked)
    assert np.abs(np.diff(mean)).max() < 0.03
    assert (scale[1:] / scale[:-1]).max() < 1.1


@pytest.mark.parametrize("along", ["machines", "size"])
def test_each_per_cent_beyond_the_range_is_little_less_sure(along: str) -> None:
    """Up to a doubling, from where on the runs left out beyond it count alone, and past it."""
    _, (_, scale), _ = bent().moments(further(1.01 ** np.arange(80.0), along))
    steps = scale[1:] / scale[:-1]
    assert scale[-1] > 2.0 * scale[0], "they are missed by far"
    assert steps.min() > 0.99, "one of 300 laws meets its cliff"
    assert (scale[5:] / scale[:-5]).min() > 0.999
    assert steps[0] < 1.01
    assert steps.max() < 1.06


def test_new_parameters_have_a_validation_of_their_own() -> None:
    at = grid()
    parameter = np.where(at.machines < 8.0, 1.0, 2.0)
    known = rows(at.machines, at.size, parameter)
    model = fit_run_times(known, 100.0 * parameter / at.machines)
    new = rows(np.asarray([4.0, 4.0]), np.asarray([1.0, 1.0]), np.asarray([1.0, 1.5]))
    assert model.extrapolation(new).mean_weights(new.size)["parameters"].tolist() == [0.0, 1.0]


def test_parameters_are_the_same_to_all_but_the_last_digits() -> None:
    at = grid()
    known = rows(at.machines, at.size, np.where(at.machines < 8.0, 0.3, 0.6))
    model = fit_run_times(known, 100.0 / at.machines)
    asked = rows(np.asarray([4.0]), np.ones(1), np.asarray([0.1 + 0.2]))
    assert model.extrapolation(asked).mean_weights(asked.size)["parameters"].tolist() == [0.0]


def test_extrapolation_is_validated_by_extrapolating() -> None:
    """The upper half of machines is predicted from the lower: as many errors as runs up there."""
    model = fitted()
    assert len(model.leave_one_out.errors) == 15
    beyond = model.validation("machines")
    assert len(beyond.errors) == 3
    assert len(model.validation("size").errors) == 5


def test_the_scale_grows_beyond_the_runs() -> None:
    model = fitted()
    asked = rows(np.asarray([8.0, 64.0, 512.0]), np.ones(3))
    for scale in model.moments(asked)[1]:
        assert scale[0] < scale[1] < scale[2]


def test_far_beyond_the_mean_is_that_of_the_laws() -> None:
    model = fitted(noise=0.1, seed=3)
    far = rows(np.asarray([3000.0, 6000.0]), np.ones(2))
    law = model.candidates.means(far, np.ones(1))[0][0, 0]
    mean = model.moments(far)[0]
    assert mean[1] - mean[0] == pytest.approx(law[1] - law[0], abs=0.02)


def test_several_sizes_at_once_are_each_by_itself() -> None:
    """What does not hang on the size is worked out once for all: by the laws, and by the process,
    whose kernel is a product over coordinates."""
    candidates = fitted(noise=0.1, seed=4).candidates
    at = rows(np.linspace(1.0, 70.0, 300), np.full(300, 0.7))
    sizes = np.asarray([0.2, 0.7, 3.0])
    (law,), (means,) = candidates.means(at, sizes)
    assert len(candidates.processes) == 2
    for place, size in enumerate(sizes.tolist()):
        plain_law, plain_means, _ = candidates.moments(replace(at, size=np.full(300, size)))
        assert law[place] == pytest.approx(plain_law, rel=1e-9, abs=1e-12)
        assert means[place] == pytest.approx(plain_means, rel=1e-9, abs=1e-9)


@cache
def fitted_over_iterations() -> tuple[RunTimeFit, RunTimeFit]:
    """To all runs, and to a few."""
    runs = replace(grid(), iterations=np.tile([5.0, 20.0, 40.0], 5))
    times = (30.0 + 20.0 * runs.iterations * runs.size / runs.machines) * np.tile([1.0, 1.1], 8)[1:]
    return fit_run_times(runs, times), fit_run_times(runs.take(slice(4)), times[:4])


@pytest.mark.parametrize("size", [0.1, 0.6, 1.0, 1.3, 5.0])
def test_several_iterations_at_once_are_each_by_itself(size: float) -> None:
    """So is the mean made to grow with the size."""
    machines = np.linspace(1.0, 70.0, BLOCK_ROWS + 5)
    at = rows(machines, np.full(len(machines), size))
    for model in fitted_over_iterations():
        found = model.means(at, np.asarray([5.0, 7.0, 80.0]))
        for mean, count in zip(found, (5.0, 7.0, 80.0), strict=True):
            assert mean == pytest.approx(model.moments(at.with_iterations(count))[0], rel=1e-9)
        assert model.means(at.take(slice(0)), np.ones(2)).shape == (2, 0)


def test_steps_of_the_size_say_what_a_new_fit_says_and_ask_once_about_the_measured_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Back and forth, within the measured sizes and beyond them."""
    model, machines = (
        copy.deepcopy(fitted_over_iterations()[0]),
        np.linspace(1.0, 70.0, BLOCK_ROWS + 5),
    )
    counts, asked = np.asarray([5.0, 80.0]), calls_of(monkeypatch, CandidateModels, "means")
    for size, again in ((0.6, False), (0.7, True), (0.3, True), (1.3, False), (5.0, True)):
        at, before = rows(machines, np.full(len(machines), size)), len(asked)
        found = (*model.moments(at), model.means(at, counts))
        assert (len(asked) == before) == again
        fresh = copy.deepcopy(model)
        for one, other in zip(found, (*fresh.moments(at), fresh.means(at, counts)), strict=True):
            np.testing.assert_array_equal(one, other)
        del asked[:]


def test_rows_of_many_blocks_are_predicted_one_by_one() -> None:
    model = fitted(noise=0.1, seed=5)
    at = rows(np.linspace(1.0, 70.0, BLOCK_ROWS + 5), np.full(BLOCK_ROWS + 5, 1.7))
    some = np.asarray([0, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 4])
    for whole, few in zip(model.moments(at), model.moments(at.take(some)), strict=True):
        assert whole[..., some] == pytest.approx(few, rel=1e-9)


def test_interpolation_along_laws_is_monotone_and_keeps_the_values_given() -> None:
    law = np.asarray([[0.0], [1.0], [1.0], [2.0]])
    whole = np.maximum.accumulate(np.asarray([[0.1], [1.5], [1.6], [1.2]]), axis=0)
    wanted = np.linspace(-1.0, 4.0, 101)
    found = np.asarray(
        [interpolated_along_laws(law, whole, np.asarray([value]))[0] for value in wanted]
    )
    assert np.all(np.diff(found) >= -1e-12)
    assert interpolated_along_laws(law, whole, np.asarray([0.0])) == pytest.approx([0.1])
    assert interpolated_along_laws(law, whole, np.asarray([2.0])) == pytest.approx([1.6])
    assert interpolated_along_laws(law, whole, np.asarray([3.0])) == pytest.approx([2.6])


def test_repetitions_are_one_configuration() -> None:
    at = grid()
    twice = rows(np.tile(at.machines, 2), np.tile(at.size, 2))
    seconds = 30.0 + 900.0 * at.size / at.machines
    model = fit_run_times(twice, np.concatenate((seconds * 1.1, seconds / 1.1)))
    assert len(model.rows) == 15
    assert np.exp(model.log_seconds) == pytest.approx(seconds)
    among = 2.0 * np.log(1.1) ** 2 * 15 / 19
    assert model.repetition_variance == pytest.approx(among / 2.0, rel=1e-6)


def test_distance_between_parameters_counts_doublings() -> None:
    """Logarithms where all are above 0; half of the largest is a doubling where one may be 0."""
    machines, size = np.asarray([2.0, 4.0, 8.0]), np.ones(3)
    above = Encoding.of(rows(machines, size, np.asarray([1.0, 2.0, 8.0])))
    wanted = rows(np.asarray([2.0, 2.0]), np.ones(2), np.asarray([4.0, 2.0]))
    assert above.parameter_doublings(wanted) == pytest.approx([1.0, 0.0])
    zero = Encoding.of(rows(machines, size, np.asarray([0.0, 1.0, 1.0])))
    half = rows(np.asarray([2.0]), np.ones(1), np.asarray([0.5]))
    assert zero.parameter_doublings(half) == pytest.approx([1.0])


def test_new_parameters_are_validated_by_leaving_sets_out() -> None:
    """The remainder cannot know the power of k from one set more: errors are those of the sets."""
    machines = np.tile(np.asarray([2.0, 4.0, 8.0, 16.0]), 6)
    parameter = np.repeat(np.asarray([1.0, 2.0, 3.0, 5.0, 7.0, 9.0]), 4)
    random = np.random.default_rng(2)
    bend = np.repeat(np.exp(0.2 * random.normal(size=6)), 4)
    known = rows(machines, np.ones(24), parameter)
    model = fit_run_times(known, parameter**0.5 * bend * (20.0 + 600.0 / machines))
    found = model.validation("parameters")
    assert len(found.errors) == 24
    assert np.abs(found.errors).mean() > 3.0 * np.abs(model.leave_one_out.errors).mean()
