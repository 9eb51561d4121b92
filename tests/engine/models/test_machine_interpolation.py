"""Fits at many numbers of machines, from few: equal to those computed at each."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from watched import calls_of

from engine.forecast import FloatArray
from engine.models.laws import machine_interpolation
from engine.models.laws.candidate_models import CandidateModels
from engine.models.laws.encoding import Rows
from engine.models.laws.machine_interpolation import along_machines
from engine.models.laws.run_times import LogTimes, RunTimeFit, fit_run_times

CORES = np.asarray([2.0, 4.0, 8.0])


def rows(machines: FloatArray, size: float, iterations: float = 10.0) -> Rows:
    """All numbers of machines of each of the types, the last of which was not measured."""
    many, of = np.repeat(machines, len(CORES)), np.tile(np.arange(len(CORES)), len(machines))
    cores, one = CORES[of], np.ones(len(many))
    kind = np.where(of < 2, of, -1)
    memory = 3.0 * cores
    return Rows(
        many, cores, memory, size * one, iterations * one, kind, kind, np.zeros((len(many), 0)),
        cores,
    )  # fmt: skip


@cache
def fitted(*, cliff: bool, count: int = 40) -> RunTimeFit:
    """To noisy runs of two types, three sizes and two numbers of iterations; with a cliff in the
    middle of them."""
    random = np.random.default_rng(7)
    at = rows(np.asarray([1.0, 2.0, 4.0, 8.0, 12.0]), 1.0)
    at = at.take(at.type_index >= 0)
    at = at.take(np.resize(np.arange(len(at)), count))
    at = replace(
        at, size=np.resize([0.5, 1.0, 2.0], count), iterations=np.repeat([10.0, 30.0], count // 2)
    )
    work = 300.0 * at.size * at.iterations / (at.machines * at.cores)
    seconds = 20.0 + 3.0 * np.log(at.machines) + work
    if cliff:
        seconds += 4.0 * work * (at.machines * at.memory / at.size < 20.0)
    return fit_run_times(at, seconds * np.exp(0.1 * random.normal(size=count)))


def assert_equal(found: LogTimes, expected: LogTimes) -> None:
    """Variances are differences of larger numbers, so they keep fewer digits."""
    assert found.mean == pytest.approx(expected.mean, rel=1e-12, abs=1e-12)
    assert found.scale == pytest.approx(expected.scale, rel=1e-8)
    assert found.dof == pytest.approx(expected.dof, rel=1e-7)


@pytest.mark.parametrize("cliff", [False, True])
@pytest.mark.parametrize("size", [0.7, 1.0, 8.0])
def test_what_is_interpolated_is_what_is_computed(
    monkeypatch: pytest.MonkeyPatch, cliff: bool, size: float
) -> None:
    """Within the measured sizes and beyond them, whose data needs more machines."""
    model, counts = fitted(cliff=cliff), np.asarray([10.0, 20.0, 60.0])
    at = rows(np.arange(1.0, 3000.0), size)
    computed = calls_of(monkeypatch, CandidateModels, "moments")
    found, means, laws = model.moments(at), model.means(at, counts), model.law_means(at, counts)
    assert sum(len(rows) for _, rows in computed) < 0.5 * len(at)
    monkeypatch.setattr(machine_interpolation, "_segments", lambda *_: ())
    del computed[:]
    assert_equal(found, model.moments(at))
    assert sum(len(rows) for _, rows in computed) == len(at)
    assert means == pytest.approx(model.means(at, counts), rel=1e-12, abs=1e-12)
    assert laws == pytest.approx(model.law_means(at, counts), rel=1e-12, abs=1e-12)


def test_the_parts_of_a_law_lie_within_a_half_plane_in_the_strip_and_not_beyond() -> None:
    """1, log m, the powers of m, and those of waves that a number c of machines saves, which is at
    most m; the least log m of all is the worst."""

    def span(width: float) -> float:
        log_machines = 1e-9 + 1j * width
        machines = np.exp(log_machines)
        saved = (1.0 - np.linspace(0.0, 1.0, 101) / machines) / machines
        angles = np.angle([log_machines, *machines ** np.arange(-2.0, 2.0), *saved])
        return float(np.ptp(angles))

    assert (
        span(0.999 * machine_interpolation.STRIP)
        < np.pi
        < span(1.001 * machine_interpolation.STRIP)
    )


def test_rows_in_any_order_are_each_by_itself() -> None:
    model, at = fitted(cliff=True), rows(np.arange(1.0, 2000.0), 1.0)
    order = np.random.default_rng(0).permutation(len(at))
    found, expected = model.moments(at.take(order)), model.moments(at)
    assert_equal(found, expected.take(order))


def test_what_meets_a_cliff_is_computed() -> None:
    """With a hundred times the input, a hundred times as many machines."""
    model = fitted(cliff=True)
    start = model.candidates.smooth_from(rows(np.ones(1), 1.0))
    assert start >= machine_interpolation.CLEAR * 12.0
    many, more = (model.candidates.smooth_from(rows(np.ones(1), size)) for size in (1e4, 1e6))
    assert more == pytest.approx(100.0 * many)
    assert many > start


def test_few_rows_are_computed_each() -> None:
    seen = list[int]()

    def compute(at: Rows) -> list[FloatArray]:
        seen.append(len(at))
        return [np.log(at.machines) + at.cores]

    few = rows(np.asarray([100.0, 200.0, 400.0]), 1.0)
    assert along_machines(few, 20.0, compute)[0] == pytest.approx(np.log(few.machines) + few.cores)
    assert seen == [len(few)]


def test_cores_that_are_no_number_concern_their_own_row_alone() -> None:
    model, at = fitted(cliff=False), rows(np.arange(40.0, 1000.0), 1.0)
    other, expected = np.arange(len(at)) != 1500, model.moments(at)
    found = model.moments(replace(at, cores=np.where(other, at.cores, np.nan)))
    assert np.isnan(found.mean[~other]).all()
    assert_equal(found.take(np.flatnonzero(other)), expected.take(np.flatnonzero(other)))
