"""The statement about a choice at the head of an export."""

from dataclasses import replace

import pytest

from engine.choosing.difference_texts import in_runs
from engine.choosing.recommendation import Choice, Goal, Recommendation
from engine.choosing.statements import notices_of, statement
from engine.cluster import Workload
from engine.notices import Notice

CHOICE = Choice(
    composition={"big": 2, "small": 3},
    instance=None,
    nodes=5,
    seconds=1200.0,
    low=1100.0,
    high=1400.0,
    p_deadline=0.93,
    cost_usd=2.0,
    cost_low_usd=1.8,
    cost_high_usd=2.4,
)
FOUND = Recommendation(
    goal=Goal(deadline_seconds=1800.0, confidence=0.9), model="sparkplan", recommended=CHOICE,
    alternatives=(), frontier=(), rejected=(), nearest=None, optimal=True, evaluated=1,
)  # fmt: skip


def test_every_figure_comes_with_its_uncertainty() -> None:
    assert statement(CHOICE, FOUND) == (
        "2 x big + 3 x small, model sparkplan",
        "predicted time 20m 00s (90 % of runs: 18 to 23 min)",
        "expected cost $2.00 (at these times: $1.80 to $2.40)",
        "probability of meeting 30m 00s: 93 %",
    )


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    unsure = replace(
        CHOICE, low=None, high=None, cost_low_usd=None, cost_high_usd=None, p_deadline=None
    )
    assert statement(unsure, FOUND)[1:] == (
        "predicted time 20m 00s (no interval)",
        "expected cost $2.00 (no interval)",
        "probability of meeting 30m 00s: not known",
    )


def test_neither_a_cost_nor_a_deadline_is_made_up() -> None:
    owned = replace(
        CHOICE, composition={}, executors=8, cost_usd=None, cost_low_usd=None, cost_high_usd=None
    )
    assert statement(owned, replace(FOUND, goal=Goal(budget_usd=5.0, confidence=0.9))) == (
        "8 executors, model sparkplan",
        "predicted time 20m 00s (90 % of runs: 18 to 23 min)",
    )


def test_nodes_at_spot_prices_are_named() -> None:
    assert "at spot prices: 3 x small" in statement(replace(CHOICE, spot={"small": 3}), FOUND)


def test_evidence_is_warned_of_before_the_cluster_and_nothing_twice() -> None:
    """What a choice rests on was said beside the text that was pasted, and not in it."""
    run, both, size = (Notice(code, code, "measure it") for code in ("run", "both", "size"))
    found = replace(FOUND, warnings=(run, both))
    assert notices_of(replace(CHOICE, warnings=(both, size)), found) == (run, both, size)


@pytest.mark.parametrize(
    ("workload", "unit", "said"),
    [
        (Workload(input_bytes=48e9), "bytes", "for 48 GB of input"),
        (Workload(input_bytes=2e6), "rows", "for 2,000,000 rows of input"),
        (Workload(scale=3.0), "bytes", "for 3 times the input of the largest run"),
        (
            Workload(input_bytes=1e9, parameters={"k": 9.0}, iterations=20.0),
            "bytes",
            "for 1 GB of input, k 9, 20 iterations",
        ),
    ],
)
def test_the_work_is_said_in_the_unit_of_its_source(
    workload: Workload, unit: str, said: str
) -> None:
    assert statement(CHOICE, FOUND, workload, unit)[1] == said


@pytest.mark.parametrize(
    ("p", "words", "line"),
    [
        (0.0, "in less than 1 % of runs", "less than 1 %"),
        (0.005, "in less than 1 % of runs", "less than 1 %"),
        (0.006, "in 1 % of runs", "1 %"),
        (0.994, "in 99 % of runs", "99 %"),
        (0.995, "in more than 99 % of runs", "more than 99 %"),
        (1.0, "in more than 99 % of runs", "more than 99 %"),
    ],
)
def test_a_probability_is_never_rounded_to_certainty(p: float, words: str, line: str) -> None:
    """Python rounds halves to even: 0.995 read "100 %"."""
    assert in_runs(p) == words
    said = statement(replace(CHOICE, p_deadline=p), FOUND)
    assert said[-1] == f"probability of meeting 30m 00s: {line}"


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.3, "in 30 % of runs"),
        (0.106, "in 11 % of runs"),
        (0.1035, "in 10.3 % of runs"),
        (0.1003, "in 10.03 % of runs"),
        (0.10001, "in more than 10 % of runs"),
        (0.08, "in 8 % of runs"),
    ],
)
def test_what_misses_a_deadline_is_not_rounded_to_what_may(p: float, words: str) -> None:
    assert in_runs(p, allowed=1.0 - 0.9) == words
