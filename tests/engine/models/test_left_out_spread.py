"""The spread of left-out errors: its law comes back, holds the next error, keeps parts apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.forecast import FloatArray, student_quantile
from engine.models.laws.left_out_spread import (
    ALIKE,
    DOF_DOUBT,
    SCALE_DOUBT,
    LeftOutSpread,
    as_foretold,
    studentised,
)

SCATTER, LAWS = (1.0, 0.0), (0.0, 1.0)
"""Variance about a law, and among laws."""


def spread_after(errors: FloatArray, about: float, among: float) -> LeftOutSpread:
    one = np.ones_like(errors)
    return studentised(errors, about * one, among * one, dof=4.0)


def law(found: LeftOutSpread, about: float, among: float) -> tuple[float, float]:
    """Scale and degrees of freedom."""
    variance, dof = found.moments(np.asarray([about]), np.asarray([among]))
    return math.sqrt(variance[0]), float(dof[0])


@pytest.mark.parametrize("part", [SCATTER, LAWS])
@pytest.mark.parametrize(("scale", "dof"), [(0.6, 4.0), (1.0, 60.0), (1.8, 8.0)])
def test_studentised_errors_are_recovered(
    scale: float, dof: float, part: tuple[float, float]
) -> None:
    """From 4,000 errors the law comes back, seen in its quantiles at several confidences."""
    errors = scale * np.random.default_rng(1).standard_t(dof, 4000)
    found, freedom = law(spread_after(errors, *part), *part)
    for p in (0.75, 0.9, 0.95):
        quantile = found * student_quantile(p, np.asarray([freedom]))[0]
        assert np.mean(errors <= quantile) == pytest.approx(p, abs=0.02)


@pytest.mark.parametrize("part", [SCATTER, LAWS, (0.5, 0.5)])
def test_without_errors_the_prior_stands_and_a_few_move_it_a_little(
    part: tuple[float, float],
) -> None:
    scale, dof = law(spread_after(np.empty(0), *part), *part)
    assert scale == pytest.approx(1.0, rel=0.1)
    assert dof < 4.0, "that the scale is not known makes the tails longer"
    assert 1.0 < law(spread_after(np.asarray([3.0, -3.0]), *part), *part)[0] < 3.0
    assert 0.1 < law(spread_after(np.full(5, 0.01), *part), *part)[0] < 1.0


@pytest.mark.parametrize("count", [3, 7, 15])
@pytest.mark.parametrize("asked", [0.1, 0.9])
def test_an_interval_holds_the_next_error_however_few_there_were(count: int, asked: float) -> None:
    """Scales and tails differ from job to job as the prior says, and so many errors tell of them,
    whatever they and the next one consist of: the likeliest alone would hold 87 % for 90."""
    random = np.random.default_rng(count)
    inside = []
    for _ in range(1500):
        freedom = 4.0 * 2.0 ** np.clip(DOF_DOUBT * random.normal(), -0.5, 4.0)
        common, *own = SCALE_DOUBT * random.normal(size=3)
        scales = np.exp(math.sqrt(ALIKE) * common + math.sqrt(1.0 - ALIKE) * np.asarray(own))
        about = np.append(random.uniform(0.0, 0.4, count), asked)
        parts = np.stack((about, 1.0 - about))
        errors = np.sqrt(scales**2 @ parts) * random.standard_t(freedom, count + 1)
        scale, dof = law(studentised(errors[:-1], *parts[:, :-1], dof=4.0), *parts[:, -1])
        bounds = [student_quantile(p, np.asarray([dof]))[0] for p in (0.95, 0.995)]
        inside.append(np.abs(errors[-1]) <= scale * np.asarray(bounds))
    ninety, ninety_nine = np.mean(inside, axis=0)
    assert ninety == pytest.approx(0.9, abs=0.025)
    assert ninety_nine == pytest.approx(0.99, abs=0.01)


def test_errors_tell_of_what_they_consist_of() -> None:
    """Small errors of runs left out that were nearly all doubt among laws: that doubt was too
    large, which says less of how far runs scatter; a doubt of both parts is in between."""
    found = spread_after(np.full(6, 0.4), 0.05, 0.95)
    scatter, both, laws = (law(found, *part)[0] for part in (SCATTER, (0.5, 0.5), LAWS))
    assert laws < 0.5
    assert laws < both < scatter
    assert 0.6 < scatter < 1.0


def test_what_is_not_known_takes_no_part() -> None:
    errors = np.asarray([0.3, np.nan, -0.2])
    parts = np.asarray([0.1, 0.5, 0.2]), np.asarray([0.2, np.nan, 0.1])
    first = studentised(errors, *parts, dof=4.0)
    again = studentised(errors[[0, 2]], *(part[[0, 2]] for part in parts), dof=4.0)
    assert first.log_scales == pytest.approx(again.log_scales)
    assert law(as_foretold(4.0), 3.0, 1.0) == pytest.approx((2.0, 4.0))
