"""The Gaussian process on the residuals of the laws."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.forecast import FloatArray
from engine.models.laws.gaussian_process import (
    GaussianProcess,
    linear_process,
    smooth_process,
)
from engine.models.laws.hyperparameters import (
    AMPLITUDE,
    JITTER,
    KernelParts,
    NegativeLogPosterior,
    _bfgs_minimum,
)
from engine.models.laws.remainder import (
    KINDS_AT_ONCE,
    WAVES_LENGTH,
    ProcessInputs,
    SizeIterationGrid,
)


def inputs(x: FloatArray) -> ProcessInputs:
    """Where the first coordinate says the cores, and no two share cores and input."""
    return ProcessInputs(np.full((len(x), 1), 3.0), x, 10.0 * x[:, 0], 10.0 * x[:, 1])


def gridded(x: FloatArray) -> ProcessInputs:
    """The same with few numbers of cores and few inputs, which many share."""
    places = np.round(x)
    return ProcessInputs(np.full((len(x), 1), 3.0), x, 10.0 * places[:, 0], 0.1 * places[:, 1])


def runs(
    count: int = 24, at: Callable[[FloatArray], ProcessInputs] = inputs
) -> tuple[ProcessInputs, FloatArray]:
    random = np.random.default_rng(0)
    x = random.uniform(-1.5, 1.5, (count, 2))
    return at(x), 0.2 * np.sin(2.0 * x[:, 0]) + 0.01 * random.normal(size=count)


def picked(of: ProcessInputs, places: NDArray[np.bool_] | NDArray[np.int64]) -> ProcessInputs:
    return ProcessInputs(
        of.effects[places], of.coordinates[places], of.cores[places], of.sizes[places]
    )


def plain(process: GaussianProcess, a: ProcessInputs, b: ProcessInputs) -> FloatArray:
    """The kernel by its definition."""
    found = np.empty((len(a), len(b)))
    by_cores, by_both = (*process.waves, 0.0)[:2]
    for i in range(len(a)):
        for j in range(len(b)):
            apart = (a.coordinates[i] - b.coordinates[j]) / process.lengths
            waves = ((a.cores[i] - b.cores[j]) / 0.1) ** 2
            sizes = ((a.sizes[i] - b.sizes[j]) / 0.1) ** 2
            found[i, j] = (
                a.effects[i] @ b.effects[j]
                + process.amplitude**2 * np.exp(-0.5 * apart @ apart)
                + by_cores**2 * np.exp(-0.5 * waves)
                + by_both**2 * np.exp(-0.5 * (waves + sizes))
            )
    return found


@pytest.mark.parametrize(("where", "waves"), [(inputs, 1), (gridded, 2)])
def test_moments_are_those_of_the_book(
    where: Callable[[FloatArray], ProcessInputs], waves: int
) -> None:
    """Rasmussen and Williams 2.25 and 2.26, written out."""
    known, values = runs(at=where)
    process = smooth_process(known, values, np.ones(2), np.ones(len(values)))
    assert len(process.waves) == waves
    at = where(np.asarray([[0.1, 0.2], [1.0, -1.0]]))
    covariance = plain(process, known, known) + process.noise**2 * np.eye(len(known))
    cross = plain(process, at, known)
    mean, variance = process.moments(at, values)
    assert mean == pytest.approx(cross @ np.linalg.solve(covariance, values), abs=1e-6)
    prior = np.diag(plain(process, at, at)) + process.noise**2
    explained = np.einsum("nr,nr->n", cross, np.linalg.solve(covariance, cross.T).T)
    assert variance == pytest.approx(prior - explained, abs=1e-6)
    for columns in ([], [0], [0, 1]):
        to = np.asarray([[0.3] * len(columns), [-0.7] * len(columns)])
        sizes = np.asarray([0.05, -0.1])
        moved = SizeIterationGrid(np.asarray(columns, dtype=np.int64), to, sizes)
        found = process.means(at, values, moved)
        for row, values_at, size in zip(found, to, sizes, strict=True):
            coordinates = at.coordinates.copy()
            coordinates[:, columns] = values_at
            there = ProcessInputs(at.effects, coordinates, at.cores, np.full(len(at), size))
            assert row == pytest.approx(process.moments(there, values)[0], rel=1e-9)


def on_a_grid(machines: int, others: int) -> ProcessInputs:
    """Points on some numbers of machines, each with as many other coordinates and two inputs."""
    shape = (2, others, machines)
    size, kind, first = (axis.ravel().astype(float) for axis in np.indices(shape))
    x = np.column_stack((0.4 * first - 1.0, np.sin(kind)))
    effects = np.column_stack((np.full(len(x), 3.0), np.cos(kind)))
    return ProcessInputs(effects, x, first + 0.01 * kind, 0.05 * size)


def test_points_of_many_kinds_are_predicted_as_one_by_one() -> None:
    """More kinds than are computed at once, of two inputs: the order and the company of a point
    say nothing."""
    known = picked(on_a_grid(4, 12), np.arange(0, 96, 3))
    values = np.sin(3.0 * known.coordinates[:, 1]) + 0.1 * known.coordinates[:, 0]
    process = smooth_process(known, values, np.ones(2), np.ones(len(values)))
    at = on_a_grid(6, KINDS_AT_ONCE + 9)
    at = picked(at, np.random.default_rng(0).permutation(len(at)))
    grid = SizeIterationGrid(np.asarray([1]), np.asarray([[0.2], [0.4]]), np.asarray([0.0, 0.05]))
    means, moments = process.means(at, values, grid), np.stack(process.moments(at, values))
    for place in range(0, len(at), 41):
        alone = picked(at, np.asarray([place]))
        assert moments[:, place] == pytest.approx(np.stack(process.moments(alone, values))[:, 0])
        assert means[:, place] == pytest.approx(process.means(alone, values, grid)[:, 0])
    nothing = picked(at, np.empty(0, dtype=np.int64))
    assert process.means(nothing, values, grid).shape == (2, 0)
    assert all(part.shape == (0,) for part in process.moments(nothing, values))


def exact_variance(process: GaussianProcess, at: ProcessInputs) -> float:
    """The variance at one point by 50 digits: what the Cholesky factor of the covariance of the
    runs and the point leaves of the latter (Rasmussen and Williams, A.4)."""
    points = [(process.runs, place) for place in range(len(process.runs))] + [(at, 0)]

    def kernel(one: tuple[ProcessInputs, int], other: tuple[ProcessInputs, int]) -> Decimal:
        (a, i), (b, j) = one, other

        def far(x: float, y: float, length: float) -> Decimal:
            return ((Decimal(x) - Decimal(y)) / Decimal(length)) ** 2

        pairs = zip(a.effects[i], b.effects[j], strict=True)
        linear = sum((Decimal(x) * Decimal(y) for x, y in pairs), Decimal(0))
        triples = zip(a.coordinates[i], b.coordinates[j], process.lengths, strict=True)
        apart = sum((far(*triple) for triple in triples), Decimal(0))
        waves = far(a.cores[i], b.cores[j], WAVES_LENGTH)
        smooth = Decimal(process.amplitude) ** 2 * (-apart / 2).exp()
        return linear + smooth + Decimal(process.waves[0]) ** 2 * (-waves / 2).exp()

    with localcontext() as context:
        context.prec = 50
        noise, factor = Decimal(process.noise) ** 2, list[list[Decimal]]()
        for i, point in enumerate(points):
            row = list[Decimal]()
            for j, before in enumerate(factor):
                found = sum((x * y for x, y in zip(row, before, strict=False)), Decimal(0))
                row.append((kernel(point, points[j]) - found) / before[j])
            jitter = Decimal(JITTER) if i < len(process.runs) else Decimal(0)
            left = kernel(point, point) + noise + jitter - sum((x * x for x in row), Decimal(0))
            factor.append([*row, left.sqrt()])
        return float(left)


def test_the_variance_with_a_remainder_is_no_difference_of_large_numbers() -> None:
    """Exact runs of a level that may be anything: of a prior variance of nine some millionth is
    left. By the inverse of the whole covariance it was a ten-thousandth off."""
    known, values = runs(12)
    process = smooth_process(known, values, np.ones(2), np.ones(12))
    covariance = plain(process, known, known) + (1e-6 + JITTER) * np.eye(12)
    exact = replace(process, noise=1e-3, inverse=np.linalg.inv(covariance))
    at = inputs(np.asarray([[0.1, 0.2]]))
    assert exact.moments(known, values)[1].max() < 1e-5
    for point in (at, picked(known, np.asarray([3]))):
        variance = exact.moments(point, values)[1][0]
        assert variance == pytest.approx(exact_variance(exact, point), rel=1e-9, abs=0.0)


def test_what_is_peculiar_to_cores_and_input_is_learnt_from_those_that_share_both() -> None:
    """Every third of the runs on 16 cores with the first input takes a tenth less, whatever else is
    asked: so does a new run there, and one on other cores or of another input does not."""
    random = np.random.default_rng(2)
    cores, sizes = (values.ravel() for values in np.meshgrid([8.0, 16.0, 32.0], [1.0, 2.0, 4.0]))
    cores, sizes = np.log(np.tile(cores, 6)), np.log(np.tile(sizes, 6))
    other = random.uniform(-1.0, 1.0, len(cores))
    dip = np.where((cores == np.log(16.0)) & (sizes == 0.0), -0.1, 0.0)
    values = dip + 0.005 * random.normal(size=len(cores))

    def at(p: FloatArray, z: FloatArray, x: FloatArray) -> ProcessInputs:
        return ProcessInputs(np.full((len(p), 1), 3.0), np.column_stack((p, z, x)), p, z)

    process = smooth_process(at(cores, sizes, other), values, np.full(3, 1.5), np.ones(len(cores)))
    asked = np.log(np.asarray([[16.0, 1.0], [16.0, 4.0], [32.0, 1.0]])).T
    mean = process.moments(at(*asked, np.asarray([0.4, 0.4, 0.4])), values)[0]
    assert mean == pytest.approx([-0.1, 0.0, 0.0], abs=0.02)


@pytest.mark.parametrize("where", [inputs, gridded])
def test_leave_one_out_is_that_of_processes_without_the_run(
    where: Callable[[FloatArray], ProcessInputs],
) -> None:
    known, values = runs(at=where)
    process = smooth_process(known, values, np.ones(2), np.ones(len(values)))
    errors, variances = process.left_out(np.tile(values, (len(values), 1)))
    for place in (0, 5, 23):
        kept = np.arange(len(values)) != place
        rest = picked(known, kept)
        covariance = plain(process, rest, rest) + process.noise**2 * np.eye(len(rest))
        without = GaussianProcess(
            rest, process.amplitude, process.waves, process.lengths, process.noise,
            np.linalg.inv(covariance), np.ones(len(rest)),
        )  # fmt: skip
        mean, variance = without.moments(picked(known, np.asarray([place])), values[kept])
        assert errors[place] == pytest.approx(values[place] - mean[0], abs=1e-6)
        assert variances[place] == pytest.approx(variance[0], rel=1e-4)


def density() -> NegativeLogPosterior:
    """Of twelve runs, with both kinds of waves."""
    known, values = runs(12)
    alike = np.exp(-0.5 * (known.cores[:, None] - known.cores) ** 2)
    waves = np.stack((alike, alike**2))
    parts = KernelParts(known.effects @ known.effects.T, waves, known.coordinates, np.ones(2))
    return NegativeLogPosterior(parts, values)


AT = np.asarray([0.3, -0.2, 0.1, 0.4, -0.3, 0.2])
"""Some hyperparameters of it."""


def test_the_gradient_is_that_of_the_value() -> None:
    posterior, slope = density(), density()(AT).gradient
    for place in range(len(AT)):
        step = 1e-5 * np.eye(len(AT))[place]
        numeric = (posterior(AT + step).value - posterior(AT - step).value) / 2e-5
        assert slope[place] == pytest.approx(numeric, rel=1e-4, abs=1e-5)


def test_the_expected_curvature_is_that_of_the_covariance() -> None:
    """tr(K^-1 dK K^-1 dK) / 2 by numeric derivatives, and 1 by the prior of each."""
    posterior = density()

    def covariance(at: FloatArray) -> FloatArray:
        return posterior.parts.covariance(posterior.at(at))[0]

    steps = 1e-5 * np.eye(len(AT))
    slopes = [(covariance(AT + step) - covariance(AT - step)) / 2e-5 for step in steps]
    relative = np.linalg.inv(covariance(AT)) @ np.stack(slopes)
    expected = 0.5 * np.einsum("aij,bji->ab", relative, relative) + np.eye(len(AT))
    assert posterior.information(posterior(AT)) == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_a_long_search_ends_where_a_short_one_does() -> None:
    posterior, near = density(), _bfgs_minimum(density(), np.zeros(6))
    far = _bfgs_minimum(posterior, np.asarray([2.0, -2.0, -2.0, -2.0, 0.0, 0.0]), far=True)
    assert far[1] == pytest.approx(near[1], abs=0.01)
    assert far[0] == pytest.approx(near[0], abs=0.1)


def test_it_learns_a_bend_and_forgets_it_far_away() -> None:
    known, values = runs()
    process = smooth_process(known, values, np.ones(2), np.ones(len(values)))
    assert process.amplitude > AMPLITUDE
    near = inputs(np.asarray([[0.8, 0.0]]))
    far = inputs(np.asarray([[30.0, 0.0]]))
    mean, variance = process.moments(near, values)
    assert mean[0] == pytest.approx(0.2 * np.sin(1.6), abs=0.03)
    away, wide = process.moments(far, values)
    assert abs(away[0] - values.mean()) < 0.1
    assert wide[0] > 2.0 * variance[0]


def test_a_few_runs_leave_the_prior() -> None:
    known = inputs(np.asarray([[0.0, 0.0], [0.5, 0.1], [1.0, 0.3], [1.5, 0.2]]))
    process = smooth_process(known, np.asarray([0.01, -0.01, 0.01, 0.0]), np.ones(2), np.ones(4))
    assert AMPLITUDE / 8.0 < process.amplitude < AMPLITUDE * 2.0


def test_linear_effects_alone_are_ridge_regression() -> None:
    random = np.random.default_rng(3)
    effects = random.normal(size=(10, 2))
    known = ProcessInputs(effects, np.zeros((10, 0)), np.zeros(10), np.zeros(10))
    values = random.normal(size=10)
    ridge = np.linalg.solve(effects.T @ effects + 0.09 * np.eye(2), effects.T @ values)
    process = linear_process(known, 0.3, np.ones(10))
    mean, variance = process.moments(known, values)
    assert mean == pytest.approx(effects @ ridge)
    alone = process.means(
        known, values, SizeIterationGrid(np.empty(0, dtype=np.int64), np.empty((1, 0)), np.zeros(1))
    )[0]
    assert alone == pytest.approx(mean)
    explained = effects @ effects.T @ process.inverse @ effects @ effects.T
    prior = np.diag(effects @ effects.T) + 0.09
    assert variance == pytest.approx(prior - np.diag(explained))


def test_the_variance_of_linear_effects_is_exact_where_little_is_left_of_the_prior() -> None:
    """A level of prior spread 3 after 100 runs with noise of a thousandth: prior less what is
    explained would be the difference of numbers a million times as large."""
    level = ProcessInputs(np.full((100, 1), 3.0), np.zeros((100, 0)), np.zeros(100), np.zeros(100))
    process = linear_process(level, 1e-3, np.ones(100))
    variance = process.moments(level, np.zeros(100))[1]
    assert variance == pytest.approx(1e-6 + 1.0 / (1.0 / 9.0 + 100.0 / 1e-6), rel=1e-12)


def test_run_weights_divide_the_variance_of_noise_in_the_process() -> None:
    """A run that counts for a thousandth says nothing; its left-out error and variance are those
    that it would have if it counted."""
    known, values = runs()
    wrong, run_weights = values.copy(), np.ones(len(values))
    wrong[5] += 1.0
    run_weights[5] = 1e-3
    process = smooth_process(known, wrong, np.ones(2), run_weights)
    at = inputs(np.asarray([[0.1, 0.2], [1.0, -1.0]]))
    found, usual = (
        smooth_process(known, told, np.ones(2), run_weights).moments(at, told)[0]
        for told in (wrong, values)
    )
    assert found == pytest.approx(usual, abs=0.01)
    errors, variances = process.left_out(np.tile(wrong, (len(wrong), 1)))
    assert errors[5] == pytest.approx(1.0, abs=0.15)
    assert 0.0 < variances[5] < 2.0 * np.median(variances)


def test_left_out_errors_to_the_power_one_minus_leverage_are_the_residuals() -> None:
    """Five runs and a law of two numbers, which nothing is known of: the log likelihood of their
    residuals by the size of the noise (Gelman et al., Bayesian Data Analysis, 14.2) is that of the
    left-out errors, each for as much of it as is a number of its own. Left as five numbers the
    errors would say of it what three can."""
    x = np.asarray([0.0, 0.1, 0.3, 0.6, 1.0])
    known = ProcessInputs(1e3 * np.column_stack((np.ones(5), x)), np.empty((5, 0)), x, x)
    values = np.asarray([0.3, 0.1, -0.2, 0.1, 0.4])
    process = linear_process(known, 0.1, np.ones(5))
    assert process.one_minus_leverage.sum() == pytest.approx(5 - 2, rel=1e-4)
    slope, level = np.polyfit(x, values, 1)
    squares = float(np.sum((values - level - slope * x) ** 2))
    errors, variances = process.left_out(np.tile(values, (5, 1)))
    for times in (0.5, 1.0, 2.0):
        each = -0.5 * errors**2 / (variances * times**2) - np.log(times)
        whole = -0.5 * squares / (0.1 * times) ** 2 - (5 - 2) * np.log(times)
        assert process.one_minus_leverage @ each == pytest.approx(whole, rel=1e-3)
