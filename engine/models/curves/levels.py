"""What a few runs on a type tell about it, when they are too few to fit a curve of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.notices import Notice
from engine.units import format_count

TYPICAL_RESIDUAL = 0.10
"""Spread of log time about a fitted curve, where the curve's own is not known."""


@dataclass(frozen=True, slots=True)
class Level:
    """A type's log time relative to what the nearest fitted type foretells.

    Args:
        shift: expected difference of log time.
        log_scale: doubt that is left about it.
        runs: how many runs say so.
    """

    shift: float
    log_scale: float
    runs: int


def level_of(residuals: FloatArray, *, prior: float, noise: float, runs: int) -> Level:
    """The level after a few configurations: the mean residual, shrunk towards 0.

    Residuals are level + noise with level ~ N(0, prior^2) and noise ~ N(0, noise^2); this is the
    normal posterior.

    Args:
        residuals: (k,) log(actual / foretold) of each configuration, the mean of its runs.
        prior: standard deviation of the level before any run: the doubt about the speed.
        noise: that of a configuration about its curve; NaN takes `TYPICAL_RESIDUAL`.
        runs: in all.
    """
    noise = TYPICAL_RESIDUAL if np.isnan(noise) else noise
    weight = len(residuals) * prior**2 / (len(residuals) * prior**2 + noise**2)
    return Level(float(weight * np.mean(residuals)), prior * float(np.sqrt(1.0 - weight)), runs)


def level_notice(name: str, level: Level) -> Notice:
    """What to say about a type that has a level."""
    return Notice(
        "transferred-speed",
        f"{name} has {format_count(level.runs, 'run')}, too few to fit: the curve "
        "of the nearest fitted type is scaled to them",
        f"add runs on {name} with other numbers of nodes or sizes",
    )
