"""Where few runs leave open whether data fits in memory."""

import numpy as np
import pytest
from law_fits import grid, points, prior_laws
from scipy.stats import norm
from sparkplan_runs import fit, nodes

from engine.cluster import Workload
from engine.models.base import FittedModel
from engine.models.laws.cliff_states import harmonic_mean_shift, side_variance_factors
from engine.models.laws.reference_frame import ReferenceFrame
from engine.profile import Run

ON_THE_CLIFF = ((12, 3.0, 156.0), (2, 3.0, 10_902.0), (2, 1.0, 412.0))
"""(nodes, input, seconds) of three runs; where between 1 and 1.5 per node data no longer fits they
do not tell."""


def fitted(*, longer: float = 1.0) -> FittedModel:
    """To the three runs, the last one so many times as long."""
    *others, (count, size, time) = ON_THE_CLIFF
    runs = (*others, (count, size, longer * time))
    return fit(*(Run(time, nodes(count), Workload(size)) for count, size, time in runs))


def test_the_time_is_the_harmonic_mean_of_the_two_states() -> None:
    """Against the plain definition, laws of unlike probability."""
    random = np.random.default_rng(0)
    times, weights = random.normal(size=(20, 30)), random.random((20, 30))
    times[:, :12] += 2.0
    weights /= weights.sum(axis=1, keepdims=True)
    fits = np.arange(30) >= 12
    mean = (weights * times).sum(axis=1)
    found = mean + harmonic_mean_shift(weights * ~fits, times, mean)
    p = (weights * ~fits).sum(axis=1)
    unfit, fit_ = (
        (weights * times * state).sum(axis=1) / (weights * state).sum(axis=1)
        for state in (~fits, fits)
    )
    assert np.exp(found) == pytest.approx(1.0 / (p / np.exp(unfit) + (1.0 - p) / np.exp(fit_)))
    assert np.all(found < mean)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_a_certain_state_is_not_moved(p: float) -> None:
    times = np.asarray([[3.0, 1.0]])
    weights = np.asarray([[p, 0.0]])
    mean = np.asarray([p * 3.0 + (1.0 - p) * 1.0])
    assert harmonic_mean_shift(weights, times, mean) == pytest.approx([0.0], abs=1e-6)


def test_laws_no_slower_where_data_does_not_fit_are_averaged() -> None:
    times, weights = np.asarray([[1.0, 3.0]]), np.asarray([[0.5, 0.0]])
    assert harmonic_mean_shift(weights, times, np.asarray([2.0])) == pytest.approx([0.0])


@pytest.mark.parametrize("laws", [300, 47, 1])
def test_where_laws_are_alike_on_both_sides_either_has_the_whole_variance(laws: int) -> None:
    at = norm.ppf((np.arange(laws) + 0.5) / laws) if laws > 1 else np.ones(1)
    below, above = side_variance_factors(np.stack((at, 3.0 * at)))
    if laws > 1:
        assert below == pytest.approx(above)
        assert above == pytest.approx([1.0, 1.0], abs=0.1)
    else:
        assert below.tolist() == [0.0, 0.0], "the answer is below the only law"


def test_the_variance_of_each_side_is_that_of_the_state_there() -> None:
    """Two thirds lie a little below the answer, one third far above it: their bounds are there at
    all three levels, and those of a normal law at 1.28, 1.64 and 2.33 of its scales."""
    apart = np.repeat([[-0.3, -0.3, 2.4]], 100, axis=1)
    below, above = side_variance_factors(apart)
    square = np.mean(apart**2)
    per_scale = np.mean(1.0 / norm.ppf([0.9, 0.95, 0.99]))
    assert below == pytest.approx([(0.3 * per_scale) ** 2 / square], rel=1e-4)
    assert above == pytest.approx([(2.4 * per_scale) ** 2 / square], rel=1e-4)


def test_a_state_of_little_probability_widens_its_side_little() -> None:
    rare = np.full((1, 300), -0.01)
    widths = []
    for count in range(0, 60):
        rare[0, :count] = 2.0
        widths.append(float(np.sqrt(side_variance_factors(rare)[1, 0] * np.mean(rare**2))))
    assert widths[0] == 0.0
    assert widths[2] == 0.0
    assert 0.2 < widths[6] < widths[20] < widths[50]
    assert np.diff(widths).max() < 0.6, "no jump by the whole distance"


