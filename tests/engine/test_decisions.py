"""What is weighed when a next run is advised: promises, and what they are worth."""

from __future__ import annotations

import numpy as np
import pytest

from engine.belief import Belief
from engine.sequential import Decision


@pytest.mark.parametrize(
    ("deadline", "budget", "least", "words"),
    [
        (None, None, "cost", "expected cost"),
        (60.0, None, "cost", "cost and lateness"),
        (None, 1.0, "time", "time and the budget"),
        (60.0, 1.0, "cost", "cost, lateness and the budget"),
    ],
)
def test_advice_says_what_it_weighs(
    deadline: float | None, budget: float | None, least: str, words: str
) -> None:
    decision = Decision(np.ones(1), deadline, budget_usd=budget, least=least)
    assert decision.weighs == words


def test_broken_promises_are_worth_nine_times_what_would_be_chosen() -> None:
    """At 90 %. Of 100, 60, 40 and 20 s for 1, 1.2, 1.6 USD and an unknown price: those that keep
    the deadline of 70 s, of these those within the budget, and what is nearest where none is."""
    mean, normal = np.log([100.0, 60.0, 40.0, 20.0]), np.full(4, np.inf)
    belief = Belief(mean, 0.1**2 * np.eye(4), np.zeros(4), normal)
    rate = np.asarray([0.01, 0.02, 0.04, np.nan])

    def stakes(deadline: float | None, budget: float | None, least: str) -> object:
        found = Decision(rate, deadline, budget_usd=budget, least=least).stakes(belief)
        return pytest.approx((found.late, found.over), rel=0.01)

    assert stakes(None, None, "cost") == (0.0, 0.0)
    assert stakes(70.0, None, "cost") == (9.0 * 1.2, 0.0)
    assert stakes(70.0, None, "time") == (9.0 * 40.0, 0.0)
    assert stakes(30.0, None, "cost") == (9.0 * 1.6, 0.0)
    assert stakes(None, 1.3, "cost") == (0.0, 9.0 * 1.3)
    assert stakes(None, 1.3, "time") == (0.0, 9.0 * 60.0)
    assert stakes(70.0, 1.3, "time") == (9.0 * 60.0, 9.0 * 60.0)
    assert stakes(None, 0.5, "time") == (0.0, 9.0 * 100.0)
