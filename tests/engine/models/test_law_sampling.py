"""Following the likelihood of runs: how far its power rises in a step."""

from __future__ import annotations

import numpy as np
import pytest

from engine.models.laws.sampling import STEPS, _step


def effective(density: np.ndarray, step: float) -> float:
    """Kish's sample size."""
    weights = np.exp(step * (density - density.max()))
    return float(weights.sum() ** 2 / (weights**2).sum())


@pytest.mark.parametrize("spread", [0.5, 3.0, 40.0, 3000.0])
@pytest.mark.parametrize("longest", [1.0, 0.2])
def test_a_step_leaves_just_as_many_effective_draws(spread: float, longest: float) -> None:
    density = -spread * np.random.default_rng(1).exponential(size=5000) ** 2
    step = _step(density, longest, 500.0)
    if effective(density, longest) >= 500.0:
        assert step == longest
    else:
        assert effective(density, step - longest / STEPS) >= 500.0 > effective(density, step)