def test_an_open_cliff_is_predicted_nearer_to_where_data_fits() -> None:
    """Half as much data on each machine as where it did not fit, half as much again as where it
    did: most likely it fits. The bound for the other case stays."""
    model = fitted()
    found = model.predict(cluster=nodes(4), workload=Workload(3.0))
    assert 350.0 < found.seconds < 1_050.0
    assert found.high > 5_000.0
    assert found.low > 0.3 * found.seconds, "where the data fits it takes little less"
    p = [found.p_within(found.seconds * times) for times in (1.0, 5.0)]
    assert p == [pytest.approx(0.5), pytest.approx(0.75, abs=0.15)]
    assert np.mean(a_fifth_as_likely()) < 0.025
    for count, size, seconds in ON_THE_CLIFF:
        there = model.predict(cluster=nodes(count), workload=Workload(size))
        assert there.seconds == pytest.approx(seconds, rel=0.1)


def a_fifth_as_likely() -> list[float]:
    """Probability of a fifth of the answer, for runs of about these times: of a single table it
    hangs on the random numbers, 0.01 to 0.03."""
    found = []
    for longer in np.linspace(0.95, 1.05, 11):
        model = fitted(longer=float(longer))
        answer = model.predict(cluster=nodes(4), workload=Workload(3.0))
        found.append(answer.p_within(0.2 * answer.seconds) or 0.0)
    return found


def test_more_input_and_fewer_nodes_are_never_faster_across_an_open_cliff() -> None:
    model = fitted()
    sizes = np.linspace(0.5, 4.0, 71).tolist()
    for count in (2, 3, 4, 8):
        answers = model.predict_many(
            clusters=[nodes(count)] * len(sizes), workloads=[Workload(size) for size in sizes]
        )
        assert np.all(np.diff(answers.seconds) >= -1e-6 * answers.seconds[1:])
    counts = range(2, 25)
    for size in (1.0, 2.0, 3.0):
        answers = model.predict_many(
            clusters=[nodes(count) for count in counts], workloads=[Workload(size)] * len(counts)
        )
        assert np.all(np.diff(answers.seconds) <= 1e-6 * answers.seconds[1:])


def test_what_is_advised_is_the_fewest_nodes_that_are_not_warned_of() -> None:
    """It was the mean of where the laws by which it does not fit would have it: two nodes were
    advised to be four, and four to be five."""
    model, said = fitted(), {}
    for count in range(1, 13):
        warnings = model.predict(cluster=nodes(count), workload=Workload(3.0)).warnings
        said[count] = [n.remedy for n in warnings if n.code == "cache-does-not-fit"]
    enough = min(count for count, told in said.items() if not told)
    assert 2 < enough < 12
    for count in range(1, enough):
        (remedy,) = said[count]
        assert remedy.startswith(f"take {enough} ")


def test_many_sizes_at_once_are_the_mean_of_each_law_s_own_time() -> None:
    """Of laws of which some have cliffs between the runs, others below or none: reckoned law by
    law, and moved where data fits by some of them and not by others that had fitted a run's."""
    frame = ReferenceFrame.of(grid())
    laws, at = prior_laws(frame, 400, seed=3), points(np.asarray([1.0, 2.0, 5.0, 32.0]))
    sizes = np.asarray([1e-3, 0.1, 0.5, 1.0, 4.0, 1e3])
    effects = np.random.default_rng(1).normal(0.0, 0.3, (len(at), len(laws)))
    (found,) = laws.mean_log_times(
        laws.frame.features(at.with_size(1.0)), effects, sizes, at.iterations[None]
    )
    moved = []
    for row, size in zip(found, sizes, strict=True):
        asked = at.with_size(float(size))
        times = laws.log_times(asked)
        per_input = np.log(asked.machines / size)
        near = np.where(laws.threshold <= frame.high, laws.threshold, -np.inf)
        newly_unfit = per_input[:, None] < near
        is_open = newly_unfit.any(axis=1) & ~newly_unfit.all(axis=1)
        shift = harmonic_mean_shift(
            newly_unfit / len(laws), times + effects, (times + effects).mean(axis=1)
        )
        moved.append(is_open)
        assert row == pytest.approx(times.mean(axis=1) + np.where(is_open, shift, 0.0), abs=1e-9)
    assert 0.2 < np.mean(moved) < 0.8
